//! What is better known of tracks when a video has ended: pieces of one object that got several identities are joined, and gaps are
//! filled.
//!
//! Gaps are filled linearly, as ByteTrack's `tools/interpolation.py` and the first step of StrongSORT's GSI do (Du et al.,
//! "StrongSORT: Make DeepSORT Great Again", IEEE Transactions on Multimedia 2023, section III-D). The second step of GSI, smoothing by
//! a Gaussian process, is left out: the boxes are the tracker's, whose filter has smoothed them.
//!
//! Pieces are joined by time and place, as in StrongSORT's AFLink (section III-C), whose network is replaced by the prediction of a
//! constant velocity in both directions: no weights, and nothing learned from other cameras. `scripts/evaluate second-pass` measures
//! both.
//!
//! ```
//! use cudainfer_kernels::geometry::Rect;
//! use cudainfer_kernels::track::second_pass::{Piece, Sighting, filled, joined};
//!
//! let sighting = |frame: u64| Sighting {
//!     frame,
//!     rect: Rect { x: 4.0 * frame as f32, y: 50.0, w: 40.0, h: 90.0 },
//!     confidence: Some(0.5),
//! };
//! let piece = |id, frames: std::ops::Range<u64>| Piece { id, class: 0, seen: frames.map(sighting).collect() };
//! let pieces = [piece(1, 0..10), piece(2, 14..20)];
//! assert_eq!(joined(&pieces, 15), [0, 0]);
//! let frames: Vec<_> = filled(&pieces[0].seen[9], &pieces[1].seen[0], 15).map(|filled| filled.frame).collect();
//! assert_eq!(frames, [10, 11, 12, 13]);
//! ```

mod fill;
mod join;
#[cfg(test)]
mod tests;

use crate::geometry::Rect;
pub use fill::filled;
pub use join::joined;

/// The frames of a gap that is filled by default, at most; as the next, a choice of which `scripts/evaluate second-pass` says what it is
/// worth on other sequences.
pub const USUAL_FILL_GAP: u32 = 8;
/// The frames between two pieces that are joined by default, at most.
pub const USUAL_JOIN_GAP: u32 = 15;

/// A track in a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sighting {
    /// The frame's number.
    pub frame: u64,
    /// The tracker's box, in frame pixels.
    pub rect: Rect,
    /// That of the detection, 0 to 1, where there is one.
    pub confidence: Option<f32>,
}

/// What a tracker has seen under one identity.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The identity.
    pub id: u64,
    /// The class's number: pieces of different ones are not joined.
    pub class: u32,
    /// In the order of the frames, at most one a frame.
    pub seen: Vec<Sighting>,
}
