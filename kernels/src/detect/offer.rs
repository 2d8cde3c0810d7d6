//! A model's outputs as matrices, and how well a decoder fits them.

use crate::tensor::{TensorDesc, TensorType};

use super::grid::{Grid, is_pyramid};
use super::layout::Layout;
use super::shaped::matrix;
use super::text::TextMap;
use super::{Activation, Hints};

/// An output that can be read as a matrix: dimensions of 1 around it are left away.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    /// Index among the outputs.
    pub output: usize,
    /// Rows, if the model fixes them.
    pub rows: Option<usize>,
    /// Columns, if the model fixes them.
    pub columns: Option<usize>,
}

/// An output that can be read as maps: one frame's, of four dimensions that are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Maps {
    /// Index among the outputs.
    pub output: usize,
    /// All but the batch.
    pub dims: [usize; 3],
}

/// How sure a fit is; the best-proven fits of an offer win. Several decoders with the same evidence are an error unless one is asked
/// for: a name is no better than a number of anchors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Evidence {
    /// The shape can be read so, but the number of anchors is not what these strides give, or the one dimension
    /// that would tell is open.
    Weak,
    /// The shape can be read so, and there is no number to check.
    Open,
    /// The number of anchors is right, or a name or a hint says what the output is.
    Exact,
}

/// How outputs are decoded.
#[derive(Clone, Debug)]
pub(super) enum Decoding {
    /// As boxes of anchors, by a description of them.
    Layout(Box<Layout>),
    /// As a map of text.
    Text(TextMap),
}

impl Decoding {
    /// The description of boxes; none of a map of text.
    pub fn layout(&self) -> Option<&Layout> {
        if let Self::Layout(layout) = self { Some(layout) } else { None }
    }
}

/// One way to read an offer.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    /// How sure it is.
    pub evidence: Evidence,
    /// How to read it.
    pub decoding: Decoding,
    /// Classes, where known.
    pub classes: Option<usize>,
    /// Outputs it reads; unless it is asked for, these must be all that are relevant ([`Offer::relevant`]).
    pub reads: usize,
    /// Whether so much speaks for other readings that it must be asked for.
    pub far_fetched: bool,
}

impl Fit {
    /// By this layout, which reads one output and need not be asked for.
    pub fn new(evidence: Evidence, layout: Layout, classes: Option<usize>) -> Self {
        let decoding = Decoding::Layout(Box::new(layout));
        Self { evidence, decoding, classes, reads: 1, far_fetched: false }
    }

    /// Which reads that many outputs.
    pub fn reading(self, reads: usize) -> Self {
        Self { reads, ..self }
    }

    /// Which must be asked for if `far_fetched`.
    pub fn far_fetched(self, far_fetched: bool) -> Self {
        Self { far_fetched, ..self }
    }
}

/// Fewer rows may be as many as the anchors by chance.
const FEWEST_ANCHORS: usize = 64;

/// A model's outputs and what is known about them.
#[derive(Debug)]
pub(super) struct Offer<'a> {
    /// As the model describes them.
    pub outputs: &'a [TensorDesc],
    /// Those of them that are matrices of floats.
    pub planes: Vec<Plane>,
    /// Those of them that are maps of floats.
    pub maps: Vec<Maps>,
    /// Width and height of the input tensor.
    pub input: [usize; 2],
    /// What shapes do not say.
    pub hints: &'a Hints,
    /// Cells of `hints.strides`.
    pub grid: Grid,
}

impl<'a> Offer<'a> {
    /// Reads the outputs' shapes; the hints are valid.
    pub fn new(outputs: &'a [TensorDesc], input: [usize; 2], hints: &'a Hints) -> Self {
        let is_float = |t: &TensorDesc| matches!(t.ty, TensorType::Float32 | TensorType::Float16);
        let floats = outputs.iter().enumerate().filter(|(_, t)| is_float(t));
        // An open batch dimension is taken for 1 here; the actual tensor is checked again.
        let is_single = |batch: Option<usize>| batch.is_none_or(|n| n == 1);
        let planes = floats.clone().filter_map(|(output, t)| {
            let [rows, columns] = matrix(&t.dims, Some(1), is_single)?;
            Some(Plane { output, rows, columns })
        });
        let maps = floats.filter_map(|(output, t)| match t.dims[..] {
            [batch, Some(a), Some(b), Some(c)] if is_single(batch) => Some(Maps { output, dims: [a, b, c] }),
            _ => None,
        });
        let (planes, maps) = (planes.collect(), maps.collect());
        Self { outputs, planes, maps, input, hints, grid: Grid::new(input, &hints.strides) }
    }

    /// Whether an output is of floats.
    pub fn is_float(&self, output: usize) -> bool {
        self.outputs.get(output).is_some_and(|t| matches!(t.ty, TensorType::Float32 | TensorType::Float16))
    }

    /// Outputs that a decoder must account for before it may be chosen unasked: all but those of five dimensions,
    /// the raw heads that YOLOv5's exports carry beside the decoded output.
    pub fn relevant(&self) -> usize {
        self.outputs.iter().filter(|t| t.dims.len() < 5).count()
    }

    /// Whether `columns` are `fixed` ones and the classes'; gives the number of classes where either side knows it.
    pub fn classes_in(&self, columns: Option<usize>, fixed: usize) -> Option<Option<usize>> {
        let classes = match columns {
            Some(columns) => Some(columns.checked_sub(fixed).filter(|c| *c > 0)?),
            None => self.hints.classes,
        };
        (self.hints.classes.is_none() || self.hints.classes == classes).then_some(classes)
    }

    /// Whether an output has a row for each anchor, one or three of a cell, at the strides or at usual ones.
    pub fn has_anchors(&self, output: usize) -> bool {
        let rows = self.planes.iter().find(|plane| plane.output == output).and_then(|plane| plane.rows);
        rows.is_some_and(|rows| rows >= FEWEST_ANCHORS)
            && [1, 3].map(|per_cell| self.evidence(rows, per_cell, false)).contains(&Evidence::Exact)
    }

    /// What `anchors` say for a model with `per_cell` of them, where `known_strides` are needed to decode or
    /// any usual strides will do.
    pub fn evidence(&self, anchors: Option<usize>, per_cell: usize, known_strides: bool) -> Evidence {
        let Some(anchors) = anchors else { return Evidence::Open };
        let cells = anchors / per_cell;
        let whole = anchors.is_multiple_of(per_cell);
        if whole && (cells == self.grid.cells || !known_strides && is_pyramid(cells, self.input)) {
            Evidence::Exact
        } else if self.grid.is_even(self.input) {
            Evidence::Weak
        } else {
            Evidence::Open
        }
    }

    /// What the hints say makes scores probabilities; nothing if they do not.
    pub fn activation(&self) -> Activation {
        self.hints.activation.unwrap_or(Activation::None)
    }

    /// The fits of each plane that `fit` can read.
    pub fn of_each_plane(&self, fit: impl Fn(&Plane) -> Option<Fit>) -> Vec<Fit> {
        self.planes.iter().filter_map(fit).collect()
    }

    /// `C`, or how many.
    pub fn class_term(&self) -> String {
        self.hints.classes.map_or_else(|| "C".into(), |c| c.to_string())
    }

    /// "strides 8, 16, 32 at 640x480".
    pub fn grid_term(&self) -> String {
        let strides: Vec<_> = self.hints.strides.iter().map(ToString::to_string).collect();
        format!("strides {} at {}x{}", strides.join(", "), self.input[0], self.input[1])
    }
}

/// Whether a reading as anchors and channels is believable: more anchors than channels, as far as both are known.
pub(super) fn is_tall(anchors: Option<usize>, channels: Option<usize>) -> bool {
    !matches!((anchors, channels), (Some(anchors), Some(channels)) if anchors <= channels)
}
