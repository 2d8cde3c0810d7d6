//! What users learn of a recurrent model.

use super::Engine;
use super::state::{State, may_share_runs};

impl Engine {
    /// For the user: that the model is recurrent, and what that means for how its frames run; nothing where it is not.
    pub fn recurrent(&self) -> Option<String> {
        let first = self.states.first()?;
        let names = |of: fn(&State) -> &str| self.states.iter().map(of).collect::<Vec<_>>().join(", ");
        let same = self.states.iter().all(|state| state.initial.to_bits() == first.initial.to_bits());
        let initial = if same { first.initial.to_string() } else { "what the sidecar says".to_owned() };
        let together = match (may_share_runs(&self.states), self.batch) {
            (true, 1) => "",
            (true, _) => ", and batches are of frames of several streams",
            (false, _) => {
                ", each in a run of its own, because not every state has a row of known dimensions for each frame of a batch"
            }
        };
        let workers = match self.sessions.len() {
            1 => String::new(),
            count => format!(
                ". A stream keeps one of the {count} workers busy: if there are fewer streams, set as many workers"
            ),
        };
        Some(format!(
            "the model is recurrent: {} of a run {} {} of the same stream's next one, at first {initial}. A stream's frames run one after \
             the other{together}{workers}",
            names(|state| &state.output),
            if self.states.len() == 1 { "is" } else { "are" },
            names(|state| &state.input.name),
        ))
    }
}
