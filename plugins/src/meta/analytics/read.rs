//! From the entries to objects.

use std::collections::{HashMap, HashSet};

use cudainfer_kernels::geometry::Rect;
use gst::glib::ffi::GQuark;

use super::relations::{Entries, EntryKind, Location};
use crate::meta::label::Label;
use crate::meta::params::{ClassificationParam, DetectionParam, TrackingParam};
use crate::meta::region::Object;

/// Entries of a frame that are read; the others are ignored.
pub(super) const MOST_ENTRIES: usize = 1 << 14;

/// Pairs of entries of a frame that are looked up for relations; further ones count as unrelated.
const MOST_RELATIONS: usize = 1 << 20;

/// Classes that are read of an object.
const MOST_CLASSES: usize = 100;

/// What distinguishes boxes: the label, the box, and whether it is rotated. Regions of interest have no negative coordinates, so
/// a box that is not rotated is cut off there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    label: GQuark,
    rect: [i32; 4],
    rotated: bool,
}

impl Key {
    fn of(location: &Location) -> Self {
        let Location { label, rect, angle, .. } = *location;
        let rotated = angle != 0.0;
        Self {
            label: Label::from_quark(label).of_text(),
            rect: if rotated { rect } else { clipped(rect) },
            rotated,
        }
    }
}

/// The part of a box that is right of and below the frame's corner.
fn clipped([x, y, w, h]: [i32; 4]) -> [i32; 4] {
    let (left, top) = (x.max(0), y.max(0));
    let side = |start: i32, length: i32, from: i32| start.saturating_add(length).saturating_sub(from).max(0);
    [left, top, side(x, w, left), side(y, h, top)]
}

/// What the entries of a frame say.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The detections: each entry's number, and its box.
    pub boxes: Vec<(u32, Location)>,
    /// The entries that are related to them: the detection's place among the boxes, if there is one, and the entry's number.
    pub tracks: Vec<(Option<usize>, u32)>,
    pub classes: Vec<(Option<usize>, u32)>,
    pub groups: Vec<(Option<usize>, u32)>,
    /// Entries and relations that were not read.
    pub ignored: usize,
}

impl Reading {
    /// Reads all entries once. Boxes with negative sides and confidences that are no numbers are ignored, as are entries of other
    /// types, which are not counted: they are meant for other readers.
    pub fn of(entries: &impl Entries) -> Self {
        let count = entries.len();
        let mut reading = Self { ignored: count.saturating_sub(MOST_ENTRIES), ..Self::default() };
        let [mut tracks, mut classes, mut groups] = [const { Vec::new() }; 3];
        for id in (0..u32::MAX).take(count.min(MOST_ENTRIES)) {
            match entries.kind(id) {
                EntryKind::Detection => match entries.location(id).filter(is_box) {
                    Some(location) => reading.boxes.push((id, location)),
                    None => reading.ignored += 1,
                },
                EntryKind::Tracking => tracks.push(id),
                EntryKind::Classification => classes.push(id),
                EntryKind::Group => groups.push(id),
                EntryKind::Other => (),
            }
        }
        let mut left = MOST_RELATIONS;
        for (found, related) in
            [(tracks, &mut reading.tracks), (classes, &mut reading.classes), (groups, &mut reading.groups)]
        {
            reading.ignored += relate(entries, &reading.boxes, &found, related, &mut left);
        }
        reading
    }

    /// Which of the boxes these locations of regions are, as places among the boxes. Each box is taken once, also of equal ones.
    pub fn places(&self, locations: &[Option<Location>]) -> Vec<Option<usize>> {
        let mut first = HashMap::with_capacity(self.boxes.len());
        let mut next = vec![None; self.boxes.len()];
        for (place, (_, location)) in self.boxes.iter().enumerate().rev() {
            next[place] = first.insert(Key::of(location), place);
        }
        let mut take = |location: &Location| {
            let key = Key::of(location);
            let place = first.remove(&key)?;
            if let Some(equal) = next[place] {
                first.insert(key, equal);
            }
            Some(place)
        };
        locations.iter().map(|location| take(location.as_ref()?)).collect()
    }

    /// The boxes that are no region's, by their places, with the numbers that they have as objects: in their order, those from 0 on that
    /// no region has. So they keep theirs when an element adds an object, whose number is above all others, or a region for one of them.
    pub fn without_region(
        &self,
        places: &[Option<usize>],
        regions: impl Iterator<Item = i32>,
    ) -> impl Iterator<Item = (usize, i32)> {
        let mut of_regions = vec![false; self.boxes.len()];
        places.iter().flatten().for_each(|place| of_regions[*place] = true);
        let taken: HashSet<i32> = regions.collect();
        let others = of_regions.into_iter().enumerate().filter(|(_, of_region)| !of_region);
        let free = (0..=i32::MAX).filter(move |id| !taken.contains(id));
        others.zip(free).map(|((place, _), id)| (place, id))
    }

    /// The number of the entry of a box.
    pub fn entry(&self, place: usize) -> Option<u32> {
        self.boxes.get(place).map(|(entry, _)| *entry)
    }
}

/// Whether a box is valid: sides that are not negative, and numbers.
fn is_box(location: &Location) -> bool {
    location.rect[2..].iter().all(|side| *side >= 0)
        && location.confidence.is_finite()
        && location.angle.is_finite()
}

/// Finds the boxes that entries are related to. Writers mostly add the entries in the order of the boxes, so each search begins
/// after the box found last. Returns how many relations were not looked up.
fn relate(
    entries: &impl Entries,
    boxes: &[(u32, Location)],
    found: &[u32],
    related: &mut Vec<(Option<usize>, u32)>,
    left: &mut usize,
) -> usize {
    let (mut start, mut given_up) = (0, 0);
    for &id in found {
        let tries = boxes.len().min(*left);
        let mut places = (start..boxes.len()).chain(0..start).take(tries);
        let mut looked_up = 0;
        let place = places.find(|place| {
            looked_up += 1;
            entries.related(boxes[*place].0, id)
        });
        *left -= looked_up;
        given_up += usize::from(place.is_none() && tries < boxes.len());
        start = place.map_or(start, |place| (place + 1) % boxes.len().max(1));
        related.push((place, id));
    }
    given_up
}

/// Completes the objects that regions of interest describe, by what only entries say, and adds the boxes that are no region's.
/// `places` says which box each region is.
pub(super) fn complete(
    entries: &impl Entries,
    reading: &Reading,
    places: &[Option<usize>],
    objects: &mut Vec<Object>,
) {
    let ids: Vec<_> = objects.iter().map(|object| object.id).collect();
    // The object that each box belongs to.
    let mut of_box = vec![None; reading.boxes.len()];
    for (object, place) in places.iter().enumerate() {
        if let Some(place) = place {
            of_box[*place] = Some(object);
        }
    }
    for (place, id) in reading.without_region(places, ids.into_iter()) {
        of_box[place] = Some(objects.len());
        objects.push(object_of(id, &reading.boxes[place].1));
    }
    let mut left = MOST_RELATIONS;
    for (place, (entry, _)) in reading.boxes.iter().enumerate() {
        let Some(part) = of_box[place].filter(|part| objects[*part].parent.is_none()) else { continue };
        let tries = reading.boxes.len().min(left);
        let is_whole = |other: &usize| *other != place && entries.is_part_of(*entry, reading.boxes[*other].0);
        let whole = (0..tries).find(is_whole);
        left -= whole.map_or(tries, |whole| whole + 1);
        if let Some(whole) = whole.and_then(|whole| of_box[whole]) {
            objects[part].parent = Some(objects[whole].id);
        }
    }
    let object = |place: Option<usize>| Some((of_box[place?]?, reading.boxes[place?].1.rect));
    for (place, entry) in &reading.tracks {
        let Some((index, rect)) = object(*place) else { continue };
        let slot = &mut objects[index].tracking;
        if let (None, Some(track)) = (&slot, entries.track(*entry)) {
            *slot = Some(TrackingParam {
                id: track.id,
                state: if track.lost { "lost" } else { "tracked" }.into(),
                rect: as_rect(rect),
                seen: Some([track.first_seen, track.last_seen]),
                ..TrackingParam::default()
            });
        }
    }
    // The classes of a region are complete.
    let has_classes: Vec<_> = objects.iter().map(|object| !object.classifications.is_empty()).collect();
    for (place, entry) in &reading.classes {
        let Some((index, _)) = object(*place).filter(|(index, _)| !has_classes[*index]) else { continue };
        objects[index].classifications.extend(classification(entries, *entry));
    }
}

fn as_rect([x, y, w, h]: [i32; 4]) -> Rect {
    Rect { x: x as f32, y: y as f32, w: w as f32, h: h as f32 }
}

fn object_of(id: i32, location: &Location) -> Object {
    let label = Label::from_quark(location.label).text().into_owned();
    let label_id = number_of(&label);
    let confidence = location.confidence.clamp(0.0, 1.0);
    let detection = Some(DetectionParam { rect: as_rect(location.rect), confidence, label_id });
    Object { id, label, detection, angle: location.angle, ..Object::default() }
}

/// A number for a label whose model is not known: the same for equal ones, in every process, and none of a model's classes (FNV-1a
/// with the highest bit set).
fn number_of(label: &str) -> u32 {
    let hash =
        label.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash | 1 << 31
}

/// The classes whose confidence is a number, the best first.
fn classification(entries: &impl Entries, id: u32) -> Option<ClassificationParam> {
    let mut classes: Vec<_> = entries.classes(id, MOST_CLASSES).into_iter().zip(0..).collect();
    classes.retain(|((_, level), _)| level.is_finite());
    classes.sort_by(|((_, a), _), ((_, b), _)| b.total_cmp(a));
    let label = |((label, _), _): &((GQuark, f32), u32)| Label::from_quark(*label).text().into_owned();
    (!classes.is_empty()).then(|| ClassificationParam {
        labels: classes.iter().map(label).collect(),
        label_ids: classes.iter().map(|(_, index)| *index).collect(),
        confidence: classes.iter().map(|((_, level), _)| f64::from(*level)).collect(),
        ..ClassificationParam::default()
    })
}

#[cfg(test)]
mod tests;
