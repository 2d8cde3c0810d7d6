//! What is followed, apart for each stream that shares the element.

use std::collections::HashMap;

use cudainfer_kernels::track::{Params, TrackError, Tracker};

use super::Similarity;
use super::camera::Camera;
use super::looks::Looks;
use super::pace::Pace;
use super::scene::Scene;
use super::sigmas::Sigmas;

/// Streams that are remembered; of more, as behind a funnel of sources that come and go, those are forgotten that have not
/// had a frame for the longest time.
const MOST_STREAMS: usize = 256;

/// Everything of one stream.
pub(super) struct Followed {
    pub tracker: Tracker,
    pub scene: Scene,
    pub pace: Pace,
    pub looks: Looks,
    pub camera: Camera,
    pub gpu: Crowds,
    /// What it was prepared for.
    pub caps: Option<gst::Caps>,
    /// The start of the stream that it is of.
    start: Option<gst::Seqnum>,
    /// When it last had its turn.
    turn: u64,
}

/// Whether poses are compared on the GPU where there are many.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Crowds {
    /// There have not been that many.
    Open,
    Gpu,
    Cpu,
}

impl Followed {
    /// Forgets the objects, not which identities there were.
    pub fn forget(&mut self) {
        self.tracker.reset();
        self.scene.reset();
        self.pace.begin();
        self.camera.forget();
    }
}

/// The streams by their `stream-id`.
pub(super) struct Streams {
    params: Params,
    similarity: Similarity,
    sigmas: Sigmas,
    all: HashMap<String, Followed>,
    current: String,
    turns: u64,
}

impl Streams {
    pub fn new(params: Params, similarity: Similarity, sigmas: Sigmas) -> Result<Self, TrackError> {
        params.validate()?;
        Ok(Self { params, similarity, sigmas, all: HashMap::new(), current: String::new(), turns: 0 })
    }

    /// A stream starts, or has its turn again: a funnel repeats its start then, the same event. Objects of a stream that
    /// starts anew are forgotten.
    pub fn start(&mut self, id: &str, start: gst::Seqnum) -> Result<(), TrackError> {
        self.current = id.to_owned();
        let followed = self.current()?;
        if followed.start.replace(start) != Some(start) {
            followed.forget();
        }
        Ok(())
    }

    /// The stream whose turn it is.
    pub fn current(&mut self) -> Result<&mut Followed, TrackError> {
        self.turns += 1;
        let turn = self.turns;
        if !self.all.contains_key(&self.current) {
            let oldest = self.all.iter().min_by_key(|(_, followed)| followed.turn).map(|(id, _)| id.clone());
            if let Some(oldest) = oldest.filter(|_| self.all.len() >= MOST_STREAMS) {
                self.all.remove(&oldest);
            }
        }
        let followed = match self.all.entry(self.current.clone()) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => new.insert(Followed {
                tracker: Tracker::new(self.params.clone())?,
                scene: Scene::new(self.similarity, self.sigmas.clone()),
                pace: Pace::default(),
                looks: Looks::default(),
                camera: Camera::default(),
                gpu: Crowds::Open,
                caps: None,
                start: None,
                turn,
            }),
        };
        followed.turn = turn;
        Ok(followed)
    }

    /// Forgets the objects of all streams, as at a flush.
    pub fn forget(&mut self) {
        self.all.values_mut().for_each(Followed::forget);
    }
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::detect::Detection;
    use cudainfer_kernels::geometry::Rect;

    use super::*;

    fn streams() -> Streams {
        gst::init().unwrap();
        Streams::new(Params::bytetrack(), Similarity::Iou, Sigmas::default()).unwrap()
    }

    /// A frame with an object in the same place; its identity.
    fn id(streams: &mut Streams) -> Option<u64> {
        let rect = Rect { x: 5.0, y: 5.0, w: 9.0, h: 9.0 };
        let mut tracks = Vec::new();
        let followed = streams.current().unwrap();
        followed.tracker.update(&[Detection { rect, confidence: 0.9, class: 0 }], &mut tracks);
        tracks[0].map(|track| track.id)
    }

    #[test]
    fn streams_that_take_turns_keep_their_objects_and_those_that_start_anew_do_not() {
        let mut streams = streams();
        let starts = [(); 3].map(|()| gst::Seqnum::next());
        assert_eq!(id(&mut streams), Some(1), "before any start");
        for turn in 0..4 {
            streams.start("a", starts[0]).unwrap();
            assert_eq!(id(&mut streams), Some(1), "a, turn {turn}");
            streams.start("b", starts[1]).unwrap();
            assert_eq!(id(&mut streams), Some(1), "b, turn {turn}");
        }
        // The same stream from its beginning: whoever is there is somebody else, with another identity.
        streams.start("a", starts[2]).unwrap();
        assert_eq!(id(&mut streams), Some(2));
        streams.start("b", starts[1]).unwrap();
        assert_eq!(id(&mut streams), Some(1));
        streams.forget();
        assert_eq!(id(&mut streams), Some(2));
    }

    #[test]
    fn the_streams_that_are_remembered_are_bounded() {
        let mut streams = streams();
        streams.start("first", gst::Seqnum::next()).unwrap();
        for stream in 0..3 * MOST_STREAMS {
            streams.start(&stream.to_string(), gst::Seqnum::next()).unwrap();
        }
        assert_eq!(streams.all.len(), MOST_STREAMS);
        assert!(
            streams.all.contains_key(&(3 * MOST_STREAMS - 1).to_string())
                && !streams.all.contains_key("first")
        );
    }
}
