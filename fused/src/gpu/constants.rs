//! Constants on a device.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cudainfer_kernels::device::{CudaStream, Memory};

use super::GpuError;
use super::scratch::upload;
use crate::plan::Arena;

/// The constants of networks on one device, which lie there once: those of a model are the same for every size of a batch.
#[derive(Debug, Default)]
pub struct Constants(Mutex<HashMap<Key, Place>>);

/// The hash of a constant, and its length.
type Key = (u64, usize);

/// Some constants are uploaded together: in which memory one is, and where in it.
type Place = (Weak<Memory>, usize);

/// Constants that a network uses.
#[derive(Debug)]
pub(super) struct Placed {
    /// The address of each.
    pub addresses: Vec<u64>,
    /// Keeps them where they are.
    pub memory: Vec<Arc<Memory>>,
    /// Bytes that were uploaded for this network.
    pub uploaded: usize,
}

impl Constants {
    /// Uploads those of `contents` that are not on the stream's device yet.
    ///
    /// # Errors
    /// The driver's: memory is short, for example.
    pub(super) fn place(&self, contents: &[&[u8]], stream: &CudaStream) -> Result<Placed, GpuError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held = known.iter().filter_map(|(key, (memory, at))| Some((*key, (memory.upgrade()?, *at))));
        let mut held: HashMap<Key, (Arc<Memory>, usize)> = held.collect();
        let keys: Vec<Key> = contents.iter().map(|content| key(content)).collect();
        let (mut missing, mut bytes) = (HashMap::new(), Vec::new());
        for (key, content) in keys.iter().zip(contents).filter(|(key, _)| !held.contains_key(key)) {
            missing.entry(*key).or_insert_with(|| {
                let at = bytes.len();
                bytes.extend_from_slice(content);
                bytes.resize(bytes.len().next_multiple_of(Arena::ALIGNMENT), 0);
                at
            });
        }
        if !missing.is_empty() {
            let new = Arc::new(stream.allocate(bytes.len())?);
            upload(stream, &bytes, new.slice())?;
            held.extend(missing.into_iter().map(|(key, at)| (key, (Arc::clone(&new), at))));
        }
        *known = held.iter().map(|(key, (memory, at))| (*key, (Arc::downgrade(memory), *at))).collect();
        let (mut addresses, mut memory): (Vec<u64>, Vec<Arc<Memory>>) = Default::default();
        for (of, at) in keys.iter().filter_map(|key| held.get(key)) {
            addresses.push(of.pointer() + *at as u64);
            if !memory.iter().any(|known| Arc::ptr_eq(known, of)) {
                memory.push(Arc::clone(of));
            }
        }
        Ok(Placed { addresses, memory, uploaded: bytes.len() })
    }
}

fn key(content: &[u8]) -> Key {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    (hasher.finish(), content.len())
}
