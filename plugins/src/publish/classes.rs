//! What second models take a stream's objects for. A model may look at an object in some frames only (fusedpreproc's `interval`): until
//! it looks again, what it said last holds.

use std::collections::BTreeMap;

use crate::meta::object::Object;

/// Identities that are remembered, the latest.
const MOST: usize = 4096;

/// Whose classes: a model, and an output of it.
type Source = (String, String);

/// The latest classes.
#[derive(Debug, Default)]
pub(super) struct Classes {
    /// By identity.
    tracked: BTreeMap<u64, BTreeMap<Source, String>>,
    /// Labels and classes of the objects without an identity of the last frame in which some were looked at, sorted.
    untracked: BTreeMap<Source, Vec<(String, String)>>,
}

impl Classes {
    /// Takes in the objects of a frame. Returns whether one of them, or some without an identity, have another class.
    pub fn see(&mut self, objects: &[&Object]) -> bool {
        let mut is_other = false;
        let mut untracked: BTreeMap<Source, Vec<(String, String)>> = BTreeMap::new();
        for object in objects {
            for classification in &object.classifications {
                let Some(class) = classification.labels.first().cloned() else { continue };
                let source = (classification.model.clone(), classification.output.clone());
                if let Some(tracking) = &object.tracking {
                    let known = self.tracked.entry(tracking.id).or_default().insert(source, class.clone());
                    is_other |= known != Some(class);
                } else {
                    untracked.entry(source).or_default().push((object.label.clone(), class));
                }
            }
        }
        for (source, mut classes) in untracked {
            classes.sort();
            is_other |= self.untracked.get(&source) != Some(&classes);
            self.untracked.insert(source, classes);
        }
        while self.tracked.len() > MOST {
            self.tracked.pop_first();
        }
        is_other
    }
}
