//! Detectors that suppress overlaps themselves and write a row for each box: `[1, M, 6]`, x1, y1, x2, y2, confidence, class
//! (YOLOv10, v26). PaddleDetection and the end-to-end export of YOLOv7 have rows of another order.

use crate::detect::family::{Family, Hint, Usual};
use crate::detect::layout::{Field, Finals, Layout, Scoring, Shape, Table};
use crate::detect::offer::{Evidence, Fit, Offer, Plane};
use crate::detect::{DecoderKind, RowFormat};
use crate::tensor::TensorDesc;
use crate::words::Words as _;

use super::heads;

pub const FAMILY: Family = Family {
    kind: DecoderKind::EndToEnd,
    wanted,
    fits,
    takes: &[Hint::BoxFormat, Hint::Normalized, Hint::Background, Hint::RowFormat],
    usual: Usual::SUPPRESSED,
};

/// In the names that Paddle's exporters give to outputs.
const PADDLE: [&str; 4] = ["multiclass_nms", "matrix_nms", "save_infer_model", "fetch_name_"];

fn wanted(offer: &Offer<'_>) -> String {
    let format = offer.hints.row_format.unwrap_or(RowFormat::BoxScoreClass);
    let columns = format.columns();
    format!(
        "one float output [1, M, {columns}] of {}, already suppressed (name another order of the columns in the model's \
         sidecar, row-format=)",
        format.words()
    )
}

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    offer.of_each_plane(|plane| fit(offer, plane))
}

fn fit(offer: &Offer<'_>, plane: &Plane) -> Option<Fit> {
    let desc = &offer.outputs[plane.output];
    let of_paddle = PADDLE.iter().any(|part| desc.name.contains(part));
    let format = match offer.hints.row_format {
        Some(format) => format,
        None if of_paddle => RowFormat::ClassScoreBox,
        None => RowFormat::BoxScoreClass,
    };
    let named = offer.hints.row_format.is_some() || of_paddle;
    let evidence = match plane.columns {
        Some(columns) if columns == format.columns() && named => Evidence::Exact,
        Some(columns) if columns == format.columns() => Evidence::Open,
        Some(_) => return None,
        None => Evidence::Weak,
    };
    // Paddle writes the number of boxes, too.
    let is_one = |output: &TensorDesc| output.dims.iter().all(|d| d.is_none_or(|d| d == 1));
    let mut others = offer.outputs.iter().enumerate();
    let count = others.position(|(i, output)| !offer.is_float(i) && is_one(output));
    // YOLO's own have a dimension for the batch.
    let stated = named || desc.dims.len() > 2 && count.is_none();
    let layout = heads::suppressed(FAMILY.kind, offer, plane, format, 0);
    let layout = match count {
        Some(output) => counted(layout, output),
        None => layout,
    };
    let reads = 1 + usize::from(count.is_some());
    Some(Fit::new(evidence, layout, offer.hints.classes).reading(reads).far_fetched(!stated))
}

/// The same with the number of boxes in this output.
fn counted(mut layout: Layout, output: usize) -> Layout {
    if let Scoring::Final(finals) = layout.scoring {
        let count = Some(Field::new(layout.tables.len(), 0));
        layout.tables.push(Table::new(output, Shape::Number));
        layout.scoring = Scoring::Final(Finals { count, ..finals });
    }
    layout
}

/// Whether an output may be rows of final boxes, but the order of their columns is not stated.
pub fn needs_format(offer: &Offer<'_>) -> bool {
    let is_row = |columns: usize| RowFormat::ALL.iter().any(|format| format.columns() == columns);
    let is_table = |plane: &Plane| {
        // As many rows as there are cells are no final boxes.
        plane.columns.is_some_and(is_row) && !offer.has_anchors(plane.output)
    };
    offer.hints.row_format.is_none() && offer.planes.iter().any(is_table)
}
