//! From regions of interest to entries.

use std::collections::{HashMap, HashSet};
use std::ffi::{CString, c_int};

use gst::glib::ffi::GQuark;

use super::library::{CONTAIN, Functions, IS_PART_OF, Keypoints};
use super::masks;
use super::read::Reading;
use super::relations::{Entries, Location, RelationMeta, TrackEntry, Writer, pixel};
use crate::meta::label::Label;
use crate::meta::mask::Mask;
use crate::meta::params::{ClassificationParam, KeypointsParam, TrackingParam};
use crate::meta::region::{Object, Region, regions};

/// What a region's box is as an entry; `None` for objects that no detector has found in this frame: lost ones, the whole frame and
/// fixed regions.
pub(super) fn location(functions: &Functions, region: &Region) -> Option<Location> {
    let Region { label, rect: (x, y, w, h), object } = region;
    let label = label.quark();
    let (confidence, angle) = match (&object.detection, &object.keypoints) {
        (Some(detection), _) => (detection.confidence, object.angle),
        (None, Some(points)) => (mean_score(points), 0.0),
        (None, None) => return None,
    };
    let turned = object.detection.as_ref().filter(|_| angle != 0.0 && functions.rotated.is_some());
    let rect = match turned {
        Some(detection) => {
            let rect = detection.rect;
            [rect.x, rect.y, rect.w, rect.h].map(pixel)
        }
        None => [*x, *y, *w, *h].map(|side| i32::try_from(side).unwrap_or(i32::MAX)),
    };
    Some(Location { label, rect, angle: turned.map_or(0.0, |_| angle), confidence })
}

fn mean_score(points: &KeypointsParam) -> f32 {
    let finite = points.score.iter().filter(|score| score.is_finite());
    let (sum, count) = finite.fold((0.0, 0.0), |(sum, count), score| (sum + score, count + 1.0));
    if count > 0.0 { (sum / count) as f32 } else { 0.0 }
}

/// What the frame has already.
struct Known {
    reading: Reading,
    /// The boxes that have a track, and those that have points.
    tracked: HashSet<usize>,
    grouped: HashSet<usize>,
    /// Identities of tracks without a box.
    lost: HashSet<u64>,
    /// The first class of each classification, with the box that it is of.
    classes: Vec<(Option<usize>, (GQuark, f32))>,
}

impl Known {
    fn of(entries: &impl Entries) -> Self {
        let reading = Reading::of(entries);
        let lost = reading.tracks.iter().filter(|(place, _)| place.is_none());
        let class = |(place, id): &(Option<usize>, u32)| Some((*place, *entries.classes(*id, 1).first()?));
        Self {
            tracked: reading.tracks.iter().filter_map(|(place, _)| *place).collect(),
            grouped: reading.groups.iter().filter_map(|(place, _)| *place).collect(),
            lost: lost.filter_map(|(_, id)| Some(entries.track(*id)?.id)).collect(),
            classes: reading.classes.iter().filter_map(class).collect(),
            reading,
        }
    }
}

/// Adds the entries that the objects' regions and these masks lack: existing entries stay, whichever element wrote them.
pub(super) fn mirror(functions: &'static Functions, buffer: &mut gst::BufferRef, masks: &[Mask]) {
    let regions = regions(buffer);
    if regions.is_empty() && masks.is_empty() {
        return;
    }
    let known = RelationMeta::of(functions, buffer).map(|entries| Known::of(&entries));
    let locations: Vec<_> = regions.iter().map(|region| location(functions, region)).collect();
    let places =
        known.as_ref().map_or_else(|| vec![None; regions.len()], |known| known.reading.places(&locations));
    // Elements downstream, a tracker and a classifier, find room.
    let room = regions.len().saturating_mul(3).saturating_add(masks.len()).saturating_add(8);
    let Some(mut writer) = Writer::new(functions, buffer, room) else { return };
    let (mut entries, mut known_before) = (HashMap::new(), HashSet::new());
    for ((region, location), place) in regions.iter().zip(locations).zip(&places) {
        let known_entry = known.as_ref().zip(*place).and_then(|(known, place)| known.reading.entry(place));
        known_before.extend(known_entry);
        let entry = known_entry.or_else(|| writer.detection(location?));
        add_params(&mut writer, &region.object, entry, *place, known.as_ref());
        if let Some(entry) = entry {
            entries.entry(region.object.id).or_insert(entry);
        }
    }
    if let Some(known) = &known {
        let ids = regions.iter().map(|region| region.object.id);
        for (place, id) in known.reading.without_region(&places, ids) {
            if let Some(entry) = known.reading.entry(place) {
                entries.insert(id, entry);
            }
        }
    }
    for region in &regions {
        let Some(parent) = region.object.parent.and_then(|id| entries.get(&id)) else { continue };
        if let Some(own) = entries.get(&region.object.id).filter(|own| !known_before.contains(own)) {
            writer.relate(*own, *parent, [IS_PART_OF, CONTAIN]);
        }
    }
    masks::add(&mut writer, masks, &entries);
}

/// Adds what is known of an object besides its box, to the entry of its box, which is at this place among the known ones.
fn add_params(
    writer: &mut Writer<'_>,
    object: &Object,
    entry: Option<u32>,
    place: Option<usize>,
    known: Option<&Known>,
) {
    let is_in = |of: fn(&Known) -> &HashSet<usize>| {
        known.zip(place).is_some_and(|(known, place)| of(known).contains(&place))
    };
    if let Some(tracking) = &object.tracking {
        let lost_before = known.is_some_and(|known| known.lost.contains(&tracking.id));
        let is_known = is_in(|known| &known.tracked) || (entry.is_none() && lost_before);
        if !is_known {
            writer.track(entry, &track(tracking));
        }
    }
    for classification in &object.classifications {
        add_classes(writer, classification, entry, place, known);
    }
    if let (Some(points), Some(keypoints), Some(entry), false) =
        (&object.keypoints, &writer.functions.keypoints, entry, is_in(|known| &known.grouped))
    {
        add_points(writer, keypoints, points, &object.label, entry);
    }
}

fn track(tracking: &TrackingParam) -> TrackEntry {
    let [first_seen, last_seen] = tracking.seen.unwrap_or([u64::MAX; 2]);
    TrackEntry { id: tracking.id, first_seen, last_seen, lost: tracking.state == "lost" }
}

fn add_classes(
    writer: &mut Writer<'_>,
    classification: &ClassificationParam,
    entry: Option<u32>,
    place: Option<usize>,
    known: Option<&Known>,
) {
    let mut labels: Vec<_> = classification.labels.iter().map(|label| Label::named(label).quark()).collect();
    let mut levels: Vec<_> = classification.confidence.iter().map(|level| *level as f32).collect();
    let Some(first) = labels.first().copied().zip(levels.first().copied()) else { return };
    // A box that was just added has no track or points yet.
    let may_be_known = entry.is_none() || place.is_some();
    if may_be_known && known.is_some_and(|known| known.classes.contains(&(place, first))) {
        return;
    }
    writer.classes(entry, &mut labels, &mut levels);
}

/// Adds points and their group, which the object contains.
fn add_points(
    writer: &mut Writer<'_>,
    keypoints: &Keypoints,
    points: &KeypointsParam,
    label: &str,
    entry: u32,
) {
    /// `GST_ANALYTICS_KEYPOINT_DIMENSIONS_2D`.
    const IN_A_PLANE: c_int = 2;
    let count = points.x.len().min(points.y.len()).min(points.score.len());
    let axes = points.x.iter().zip(&points.y).take(count);
    let positions: Vec<c_int> = axes.flat_map(|(x, y)| [pixel(*x as f32), pixel(*y as f32)]).collect();
    let finite = |score: &f64| if score.is_finite() { *score as f32 } else { 0.0 };
    let confidences: Vec<f32> = points.score.iter().take(count).map(finite).collect();
    let index = |index: &u32| {
        c_int::try_from(*index).ok().filter(|_| usize::try_from(*index).is_ok_and(|i| i < count))
    };
    let pairs: Vec<c_int> =
        points.edges.iter().filter_map(|[a, b]| Some([index(a)?, index(b)?])).flatten().collect();
    let Ok(tag) = CString::new(format!("{label}-{count}-kp")) else { return };
    // SAFETY: the lengths are those of the vectors, which the library copies; NULL for the visibilities means that they are unknown.
    let added = writer.add(|meta, mtd| unsafe {
        (keypoints.add_group)(
            meta,
            tag.as_ptr(),
            IN_A_PLANE,
            positions.len(),
            positions.as_ptr(),
            count,
            confidences.as_ptr(),
            std::ptr::null(),
            pairs.len(),
            pairs.as_ptr(),
            mtd,
        )
    });
    if let Some(group) = added {
        writer.relate(entry, group.id, [CONTAIN, IS_PART_OF]);
    }
}
