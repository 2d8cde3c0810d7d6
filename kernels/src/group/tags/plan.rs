//! Parameters, checked against the outputs.

use super::params::{COCO_ORDER, TagOutputs, TagParams};
use crate::group::GroupError;
use crate::peaks::{Announced, MapShape, Mode, PeakParams};
use crate::tensor::{TensorDesc, TensorView};

const TAGS: &str = "tags";
const FINE: &str = "fine maps";

/// The checked parameters, and the outputs as they were announced.
#[derive(Debug)]
pub(super) struct TagPlan {
    pub params: TagParams,
    pub peaks: PeakParams,
    announced: TagOutputs<Announced>,
}

impl TagPlan {
    pub fn new(
        outputs: TagOutputs<&TensorDesc>,
        input: [usize; 2],
        peaks: PeakParams,
        params: &TagParams,
    ) -> Result<Self, GroupError> {
        if !(params.tag_distance > 0.0 && params.tag_distance.is_finite()) {
            return Err(GroupError::TagDistance(params.tag_distance.to_string()));
        }
        let peaks = PeakParams { mode: Mode::Local, ..peaks };
        // A stated stride is that of the maps in which peaks are looked for, not of every output.
        let announce = |desc: &TensorDesc| Announced::new(desc, input, PeakParams { stride: None, ..peaks });
        let further = |what, desc: Option<&TensorDesc>| {
            desc.map(announce).transpose().map_err(|error| GroupError::Output(what, error))
        };
        let announced = TagOutputs {
            maps: announce(outputs.maps)?,
            tags: further(TAGS, outputs.tags)?,
            fine_maps: further(FINE, outputs.fine_maps)?,
        };
        let plan = Self { params: params.clone(), peaks, announced };
        let TagOutputs { maps, tags, fine_maps } = &plan.announced;
        let all_known = |output: &Option<Announced>| output.as_ref().is_none_or(|one| one.shape.is_some());
        if let Some(maps) = maps.shape
            && all_known(tags)
            && all_known(fine_maps)
        {
            let shape = |output: &Option<Announced>| output.as_ref().and_then(|one| one.shape);
            plan.check(&TagOutputs { maps, tags: shape(tags), fine_maps: shape(fine_maps) })?;
        }
        Ok(plan)
    }

    /// The shapes of outputs that arrived, and the number of points.
    pub fn read(
        &self,
        outputs: &TagOutputs<&TensorView<'_>>,
    ) -> Result<(TagOutputs<MapShape>, usize), GroupError> {
        let read =
            |announced: &Announced, view: &TensorView<'_>| announced.read(view.name, view.ty, &view.dims);
        let further = |what, announced: &Option<Announced>, view: Option<&TensorView<'_>>| {
            let shape = announced.as_ref().zip(view).map(|(announced, view)| read(announced, view));
            shape.transpose().map_err(|error| GroupError::Output(what, error))
        };
        let shapes = TagOutputs {
            maps: read(&self.announced.maps, outputs.maps)?,
            tags: further(TAGS, &self.announced.tags, outputs.tags)?,
            fine_maps: further(FINE, &self.announced.fine_maps, outputs.fine_maps)?,
        };
        let points = self.check(&shapes)?;
        Ok((shapes, points))
    }

    /// The number of points, if the outputs fit each other and the skeleton.
    fn check(&self, shapes: &TagOutputs<MapShape>) -> Result<usize, GroupError> {
        let TagOutputs { maps, tags, fine_maps } = shapes;
        let channels_of_point = if tags.is_some() { 1 } else { 2 };
        let points = maps.channels / channels_of_point;
        let named = self.params.points;
        if !maps.channels.is_multiple_of(channels_of_point) || (named > 0 && named != points) {
            return Err(GroupError::TaggedMaps {
                map: self.announced.maps.map.to_string(),
                got: maps.channels,
                wanted: match (named, channels_of_point) {
                    (0, _) => "an even number".into(),
                    (named, 1) => format!("{named}, a map for each point,"),
                    (named, _) => format!("{}, a map and a tag for each of {named} points,", 2 * named),
                },
            });
        }
        let finest = fine_maps.as_ref().unwrap_or(maps);
        let further = [
            (TAGS, tags, &self.announced.tags, tags.as_ref().unwrap_or(maps), finest),
            (FINE, fine_maps, &self.announced.fine_maps, maps, finest),
        ];
        for (what, shape, announced, coarse, fine) in further {
            let (Some(shape), Some(announced)) = (shape, announced) else { continue };
            if shape.channels != points {
                let (output, got) = (announced.map.to_string(), shape.channels);
                return Err(GroupError::ChannelOfPoint { what, output, got, points });
            }
            if coarse.width > fine.width || coarse.height > fine.height {
                let cells = |shape: &MapShape| format!("{}x{}", shape.width, shape.height);
                return Err(GroupError::Grid { what, got: cells(shape), wanted: cells(maps) });
            }
        }
        if let Some(order) = &self.params.order {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if !sorted.into_iter().eq(0..points) {
                return Err(GroupError::PointOrder(points));
            }
        }
        Ok(points)
    }

    /// The order in which that many points are grouped.
    pub fn order(&self, points: usize) -> Vec<usize> {
        match &self.params.order {
            Some(order) => order.clone(),
            None if points == COCO_ORDER.len() => COCO_ORDER.to_vec(),
            None => (0..points).collect(),
        }
    }
}
