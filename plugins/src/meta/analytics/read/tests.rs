//! Reading entries, without a library that holds them.

use std::cell::Cell;

use super::*;
use crate::meta::analytics::relations::{EntryKind, TrackEntry};

#[derive(Clone, Debug)]
enum Entry {
    Box(Location),
    Track(TrackEntry),
    Classes(Vec<(GQuark, f32)>),
    Foreign,
}

/// Entries, which of them are related, and how often that was looked up.
#[derive(Default)]
struct Listed {
    entries: Vec<Entry>,
    related: Vec<[u32; 2]>,
    /// A part, and what it is a part of.
    parts: Vec<[u32; 2]>,
    asked: Cell<usize>,
}

impl Entries for Listed {
    fn len(&self) -> usize {
        self.entries.len()
    }

    fn kind(&self, id: u32) -> EntryKind {
        match self.entries[usize::try_from(id).unwrap()] {
            Entry::Box(_) => EntryKind::Detection,
            Entry::Track(_) => EntryKind::Tracking,
            Entry::Classes(_) => EntryKind::Classification,
            Entry::Foreign => EntryKind::Other,
        }
    }

    fn location(&self, id: u32) -> Option<Location> {
        let Entry::Box(location) = &self.entries[usize::try_from(id).unwrap()] else { return None };
        Some(*location)
    }

    fn track(&self, id: u32) -> Option<TrackEntry> {
        let Entry::Track(track) = &self.entries[usize::try_from(id).unwrap()] else { return None };
        Some(*track)
    }

    fn classes(&self, id: u32, most: usize) -> Vec<(GQuark, f32)> {
        let Entry::Classes(classes) = &self.entries[usize::try_from(id).unwrap()] else { return vec![] };
        classes.iter().copied().take(most).collect()
    }

    fn related(&self, a: u32, b: u32) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.related.iter().any(|pair| *pair == [a, b] || *pair == [b, a])
    }

    fn is_part_of(&self, part: u32, whole: u32) -> bool {
        self.parts.contains(&[part, whole])
    }
}

fn car(x: i32) -> Location {
    Location { label: Label::named("car").quark(), rect: [x, 10, 20, 30], angle: 0.0, confidence: 0.75 }
}

fn track(id: u64) -> Entry {
    Entry::Track(TrackEntry { id, first_seen: 100, last_seen: 300, lost: false })
}

/// The objects that the entries describe, beside those of regions.
fn objects(entries: &Listed, regions: &[(Object, Location)]) -> (Vec<Object>, usize) {
    let reading = Reading::of(entries);
    let locations: Vec<_> = regions.iter().map(|(_, location)| Some(*location)).collect();
    let places = reading.places(&locations);
    let mut objects: Vec<_> = regions.iter().map(|(object, _)| object.clone()).collect();
    complete(entries, &reading, &places, &mut objects);
    (objects, reading.ignored)
}

#[test]
fn boxes_of_others_are_objects_with_the_tracks_and_classes_that_are_related_to_them() {
    let classes = [("red", 0.25), ("blue", 0.5), ("none", f32::NAN)];
    let classes = classes.map(|(label, level)| (Label::named(label).quark(), level)).to_vec();
    let entries = Listed {
        // The tracks come in another order than the boxes, and one belongs to no box.
        entries: vec![
            track(8),
            Entry::Box(car(0)),
            Entry::Foreign,
            Entry::Box(car(50)),
            track(9),
            track(7),
            Entry::Classes(classes),
        ],
        related: vec![[3, 0], [1, 5], [6, 3], [2, 3]],
        ..Listed::default()
    };
    let (found, ignored) = objects(&entries, &[]);
    assert_eq!(ignored, 0);
    let [first, second] = &found[..] else { panic!("{found:?}") };
    let detection = first.detection.as_ref().unwrap();
    assert_eq!((first.id, first.label.as_str(), detection.confidence), (0, "car", 0.75));
    assert_eq!(detection.rect, Rect { x: 0.0, y: 10.0, w: 20.0, h: 30.0 });
    assert_eq!(detection.label_id, second.detection.as_ref().unwrap().label_id, "equal labels are one class");
    let ids = [first, second].map(|object| object.tracking.as_ref().map(|track| (track.id, track.seen)));
    assert_eq!(ids, [Some((7, Some([100, 300]))), Some((8, Some([100, 300])))]);
    assert!(first.classifications.is_empty());
    let [classes] = &second.classifications[..] else { panic!("{second:?}") };
    assert_eq!(
        (&classes.labels[..], &classes.confidence[..]),
        (&["blue".into(), "red".into()][..], &[0.5, 0.25][..])
    );
}

#[test]
fn a_box_with_the_label_and_place_of_a_region_is_the_same_object() {
    gst::init().unwrap();
    let region = |id, location: Location| (Object { id, label: "car".into(), ..Object::default() }, location);
    let beyond = Location { rect: [-5, -2, 20, 12], ..car(0) };
    let turned = Location { angle: 0.5, ..car(90) };
    let unnamed = Location { label: 0, ..car(70) };
    let entries = Listed {
        entries: [car(0), car(0), car(0), beyond, turned, car(90), unnamed].map(Entry::Box).to_vec(),
        ..Listed::default()
    };
    let cut = Location { rect: [0, 0, 15, 10], ..car(0) };
    let regions = [
        region(3, car(0)),
        region(4, car(0)),
        region(5, cut),
        region(6, turned),
        region(7, Location { label: Label::named("").quark(), ..unnamed }),
        region(8, car(1)),
    ];
    let (found, _) = objects(&entries, &regions);
    // Of three equal boxes two have regions; the upright one at 90 is not the turned one.
    let others: Vec<_> =
        found[6..].iter().map(|object| (object.id, object.detection.as_ref().unwrap().rect.x)).collect();
    assert_eq!(others, [(0, 0.0), (1, 90.0)]);
    assert_eq!(found[..6].iter().map(|object| object.id).collect::<Vec<_>>(), [3, 4, 5, 6, 7, 8]);
    // The region's object also gets what only the entry knows.
    let entries =
        Listed { entries: vec![Entry::Box(car(0)), track(5)], related: vec![[0, 1]], ..Listed::default() };
    let (found, _) = objects(&entries, &regions[..1]);
    assert_eq!(
        found.iter().map(|object| object.tracking.as_ref().map(|t| t.id)).collect::<Vec<_>>(),
        [Some(5)]
    );
}

#[test]
fn boxes_that_cannot_be_are_ignored_and_counted() {
    let wrong = [
        Location { confidence: f32::NAN, ..car(0) },
        Location { angle: f32::INFINITY, ..car(0) },
        Location { rect: [0, 0, -1, 5], ..car(0) },
    ];
    let mut entries = Listed { entries: wrong.map(Entry::Box).to_vec(), ..Listed::default() };
    // At the end of the coordinates nothing overflows.
    let last = Location { rect: [i32::MAX, i32::MIN, i32::MAX, i32::MAX], confidence: 9.0, ..car(0) };
    entries.entries.push(Entry::Box(last));
    let (found, ignored) = objects(&entries, &[]);
    assert_eq!((found.len(), ignored), (1, 3));
    assert_eq!(found[0].detection.as_ref().unwrap().confidence, 1.0);
}

#[test]
fn of_a_hundred_thousand_entries_the_first_are_read_and_the_others_counted() {
    let mut entries = Listed { entries: vec![Entry::Box(car(1))], ..Listed::default() };
    entries.entries.resize_with(100_000, || Entry::Foreign);
    let (found, ignored) = objects(&entries, &[]);
    assert_eq!((found.len(), ignored), (1, 100_000 - MOST_ENTRIES));
}

#[test]
fn not_more_relations_are_looked_up_than_a_frame_has_time_for() {
    let half = MOST_ENTRIES / 2;
    let boxes = (0..half).map(|x| Entry::Box(car(i32::try_from(x).unwrap())));
    let tracks = (0..half).map(|id| track(u64::try_from(id).unwrap()));
    let entries = Listed { entries: boxes.chain(tracks).collect(), ..Listed::default() };
    let (found, ignored) = objects(&entries, &[]);
    assert_eq!((found.len(), entries.asked.get()), (half, MOST_RELATIONS));
    // A track is looked up among all boxes, or not at all.
    assert_eq!(ignored, half - MOST_RELATIONS / half);
}

#[test]
fn entries_that_are_all_related_to_each_other_and_to_themselves_make_each_box_one_object() {
    let entries = vec![Entry::Box(car(0)), track(1), Entry::Box(car(50)), track(2), track(3)];
    let related = (0..5).flat_map(|a| (0..9).map(move |b| [a, b])).collect();
    let (found, _) = objects(&Listed { entries, related, ..Listed::default() }, &[]);
    let ids: Vec<_> = found.iter().map(|object| object.tracking.as_ref().map(|track| track.id)).collect();
    assert_eq!(ids, [Some(1), Some(2)]);
}

#[test]
fn a_box_that_is_a_part_of_another_has_it_as_its_parent_unless_a_region_says_which() {
    gst::init().unwrap();
    let entries = Listed {
        entries: vec![Entry::Box(car(0)), track(5), Entry::Box(car(50)), Entry::Box(car(90))],
        // The last one is a part of something that is no box, of itself, and of an entry that does not exist.
        parts: vec![[2, 0], [3, 1], [3, 3], [3, 99]],
        ..Listed::default()
    };
    let parents = |regions: &[(Object, Location)]| -> Vec<_> {
        objects(&entries, regions).0.into_iter().map(|object| (object.id, object.parent)).collect()
    };
    assert_eq!(parents(&[]), [(0, None), (1, Some(0)), (2, None)]);
    let region = |id, parent| Object { id, parent, label: "car".into(), ..Object::default() };
    assert_eq!(parents(&[(region(7, None), car(0))]), [(7, None), (0, Some(7)), (1, None)]);
    assert_eq!(
        parents(&[(region(7, None), car(0)), (region(9, Some(3)), car(50))]),
        [(7, None), (9, Some(3)), (0, None)]
    );
}
