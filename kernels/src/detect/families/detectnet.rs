//! DetectNet_v2 of NVIDIA's TAO toolkit (PeopleNet, TrafficCamNet, DashCamNet): a map of each class's coverage, which is its
//! confidence, and for each class four maps of how far the sides of its box lie from the cell's point.
//!
//! That point is half a pixel from the cell's corner, and distances are in units of 35 tensor pixels: the `offset` and `scale` of
//! TAO's `objective_set`, which nvinfer has as constants, too.

use crate::detect::family::{Family, Hint, Usual};
use crate::detect::layout::{Centers, Coding, Field, Layout, Ranking, Table};
use crate::detect::offer::{Evidence, Fit, Maps, Offer};
use crate::detect::{DecoderKind, SizeUnit};

use super::centers::MapCells;

pub const FAMILY: Family = Family {
    kind: DecoderKind::DetectnetV2,
    wanted,
    fits,
    takes: &[Hint::Activation],
    usual: Usual::SUPPRESSED,
};

/// Tensor pixels from a cell's corner to its point.
const POINT: f32 = 0.5;
/// Tensor pixels per unit of a distance.
const UNIT: f32 = 35.0;
/// Numbers of a box: the distances of left, top, right, bottom.
const SIDES: usize = 4;

fn wanted(offer: &Offer<'_>) -> String {
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

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    let pairs = offer.maps.iter().flat_map(|coverage| offer.maps.iter().map(move |boxes| (coverage, boxes)));
    pairs.filter_map(|(coverage, boxes)| fit(offer, coverage, boxes)).collect()
}

fn fit(offer: &Offer<'_>, coverage: &Maps, boxes: &Maps) -> Option<Fit> {
    let [classes, rows, columns] = coverage.dims;
    let same_cells = boxes.dims == [SIDES * classes, rows, columns];
    if !same_cells || classes * rows * columns == 0 || offer.hints.classes.is_some_and(|c| c != classes) {
        return None;
    }
    let cells = MapCells::of(rows, columns, offer.input)?;
    let has = |maps: &Maps, part: &str| offer.outputs[maps.output].name.to_ascii_lowercase().contains(part);
    let named = has(coverage, "cov") && has(boxes, "bbox");
    let tables =
        vec![Table::maps(coverage.output, classes, false), Table::maps(boxes.output, SIDES * classes, false)];
    let centers = Centers {
        sides: SIDES,
        unit: SizeUnit::Pixels,
        pixels: UNIT,
        y_first: false,
        point: POINT / cells.stride as f32,
        offsets: None,
        of_each_class: true,
    };
    let layout = Layout {
        grid: Some(cells.grid()),
        boxes: Field::new(1, 0),
        scores: Field::new(0, 0),
        ranking: Ranking::All { kept: None },
        ..Layout::new(FAMILY.kind, tables, Coding::Centers(centers), offer.activation())
    };
    let evidence = if named { Evidence::Exact } else { Evidence::Open };
    // Without the names, one class looks as a centernet whose sizes are four.
    Some(Fit::new(evidence, layout, Some(classes)).reading(2).far_fetched(!named))
}
