//! Kernels of `emit`, compiled for a device.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use cudainfer_kernels::device::{Context, Kernel, Module};

use super::GpuError;
use super::nvrtc::Nvrtc;
use super::store::{Store, key};
use super::threads::{processors, side_by_side};
use crate::emit;
use crate::plan::BufferId;

/// A kernel's only parameter, `Buffers` in its source.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    addresses: [u64; emit::MOST_BUFFERS],
    count: u32,
}

const _: () = assert!(size_of::<Parameter>() == 8 * emit::MOST_BUFFERS + 8);

impl Parameter {
    /// Of a kernel whose buffers are at these addresses.
    pub fn new(kernel: &emit::Kernel, at: impl Fn(BufferId) -> u64) -> Self {
        let mut addresses = [0; emit::MOST_BUFFERS];
        addresses.iter_mut().zip(&kernel.buffers).for_each(|(address, buffer)| *address = at(*buffer));
        Self { addresses, count: kernel.count }
    }
}

/// Machine code of a source, which is compiled if it was not before.
pub(super) fn image(
    nvrtc: &Nvrtc,
    source: &str,
    capability: (i32, i32),
    store: &dyn Store,
) -> Result<Vec<u8>, GpuError> {
    let key = key("image", source);
    if let Some(kept) = kept_image(store, &key) {
        return Ok(kept);
    }
    let made = nvrtc.compile(source, capability)?;
    store.put(&key, &made);
    Ok(made)
}

/// Machine code that the store has.
fn kept_image(store: &dyn Store, key: &str) -> Option<Vec<u8>> {
    store.get(key).filter(|kept| kept.starts_with(b"\x7fELF"))
}

/// Names of kernels, and their machine code.
type Part = (HashSet<String>, Vec<u8>);

/// The key of what says under which key a kernel's machine code is kept, together with that of others.
fn place(kernel: &emit::Kernel) -> String {
    key("kernel", &[emit::prelude(), &kernel.source].concat())
}

/// Machine code of kernels.
pub(super) struct Compiled(Vec<(HashSet<String>, Arc<Module>)>);

impl Compiled {
    /// Compiles kernels, each source once, in parts beside each other, but for those that were compiled before.
    pub fn new<'a>(
        nvrtc: &Nvrtc,
        context: &Arc<Context>,
        kernels: impl Iterator<Item = &'a emit::Kernel>,
        store: &dyn Store,
    ) -> Result<Self, GpuError> {
        let mut names = HashSet::new();
        let unique: Vec<&emit::Kernel> = kernels.filter(|kernel| names.insert(kernel.name.clone())).collect();
        let (kept, unknown) = kept(unique, store);
        let processors = processors(usize::MAX);
        let parts = parts(&unknown, processors);
        let capability = context.device().capability;
        let compile = |part: &[&emit::Kernel]| -> Result<Part, GpuError> {
            let sources = part.iter().map(|kernel| kernel.source.as_str());
            let source: String = [emit::prelude()].into_iter().chain(sources).collect();
            let made = image(nvrtc, &source, capability, store)?;
            let key = key("image", &source);
            part.iter().for_each(|kernel| store.put(&place(kernel), key.as_bytes()));
            Ok((part.iter().map(|kernel| kernel.name.clone()).collect(), made))
        };
        let compiled = side_by_side("nvrtc", processors, &parts, || (), |(), part| compile(part));
        let load = |part: Result<Part, GpuError>| {
            let (names, cubin) = part?;
            // SAFETY: NVRTC has made it.
            Ok((names, unsafe { Module::load(context, &cubin) }?))
        };
        kept.into_iter().map(Ok).chain(compiled).map(load).collect::<Result<_, _>>().map(Self)
    }

    /// A kernel that was among them.
    pub fn kernel(&self, kernel: &emit::Kernel) -> Result<Kernel, GpuError> {
        let missing = || GpuError::Compile(format!("{} was not compiled", kernel.name));
        let (_, module) =
            self.0.iter().find(|(names, _)| names.contains(&kernel.name)).ok_or_else(missing)?;
        let loaded = module.overlapping_kernel(&kernel.name)?;
        if kernel.shared > 0 {
            loaded.allow_shared_memory(kernel.shared)?;
        }
        Ok(loaded)
    }
}

/// As many parts as there are processors, of four kernels or more: NVRTC reads one source after another, the prelude of each as well. A
/// convolution's candidates follow each other and take about as long to compile: each part has some of many convolutions.
fn parts<'a>(kernels: &[&'a emit::Kernel], processors: usize) -> Vec<Vec<&'a emit::Kernel>> {
    let count = kernels.len().div_ceil(4).min(processors);
    (0..count).map(|part| kernels.iter().copied().skip(part).step_by(count).collect()).collect()
}

/// What the store has of kernels, and those that it has not.
fn kept<'a>(kernels: Vec<&'a emit::Kernel>, store: &dyn Store) -> (Vec<Part>, Vec<&'a emit::Kernel>) {
    let mut parts: BTreeMap<String, Part> = BTreeMap::new();
    let unknown = kernels.into_iter().filter(|kernel| {
        let Some(key) = store.get(&place(kernel)).and_then(|key| String::from_utf8(key).ok()) else {
            return true;
        };
        let (names, image) = parts
            .entry(key)
            .or_insert_with_key(|key| (HashSet::new(), kept_image(store, key).unwrap_or_default()));
        names.insert(kernel.name.clone());
        image.is_empty()
    });
    let unknown = unknown.collect();
    (parts.into_values().filter(|(_, image)| !image.is_empty()).collect(), unknown)
}
