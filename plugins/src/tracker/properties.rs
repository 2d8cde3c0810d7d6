//! The properties of the tracker.

use std::fmt::Display;
use std::sync::LazyLock;

use cudainfer_kernels::track::Algorithm::{self, Auto, BotSort, ByteTrack, CBiou, OcSort, Sort};
use cudainfer_kernels::track::{MOST_INDIVIDUALS, MOST_MOMENTUM_FRAMES, TrackParams};
use cudainfer_kernels::words::Words as _;
use gst::prelude::*;

use super::Appearance;
use super::settings::{HISTOGRAMS, Settings};
use crate::meta::analytics;
use crate::property::{Table, property};
use crate::{device, stats};

/// The default of a property, and its description with the defaults of the other algorithms that have it, and with those for poses.
fn with_defaults<T: PartialEq + Display>(
    blurb: &str,
    of: fn(&TrackParams) -> T,
    among: &[Algorithm],
) -> (T, String) {
    let own = |algorithm: Algorithm| of(&TrackParams::of(algorithm));
    let for_poses = |algorithm: Algorithm| of(&TrackParams::of(algorithm).for_poses());
    let default = own(among.first().copied().unwrap_or_default());
    let different = by_value(own, |algorithm| own(algorithm) != default, among);
    let mut others: Vec<String> =
        different.iter().map(|(value, names)| format!("{value} with {}", names.join(", "))).collect();
    let poses = by_value(for_poses, |algorithm| for_poses(algorithm) != own(algorithm), among);
    if let [(value, _), rest @ ..] = &poses[..] {
        let rest: String =
            rest.iter().map(|(value, names)| format!(", {value} with {}", names.join(", "))).collect();
        others.push(format!("{value} for poses that no detector has boxed{rest}"));
    }
    let blurb = if others.is_empty() { blurb.to_owned() } else { format!("{blurb} ({})", others.join("; ")) };
    (default, blurb)
}

/// The values that a property has with those of the algorithms that `counts` names, and the names of the algorithms of each.
fn by_value<T: PartialEq>(
    of: impl Fn(Algorithm) -> T,
    counts: impl Fn(Algorithm) -> bool,
    among: &[Algorithm],
) -> Vec<(T, Vec<&'static str>)> {
    let mut found: Vec<(T, Vec<&'static str>)> = Vec::new();
    for &algorithm in among.iter().filter(|algorithm| counts(**algorithm)) {
        let value = of(algorithm);
        match found.iter_mut().find(|(known, _)| *known == value) {
            Some((_, names)) => names.push(algorithm.word()),
            None => found.push((value, vec![algorithm.word()])),
        }
    }
    found
}

/// A row of the table for a property whose default is the algorithm's: not set, it shows that of the algorithm in use. Its field
/// has the name that [`TrackParams`] have for it, unless `= field` says otherwise. The default is that of the first of `$among`, and the
/// blurb says where it differs with the others of them.
macro_rules! tuned {
    ($field:ident, $range:expr, $among:expr, $nick:expr, $blurb:expr $(,)?) => {
        tuned!($field = $field, $range, $among, $nick, $blurb)
    };
    ($field:ident = $param:ident, $range:expr, $among:expr, $nick:expr, $blurb:expr $(,)?) => {{
        let (default, blurb) = with_defaults(&$blurb, |params| params.$param, $among);
        property!(Settings, $field?, $range, default, $nick, blurb)
            .shown(|settings| settings.params().$param.to_value())
    }};
}

/// All but those that have no weak detections.
const WITH_WEAK: &[Algorithm] = &[Auto, ByteTrack, BotSort, CBiou];
const ALL: &[Algorithm] = &[Auto, ByteTrack, Sort, OcSort, BotSort, CBiou];

/// Frames at most.
const MOST_FRAMES: u32 = 1_000_000;

/// All properties. `device` is set and got by the element.
pub(super) static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
    Table::new([
        property!(Settings, algorithm, (), "Algorithm", "Algorithm that associates detections with tracks"),
        property!(
            Settings,
            similarity,
            (),
            "Similarity",
            "What is compared. With oks and keypoint-boxes, objects with keypoints but no detection are tracked too, and \
             objects without keypoints are compared by their boxes",
        ),
        property!(
            Settings,
            sigmas,
            (),
            "Sigmas",
            "With similarity=oks: standard deviation of keypoints as a fraction of the object's scale; one number for all, or \
             pairs as in nose=0.026,tail=0.1. If not set: the sidecar's, else COCO's, else 0.4",
        ),
        tuned!(
            class_aware,
            (),
            ALL,
            "Class-aware",
            "Only detections of the same class belong to the same track",
        ),
        tuned!(
            min_confidence,
            0.0..=1.0,
            ALL,
            "Minimum confidence",
            "Minimum confidence of a detection; weaker ones are ignored. The confidence of gpunms must be as low, or weaker \
             detections do not arrive",
        ),
        tuned!(
            high_confidence,
            0.0..=1.0,
            WITH_WEAK,
            "High confidence",
            "All but SORT and OC-SORT: minimum confidence of detections that are associated first; weaker ones are associated \
             last",
        ),
        tuned!(
            new_confidence,
            0.0..=1.0,
            WITH_WEAK,
            "New track confidence",
            "All but SORT and OC-SORT: minimum confidence of a detection that starts a track",
        ),
        // The blurb names the algorithms that it is true for.
        tuned!(
            auto_confidence,
            (),
            &[Auto],
            "Automatic confidences",
            "All but SORT and OC-SORT: adapt high-confidence and new-confidence to the distribution of the detections' \
             confidences. If not set: true with auto, and for poses that no detector has boxed, unless one of the two has been set to another value",
        ),
        tuned!(
            min_hits,
            0..=MOST_FRAMES,
            ALL,
            "Minimum hits",
            "Consecutive frames in which a new track must be detected again before it is published",
        ),
        tuned!(
            max_lost,
            0..=MOST_FRAMES,
            ALL,
            "Maximum lost",
            "Consecutive frames that a track may be without a detection before it ends",
        ),
        property!(
            Settings,
            max_tracks,
            0..=MOST_INDIVIDUALS,
            "Maximum tracks",
            "Number of individuals in the video: there are never more identities than that, and one that is lost is kept until its \
             individual comes back. 0: no limit",
        ),
        tuned!(
            iou,
            0.0..=1.0,
            ALL,
            "IoU",
            "Minimum similarity of a match; except with SORT and OC-SORT it is multiplied by the confidence",
        ),
        tuned!(
            iou_low,
            0.0..=1.0,
            WITH_WEAK,
            "IoU of weak detections",
            "All but SORT and OC-SORT: minimum similarity of a match with a weak detection",
        ),
        tuned!(
            momentum,
            0.0..=1.0,
            &[Auto, OcSort],
            "Momentum",
            "OC-SORT and auto: weight of the direction of motion; a match straight ahead gains half of it",
        ),
        tuned!(
            momentum_frames,
            1..=MOST_MOMENTUM_FRAMES,
            &[OcSort, Auto],
            "Momentum frames",
            "OC-SORT and auto: frames between the two observations that give the direction of motion",
        ),
        tuned!(
            buffer,
            0.0..=1.0,
            &[CBiou],
            "Buffer",
            "C-BIoU: enlargement of a box on each side in the first association, as a fraction of its width and height",
        ),
        tuned!(buffer_wide, 0.0..=1.0, &[CBiou], "Wide buffer", "C-BIoU: the same for the later associations"),
        tuned!(
            proximity,
            0.0..=1.0,
            ALL,
            "Proximity",
            "Minimum similarity of position at which appearance is compared",
        ),
        property!(
            Settings,
            appearance?,
            (),
            Appearance::Auto,
            "Appearance",
            "Appearance descriptor, if objects come without embeddings. If not set: auto with auto, else none",
        )
        .shown(|settings| settings.appearance().to_value()),
        property!(
            Settings,
            embedding_output,
            (),
            "Embedding output",
            "Name of the model output with the embeddings. If not set: the first embedding of each object or, directly after \
             trtinfer, the only output",
        ),
        tuned!(
            appearance_distance = appearance,
            0.0..=1.0,
            &[ByteTrack],
            "Appearance distance",
            format!(
                "Maximum cosine distance, halved, at which appearance counts ({HISTOGRAMS} with histograms)"
            ),
        ),
        property!(
            Settings,
            camera_motion?,
            (),
            false,
            "Camera motion",
            "Compensate the motion of the camera, which is estimated from the background. If not set: true with botsort",
        )
        .shown(|settings| settings.camera_motion().to_value()),
        property!(
            Settings,
            publish_lost,
            (),
            "Publish lost",
            "Publish tracks without a detection as well, at their predicted position, with state lost",
        ),
        property!(
            Settings,
            between,
            (),
            "Between",
            "What becomes of objects on frames that no model sees (interval of fusedpreproc). Those that are carried on have the state \
             carried, and a confidence that falls",
        ),
        property!(Settings, metadata, (), "Metadata", analytics::BLURB),
    ])
    .with([
        device::param_spec(),
        stats::param_spec(
            "; detections, untracked (detections without an identity: too weak, not finite, or not yet confirmed), \
             without-points (compared by their boxes although similarity compares keypoints), unboxed (poses \
             without a box, which similarity=iou does not compare, and boxes without a size, which nothing overlaps), surplus (detections beyond the limit), above-max-tracks (detections beyond the number of individuals), untimed (frames without a timestamp after the previous one), \
             carried (objects on frames that no model sees), forgotten-streams (times a stream began anew because more than 256 take turns)",
        ),
    ])
});
