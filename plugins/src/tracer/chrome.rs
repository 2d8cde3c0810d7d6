//! The calls of chain functions as a trace: the JSON array format of "Trace Event Format", which chrome://tracing and
//! Perfetto read.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::thread::{gettid, name};
use serde::Serialize;

/// Bytes that are collected before they are written.
const CHUNK: usize = 64 * 1024;

/// What ends the file. The next events are written over it, so that the file is whole at any time.
const TAIL: &[u8] = b"\n]\n";

thread_local! {
    static NAMED: Cell<bool> = const { Cell::new(false) };
}

/// A call that has ended.
pub(super) struct Call<'a> {
    /// The element's name.
    pub element: &'a str,
    /// ns since GStreamer was started.
    pub began: u64,
    /// ns, the elements behind it included.
    pub took: u64,
    /// How many buffers the element got before.
    pub frame: u64,
    /// How many it got in this call: more than one in a list.
    pub buffers: u64,
    /// Presentation time of the first in ns.
    pub pts: Option<u64>,
}

/// <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>: "X" is a complete event, "M"
/// metadata; times in µs.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    ph: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    pid: u32,
    tid: i32,
    args: Args<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Args<'a> {
    Call { frame: u64, buffers: u64, pts: Option<u64> },
    Thread { name: &'a str },
}

/// A trace file, made with its first event.
#[derive(Debug)]
pub(super) struct Trace {
    path: String,
    file: Option<File>,
    /// Where the tail begins.
    end: u64,
    /// What is not written yet.
    waiting: Vec<u8>,
}

impl Trace {
    pub fn new(path: &str) -> Self {
        Self { path: path.to_owned(), file: None, end: 0, waiting: Vec::new() }
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// Adds a call of this thread.
    pub fn add(&mut self, call: &Call) -> io::Result<()> {
        let (pid, tid) = (std::process::id(), gettid().as_raw_nonzero().get());
        if !NAMED.replace(true) {
            let thread = name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let args = Args::Thread { name: &thread };
            self.event(&Event { name: "thread_name", ph: "M", ts: None, dur: None, pid, tid, args })?;
        }
        let microseconds = |ns| Some(ns as f64 / 1e3);
        let (ts, dur) = (microseconds(call.began), microseconds(call.took));
        let args = Args::Call { frame: call.frame, buffers: call.buffers, pts: call.pts };
        self.event(&Event { name: call.element, ph: "X", ts, dur, pid, tid, args })?;
        if self.waiting.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        let start = if self.end == 0 && self.waiting.is_empty() { "[\n" } else { ",\n" };
        self.waiting.extend_from_slice(start.as_bytes());
        Ok(serde_json::to_writer(&mut self.waiting, event)?)
    }

    /// Writes what is waiting; the file is whole then.
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
    fn the_file_is_whole_json_after_every_flush() {
        let path = std::env::temp_dir().join(format!("cudainfer-trace-{}.json", std::process::id()));
        let mut trace = Trace::new(&path.display().to_string());
        let read = || serde_json::from_slice::<Vec<Value>>(&std::fs::read(&path).unwrap()).unwrap();
        for frame in 0..3 {
            let call = Call {
                element: "a \"b\"",
                began: 1500 * frame,
                took: 250,
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
