//! Frames on their way: in by the sink pad, through the workers, out by the source pad's task.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Instant;

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::imp::{CAT, TrtInfer};
use super::lane::{Item, Lane};
use super::stream::Stream;
use crate::engine::{EngineError, Provider, SharedSession};
use crate::sync::lock;

/// What the workers need to know of a frame.
pub(super) type Job = (gst::Buffer, Arc<Stream>);

/// What is there from PAUSED on.
pub(super) struct Running {
    pub lane: Arc<Lane<Job>>,
    pub workers: Vec<JoinHandle<()>>,
}

impl TrtInfer {
    /// Starts the workers and, on the source pad, the task that pushes.
    pub(super) fn start(&self) -> Result<(), gst::LoggableError> {
        let engine =
            lock(&self.engine).clone().ok_or_else(|| gst::loggable_error!(CAT, "there is no model"))?;
        let sessions = engine.sessions.clone();
        let limit = lock(&self.settings).max_in_flight;
        // On a GPU two frames are to be enqueued behind the one that runs, and a fourth is having its results read.
        let default = if engine.provider == Provider::Cpu { sessions.len() + 2 } else { 4 };
        let limit = usize::try_from(limit).ok().filter(|n| *n > 0).unwrap_or(default);
        let lane = Arc::new(Lane::new(limit));
        let workers = sessions
            .into_iter()
            .enumerate()
            .filter_map(|(index, session)| {
                let (lane, element) = (lane.clone(), self.obj().downgrade());
                std::thread::Builder::new()
                    .name(format!("trtinfer:{index}"))
                    .spawn(move || work(&lane, &session, &element))
                    .map_err(|e| gst::error!(CAT, imp = self, "no worker thread: {e}"))
                    .ok()
            })
            .collect::<Vec<_>>();
        if workers.is_empty() {
            return Err(gst::loggable_error!(CAT, "no worker thread could be started"));
        }
        *lock(&self.running) = Some(Running { lane: lane.clone(), workers });
        self.start_task(&lane)
    }

    pub(super) fn start_task(&self, lane: &Arc<Lane<Job>>) -> Result<(), gst::LoggableError> {
        let (lane, element) = (lane.clone(), self.obj().downgrade());
        self.src
            .start_task(move || match element.upgrade() {
                Some(element) => element.imp().push_next(&lane),
                None => lane.stop(),
            })
            .map_err(|e| gst::loggable_error!(CAT, "no task: {e}"))
    }

    /// Stops the task and the workers.
    pub(super) fn stop(&self) -> Result<(), gst::LoggableError> {
        let running = lock(&self.running).take();
        if let Some(running) = &running {
            running.lane.stop();
        }
        let stopped =
            self.src.stop_task().map_err(|e| gst::loggable_error!(CAT, "the task does not stop: {e}"));
        if let Some(running) = running {
            running.workers.into_iter().for_each(|w| drop(w.join()));
        }
        *lock(&self.stream) = None;
        *lock(&self.latency) = gst::ClockTime::ZERO;
        stopped
    }

    pub(super) fn lane(&self) -> Option<Arc<Lane<Job>>> {
        lock(&self.running).as_ref().map(|r| r.lane.clone())
    }

    /// One turn of the source pad's task.
    pub(super) fn push_next(&self, lane: &Lane<Job>) {
        *lock(&self.task) = Some(std::thread::current().id());
        match lane.pop() {
            None => {
                // Flushing or stopping: whoever did that starts the task again when there is something to push.
                let _ = self.src.pause_task();
            }
            Some(Item::Event(event)) => {
                // Upstream has sent its last frame, so nobody but this element would report that it did not arrive.
                if let (gst::EventType::Eos, Err(flow)) = (event.type_(), lane.flow()) {
                    self.report(flow);
                }
                self.src.push_event(event);
                lane.pushed_event();
            }
            Some(Item::Frame(Ok((buffer, _)))) if lane.flow().is_ok() => {
                let flow = self.src.push(buffer);
                if let Err(e) = flow {
                    gst::debug!(CAT, imp = self, "downstream says {e:?}");
                }
                lane.pushed(flow);
            }
            // Behind a failure nothing is pushed any more, but the lane has to empty, so that events get through.
            Some(Item::Frame(frame)) => lane.pushed(frame.map(|_| gst::FlowSuccess::Ok)),
        }
    }

    /// Posts what ended the flow of frames, unless the application ended it.
    pub(super) fn report(&self, flow: gst::FlowError) {
        let why = match flow {
            gst::FlowError::NotLinked => {
                "nothing that takes the frames is linked behind it; end the line with a sink, fakesink for example"
            }
            gst::FlowError::NotNegotiated => "what is behind it refused the frames' caps",
            gst::FlowError::Error | gst::FlowError::NotSupported => {
                "this element or one behind it failed, as the error before says"
            }
            _ => return,
        };
        gst::element_imp_error!(
            self,
            gst::StreamError::Failed,
            ("{}: the stream ended early: {why}", self.obj().name()),
            ["flow: {flow:?}"]
        );
    }

    pub(super) fn chain(&self, buffer: gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let stream = lock(&self.stream).clone();
        // After the stream: it is taken away only when there is no lane any more.
        let lane = self.lane().ok_or(gst::FlowError::Flushing)?;
        let stream = stream.ok_or_else(|| {
            gst::element_imp_error!(
                self,
                gst::CoreError::Negotiation,
                (
                    "{}: frames arrive before their caps: put fusedpreproc before this element",
                    self.obj().name()
                )
            );
            gst::FlowError::NotNegotiated
        })?;
        lane.push((buffer, stream))
    }
}

/// A worker's life: take a frame, infer, bring it back.
fn work(lane: &Lane<Job>, session: &SharedSession, element: &glib::WeakRef<super::TrtInfer>) {
    while let Some((ticket, (mut buffer, stream))) = lane.take() {
        let started = Instant::now();
        // A panic must not take the frame with it: the lane would wait for it for ever.
        let result =
            panic::catch_unwind(AssertUnwindSafe(|| stream.infer(&mut lock(session), buffer.make_mut())))
                .unwrap_or_else(|_| Err(EngineError::Run("it panicked; this is a bug of cudainfer".into())));
        let Some(element) = element.upgrade() else {
            lane.finish(ticket, Err(gst::FlowError::Flushing));
            continue;
        };
        let imp = element.imp();
        let took = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        imp.inference_ns.fetch_add(took, Ordering::Relaxed);
        imp.counters.frames.add(1);
        imp.counters.host_ns.add(took);
        let result = result.map(|()| (buffer, stream)).map_err(|e| {
            gst::element_error!(element, gst::StreamError::Failed, ("{}: {e}", element.name()));
            gst::FlowError::Error
        });
        lane.finish(ticket, result);
    }
}
