//! Drives a line with trtinfer by one or many streams and measures it: what `scripts/autotune` and `scripts/bench --gpu`
//! count with.
//!
//! ```text
//! cargo run --release -p cudainfer-benches --bin load -- [--streams N] [--keep K] [--rate FPS] \
//!     [--each WORD,WORD…] [--warm-up S] [--seconds S] "filesrc location=street.mp4 ! decodebin ! videoconvert" \
//!     "fusedpreproc ! trtinfer model=yolo11n.onnx ! gpunms ! fakesink sync=false"
//! ```
//!
//! Every stream is the first line before the second. With `--keep`, K frames of the first line are decoded beforehand and
//! repeated in all streams; with `--rate`, they come at that many frames a second, all streams together, one after the other
//! (`--keep` is 32 then, if it is not given). With `--each`, the streams take the words in turns, in place of `{each}` in both
//! lines: `--each cuda:0,cuda:1` with `device={each} instance={each}` is half of the streams on each GPU. The clock starts `--warm-up` seconds after every stream has its first
//! result, and stops after `--seconds` or when a stream ends. Standard output gets one line of JSON: `streams`, `frames`
//! and `seconds` counted, `fps`, `p50_ms`, `p95_ms` and `p99_ms` from a frame's arrival at trtinfer to that at the line's end (where
//! it is on a GPU, it leaves trtinfer before its results are there), `cpu_ms_per_frame` of all threads of the process, and `batches`, `batched_frames` where trtinfer counts them.

use std::collections::VecDeque;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gst::prelude::*;
use serde_json::json;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Time for the first results: engines may have to be built.
const PATIENCE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(10);

fn main() {
    if let Err(error) = Arguments::read(std::env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

struct Arguments {
    source: String,
    line: String,
    streams: usize,
    keep: usize,
    rate: f64,
    /// At least one; empty where the streams are all the same.
    each: Vec<String>,
    warm_up: Duration,
    length: Duration,
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Outcome<Self> {
        let (mut streams, mut keep, mut rate, mut warm_up, mut seconds) = (1, 0, 0.0, 1.0, 3.0);
        let mut lines = Vec::new();
        let mut each = vec![String::new()];
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} wants a value"));
            match word.as_str() {
                "--streams" => streams = value()?.parse::<usize>()?.max(1),
                "--keep" => keep = value()?.parse()?,
                "--rate" => rate = value()?.parse()?,
                "--each" => each = value()?.split(',').map(str::to_owned).collect(),
                "--warm-up" => warm_up = value()?.parse()?,
                "--seconds" => seconds = value()?.parse()?,
                _ => lines.push(word),
            }
        }
        let [source, line] =
            <[String; 2]>::try_from(lines).map_err(|_| "usage: load [OPTION VALUE]... SOURCE LINE")?;
        let keep = if rate > 0.0 && keep == 0 { 32 } else { keep };
        let [warm_up, length] = [warm_up, seconds].map(Duration::try_from_secs_f64);
        Ok(Self { source, line, streams, keep, rate, each, warm_up: warm_up?, length: length? })
    }

    /// The part of a line that stream number `n` has, with its word.
    fn of(&self, line: &str, n: usize) -> String {
        line.replace("{each}", &self.each[n % self.each.len()])
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run(arguments: &Arguments) -> Outcome<()> {
    gst::init()?;
    gstcudainfer::plugin_register_static()?;
    // One for each word, where the source has it.
    let sources = if arguments.source.contains("{each}") { arguments.each.len() } else { 1 };
    let sources = if arguments.keep > 0 { sources.min(arguments.streams) } else { 0 };
    let kept = (0..sources).map(|n| Kept::decode(&arguments.of(&arguments.source, n), arguments.keep));
    let kept: Vec<Kept> = kept.collect::<Outcome<_>>()?;
    let source = |n| match kept.first() {
        Some(_) => format!("appsrc name=feed{n} format=time block=true max-buffers=1 max-bytes=0"),
        None => arguments.of(&arguments.source, n),
    };
    let chain = |n| format!("{} ! {}", source(n), arguments.of(&arguments.line, n));
    let chains: Vec<String> = (0..arguments.streams).map(chain).collect();
    let line = Line::launch(&chains.join("   "))?;
    let streams: Vec<Arc<Stream>> = line.inferences()?.iter().map(Stream::watch).collect::<Outcome<_>>()?;
    let stop = AtomicBool::new(false);
    // Before anything is fed: an appsrc that is not started blocks for good.
    line.play()?;
    let measured = std::thread::scope(|scope| {
        let fed = (0..arguments.streams).zip(kept.iter().cycle());
        for (n, kept) in fed {
            let feed = line.bin.by_name(&format!("feed{n}"));
            let stop = &stop;
            scope.spawn(move || {
                if let Some(feed) = feed {
                    kept.feed(&feed, stop, n, arguments);
                }
            });
        }
        let measured = line.measure(&streams, arguments);
        stop.store(true, Ordering::Relaxed);
        // This frees the threads that are blocked in appsrc.
        line.stop();
        measured
    })?;
    println!("{measured}");
    Ok(())
}

/// Decoded frames, with the line that made them: it owns the memory's pools.
struct Kept {
    _line: Line,
    caps: gst::Caps,
    frames: Vec<gst::Buffer>,
}

impl Kept {
    fn decode(source: &str, wanted: usize) -> Outcome<Self> {
        let line = Line::launch(&format!("{source} ! fakesink name=kept sync=false"))?;
        let pad = line.bin.by_name("kept").and_then(|sink| sink.static_pad("sink")).ok_or("no fakesink")?;
        let frames = Arc::new(Mutex::new(Vec::new()));
        let found = Arc::clone(&frames);
        pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            let mut found = lock(&found);
            if let Some(buffer) = info.buffer().filter(|_| found.len() < wanted) {
                found.push(buffer.copy());
            }
            gst::PadProbeReturn::Ok
        });
        line.play()?;
        while lock(&frames).len() < wanted && !line.ended(PAUSE)? {}
        line.bin.set_state(gst::State::Paused)?;
        let caps = pad.current_caps().ok_or("the source gives no frames")?;
        let frames = std::mem::take(&mut *lock(&frames));
        if frames.is_empty() {
            return Err("the source gives no frames".into());
        }
        Ok(Self { _line: line, caps, frames })
    }

    /// Pushes frames until `stop` or until they are refused.
    fn feed(&self, feed: &gst::Element, stop: &AtomicBool, stream: usize, arguments: &Arguments) {
        feed.set_property("caps", &self.caps);
        let streams = arguments.streams as f64;
        let interval =
            Duration::from_secs_f64(if arguments.rate > 0.0 { streams / arguments.rate } else { 0.0 });
        let mut due = Instant::now() + interval.mul_f64(stream as f64 / streams);
        for (n, frame) in (0u32..).zip(self.frames.iter().cycle()) {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            // As a camera, it does not make up for what it could not deliver.
            due = Instant::now().max(due + interval);
            let mut frame = frame.copy();
            if let Some(frame) = frame.get_mut() {
                frame.set_pts(gst::ClockTime::from_mseconds(40) * u64::from(n));
                frame.set_dts(None);
            }
            let flow = feed.emit_by_name::<gst::FlowReturn>("push-buffer", &[&frame]);
            if stop.load(Ordering::Relaxed) || flow != gst::FlowReturn::Ok {
                return;
            }
        }
    }
}

/// What came to a trtinfer and to the end of its line.
#[derive(Default)]
struct Stream {
    inside: Mutex<VecDeque<(Option<gst::ClockTime>, Instant)>>,
    /// When a frame left, and how long after it had come.
    left: Mutex<Vec<(Instant, Duration)>>,
    ended: Mutex<Option<Instant>>,
}

impl Stream {
    fn watch(inference: &gst::Element) -> Outcome<Arc<Self>> {
        let pad = |name| inference.static_pad(name).ok_or(format!("trtinfer has no pad {name}"));
        let stream = Arc::new(Self::default());
        let seen = Arc::clone(&stream);
        pad("sink")?.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            lock(&seen.inside).push_back((info.buffer().and_then(|buffer| buffer.pts()), Instant::now()));
            gst::PadProbeReturn::Ok
        });
        let seen = Arc::clone(&stream);
        let both = gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM;
        end(pad("src")?).add_probe(both, move |_, info| {
            let now = Instant::now();
            if info.event().is_some_and(|event| event.type_() == gst::EventType::Eos) {
                lock(&seen.ended).get_or_insert(now);
            } else if let Some(buffer) = info.buffer() {
                let mut inside = lock(&seen.inside);
                // Frames before it that did not come out were dropped.
                while let Some((pts, came)) = inside.pop_front() {
                    if pts == buffer.pts() {
                        lock(&seen.left).push((now, now - came));
                        break;
                    }
                }
            }
            gst::PadProbeReturn::Ok
        });
        Ok(stream)
    }
}

/// The last pad downstream of this one, up to where the pipeline ends or forks.
fn end(source: gst::Pad) -> gst::Pad {
    let Some(sink) = source.peer() else { return source };
    let downstream = sink.parent_element().map(|element| element.src_pads()).unwrap_or_default();
    match downstream.as_slice() {
        [next] => end(next.clone()),
        _ => sink,
    }
}

/// A running pipeline; stopped when it is dropped.
struct Line {
    bin: gst::Bin,
    bus: gst::Bus,
}

impl Line {
    fn launch(text: &str) -> Outcome<Self> {
        let bin =
            gst::parse::launch(text)?.downcast::<gst::Bin>().map_err(|_| "the line is one element only")?;
        let bus = bin.bus().ok_or("the line has no bus")?;
        Ok(Self { bin, bus })
    }

    fn inferences(&self) -> Outcome<Vec<gst::Element>> {
        let found: Vec<_> =
            self.bin.iterate_all_by_element_factory_name("trtinfer").into_iter().flatten().collect();
        if found.is_empty() { Err("the line has no trtinfer".into()) } else { Ok(found) }
    }

    /// Starts it; what goes wrong is on the bus then.
    fn play(&self) -> Outcome<()> {
        if self.bin.set_state(gst::State::Playing).is_err() {
            self.ended(Duration::from_secs(1))?;
            return Err("the line does not start".into());
        }
        Ok(())
    }

    /// Waits so long; whether the line has ended.
    fn ended(&self, wait: Duration) -> Outcome<bool> {
        let wait = gst::ClockTime::from_nseconds(u64::try_from(wait.as_nanos())?);
        match self.bus.timed_pop_filtered(wait, &[gst::MessageType::Error, gst::MessageType::Eos]) {
            Some(message) => match message.view() {
                gst::MessageView::Error(error) => Err(error.error().to_string().into()),
                _ => Ok(true),
            },
            None => Ok(false),
        }
    }

    fn stop(&self) {
        let _ = self.bin.set_state(gst::State::Null); // it is over in any case
    }

    /// Batches and the frames in them so far, if trtinfer counts them.
    fn batches(&self) -> Outcome<Option<[u64; 2]>> {
        let count = |name| {
            let of = |inference: &gst::Element| {
                inference.property::<gst::Structure>("stats").get::<u64>(name).ok()
            };
            Ok::<_, Box<dyn Error>>(self.inferences()?.iter().map(of).sum::<Option<u64>>())
        };
        Ok(count("batches")?.zip(count("batched-frames")?).map(|(batches, frames)| [batches, frames]))
    }

    fn measure(&self, streams: &[Arc<Stream>], arguments: &Arguments) -> Outcome<serde_json::Value> {
        let patience = Instant::now() + PATIENCE;
        while streams.iter().any(|stream| lock(&stream.left).is_empty()) {
            if self.ended(PAUSE)? {
                break;
            }
            if Instant::now() > patience {
                return Err(format!("no result in {} s", PATIENCE.as_secs()).into());
            }
        }
        self.ended(arguments.warm_up)?;
        let (start, before, worked) = (Instant::now(), self.batches()?, cpu_time()?);
        self.ended(arguments.length)?;
        let (stop, after, worked) = (Instant::now(), self.batches()?, cpu_time()? - worked);
        let stop = streams.iter().filter_map(|stream| *lock(&stream.ended)).fold(stop, Instant::min);
        let mut times: Vec<Duration> = Vec::new();
        for stream in streams {
            times.extend(
                lock(&stream.left).iter().filter(|(at, _)| (start..stop).contains(at)).map(|(_, time)| time),
            );
        }
        if times.is_empty() {
            return Err(
                "no frame came out while it was measured: the source is too short, or --seconds".into()
            );
        }
        times.sort();
        let seconds = (stop - start).as_secs_f64();
        let part =
            |percent: usize| times.get(times.len() * percent / 100).map(|time| time.as_secs_f64() * 1e3);
        let delta = before.zip(after).map(|(before, after)| [after[0] - before[0], after[1] - before[1]]);
        Ok(json!({
            "streams": streams.len(), "frames": times.len(), "seconds": seconds, "fps": times.len() as f64 / seconds,
            "p50_ms": part(50), "p95_ms": part(95), "p99_ms": part(99),
            "cpu_ms_per_frame": worked.as_secs_f64() * 1e3 / times.len() as f64,
            "batches": delta.map(|[batches, _]| batches), "batched_frames": delta.map(|[_, frames]| frames),
        }))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.stop();
    }
}

/// CPU time of all threads of this process so far, in hundredths of a second.
fn cpu_time() -> Outcome<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // After the program's name, which may have any characters: fields 14 and 15 of proc(5).
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
    let ticks = fields.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(10 * ticks))
}
