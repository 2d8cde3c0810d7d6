//! When the frames of a stream came into being: their latency is counted from there.
//!
//! Frames are recognised by their running time, which decoders, encoders and everything between them keep. The first pad of a
//! stream on which frames have one notes when they came; the pads where the stream ends read it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Frames that are remembered: more than any pipeline has in flight.
const MOST: u64 = 1024;

/// The latest frames of a stream.
#[derive(Debug)]
pub(super) struct Births {
    /// The slot that notes the frames; 0 before any does.
    noting: AtomicU64,
    /// How many frames have been noted.
    noted: AtomicU64,
    /// The frames' running times, and when each came; both in ns.
    frames: Box<[(AtomicU64, AtomicU64)]>,
}

impl Default for Births {
    fn default() -> Self {
        let frames = std::iter::repeat_with(Default::default).take(1024).collect();
        Self { noting: AtomicU64::new(0), noted: AtomicU64::new(0), frames }
    }
}

impl Births {
    fn frame(&self, number: u64) -> Option<&(AtomicU64, AtomicU64)> {
        self.frames.get(usize::try_from(number % MOST).ok()?)
    }

    /// Whether frames have a time in this stream.
    pub fn any(&self) -> bool {
        self.noted.load(Ordering::Relaxed) > 0
    }

    /// Whether this slot notes the frames: the first one that calls this does.
    pub fn notes(&self, slot: u64) -> bool {
        match self.noting.load(Ordering::Relaxed) {
            0 => {
                let first = self.noting.compare_exchange(0, slot, Ordering::Relaxed, Ordering::Relaxed);
                first.is_ok() || first == Err(slot)
            }
            noting => noting == slot,
        }
    }

    /// A frame of this running time reaches a slot. Returns how many came before, if it is a new one.
    pub fn note(&self, slot: u64, time: u64, now: u64) -> Option<u64> {
        if !self.notes(slot) {
            return None;
        }
        let noted = self.noted.load(Ordering::Relaxed);
        // The packets of a frame have the same time.
        let before = noted.checked_sub(1).and_then(|last| self.frame(last));
        if before.is_some_and(|(last, _)| last.load(Ordering::Relaxed) == time) {
            return None;
        }
        if let Some((its_time, came)) = self.frame(noted) {
            its_time.store(time, Ordering::Relaxed);
            came.store(now, Ordering::Relaxed);
        }
        self.noted.store(noted + 1, Ordering::Release);
        Some(noted)
    }

    /// The slot is gone: another one notes the frames from now on.
    pub fn forget(&self, slot: u64) {
        let _ = self.noting.compare_exchange(slot, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// How long ago a frame came, if that is known. `next`, which the caller keeps, is the number of the frame that it will
    /// probably ask for next.
    pub fn age(&self, time: u64, now: u64, next: &AtomicU64) -> Option<u64> {
        let noted = self.noted.load(Ordering::Acquire);
        let oldest = noted.saturating_sub(MOST);
        let hint = next.load(Ordering::Relaxed).clamp(oldest, noted);
        let is =
            |number: &u64| self.frame(*number).is_some_and(|(its, _)| its.load(Ordering::Relaxed) == time);
        let number = (hint..noted).chain((oldest..hint).rev()).find(is)?;
        next.store(number + 1, Ordering::Relaxed);
        self.frame(number).map(|(_, came)| now.saturating_sub(came.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_as_old_as_the_first_pad_says_in_whatever_order_frames_arrive() {
        let (births, next) = (Births::default(), AtomicU64::new(0));
        for frame in 0..3000 {
            assert_eq!(births.note(7, 100 * frame, 10 * frame), Some(frame));
            assert_eq!(births.note(7, 100 * frame, 10 * frame + 5), None);
            assert_eq!(births.note(8, 100 * frame, 10 * frame + 6), None);
            assert_eq!(births.age(100 * frame, 10 * frame + 9, &next), Some(9), "{frame}");
        }
        // A reordered one, one that was skipped, one that is too old, one that never was.
        assert_eq!(births.age(299_000, 30_000, &next), Some(100));
        assert_eq!(births.age(299_500, 30_000, &next), Some(50));
        assert_eq!(births.age(100, 30_000, &next), None);
        assert_eq!(births.age(1, 30_000, &next), None);
    }

    #[test]
    fn another_pad_notes_when_the_first_is_gone() {
        let (births, next) = (Births::default(), AtomicU64::new(0));
        births.note(1, 10, 10);
        births.note(2, 20, 20);
        births.forget(2);
        births.note(2, 30, 30);
        assert_eq!((births.age(20, 50, &next), births.age(30, 50, &next)), (None, None));
        births.forget(1);
        births.note(2, 40, 40);
        assert_eq!((births.age(10, 50, &next), births.age(40, 50, &next)), (Some(40), Some(10)));
    }
}
