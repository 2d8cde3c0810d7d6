//! An event on its way to a webhook.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::json;

use crate::history::ZoneEvent;
use crate::output::jpeg;
use crate::time::time_text;

/// Frames that wait for their pictures: they hold memory of the stream, and of the GPU.
const MOST_FRAMES: usize = 2;
/// The most pixels of a picture's width.
const WIDTH: u32 = 1280;

/// An event, and its picture.
#[derive(Debug)]
pub(super) struct Notice {
    stream: String,
    time: i64,
    event: ZoneEvent,
    picture: Picture,
}

/// What the picture is made of.
#[derive(Debug)]
pub(super) enum Picture {
    None,
    Frame(HeldFrame),
    Jpeg(Vec<u8>),
}

/// A frame that waits for its picture.
#[derive(Debug)]
pub(super) struct HeldFrame {
    frame: gst::Buffer,
    caps: gst::Caps,
    held: Arc<AtomicUsize>,
}

impl HeldFrame {
    /// Holds a frame, unless as many are held as may be: then the event has no picture.
    pub fn hold(frame: &gst::Buffer, caps: &gst::Caps, held: &Arc<AtomicUsize>) -> Option<Self> {
        let more = |held: usize| (held < MOST_FRAMES).then_some(held + 1);
        held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Self { frame: frame.clone(), caps: caps.clone(), held: Arc::clone(held) })
    }

    fn jpeg(&self) -> Result<Vec<u8>, String> {
        let width = gst_video::VideoInfo::from_caps(&self.caps).map_or(WIDTH, |info| info.width());
        let sample = gst::Sample::builder().buffer(&self.frame).caps(&self.caps).build();
        jpeg(&sample, (width > WIDTH).then_some(WIDTH), true)
    }
}

impl Drop for HeldFrame {
    fn drop(&mut self) {
        self.held.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Notice {
    pub fn new(stream: &str, time: i64, event: ZoneEvent, picture: Picture) -> Self {
        Self { stream: stream.to_owned(), time, event, picture }
    }

    /// Whether it should have a picture and has none.
    pub fn lacks_picture(&self) -> bool {
        matches!(self.picture, Picture::None)
    }

    /// The message, and what is wrong with the picture.
    pub fn message(self, id: &str) -> (Vec<u8>, Option<String>) {
        let made = match self.picture {
            Picture::None => Ok(None),
            Picture::Frame(frame) => frame.jpeg().map(Some),
            Picture::Jpeg(jpeg) => Ok(Some(jpeg)),
        };
        let (picture, wrong) = match made {
            Ok(jpeg) => (jpeg.map(|jpeg| BASE64_STANDARD.encode(jpeg)), None),
            Err(why) => (None, Some(why)),
        };
        let ZoneEvent { zone, kind, class, track, confidence } = self.event;
        let zone = Some(zone).filter(|zone| !zone.is_empty());
        let message = json!({
            "id": id, "time": time_text(self.time), "stream": self.stream, "kind": kind, "zone": zone, "class": class,
            "track": track, "confidence": confidence, "picture": picture,
        });
        (message.to_string().into_bytes(), wrong)
    }
}
