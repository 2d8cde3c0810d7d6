//! The best picture of each track, written when the track has ended.
//!
//! A frame that shows a track clearly better than the frames before goes to a thread that makes the pictures. Few frames may
//! wait for that thread; if more come, their pictures are skipped and counted. So the stream never waits.

mod choice;
mod listing;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use cudainfer_files::{Folder, Readers};
use gst_video::VideoInfo;
use serde::{Deserialize, Serialize};

use super::cropper::Cropper;
use super::last_minute::LastMinute;
use super::object::{self, Object, Rect};
use crate::config;
use crate::describe::{Describer, EventOrigin};
use crate::history::{PipelineRun, StreamHistory};
use crate::log;
use crate::notify::Hooks;
use crate::retention::Room;
use crate::time::{in_file_name, milliseconds, time_text};
use crate::unpoisoned::lock;
use choice::{Choice, Sighting};
pub use listing::{Snapshot, list};

/// Frames that wait for their pictures.
const WAITING: usize = 2;

/// Counts of a stream's pictures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct SnapshotCounts {
    /// Files written.
    pub written: u64,
    /// Frames of which no picture was made, because others were being made.
    pub skipped: u64,
    /// Pictures that were not written because of `most-per-minute`.
    pub dropped: u64,
    /// Pictures that could not be made or written.
    pub failed: u64,
    /// Why the last picture could not be made or written.
    pub last_error: Option<String>,
}

/// Makes the pictures of one stream.
#[derive(Debug)]
pub struct Snapshots {
    classes: Vec<String>,
    choice: Arc<Mutex<Choice<Picture>>>,
    counts: Arc<Mutex<SnapshotCounts>>,
    jobs: Option<SyncSender<PictureJob>>,
    history: Arc<StreamHistory>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Picture {
    jpeg: Vec<u8>,
    sighting: Sighting,
    time: u64,
    run: PipelineRun,
    /// When it was made, in milliseconds since 1970.
    made: i64,
}

#[derive(Debug)]
enum PictureJob {
    Make {
        frame: gst::Buffer,
        caps: gst::Caps,
        size: [u32; 2],
        wanted: Vec<Sighting>,
        time: u64,
        run: PipelineRun,
    },
    /// Write the pictures of tracks that have ended by then, or of all.
    End(Option<u64>),
}

impl Snapshots {
    /// Writes into `folder`, which is made for the first picture.
    pub fn new(
        stream: &str,
        settings: &config::SnapshotSettings,
        folder: PathBuf,
        room: Room,
        history: Arc<StreamHistory>,
        (hooks, describer): (Hooks, Describer),
    ) -> Self {
        let patience = Duration::try_from_secs_f64(settings.patience).unwrap_or_default().as_nanos();
        let choice = Arc::new(Mutex::new(Choice::new(u64::try_from(patience).unwrap_or(u64::MAX))));
        let counts = Arc::new(Mutex::new(SnapshotCounts::default()));
        let (jobs, todo) = sync_channel(WAITING);
        let mut maker = Maker {
            stream: stream.to_owned(),
            folder,
            room,
            margin: settings.margin,
            limit: settings.most_per_minute as usize,
            choice: Arc::clone(&choice),
            counts: Arc::clone(&counts),
            history: Arc::clone(&history),
            hooks,
            describer,
            written: LastMinute::default(),
        };
        let thread = std::thread::Builder::new().name("snapshots".to_owned()).spawn(move || maker.run(&todo));
        let thread = thread
            .inspect_err(|e| {
                log::warning(format_args!(
                    "stream '{stream}': no pictures are kept, for want of a thread: {e}"
                ))
            })
            .ok();
        let jobs = thread.is_some().then_some(jobs);
        Self { classes: settings.classes.clone(), choice, counts, jobs, history, thread }
    }

    /// Takes a frame with its results.
    pub fn results(&self, frame: &gst::Buffer, caps: &gst::Caps) {
        let (Some(time), Ok(info)) = (frame.pts().map(gst::ClockTime::nseconds), VideoInfo::from_caps(caps))
        else {
            return;
        };
        let size = [info.width(), info.height()];
        let mut choice = lock(&self.choice);
        let mut wanted = self.sightings(frame);
        wanted.retain(|each| choice.wants(each.id, choice::score(each, size.map(f64::from)), time));
        if choice.any_ended(time) {
            // This job must follow the pictures that are not made yet. If the queue is full, the next frame tries again.
            let _ = self.jobs.as_ref().map(|jobs| jobs.try_send(PictureJob::End(Some(time))));
        }
        let tracks: Vec<u64> = wanted.iter().map(|each| each.id).collect();
        if tracks.is_empty() {
            return;
        }
        let job = PictureJob::Make {
            frame: frame.clone(),
            caps: caps.clone(),
            size,
            wanted,
            time,
            run: self.history.run(),
        };
        if self.jobs.as_ref().is_none_or(|jobs| jobs.try_send(job).is_err()) {
            tracks.into_iter().for_each(|id| choice.missed(id));
            lock(&self.counts).skipped += 1;
        }
    }

    /// Whether tracks of this class get a picture.
    pub fn has_class(&self, class: &str) -> bool {
        self.classes.is_empty() || self.classes.iter().any(|each| each == class)
    }

    /// Ends all tracks, because the stream begins anew and with it the identities. Waits for the pictures that are being made.
    pub fn interrupt(&self) {
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(PictureJob::End(None)));
    }

    /// Counts since the stream was added.
    pub fn counts(&self) -> SnapshotCounts {
        lock(&self.counts).clone()
    }

    fn sightings(&self, frame: &gst::BufferRef) -> Vec<Sighting> {
        let of_track = |Object { label, rect, confidence, track }| {
            Some(Sighting { id: track?, label, rect, confidence })
        };
        object::objects(frame).filter_map(of_track).filter(|each| self.has_class(&each.label)).collect()
    }
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        self.interrupt();
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The state of the thread that makes pictures.
struct Maker {
    stream: String,
    folder: PathBuf,
    room: Room,
    margin: f64,
    limit: usize,
    choice: Arc<Mutex<Choice<Picture>>>,
    counts: Arc<Mutex<SnapshotCounts>>,
    history: Arc<StreamHistory>,
    hooks: Hooks,
    describer: Describer,
    written: LastMinute,
}

impl Maker {
    fn run(&mut self, jobs: &Receiver<PictureJob>) {
        let mut cropper = None;
        while let Ok(job) = jobs.recv() {
            match job {
                PictureJob::End(by) => {
                    let over = {
                        let mut choice = lock(&self.choice);
                        match by {
                            Some(time) => choice.ended(time),
                            None => choice.all(),
                        }
                    };
                    over.iter().for_each(|(id, picture)| self.write(*id, picture));
                }
                PictureJob::Make { frame, caps, size, wanted, time, run } => {
                    for sighting in wanted {
                        let Some(part) = sighting.rect.with_margin(self.margin, size) else { continue };
                        let id = sighting.id;
                        let ready = match cropper.take() {
                            Some(ready) => Ok(ready),
                            None => Cropper::new(),
                        };
                        let made = ready.and_then(|ready| {
                            let jpeg = ready.picture(frame.clone(), &caps, part, size)?;
                            cropper = Some(ready);
                            Ok(jpeg)
                        });
                        let mut choice = lock(&self.choice);
                        match made {
                            Ok(jpeg) => {
                                choice.keep(id, Picture { jpeg, sighting, time, run, made: milliseconds() });
                            }
                            Err(why) => {
                                choice.missed(id);
                                drop(choice);
                                self.failed(why);
                            }
                        }
                    }
                }
            }
        }
    }

    fn write(&mut self, id: u64, picture: &Picture) {
        if self.written.room(self.limit) == 0 {
            lock(&self.counts).dropped += 1;
            return;
        }
        let written = if self.room.is_there() {
            write(&self.folder, id, picture).map_err(|error| {
                format!("a snapshot cannot be written into {}: {error}", self.folder.display())
            })
        } else {
            Err(self.room.sentence())
        };
        match written {
            Ok(file) => {
                self.written.count(1);
                lock(&self.counts).written += 1;
                let Picture { sighting, run, made, time, .. } = picture;
                let shown = (id, sighting.label.as_str(), sighting.confidence);
                let mark = self.history.picture(*run, *made, *time, file, shown);
                let from = EventOrigin { stream: &self.stream, history: &self.history, track: None };
                self.describer.track(from, *run, mark, shown, &picture.jpeg);
                self.hooks.track(&self.stream, *made, shown, &picture.jpeg);
            }
            Err(why) => self.failed(why),
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

/// Writes a picture, as `20261123T074501.250Z-person-17.jpg`, and a file of the same name with `.json` about its object. Returns
/// the picture's name.
fn write(folder: &Path, id: u64, picture: &Picture) -> std::io::Result<String> {
    let folder = Folder::open(folder, Readers::Umask)?;
    let label: String =
        picture.sighting.label.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    let name = format!("{}-{label}-{id}", in_file_name(&time_text(picture.made)));
    let Rect { x, y, width, height } = picture.sighting.rect;
    let about = serde_json::json!({
        "id": id, "class": picture.sighting.label, "confidence": picture.sighting.confidence,
        "box": [x, y, width, height], "pts": picture.time, "time": time_text(picture.made),
    });
    let file = format!("{name}.jpg");
    folder.write(&file, &picture.jpeg)?;
    folder.write(&format!("{name}.json"), format!("{about}\n").as_bytes())?;
    Ok(file)
}
