//! A frame that waits for its picture: it holds memory of the stream, and of the GPU, so few of them may.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Frames that wait at a time, of those that are counted together.
const MOST_FRAMES: usize = 2;

/// A frame that waits for its picture.
#[derive(Debug)]
pub struct HeldFrame {
    /// The frame.
    pub frame: gst::Buffer,
    /// Its caps.
    pub caps: gst::Caps,
    held: Arc<AtomicUsize>,
}

impl HeldFrame {
    /// Holds a frame, unless as many are held as may be; `held` is their number.
    pub fn hold(frame: &gst::Buffer, caps: &gst::Caps, held: &Arc<AtomicUsize>) -> Option<Self> {
        let more = |held: usize| (held < MOST_FRAMES).then_some(held + 1);
        held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Self { frame: frame.clone(), caps: caps.clone(), held: Arc::clone(held) })
    }
}

impl Drop for HeldFrame {
    fn drop(&mut self) {
        self.held.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_two_are_held_and_one_that_is_done_makes_room() {
        gst::init().unwrap();
        let (frame, caps, held) = (gst::Buffer::new(), gst::Caps::new_any(), Arc::default());
        let hold = || HeldFrame::hold(&frame, &caps, &held);
        let (first, second) = (hold(), hold());
        assert!(first.is_some() && second.is_some() && hold().is_none());
        drop(first);
        assert!(hold().is_some());
    }
}
