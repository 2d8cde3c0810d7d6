//! What second models take a stream's objects for. A model may look at an object in some frames only (fusedpreproc's `interval`): until
//! it looks again, what it said last holds, whether the frames between say it or not.

use std::collections::BTreeMap;

use crate::meta::object::Object;

/// Identities that are remembered besides those of the frame: those that were there last.
const MOST: usize = 4096;

/// What gives an object a class: a model, and an output of it.
type Classifier = (String, String);

/// What one identity was last taken for.
#[derive(Debug, Default)]
struct Known {
    classes: BTreeMap<Classifier, String>,
    /// The frame in which it was last there.
    frame: u64,
}

/// The latest classes.
#[derive(Debug, Default)]
pub(super) struct Classes {
    /// By identity.
    tracked: BTreeMap<u64, Known>,
    /// Frames so far.
    frames: u64,
    /// Labels and classes of the objects without an identity of the last frame in which some were looked at, sorted.
    untracked: BTreeMap<Classifier, Vec<(String, String)>>,
}

impl Classes {
    /// Takes in the objects of a frame. Returns whether one of them, or some without an identity, have another class.
    pub fn see(&mut self, objects: &[&Object]) -> bool {
        self.frames += 1;
        let mut is_other = false;
        let mut untracked: BTreeMap<Classifier, Vec<(String, String)>> = BTreeMap::new();
        for object in objects {
            // Also one that no model looks at in this frame must not be forgotten while it is there.
            if let Some(known) =
                object.tracking.as_ref().and_then(|tracking| self.tracked.get_mut(&tracking.id))
            {
                known.frame = self.frames;
            }
            // What is held was compared when it was found.
            for classification in object.classifications.iter().filter(|found| !found.held) {
                let Some(class) = classification.labels.first().cloned() else { continue };
                let classifier = (classification.model.clone(), classification.output.clone());
                if let Some(tracking) = &object.tracking {
                    let known = self.tracked.entry(tracking.id).or_default();
                    known.frame = self.frames;
                    is_other |= known.classes.insert(classifier, class.clone()) != Some(class);
                } else {
                    untracked.entry(classifier).or_default().push((object.label.clone(), class));
                }
            }
        }
        for (classifier, mut classes) in untracked {
            classes.sort();
            is_other |= self.untracked.get(&classifier) != Some(&classes);
            self.untracked.insert(classifier, classes);
        }
        if self.tracked.len() > MOST {
            // Half of them go at once, so that this is rare.
            let mut last: Vec<_> = self.tracked.values().map(|known| known.frame).collect();
            let (_, middle, _) = last.select_nth_unstable(MOST / 2);
            let oldest = *middle;
            self.tracked.retain(|_, known| known.frame >= oldest);
        }
        is_other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::object::{ClassificationParam, TrackingParam};

    #[test]
    fn an_object_that_stays_keeps_its_class_however_many_pass_it() {
        let red = |id| Object {
            tracking: Some(TrackingParam { id, ..TrackingParam::default() }),
            classifications: vec![ClassificationParam {
                labels: vec!["red".into()],
                ..ClassificationParam::default()
            }],
            ..Object::default()
        };
        let parked = red(1);
        let not_looked_at = Object { classifications: vec![], ..parked.clone() };
        let mut classes = Classes::default();
        assert!(classes.see(&[&parked]), "it is known now");
        for id in 2..20_000 {
            assert!(classes.see(&[&not_looked_at, &red(id)]));
            assert!(classes.tracked.len() <= MOST + 1);
        }
        assert!(!classes.see(&[&parked]), "it is as red as before");
    }
}
