//! What the element has done so far.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the element was made. Each stands alone: readers may see one a frame ahead of another.
#[derive(Debug, Default)]
pub(super) struct Stats {
    frames: AtomicU64,
    bytes: AtomicU64,
    fallbacks: AtomicU64,
}

impl Stats {
    /// A frame of so many bytes was copied to the GPU, and waited for.
    pub(super) fn uploaded(&self, bytes: usize) {
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Frames stay in system memory although the user did not ask for that.
    pub(super) fn fell_back(&self) {
        self.fallbacks.fetch_add(1, Ordering::Relaxed);
    }

    /// For the `stats` property.
    pub(super) fn to_structure(&self) -> gst::Structure {
        let frames = self.frames.load(Ordering::Relaxed);
        gst::Structure::builder("cudainfer-stats")
            .field("frames", frames)
            .field("bytes", self.bytes.load(Ordering::Relaxed))
            // a frame handed to foreign elements must be complete, so every upload is waited for
            .field("host-waits", frames)
            .field("fallbacks", self.fallbacks.load(Ordering::Relaxed))
            .build()
    }
}
