//! The pipeline of one video, and what is counted in it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use cudainfer_launch::{elements, file, gstreamer, properties};
use cudainfer_model::mistakes::nearest;
use gst::prelude::*;

/// Elements that show which streams a container has.
pub const DECODERS: [&str; 4] = ["decodebin", "decodebin3", "uridecodebin", "uridecodebin3"];

/// What is seen of a pipeline's frames.
#[derive(Debug)]
pub struct Seen {
    start: Instant,
    frames: AtomicU64,
    last: AtomicU64,
    no_video: AtomicBool,
    caps: Mutex<Option<gst::Caps>>,
}

impl Seen {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            frames: AtomicU64::new(0),
            last: AtomicU64::new(0),
            no_video: AtomicBool::new(false),
            caps: Mutex::new(None),
        }
    }

    /// When the pipeline was built.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// How many frames have been decoded.
    pub fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    /// Seconds from the start to the last frame.
    pub fn last(&self) -> f64 {
        std::time::Duration::from_nanos(self.last.load(Ordering::Relaxed)).as_secs_f64()
    }

    /// Whether the file was found to have no video.
    pub fn no_video(&self) -> bool {
        self.no_video.load(Ordering::Relaxed)
    }

    /// The frames in a second, if the container says that.
    pub fn frame_rate(&self) -> Option<gst::Fraction> {
        let caps = self.caps.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = caps.as_ref()?.structure(0)?.get::<gst::Fraction>("framerate").ok()?;
        (rate.numer() > 0).then_some(rate)
    }

    fn count(&self, pad: &gst::Pad) {
        if self.frames.fetch_add(1, Ordering::Relaxed) == 0 {
            *self.caps.lock().unwrap_or_else(PoisonError::into_inner) = pad.current_caps();
        }
        self.last
            .store(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// A pipeline that was built, and not started.
#[derive(Debug)]
pub struct Built {
    /// The pipeline.
    pub pipeline: gst::Pipeline,
    /// What is seen of its frames.
    pub seen: Arc<Seen>,
}

impl Built {
    /// Parses the words, overrides properties, and sets what makes this one of many streams: the elements of a model share an
    /// instance, records name the video as their source, and a full disk is an error.
    ///
    /// # Errors
    /// A sentence.
    pub fn new(words: &[String], overrides: &[(String, String)], name: &str) -> Result<Self, String> {
        let pipeline = file::parse(words)?;
        for (place, value) in overrides {
            let (name, property) = place.split_once('.').ok_or_else(|| {
                format!("'{place}' is no property: write --override ELEMENT.PROPERTY=VALUE")
            })?;
            for element in found(&pipeline, name)? {
                properties::set(&element, property, value)?;
            }
        }
        for (number, network) in elements::of_factory(pipeline.upcast_ref(), "trtinfer").iter().enumerate() {
            if network.property::<Option<String>>("instance").is_none() {
                network.set_property("instance", format!("batch-{number}"));
            }
        }
        for publisher in elements::of_factory(pipeline.upcast_ref(), "inferpublish") {
            publisher.set_property_from_str("disk-full", "stop");
            if publisher.property::<Option<String>>("source").is_none() {
                publisher.set_property("source", name);
            }
        }
        let built = Self { pipeline, seen: Arc::new(Seen::new()) };
        built.watch();
        Ok(built)
    }

    /// The elements of this project's plugin.
    pub fn own(&self) -> Vec<gst::Element> {
        let is_own = |element: &gst::Element| {
            let plugin = element.factory().and_then(|factory| factory.plugin_name());
            plugin.is_some_and(|plugin| plugin == gstreamer::PLUGIN)
        };
        elements::all(self.pipeline.upcast_ref()).into_iter().filter(is_own).collect()
    }

    /// Counts frames where they leave the decoder, or where the first of our elements takes them.
    fn watch(&self) {
        let top: Vec<gst::Element> = self.pipeline.iterate_elements().into_iter().flatten().collect();
        let decoders: Vec<_> =
            top.iter().filter(|element| DECODERS.iter().any(|name| elements::is(element, name))).collect();
        for decoder in &decoders {
            let seen = Arc::clone(&self.seen);
            decoder.connect_pad_added(move |_, pad| {
                if is_video(pad) {
                    let seen = Arc::clone(&seen);
                    pad.add_probe(gst::PadProbeType::BUFFER, move |pad, _| {
                        if pad.is_linked() {
                            seen.count(pad);
                        }
                        gst::PadProbeReturn::Ok
                    });
                }
            });
            let seen = Arc::clone(&self.seen);
            decoder.connect("no-more-pads", false, move |values| {
                let decoder = values.first().and_then(|value| value.get::<gst::Element>().ok())?;
                seen.no_video.store(!decoder.src_pads().iter().any(is_video), Ordering::Relaxed);
                None
            });
        }
        if decoders.is_empty()
            && let Some(pad) = self.own().first().and_then(|element| element.static_pad("sink"))
        {
            let seen = Arc::clone(&self.seen);
            pad.add_probe(gst::PadProbeType::BUFFER, move |pad, _| {
                seen.count(pad);
                gst::PadProbeReturn::Ok
            });
        }
    }
}

fn is_video(pad: &gst::Pad) -> bool {
    let caps = pad.current_caps().unwrap_or_else(|| pad.query_caps(None));
    caps.structure(0).is_some_and(|structure| structure.name().starts_with("video/"))
}

/// The element of a name, or all of a kind.
fn found(pipeline: &gst::Pipeline, name: &str) -> Result<Vec<gst::Element>, String> {
    let all = elements::all(pipeline.upcast_ref());
    let kind = |element: &gst::Element| {
        element.factory().map(|factory| factory.name().to_string()).unwrap_or_default()
    };
    let found: Vec<_> =
        all.iter().filter(|element| element.name() == name || kind(element) == name).cloned().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let names: Vec<String> = all.iter().map(kind).collect();
    Err(match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("the pipeline has no element '{name}': '{near}' is probably meant"),
        None => format!("the pipeline has no element '{name}', it has {}", names.join(", ")),
    })
}
