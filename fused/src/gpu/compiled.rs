//! Kernels of `emit`, compiled for a device.

use std::collections::HashSet;
use std::sync::Arc;
use std::thread;

use cudainfer_kernels::device::{Context, Kernel, Module};

use super::GpuError;
use super::nvrtc::Nvrtc;
use super::store::{Store, key};
use crate::emit;
use crate::plan::BufferId;

/// Addresses that a kernel gets: its only parameter, `Buffers` in its source.
pub(super) type Addresses = [u64; emit::MOST_BUFFERS];

/// Where a kernel's buffers are.
pub(super) fn addresses(kernel: &emit::Kernel, at: impl Fn(BufferId) -> u64) -> Addresses {
    let mut addresses = [0; emit::MOST_BUFFERS];
    addresses.iter_mut().zip(&kernel.buffers).for_each(|(address, buffer)| *address = at(*buffer));
    addresses
}

/// Machine code of a source, which is compiled if it was not before.
pub(super) fn image(
    nvrtc: &Nvrtc,
    source: &str,
    capability: (i32, i32),
    store: &dyn Store,
) -> Result<Vec<u8>, GpuError> {
    let key = key("image", source);
    if let Some(kept) = store.get(&key).filter(|kept| kept.starts_with(b"\x7fELF")) {
        return Ok(kept);
    }
    let made = nvrtc.compile(source, capability)?;
    store.put(&key, &made);
    Ok(made)
}

/// Names of kernels, and their machine code.
type Part = (HashSet<String>, Vec<u8>);

/// Machine code of kernels.
pub(super) struct Compiled(Vec<(HashSet<String>, Arc<Module>)>);

impl Compiled {
    /// Compiles kernels, each source once, in as many parts as there are processors.
    pub fn new<'a>(
        nvrtc: &Nvrtc,
        context: &Arc<Context>,
        kernels: impl Iterator<Item = &'a emit::Kernel>,
        store: &dyn Store,
    ) -> Result<Self, GpuError> {
        let mut names = HashSet::new();
        let unique: Vec<&emit::Kernel> = kernels.filter(|kernel| names.insert(kernel.name.clone())).collect();
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let parts = unique.chunks(unique.len().div_ceil(processors).max(4));
        let capability = context.device().capability;
        let compile = |part: &[&emit::Kernel]| {
            let sources = part.iter().map(|kernel| kernel.source.as_str());
            let source: String = [emit::prelude()].into_iter().chain(sources).collect();
            let names = part.iter().map(|kernel| kernel.name.clone()).collect();
            Ok((names, image(nvrtc, &source, capability, store)?))
        };
        let compiled: Vec<Result<Part, GpuError>> = thread::scope(|scope| {
            let start =
                |part| thread::Builder::new().name("nvrtc".into()).spawn_scoped(scope, move || compile(part));
            // Where there is no thread, this one does its part.
            let threads: Vec<_> = parts.map(|part| start(part).map_err(|_| part)).collect();
            let ended = |_| Err(GpuError::Compile("a thread that compiled has ended".into()));
            let join = |thread: Result<thread::ScopedJoinHandle<'_, _>, _>| match thread {
                Ok(thread) => thread.join().unwrap_or_else(ended),
                Err(part) => compile(part),
            };
            threads.into_iter().map(join).collect()
        });
        let load = |part: Result<Part, GpuError>| {
            let (names, cubin) = part?;
            // SAFETY: NVRTC has just made it.
            Ok((names, unsafe { Module::load(context, &cubin) }?))
        };
        compiled.into_iter().map(load).collect::<Result<_, _>>().map(Self)
    }

    /// A kernel that was among them.
    pub fn kernel(&self, kernel: &emit::Kernel) -> Result<Kernel, GpuError> {
        let missing = || GpuError::Compile(format!("{} was not compiled", kernel.name));
        let (_, module) =
            self.0.iter().find(|(names, _)| names.contains(&kernel.name)).ok_or_else(missing)?;
        Ok(module.overlapping_kernel(&kernel.name)?)
    }
}
