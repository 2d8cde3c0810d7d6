//! What follows from a skeleton, and whether outputs fit it.

use std::collections::VecDeque;

use super::{MOST_EDGES, MOST_POINTS, MOST_SAMPLES, PafConvention, PafParams};
use crate::group::GroupError;
use crate::peaks::{Announced, MapShape, PeaksError};

const WHAT: &str = "part affinity fields";

/// Valid parameters, and values that follow from them.
#[derive(Debug)]
pub(super) struct PafPlan {
    pub params: PafParams,
    /// The edges that are used, in the order of assembly, and whether one may begin an instance.
    pub order: Vec<(usize, bool)>,
    /// Where on a line, from 0 to 1, its samples lie.
    pub samples: Vec<f32>,
    /// Whether one tensor holds maps and fields.
    together: bool,
}

impl PafPlan {
    /// For fields, of which lines are scored; `together` where one tensor holds maps and fields.
    pub fn of_fields(params: &PafParams, together: bool) -> Result<Self, GroupError> {
        if params.convention == PafConvention::DeepLabCut {
            return Err(GroupError::Unscored);
        }
        Self::new(params, together)
    }

    /// For lines that are scored already.
    pub fn of_lines(params: &PafParams) -> Result<Self, GroupError> {
        if params.convention == PafConvention::OpenPose {
            return Err(GroupError::NoSamples);
        }
        Self::new(params, false)
    }

    fn new(params: &PafParams, together: bool) -> Result<Self, GroupError> {
        let PafParams { points, ref edges, ref channels, samples, .. } = *params;
        if edges.is_empty() {
            return Err(GroupError::NoEdges);
        }
        if points > MOST_POINTS || edges.len() > MOST_EDGES {
            return Err(GroupError::TooLarge(points, edges.len()));
        }
        if let Some([from, to]) = edges.iter().find(|[a, b]| a == b || *a >= points || *b >= points) {
            return Err(GroupError::Edge { from: *from, to: *to, last: points.saturating_sub(1) });
        }
        if let Some(channels) = channels.as_ref().filter(|channels| channels.len() != edges.len()) {
            return Err(GroupError::PafChannels { got: channels.len(), edges: edges.len() });
        }
        if samples == 0 || samples > MOST_SAMPLES {
            return Err(GroupError::Samples(samples));
        }
        let order = match params.convention {
            PafConvention::Sleap => breadth_first(points, edges).ok_or(GroupError::Circle)?,
            PafConvention::OpenPose => in_turn(points, edges),
            PafConvention::DeepLabCut => (0..edges.len()).map(|edge| (edge, true)).collect(),
        };
        Ok(Self { params: params.clone(), order, samples: evenly_spaced(samples), together })
    }

    pub fn unreadable(error: PeaksError) -> GroupError {
        GroupError::Output(WHAT, error)
    }

    /// Checks outputs whose dimensions are known.
    pub fn check(&self, maps: &Announced, fields: &Announced) -> Result<(), GroupError> {
        if let (Some(of_maps), Some(of_fields)) = (&maps.shape, &fields.shape) {
            self.first_channel(&maps.map.to_string(), of_maps, &fields.map.to_string(), of_fields)?;
        }
        Ok(())
    }

    /// The first of the fields' channels.
    pub fn first_channel(
        &self,
        map: &str,
        of_maps: &MapShape,
        fields: &str,
        of_fields: &MapShape,
    ) -> Result<usize, GroupError> {
        let PafParams { points, ref edges, ref channels, convention, .. } = self.params;
        let wanted = 2 * edges.len();
        let with_fields = if self.together { wanted } else { 0 };
        let extra = of_maps.channels.checked_sub(points + with_fields);
        let most = usize::from(convention == PafConvention::OpenPose);
        let fits = |extra: usize| extra <= most || (self.together && channels.is_some());
        if !extra.is_some_and(fits) {
            let and_background =
                if most == 1 { format!(" or {}", points + with_fields + 1) } else { String::new() };
            return Err(GroupError::Maps {
                map: map.to_owned(),
                got: of_maps.channels,
                points,
                wanted: format!("{}{and_background}", points + with_fields),
            });
        }
        let beyond = |channels: &Vec<usize>| channels.iter().any(|first| first + 1 >= of_fields.channels);
        let fit = match channels {
            Some(channels) => !beyond(channels),
            None => self.together || of_fields.channels == wanted,
        };
        if !fit {
            return Err(GroupError::Channels {
                what: WHAT,
                output: fields.to_owned(),
                got: of_fields.channels,
                wanted: channels.iter().flatten().max().map_or(wanted, |last| last + 2),
                count: edges.len(),
                per: "edges",
            });
        }
        Ok(of_fields.channels.saturating_sub(wanted))
    }

    /// The channel of an edge's x, where [`PafPlan::first_channel`] is `first`.
    pub fn channel(&self, edge: usize, first: usize) -> usize {
        let given = self.params.channels.as_ref().and_then(|channels| channels.get(edge));
        given.copied().unwrap_or(first + 2 * edge)
    }
}

/// sleap-nn's order: breadth first from the first point that no edge leads to. Every point is reached once, so instances
/// only grow; an edge may begin one where its first point is missing. `None` if every point has an edge that leads to it.
fn breadth_first(points: usize, edges: &[[usize; 2]]) -> Option<Vec<(usize, bool)>> {
    let root = edges.iter().flatten().find(|point| edges.iter().all(|[_, to]| to != *point))?;
    let mut reached = vec![false; points];
    let mut order = Vec::new();
    let mut queue = VecDeque::from([*root]);
    reached[*root] = true;
    while let Some(point) = queue.pop_front() {
        for (edge, [_, to]) in edges.iter().enumerate().filter(|(_, [from, _])| *from == point) {
            if !std::mem::replace(&mut reached[*to], true) {
                order.push((edge, true));
                queue.push_back(*to);
            }
        }
    }
    Some(order)
}

/// The edges in their order; an edge whose points are connected by earlier ones begins no instance.
fn in_turn(points: usize, edges: &[[usize; 2]]) -> Vec<(usize, bool)> {
    let mut group: Vec<usize> = (0..points).collect();
    let mut order = Vec::new();
    for (edge, [from, to]) in edges.iter().enumerate() {
        let (a, b) = (group[*from], group[*to]);
        order.push((edge, a != b));
        group.iter_mut().filter(|g| **g == b).for_each(|g| *g = a);
    }
    order
}

/// As PyTorch's `linspace(0, 1, n)` in float32, which counts from both ends.
fn evenly_spaced(n: usize) -> Vec<f32> {
    let step = if n > 1 { 1.0 / (n - 1) as f32 } else { 0.0 };
    (0..n)
        .map(|i| if i < n / 2 || n == 1 { step * i as f32 } else { 1.0 - step * (n - 1 - i) as f32 })
        .collect()
}
