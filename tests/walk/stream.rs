//! One stream of the walk: a bin with its own source, whose frames are watched where they come in and where they go out. Each frame's
//! brightness follows from its number, and the confidence of what is found in it from the brightness, so that a result on a wrong
//! frame is noticed.

use std::sync::Arc;
use std::time::Duration;

use cudainfer_tests::model;
use cudainfer_tests::stream::brightness;
use gst::prelude::*;
use gst_video::VideoInfo;
use gstcudainfer::meta::object::objects;

use crate::ledger::{IN_FLIGHT, Ledger};

/// Between two frames of a stream, so that eight of them do not keep the machine busy for nothing.
const PACE: Duration = Duration::from_millis(5);

/// Zones that are set at the start.
pub const ZONES: &str = "all=polygon:0,0,1,0,1,1,0,1;middle=line:0.5,1,0.5,0";

/// The instance that streams share.
pub const SHARED: &str = "instance=walk batch-size=4 batch-timeout=1000000 workers=1";

/// How a stream has its model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// With others, in one instance.
    Shared,
    /// For itself.
    Own,
    /// For itself, and it drops frames that come too early.
    Leaky,
    /// One whose classes come from a property.
    Vocabulary,
}

/// The kinds of the streams, one after the other.
pub const KINDS: [Kind; 8] = [
    Kind::Shared,
    Kind::Own,
    Kind::Shared,
    Kind::Vocabulary,
    Kind::Shared,
    Kind::Leaky,
    Kind::Shared,
    Kind::Own,
];

impl Kind {
    /// The model that a stream begins with.
    pub fn model(self) -> String {
        model(if self == Self::Vocabulary { "vocabulary" } else { "detector-batch" })
    }

    fn trtinfer(self) -> String {
        let own = match self {
            Self::Shared => SHARED.to_owned(),
            Self::Own => "batch-size=2 workers=2".to_owned(),
            Self::Leaky => "leaky=downstream workers=1".to_owned(),
            Self::Vocabulary => "workers=1".to_owned(),
        };
        format!("trtinfer name=infer device=cpu model={} max-in-flight={IN_FLIGHT} {own}", self.model())
    }
}

/// One stream.
pub struct Stream {
    /// Its elements.
    pub bin: gst::Bin,
    /// What became of its frames.
    pub ledger: Arc<Ledger>,
    /// How it has its model.
    pub kind: Kind,
    /// Whether the model or the zones that were set last may not be such with which the stream can start.
    pub must_mend: bool,
}

impl Stream {
    /// A stream in NULL, in no pipeline.
    pub fn new(name: &str, kind: Kind) -> Self {
        let description = format!(
            "videotestsrc name=source ! capsfilter name=caps caps-change-mode=delayed caps=video/x-raw,format=RGB,width=16,height=12,framerate=100/1 \
             ! identity name=door ! fusedpreproc name=pre ! {} ! gpunms name=nms ! tracker name=track \
             ! zonecount name=zones units=fraction zones={ZONES} ! inferoverlay name=overlay font=built-in \
             ! inferpublish name=publish location=/dev/null ! fakesink name=out async=false",
            kind.trtinfer()
        );
        let bin = gst::parse::bin_from_description_with_name(&description, false, name)
            .unwrap_or_else(|e| panic!("{e}: {description}"));
        let stream = Self { bin, ledger: Arc::new(Ledger::new(kind == Kind::Leaky)), kind, must_mend: false };
        stream.watch();
        stream
    }

    /// One of its elements.
    pub fn element(&self, name: &str) -> gst::Element {
        self.bin.by_name(name).unwrap_or_else(|| panic!("there is no {name}"))
    }

    fn watch(&self) {
        let mask =
            gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM | gst::PadProbeType::EVENT_FLUSH;
        let ledger = Arc::clone(&self.ledger);
        let door = self.element("door").static_pad("sink").unwrap();
        door.add_probe(mask, move |pad, info| {
            match &mut info.data {
                Some(gst::PadProbeData::Buffer(buffer)) => {
                    std::thread::sleep(PACE);
                    let number = ledger.enter();
                    paint(&pad.current_caps().unwrap(), buffer.make_mut(), number);
                }
                Some(gst::PadProbeData::Event(event)) => match event.type_() {
                    gst::EventType::FlushStop => ledger.flush_enters(event.seqnum()),
                    // The source has started again.
                    gst::EventType::StreamStart => ledger.start(),
                    gst::EventType::Eos => ledger.end_enters(),
                    _ => (),
                },
                _ => (),
            }
            gst::PadProbeReturn::Ok
        });
        let ledger = Arc::clone(&self.ledger);
        let out = self.element("out").static_pad("sink").unwrap();
        out.add_probe(mask, move |pad, info| {
            match &info.data {
                Some(gst::PadProbeData::Buffer(buffer)) => {
                    ledger.leave(buffer.offset());
                    if let Some(fault) = wrong_result(buffer, &pad.current_caps().unwrap()) {
                        ledger.fault(fault);
                    }
                }
                Some(gst::PadProbeData::Event(event)) => match event.type_() {
                    gst::EventType::FlushStop => ledger.flush_leaves(event.seqnum()),
                    gst::EventType::Eos => ledger.end_leaves(),
                    _ => (),
                },
                _ => (),
            }
            gst::PadProbeReturn::Ok
        });
    }
}

/// Whether frames of these caps have luma in 16 to 235, and chroma.
fn is_luma(caps: &gst::CapsRef) -> bool {
    caps.structure(0).is_some_and(|caps| caps.get::<&str>("format") == Ok("I420"))
}

/// Gives a frame its number and its brightness.
fn paint(caps: &gst::CapsRef, buffer: &mut gst::BufferRef, number: u64) {
    buffer.set_offset(number);
    let info = VideoInfo::from_caps(caps).unwrap();
    let luma = if is_luma(caps) { info.offset()[1] } else { info.size() };
    let mut map = buffer.map_writable().unwrap();
    let luma = luma.min(map.len());
    map[..luma].fill(brightness(number));
    map[luma..].fill(128);
}

/// What is found in a frame and is not its own. Chroma does not count, and luma is rounded twice on its way to a float.
fn wrong_result(buffer: &gst::BufferRef, caps: &gst::CapsRef) -> Option<String> {
    let value = f32::from(brightness(buffer.offset()));
    let (wanted, tolerance) =
        if is_luma(caps) { (((value - 16.0) / 219.0).min(1.0), 0.02) } else { (value / 255.0, 1e-3) };
    // The models make a second, less confident box in the same place, which gpunms keeps where `iou` is set so.
    let is_own =
        |confidence: f32| [1.0, 0.9].iter().any(|part| (confidence - part * wanted).abs() <= tolerance);
    let found = objects(buffer);
    let wrong = found
        .iter()
        .filter_map(|object| object.detection.as_ref())
        .find(|found| !is_own(found.confidence))?;
    Some(format!("frame {} has {}, which is not its own {wanted}", buffer.offset(), wrong.confidence))
}
