//! What an algorithm gives to be laid under an identity.

use crate::track::Track;

/// A piece of a track, by an algorithm.
#[derive(Clone, Copy, Debug)]
pub(in crate::track) struct Tracklet {
    /// No other tracklet of the tracker has or had this number.
    pub(in crate::track) serial: u64,
    /// The index of its detection in this frame.
    pub(in crate::track) detection: Option<usize>,
    /// What the algorithm says of it.
    pub(in crate::track) track: Track,
}
