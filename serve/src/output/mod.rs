//! What a stream gives besides its messages: video by RTSP and HLS, recordings of events, the best picture of each track,
//! frames for training.
//!
//! The outputs are no part of the stream's pipeline. The pipeline passes its frames to them at two places, encoded before the
//! decoder and with results at its end ([`Outputs::encoded`], [`Outputs::results`]), and goes on whatever the outputs do. So the
//! outputs outlive restarts of the stream, and clients that watch it stay connected.

mod cropper;
mod event_pictures;
mod fed;
mod feed;
mod held_frame;
mod hls;
mod last_minute;
mod object;
mod picture;
mod recording;
#[cfg(feature = "rtsp")]
mod rtsp;
mod samples;
mod snapshots;
pub mod webrtc;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use crate::config;
use crate::describe::{Describer, EventOrigin};
use crate::folders::{Folders, hls_folder, kept_folder};
use crate::history::{History, NotedEvent, StreamHistory};
use crate::log;
use crate::notify::Hooks;
use crate::retention::{Retention, Room};
use crate::unpoisoned::lock;
pub use event_pictures::PictureThread;
use event_pictures::{EventPictureCounts, EventPictures};
use feed::Feed;
pub use held_frame::HeldFrame;
use hls::Hls;
pub use object::Rect;
pub use picture::{Drawn, Painter, WIDTHS, jpeg};
use recording::Recorder;
pub use recording::{Recording, RecordingCounts};
#[cfg(feature = "rtsp")]
pub use rtsp::Rtsp;
use samples::{SampleCounts, Samples};
pub use snapshots::Snapshot;
use snapshots::{SnapshotCounts, Snapshots};

/// The outputs that a source wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Video by RTSP.
    pub rtsp: bool,
    /// Video by HLS.
    pub hls: bool,
    /// Recordings of events.
    pub record: Option<config::RecordingSettings>,
    /// The best picture of each track.
    pub snapshots: Option<config::SnapshotSettings>,
    /// Frames for training.
    pub sample: Option<config::SampleSettings>,
    /// Whether the stream's pipeline draws the results itself.
    pub drawn: bool,
}

impl Wanted {
    /// The outputs by the keys of a source and the description of its pipeline.
    pub fn of(source: &config::SourceConfig, description: &str) -> Self {
        Self {
            rtsp: source.rtsp,
            hls: source.hls,
            record: source.record.clone(),
            snapshots: source.snapshots.clone(),
            sample: source.sample.clone(),
            drawn: description.contains("inferoverlay"),
        }
    }
}

/// What the outputs of all streams share.
#[derive(Clone, Debug, Default)]
pub struct SharedOutputs {
    /// The folder `state` and the room on its disk; without a folder, nothing is written.
    pub state: Option<(PathBuf, Room)>,
    /// What happened, kept for the page.
    pub history: History,
    /// The webhooks that get events.
    pub hooks: Hooks,
    /// What has events described in words.
    pub describer: Describer,
    /// What makes the pictures of events.
    pub event_pictures: PictureThread,
    /// The encoder of RTSP and HLS: the description of elements from `video/x-raw` to `video/x-h264`.
    pub encoder: String,
    /// The RTSP server.
    #[cfg(feature = "rtsp")]
    pub rtsp: Option<Arc<Rtsp>>,
}

/// Checks that the encoder can be made, if a source has RTSP or HLS.
///
/// # Errors
/// A sentence: its description does not parse, or an element is missing.
pub fn check(config: &config::Config) -> Result<(), String> {
    if !config.sources.iter().any(|source| source.rtsp || source.hls) {
        return Ok(());
    }
    gst::parse::bin_from_description_full(&config.server.encoder, true, None, gst::ParseFlags::FATAL_ERRORS)
        .map(drop)
        .map_err(|error| format!("encoder in [server] cannot be used: {}", error.message()))
}

/// Checks that RTSP can be served at its address.
///
/// # Errors
/// A sentence: the address is not one of this machine, or another process listens there.
pub fn check_address(server: &config::ServerSettings) -> Result<(), String> {
    #[cfg(feature = "rtsp")]
    server.rtsp.map(rtsp::check_address).transpose()?;
    Ok(())
}

/// A sentence if `state` is a folder in which the user of this process cannot write. The service may run as another user.
pub fn unwritable(server: &config::ServerSettings) -> Option<String> {
    let state = std::path::absolute(server.state.as_ref()?).ok()?;
    let there = state.ancestors().find(|folder| folder.exists())?;
    let writable = there.is_dir() && rustix::fs::access(there, rustix::fs::Access::WRITE_OK).is_ok();
    (!writable).then(|| {
        format!(
            "[server] state = \"{}\": this user cannot write in {}. The service ends at its start if its user cannot either; set \
             state to another folder then",
            state.display(),
            there.display()
        )
    })
}

/// Makes what the outputs of all streams share: the folder and the room in it, the RTSP server.
///
/// # Errors
/// A sentence: the folder cannot be made, or the address cannot be listened on.
pub fn shared(config: &config::Config) -> Result<(SharedOutputs, Option<Retention>), String> {
    let server = &config.server;
    let retention =
        server.state.as_ref().map(|state| Retention::start(kept_folder(state), config.retention.clone()));
    let retention = retention.transpose()?;
    let state = server.state.clone().zip(retention.as_ref().map(|retention| retention.room().clone()));
    #[cfg(feature = "rtsp")]
    let rtsp = {
        let token = server.token_file.as_deref().map(config::read_token).transpose()?;
        let serve = |address| Rtsp::start(address, token.as_deref()).map(Arc::new);
        server.rtsp.map(serve).transpose()?
    };
    let history = History::start(server, retention.as_ref().map(Retention::room));
    for restored in retention.iter().flat_map(Retention::restored) {
        recording::about::link(restored, &history);
    }
    let hooks = Hooks::start(&config.notify, server.state.as_deref());
    let event_pictures = if history.is_kept() { PictureThread::start() } else { PictureThread::default() };
    if config.describe.is_some() && !history.is_kept() {
        log::warning("[describe] nothing is described, because there is no history");
    }
    let describer = Describer::start(config.describe.as_ref(), hooks.clone());
    let shared = SharedOutputs {
        state,
        describer,
        hooks,
        history,
        event_pictures,
        encoder: server.encoder.clone(),
        #[cfg(feature = "rtsp")]
        rtsp,
    };
    Ok((shared, retention))
}

/// Removes the HLS segments of a stream that is gone.
pub fn remove_hls(state: &Path, name: &str) {
    hls::remove(&Folders::of(state, name).hls);
}

/// Removes the HLS segments that earlier services have left of streams that have none now.
pub fn sweep_hls(state: &Path, has_hls: impl Fn(&str) -> bool) {
    hls::sweep(&hls_folder(state), has_hls);
}

/// Counts of a stream's outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct OutputStatus {
    /// Recordings, if the source has `record`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recordings: Option<RecordingCounts>,
    /// Pictures, if the source has `snapshots`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<SnapshotCounts>,
    /// Pictures of events, where there is a history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_pictures: Option<EventPictureCounts>,
    /// Frames for training, if the source has `sample`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<SampleCounts>,
    /// Why HLS is not written any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hls_error: Option<String>,
}

/// The outputs of one stream.
#[derive(Debug)]
pub struct Outputs {
    name: String,
    feed: Arc<Feed>,
    history: Arc<StreamHistory>,
    recorder: Option<Recorder>,
    snapshots: Option<Snapshots>,
    event_pictures: Option<EventPictures>,
    samples: Option<Samples>,
    hls: Option<Hls>,
    hls_error: Mutex<Option<String>>,
    shared: SharedOutputs,
}

impl Outputs {
    /// An output that cannot begin is logged and reported by [`Self::status`]; the stream runs without it. A source whose outputs
    /// need a key that `[server]` does not have was refused before.
    pub fn new(name: &str, wanted: &Wanted, shared: &SharedOutputs) -> Self {
        let feed = Arc::new(Feed::default());
        let history = Arc::new(shared.history.of(name));
        let kept = shared.state.as_ref().map(|(state, room)| (Folders::of(state, name), room));
        let recorder = wanted.record.as_ref().zip(kept.as_ref()).map(|(settings, (folders, room))| {
            Recorder::new(
                name,
                settings.clone(),
                folders.recordings.clone(),
                (*room).clone(),
                Arc::clone(&history),
            )
        });
        let snapshots = wanted.snapshots.as_ref().zip(kept.as_ref()).map(|(settings, (folders, room))| {
            Snapshots::new(
                name,
                settings,
                folders.snapshots.clone(),
                (*room).clone(),
                Arc::clone(&history),
                (shared.hooks.clone(), shared.describer.clone()),
            )
        });
        let event_pictures = kept.as_ref().filter(|_| history.is_kept()).map(|(folders, room)| {
            let margin = wanted.snapshots.clone().unwrap_or_default().margin;
            let with = (shared.event_pictures.clone(), shared.describer.clone());
            EventPictures::new(
                name,
                margin,
                folders.events.clone(),
                (*room).clone(),
                Arc::clone(&history),
                with,
            )
        });
        if wanted.sample.is_some() && wanted.drawn {
            log::warning(format_args!(
                "stream '{name}': its samples have what the inferoverlay of its pipeline draws, which a model would learn. Take it out: \
                 RTSP, HLS and the page draw by themselves"
            ));
        }
        let samples = wanted.sample.as_ref().zip(kept.as_ref()).map(|(settings, (folders, room))| {
            Samples::new(name, settings, folders.samples.clone(), (*room).clone())
        });
        let hls = kept.as_ref().filter(|_| wanted.hls).map(|(folders, _)| {
            Hls::start(&folders.hls, &shared.encoder, wanted.drawn, &feed)
                .inspect_err(|why| log::warning(format_args!("stream '{name}': {why}")))
        });
        #[cfg(feature = "rtsp")]
        if let Some(rtsp) = shared.rtsp.as_ref().filter(|_| wanted.rtsp) {
            rtsp.mount(name, &shared.encoder, wanted.drawn, &feed);
        }
        let (hls, hls_error) = match hls {
            Some(Ok(hls)) => (Some(hls), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        let hls_error = Mutex::new(hls_error);
        Self {
            name: name.to_owned(),
            feed,
            history,
            recorder,
            snapshots,
            event_pictures,
            samples,
            hls,
            hls_error,
            shared: shared.clone(),
        }
    }

    /// Whether an output needs encoded frames; if not, the pipeline does not pass them.
    pub fn wants_encoded(&self) -> bool {
        self.recorder.is_some()
    }

    /// Takes an encoded frame on its way to the decoder.
    pub fn encoded(&self, frame: &gst::Buffer, caps: &gst::Caps) {
        if let Some(recorder) = &self.recorder {
            recorder.encoded(frame, caps);
        }
    }

    /// Takes a frame with its results from the end of the stream's pipeline.
    pub fn results(&self, frame: &gst::Buffer, caps: &gst::Caps) {
        let events = self.history.results(frame);
        if !events.is_empty() {
            self.shared.hooks.events(&self.name, &events, frame, caps);
            if let Some(pictures) = &self.event_pictures {
                // Before their pictures come.
                events.iter().for_each(|noted| self.describe(noted));
                pictures.events(&events, frame, caps);
            }
        }
        if let Some(recorder) = &self.recorder {
            recorder.results(frame);
        }
        if let Some(snapshots) = &self.snapshots {
            snapshots.results(frame, caps);
        }
        if let Some(samples) = &self.samples {
            samples.results(frame, caps);
        }
        self.feed.push(frame, caps);
    }

    /// Has an event described: with the best picture of its track, if there will be one.
    fn describe(&self, noted: &NotedEvent) {
        let class = noted.event.class.as_deref().unwrap_or_default();
        let has_best = self.snapshots.as_ref().is_some_and(|snapshots| snapshots.has_class(class));
        let track = noted.event.track.filter(|_| has_best);
        let from = EventOrigin { stream: &self.name, history: &self.history, track };
        self.shared.describer.event(from, noted);
    }

    /// Takes a message of the stream's pipeline.
    pub fn message(&self, message: &gst::MessageRef) {
        if let Some(recorder) = &self.recorder {
            recorder.message(message);
        }
    }

    /// Notes that the stream's pipeline has stopped; another one may follow.
    pub fn interrupt(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.interrupt();
        }
        if let Some(snapshots) = &self.snapshots {
            snapshots.interrupt();
        }
        if let Some(samples) = &self.samples {
            samples.interrupt();
        }
        self.history.interrupt();
    }

    /// The stream's part of the history.
    pub fn history(&self) -> &StreamHistory {
        &self.history
    }

    /// The stream's newest pictures.
    pub fn pictures(&self) -> Vec<Snapshot> {
        let state = self.shared.state.as_ref();
        state.map(|(state, _)| snapshots::list(&Folders::of(state, &self.name).snapshots)).unwrap_or_default()
    }

    /// How many outputs get frames now: all RTSP clients together count as one, HLS as another.
    pub fn watchers(&self) -> usize {
        self.feed.watchers()
    }

    /// Begins a recording now.
    ///
    /// # Errors
    /// A sentence: the source has no `record`, or no frame has come that can be recorded.
    pub fn begin_recording(&self) -> Result<(), String> {
        match &self.recorder {
            Some(recorder) => recorder.request(),
            None => Err(format!(
                "stream '{}' is not recorded: set record = {{ on = [] }} for its source, if that is encoded, as cameras and files are",
                self.name
            )),
        }
    }

    /// The stream's recordings that are complete, the newest first.
    pub fn recordings(&self) -> Vec<Recording> {
        let state = self.shared.state.as_ref();
        state
            .map(|(state, _)| recording::list(&Folders::of(state, &self.name).recordings))
            .unwrap_or_default()
    }

    /// Counts since the stream was added.
    pub fn status(&self) -> OutputStatus {
        let mut hls_error = lock(&self.hls_error);
        if let Some(failure) = self.hls.as_ref().and_then(Hls::failure) {
            log::warning(format_args!("stream '{}': {failure}", self.name));
            *hls_error = Some(failure);
        }
        OutputStatus {
            recordings: self.recorder.as_ref().map(Recorder::counts),
            snapshots: self.snapshots.as_ref().map(Snapshots::counts),
            event_pictures: self.event_pictures.as_ref().map(EventPictures::counts),
            samples: self.samples.as_ref().map(Samples::counts),
            hls_error: hls_error.clone(),
        }
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        #[cfg(feature = "rtsp")]
        if let Some(rtsp) = &self.shared.rtsp {
            rtsp.unmount(&self.name, &self.feed);
        }
        if let Some(hls) = &self.hls {
            hls.stop(&self.feed);
        }
    }
}
