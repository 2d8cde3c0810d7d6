//! Calls of chain functions, runs of networks and work on the GPU as a trace: the JSON array format of "Trace Event Format",
//! which chrome://tracing and Perfetto read.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::thread::{gettid, name};
use serde::Serialize;

/// Bytes that are collected before they are written.
const CHUNK: usize = 64 * 1024;

/// The end of the file. The next events are written over it, so that the file is complete at any time.
const TAIL: &[u8] = b"\n]\n";

thread_local! {
    static NAMED: Cell<bool> = const { Cell::new(false) };
}

/// Interval in ns between two queries of the device's memory.
const MEMORY_EVERY: u64 = 100_000_000;

/// The process whose threads are the streams of GPUs.
const GPU: u32 = 0;

/// The thread of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// A thread of this process, which ran a network.
    Thread(i32),
    /// A stream of a GPU, by a number of its own.
    Stream(usize),
}

/// Work that is no call: a run of a network, or work on the GPU that a call enqueued.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// The element for which it was done.
    pub name: Arc<str>,
    /// Where it was done.
    pub lane: Lane,
    /// ns since GStreamer was started.
    pub began: u64,
    /// ns.
    pub took: u64,
    /// Frames of a run.
    pub frames: Option<u64>,
}

/// The calling thread's number.
pub(super) fn thread() -> i32 {
    gettid().as_raw_nonzero().get()
}

/// A call that has ended.
pub(super) struct Call<'a> {
    /// The element's name.
    pub element: &'a str,
    /// ns since GStreamer was started.
    pub began: u64,
    /// ns, the elements downstream of it included.
    pub took: u64,
    /// The same in CPU time of the thread.
    pub cpu: u64,
    /// How many buffers the element got before.
    pub frame: u64,
    /// How many it got in this call: more than one in a list.
    pub buffers: u64,
    /// Presentation time of the first in ns.
    pub pts: Option<u64>,
}

/// <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>: "X" is a complete event, "M"
/// metadata; times in µs, `tdur` in those of the thread's CPU time.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'a str>,
    ph: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tdur: Option<f64>,
    pid: u32,
    tid: i64,
    args: Args<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Args<'a> {
    Call { frame: u64, buffers: u64, pts: Option<u64> },
    Run { frames: u64 },
    Work {},
    Memory { used: u64 },
    Named { name: &'a str },
}

impl<'a> Event<'a> {
    /// The name of a thread or process.
    fn naming(kind: &'a str, name: &'a str, pid: u32, tid: i64) -> Self {
        let args = Args::Named { name };
        Self { name: kind, cat: None, ph: "M", ts: None, dur: None, tdur: None, pid, tid, args }
    }
}

fn microseconds(ns: u64) -> Option<f64> {
    Some(ns as f64 / 1e3)
}

/// A trace file, made with its first event.
#[derive(Debug)]
pub(super) struct Trace {
    path: String,
    file: Option<File>,
    /// Where the tail begins.
    end: u64,
    /// Bytes that are not written yet.
    waiting: Vec<u8>,
    /// Streams that have been named in the file.
    streams: Vec<usize>,
    /// When device memory was last queried.
    asked: Option<u64>,
}

impl Trace {
    pub fn new(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            file: None,
            end: 0,
            waiting: Vec::new(),
            streams: Vec::new(),
            asked: None,
        }
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// Adds a call of this thread.
    pub fn add(&mut self, call: &Call) -> io::Result<()> {
        let (pid, tid) = (std::process::id(), thread().into());
        if !NAMED.replace(true) {
            let thread = name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            self.event(&Event::naming("thread_name", &thread, pid, tid))?;
        }
        let (ts, dur, tdur) = (microseconds(call.began), microseconds(call.took), microseconds(call.cpu));
        let args = Args::Call { frame: call.frame, buffers: call.buffers, pts: call.pts };
        self.event(&Event { name: call.element, cat: None, ph: "X", ts, dur, tdur, pid, tid, args })?;
        if self.waiting.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    /// Adds work of any thread, or of the GPU.
    pub fn add_span(&mut self, span: &Span) -> io::Result<()> {
        let (ts, dur) = (microseconds(span.began), microseconds(span.took));
        let (cat, pid, tid) = match span.lane {
            Lane::Thread(thread) => (Some("run"), std::process::id(), thread.into()),
            Lane::Stream(number) => {
                let tid = i64::try_from(number).unwrap_or(i64::MAX);
                if self.streams.is_empty() {
                    self.event(&Event::naming("process_name", "GPU", GPU, 0))?;
                }
                if !self.streams.contains(&number) {
                    self.streams.push(number);
                    self.event(&Event::naming("thread_name", &format!("stream {number}"), GPU, tid))?;
                }
                (Some("gpu"), GPU, tid)
            }
        };
        let args = span.frames.map_or(Args::Work {}, |frames| Args::Run { frames });
        self.event(&Event { name: &span.name, cat, ph: "X", ts, dur, tdur: None, pid, tid, args })
    }

    /// Whether it is time to query the device's memory again, `now` in ns since GStreamer was started.
    pub fn memory_is_due(&mut self, now: u64) -> bool {
        let due = self.asked.is_none_or(|asked| now.saturating_sub(asked) >= MEMORY_EVERY);
        if due {
            self.asked = Some(now);
        }
        due
    }

    /// Adds how much of the device's memory is used, in bytes, as the element of this name reports it.
    pub fn add_memory(&mut self, element: &str, now: u64, used: u64) -> io::Result<()> {
        let (ts, pid, tid) = (microseconds(now), std::process::id(), 0);
        let (args, name) = (Args::Memory { used }, element);
        self.event(&Event { name, cat: Some("memory"), ph: "C", ts, dur: None, tdur: None, pid, tid, args })
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        let start = if self.end == 0 && self.waiting.is_empty() { "[\n" } else { ",\n" };
        self.waiting.extend_from_slice(start.as_bytes());
        Ok(serde_json::to_writer(&mut self.waiting, event)?)
    }

    /// Writes the collected events; the file is complete then.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::create(&self.path)?),
        };
        let events = self.waiting.len();
        self.waiting.extend_from_slice(TAIL);
        file.write_all_at(&self.waiting, self.end)?;
        self.end += u64::try_from(events).unwrap_or(0);
        self.waiting.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn runs_are_in_their_threads_and_the_gpus_streams_are_a_process_of_their_own() {
        let path = std::env::temp_dir().join(format!("cudainfer-spans-{}.json", std::process::id()));
        let mut trace = Trace::new(&path.display().to_string());
        let span = |lane, frames| Span { name: "infer".into(), lane, began: 1500, took: 250, frames };
        for _ in 0..2 {
            trace.add_span(&span(Lane::Thread(7), Some(4))).unwrap();
            trace.add_span(&span(Lane::Stream(3), None)).unwrap();
        }
        assert_eq!([0, 1, MEMORY_EVERY].map(|now| trace.memory_is_due(now)), [true, false, true]);
        trace.add_memory("infer", 2500, 42).unwrap();
        trace.flush().unwrap();
        let events: Vec<Value> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let kinds: Vec<_> = events.iter().map(|event| event["ph"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["X", "M", "M", "X", "X", "X", "C"]);
        assert_eq!((&events[0]["cat"], &events[0]["tid"]), (&"run".into(), &7.into()));
        assert_eq!(events[0]["args"]["frames"], 4);
        assert_eq!((&events[2]["args"]["name"], &events[2]["tid"]), (&"stream 3".into(), &3.into()));
        assert_eq!((&events[3]["cat"], &events[3]["pid"]), (&"gpu".into(), &GPU.into()));
        assert_eq!((&events[6]["args"]["used"], &events[6]["ts"]), (&42.into(), &2.5.into()));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn the_file_is_whole_json_after_every_flush() {
        let path = std::env::temp_dir().join(format!("cudainfer-trace-{}.json", std::process::id()));
        let mut trace = Trace::new(&path.display().to_string());
        let read = || serde_json::from_slice::<Vec<Value>>(&std::fs::read(&path).unwrap()).unwrap();
        for frame in 0..3 {
            let call = Call {
                element: "a \"b\"",
                began: 1500 * frame,
                took: 250,
                cpu: 125,
                frame,
                buffers: 1,
                pts: Some(frame),
            };
            trace.add(&call).unwrap();
            trace.flush().unwrap();
            let events = read();
            assert_eq!(events.len() as u64, 2 + frame, "one names the thread: {events:?}");
            let last = events.last().unwrap();
            assert_eq!((&last["name"], &last["ph"]), (&"a \"b\"".into(), &"X".into()));
            assert_eq!((&last["ts"], &last["dur"]), (&(1.5 * frame as f64).into(), &0.25.into()));
            assert_eq!(last["args"]["frame"], frame);
        }
        std::fs::remove_file(&path).unwrap();
    }
}
