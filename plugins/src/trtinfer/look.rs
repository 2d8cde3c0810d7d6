//! What a run takes for a frame of a stream whose earlier frames the model sees, and how answers get on those frames for which there is
//! no run.

use std::sync::Arc;

use super::answers::Answer;
use super::forms::OutputForms;
use super::history::{Key, Wanted};
use super::memories::Memory;
use crate::inference::RunShape;
use crate::meta::object::objects;
use crate::meta::tensor::TensorSet;
use crate::model::Clip;

/// What a run takes for a frame.
pub(super) struct Look {
    pub memory: Arc<Memory>,
    pub sets: Vec<LookedAt>,
}

/// A frame, or a region of it.
pub(super) struct LookedAt {
    pub set: TensorSet,
    pub key: Key,
    /// The pictures that a run takes; none where there is no run.
    pub pictures: Option<Vec<gst::Buffer>>,
}

impl Look {
    /// Takes the tensors off a frame that comes, and puts them to those before it. Nothing is done with a frame that does not bring
    /// what the model wants.
    pub fn of(frame: &mut gst::Buffer, shape: &RunShape, memory: &Arc<Memory>) -> Option<Self> {
        let sets = TensorSet::of(frame)?;
        if sets.iter().any(|set| picture(set, shape).is_none()) {
            return None;
        }
        let keys = keys(&sets, frame);
        TensorSet::take(frame.make_mut());
        let wanted = Wanted { ago: shape.ago(), hop: shape.hop() };
        let sets = memory.see(&wanted, |histories| {
            let mut seen = Vec::with_capacity(sets.len());
            for (set, key) in sets.into_iter().zip(keys) {
                let Some(key) = key else {
                    histories.untracked += 1;
                    continue;
                };
                histories.is_tracked |= set.object.is_some();
                let pictures = picture(&set, shape).and_then(|own| histories.see(key, own, &wanted));
                seen.push(LookedAt { set, key, pictures });
            }
            seen
        });
        Some(Self { memory: Arc::clone(memory), sets })
    }

    /// Whether there is no run for it.
    pub fn is_held(&self) -> bool {
        self.sets.iter().all(|set| set.pictures.is_none())
    }

    /// The frame is given up: the runs for it are made for the next one.
    pub fn postpone(&self) {
        let keys = self.sets.iter().filter(|set| set.pictures.is_some()).map(|set| set.key);
        self.memory.postpone(keys);
    }
}

/// The picture that a frame, or a region of it, brings.
pub(super) fn picture<'a>(set: &'a TensorSet, shape: &RunShape) -> Option<&'a gst::Buffer> {
    let wanted = &shape.image;
    let given = set.tensors.iter().find(|t| t.desc.name == wanted.name).or(set.tensors.first());
    given.filter(|t| (t.desc.ty, &t.desc.dims) == (shape.given, &wanted.dims)).map(|t| &t.data)
}

/// What the pictures of a frame belong to; nothing for objects without an identity.
fn keys(sets: &[TensorSet], frame: &gst::BufferRef) -> Vec<Option<Key>> {
    let objects = if sets.iter().any(|set| set.object.is_some()) { objects(frame) } else { Vec::new() };
    let key = |(index, set): (usize, &TensorSet)| match set.object {
        Some(id) => Some(objects.iter().find(|object| object.id == id)?.tracking.as_ref()?.id),
        None => Some(index as Key),
    };
    sets.iter().enumerate().map(key).collect()
}

/// What a set of tensors is of, and whether a run is made for it: if not, it gets the answer before.
pub(super) struct Turn {
    pub key: Key,
    pub is_new: bool,
}

/// The sets of a frame that goes out.
pub(super) struct FrameAnswers {
    pub memory: Arc<Memory>,
    pub forms: OutputForms,
    pub sets: Vec<(TensorSet, Turn)>,
}

impl FrameAnswers {
    /// Puts the answers on the frame, in the order in which frames go out. Returns how many are those of an earlier frame. What has no
    /// answer yet is left out.
    pub fn put(self, frame: &mut gst::BufferRef) -> usize {
        let mut held = 0;
        let sets = self.memory.answer(|answers| {
            let answered = |(mut set, Turn { key, is_new }): (TensorSet, Turn)| {
                if is_new {
                    answers.insert(key, Answer::of(&set));
                } else {
                    answers.get(&key)?.put(&mut set);
                    set.held = true;
                    held += 1;
                }
                Some(set)
            };
            self.sets.into_iter().filter_map(answered).collect::<Vec<_>>()
        });
        self.forms.put(&sets, frame);
        held
    }
}

/// A frame that goes out.
pub(super) struct Outgoing {
    pub buffer: gst::Buffer,
    /// What is put on it when it is its turn.
    pub answers: Option<FrameAnswers>,
}

impl From<gst::Buffer> for Outgoing {
    fn from(buffer: gst::Buffer) -> Self {
        Self { buffer, answers: None }
    }
}

/// What a WARNING says at the end of a stream of which no clip was full.
pub(super) fn without_full_clip(clip: Clip, longest: usize) -> String {
    format!(
        "the model has not run, because no clip was full: the stream, or what was tracked in it, had {longest} frames, but a clip of {} frames \
         with a stride of {} takes {}. Set fewer frames or a smaller stride in the sidecar's [clip], as far as the model allows it, or give it \
         longer streams",
        clip.frames,
        clip.stride(),
        clip.span()
    )
}

/// What a WARNING says at the end of a stream in which no object had an identity.
pub(super) fn without_identity(count: u64) -> String {
    format!(
        "the model has not run: it sees earlier frames of each object, but {count} objects came without an identity, and none with one. Put \
         tracker between the detector and fusedpreproc roi=objects"
    )
}
