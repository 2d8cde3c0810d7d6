//! One encoder, and the clients that get its pictures: it runs while there are any.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use gst::prelude::*;
use gst_app::{AppSink, AppSrc};

use super::encoder::Encoder;
use super::entrance::Entrance;
use crate::output::fed::FedPipeline;
use crate::output::feed::{self, Feed};
use crate::output::picture::{Drawn, drawing};
use crate::unpoisoned::lock;

/// The longest side of a picture, in pixels: a larger frame is made smaller.
pub const LONGEST: u32 = 1280;

/// The most pictures a second.
const FASTEST: u32 = 30;

/// The longest time between two key frames.
const KEY_PERIOD: Duration = Duration::from_secs(2);

/// The shortest time between two requests for one, however many clients lose packets.
const REQUEST_PERIOD: Duration = Duration::from_millis(250);

/// Gives a stream's last frame.
pub type LastFrame = Box<dyn Fn() -> Option<gst::Sample> + Send + Sync>;

/// When key frames came and were asked for.
#[derive(Debug)]
struct Pace {
    key: Instant,
    request: Option<Instant>,
}

/// The clients of an encoder.
pub struct Audience {
    entrances: Mutex<Vec<Arc<Entrance>>>,
    pace: Mutex<Pace>,
    needs_key: AtomicBool,
    /// Whether a picture has been encoded.
    has_encoded: AtomicBool,
    pictures: AppSink,
    frames: AppSrc,
    last: LastFrame,
}

impl std::fmt::Debug for Audience {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Audience").field("pace", &self.pace).finish_non_exhaustive()
    }
}

impl Audience {
    /// A client has just connected: the stream's last frame is encoded for it, because the next one may be seconds away.
    pub fn begin(&self) {
        self.ask_for_key();
        if let Some((frame, caps)) = (self.last)().and_then(|last| last.buffer_owned().zip(last.caps_owned()))
        {
            // If the encoder has stopped, its clients are removed soon.
            let _ = feed::push_into(&self.frames, &frame, &caps);
        }
    }

    /// Has the encoder make a key frame, soon if not now.
    pub fn ask_for_key(&self) {
        self.needs_key.store(true, Ordering::Relaxed);
        self.request();
    }

    /// Asks the encoder for a key frame that is needed, unless it was asked just before.
    fn request(&self) {
        if !self.needs_key.load(Ordering::Relaxed) {
            return;
        }
        let mut pace = lock(&self.pace);
        if pace.request.is_some_and(|request| request.elapsed() < REQUEST_PERIOD) {
            return;
        }
        pace.request = Some(Instant::now());
        self.needs_key.store(false, Ordering::Relaxed);
        drop(pace);
        self.pictures.send_event(gst_video::UpstreamForceKeyUnitEvent::builder().all_headers(true).build());
    }

    /// Passes a picture of the encoder to the clients.
    fn show(&self, picture: &gst::Buffer, caps: &gst::CapsRef) {
        self.has_encoded.store(true, Ordering::Relaxed);
        let is_key = !picture.flags().contains(gst::BufferFlags::DELTA_UNIT);
        let is_late = {
            let mut pace = lock(&self.pace);
            if is_key {
                pace.key = Instant::now();
            }
            pace.key.elapsed() > KEY_PERIOD
        };
        let entrances = lock(&self.entrances).clone();
        // Each has to take it.
        let needs_key = entrances.iter().filter(|entrance| entrance.take(picture, caps)).count() > 0;
        if needs_key || is_late {
            self.needs_key.store(true, Ordering::Relaxed);
        }
        self.request();
    }
}

/// An encoder that runs.
#[derive(Debug)]
pub struct Broadcast {
    pipeline: FedPipeline,
    /// The frames of its stream. They are gone when the stream is removed or changed.
    feed: Weak<Feed>,
    /// What is drawn on them.
    drawn: Drawn,
    /// What encodes them.
    pub encoder: &'static Encoder,
    /// Who gets the pictures.
    pub audience: Arc<Audience>,
    has_failed: AtomicBool,
}

impl Broadcast {
    /// Encodes the frames of a stream from now on, which are of these caps.
    ///
    /// # Errors
    /// A sentence: an element is missing or failed.
    pub fn start(
        feed: &Arc<Feed>,
        caps: &gst::CapsRef,
        drawn: Drawn,
        encoder: &'static Encoder,
        last: LastFrame,
    ) -> Result<Self, String> {
        let pipeline = FedPipeline::new(&description(caps, drawn, encoder))?;
        let pictures: AppSink = pipeline.element("pictures")?;
        let audience = Arc::new(Audience {
            entrances: Mutex::default(),
            pace: Mutex::new(Pace { key: Instant::now(), request: None }),
            needs_key: AtomicBool::new(false),
            has_encoded: AtomicBool::new(false),
            pictures: pictures.clone(),
            frames: pipeline.source.clone(),
            last,
        });
        let shown = Arc::downgrade(&audience);
        let show = move |sink: &AppSink| {
            let picture = sink.pull_sample().map_err(|_| gst::FlowError::Eos)?;
            if let (Some(audience), Some(buffer), Some(caps)) =
                (shown.upgrade(), picture.buffer_owned(), picture.caps())
            {
                audience.show(&buffer, caps);
            }
            Ok(gst::FlowSuccess::Ok)
        };
        pictures.set_callbacks(gst_app::AppSinkCallbacks::builder().new_sample(show).build());
        pipeline.play()?;
        feed.add(pipeline.source.clone());
        Ok(Self {
            pipeline,
            feed: Arc::downgrade(feed),
            drawn,
            encoder,
            audience,
            has_failed: AtomicBool::new(false),
        })
    }

    /// Whether it encodes this.
    pub fn is_of(&self, feed: &Arc<Feed>, drawn: Drawn, encoder: &Encoder) -> bool {
        std::ptr::eq(self.feed.as_ptr(), Arc::as_ptr(feed))
            && self.drawn == drawn
            && self.encoder.name == encoder.name
            && !self.is_over()
    }

    /// Gives the pictures to another client.
    pub fn add(&self, entrance: &Arc<Entrance>) {
        lock(&self.audience.entrances).push(Arc::clone(entrance));
    }

    /// Gives no more pictures to a client.
    pub fn remove(&self, entrance: &Arc<Entrance>) {
        lock(&self.audience.entrances).retain(|other| !Arc::ptr_eq(other, entrance));
    }

    /// Why it cannot encode any more, if that has not been asked before.
    pub fn new_failure(&self) -> Option<String> {
        self.pipeline.failure().inspect(|_| self.has_failed.store(true, Ordering::Relaxed))
    }

    /// Whether a picture has been encoded.
    pub fn has_encoded(&self) -> bool {
        self.audience.has_encoded.load(Ordering::Relaxed)
    }

    /// Whether it has failed, or its stream was removed, or changed so that other frames take the place of these.
    pub fn is_over(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed) || self.feed.strong_count() == 0
    }
}

impl Drop for Broadcast {
    fn drop(&mut self) {
        if let Some(feed) = self.feed.upgrade() {
            feed.remove(&self.pipeline.source);
        }
    }
}

/// The pipeline's description.
fn description(caps: &gst::CapsRef, drawn: Drawn, encoder: &Encoder) -> String {
    let info = gst_video::VideoInfo::from_caps(caps).ok();
    let (width, height) = info.map_or((LONGEST, LONGEST), |info| (info.width().max(2), info.height().max(2)));
    let times = width.max(height).div_ceil(LONGEST);
    let pixels = (width / times).saturating_mul(height / times);
    format!(
        "{} ! videorate drop-only=true max-rate={FASTEST} ! {} ! videoconvertscale \
         ! video/x-raw,format=I420,width=[2,{LONGEST},2],height=[2,{LONGEST},2],pixel-aspect-ratio=1/1 \
         ! {} ! appsink name=pictures sync=false async=false max-buffers=4",
        feed::SOURCE,
        drawing(drawn, times, true),
        encoder.description(pixels)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_after_a_request_is_a_key_frame_with_every_encoder_that_is_installed() {
        cudainfer_tests::init();
        let caps: gst::Caps = "video/x-raw,format=I420,width=64,height=48,framerate=15/1".parse().unwrap();
        for encoder in super::super::encoder::installed().unwrap_or_default() {
            let feed = Arc::new(Feed::default());
            let broadcast =
                Broadcast::start(&feed, &caps, Drawn::Nothing, encoder, Box::new(|| None)).unwrap();
            let (send, pictures) = std::sync::mpsc::channel();
            let pad = broadcast.audience.pictures.static_pad("sink").unwrap();
            pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
                let is_delta = info.buffer().unwrap().flags().contains(gst::BufferFlags::DELTA_UNIT);
                send.send(!is_delta).unwrap();
                gst::PadProbeReturn::Ok
            });
            let next = |value: u8| {
                // One that comes sooner is left out.
                std::thread::sleep(Duration::from_secs(2) / FASTEST);
                let mut frame = gst::Buffer::with_size(64 * 48 * 3 / 2).unwrap();
                frame.get_mut().unwrap().map_writable().unwrap().fill(value);
                feed.push(&frame, &caps);
                let is_key = pictures.recv_timeout(Duration::from_secs(300));
                is_key.unwrap_or_else(|_| panic!("{}: {:?}", encoder.name, broadcast.new_failure()))
            };
            assert!(next(10), "{}: the first one", encoder.name);
            // Some seconds may lie between two pictures of a busy machine: then each is a key frame.
            next(20);
            next(30);
            std::thread::sleep(REQUEST_PERIOD);
            broadcast.audience.ask_for_key();
            assert!(next(40), "{}: the one after the request", encoder.name);
        }
    }

    #[test]
    fn a_large_frame_is_made_smaller_and_what_is_drawn_on_it_larger() {
        gst::init().unwrap();
        let encoder = super::super::encoder::installed().unwrap()[0];
        let of = |caps: &str, drawn| description(&caps.parse::<gst::Caps>().unwrap(), drawn, encoder);
        let large = of("video/x-raw,format=I420,width=1920,height=1080", Drawn::Objects);
        assert!(large.contains("zones=false thickness=4 text-scale=2"), "{large}");
        assert!(large.contains("width=[2,1280,2],height=[2,1280,2]"), "{large}");
        let small = of("video/x-raw,format=I420,width=640,height=360", Drawn::All);
        assert!(!small.contains("text-scale") && !small.contains("zones=false"), "{small}");
        assert!(!of("video/x-raw,format=I420,width=640,height=360", Drawn::Nothing).contains("inferoverlay"));
    }
}
