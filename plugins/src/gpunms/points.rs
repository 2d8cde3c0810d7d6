//! An object's keypoints, named and joined as the sidecar says.

use crate::engine::ModelInfo;
use crate::meta::object::KeypointsParam;

/// Names of points, and which are joined.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Points {
    names: Vec<String>,
    edges: Vec<[u32; 2]>,
}

impl Points {
    /// Of so many points: called by their number.
    pub fn new(_: &ModelInfo, count: usize) -> Self {
        Self { names: (0..count).map(|i| i.to_string()).collect(), edges: Vec::new() }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// Those of one object: x, y and score.
    pub fn param(&self, values: &[[f32; 3]]) -> KeypointsParam {
        let all = |k: usize| values.iter().map(|point| f64::from(point[k])).collect();
        KeypointsParam {
            names: self.names.clone(),
            x: all(0),
            y: all(1),
            score: all(2),
            edges: self.edges.clone(),
        }
    }
}
