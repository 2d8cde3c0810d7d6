//! What is different in a frame from the one before.
//!
//! A second detector may look at an object in some frames only (fusedpreproc's `interval`). What it found in the object's region
//! holds until it finds something else there, or the object is gone: a frame in which it found nothing looks like one in which
//! it did not look.

use std::collections::BTreeMap;

use serde::Serialize;

use super::classes::Classes;
use crate::meta::object::Object;

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Change {
    /// It is the first frame.
    Start,
    /// Which objects there are: their identities and classes, or how many there are of each class.
    Objects,
    /// What a second model takes one of them for.
    Classes,
    /// Whom one of them was recognised as.
    Names,
    /// In which polygons they are.
    Zones,
    /// There are events.
    Events,
}

/// What is compared of an object, besides its classes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    track: Option<u64>,
    label: String,
    name: Option<String>,
    zones: Vec<String>,
}

impl Seen {
    fn of(object: &Object) -> Self {
        Self {
            track: object.tracking.as_ref().map(|tracking| tracking.id),
            label: object.label.clone(),
            name: object.identity.as_ref().map(|identity| identity.name.clone()),
            zones: object.zones.as_ref().map(|zones| zones.names.clone()).unwrap_or_default(),
        }
    }
}

/// Whether this part of all of them is the same.
fn same<'a, T: PartialEq>(now: &'a [Seen], before: &'a [Seen], part: impl Fn(&'a Seen) -> T) -> bool {
    now.iter().map(&part).eq(before.iter().map(&part))
}

/// The objects of a stream's last frame, and what they are taken for.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    before: Option<Vec<Seen>>,
    /// What second detectors found last in the region of each object, by its identity; of all objects without one together.
    inside: BTreeMap<Option<u64>, Vec<Seen>>,
    classes: Classes,
}

impl Changes {
    /// Takes in a frame. Returns what has changed since the one before; nothing, if nothing has.
    pub fn see<'a>(&mut self, objects: impl Iterator<Item = &'a Object>, events: bool) -> Vec<Change> {
        let objects: Vec<_> = objects.collect();
        let is_other_class = self.classes.see(&objects);
        let inside = self.inside(&objects);
        let mut now: Vec<_> = objects.into_iter().filter(|object| !is_inside(object)).map(Seen::of).collect();
        // Objects without an identity have no order that means anything.
        now.sort();
        let mut changes = Vec::new();
        match &self.before {
            None => changes.push(Change::Start),
            Some(before) => {
                if !same(&now, before, |seen| (seen.track, &seen.label)) || inside == Inside::OtherObjects {
                    changes.push(Change::Objects);
                } else {
                    if is_other_class {
                        changes.push(Change::Classes);
                    }
                    if !same(&now, before, |seen| &seen.name) {
                        changes.push(Change::Names);
                    }
                    if !same(&now, before, |seen| &seen.zones) || inside == Inside::OtherZones {
                        changes.push(Change::Zones);
                    }
                }
            }
        }
        if events {
            changes.push(Change::Events);
        }
        self.before = Some(now);
        changes
    }

    /// Takes in what second detectors found in this frame.
    fn inside(&mut self, objects: &[&Object]) -> Inside {
        let identity = |object: &Object| object.tracking.as_ref().map(|tracking| tracking.id);
        let identities: BTreeMap<i32, Option<u64>> =
            objects.iter().map(|object| (object.id, identity(object))).collect();
        let mut now: BTreeMap<Option<u64>, Vec<Seen>> = BTreeMap::new();
        for object in objects.iter().filter(|object| is_inside(object)) {
            let around = object.parent.and_then(|parent| identities.get(&parent).copied()).flatten();
            now.entry(around).or_default().push(Seen::of(object));
        }
        self.inside.retain(|around, _| around.is_none() || identities.values().any(|one| one == around));
        let mut change = Inside::Same;
        for (around, mut found) in now {
            found.sort();
            let before = self.inside.get(&around).map_or(&[][..], Vec::as_slice);
            if !same(&found, before, |seen| &seen.label) {
                change = Inside::OtherObjects;
            } else if change == Inside::Same && !same(&found, before, |seen| &seen.zones) {
                change = Inside::OtherZones;
            }
            self.inside.insert(around, found);
        }
        change
    }
}

/// How what second detectors found differs from what they found last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Same,
    OtherZones,
    OtherObjects,
}

/// Whether a second detector found it in the region of another object, and no tracker follows it.
fn is_inside(object: &Object) -> bool {
    object.parent.is_some() && object.tracking.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::object::{ClassificationParam, IdentityParam, TrackingParam};
    use crate::meta::zone::ZonesParam;

    fn object(track: Option<u64>, label: &str, class: &str, zone: &str) -> Object {
        Object {
            label: label.into(),
            tracking: track.map(|id| TrackingParam { id, ..TrackingParam::default() }),
            classifications: vec![ClassificationParam {
                labels: vec![class.into(), "other".into()],
                ..ClassificationParam::default()
            }],
            zones: Some(ZonesParam { names: vec![zone.into()], dwell: vec![Some(7)] }),
            ..Object::default()
        }
    }

    #[test]
    fn moving_is_no_change_but_coming_going_and_another_class_or_zone_are() {
        let mut changes = Changes::default();
        let mut see = |objects: &[Object], events| changes.see(objects.iter(), events);
        let (one, two) = (object(Some(1), "car", "red", "yard"), object(Some(2), "car", "red", "yard"));
        assert_eq!(see(&[], false), [Change::Start]);
        assert_eq!(see(&[], false), []);
        assert_eq!(see(std::slice::from_ref(&one), false), [Change::Objects]);
        let mut moved = one.clone();
        let tracking = moved.tracking.as_mut().unwrap();
        tracking.rect.x = 50.0;
        (tracking.age, tracking.state) = (9, "lost".into());
        moved.zones.as_mut().unwrap().dwell = vec![Some(8)];
        assert_eq!(see(&[moved], false), []);
        assert_eq!(see(&[one.clone(), two.clone()], false), [Change::Objects]);
        assert_eq!(see(&[two.clone(), one.clone()], false), [], "their order says nothing");
        assert_eq!(see(&[two.clone(), one.clone()], true), [Change::Events]);
        let painted = object(Some(1), "car", "blue", "yard");
        assert_eq!(see(&[painted.clone(), two.clone()], false), [Change::Classes]);
        let left = object(Some(1), "car", "red", "street");
        assert_eq!(see(&[left, two.clone()], false), [Change::Classes, Change::Zones]);
        assert_eq!(see(&[two], true), [Change::Objects, Change::Events]);
    }

    #[test]
    fn frames_in_which_a_second_detector_did_not_look_are_no_change() {
        for identity in [Some(7), None] {
            let mut changes = Changes::default();
            let mut see = |objects: &[&Object]| changes.see(objects.iter().copied(), false);
            let car = Object { id: 0, ..object(identity, "car", "red", "yard") };
            let plate = |label: &str, zone: &str| Object {
                id: 1,
                parent: Some(0),
                classifications: vec![],
                ..object(None, label, "", zone)
            };
            let (old, new, moved) = (plate("old", "yard"), plate("new", "yard"), plate("new", "street"));
            assert_eq!(see(&[&car]), [Change::Start]);
            assert_eq!(see(&[&car, &old]), [Change::Objects], "{identity:?}");
            for _ in 0..3 {
                assert_eq!(see(&[&car]), [], "{identity:?}");
                assert_eq!(see(&[&car, &old]), [], "{identity:?}");
            }
            assert_eq!(see(&[&car]), []);
            assert_eq!(see(&[&car, &new]), [Change::Objects]);
            assert_eq!(see(&[&car, &moved]), [Change::Zones]);
            assert_eq!(see(&[&car, &moved, &moved]), [Change::Objects]);
            assert_eq!(see(&[]), [Change::Objects]);
        }
    }

    #[test]
    fn frames_in_which_a_second_model_did_not_look_are_no_change() {
        let looked_at = |track, class: &str| object(track, "car", class, "yard");
        let passed = |track| Object { classifications: vec![], ..object(track, "car", "", "yard") };
        for track in [Some(1), None] {
            let mut changes = Changes::default();
            let mut see = |object: Object| changes.see([&object].into_iter(), false);
            assert_eq!(see(passed(track)), [Change::Start]);
            assert_eq!(see(looked_at(track, "red")), [Change::Classes], "it is known now");
            for class in ["red", "red", "blue"] {
                let expected: &[Change] = if class == "red" { &[] } else { &[Change::Classes] };
                assert_eq!(see(passed(track)), []);
                assert_eq!(see(passed(track)), []);
                assert_eq!(see(looked_at(track, class)), expected, "{track:?} {class}");
            }
        }
        // Another model looks in other frames.
        let mut changes = Changes::default();
        let of = |model: &str, class: &str| {
            let mut object = looked_at(Some(1), class);
            object.classifications[0].model = model.into();
            object
        };
        let mut see = |object: Object| changes.see([&object].into_iter(), false);
        assert_eq!(see(of("colours", "red")), [Change::Start]);
        assert_eq!(see(of("makes", "mini")), [Change::Classes]);
        assert_eq!(see(of("colours", "red")), []);
        assert_eq!(see(of("makes", "fiat")), [Change::Classes]);
    }

    #[test]
    fn another_name_is_a_change_and_another_score_is_none() {
        let named = |name: Option<&str>, score| Object {
            identity: name.map(|name| IdentityParam { name: name.into(), score, ..IdentityParam::default() }),
            ..object(Some(1), "person", "", "yard")
        };
        let mut changes = Changes::default();
        let mut see = |object: Object| changes.see([&object].into_iter(), false);
        assert_eq!(see(named(None, 0.0)), [Change::Start]);
        assert_eq!(see(named(Some("unknown-1"), 0.5)), [Change::Names]);
        assert_eq!(see(named(Some("ann"), 0.5)), [Change::Names]);
        assert_eq!(see(named(Some("ann"), 0.6)), []);
    }

    #[test]
    fn objects_without_an_identity_are_counted_by_class() {
        let mut changes = Changes::default();
        let mut see = |labels: &[&str]| {
            let objects: Vec<_> = labels.iter().map(|label| object(None, label, "", "")).collect();
            changes.see(objects.iter(), false)
        };
        assert_eq!(see(&["car", "dog"]), [Change::Start]);
        assert_eq!(see(&["dog", "car"]), []);
        assert_eq!(see(&["dog", "car", "car"]), [Change::Objects]);
        assert_eq!(see(&["dog", "dog", "car"]), [Change::Objects]);
    }
}
