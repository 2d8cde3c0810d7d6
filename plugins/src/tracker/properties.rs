//! The properties of the tracker.

use std::fmt::Display;

use cudainfer_kernels::track::{self, MOST_MOMENTUM_FRAMES, Params};
use gst::glib;
use gst::prelude::*;

use super::settings::Settings;
use super::{Algorithm, Appearance, Similarity};
use crate::{device, stats};

/// The default of a property, and its description with the defaults of the other algorithms that it is of.
fn with_defaults<T: PartialEq + Display>(
    blurb: &str,
    of: fn(&Params) -> T,
    among: &[Algorithm],
) -> (T, String) {
    let own = |algorithm: Algorithm| of(&Params::of(algorithm.into()));
    let default = own(among.first().copied().unwrap_or_default());
    let mut others: Vec<(T, String)> = Vec::new();
    for &algorithm in among.iter().filter(|algorithm| own(**algorithm) != default) {
        let name = track::Algorithm::from(algorithm).name();
        match others.iter_mut().find(|(value, _)| *value == own(algorithm)) {
            Some((_, names)) => *names = format!("{names}, {name}"),
            None => others.push((own(algorithm), format!("{} with {name}", own(algorithm)))),
        }
    }
    let others: Vec<String> = others.into_iter().map(|(_, text)| text).collect();
    let blurb = if others.is_empty() { blurb.to_owned() } else { format!("{blurb} ({})", others.join("; ")) };
    (default, blurb)
}

/// All there are.
pub(super) fn specs() -> Vec<glib::ParamSpec> {
    use Algorithm::{Auto, BotSort, ByteTrack, CBiou, OcSort, Sort};
    let fraction = |name: &str, nick: &str, of: fn(&Params) -> f32, among: &[Algorithm], blurb: &str| {
        let (default, blurb) = with_defaults(blurb, of, among);
        glib::ParamSpecFloat::builder(name)
            .nick(nick)
            .blurb(&blurb)
            .minimum(0.0)
            .maximum(1.0)
            .default_value(default)
            .mutable_ready()
            .build()
    };
    let count = |name: &str, nick: &str, of: fn(&Params) -> u32, blurb: &str| {
        let (default, blurb) = with_defaults(blurb, of, &[Auto, ByteTrack, Sort, OcSort, BotSort, CBiou]);
        glib::ParamSpecUInt::builder(name)
            .nick(nick)
            .blurb(&blurb)
            .maximum(1_000_000)
            .default_value(default)
            .mutable_ready()
            .build()
    };
    vec![
        device::param_spec(),
        glib::ParamSpecEnum::builder::<Algorithm>("algorithm")
            .nick("Algorithm")
            .blurb("How detections are associated with tracks")
            .mutable_ready()
            .build(),
        glib::ParamSpecEnum::builder::<Similarity>("similarity")
            .nick("Similarity")
            .blurb(
                "What is compared of two objects. With oks and keypoint-boxes, objects with keypoints and no box are tracked, \
                 too, and objects without keypoints are compared by their boxes",
            )
            .mutable_ready()
            .build(),
        glib::ParamSpecString::builder("sigmas")
            .nick("Sigmas")
            .blurb(
                "For similarity=oks: standard deviation of each keypoint, as a fraction of the object's scale. One number for \
                 all keypoints, or one each as in nose=0.026,tail=0.1. If not set: the sidecar's, else COCO's, else 0.067",
            )
            .mutable_ready()
            .build(),
        glib::ParamSpecBoolean::builder("class-aware")
            .nick("Class-aware")
            .blurb("Never match detections of different classes")
            .default_value(Params::auto().class_aware)
            .mutable_ready()
            .build(),
        fraction(
            "min-confidence",
            "Minimum confidence",
            |p| p.min_confidence,
            &[Auto, ByteTrack, Sort, OcSort, BotSort, CBiou],
            "Minimum confidence of a detection. The confidence of gpunms must be as low, or weaker detections do not arrive",
        ),
        fraction(
            "high-confidence",
            "High confidence",
            |p| p.high_confidence,
            &[Auto, ByteTrack, BotSort, CBiou],
            "Minimum confidence of the detections that are associated first; weaker ones are associated last. Not for SORT and OC-SORT",
        ),
        fraction(
            "new-confidence",
            "New track confidence",
            |p| p.new_confidence,
            &[Auto, ByteTrack, BotSort, CBiou],
            "Minimum confidence of a detection that starts a track. Not for SORT and OC-SORT",
        ),
        glib::ParamSpecBoolean::builder("auto-confidence")
            .nick("Automatic confidences")
            .blurb(
                "Derive high-confidence and new-confidence from the distribution of the detections' confidences. Not for SORT \
                 and OC-SORT; true with auto, unless one of the two is set to another value",
            )
            .default_value(Params::auto().auto_confidence)
            .mutable_ready()
            .build(),
        count(
            "min-hits",
            "Minimum hits",
            |p| p.min_hits,
            "Number of consecutive frames in which a new track must be seen again before it is confirmed",
        ),
        count(
            "max-lost",
            "Maximum lost",
            |p| p.max_lost,
            "Maximum number of consecutive frames that a track may stay unseen before it is deleted",
        ),
        fraction(
            "iou",
            "IoU",
            |p| p.iou,
            &[Auto, ByteTrack, Sort, OcSort, BotSort, CBiou],
            "Minimum similarity of a match. It is multiplied by the confidence, except for SORT and OC-SORT",
        ),
        fraction(
            "iou-low",
            "IoU of weak detections",
            |p| p.iou_low,
            &[Auto, ByteTrack, BotSort, CBiou],
            "Minimum similarity of a match with a weak detection. Not for SORT and OC-SORT",
        ),
        fraction(
            "momentum",
            "Momentum",
            |p| p.momentum,
            &[Auto, OcSort],
            "Weight of the direction of motion; a match straight ahead gains half of it. For auto and OC-SORT",
        ),
        glib::ParamSpecUInt::builder("momentum-frames")
            .nick("Momentum frames")
            .blurb("Number of frames between the two observations that give the direction of motion. For auto and OC-SORT")
            .minimum(1)
            .maximum(MOST_MOMENTUM_FRAMES)
            .default_value(Params::ocsort().momentum_frames)
            .mutable_ready()
            .build(),
        fraction(
            "buffer",
            "Buffer",
            |p| p.buffer,
            &[CBiou],
            "How much boxes grow on each side in the first association, as a fraction of their width and height. For C-BIoU",
        ),
        fraction(
            "buffer-wide",
            "Wide buffer",
            |p| p.buffer_wide,
            &[CBiou],
            "The same as buffer for the second association, which has the remaining tracks and weak detections. For C-BIoU",
        ),
        fraction(
            "proximity",
            "Proximity",
            |p| p.proximity,
            &[Auto, ByteTrack, Sort, OcSort, BotSort, CBiou],
            "Minimum similarity of positions at which appearance is compared",
        ),
        glib::ParamSpecEnum::builder::<Appearance>("appearance")
            .nick("Appearance")
            .blurb("How appearance is described, where no second model makes embeddings of the objects")
            .mutable_ready()
            .build(),
        glib::ParamSpecString::builder("embedding-output")
            .nick("Embedding output")
            .blurb("Name of the second model's output that holds the embeddings. Needed only if it has several")
            .mutable_ready()
            .build(),
        fraction(
            "appearance-distance",
            "Appearance distance",
            |p| p.appearance,
            &[ByteTrack],
            "Maximum cosine distance of two embeddings, halved, that is the same appearance (0.08 with appearance=histogram)",
        ),
        glib::ParamSpecBoolean::builder("camera-motion")
            .nick("Camera motion")
            .blurb("Estimate the motion of the camera from the background, and move the tracks with it (true with botsort)")
            .mutable_ready()
            .build(),
        glib::ParamSpecBoolean::builder("publish-lost")
            .nick("Publish lost")
            .blurb("Also attach tracks that have no detection in the frame, where they are expected, with the state lost")
            .mutable_ready()
            .build(),
        stats::param_spec(
            ", detections, untracked: detections that got no identity, because they are too weak, are not finite or their \
             track is not confirmed yet, without-points: detections that were compared by their boxes although similarity \
             asks for keypoints, surplus: detections beyond the maximum that is tracked, and untimed: frames whose \
             timestamp is missing or not after the previous one",
        ),
    ]
}

impl Settings {
    /// Sets the property `name`, if it is one of these.
    pub fn set(&mut self, name: &str, value: &glib::Value) {
        match name {
            "algorithm" => self.algorithm = value.get().unwrap_or_default(),
            "similarity" => self.similarity = value.get().unwrap_or_default(),
            "sigmas" => self.sigmas = value.get().ok().flatten().unwrap_or_default(),
            "class-aware" => self.class_aware = value.get().ok(),
            "min-confidence" => self.min_confidence = value.get().ok(),
            "high-confidence" => self.high_confidence = value.get().ok(),
            "new-confidence" => self.new_confidence = value.get().ok(),
            "auto-confidence" => self.auto_confidence = value.get().ok(),
            "min-hits" => self.min_hits = value.get().ok(),
            "max-lost" => self.max_lost = value.get().ok(),
            "iou" => self.iou = value.get().ok(),
            "iou-low" => self.iou_low = value.get().ok(),
            "momentum" => self.momentum = value.get().ok(),
            "momentum-frames" => self.momentum_frames = value.get().ok(),
            "buffer" => self.buffer = value.get().ok(),
            "buffer-wide" => self.buffer_wide = value.get().ok(),
            "proximity" => self.proximity = value.get().ok(),
            "appearance" => self.appearance = value.get().unwrap_or_default(),
            "appearance-distance" => self.appearance_distance = value.get().ok(),
            "embedding-output" => self.embedding_output = value.get().ok().flatten().unwrap_or_default(),
            "camera-motion" => self.camera_motion = value.get().ok(),
            "publish-lost" => self.publish_lost = value.get().unwrap_or_default(),
            _ => (),
        }
    }

    /// The value of a property that is one of these, else its default.
    pub fn get(&self, pspec: &glib::ParamSpec) -> glib::Value {
        let params = self.params();
        match pspec.name() {
            "algorithm" => self.algorithm.to_value(),
            "similarity" => self.similarity.to_value(),
            "sigmas" => Some(&self.sigmas).filter(|text| !text.is_empty()).to_value(),
            "class-aware" => params.class_aware.to_value(),
            "min-confidence" => params.min_confidence.to_value(),
            "high-confidence" => params.high_confidence.to_value(),
            "new-confidence" => params.new_confidence.to_value(),
            "auto-confidence" => params.auto_confidence.to_value(),
            "min-hits" => params.min_hits.to_value(),
            "max-lost" => params.max_lost.to_value(),
            "iou" => params.iou.to_value(),
            "iou-low" => params.iou_low.to_value(),
            "momentum" => params.momentum.to_value(),
            "momentum-frames" => params.momentum_frames.to_value(),
            "buffer" => params.buffer.to_value(),
            "buffer-wide" => params.buffer_wide.to_value(),
            "proximity" => params.proximity.to_value(),
            "appearance" => self.appearance.to_value(),
            "appearance-distance" => params.appearance.to_value(),
            "embedding-output" => Some(&self.embedding_output).filter(|text| !text.is_empty()).to_value(),
            "camera-motion" => self.camera_motion().to_value(),
            "publish-lost" => self.publish_lost.to_value(),
            _ => pspec.default_value().clone(),
        }
    }
}
