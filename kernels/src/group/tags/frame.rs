//! A frame's outputs: the averaged maps, and tags on the same cells.

use std::borrow::Cow;

use super::interpolate::Interpolated;
use super::params::TagOutputs;
use crate::peaks::MapShape;
use crate::tensor::TensorView;

/// An output's values, and how its dimensions are read.
struct Output<'a> {
    values: Cow<'a, [f32]>,
    shape: MapShape,
}

impl Output<'_> {
    /// The channels from `first` on, on other cells.
    fn on(&self, size: [usize; 2], first: usize) -> Interpolated<'_> {
        Interpolated::new(&self.values, &self.shape, first, size)
    }
}

/// The values of a frame's outputs.
pub(super) struct Frame<'a> {
    outputs: TagOutputs<Output<'a>>,
    pub points: usize,
    /// Width and height of the finest output.
    pub size: [usize; 2],
}

impl<'a> Frame<'a> {
    pub fn new(views: &TagOutputs<&TensorView<'a>>, (shapes, points): (TagOutputs<MapShape>, usize)) -> Self {
        let output = |view: &TensorView<'a>, shape| Output { values: view.to_f32(), shape };
        let further = |view: Option<&TensorView<'a>>, shape: Option<MapShape>| {
            view.zip(shape).map(|(view, shape)| output(view, shape))
        };
        let finest = shapes.fine_maps.unwrap_or(shapes.maps);
        Self {
            outputs: TagOutputs {
                maps: output(views.maps, shapes.maps),
                tags: further(views.tags, shapes.tags),
                fine_maps: further(views.fine_maps, shapes.fine_maps),
            },
            points,
            size: [finest.width, finest.height],
        }
    }

    /// Replaces `averaged` by the means of the maps of both sizes, point by point and row by row.
    pub fn average(&self, averaged: &mut Vec<f32>) {
        averaged.clear();
        let maps = self.outputs.maps.on(self.size, 0);
        (0..self.points).for_each(|point| maps.each(point, |value| averaged.push(value)));
        let Some(fine) = self.outputs.fine_maps.as_ref().map(|fine| fine.on(self.size, 0)) else { return };
        let mut means = averaged.iter_mut();
        for point in 0..self.points {
            fine.each(point, |value| means.next().into_iter().for_each(|mean| *mean = 0.5 * (*mean + value)));
        }
    }

    /// The tags of each point on the cells of the averaged maps.
    pub fn tags(&self) -> Interpolated<'_> {
        match &self.outputs.tags {
            Some(tags) => tags.on(self.size, 0),
            None => self.outputs.maps.on(self.size, self.points),
        }
    }
}
