//! The state of a tracked object.

use crate::geometry::Rect;

/// Where a track is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Seen too few times in a row to be published.
    Tentative,
    /// Detected in this frame.
    Tracked,
    /// Published before, but not detected in this frame.
    Lost,
    /// Detected in the last frame that a detector has seen, and carried on to a later one that it has not seen.
    Carried,
}

impl State {
    /// Its name in metadata and files: `tentative`, `tracked`, `lost` or `carried`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tentative => "tentative",
            Self::Tracked => "tracked",
            Self::Lost => "lost",
            Self::Carried => "carried",
        }
    }
}

/// An object with an identity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Track {
    /// Its identity: 1, 2, 3 and so on, in the order in which a tracker's tracks were first published. 0 for a tentative
    /// track that was never published.
    pub id: u64,
    /// The class of its last detection.
    pub class: u32,
    /// Frames since its first detection, which itself has age 0.
    pub age: u32,
    /// How many detections it had.
    pub hits: u32,
    /// Where it is in its life.
    pub state: State,
    /// The filter's estimate of its box after this frame, in the detections' coordinates; it may reach out of the frame.
    pub rect: Rect,
    /// By how much that box is rotated about its centre, as it was last seen: radians, clockwise on the screen.
    pub angle: f32,
    /// Its centre's velocity to the right and down, in pixels per frame.
    pub velocity: [f32; 2],
}
