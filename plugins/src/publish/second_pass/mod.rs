//! The second pass over a file's tracks, when all of them are known: gaps are filled, and pieces of one object joined. What is computed
//! is in cudainfer-kernels.

mod gathered;
mod passed;
mod rows;
#[cfg(test)]
mod tests;

use gst::glib;

pub(crate) use gathered::Gathered;
pub(super) use passed::Passed;
pub(super) use rows::rows;

/// What is done when a stream has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferPublishSecondPass")]
pub enum SecondPass {
    /// Nothing: records are written as frames pass.
    #[default]
    #[enum_value(name = "Write records as frames pass", nick = "none")]
    None,
    /// Boxes between two of a track.
    #[enum_value(
        name = "When the stream has ended, fill the gaps of each track with boxes between those before and after",
        nick = "fill"
    )]
    Fill,
    /// Identities that are one object.
    #[enum_value(
        name = "When the stream has ended, join tracks that are one object, by time and motion, and fill gaps",
        nick = "join"
    )]
    Join,
}

/// How it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PassParams {
    /// Whether records of tracks are written, and not rows of boxes.
    pub of_tracks: bool,
    /// Whether pieces are joined.
    pub join: bool,
    /// The frames of a gap that is filled, at most.
    pub fill_gap: u32,
    /// The frames between two pieces that are joined, at most.
    pub join_gap: u32,
    /// Boxes that are gathered, of all streams together, before it is done early.
    pub max_gathered: usize,
}

/// What passes have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PassCounts {
    /// Tracks that were joined to others.
    pub joined: u64,
    /// Boxes that were filled in.
    pub filled: u64,
    /// Passes before the end of the stream, because there were too many boxes.
    pub early: u64,
}
