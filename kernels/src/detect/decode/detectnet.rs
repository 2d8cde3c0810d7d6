//! DetectNet_v2 of NVIDIA's TAO toolkit (PeopleNet, TrafficCamNet, DashCamNet): a map of each class's coverage, which is its
//! confidence, and for each class four maps of how far the sides of its box lie from the cell's point.
//!
//! That point is half a pixel from the cell's corner, and distances are in units of 35 tensor pixels: the `offset` and `scale` of
//! TAO's `objective_set`, which nvinfer has as constants, too.

use crate::tensor::TensorView;

use super::super::candidates::Collector;
use super::super::cuda::{At, Centers, Layout, Output, Scoring, Span};
use super::super::offer::{Evidence, Fit, Maps, Offer};
use super::super::{Activation, DecoderKind, DetectError, SizeUnit};
use super::matrix::{Shaped, misshapen};
use super::scan::scan_columns;

const KIND: DecoderKind = DecoderKind::DetectnetV2;
/// Tensor pixels from a cell's corner to its point.
const POINT: f32 = 0.5;
/// Tensor pixels per unit of a distance.
const UNIT: f32 = 35.0;
/// Numbers of a box: the distances of left, top, right, bottom.
const SIDES: usize = 4;

#[derive(Clone, Debug)]
pub struct Plan {
    coverage: usize,
    boxes: usize,
    classes: usize,
    columns: usize,
    rows: usize,
    /// Tensor pixels a cell is wide and high.
    stride: usize,
    activation: Activation,
}

pub fn wanted(offer: &Offer<'_>) -> String {
    let (classes, channels) = match offer.hints.classes {
        Some(classes) => (classes.to_string(), (SIDES * classes).to_string()),
        None => ("C".into(), "4*C".into()),
    };
    format!(
        "two float outputs, coverage [1, {classes}, h, w] and boxes [1, {channels}, h, w], of h = {}/s by w = {}/s cells for one \
         stride s",
        offer.input[1], offer.input[0]
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    let pairs = offer.maps.iter().flat_map(|coverage| offer.maps.iter().map(move |boxes| (coverage, boxes)));
    pairs.filter_map(|(coverage, boxes)| fit(offer, coverage, boxes)).collect()
}

fn fit(offer: &Offer<'_>, coverage: &Maps, boxes: &Maps) -> Option<Fit<Plan>> {
    let [classes, rows, columns] = coverage.dims;
    let same_cells = boxes.dims == [SIDES * classes, rows, columns];
    if !same_cells || classes * rows * columns == 0 || offer.hints.classes.is_some_and(|c| c != classes) {
        return None;
    }
    let [width, height] = offer.input;
    let stride = width.div_ceil(columns);
    if stride == 0 || width.div_ceil(stride) != columns || height.div_ceil(stride) != rows {
        return None;
    }
    let has = |maps: &Maps, part: &str| offer.outputs[maps.output].name.to_ascii_lowercase().contains(part);
    let named = has(coverage, "cov") && has(boxes, "bbox");
    let activation = offer.hints.activation.unwrap_or(Activation::None);
    let (coverage, boxes) = (coverage.output, boxes.output);
    let plan = Plan { coverage, boxes, classes, columns, rows, stride, activation };
    let evidence = if named { Evidence::Exact } else { Evidence::Open };
    // Without the names, one class looks as a centernet whose sizes are four.
    Some(Fit { evidence, plan, classes: Some(classes), reads: 2, far_fetched: !named })
}

impl Plan {
    /// What makes its scores probabilities.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    fn cells(&self) -> usize {
        self.columns * self.rows
    }

    fn check<T: Shaped>(&self, outputs: &[T]) -> Result<(), DetectError> {
        for (output, channels) in [(self.coverage, self.classes), (self.boxes, SIDES * self.classes)] {
            let tensor = &outputs[output];
            let Self { rows, columns, .. } = self;
            if tensor.maps() != Some([channels, *rows, *columns]) {
                return Err(misshapen(KIND, tensor, format!("[1, {channels}, {rows}, {columns}]")));
            }
        }
        Ok(())
    }

    /// Where a cell's point lies in it, in cells.
    fn point(&self) -> f32 {
        POINT / self.stride as f32
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        self.check(outputs)?;
        let (scores, boxes) = (outputs[self.coverage].to_f32(), outputs[self.boxes].to_f32());
        let (cells, stride) = (self.cells(), self.stride as f32);
        let take = |into: &mut Collector<'_>, cell: usize, class: u32, confidence: f32| {
            let side = |number: usize| boxes[(SIDES * class as usize + number) * cells + cell] * UNIT;
            let x = ((cell % self.columns) as f32 + self.point()) * stride;
            let y = ((cell / self.columns) as f32 + self.point()) * stride;
            into.take(cell, class, confidence, [x - side(0), y - side(1), x + side(2), y + side(3)]);
        };
        scan_columns(&scores, cells, self.activation, into, take);
        Ok(())
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        self.check(outputs)?;
        let at = |output: usize| At { tensor: &outputs[output], element: 0 };
        let cells = self.cells();
        let centers =
            Centers { sides: SIDES, unit: SizeUnit::Pixels, y_first: false, offsets: None, offset_step: 1 };
        Layout::new(Scoring::Classes, self.activation, self.classes)?
            .steps([1, cells], [1, cells])
            .with(at(self.coverage), at(self.boxes), Span::cells(cells, self.columns, self.stride))?
            .centers(centers, self.point())
            .map(|layout| layout.box_of_each_class(SIDES * cells, UNIT))
    }
}
