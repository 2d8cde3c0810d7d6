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
            .blurb("How detections become tracks")
            .mutable_ready()
            .build(),
        glib::ParamSpecEnum::builder::<Similarity>("similarity")
            .nick("Similarity")
            .blurb(
                "What is compared; with oks and keypoint-boxes objects without a detection are followed, too, and \
                 those without points are compared by their boxes",
            )
            .mutable_ready()
            .build(),
        glib::ParamSpecString::builder("sigmas")
            .nick("Sigmas")
            .blurb(
                "For similarity=oks: how far points stray, as a fraction of the object's scale; one number for all \
                 points, or nose=0.026,tail=0.1; not set, the sidecar's, else COCO's, else 0.067",
            )
            .mutable_ready()
            .build(),
        glib::ParamSpecBoolean::builder("class-aware")
            .nick("Class-aware")
            .blurb("Detections of different classes never belong to the same track")
            .default_value(Params::auto().class_aware)
            .mutable_ready()
            .build(),
        fraction(
            "min-confidence",
            "Minimum confidence",
            |p| p.min_confidence,
            &[Auto, ByteTrack, Sort, OcSort, BotSort, CBiou],
            "Weaker detections are ignored; gpunms must let them through to be seen at all",
        ),
        fraction(
            "high-confidence",
            "High confidence",
            |p| p.high_confidence,
            &[Auto, ByteTrack, BotSort, CBiou],
            "All but SORT and OC-SORT: detections from here on are associated first, weaker ones last",
        ),
        fraction(
            "new-confidence",
            "New track confidence",
            |p| p.new_confidence,
            &[Auto, ByteTrack, BotSort, CBiou],
            "All but SORT and OC-SORT: detections from here on may start a track",
        ),
        glib::ParamSpecBoolean::builder("auto-confidence")
            .nick("Automatic confidences")
            .blurb(
                "All but SORT and OC-SORT: high-confidence and new-confidence follow the distribution of the \
                 detections' confidences; true with auto, unless one of them is set to another value",
            )
            .default_value(Params::auto().auto_confidence)
            .mutable_ready()
            .build(),
        count(
            "min-hits",
            "Minimum hits",
            |p| p.min_hits,
            "Frames in a row in which a track must be seen again before it is believed",
        ),
        count(
            "max-lost",
            "Maximum lost",
            |p| p.max_lost,
            "Frames in a row that a track may stay unseen before it is given up",
        ),
        fraction(
            "iou",
            "IoU",
            |p| p.iou,
            &[Auto, ByteTrack, Sort, OcSort, BotSort, CBiou],
            "Lowest similarity of a match; for all but SORT and OC-SORT it is multiplied by the confidence",
        ),
        fraction(
            "iou-low",
            "IoU of weak detections",
            |p| p.iou_low,
            &[Auto, ByteTrack, BotSort, CBiou],
            "All but SORT and OC-SORT: lowest similarity of a match with a weak detection",
        ),
        fraction(
            "momentum",
            "Momentum",
            |p| p.momentum,
            &[Auto, OcSort],
            "Auto, OC-SORT: weight of the direction; straight on, a match gains half of it",
        ),
        glib::ParamSpecUInt::builder("momentum-frames")
            .nick("Frames of the momentum")
            .blurb("Auto, OC-SORT: frames from one observation to the other that the direction is taken between")
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
            "C-BIoU: by how much of its width and height a box grows on each side in the first association",
        ),
        fraction(
            "buffer-wide",
            "Wide buffer",
            |p| p.buffer_wide,
            &[CBiou],
            "C-BIoU: the same for who is left over, and for weak detections",
        ),
        fraction(
            "proximity",
            "Proximity",
            |p| p.proximity,
            &[Auto, ByteTrack, Sort, OcSort, BotSort, CBiou],
            "Lowest similarity of places at which looks count, where objects have embeddings",
        ),
        glib::ParamSpecEnum::builder::<Appearance>("appearance")
            .nick("Appearance")
            .blurb("How objects look, where no second model makes embeddings of their regions")
            .mutable_ready()
            .build(),
        glib::ParamSpecString::builder("embedding-output")
            .nick("Output of embeddings")
            .blurb("The second model's output that holds embeddings; need not be said where it has one only")
            .mutable_ready()
            .build(),
        fraction(
            "appearance-distance",
            "Distance of appearance",
            |p| p.appearance,
            &[ByteTrack],
            "Highest cosine distance of embeddings, halved, at which looks count (0.08 with appearance=histogram)",
        ),
        glib::ParamSpecBoolean::builder("camera-motion")
            .nick("Motion of the camera")
            .blurb("Objects move with the camera, whose motion is seen in the background (true with botsort)")
            .mutable_ready()
            .build(),
        glib::ParamSpecBoolean::builder("publish-lost")
            .nick("Publish lost")
            .blurb("Tracks without a detection are in the metadata, too, where they are expected; their state is lost")
            .mutable_ready()
            .build(),
        stats::param_spec(
            ", detections, and untracked: those of them that got no identity, because they are too weak, no \
             numbers or not believed yet; without-points: those that were compared by their boxes, although \
             similarity says points; surplus: those that were too many; untimed: frames without a timestamp \
             after the one before",
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
