//! An event on its way to a webhook.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::json;

use crate::config::DESCRIPTION;
use crate::history::ZoneEvent;
use crate::output::{HeldFrame, jpeg};
use crate::time::time_text;

/// The most pixels of a picture's width.
const WIDTH: u32 = 1280;

/// An event, and its picture.
#[derive(Debug)]
pub(super) struct Notice {
    stream: String,
    time: i64,
    event: ZoneEvent,
    picture: Picture,
    /// The event in words, in a message of its own kind.
    words: Option<String>,
}

/// What the picture is made of.
#[derive(Debug)]
pub(super) enum Picture {
    None,
    Frame(HeldFrame),
    Jpeg(Vec<u8>),
}

/// The whole frame with its results, as JPEG.
fn drawn(held: &HeldFrame) -> Result<Vec<u8>, String> {
    let width = gst_video::VideoInfo::from_caps(&held.caps).map_or(WIDTH, |info| info.width());
    let sample = gst::Sample::builder().buffer(&held.frame).caps(&held.caps).build();
    jpeg(&sample, (width > WIDTH).then_some(WIDTH), true)
}

impl Notice {
    pub fn new(stream: &str, time: i64, event: ZoneEvent, picture: Picture) -> Self {
        Self { stream: stream.to_owned(), time, event, picture, words: None }
    }

    /// The words for an event that was sent before.
    pub fn with_words(self, words: &str) -> Self {
        Self { words: Some(words.to_owned()), ..self }
    }

    /// Whether it should have a picture and has none.
    pub fn lacks_picture(&self) -> bool {
        matches!(self.picture, Picture::None)
    }

    /// The message, and what is wrong with the picture.
    pub fn message(self, id: &str) -> (Vec<u8>, Option<String>) {
        let made = match self.picture {
            Picture::None => Ok(None),
            Picture::Frame(frame) => drawn(&frame).map(Some),
            Picture::Jpeg(jpeg) => Ok(Some(jpeg)),
        };
        let (picture, wrong) = match made {
            Ok(jpeg) => (jpeg.map(|jpeg| BASE64_STANDARD.encode(jpeg)), None),
            Err(why) => (None, Some(why)),
        };
        let ZoneEvent { zone, kind, class, track, confidence, place: _ } = self.event;
        let zone = Some(zone).filter(|zone| !zone.is_empty());
        let mut message = json!({
            "id": id, "time": time_text(self.time), "stream": self.stream, "kind": kind, "zone": zone, "class": class,
            "track": track, "confidence": confidence, "picture": picture,
        });
        if let (Some(words), Some(message)) = (self.words, message.as_object_mut()) {
            let of = message.insert("kind".to_owned(), DESCRIPTION.into());
            message.insert("of".to_owned(), of.unwrap_or_default());
            message.insert("description".to_owned(), words.into());
        }
        (message.to_string().into_bytes(), wrong)
    }
}
