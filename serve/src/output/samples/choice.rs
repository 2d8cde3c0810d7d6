//! Which frames are worth labelling: a pure function of objects and times.

use std::collections::HashMap;
use std::time::Duration;

use super::super::object::Object;
use crate::config::{SampleReason, SampleSettings};

/// Objects after which it is known which classes are rare.
const KNOWN: u64 = 100;
/// Boxes of two classes that have this intersection over union are at one place.
const SAME_PLACE: f64 = 0.5;
/// Tracks and classes that are remembered; of more, none is.
const MOST: usize = 1000;

/// What is known of a stream's objects.
#[derive(Debug)]
pub struct Choice {
    settings: SampleSettings,
    objects: u64,
    of_class: HashMap<String, u64>,
    class_of: HashMap<u64, String>,
    taken: Option<Duration>,
}

impl Choice {
    pub fn new(settings: SampleSettings) -> Self {
        Self { settings, objects: 0, of_class: HashMap::new(), class_of: HashMap::new(), taken: None }
    }

    /// Why a frame with these objects, which comes at `now` of any clock, is worth labelling; nothing if it is not, or if the last
    /// one was taken a short time ago.
    pub fn look(&mut self, objects: &[Object], now: Duration) -> Option<SampleReason> {
        let disputed = self.is_disputed(objects);
        let rare = self.is_rare(objects);
        let [low, high] = self.settings.uncertain;
        let uncertain = objects.iter().any(|object| (low..=high).contains(&object.confidence));
        self.remember(objects);
        let pause = Duration::from_secs(3600) / self.settings.most_per_hour.max(1);
        if self.taken.is_some_and(|taken| now.saturating_sub(taken) < pause) {
            return None;
        }
        let holds = |reason: &SampleReason| match reason {
            SampleReason::Disputed => disputed,
            SampleReason::Rare => rare,
            SampleReason::Uncertain => uncertain,
        };
        let wanted = |reason: &SampleReason| self.settings.on.contains(reason) && holds(reason);
        let reason = SampleReason::ALL.into_iter().find(wanted)?;
        self.taken = Some(now);
        Some(reason)
    }

    /// The frame was not kept: another one may be at once.
    pub fn missed(&mut self) {
        self.taken = None;
    }

    /// The identities of tracks begin again.
    pub fn interrupt(&mut self) {
        self.class_of.clear();
    }

    fn is_disputed(&self, objects: &[Object]) -> bool {
        let changed = |object: &Object| {
            object
                .track
                .and_then(|track| self.class_of.get(&track))
                .is_some_and(|class| *class != object.label)
        };
        let others = |(i, object): (usize, &Object)| {
            let differs = |other: &&Object| other.label != object.label;
            objects[..i].iter().filter(differs).any(|other| object.rect.overlap(other.rect) >= SAME_PLACE)
        };
        objects.iter().any(changed) || objects.iter().enumerate().any(others)
    }

    fn is_rare(&self, objects: &[Object]) -> bool {
        let limit = self.settings.rare * self.objects as f64;
        let few =
            |object: &Object| self.of_class.get(&object.label).is_none_or(|count| (*count as f64) < limit);
        self.objects >= KNOWN && objects.iter().any(few)
    }

    fn remember(&mut self, objects: &[Object]) {
        if self.of_class.len() > MOST {
            (self.objects, self.of_class) = Default::default();
        }
        if self.class_of.len() > MOST {
            self.class_of.clear();
        }
        for object in objects {
            self.objects += 1;
            *self.of_class.entry(object.label.clone()).or_default() += 1;
            if let Some(track) = object.track {
                self.class_of.insert(track, object.label.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::object::Rect;
    use super::*;

    fn object(label: &str, x: f64, confidence: f64) -> Object {
        let rect = Rect { x, y: 0.0, width: 10.0, height: 10.0 };
        Object { label: label.to_owned(), rect, confidence, track: None }
    }

    fn choice(on: &[SampleReason]) -> Choice {
        Choice::new(SampleSettings { on: on.to_vec(), most_per_hour: 3600, ..SampleSettings::default() })
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_confidence_in_the_range_is_uncertain_and_the_next_frame_waits_its_time() {
        let mut choice = choice(&SampleReason::ALL);
        assert_eq!(choice.look(&[object("car", 0.0, 0.9), object("car", 50.0, 0.1)], at(0)), None);
        let unsure = [object("car", 0.0, 0.45)];
        assert_eq!(choice.look(&unsure, at(1)), Some(SampleReason::Uncertain));
        assert_eq!(choice.look(&unsure, Duration::from_millis(1999)), None);
        assert_eq!(choice.look(&unsure, at(2)), Some(SampleReason::Uncertain));
        choice.missed();
        assert_eq!(choice.look(&unsure, at(2)), Some(SampleReason::Uncertain));
    }

    #[test]
    fn two_classes_at_one_place_and_a_track_of_another_class_are_disputed() {
        let mut choice = choice(&[SampleReason::Disputed]);
        assert_eq!(choice.look(&[object("car", 0.0, 0.9), object("truck", 6.0, 0.9)], at(0)), None);
        let both = [object("car", 0.0, 0.9), object("truck", 1.0, 0.45)];
        assert_eq!(choice.look(&both, at(1)), Some(SampleReason::Disputed));
        assert_eq!(
            choice.look(&[object("car", 0.0, 0.9), object("car", 1.0, 0.9)], at(2)),
            None,
            "one class"
        );
        let tracked = |label: &str| [Object { track: Some(7), ..object(label, 0.0, 0.9) }];
        assert_eq!(choice.look(&tracked("car"), at(3)), None);
        assert_eq!(choice.look(&tracked("truck"), at(4)), Some(SampleReason::Disputed));
        assert_eq!(choice.look(&tracked("truck"), at(5)), None);
        choice.interrupt();
        assert_eq!(choice.look(&tracked("car"), at(6)), None, "another track of this identity");
    }

    #[test]
    fn a_class_is_rare_once_a_hundred_objects_are_known() {
        let mut choice = choice(&[SampleReason::Rare]);
        assert_eq!(choice.look(&[object("dog", 0.0, 0.9)], at(0)), None, "everything is new at first");
        for second in 1..100 {
            assert_eq!(choice.look(&[object("car", 0.0, 0.9)], at(second)), None);
        }
        // 1 of 100, below 2 %; then 2 of 101.
        assert_eq!(choice.look(&[object("dog", 0.0, 0.9)], at(100)), Some(SampleReason::Rare));
        assert_eq!(choice.look(&[object("dog", 0.0, 0.9)], at(101)), Some(SampleReason::Rare));
        assert_eq!(choice.look(&[object("dog", 0.0, 0.9)], at(102)), None, "3 of 102");
    }
}
