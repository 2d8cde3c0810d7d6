//! The way of a frame: in by the sink pad, through the instance's workers, out by the thread that pushes.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use gst::prelude::*;
use gst::subclass::prelude::*;

use super::flow::{Negotiated, Running};
use super::forms::OutputForms;
use super::imp::TrtInfer;
use super::instance::Instance;
use super::lane::{Item, Lane, Ticket};
use super::leaky::Leaky;
use super::look::{self, Look, Outgoing};
use super::owner::Owner;
use super::prompts;
use super::pusher::Pusher;
use super::request::{Request, ReturnGuard};
use crate::between::IntervalFrame;
use crate::inference::RunShape;
use crate::log::TRTINFER as CAT;
use crate::meta::tensor::TensorSet;
use crate::sync::lock;
use crate::tracer::calls;
use crate::{nvtx, refused, strings};

/// Elements downstream that are searched for a source pad that is not linked, at most.
const MOST_ELEMENTS: usize = 100;

/// Frames that the model does not see and that wait in the lane for others, for each one that it may see at a time: as many as a usual interval
/// has, so that runs beside each other and batches are possible.
const PASSED_FOR_ONE: usize = 8;

impl TrtInfer {
    /// Joins the instance and starts the thread that pushes on the source pad.
    pub(super) fn start(&self) -> Result<(), gst::LoggableError> {
        let instance = self.switch.in_use().ok_or_else(|| gst::loggable_error!(CAT, "there is no model"))?;
        let owner = Arc::new(Owner {
            element: self.obj().downgrade(),
            lane: Lane::new(),
            counters: Arc::clone(&self.counters),
            tally: Arc::clone(&self.tally),
            started: Instant::now(),
            reported: Mutex::default(),
        });
        let pusher = Pusher::start(&self.obj(), &owner).map_err(|e| {
            gst::element_imp_error!(
                self,
                gst::ResourceError::Failed,
                (
                    "{}: the system gives no thread to push frames with ({e}), and every trtinfer needs one. Raise the \
                     process's limits of memory and threads (ulimit -v, ulimit -u), or use fewer elements",
                    self.obj().name()
                )
            );
            gst::loggable_error!(CAT, "no thread to push with: {e}")
        })?;
        let client = instance.batcher.join(self.in_flight(&instance));
        self.memories.forget();
        self.flow.start(Running { owner, instance: Arc::clone(&instance), client }, pusher);
        self.switch.begin();
        self.change_model_set_meanwhile(&instance);
        Ok(())
    }

    /// Frames that this element holds at most with this instance, if the user has set it or the profile.
    pub(super) fn in_flight(&self, instance: &Instance) -> Option<usize> {
        let settings = lock(&self.settings);
        let set = usize::try_from(settings.max_in_flight).ok().filter(|n| *n > 0);
        set.or_else(|| settings.profile.in_flight(instance.batcher.size()))
    }

    /// Ends the thread that pushes and leaves the instance.
    pub(super) fn stop(&self) {
        self.switch.stop();
        let (running, pusher) = self.flow.stop();
        if let Some(running) = &running {
            running.owner.lane.stop();
            running.take_back();
        }
        if let Some(pusher) = pusher {
            pusher.join();
        }
        if let Some(running) = &running {
            running.instance.leave(running.client);
        }
        // Device memory that nothing reads any more.
        self.memories.forget();
    }

    /// Pushes what has left the lane.
    pub(super) fn push(&self, lane: &Lane<Outgoing>, item: Item<Outgoing>) {
        match item {
            Item::Event(event) => {
                // Upstream has sent its last frame, so only this element can report that it did not arrive.
                if let (gst::EventType::Eos, Err(flow)) = (event.type_(), lane.flow()) {
                    self.report(flow);
                }
                self.tally.delays.push(true, Instant::now());
                self.src.push_event(event);
                self.tally.delays.push(false, Instant::now());
                lane.pushed_event();
            }
            Item::Frame(Ok(Outgoing { mut buffer, answers })) if lane.flow().is_ok() => {
                if let Some(answers) = answers {
                    let held = answers.put(buffer.make_mut());
                    self.tally.held.fetch_add(held as u64, Ordering::Relaxed);
                }
                self.announce_latency();
                if lane.take_gap() {
                    buffer.make_mut().set_flags(gst::BufferFlags::DISCONT);
                }
                self.tally.delays.push(true, Instant::now());
                let flow = self.src.push(buffer);
                self.tally.delays.push(false, Instant::now());
                if let Err(e) = flow {
                    gst::debug!(CAT, imp = self, "downstream says {e:?}");
                }
                lane.pushed(flow);
            }
            // After a failure nothing is pushed any more, but the lane has to empty, so that events get through.
            Item::Frame(frame) => lane.pushed(frame.map(|_| gst::FlowSuccess::Ok)),
        }
    }

    /// Posts what ended the flow of frames, unless the application ended it, or an element has posted it.
    pub(super) fn report(&self, flow: gst::FlowError) {
        let name = self.obj().name();
        // The element was stopped meanwhile, which is not an error.
        let Some(Running { owner, .. }) = self.flow.running() else { return };
        let why = match flow {
            gst::FlowError::NotLinked => self.open_end(),
            gst::FlowError::NotNegotiated => {
                if refused::any_since(self.obj().upcast_ref(), owner.started) {
                    return;
                }
                "an element downstream refused the frames' caps. Put videoconvert before fusedpreproc, or cudainferdownload \
                 before elements that need system memory"
                    .to_owned()
            }
            // The error about the frame has been posted: there is nothing to add.
            gst::FlowError::Error | gst::FlowError::NotSupported if owner.has_reported() => return,
            gst::FlowError::Error | gst::FlowError::NotSupported => {
                // The element that failed must post the error: this is for elements that do not.
                gst::element_imp_warning!(
                    self,
                    gst::StreamError::Failed,
                    ("{name}: the stream ended early, because an element downstream failed. Its own error says why"),
                    ["flow: {flow:?}"]
                );
                return;
            }
            _ => return,
        };
        gst::element_imp_error!(
            self,
            gst::StreamError::Failed,
            ("{name}: the stream ended early: {why}"),
            ["flow: {flow:?}"]
        );
    }

    /// Which source pad downstream is not linked, and what to do.
    fn open_end(&self) -> String {
        let mut end = self.src.clone();
        // Ends also where elements are linked in a circle.
        for _ in 0..MOST_ELEMENTS {
            let Some(next) = end.peer().and_then(|peer| peer.parent_element()) else { break };
            let pads = next.src_pads();
            let Some(pad) = pads.iter().find(|pad| !pad.is_linked()).or(pads.first()) else { break };
            end = pad.clone();
        }
        let format = self.src.current_caps();
        let format = format.and_then(|caps| strings::field(caps.structure(0)?, "format"));
        let element = end.parent_element().map_or_else(String::new, |element| element.name().to_string());
        format!(
            "the source pad of '{element}' is not linked. Link it to a sink, fakesink for example. If the application tried to, \
             the link was refused: the element there does not accept format {}",
            format.unwrap_or_default()
        )
    }

    /// What a promptable model is asked for; nothing of other models, or where the frame does not bring what the model wants.
    fn prompts(
        &self,
        frame: &mut gst::BufferRef,
        running: &Running,
        shape: &RunShape,
    ) -> Option<Vec<TensorSet>> {
        let engine = &running.instance.engine;
        let prompted = engine.prompted.as_ref()?;
        let (sets, unprompted) = prompts::sets(frame, shape, &engine.info.prompts, prompted)?;
        self.tally.unprompted.fetch_add(unprompted, Ordering::Relaxed);
        Some(sets)
    }

    /// Hands a frame over and returns; it waits only while `max-in-flight` frames are in flight.
    pub(super) fn chain(&self, mut buffer: gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let _range = nvtx::range(&*self.obj());
        let arrival = self.tally.delays.arrive(Instant::now());
        self.doubt_lag(&buffer);
        self.follow_constants();
        self.follow();
        let (running, negotiated) = self.flow.negotiated();
        let running = running.ok_or(gst::FlowError::Flushing)?;
        let Negotiated { shape, forms, frame } = negotiated.ok_or_else(|| {
            gst::element_imp_error!(
                self,
                gst::CoreError::Negotiation,
                (
                    "{}: frames arrive before their caps. Put fusedpreproc before this element",
                    self.obj().name()
                )
            );
            gst::FlowError::NotNegotiated
        })?;
        let (leaky, priority) = {
            let settings = lock(&self.settings);
            (settings.leaky, settings.priority)
        };
        let is_between = IntervalFrame::of(&buffer).is_some_and(IntervalFrame::is_unseen);
        if is_between && TensorSet::of(&buffer).is_some_and(|sets| sets.is_empty()) {
            return self.pass(buffer, &running, &forms, leaky);
        }
        let remembers = shape.is_recurrent() || shape.looks_back();
        let memory = remembers.then(|| self.memories.of(&buffer));
        // Also of a frame that is dropped: those after it do not see another one in its place.
        let seeing = memory.as_ref().filter(|_| shape.looks_back());
        let look = seeing.and_then(|memory| Look::of(&mut buffer, &shape, memory));
        let Some(ticket) = self.enter(&running, leaky)? else {
            self.flow.has_gap.store(true, Ordering::Relaxed);
            look.iter().for_each(Look::postpone);
            self.drop_frame(&buffer);
            return Ok(gst::FlowSuccess::Ok);
        };
        if self.flow.has_gap.swap(false, Ordering::Relaxed) {
            buffer.make_mut().set_flags(gst::BufferFlags::DISCONT);
        }
        let prompts = self.prompts(buffer.make_mut(), &running, &shape);
        let entry = self.tally.delays.enter(arrival, Instant::now());
        let Running { owner, instance, client } = running;
        let queue = Arc::clone(&instance.batcher);
        let guard = ReturnGuard::new(ticket, &owner);
        let memory = memory.filter(|_| shape.is_recurrent());
        let is_held = look.as_ref().is_some_and(|look| !look.sets.is_empty() && look.is_held());
        let request = Request {
            ticket,
            buffer,
            shape,
            memory,
            look,
            prompts,
            answers: None,
            forms,
            frame,
            owner,
            entry,
            instance,
            guard,
            sampled: calls::sampled(),
        };
        if is_held {
            request.hold();
        } else {
            queue.submit(client, priority, request);
        }
        Ok(gst::FlowSuccess::Ok)
    }

    /// Posts a WARNING from time to time where the frames of a live source come late: they wait upstream, and ever more do.
    fn doubt_lag(&self, frame: &gst::BufferRef) {
        let lag = self.lag.of(&self.sink, frame);
        let Some(lag) = lag.filter(|lag| self.lag.is_doubtful(*lag, Instant::now())) else {
            return;
        };
        gst::element_imp_warning!(
            self,
            gst::StreamError::Failed,
            (
                "{}: frames of the live source come {:.1} s late, because what follows it is too slow for them, and they wait. Set \
                 leaky=downstream to drop the oldest, or infer less: interval or max-load of fusedpreproc, a larger batch-size, a \
                 smaller input",
                self.obj().name(),
                lag.seconds_f64()
            )
        );
    }

    /// A frame that the model does not see goes out in its place, without a run.
    fn pass(
        &self,
        mut buffer: gst::Buffer,
        running: &Running,
        forms: &OutputForms,
        leaky: Leaky,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        forms.put(&[], buffer.make_mut());
        let (lane, queue) = (&running.owner.lane, &running.instance.batcher);
        let limit = || PASSED_FOR_ONE * queue.limit(running.client);
        if lane.pass(buffer.clone().into(), limit, leaky == Leaky::No)? {
            self.counters.frames.add(1);
        } else {
            self.flow.has_gap.store(true, Ordering::Relaxed);
            self.drop_frame(&buffer);
        }
        Ok(gst::FlowSuccess::Ok)
    }

    /// A place in the lane for a frame; `None` if this frame is the one to be dropped.
    fn enter(&self, running: &Running, leaky: Leaky) -> Result<Option<Ticket>, gst::FlowError> {
        let (lane, queue) = (&running.owner.lane, &running.instance.batcher);
        leaky.enter(lane, queue, running.client, Request::give_up, |Outgoing { mut buffer, answers }| {
            // The frames after it carry its answer all the same.
            if let Some(answers) = answers {
                answers.put(buffer.make_mut());
            }
            self.drop_frame(&buffer);
        })
    }

    /// Counts a frame that is dropped, and posts a QOS message.
    fn drop_frame(&self, buffer: &gst::BufferRef) {
        let dropped = self.tally.dropped.fetch_add(1, Ordering::Relaxed) + 1;
        let segment = self.sink.sticky_event::<gst::event::Segment>(0);
        let segment = segment.and_then(|event| event.segment().downcast_ref::<gst::ClockTime>().cloned());
        let time =
            |of: fn(&gst::FormattedSegment<gst::ClockTime>, gst::ClockTime) -> Option<gst::ClockTime>| {
                segment.as_ref().zip(buffer.pts()).and_then(|(segment, pts)| of(segment, pts))
            };
        let running_time = time(|segment, pts| segment.to_running_time(pts));
        let stream_time = time(|segment, pts| segment.to_stream_time(pts));
        let message = gst::message::Qos::builder(self.flow.is_live.load(Ordering::Relaxed))
            .running_time(running_time)
            .stream_time(stream_time)
            .timestamp(buffer.pts())
            .duration(buffer.duration())
            .stats(
                gst::format::Buffers::from_u64(self.counters.frames.get()),
                gst::format::Buffers::from_u64(dropped),
            )
            .src(&*self.obj())
            .build();
        self.post_message(message);
    }

    /// Warns at the end of streams of which no run was made, because they were too short for a clip, or no object had an identity.
    pub(super) fn warn_without_run(&self, instance: &Instance) {
        let engine = &instance.engine;
        let Some((longest, untracked)) = self.memories.without_run().filter(|_| engine.looks_back()) else {
            return;
        };
        let why = match (untracked, engine.info.clip) {
            (0, Some(clip)) => look::without_full_clip(clip, longest),
            (0, None) => return,
            (count, _) => look::without_identity(count),
        };
        gst::element_imp_warning!(self, gst::StreamError::Failed, ("{}: {why}", self.obj().name()));
    }

    /// Waits until everything that came in has gone out; false while flushing.
    pub(super) fn drain(&self) -> bool {
        self.flow.running().is_some_and(|running| {
            running.instance.batcher.hurry(running.client);
            running.owner.lane.drain()
        })
    }
}
