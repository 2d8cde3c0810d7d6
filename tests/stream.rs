//! A stream that a test pushes frame by frame, and the frames and events that come out. Each frame's brightness follows from its
//! number, and the detectors' confidence from the brightness, so that a result on a wrong frame is noticed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use crate::{TestPipeline, filled, model, until};
use gst::prelude::*;
use gst::{ClockTime, FlowError, FlowSuccess};
use gstcudainfer::meta::object::objects;
use gstcudainfer::meta::tensor::TensorSet;

/// Caps of the frames.
pub const CAPS: &str = "video/x-raw,format=RGB,width=8,height=8,framerate=100/1";

static NOISE: RwLock<()> = RwLock::new(());

/// Locked for reading by tests that may run at the same time as others.
pub fn together() -> RwLockReadGuard<'static, ()> {
    NOISE.read().unwrap_or_else(|e| e.into_inner())
}

/// Locked by tests that count threads, so that no other test runs at the same time.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    NOISE.write().unwrap_or_else(|e| e.into_inner())
}

/// An hour in nanoseconds: a `batch-timeout` that never ends within a test.
pub const NEVER: &str = "3600000000000";

/// Worker threads of all models in this process.
pub fn workers() -> usize {
    let is_worker =
        |name: &String| name.strip_prefix("trtinfer:").is_some_and(|rest| rest.parse::<u32>().is_ok());
    threads().iter().filter(|name| is_worker(name)).count()
}

/// The names of this process's threads, without those that have ended and are still listed.
pub fn threads() -> Vec<String> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let folder = entry.ok()?.path();
        let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
        let flags: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(6)?.parse().ok()?;
        // PF_EXITING of the kernel's sched.h.
        let ended = flags & 4 != 0;
        (!ended).then(|| std::fs::read_to_string(folder.join("comm")).ok()).flatten()
    };
    let names = std::fs::read_dir("/proc/self/task").unwrap().filter_map(name);
    names.map(|name| name.trim_end().to_owned()).collect()
}

/// Keeps the only worker of an instance busy until it is released, by a frame that fails: the worker posts an error, and the
/// handler of messages waits.
pub struct Busy {
    stream: Stream,
    held: Arc<(Mutex<[bool; 2]>, Condvar)>,
}

impl Busy {
    /// A stream with these properties, which does not keep the worker busy yet.
    pub fn new(model_name: &str, properties: &str) -> Self {
        let stream = Stream::new(model_name, properties);
        let held = Arc::new((Mutex::new([false; 2]), Condvar::new()));
        let holds = Arc::clone(&held);
        stream.pipeline.bus().unwrap().set_sync_handler(move |_, message| {
            if message.type_() == gst::MessageType::Error {
                let (state, changed) = &*holds;
                let mut state = state.lock().unwrap();
                state[0] = true;
                changed.notify_all();
                let (state, timeout) =
                    changed.wait_timeout_while(state, crate::LIMIT, |[_, released]| !*released).unwrap();
                drop(state);
                assert!(!timeout.timed_out(), "nobody lets it go");
            }
            gst::BusSyncReply::Drop
        });
        let strip = |_: &gst::Pad, info: &mut gst::PadProbeInfo<'_>| {
            if let Some(gst::PadProbeData::Buffer(buffer)) = &mut info.data {
                TensorSet::take(buffer.make_mut());
            }
            gst::PadProbeReturn::Ok
        };
        let pad = stream.pipeline.element("pre").static_pad("src").unwrap();
        pad.add_probe(gst::PadProbeType::BUFFER, strip).unwrap();
        stream.begin();
        Self { stream, held }
    }

    /// Sends the frame.
    pub fn send(&self) {
        self.stream.push(0);
    }

    /// Waits until the worker is at the frame.
    #[track_caller]
    pub fn wait(&self) {
        until("the worker is busy", || self.held.0.lock().unwrap()[0]);
    }

    /// Lets the worker go on.
    pub fn release(&self) {
        self.held.0.lock().unwrap()[1] = true;
        self.held.1.notify_all();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // Otherwise the pipeline would wait for the worker, also while a test fails.
        self.release();
    }
}

/// A frame or event that came out.
#[derive(Clone, Debug, PartialEq)]
pub enum Out {
    /// A frame.
    Frame(Frame),
    /// A serialized event, by its type, or its structure's name.
    Event(String),
}

/// A frame that came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Its number, from its time.
    pub number: u64,
    /// When it came.
    pub at: Instant,
    /// Whether it is marked as discontinuous: frames are missing before it.
    pub discont: bool,
    /// The label of its first object.
    pub label: String,
}

/// A detector's pipeline that a test pushes into; everything happens in the test's thread up to trtinfer.
pub struct Stream {
    /// `pre` is fusedpreproc, `infer` trtinfer, `out` the sink.
    pub pipeline: TestPipeline,
    /// The pad on which frames are pushed.
    pub pad: gst::Pad,
    /// Whether it answers latency queries as a live source.
    pub live: Arc<AtomicBool>,
    out: Arc<Mutex<Vec<Out>>>,
}

/// A frame's brightness: over the threshold, under white.
pub fn brightness(number: u64) -> u8 {
    u8::try_from(110 + number * 37 % 139).unwrap()
}

impl Stream {
    /// A pipeline whose trtinfer has these properties besides the model.
    pub fn new(model_name: &str, properties: &str) -> Self {
        Self::with(&format!(
            "trtinfer name=infer model={} {properties} ! gpunms name=nms ! fakesink name=out async=false",
            model(model_name)
        ))
    }

    /// A pipeline of these elements after fusedpreproc; `out` is its last one.
    pub fn with(elements: &str) -> Self {
        let pipeline = TestPipeline::new(&format!("fusedpreproc name=pre ! {elements}"));
        let live = Arc::new(AtomicBool::new(false));
        let is_live = live.clone();
        let pad = gst::Pad::builder(gst::PadDirection::Src)
            .query_function(move |pad, parent, query| {
                if let gst::QueryViewMut::Latency(latency) = query.view_mut() {
                    latency.set(is_live.load(Ordering::SeqCst), ClockTime::ZERO, ClockTime::NONE);
                    return true;
                }
                gst::Pad::query_default(pad, parent, query)
            })
            .build();
        pad.set_active(true).unwrap();
        pad.link(&pipeline.element("pre").static_pad("sink").unwrap()).unwrap();
        let out = Arc::new(Mutex::new(Vec::new()));
        let seen = out.clone();
        pipeline.element("out").static_pad("sink").unwrap().add_probe(
            gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM | gst::PadProbeType::EVENT_FLUSH,
            move |_, info| {
                let one = match &info.data {
                    Some(gst::PadProbeData::Buffer(buffer)) => Out::Frame(frame(buffer)),
                    Some(gst::PadProbeData::Event(event)) => Out::Event(event.structure().map_or_else(
                        || event.type_().name().to_string(),
                        |s| match event.type_() {
                            gst::EventType::CustomDownstream => s.name().to_string(),
                            other => other.name().to_string(),
                        },
                    )),
                    _ => return gst::PadProbeReturn::Ok,
                };
                seen.lock().unwrap().push(one);
                gst::PadProbeReturn::Ok
            },
        );
        Self { pipeline, pad, live, out }
    }

    /// Plays, and begins the stream.
    pub fn begin(&self) {
        self.pipeline.play();
        self.announce(CAPS);
    }

    /// Stream-start, caps and segment.
    pub fn announce(&self, caps: &str) {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let id = COUNT.fetch_add(1, Ordering::Relaxed);
        self.event(gst::event::StreamStart::new(&id.to_string()));
        self.event(gst::event::Caps::new(&caps.parse().unwrap()));
        self.segment();
    }

    /// A segment from 0 on.
    pub fn segment(&self) {
        self.event(gst::event::Segment::new(&gst::FormattedSegment::<ClockTime>::new()));
    }

    /// Pushes a frame.
    pub fn try_push(&self, number: u64) -> Result<FlowSuccess, FlowError> {
        self.pad.push(filled(8 * 8 * 3, brightness(number), number))
    }

    /// Pushes a frame, which must be taken.
    #[track_caller]
    pub fn push(&self, number: u64) {
        let flow = self.try_push(number);
        assert_eq!(flow, Ok(FlowSuccess::Ok), "frame {number}: {:?}", self.said());
    }

    /// Sends an event.
    pub fn event(&self, event: gst::Event) -> bool {
        self.pad.push_event(event)
    }

    /// Flushes, and begins a segment.
    pub fn flush(&self) {
        assert!(self.event(gst::event::FlushStart::new()));
        assert!(self.event(gst::event::FlushStop::new(true)));
        self.segment();
    }

    /// Ends the stream and waits until the end is through.
    #[track_caller]
    pub fn end(&self) {
        self.event(gst::event::Eos::new());
        self.pipeline.wait().succeeds();
    }

    /// Everything that came out.
    pub fn out(&self) -> MutexGuard<'_, Vec<Out>> {
        self.out.lock().unwrap()
    }

    /// The frames that came out.
    pub fn frames(&self) -> Vec<Frame> {
        let frames = |one: &Out| if let Out::Frame(frame) = one { Some(frame.clone()) } else { None };
        self.out().iter().filter_map(frames).collect()
    }

    /// Holds up what leaves the element of this name. Wait with [`Held::wait`] until something is held up.
    pub fn hold(&self, element: &str) -> Held {
        let pad = self.pipeline.element(element).static_pad("src").unwrap();
        let reached = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&reached);
        let block = gst::PadProbeType::BLOCK | gst::PadProbeType::BUFFER;
        let probe = pad.add_probe(block, move |_, _| {
            noted.store(true, Ordering::SeqCst);
            gst::PadProbeReturn::Ok
        });
        Held { pad, probe, reached }
    }

    /// The numbers of the frames that came out.
    pub fn numbers(&self) -> Vec<u64> {
        self.frames().iter().map(|frame| frame.number).collect()
    }

    /// Waits until this many frames came out.
    #[track_caller]
    pub fn wait_for(&self, count: usize) {
        until(&format!("{count} frames"), || self.frames().len() >= count);
    }

    /// The latency that the sink gets: whether it is live, and how long it is.
    pub fn latency(&self) -> (bool, Duration) {
        let mut query = gst::query::Latency::new();
        assert!(self.pipeline.element("out").static_pad("sink").unwrap().peer_query(&mut query));
        let (live, min, _) = query.result();
        (live, min.into())
    }

    /// A count of trtinfer's.
    pub fn count(&self, field: &str) -> u64 {
        let stats = self.pipeline.element("infer").property::<gst::Structure>("stats");
        stats.get(field).unwrap_or_else(|e| panic!("{e}: {stats}"))
    }

    /// trtinfer's model.
    pub fn model(&self) -> String {
        self.pipeline.element("infer").property("model")
    }

    /// Sets another model.
    pub fn set_model(&self, name: &str) {
        self.pipeline.element("infer").set_property("model", model(name));
    }

    /// The sentences of warnings and errors that were posted and not yet read.
    pub fn said(&self) -> Vec<String> {
        let said = |message: gst::Message| match message.view() {
            gst::MessageView::Warning(warning) => Some(warning.error().to_string()),
            gst::MessageView::Error(error) => Some(error.error().to_string()),
            _ => None,
        };
        // These warnings are expected: no GPU is used, and tests wait for batches without being live.
        let known = ["no GPU is used", "nothing before this element is live"];
        let news = |text: &String| !known.iter().any(|known| text.contains(known));
        let bus = self.pipeline.bus().unwrap();
        std::iter::from_fn(|| bus.pop()).filter_map(said).filter(news).collect()
    }
}

/// A pad that is held up.
pub struct Held {
    pad: gst::Pad,
    probe: Option<gst::PadProbeId>,
    reached: Arc<AtomicBool>,
}

impl Held {
    /// Waits until a frame is held up.
    #[track_caller]
    pub fn wait(&self) {
        until("a frame is held up", || self.reached.load(Ordering::SeqCst));
    }

    /// Lets everything go on.
    pub fn release(&mut self) {
        if let Some(probe) = self.probe.take() {
            self.pad.remove_probe(probe);
        }
    }
}

/// What a test must know of a frame; its object must be its own.
fn frame(buffer: &gst::Buffer) -> Frame {
    let number = buffer.pts().unwrap().mseconds() / 10;
    let found = objects(buffer);
    let wanted = f32::from(brightness(number)) / 255.0;
    for detection in found.iter().map(|object| object.detection.as_ref().unwrap()) {
        let got = detection.confidence;
        assert!((got - wanted).abs() < 1e-4, "frame {number} has {got}, which is not its own {wanted}");
    }
    Frame {
        number,
        at: Instant::now(),
        discont: buffer.flags().contains(gst::BufferFlags::DISCONT),
        label: found.first().map_or_else(String::new, |object| object.label.clone()),
    }
}

/// Milliseconds.
pub const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}
