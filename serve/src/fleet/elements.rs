//! The elements of a stream's pipeline, and whether they draw.

use cudainfer_launch::elements;

use super::Fleet;
use crate::stream::{ElementSettings, settings};

impl Fleet {
    /// How the elements of a stream read their models, and what clients may set; nothing while it has no pipeline.
    pub fn elements(&self, name: &str) -> Vec<ElementSettings> {
        self.built(name).map(|built| settings(&built.description)).unwrap_or_default()
    }

    /// Whether the pipeline of a stream draws results on its frames.
    pub fn draws(&self, name: &str) -> bool {
        let draws = |built: crate::stream::Built| {
            !elements::of_factory(&built.description.bin, "inferoverlay").is_empty()
        };
        self.built(name).is_some_and(draws)
    }
}
