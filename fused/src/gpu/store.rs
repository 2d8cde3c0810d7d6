//! What was found out at one start, for the next one.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Where what was found out is kept. Whoever has it keeps one for each model, GPU, driver and version of cuDNN.
pub trait Store: Sync {
    /// What was kept under this key: letters, digits and `-`.
    fn get(&self, key: &str) -> Option<Vec<u8>>;

    /// Keeps bytes under a key.
    fn put(&self, key: &str, bytes: &[u8]);
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStore;

impl Store for NoStore {
    fn get(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn put(&self, _: &str, _: &[u8]) {}
}

/// The key of something of this kind that this text describes.
pub(super) fn key(kind: &str, text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{kind}-{:016x}-{}", hasher.finish(), text.len())
}
