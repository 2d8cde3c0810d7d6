//! The state of trtinfer from PAUSED on: the instance that runs its frames, what was negotiated for them, and the latency that it
//! announces.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::batcher::Client;
use super::forms::OutputForms;
use super::instance::Instance;
use super::latency::{Change, Latency, duration};
use super::owner::Owner;
use super::pusher::Pusher;
use crate::caps;
use crate::inference::{RunShape, Stop};
use crate::model::ModelInfo;
use crate::sync::lock;

/// Models whose frames may be in flight downstream of this element.
const INFOS: usize = 16;

/// The flow of frames through the element: a state with one lock.
#[derive(Default)]
pub(super) struct Flow {
    inner: Mutex<FlowInner>,
    /// Whether the elements upstream are live.
    pub is_live: AtomicBool,
    /// Whether a frame was dropped before the next one.
    pub has_gap: AtomicBool,
    /// Whether streams of which something was remembered were forgotten because there were too many.
    pub has_forgotten: AtomicBool,
}

#[derive(Default)]
struct FlowInner {
    running: Option<Running>,
    /// Known with the caps.
    negotiated: Option<Negotiated>,
    /// Ends the warming up of a model when the element stops.
    warming: Arc<Stop>,
    pusher: Option<Pusher>,
    latency: Latency,
    /// How long a run takes, as the latency was calculated from it.
    known_run_ns: u64,
    /// What is known of the latest models, by their names in the caps: elements downstream may ask for one when another is in use.
    infos: VecDeque<(String, ModelInfo)>,
}

/// The instance that runs the element's frames.
#[derive(Clone)]
pub(super) struct Running {
    pub owner: Arc<Owner>,
    pub instance: Arc<Instance>,
    /// The element's number in the instance's queue.
    pub client: Client,
}

/// What the frames of the current caps become.
#[derive(Clone)]
pub(super) struct Negotiated {
    pub shape: Arc<RunShape>,
    pub forms: OutputForms,
    /// Width and height of the frames.
    pub frame: [usize; 2],
}

impl Running {
    /// Frames that the element holds at most.
    pub fn limit(&self) -> usize {
        self.instance.batcher.limit(self.client)
    }

    /// Takes back all frames that wait, because they are not wanted any more.
    pub fn take_back(&self) {
        while let Some(request) = self.instance.batcher.take_back(self.client) {
            drop(request);
        }
    }
}

impl Flow {
    /// Frames are taken from now on.
    pub fn start(&self, running: Running, pusher: Pusher) {
        let mut inner = lock(&self.inner);
        inner.warming = Arc::default();
        inner.pusher = Some(pusher);
        inner.running = Some(running);
    }

    /// No more frames are taken. Returns the instance that runs those in flight, and the thread that pushes them.
    pub fn stop(&self) -> (Option<Running>, Option<Pusher>) {
        let mut inner = lock(&self.inner);
        inner.negotiated = None;
        inner.latency = Latency::default();
        (inner.running.take(), inner.pusher.take())
    }

    /// The instance that runs the frames; `None` where the element is stopped.
    pub fn running(&self) -> Option<Running> {
        lock(&self.inner).running.clone()
    }

    /// The instance that runs the frames, and what was negotiated for them.
    pub fn negotiated(&self) -> (Option<Running>, Option<Negotiated>) {
        let inner = lock(&self.inner);
        (inner.running.clone(), inner.negotiated.clone())
    }

    /// What was negotiated for the frames that follow; `None` where their caps were refused.
    pub fn negotiate(&self, negotiated: Option<Negotiated>) {
        lock(&self.inner).negotiated = negotiated;
    }

    /// The frames that follow go to the instance `next`, of which the element holds at most `in_flight`, and have these caps. Those
    /// that wait for the instance before go at once. False where the element is stopped.
    pub fn switch(
        &self,
        next: &Arc<Instance>,
        in_flight: Option<usize>,
        negotiated: Negotiated,
        (caps, info): (&gst::Caps, ModelInfo),
    ) -> bool {
        let mut inner = lock(&self.inner);
        let Some(running) = &mut inner.running else { return false };
        running.instance.batcher.leave(running.client);
        running.client = next.batcher.join(in_flight);
        running.instance = Arc::clone(next);
        let owner = Arc::clone(&running.owner);
        inner.negotiated = Some(negotiated);
        inner.announce(&owner, caps, info);
        true
    }

    /// Queues caps of what the model makes of which this is known. False while flushing, and where the element is stopped.
    pub fn announce(&self, caps: &gst::Caps, info: ModelInfo) -> bool {
        let mut inner = lock(&self.inner);
        let owner = inner.running.as_ref().map(|running| Arc::clone(&running.owner));
        owner.is_some_and(|owner| inner.announce(&owner, caps, info))
    }

    /// What is known of a model that was announced under this name.
    pub fn info(&self, model: &str) -> Option<ModelInfo> {
        let inner = lock(&self.inner);
        inner.infos.iter().find(|(known, _)| known == model).map(|(_, info)| info.clone())
    }

    /// What ends the warming up of a model.
    pub fn warming(&self) -> Arc<Stop> {
        Arc::clone(&lock(&self.inner).warming)
    }

    /// Whether this is the thread that pushes.
    pub fn is_pusher(&self) -> bool {
        let own = std::thread::current().id();
        lock(&self.inner).pusher.as_ref().is_some_and(|pusher| pusher.id() == own)
    }

    /// What the element adds to the pipeline's latency: how long a frame takes at most, and how long frames may be held.
    pub fn latency(&self) -> (gst::ClockTime, gst::ClockTime) {
        lock(&self.inner).latency.announced()
    }

    /// The latency of frames with these caps. Returns what changes of what is announced.
    pub fn know_latency(&self, incoming: &gst::CapsRef) -> Change {
        let mut inner = lock(&self.inner);
        let Some(running) = &inner.running else { return Change::Nothing };
        let run_ns = running.instance.run_ns.load(Ordering::Relaxed);
        let known = running.instance.setup.timeout + 2 * Duration::from_nanos(run_ns);
        let room = duration(incoming, running.limit());
        inner.known_run_ns = run_ns;
        inner.latency.know(known, room)
    }

    #[cfg(test)]
    pub fn set_latency(&self, known: Duration) {
        lock(&self.inner).latency.know(known, gst::ClockTime::ZERO);
    }

    /// Whether a run takes another time than the latency was calculated from: another variant of the session serves now.
    pub fn runs_changed(&self) -> bool {
        let inner = lock(&self.inner);
        let run_ns = inner.running.as_ref().map(|running| running.instance.run_ns.load(Ordering::Relaxed));
        run_ns != Some(inner.known_run_ns)
    }

    /// The slowest frame of a window took that long. Returns whether another latency has to be announced.
    pub fn measure(&self, slowest: Duration) -> bool {
        lock(&self.inner).latency.measure(slowest)
    }
}

impl FlowInner {
    fn announce(&mut self, owner: &Owner, caps: &gst::Caps, info: ModelInfo) -> bool {
        if let Some(model) = caps::loaded_model(caps) {
            self.infos.retain(|(known, _)| *known != model);
            self.infos.push_back((model, info));
            let old = self.infos.len().saturating_sub(INFOS);
            self.infos.drain(..old);
        }
        owner.lane.push_event(gst::event::Caps::new(caps))
    }
}
