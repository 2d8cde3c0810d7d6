//! Pictures of texts that were drawn before.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use crate::draw::TextPicture;

/// A text, the size of its letters and the width of its frame.
pub(super) type Key = (String, u32, u32);

/// After this many bytes of pictures, those that were not drawn since the last time are dropped.
const ROOM: usize = 4 << 20;
/// Bytes that an entry takes besides its picture and its text, about.
const ENTRY: usize = 200;

/// Keeps texts that were drawn lately: between [`ROOM`] and twice that in bytes, once that much was drawn. There is no order to
/// maintain, so finding a text takes one or two look-ups.
#[derive(Debug, Default)]
pub(super) struct Cache {
    young: HashMap<Key, Arc<TextPicture>>,
    old: HashMap<Key, Arc<TextPicture>>,
    /// Bytes of the young entries.
    bytes: usize,
}

impl Cache {
    pub fn get(&mut self, key: &Key) -> Option<Arc<TextPicture>> {
        if let Some(picture) = self.young.get(key) {
            return Some(picture.clone());
        }
        let (key, picture) = self.old.remove_entry(key)?;
        self.insert(key, picture.clone());
        Some(picture)
    }

    pub fn insert(&mut self, key: Key, picture: Arc<TextPicture>) {
        self.bytes += picture.bytes() + key.0.len() + ENTRY;
        self.young.insert(key, picture);
        if self.bytes > ROOM {
            self.old = mem::take(&mut self.young);
            self.bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_again_stays_and_the_rest_goes_after_some_megabytes() {
        let mut cache = Cache::default();
        let key = |n: usize| (format!("text {n}"), 26, 1920);
        let picture = Arc::new(TextPicture::new([200, 34], [0, 0], 200, &[255; 200 * 30], 1));
        for n in 0..10_000 {
            cache.insert(key(n), picture.clone());
            assert!(cache.get(&key(0)).is_some(), "after {n}");
        }
        assert!(cache.get(&key(9_999)).is_some());
        assert!(cache.get(&key(5_000)).is_none());
        let bytes = (cache.young.len() + cache.old.len()) * picture.bytes();
        assert!(bytes <= 2 * ROOM, "{bytes}");
    }
}
