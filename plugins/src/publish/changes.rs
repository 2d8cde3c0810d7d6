//! What is different in a frame from the one before.

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
    zones: Vec<String>,
}

impl Seen {
    fn of(object: &Object) -> Self {
        Self {
            track: object.tracking.as_ref().map(|tracking| tracking.id),
            label: object.label.clone(),
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
    classes: Classes,
}

impl Changes {
    /// Takes in a frame. Returns what has changed since the one before; nothing, if nothing has.
    pub fn see<'a>(&mut self, objects: impl Iterator<Item = &'a Object>, events: bool) -> Vec<Change> {
        let objects: Vec<_> = objects.collect();
        let is_other_class = self.classes.see(&objects);
        let mut now: Vec<_> = objects.into_iter().map(Seen::of).collect();
        // Objects without an identity have no order that means anything.
        now.sort();
        let mut changes = Vec::new();
        match &self.before {
            None => changes.push(Change::Start),
            Some(before) => {
                if !same(&now, before, |seen| (seen.track, &seen.label)) {
                    changes.push(Change::Objects);
                } else {
                    if is_other_class {
                        changes.push(Change::Classes);
                    }
                    if !same(&now, before, |seen| &seen.zones) {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::object::{ClassificationParam, TrackingParam};
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
