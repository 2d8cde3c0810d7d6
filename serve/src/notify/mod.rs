//! Events by webhook, with their pictures.
//!
//! Each webhook has a thread of its own, which makes pictures and puts the messages into an outbox of the crate of brokers: that sends
//! them, again and again until they are acknowledged, from a spool on the disk where there is a folder for it. A stream hands
//! over its events without waiting; what there is no room for is counted.

mod hook;
mod notice;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::{DESCRIPTION, NotifySettings, TRACK};
use crate::history::{NotedEvent, ZoneEvent};
use crate::output::HeldFrame;
use crate::time::milliseconds;
use hook::Hook;
pub use hook::HookCounts;
use notice::{Notice, Picture};

/// All webhooks. Clones are the same ones.
#[derive(Clone, Debug, Default)]
pub struct Hooks(Arc<Vec<Hook>>);

impl Hooks {
    /// Starts a thread for each.
    pub fn start(settings: &[NotifySettings], state: Option<&Path>) -> Self {
        let hook = |(place, hook): (usize, &NotifySettings)| {
            let before = settings.iter().take(place).filter(|other| other.url == hook.url).count();
            Hook::start(place + 1, hook.clone(), state.map(|state| spool(state, &hook.url, before)))
        };
        Self(Arc::new(settings.iter().enumerate().map(hook).collect()))
    }

    /// Takes the events of a frame.
    pub fn events(&self, stream: &str, events: &[NotedEvent], frame: &gst::Buffer, caps: &gst::Caps) {
        let events = || events.iter().map(|noted| &noted.event);
        for (hook, event) in self.0.iter().flat_map(|hook| events().map(move |event| (hook, event))) {
            let class = event.class.as_deref();
            if hook.settings.wants(stream, Some(&event.zone), &event.kind, class) {
                let picture =
                    hook.settings.picture.then(|| HeldFrame::hold(frame, caps, &hook.held)).flatten();
                let picture = picture.map_or(Picture::None, Picture::Frame);
                hook.push(Notice::new(stream, milliseconds(), event.clone(), picture));
            }
        }
    }

    /// Takes the picture of a track that has ended, made at a time in milliseconds since 1970.
    pub fn track(&self, stream: &str, time: i64, (track, class, confidence): (u64, &str, f64), jpeg: &[u8]) {
        for hook in self.0.iter().filter(|hook| hook.settings.wants(stream, None, TRACK, Some(class))) {
            let event = ZoneEvent {
                zone: String::new(),
                kind: TRACK.to_owned(),
                class: Some(class.to_owned()),
                track: Some(track),
                confidence: Some(confidence),
                place: None,
            };
            let picture = if hook.settings.picture { Picture::Jpeg(jpeg.to_vec()) } else { Picture::None };
            hook.push(Notice::new(stream, time, event, picture));
        }
    }

    /// Takes the words for an event of that time, which was sent before, and the picture that they are about.
    pub fn description(&self, stream: &str, time: i64, event: &ZoneEvent, words: &str, jpeg: &[u8]) {
        let zone = Some(event.zone.as_str()).filter(|zone| !zone.is_empty());
        let wants = |hook: &&Hook| hook.settings.wants(stream, zone, DESCRIPTION, event.class.as_deref());
        for hook in self.0.iter().filter(wants) {
            let picture = if hook.settings.picture { Picture::Jpeg(jpeg.to_vec()) } else { Picture::None };
            hook.push(Notice::new(stream, time, event.clone(), picture).with_words(words));
        }
    }

    /// What became of the events, by webhook.
    pub fn counts(&self) -> Vec<HookCounts> {
        self.0.iter().map(Hook::counts).collect()
    }

    /// Ends all, which send what waits for a moment. What is in a spool is sent after the next start.
    pub fn close(&self) {
        self.0.iter().for_each(Hook::stop);
        self.0.iter().for_each(Hook::join);
    }
}

/// The folder of the events that wait for a webhook, of as many before it with the same URL. It is the same for the same URL,
/// which may be a secret: so its name is the FNV-1a hash.
fn spool(state: &Path, url: &str, before: usize) -> PathBuf {
    let hash = url.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    state.join("notify").join(format!("{hash:016x}-{before}"))
}
