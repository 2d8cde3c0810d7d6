//! Frames whose tensors go through the model, in one run or in several.

use std::sync::Arc;

use cudainfer_kernels::geometry::RowFrame;

use super::look::{FrameAnswers, Look, LookedAt, Turn, picture};
use super::memories::Memory;
use super::prompts;
use super::request::Request;
use crate::inference::FedTensors;
use crate::meta::batch::Batch;
use crate::meta::tensor::{Tensor, TensorSet};

/// A frame with the tensors that it came with: one set, or one for each of its regions.
pub(super) struct PendingFrame {
    pub request: Request,
    sets: Vec<TensorSet>,
    /// Where the model sees earlier frames: what each set is of, and whether there is a run for it.
    turns: Option<(Arc<Memory>, Vec<Turn>)>,
    /// Sets that have not been through the model.
    left: usize,
    failure: Option<String>,
}

/// What the model runs on: a frame, or a region of one.
pub(super) struct Image {
    /// Which of the frames, and which of its sets.
    pub frame: usize,
    pub set: usize,
    /// As many as the shape says.
    pub pictures: Vec<gst::Buffer>,
    /// What it feeds besides.
    pub fed: Option<FedTensors>,
}

/// What is taken off a frame.
struct Taken {
    sets: Vec<TensorSet>,
    turns: Option<(Arc<Memory>, Vec<Turn>)>,
    /// The sets for which there is a run, with its pictures.
    runs: Vec<(usize, Vec<gst::Buffer>)>,
}

/// Takes the tensors off the frames, and sends those back that have nothing to do for the model: frames without a region, and
/// with an error those without a tensor.
pub(super) fn prepare(requests: Vec<Request>) -> (Vec<Option<PendingFrame>>, Vec<Image>) {
    let (mut frames, mut images) = (Vec::new(), Vec::new());
    for mut request in requests {
        let Some(Taken { sets, turns, runs }) = take(&mut request) else {
            let before =
                if request.shape.is_prompted() { "the encoder's fusedpreproc" } else { "fusedpreproc" };
            let why = format!(
                "a frame came without a tensor, but should carry {}. Put the element that removes metadata from frames before {before}",
                request.shape.image
            );
            request.finish(Err(why));
            continue;
        };
        let frame = PendingFrame { request, sets, turns, left: runs.len(), failure: None };
        if runs.is_empty() {
            frame.go_back();
        } else {
            let fed = |set| prompts::fed(frame.sets.get(set)?, &frame.request.shape);
            let image = |(set, pictures)| Image { frame: frames.len(), set, pictures, fed: fed(set) };
            images.extend(runs.into_iter().map(image));
            frames.push(Some(frame));
        }
    }
    (frames, images)
}

/// Takes the tensors off a frame; nothing where it does not bring what the model wants.
fn take(request: &mut Request) -> Option<Taken> {
    if let Some(Look { memory, sets: seen }) = request.look.take() {
        let (mut sets, mut runs, mut turns) = (Vec::new(), Vec::new(), Vec::new());
        for (index, LookedAt { set, key, pictures }) in seen.into_iter().enumerate() {
            turns.push(Turn { key, is_new: pictures.is_some() });
            runs.extend(pictures.map(|pictures| (index, pictures)));
            sets.push(set);
        }
        return Some(Taken { sets, turns: Some((memory, turns)), runs });
    }
    if request.shape.looks_back() {
        return None;
    }
    let sets = match request.prompts.take() {
        Some(sets) => sets,
        None if request.shape.is_prompted() => return None,
        None => TensorSet::take(request.buffer.make_mut())?,
    };
    let own = |(index, set)| Some((index, vec![picture(set, &request.shape)?.clone()]));
    let runs = sets.iter().enumerate().map(own).collect::<Option<_>>()?;
    Some(Taken { sets, turns: None, runs })
}

impl PendingFrame {
    /// Where what the model sees of a set lies in the frame.
    pub fn place(&self, set: usize) -> Option<RowFrame> {
        Some(RowFrame { to_frame: self.sets.get(set)?.to_frame, frame: self.request.frame })
    }

    /// A set has been through the model, in this row of a batch.
    pub fn answer(&mut self, set: usize, tensors: Vec<Tensor>, row: (Batch, usize)) {
        if let Some(set) = self.sets.get_mut(set) {
            (set.tensors, set.batch) = (tensors, Some(row));
        }
    }

    /// A set has been through the model, or has failed to. Returns whether it was the last one.
    pub fn count(&mut self, failure: Option<String>) -> bool {
        self.left -= 1;
        self.failure = self.failure.take().or(failure);
        self.left == 0
    }

    /// Brings the frame back.
    pub fn go_back(self) {
        let Self { mut request, sets, turns, failure, .. } = self;
        match (failure, turns) {
            (Some(why), _) => return request.finish(Err(why)),
            (None, Some((memory, turns))) => {
                let sets = sets.into_iter().zip(turns).collect();
                request.answers = Some(FrameAnswers { memory, forms: request.forms.clone(), sets });
            }
            (None, None) => request.forms.clone().put(&sets, request.buffer.make_mut()),
        }
        request.finish(Ok(()));
    }
}
