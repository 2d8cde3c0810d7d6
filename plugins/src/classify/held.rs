//! What was found of a tracked object holds until the model looks at it again (`interval` of fusedpreproc).

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::decoding::{Counts, Decode, Side};
use crate::meta::object::{ClassificationParam, Finding, Object, ValuesParam, attach, objects};
use crate::meta::tensor::TensorSet;
use crate::notice::Remark;
use crate::streams::{PerStream, Streams};
use crate::sync::lock;

use cudainfer_kernels::sanity::{Expected, Survey};

/// What is known of a stream's objects.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Frames so far.
    count: u64,
    /// By identity.
    of_track: HashMap<u64, Answer>,
}

/// What was found of an object when the model looked at it last.
#[derive(Debug, Default)]
struct Answer {
    classifications: Vec<ClassificationParam>,
    values: Vec<ValuesParam>,
    /// The last frame in which the object was there.
    seen: u64,
}

impl PerStream for Answers {
    fn for_new_stream(&self) -> Self {
        Self::default()
    }
}

/// How many results an object has.
type Found = (usize, usize);

fn found(object: &Object) -> Found {
    (object.classifications.len(), object.values.len())
}

impl Answers {
    /// Keeps what `decoded` objects have that they had not `before`, and gives others what they had last.
    fn see(
        &mut self,
        before: &[Object],
        decoded: &[i32],
        frame: &mut gst::BufferRef,
        interval: u64,
    ) -> usize {
        self.count += 1;
        let mut held = 0;
        for object in objects(frame) {
            let Some(track) = object.tracking.as_ref().map(|tracking| tracking.id) else { continue };
            if decoded.contains(&object.id) {
                let (classes, values) =
                    before.iter().find(|one| one.id == object.id).map(found).unwrap_or_default();
                let answer = Answer {
                    classifications: object.classifications.into_iter().skip(classes).collect(),
                    values: object.values.into_iter().skip(values).collect(),
                    seen: self.count,
                };
                self.of_track.insert(track, answer);
            } else if let Some(answer) = self.of_track.get_mut(&track) {
                answer.seen = self.count;
                let classes = answer
                    .classifications
                    .iter()
                    .cloned()
                    .map(|classes| ClassificationParam { held: true, ..classes });
                let values = answer.values.iter().cloned().map(|values| ValuesParam { held: true, ..values });
                for finding in classes.map(Finding::Classification).chain(values.map(Finding::Values)) {
                    held += usize::from(attach(frame, object.id, &finding));
                }
            }
        }
        // As fusedpreproc does: an object that comes back after that is looked at as a new one.
        let count = self.count;
        self.of_track.retain(|_, answer| count - answer.seen <= interval);
        held
    }
}

/// A decoder whose results hold for `interval` frames.
pub(super) struct Held {
    decoder: Box<dyn Decode>,
    interval: u64,
    /// The element's streams: they outlast caps, which may change whenever another stream has its turn.
    streams: Arc<Mutex<Streams<Answers>>>,
}

impl Held {
    pub fn new(decoder: Box<dyn Decode>, interval: u64, streams: Arc<Mutex<Streams<Answers>>>) -> Self {
        Self { decoder, interval, streams }
    }
}

impl Decode for Held {
    fn decode(
        &mut self,
        sets: &[TensorSet],
        frame: &mut gst::BufferRef,
        side: &Side,
        counts: &mut Counts,
    ) -> Result<(), String> {
        let before = objects(frame);
        self.decoder.decode(sets, frame, side, counts)?;
        let decoded: Vec<i32> = sets.iter().filter_map(|set| set.object).collect();
        let held = lock(&self.streams).current_mut().see(&before, &decoded, frame, self.interval);
        counts.add("held", held);
        Ok(())
    }

    fn remark(&mut self) -> Option<Remark> {
        self.decoder.remark()
    }

    fn expected(&self) -> Option<Expected> {
        self.decoder.expected()
    }

    fn survey(&self, set: &TensorSet) -> Option<Survey> {
        self.decoder.survey(set)
    }
}
