//! Sixteen streams of one pipeline that share a model, of which one may misbehave: what the other fifteen come to.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gst::prelude::*;
use gstcudainfer::meta::object::objects;

use crate::dice::Dice;
use crate::stream::brightness;
use crate::{TestPipeline, model, until};

/// All streams, with the one that misbehaves: the last.
pub const STREAMS: usize = 16;

/// Width and height of the frames of streams that behave.
const SIDE: usize = 16;

/// What the last stream does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bad {
    /// As the others.
    Nothing,
    /// Its pictures are noise, then its frames are shorter than their caps say.
    Garbage,
    /// Nothing takes its frames any more after the first.
    Blocked,
    /// Its frames have another size and format each time.
    Caps,
    /// Ten thousand objects are found in each of its frames.
    Crowd,
}

impl Bad {
    /// All that is bad.
    pub const ALL: [Self; 4] = [Self::Garbage, Self::Blocked, Self::Caps, Self::Crowd];
}

/// What a stream has come to.
#[derive(Default)]
struct Seen {
    /// The objects of each frame, as text, while it is wanted.
    results: Mutex<Vec<String>>,
    frames: AtomicU64,
}

/// The pipeline, which plays.
pub struct Sixteen {
    pipeline: TestPipeline,
    seen: Vec<Arc<Seen>>,
    stop: Arc<AtomicBool>,
    bad: Bad,
    misbehaving: Option<JoinHandle<u64>>,
    blocked: Option<gst::PadProbeId>,
}

impl Sixteen {
    /// Starts the pipeline, and the last stream's misbehaviour, which sends a frame each `pace`.
    pub fn start(bad: Bad, pace: Duration) -> Self {
        let branch = |number: usize| {
            // Where one detects thousands, all must pass.
            format!(
                "appsrc name=in{number} format=time block=true max-buffers=2 max-bytes=0 \
                 caps=video/x-raw,format=RGB,width={SIDE},height={SIDE},framerate=25/1 \
                 ! fusedpreproc name=pre{number} ! trtinfer name=infer{number} device=cpu model={} instance=sixteen batch-size=8 workers=2 \
                 max-in-flight=4 ! gpunms name=nms{number} top-k-before=100000 top-k-after=100000 ! tracker \
                 ! fakesink name=out{number} async=false",
                model("crowd-of-blue")
            )
        };
        let branches: Vec<_> = (0..STREAMS).map(branch).collect();
        let pipeline = TestPipeline::new(&branches.join(" "));
        let seen: Vec<_> = (0..STREAMS).map(|_| Arc::new(Seen::default())).collect();
        for (number, seen) in seen.iter().enumerate() {
            let seen = Arc::clone(seen);
            pipeline.watch(&format!("out{number}"), move |buffer, _| {
                if number + 1 < STREAMS {
                    let text = format!("{:?} {:?}", buffer.pts(), objects(buffer));
                    seen.results.lock().unwrap().push(text);
                }
                seen.frames.fetch_add(1, Ordering::SeqCst);
            });
        }
        pipeline.play();
        let mut sixteen =
            Self { pipeline, seen, stop: Arc::default(), bad, misbehaving: None, blocked: None };
        sixteen.misbehave(pace);
        sixteen
    }

    fn misbehave(&mut self, pace: Duration) {
        let (bad, last) = (self.bad, STREAMS - 1);
        if bad == Bad::Blocked {
            let pad = self.pipeline.element(&format!("nms{last}")).static_pad("src").unwrap();
            let block = gst::PadProbeType::BLOCK | gst::PadProbeType::BUFFER;
            self.blocked = pad.add_probe(block, |_, _| gst::PadProbeReturn::Ok);
        }
        let source = self.pipeline.element(&format!("in{last}"));
        let stop = Arc::clone(&self.stop);
        self.misbehaving = Some(std::thread::spawn(move || {
            let mut dice = Dice::new(16);
            let mut sent = 0;
            while !stop.load(Ordering::SeqCst) {
                let (caps, bytes) = frame_of(bad, &mut dice, sent);
                if let Some(caps) = caps {
                    source.set_property("caps", caps.parse::<gst::Caps>().unwrap());
                }
                let flow = source.emit_by_name::<gst::FlowReturn>("push-buffer", &[&timed(bytes, sent)]);
                if flow != gst::FlowReturn::Ok {
                    break;
                }
                sent += 1;
                std::thread::sleep(pace);
            }
            sent
        }));
    }

    /// Sends this frame to a stream that behaves; waits while it takes none.
    pub fn push(&self, stream: usize, number: u64) {
        let bytes = vec![brightness(number + stream as u64); SIDE * SIDE * 3];
        crate::push(&self.pipeline.element(&format!("in{stream}")), timed(bytes, number));
    }

    /// Frames that came out of each stream.
    pub fn counts(&self) -> Vec<u64> {
        self.seen.iter().map(|seen| seen.frames.load(Ordering::SeqCst)).collect()
    }

    /// Waits until each stream that behaves has this many frames.
    pub fn wait_for(&self, frames: u64) {
        until("the frames of streams that behave", || {
            self.counts()[..STREAMS - 1].iter().all(|count| *count >= frames)
        });
    }

    /// The objects in each frame of the streams that behave.
    pub fn results(&self) -> Vec<Vec<String>> {
        self.seen[..STREAMS - 1].iter().map(|seen| seen.results.lock().unwrap().clone()).collect()
    }

    /// The errors of streams that behave, and those of the last one.
    pub fn errors(&self) -> [Vec<String>; 2] {
        let bus = self.pipeline.bus().unwrap();
        let errors = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Error]));
        let (bad, good) = errors
            .map(|message| {
                let name = message.src().map(|source| source.name().to_string()).unwrap_or_default();
                let text = match message.view() {
                    gst::MessageView::Error(error) => error.error().to_string(),
                    _ => String::new(),
                };
                (name, text)
            })
            .partition(|(name, _): &(String, String)| name.ends_with(&(STREAMS - 1).to_string()));
        let texts = |all: Vec<(String, String)>| all.into_iter().map(|(_, text)| text).collect();
        [texts(good), texts(bad)]
    }

    /// Stops, and returns how many frames the last stream has sent and how many came out of it, while it was blocked if it was.
    pub fn stop(mut self) -> [u64; 2] {
        let last = STREAMS - 1;
        self.stop.store(true, Ordering::SeqCst);
        let mut out = None;
        if let Some(probe) = self.blocked.take() {
            out = Some(self.counts()[last]);
            self.pipeline.element(&format!("nms{last}")).static_pad("src").unwrap().remove_probe(probe);
        }
        self.pipeline.stop();
        let sent = self.misbehaving.take().unwrap().join().unwrap();
        [sent, out.unwrap_or_else(|| self.counts()[last])]
    }
}

/// How long it takes the streams that behave to come to `frames` each, all sent as fast as they are taken.
pub fn time_of(sixteen: &Sixteen, frames: u64) -> Duration {
    let started = Instant::now();
    for number in 0..frames {
        (0..STREAMS - 1).for_each(|stream| sixteen.push(stream, number));
    }
    sixteen.wait_for(frames);
    started.elapsed()
}

fn timed(bytes: Vec<u8>, number: u64) -> gst::Buffer {
    let mut buffer = gst::Buffer::from_mut_slice(bytes);
    let buffer_mut = buffer.get_mut().unwrap();
    buffer_mut.set_pts(gst::ClockTime::from_mseconds(40 * number));
    buffer_mut.set_duration(gst::ClockTime::from_mseconds(40));
    buffer
}

/// The caps of the last stream's frame, where they are others, and its bytes.
fn frame_of(bad: Bad, dice: &mut Dice, number: u64) -> (Option<String>, Vec<u8>) {
    let whole = SIDE * SIDE * 3;
    match bad {
        Bad::Nothing | Bad::Blocked => (None, vec![brightness(number); whole]),
        Bad::Garbage => {
            let length = if number < 100 { whole } else { dice.roll(whole) };
            (None, (0..length).map(|_| u8::try_from(dice.roll(256)).unwrap()).collect())
        }
        Bad::Caps => {
            let (format, pixel) = *dice.pick(&[("RGB", 3), ("BGRx", 4), ("GRAY8", 1)]);
            let (width, height) = (4 * (1 + dice.roll(100)), 1 + dice.roll(200));
            let caps = format!("video/x-raw,format={format},width={width},height={height},framerate=25/1");
            (Some(caps), vec![brightness(number); width * height * pixel])
        }
        Bad::Crowd => (None, [0, 0, 255].repeat(SIDE * SIDE)),
    }
}
