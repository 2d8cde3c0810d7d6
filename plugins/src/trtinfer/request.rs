//! A frame on its way through a model, and the guard that brings it back.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use gst::prelude::*;

use super::batcher::{self, StreamKey};
use super::forms::OutputForms;
use super::lane::Ticket;
use super::latency::Entry;
use super::look::{FrameAnswers, Look, LookedAt, Outgoing, Turn};
use super::memories::Memory;
use super::owner::Owner;
use crate::inference::RunShape;
use crate::log::TRTINFER as CAT;
use crate::meta::tensor::TensorSet;
use crate::tracer::otlp::Frame;

/// A frame for a model.
pub(super) struct Request {
    pub ticket: Ticket,
    pub buffer: gst::Buffer,
    pub shape: Arc<RunShape>,
    /// What a recurrent model remembers of its stream.
    pub memory: Option<Arc<Memory>>,
    /// What a run takes for it, where that is not its own picture alone.
    pub look: Option<Look>,
    /// For a promptable model: a set of tensors for each object that is asked for.
    pub prompts: Option<Vec<TensorSet>>,
    /// What is put on it when it is its turn to go out.
    pub answers: Option<FrameAnswers>,
    /// How the outputs are put on it.
    pub forms: OutputForms,
    /// Width and height of the frame.
    pub frame: [usize; 2],
    pub owner: Arc<Owner>,
    pub entry: Entry,
    /// The instance, which goes only when its last frame is done. It has the queue of requests, and these only keep it.
    pub instance: Arc<dyn Any + Send + Sync>,
    pub guard: ReturnGuard,
    /// If it is a frame that the tracer has sampled.
    pub sampled: Option<Arc<Frame>>,
}

/// Makes sure that a frame comes back. Where the frame is lost on its way, its place in the lane ends as failed: the frames after
/// it would otherwise wait forever.
pub(super) struct ReturnGuard {
    ticket: Ticket,
    /// Whose frame it is, as long as it is due.
    owner: Option<Arc<Owner>>,
}

impl ReturnGuard {
    pub fn new(ticket: Ticket, owner: &Arc<Owner>) -> Self {
        Self { ticket, owner: Some(Arc::clone(owner)) }
    }
}

impl Drop for ReturnGuard {
    fn drop(&mut self) {
        let Some(owner) = self.owner.take().filter(|owner| owner.lane.wants(self.ticket)) else { return };
        if let Some(element) = owner.element.upgrade()
            && owner.is_first_failure(self.ticket.epoch())
        {
            gst::element_error!(
                element,
                gst::LibraryError::Failed,
                (
                    "{}: a frame was lost on its way through the model; this is a bug of cudainfer",
                    element.name()
                )
            );
        }
        owner.lane.finish(self.ticket, Err(gst::FlowError::Error));
    }
}

impl batcher::Batchable for Request {
    fn fits(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shape, &other.shape)
    }

    fn stream(&self) -> Option<StreamKey> {
        // One clip of a stream after the other.
        let clips = self.look.as_ref().filter(|_| self.shape.hop().is_some()).map(|look| &look.memory);
        self.memory.as_ref().or(clips).map(|memory| memory.key())
    }
}

impl Request {
    /// The frame, which is given up: nothing waits for it any more.
    pub fn give_up(mut self) -> (Ticket, Outgoing) {
        self.guard.owner = None;
        self.look.iter().for_each(Look::postpone);
        (self.ticket, self.buffer.into())
    }

    /// Brings the frame back, for which there is no run.
    pub fn hold(mut self) {
        if let Some(Look { memory, sets }) = self.look.take() {
            let held = |one: LookedAt| (one.set, Turn { key: one.key, is_new: false });
            let sets = sets.into_iter().map(held).collect();
            self.answers = Some(FrameAnswers { memory, forms: self.forms.clone(), sets });
        }
        self.finish(Ok(()));
    }

    /// Brings the frame back.
    pub fn finish(self, result: Result<(), String>) {
        let Self { ticket, buffer, answers, owner, entry, guard, .. } = self;
        owner.counters.frames.add(1);
        owner.tally.delays.finish(entry, Instant::now());
        let frame = result.map(|()| Outgoing { buffer, answers }).map_err(|why| {
            if let Some(element) = owner.element.upgrade() {
                if owner.lane.wants(ticket) && owner.is_first_failure(ticket.epoch()) {
                    gst::element_error!(element, gst::StreamError::Failed, ("{}: {why}", element.name()));
                } else {
                    gst::warning!(
                        CAT,
                        obj = element,
                        "another frame failed, or one that is not wanted: {why}"
                    );
                }
            }
            gst::FlowError::Error
        });
        owner.lane.finish(ticket, frame);
        drop(guard);
    }
}
