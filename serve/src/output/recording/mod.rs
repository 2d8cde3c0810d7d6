//! Recordings of events: the encoded frames around them, as they came from the camera, in MP4 files.
//!
//! [`ring`] decides which frames are in which file, and [`trigger`] what an event is. [`writer`] makes the files in a thread of
//! its own, so that a stream never waits for a slow disk. [`about`] is what is kept meanwhile, in case the process is killed.

pub(super) mod about;
mod ring;
mod trigger;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use cudainfer_files::{Folder, Readers};
use serde::{Deserialize, Serialize};

use crate::config::RecordingSettings;
use crate::history::{PipelineRun, StreamHistory};
use crate::log;
use crate::retention::Room;
use crate::time::{in_file_name, milliseconds, time_text};
use crate::unpoisoned::lock;
use about::About;
use ring::{Extent, Ring, Step, Unit};
use writer::{Finished, Writer};

/// The most bytes of encoded frames that a stream keeps for the time before an event.
const RING_BYTES: usize = 256 << 20;
/// The most steps that may wait for the thread that writes; with more, a recording is given up.
const WAITING: usize = 1024;

/// Counts of a stream's recordings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RecordingCounts {
    /// Files that are complete.
    pub written: u64,
    /// Files that could not be completed.
    pub failed: u64,
    /// Events that were not recorded, because the disk has no room or the format cannot be recorded.
    pub refused: u64,
    /// Frames from before an event that had been dropped for lack of memory.
    pub cut: u64,
    /// Why the last recording failed or was refused.
    pub last_error: Option<String>,
}

/// Records the events of one stream.
#[derive(Debug)]
pub struct Recorder {
    stream: String,
    settings: RecordingSettings,
    state: Mutex<RecorderState>,
    counts: Arc<Mutex<RecordingCounts>>,
    history: Arc<StreamHistory>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct RecorderState {
    ring: Ring<gst::Buffer>,
    caps: Option<gst::Caps>,
    /// Why frames of these caps cannot be recorded.
    unfit: Option<String>,
    /// Whether the last frame had no timestamp.
    untimed: bool,
    cause: String,
    jobs: Option<SyncSender<RecordingJob>>,
    last: u64,
}

impl RecorderState {
    /// Why no frame can be recorded.
    fn refusal(&self) -> Option<String> {
        let untimed =
            "the source's frames have no timestamps, without which they cannot be recorded; leave out record";
        self.unfit.clone().or_else(|| self.untimed.then(|| untimed.to_owned()))
    }
}

#[derive(Debug)]
enum RecordingJob {
    Begin { caps: gst::Caps, cause: String, run: PipelineRun, last: u64 },
    Write(Unit<gst::Buffer>),
    End,
}

impl Recorder {
    /// Writes into `folder`, which is made for the first file.
    pub fn new(
        stream: &str,
        settings: RecordingSettings,
        folder: PathBuf,
        room: Room,
        history: Arc<StreamHistory>,
    ) -> Self {
        let extent = Extent {
            pre: nanoseconds(settings.pre),
            post: nanoseconds(settings.post),
            most: nanoseconds(settings.most),
        };
        let (jobs, todo) = sync_channel(WAITING);
        let counts = Arc::new(Mutex::new(RecordingCounts::default()));
        let files = Files {
            stream: stream.to_owned(),
            folder,
            room,
            counts: Arc::clone(&counts),
            history: Arc::clone(&history),
        };
        let thread =
            std::thread::Builder::new().name("recording".to_owned()).spawn(move || files.write(&todo));
        let thread = thread
            .inspect_err(|e| {
                log::warning(format_args!(
                    "stream '{stream}': nothing is recorded, for want of a thread: {e}"
                ))
            })
            .ok();
        let state = RecorderState {
            ring: Ring::new(extent, RING_BYTES),
            caps: None,
            unfit: None,
            untimed: false,
            cause: String::new(),
            jobs: thread.is_some().then_some(jobs),
            last: 0,
        };
        Self { stream: stream.to_owned(), settings, state: Mutex::new(state), counts, history, thread }
    }

    /// Takes an encoded frame. Never waits for the disk.
    pub fn encoded(&self, buffer: &gst::Buffer, caps: &gst::Caps) {
        let state = &mut *lock(&self.state);
        if state.caps.as_ref() != Some(caps) {
            let steps = state.ring.interrupt();
            self.carry_out(state, steps);
            state.unfit = writer::check(caps).err();
            state.caps = Some(caps.clone());
        }
        let time = buffer.pts().or_else(|| buffer.dts());
        state.untimed = time.is_none();
        let Some(time) = time else { return };
        // Frames come in the order of decoding, in which only the DTS always grows.
        let time = buffer.dts().map_or(time, |dts| dts.min(time)).nseconds();
        state.last = time;
        let unit = Unit {
            time,
            key: !buffer.flags().contains(gst::BufferFlags::DELTA_UNIT),
            bytes: buffer.size(),
            payload: buffer.clone(),
        };
        let steps = state.ring.push(unit);
        self.carry_out(state, steps);
    }

    /// Takes a frame with its results.
    pub fn results(&self, frame: &gst::BufferRef) {
        if let (Some(cause), Some(at)) = (trigger::in_frame(&self.settings.on, frame), frame.pts()) {
            self.event(at.nseconds(), cause);
        }
    }

    /// Takes a message of the stream's pipeline.
    pub fn message(&self, message: &gst::MessageRef) {
        if let Some((at, cause)) = trigger::in_message(&self.settings.on, message) {
            self.event(at, cause);
        }
    }

    /// Begins a recording from `pre` before now.
    ///
    /// # Errors
    /// A sentence: no frame can be recorded.
    pub fn request(&self) -> Result<(), String> {
        let at = {
            let state = lock(&self.state);
            if let Some(refusal) = state.refusal() {
                return Err(refusal);
            }
            if state.caps.is_none() {
                return Err(
                    "no encoded frame has come yet; sources without an encoded stream cannot be recorded"
                        .to_owned(),
                );
            }
            state.last
        };
        self.event(at, "request".to_owned());
        Ok(())
    }

    /// Notes that no frame of the same stream follows.
    pub fn interrupt(&self) {
        let state = &mut *lock(&self.state);
        let steps = state.ring.interrupt();
        self.carry_out(state, steps);
    }

    /// Counts since the stream was added.
    pub fn counts(&self) -> RecordingCounts {
        let cut = lock(&self.state).ring.cut();
        RecordingCounts { cut, ..lock(&self.counts).clone() }
    }

    fn event(&self, at: u64, cause: String) {
        let state = &mut *lock(&self.state);
        if let Some(refusal) = state.refusal() {
            self.refuse(refusal);
            return;
        }
        let steps = state.ring.event(at);
        if !steps.is_empty() {
            state.cause = cause;
        }
        self.carry_out(state, steps);
    }

    fn carry_out(&self, state: &mut RecorderState, steps: Vec<Step<gst::Buffer>>) {
        for step in steps {
            let Some(caps) = state.caps.clone() else { return };
            let sent = match step {
                Step::Begin(units) => {
                    let mut jobs = vec![RecordingJob::Begin {
                        caps,
                        cause: state.cause.clone(),
                        run: self.history.run(),
                        last: state.last,
                    }];
                    jobs.extend(units.into_iter().map(RecordingJob::Write));
                    jobs
                }
                Step::Write(unit) => vec![RecordingJob::Write(unit)],
                Step::End => vec![RecordingJob::End],
            };
            for job in sent {
                let refused = match state.jobs.as_ref().map(|jobs| jobs.try_send(job)) {
                    Some(Ok(())) => continue,
                    Some(Err(TrySendError::Full(_))) => {
                        "the disk is slower than the camera: frames are missing in the recording"
                    }
                    _ => "the thread that writes recordings has ended",
                };
                self.refuse(refused.to_owned());
            }
        }
    }

    fn refuse(&self, why: String) {
        let mut counts = lock(&self.counts);
        if counts.last_error.as_ref() != Some(&why) {
            log::warning(format_args!("stream '{}': an event is not recorded: {why}", self.stream));
        }
        counts.refused += 1;
        counts.last_error = Some(why);
    }
}

impl Drop for Recorder {
    /// Completes the file that is open.
    fn drop(&mut self) {
        self.interrupt();
        lock(&self.state).jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The state of the thread that writes.
struct Files {
    stream: String,
    folder: PathBuf,
    room: Room,
    counts: Arc<Mutex<RecordingCounts>>,
    history: Arc<StreamHistory>,
}

/// A file that is being written, and of which frames it is.
struct OpenFile {
    writer: Writer,
    run: PipelineRun,
    /// The time of the frame that had come last when it was begun.
    last: u64,
    /// The times of the first and the last frame.
    pts: Option<[u64; 2]>,
    /// When it was begun.
    began: i64,
}

impl OpenFile {
    fn write(&mut self, unit: Unit<gst::Buffer>) -> Result<(), String> {
        if self.pts.is_none() {
            let about = About { run: self.run, first: unit.time, last: self.last, began: self.began };
            // Without it, only a recording of a process that is killed misses its events.
            let _ = self.writer.describe(&about);
        }
        let first = self.pts.map_or(unit.time, |[first, _]| first);
        let shown = unit.payload.pts().map_or(unit.time, gst::ClockTime::nseconds);
        let last = self.pts.map_or(shown, |[_, last]| last.max(shown));
        self.pts = Some([first, last]);
        self.writer.write(unit)
    }
}

impl Files {
    fn write(&self, jobs: &Receiver<RecordingJob>) {
        let mut writer: Option<OpenFile> = None;
        while let Ok(job) = jobs.recv() {
            match job {
                RecordingJob::Begin { caps, cause, run, last } => {
                    self.close(writer.take());
                    writer = self.begin(&caps, &cause).map(|writer| OpenFile {
                        writer,
                        run,
                        last,
                        pts: None,
                        began: milliseconds(),
                    });
                }
                RecordingJob::Write(unit) => {
                    let Some(open) = &mut writer else { continue };
                    let written =
                        if self.room.is_there() { open.write(unit) } else { Err(self.room.sentence()) };
                    if let Err(why) = written {
                        self.failed(why);
                        self.close(writer.take());
                    }
                }
                RecordingJob::End => self.close(writer.take()),
            }
        }
        self.close(writer);
    }

    fn begin(&self, caps: &gst::Caps, cause: &str) -> Option<Writer> {
        let begun = if self.room.is_there() {
            Folder::open(&self.folder, Readers::Umask)
                .map_err(|error| format!("the folder {} cannot be used: {error}", self.folder.display()))
                .and_then(|folder| Writer::begin(folder, &name(cause), caps))
        } else {
            Err(self.room.sentence())
        };
        begun.map_err(|why| self.failed(why)).ok()
    }

    fn close(&self, open: Option<OpenFile>) {
        let Some(OpenFile { writer, run, last: _, pts, began }) = open else { return };
        let Finished { file, wrong } = writer.finish();
        if let Some(why) = wrong {
            self.failed(why);
        } else if let Some(file) = &file {
            log::info(format_args!("stream '{}': recorded {}", self.stream, file.display()));
            lock(&self.counts).written += 1;
            self.room.look_soon();
        }
        let name = file.as_ref().and_then(|file| file.file_name()).and_then(|name| name.to_str());
        if let Some((pts, name)) = pts.zip(name) {
            // Frames from before the event were received before the file was begun.
            let before = i64::try_from((pts[1] - pts[0]) / 1_000_000).unwrap_or(i64::MAX);
            let time = [began.saturating_sub(before), milliseconds()];
            self.history.recording(run, name.to_owned(), pts, time);
        }
    }

    fn failed(&self, why: String) {
        let mut counts = lock(&self.counts);
        if counts.last_error.as_ref() != Some(&why) {
            log::warning(format_args!("stream '{}': {why}", self.stream));
        }
        counts.failed += 1;
        counts.last_error = Some(why);
    }
}

/// A file's name, as `20261123T074501.250Z-zone-door.mp4`, so that names are in the order of time.
fn name(cause: &str) -> String {
    let cause: String = cause.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    format!("{}-{cause}.mp4", in_file_name(&time_text(milliseconds())))
}

/// A recording that is complete.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Recording {
    /// Name of the file in the stream's folder.
    pub file: String,
    /// Bytes.
    pub size: u64,
}

/// The recordings of a folder, the newest first.
pub fn list(folder: &Path) -> Vec<Recording> {
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok().filter(|name| name.ends_with(".mp4"))?;
            // Links are not followed, because they are not served.
            let about = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
            Some(Recording { file, size: about.len() })
        })
        .collect();
    found.sort_by(|one, other| other.file.cmp(&one.file));
    found
}

fn nanoseconds(seconds: f64) -> u64 {
    u64::try_from(Duration::try_from_secs_f64(seconds).unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}
