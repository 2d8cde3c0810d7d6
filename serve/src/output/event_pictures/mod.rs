//! The picture of an event, of the very frame in which it happened: there at once, while the best picture of its track comes when the
//! track has ended.
//!
//! A frame with events goes to a thread that all streams share. Few frames of a stream, and of all, may wait for it: events of more go
//! without their pictures, and are counted. So no stream waits.

mod thread;

use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use cudainfer_files::{Folder, Readers};
use gst_video::VideoInfo;
use serde::{Deserialize, Serialize};

use super::held_frame::HeldFrame;
use super::last_minute::LastMinute;
use super::object::Rect;
use crate::describe::Describer;
use crate::history::{EventMark, NotedEvent, StreamHistory};
use crate::log;
use crate::retention::Room;
use crate::time::{in_file_name, time_text};
use crate::unpoisoned::lock;
use thread::Croppers;
pub use thread::PictureThread;

/// Pictures of a stream within a minute at most; events beyond that go without.
const MOST_PER_MINUTE: usize = 60;

/// Counts of the pictures of a stream's events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct EventPictureCounts {
    /// Files written.
    pub written: u64,
    /// Events without a picture, because others were being made.
    pub skipped: u64,
    /// Events without a picture, because there were too many within a minute.
    pub dropped: u64,
    /// Pictures that could not be made or written.
    pub failed: u64,
    /// Why the last picture could not be made or written.
    pub last_error: Option<String>,
}

/// Makes the pictures of one stream's events.
#[derive(Debug)]
pub struct EventPictures {
    maker: Arc<Maker>,
    thread: PictureThread,
    held: Arc<AtomicUsize>,
    begun: Mutex<LastMinute>,
}

/// What the thread needs of the stream.
#[derive(Debug)]
struct Maker {
    stream: String,
    folder: PathBuf,
    room: Room,
    margin: f64,
    history: Arc<StreamHistory>,
    describer: Describer,
    counts: Mutex<EventPictureCounts>,
}

/// A picture that is wanted: of which event, and of which part of the frame.
type WantedPicture = (EventMark, String, Option<Rect>);

impl EventPictures {
    /// Writes into `folder`, which is made for the first picture. `margin` is what is added to each side of an object's box.
    pub fn new(
        stream: &str,
        margin: f64,
        folder: PathBuf,
        room: Room,
        history: Arc<StreamHistory>,
        (thread, describer): (PictureThread, Describer),
    ) -> Self {
        let (stream, counts) = (stream.to_owned(), Mutex::default());
        let maker = Maker { stream, folder, room, margin, history, describer, counts };
        Self { maker: Arc::new(maker), thread, held: Arc::default(), begun: Mutex::default() }
    }

    /// Takes the events of a frame.
    pub fn events(&self, events: &[NotedEvent], frame: &gst::Buffer, caps: &gst::Caps) {
        let allowed = self.allowed(events.len());
        lock(&self.maker.counts).dropped += count(events.len() - allowed);
        events.iter().skip(allowed).for_each(|noted| self.maker.describer.own_picture(noted.mark, None));
        if allowed == 0 {
            return;
        }
        let wanted = events.iter().take(allowed);
        let wanted: Vec<WantedPicture> =
            wanted.map(|noted| (noted.mark, noted.event.kind.clone(), noted.event.place)).collect();
        let held = HeldFrame::hold(frame, caps, &self.held);
        let pushed = held.is_some_and(|held| {
            let maker = Arc::clone(&self.maker);
            self.thread.push(move |croppers| maker.make(croppers, &held, wanted))
        });
        if !pushed {
            lock(&self.maker.counts).skipped += count(allowed);
            events.iter().for_each(|noted| self.maker.describer.own_picture(noted.mark, None));
        }
    }

    /// Counts since the stream was added.
    pub fn counts(&self) -> EventPictureCounts {
        lock(&self.maker.counts).clone()
    }

    /// How many of the next pictures may be made now.
    fn allowed(&self, wanted: usize) -> usize {
        let mut begun = lock(&self.begun);
        let allowed = wanted.min(begun.room(MOST_PER_MINUTE));
        begun.count(allowed);
        allowed
    }
}

impl Maker {
    fn make(&self, croppers: &mut Croppers, held: &HeldFrame, wanted: Vec<WantedPicture>) {
        for (mark, kind, place) in wanted {
            let made = self.jpeg(croppers, held, place);
            match made.as_deref().map_err(Clone::clone).and_then(|jpeg| self.write(mark, &kind, jpeg)) {
                Ok(file) => {
                    lock(&self.counts).written += 1;
                    self.history.event_picture(mark, file);
                }
                Err(why) => self.failed(why),
            }
            // The event has its picture when it gets the words of it.
            self.describer.own_picture(mark, made.as_deref().ok());
        }
    }

    /// The object's place with its margin; the whole frame if that is not known, or lies outside.
    fn jpeg(
        &self,
        croppers: &mut Croppers,
        held: &HeldFrame,
        place: Option<Rect>,
    ) -> Result<Vec<u8>, String> {
        let info = VideoInfo::from_caps(&held.caps)
            .map_err(|_| "a picture could not be made: the frame is no raw video".to_owned())?;
        let size = [info.width(), info.height()];
        let part = place.and_then(|place| place.with_margin(self.margin, size));
        croppers.picture(&held.frame, &held.caps, part.unwrap_or([0, 0, size[0], size[1]]), size)
    }

    /// Writes a picture, as `20261123T074501.250Z-enter-1795419901250017.jpg`. Returns its name.
    fn write(&self, mark: EventMark, kind: &str, jpeg: &[u8]) -> Result<String, String> {
        if !self.room.is_there() {
            return Err(self.room.sentence());
        }
        let kind: String = kind.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        let file = format!("{}-{kind}-{}.jpg", in_file_name(&time_text(mark.time)), mark.number);
        Folder::open(&self.folder, Readers::Umask)
            .and_then(|folder| folder.write(&file, jpeg))
            .map(|()| file)
            .map_err(|e| format!("a picture cannot be written into {}: {e}", self.folder.display()))
    }

    fn failed(&self, why: String) {
        let mut counts = lock(&self.counts);
        if counts.last_error.as_ref() != Some(&why) {
            log::warning(format_args!("stream '{}': an event has no picture: {why}", self.stream));
        }
        counts.failed += 1;
        counts.last_error = Some(why);
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
