//! What is remembered of a stream's tracks: equal identities in two streams are not the same object.

use std::collections::HashMap;

use cudainfer_kernels::identify::{Followed, Gallery};

use crate::streams::PerStream;

/// Frames for which a track that is in none of them is remembered.
const PATIENCE: u64 = 1000;

/// A track.
#[derive(Debug, Default)]
struct Remembered {
    followed: Followed,
    /// The last frame that it was in.
    seen: u64,
}

/// The tracks of one stream.
#[derive(Debug, Default)]
pub(super) struct StreamTracks {
    frame: u64,
    tracks: HashMap<u64, Remembered>,
    /// The gallery that they were compared with.
    generation: u64,
}

impl PerStream for StreamTracks {
    fn for_new_stream(&self) -> Self {
        Self::default()
    }
}

impl StreamTracks {
    /// Begins a frame: compares all tracks anew if there is another gallery, and forgets those that have not been there for long.
    pub fn begin(&mut self, generation: u64, gallery: Option<&Gallery>) {
        self.frame += 1;
        if std::mem::replace(&mut self.generation, generation) != generation {
            self.tracks.values_mut().for_each(|track| track.followed.compare_again(gallery));
        }
        let frame = self.frame;
        self.tracks.retain(|_, track| frame - track.seen <= PATIENCE);
    }

    /// The track of this identity, which is in the frame.
    pub fn see(&mut self, id: u64) -> &mut Followed {
        let track = self.tracks.entry(id).or_default();
        track.seen = self.frame;
        &mut track.followed
    }

    /// The same, if it has had an embedding.
    pub fn known(&mut self, id: u64) -> Option<&Followed> {
        let track = self.tracks.get_mut(&id)?;
        track.seen = self.frame;
        Some(&track.followed)
    }
}
