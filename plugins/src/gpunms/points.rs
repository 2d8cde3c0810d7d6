//! An object's keypoints, with the names and edges of the sidecar.

use crate::meta::object::KeypointsParam;
use crate::model::ModelInfo;

/// Names of points, and which are joined.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Points {
    names: Vec<String>,
    edges: Vec<[u32; 2]>,
}

impl Points {
    /// `count` points, which are called by their number where the sidecar has no skeleton.
    pub fn new(info: &ModelInfo, count: usize) -> Self {
        let points = &info.skeleton.points;
        let name = |i: usize| points.get(i).cloned().unwrap_or_else(|| i.to_string());
        let all: Vec<_> = (0..count).collect();
        Self { names: all.iter().map(|i| name(*i)).collect(), edges: info.skeleton.edges_among(&all) }
    }

    /// The number of points.
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
            z: Vec::new(),
            edges: self.edges.clone(),
            pose_score: None,
        }
    }
}
