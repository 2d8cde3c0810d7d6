use std::sync::Mutex;

use cudainfer_kernels::words::Words as _;
use gst::glib;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::encoding::Coding;
use super::grouping::Outputs;
use super::objects::Points;
use super::search::Search;
use super::settings::{PROPERTIES, Settings};
use crate::caps;
use crate::decoding::{self, Decode, DecodingElement, DecodingElementImpl, Incoming, Reading, hand_on};
use crate::element::described;
use crate::feedback::{self, Answer, Question};
use crate::log::PEAKFIND as CAT;
use crate::meta::analytics::{Contents, Forms};
use crate::model::{Group, origins_reading};
use crate::sync::lock;

#[derive(Default)]
pub struct PeakFind {
    settings: Mutex<Settings>,
}

#[glib::object_subclass]
impl ObjectSubclass for PeakFind {
    const NAME: &'static str = "GstCudaInferPeakFind";
    type Type = super::PeakFind;
    type ParentType = DecodingElement;
}

impl ObjectImpl for PeakFind {
    decoding::properties!(PROPERTIES);
}

impl GstObjectImpl for PeakFind {}

impl ElementImpl for PeakFind {
    described! {
        "Keypoint finder",
        "Filter/Analyzer/Video",
        "Finds keypoints in the outputs of pose models and groups them into objects",
        sink: caps::sink_template(),
        src: hand_on::src_template(),
    }
}

impl BaseTransformImpl for PeakFind {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn sink_event(&self, event: gst::Event) -> bool {
        if feedback::is_end(&event) {
            feedback::end(&event);
            return true;
        }
        self.parent_sink_event(event)
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        feedback::is_asked(query) || BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn transform_ip(&self, frame: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        let flow = self.parent_transform_ip(frame)?;
        // A frame without tensors has nothing to decode, and so nobody has answered.
        if let Some(question) = Question::take(frame) {
            question.answer(Answer::Found(vec![]));
        }
        Ok(flow)
    }
}

impl DecodingElementImpl for PeakFind {
    const HANDS_ON: bool = true;
    const COUNTS: &'static [&'static str] = &["peaks", "instances", "non-finite", "truncated", "limited"];
    const NON_FINITE: &'static str = "values of this frame's keypoint outputs";
    const SECTION: &'static str = "[peaks]";
    const RESULTS: &'static str = "points";

    fn category() -> gst::DebugCategory {
        *CAT
    }

    fn forms(&self) -> Result<Forms, String> {
        lock(&self.settings).metadata.forms(Contents::Keypoints)
    }

    fn prepare(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String> {
        let Incoming { model, info, .. } = incoming;
        if caps::are_tiles(incoming.caps) {
            return Err("points of tiles are not merged where tiles overlap. Remove roi=tiles of fusedpreproc, or set \
                        roi=list with regions that do not overlap"
                .into());
        }
        let settings = lock(&self.settings);
        let points = || {
            let chosen = Outputs::new(&model.outputs, &settings, info).choose(model.input)?;
            gst::info!(CAT, imp = self, "reads {:?} as {:?}", chosen.outputs, chosen.coding);
            let (outputs, plan, coding) = (chosen.outputs, chosen.plan, chosen.coding);
            let search = Search { outputs, plan, input: model.input, coding };
            Points::new(search, (*info).clone(), caps::frame_size(incoming.caps))
        };
        // Where the encoding is set, its own error is more precise.
        let detector = || incoming.detector("peakfind").filter(|_| settings.is_encoding_open(info));
        let points = points().map_err(|why| detector().unwrap_or(why))?;
        Ok(Box::new(points))
    }

    fn reading(&self, incoming: &Incoming<'_>) -> Reading {
        let Incoming { model, info, .. } = incoming;
        let chosen = Outputs::new(&model.outputs, &lock(&self.settings), info).choose(model.input).ok();
        let mut coding = chosen.as_ref().map_or("confidence maps", |chosen| chosen.coding.words()).to_owned();
        if let Some(format) = chosen.as_ref().and_then(|chosen| chosen.coding.format()) {
            coding += &format!(" ({} of each point)", format.word());
        }
        let part = match chosen.as_ref().map(|chosen| chosen.coding) {
            Some(Coding::Lanes { crop }) if crop < 1.0 => Some(crop),
            _ => None,
        };
        coding.extend(part.map(|crop| format!(" in the lower {crop} of the picture")));
        let what = match info.skeleton.points.len() {
            0 if [Group::Peaks, Group::Coordinates].iter().all(|group| info.origin(*group).is_none()) => {
                format!("points of {coding}")
            }
            0 => format!("points of {coding}{}", origins_reading(info, &[Group::Peaks, Group::Coordinates])),
            points => {
                let origins = origins_reading(info, &[Group::Keypoints, Group::Peaks, Group::Coordinates]);
                format!("{points} points{origins} of {coding}")
            }
        };
        let mut reading = Reading::of(incoming, info, &what);
        reading.warnings.extend(chosen.and_then(|chosen| chosen.guess));
        let known = &info.skeleton.points;
        reading.warnings.extend(info.track.as_ref().and_then(|track| track.unknown(known)).map(|name| {
            format!(
                "[track] names a point '{name}' that the model does not have, so regions are made without it, or not at all. The model's \
                 points are {}: write these into the sidecar",
                known.join(", ")
            )
        }));
        let whole = part.filter(|_| !caps::of_regions(incoming.caps));
        reading.warnings.extend(whole.map(|crop| {
            format!(
                "the network finds lanes in the lower {crop} of the picture, and sees whole frames: set roi=list regions=0,{},1,{crop} of \
                 fusedpreproc, unless the frames are that part already",
                ((1.0 - crop) * 1e4).round() / 1e4
            )
        }));
        reading
    }
}
