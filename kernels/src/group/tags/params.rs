//! Parameters of grouping by tags, and the outputs that hold them.

use crate::peaks::{PeakParams, Refinement};

/// The order in which COCO's 17 points are grouped: head, shoulders, hips, and then outwards.
pub const COCO_ORDER: [usize; 17] = [0, 1, 2, 3, 4, 5, 6, 11, 12, 7, 8, 9, 10, 13, 14, 15, 16];

/// How peaks become instances by their tags.
#[derive(Clone, Debug, PartialEq)]
pub struct TagParams {
    /// How many points the skeleton has; 0 if nothing says it.
    pub points: usize,
    /// The order in which points are grouped. `None`: [`COCO_ORDER`] for 17 points, else that of the maps.
    pub order: Option<Vec<usize>>,
    /// A peak joins an instance if its tag differs by less than this from the mean of the instance's.
    pub tag_distance: f32,
    /// Whether points that no peak gave are looked for once more, in the whole map.
    pub fill_missing: bool,
    /// How many instances a frame has at most.
    pub max_poses: usize,
    /// Points below this score are left out of an instance, after its score has been taken.
    pub min_point_score: f32,
    /// The least points of an instance, before missing ones are looked for.
    pub min_points: usize,
    /// The least score of an instance.
    pub min_score: f32,
}

impl Default for TagParams {
    /// HigherHRNet's values.
    fn default() -> Self {
        Self {
            points: 0,
            order: None,
            tag_distance: 1.0,
            fill_missing: true,
            max_poses: 30,
            min_point_score: 0.0,
            min_points: 0,
            min_score: 0.0,
        }
    }
}

impl TagParams {
    /// What counts as a peak in HigherHRNet.
    pub fn peaks() -> PeakParams {
        PeakParams { threshold: 0.1, refinement: Refinement::Shift, top_k: 30, ..PeakParams::default() }
    }
}

/// A value for each of the network's outputs, of `K` points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TagOutputs<T> {
    /// `K` confidence maps; `2K` channels, maps before tags, if [`TagOutputs::tags`] is none.
    pub maps: T,
    /// `K` tags.
    pub tags: Option<T>,
    /// `K` maps with more cells, which are averaged with the others.
    pub fine_maps: Option<T>,
}

impl<T> TagOutputs<T> {
    /// Which outputs there are.
    pub fn roles(&self) -> TagOutputs<()> {
        TagOutputs {
            maps: (),
            tags: self.tags.as_ref().map(|_| ()),
            fine_maps: self.fine_maps.as_ref().map(|_| ()),
        }
    }

    /// Those that there are, in order.
    pub fn list(self) -> Vec<T> {
        std::iter::once(self.maps).chain(self.tags).chain(self.fine_maps).collect()
    }
}

impl TagOutputs<()> {
    /// The outputs of a list that [`TagOutputs::list`] could have made; `None` if it has others.
    pub fn of<T>(self, list: &[T]) -> Option<TagOutputs<&T>> {
        let (maps, others) = list.split_first()?;
        let mut others = others.iter();
        let tags = self.tags.and_then(|()| others.next());
        let fine_maps = self.fine_maps.and_then(|()| others.next());
        let outputs = TagOutputs { maps, tags, fine_maps };
        (outputs.roles() == self && others.next().is_none()).then_some(outputs)
    }
}
