//! What an element's work on the GPU costs, counted where it is enqueued.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// Counters of one element, each on its own: a reader may see one a frame ahead of another.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub $name: Counter,)*
        }

        impl Counters {
            /// Every counter's name, as the `stats` property shows it, and its value.
            pub fn values(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$(($text, self.$name.get())),*].into_iter()
            }

            /// Back to zero.
            pub fn reset(&self) {
                $(self.$name.reset();)*
            }

            /// Back to zero, with `other` counting what was counted here.
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
    /// Frames that took a slower way than they could have.
    fallbacks = "fallbacks",
    /// Time on the device, of the frames that were sampled.
    gpu_ns = "gpu-ns",
    /// Frames whose time on the device was taken.
    gpu_samples = "gpu-samples",
    /// Time of the threads that worked on frames, waiting included.
    host_ns = "host-ns",
}

/// A count that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Counts `n` more.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Counts so many bytes (or other things) more.
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
