//! Counts of an element's work on the GPU, made where the work is enqueued.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// The name in [`Counters::values`] of the device memory that is held.
pub const DEVICE_BYTES: &str = "device-bytes";

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// Counters of one element, each on its own: a reader may see one a frame ahead of another.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub $name: Counter,)*
            /// Device memory that is held now. It is no count since a start: `reset` and `move_to` leave it as it is.
            device_bytes: AtomicU64,
        }

        impl Counters {
            /// Every counter's name, as the `stats` property shows it, and its value; and [`DEVICE_BYTES`].
            pub fn values(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$(($text, self.$name.get()),)* (DEVICE_BYTES, self.device_bytes())].into_iter()
            }

            /// Back to zero.
            pub fn reset(&self) {
                $(self.$name.reset();)*
            }

            /// Moves the counts to `other`, and starts at zero again.
            pub fn move_to(&self, other: &Self) {
                $(other.$name.add(self.$name.0.swap(0, Ordering::Relaxed));)*
            }
        }
    };
}

counters! {
    /// Frames that were worked on.
    frames = "frames",
    /// Kernels and graphs that were launched.
    launches = "launches",
    /// Bytes copied from the host to the device.
    host_to_device = "host-to-device-bytes",
    /// Bytes copied from the device to the host.
    device_to_host = "device-to-host-bytes",
    /// Bytes copied on the device.
    device_to_device = "device-to-device-bytes",
    /// Times that a thread waited for the device.
    host_waits = "host-waits",
    /// Allocations of device memory and of pinned memory.
    allocations = "allocations",
    /// Frames that took a slower path than possible.
    fallbacks = "fallbacks",
    /// Copies from or to another GPU, or another CUDA context.
    peer_copies = "peer-copies",
    /// Time on the device, of the frames that were sampled.
    gpu_ns = "gpu-ns",
    /// Frames whose time on the device was measured.
    gpu_samples = "gpu-samples",
    /// Time of the threads that worked on frames, waiting included.
    host_ns = "host-ns",
    /// Entries of frames' metadata that were ignored.
    ignored_metadata = "ignored-metadata",
}

impl Counters {
    /// Bytes of device memory that are held now.
    pub fn device_bytes(&self) -> u64 {
        self.device_bytes.load(Ordering::Relaxed)
    }
}

/// Device memory that an element holds, as long as this lives: counted in [`Counters::device_bytes`].
#[derive(Debug)]
pub struct HeldBytes {
    counters: Arc<Counters>,
    bytes: u64,
}

impl HeldBytes {
    /// Counts `bytes` more bytes.
    pub fn new(counters: &Arc<Counters>, bytes: usize) -> Self {
        let bytes = u64::try_from(bytes).unwrap_or(0);
        counters.device_bytes.fetch_add(bytes, Ordering::Relaxed);
        Self { counters: Arc::clone(counters), bytes }
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.counters.device_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A count that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Counts `n` more.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Counts `n` more bytes (or other things).
    pub fn add_size(&self, n: usize) {
        self.add(u64::try_from(n).unwrap_or(u64::MAX));
    }

    /// Back to zero.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// The count.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_counted_while_it_is_held_whatever_is_reset_or_moved() {
        let (counters, other) = (Arc::<Counters>::default(), Counters::default());
        let first = HeldBytes::new(&counters, 100);
        let second = HeldBytes::new(&counters, 20);
        counters.launches.add(3);
        counters.move_to(&other);
        counters.reset();
        assert_eq!((counters.device_bytes(), other.device_bytes(), other.launches.get()), (120, 0, 3));
        assert!(counters.values().any(|value| value == (DEVICE_BYTES, 120)));
        drop(first);
        assert_eq!(counters.device_bytes(), 20);
        drop(second);
        assert_eq!(counters.device_bytes(), 0);
    }
}
