//! What users learn of a model for which something of earlier frames is remembered.

use super::Engine;
use super::fed::Fed;
use super::state::may_share_runs;

impl Engine {
    /// Whether a run takes the pictures of earlier frames, too.
    pub fn looks_back(&self) -> bool {
        self.input.joined.is_some() || !self.earlier.is_empty()
    }

    /// For the user: which frames a run sees; nothing where it is the current one alone.
    pub fn earlier_frames(&self) -> Option<String> {
        let frames = |ago: &[usize]| {
            let frame = |ago: &usize| if *ago == 0 { "0".to_owned() } else { format!("-{ago}") };
            ago.iter().map(frame).collect::<Vec<_>>().join(", ")
        };
        let image = self.input.joined.iter().map(|joined| (&self.input.name, frames(&joined.ago)));
        let earlier = self.earlier.iter().map(|picture| (&picture.input, frames(&[picture.ago])));
        let all: Vec<_> =
            image.chain(earlier).map(|(input, frames)| format!("{frames} in '{input}'")).collect();
        let before = match self.input.joined.as_ref().and_then(|joined| joined.hop) {
            Some(hop) => format!(
                "There is a run at every {hop}th frame, once there are as many, and the frames between carry the answer before"
            ),
            None => "Before there are as many, the oldest takes their place".to_owned(),
        };
        (!all.is_empty()).then(|| {
            format!(
                "the model sees these frames of a stream, of which 0 is the current one: {}. {before}",
                all.join("; ")
            )
        })
    }

    /// For the user: that the model is recurrent, and what that means for how its frames run; nothing where it is not.
    pub fn recurrent(&self) -> Option<String> {
        let first = self.states.first()?;
        let names = |of: fn(&Fed) -> &str| self.states.iter().map(of).collect::<Vec<_>>().join(", ");
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
            names(|state| state.output().unwrap_or_default()),
            if self.states.len() == 1 { "is" } else { "are" },
            names(|state| &state.input.name),
        ))
    }
}
