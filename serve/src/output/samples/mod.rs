//! Frames that are worth labelling, as a dataset for training.
//!
//! A frame that is uncertain, rare or disputed goes to a thread that makes its picture; one may wait for that thread. So the stream
//! never waits. A dataset has a number of frames at most, which come evenly spread.

mod choice;
mod dataset;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use gst_video::VideoInfo;
use serde::{Deserialize, Serialize};

use super::cropper::Cropper;
use super::object::{self, Object};
use crate::config::{SampleReason, SampleSettings};
use crate::log;
use crate::retention::Room;
use crate::time::{in_file_name, milliseconds, time_text};
use crate::unpoisoned::lock;
use choice::Choice;
use dataset::Dataset;

/// Counts of a stream's samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct SampleCounts {
    /// Frames in the dataset, also those of earlier services.
    pub frames: u64,
    /// Frames that were not taken, because another one was being written.
    pub skipped: u64,
    /// Frames that could not be written.
    pub failed: u64,
    /// Why the last one could not be written.
    pub last_error: Option<String>,
}

/// Takes the samples of one stream.
#[derive(Debug)]
pub struct Samples {
    started: Instant,
    choice: Arc<Mutex<Choice>>,
    counts: Arc<Mutex<SampleCounts>>,
    most: u64,
    jobs: Option<SyncSender<Sample>>,
    thread: Option<JoinHandle<()>>,
}

/// A frame that is worth labelling.
#[derive(Debug)]
struct Sample {
    frame: gst::Buffer,
    caps: gst::Caps,
    size: [u32; 2],
    objects: Vec<Object>,
    reason: SampleReason,
}

impl Samples {
    /// Writes into `folder`, which is made for the first frame; a dataset that is there goes on.
    pub fn new(stream: &str, settings: &SampleSettings, folder: PathBuf, room: Room) -> Self {
        let choice = Arc::new(Mutex::new(Choice::new(settings.clone())));
        let counts = Arc::new(Mutex::new(SampleCounts::default()));
        let (jobs, todo) = sync_channel(1);
        let mut writer = Writer {
            stream: stream.to_owned(),
            folder,
            room,
            settings: settings.clone(),
            choice: Arc::clone(&choice),
            counts: Arc::clone(&counts),
            dataset: None,
            cropper: None,
        };
        let thread = std::thread::Builder::new().name("samples".to_owned()).spawn(move || writer.run(&todo));
        let thread = thread
            .inspect_err(|e| {
                log::warning(format_args!(
                    "stream '{stream}': no samples are taken, for want of a thread: {e}"
                ));
            })
            .ok();
        let jobs = thread.is_some().then_some(jobs);
        Self { started: Instant::now(), choice, counts, most: settings.most.into(), jobs, thread }
    }

    /// Takes a frame with its results.
    pub fn results(&self, frame: &gst::Buffer, caps: &gst::Caps) {
        if lock(&self.counts).frames >= self.most {
            return;
        }
        let Ok(info) = VideoInfo::from_caps(caps) else { return };
        let objects: Vec<_> = object::objects(frame).collect();
        let Some(reason) = lock(&self.choice).look(&objects, self.started.elapsed()) else { return };
        let size = [info.width(), info.height()];
        let sample = Sample { frame: frame.clone(), caps: caps.clone(), size, objects, reason };
        if self.jobs.as_ref().is_none_or(|jobs| jobs.try_send(sample).is_err()) {
            lock(&self.choice).missed();
            lock(&self.counts).skipped += 1;
        }
    }

    /// The stream begins again, and the identities of its tracks with it.
    pub fn interrupt(&self) {
        lock(&self.choice).interrupt();
    }

    /// Counts since the stream was added.
    pub fn counts(&self) -> SampleCounts {
        lock(&self.counts).clone()
    }
}

impl Drop for Samples {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The state of the thread that writes.
struct Writer {
    stream: String,
    folder: PathBuf,
    room: Room,
    settings: SampleSettings,
    choice: Arc<Mutex<Choice>>,
    counts: Arc<Mutex<SampleCounts>>,
    dataset: Option<Dataset>,
    cropper: Option<Cropper>,
}

impl Writer {
    fn run(&mut self, samples: &Receiver<Sample>) {
        while let Ok(sample) = samples.recv() {
            if let Err(why) = self.write(&sample) {
                lock(&self.choice).missed();
                let mut counts = lock(&self.counts);
                if counts.last_error.as_ref() != Some(&why) {
                    log::warning(format_args!("stream '{}': {why}", self.stream));
                }
                counts.failed += 1;
                counts.last_error = Some(why);
            }
        }
    }

    fn write(&mut self, sample: &Sample) -> Result<(), String> {
        if !self.room.is_there() {
            return Err(self.room.sentence());
        }
        // After a fault, both are made again.
        let mut dataset = match self.dataset.take() {
            Some(dataset) => dataset,
            None => Dataset::open(&self.folder, self.settings.format)?,
        };
        let most = self.settings.most as usize;
        if dataset.frames < most {
            let cropper = match self.cropper.take() {
                Some(cropper) => cropper,
                None => Cropper::new()?,
            };
            let Sample { frame, caps, size, objects, reason } = sample;
            let jpeg = cropper.picture(frame.clone(), caps, [0, 0, size[0], size[1]], *size)?;
            self.cropper = Some(cropper);
            let time = time_text(milliseconds());
            let name = format!("{}-{}", in_file_name(&time), reason.name());
            dataset
                .add(&name, &jpeg, *size, &time, objects)
                .map_err(|e| format!("a sample cannot be written into {}: {e}", self.folder.display()))?;
        }
        if dataset.frames >= most {
            log::info(format_args!(
                "stream '{}': {} has {} samples (most): no others are taken",
                self.stream,
                self.folder.display(),
                dataset.frames
            ));
        }
        lock(&self.counts).frames = dataset.frames as u64;
        self.dataset = Some(dataset);
        Ok(())
    }
}
