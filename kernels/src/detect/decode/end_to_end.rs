//! Detectors that suppress overlaps themselves and write a row for each box: `[1, M, 6]`, x1, y1, x2, y2, confidence, class
//! (YOLOv10, v26). PaddleDetection and the end-to-end export of YOLOv7 have rows of another order.

use crate::tensor::{TensorDesc, TensorView};
use crate::words::Words as _;

use super::super::candidates::Collector;
use super::super::cuda::{At, FinalLists, Layout, Output, Scoring, Span};
use super::super::offer::{Evidence, Fit, Offer, Plane};
use super::super::{Activation, BoxFormat, DecoderKind, DetectError, RowFormat};
use super::boxes::BoxCoding;
use super::finals::{self, Column, Finals, Labels};
use super::matrix::{Shaped, check, check_list, single};

/// Of the usual order.
pub const COLUMNS: usize = 6;

/// In the names that Paddle's exporters give to outputs.
const PADDLE: [&str; 4] = ["multiclass_nms", "matrix_nms", "save_infer_model", "fetch_name_"];

#[derive(Clone, Debug)]
pub struct Plan {
    /// What an error calls it.
    kind: DecoderKind,
    output: usize,
    format: RowFormat,
    /// Columns after those of the format.
    more: usize,
    /// The output with the number of boxes.
    count: Option<usize>,
    /// Whether the last of them is the boxes' angle.
    rotated: bool,
    boxes: BoxCoding,
    labels: Labels,
}

pub fn wanted(offer: &Offer<'_>) -> String {
    let format = offer.hints.row_format.unwrap_or(RowFormat::BoxScoreClass);
    let columns = format.columns();
    format!(
        "one float output [1, M, {columns}] of {}, already suppressed (name another order of the columns in the model's \
         sidecar, row-format=)",
        format.words()
    )
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    single(offer, |plane| {
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
        let plan = Plan { format, count, ..Plan::new(DecoderKind::EndToEnd, offer, plane, 0) };
        let reads = 1 + usize::from(count.is_some());
        Some(Fit { evidence, plan, classes: offer.hints.classes, reads, far_fetched: !stated })
    })
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

impl Plan {
    /// Of `plane`, in the usual order, with `more` columns after the class.
    pub fn new(kind: DecoderKind, offer: &Offer<'_>, plane: &Plane, more: usize) -> Self {
        let boxes = BoxCoding::new(offer.hints, BoxFormat::Corners, false, offer.input);
        // What their labels are is not checked: fewer names than classes have always been taken.
        let labels = Labels::new(offer.hints, false, None);
        let format = RowFormat::BoxScoreClass;
        Self { kind, output: plane.output, format, more, count: None, rotated: false, boxes, labels }
    }

    /// With boxes of centre and size that are rotated by the angle in the last column.
    pub fn rotated(self) -> Self {
        Self { rotated: true, boxes: self.boxes.centered(), ..self }
    }

    /// Index of the output.
    pub fn output(&self) -> usize {
        self.output
    }

    /// Index of the output and its columns.
    pub fn columns<T: Shaped>(&self, outputs: &[T]) -> Result<(usize, usize), DetectError> {
        self.shape(outputs).map(|[_, columns]| (self.output, columns))
    }

    /// Format and unit of its boxes.
    pub fn coding(&self) -> &BoxCoding {
        &self.boxes
    }

    fn shape<T: Shaped>(&self, outputs: &[T]) -> Result<[usize; 2], DetectError> {
        let columns = self.format.columns() + self.more;
        if let Some(count) = self.count {
            check_list(self.kind, &outputs[count], 1)?;
        }
        check(self.kind, &outputs[self.output], || format!("[1, M, {columns}]"), |_, c| c == columns)
    }

    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        let [rows, columns] = self.shape(outputs)?;
        let tensor = &outputs[self.output];
        let [boxes, score, label] = self.format.places().map(|element| At { tensor, element });
        let lists = FinalLists {
            labels: Some(label),
            label_step: columns,
            count: self.count.map(|output| At { tensor: &outputs[output], element: 0 }),
            first_label: self.labels.first,
            last_class: self.labels.last_class,
        };
        Layout::new(Scoring::Final, Activation::None, 1)?
            .rows(columns, columns)
            .coded(self.boxes.parts())
            .rotated(self.rotated.then_some(columns - 1))?
            .with(score, boxes, Span::all(rows))?
            .finals(lists)
    }

    pub fn decode(&self, outputs: &[TensorView<'_>], into: &mut Collector<'_>) -> Result<(), DetectError> {
        let [rows, columns] = self.shape(outputs)?;
        let values = outputs[self.output].to_f32();
        let [boxes, scores, labels] =
            self.format.places().map(|first| Column { values: &values, first, step: columns });
        let angles = self.rotated.then_some(Column { values: &values, first: columns - 1, step: columns });
        let finals = Finals {
            boxes,
            angles,
            scores,
            labels: Some(labels),
            rows,
            count: finals::count(outputs, self.count),
        };
        finals.decode(self.labels, &self.boxes, into);
        Ok(())
    }
}
