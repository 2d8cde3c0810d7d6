//! Where a model's numbers lie in its outputs, how its boxes are coded and how its confidences come about: plain data.
//!
//! A family ([`super::families`]) describes by it the outputs that it was offered, and two readers read by it: `reader` on the CPU, and
//! the kernels, for which `cuda/layout.rs` packs it. Both read what [`Layout::locate`] has found in the actual tensors.
//!
//! ```text
//! Layout --- tables: outputs, and the shape that each must have
//!        |-- grid: strides, cells and numbers of anchors, of boxes that are counted from cells
//!        |-- boxes: a field of a table, with the coding of its numbers
//!        |-- scores: the same, with what makes confidences of them
//!        `-- extra: the same of keypoints, mask coefficients and angles
//! ```

mod coding;
mod scoring;
mod table;

use super::attached::{Masks, Meaning};
use super::grid::Grid;
use super::{Activation, Background, DecoderKind};

pub(super) use coding::{BoxCoding, Centers, Coding};
pub(super) use scoring::{Finals, Labels, Ranking, Scores, Scoring};
pub(super) use table::{Anchors, Channels, Count, Field, Form, Shape, Table};

/// How a model's outputs are read. Anchors are what a box is made of each, whatever a family calls them: rows, cells, queries.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// What an error calls it.
    pub kind: DecoderKind,
    /// All tables that are read, in the order in which they are checked.
    pub tables: Vec<Table>,
    /// The cells that anchors belong to, stride by stride; none where boxes are not counted from cells, and the anchors are as many
    /// as the table of boxes has.
    pub grid: Option<Grid>,
    /// The first number of an anchor's box.
    pub boxes: Field,
    /// What the numbers of a box are.
    pub coding: Coding,
    /// The angle of an anchor's box, in radians, clockwise on the screen, where boxes are rotated; in the boxes' table.
    pub angle: Option<Field>,
    /// The first score of an anchor, background included.
    pub scores: Field,
    /// Numbers of an anchor that follow its last score in the same table.
    pub after_scores: usize,
    /// How a confidence comes about.
    pub scoring: Scoring,
    /// What makes scores probabilities.
    pub activation: Activation,
    /// Which of the scores is no class.
    pub background: Background,
    /// What there is of an object besides its box: the first of these numbers, and what they mean. Angles are not among them.
    pub extra: Option<(Field, Meaning)>,
    /// How masks are written, if they are.
    pub masks: Option<Masks>,
    /// How classes are ranked by the model's own library.
    pub ranking: Ranking,
}

impl Layout {
    /// Of `tables`, the first of which has the boxes at its first channel: boxes of that coding, and class scores, of which each is a
    /// class's, after them.
    pub fn new(kind: DecoderKind, tables: Vec<Table>, coding: Coding, activation: Activation) -> Self {
        Self {
            kind,
            tables,
            grid: None,
            boxes: Field::new(0, 0),
            coding,
            angle: None,
            scores: Field::new(0, 4),
            after_scores: 0,
            scoring: Scoring::Classes,
            activation,
            background: Background::None,
            extra: None,
            masks: None,
            ranking: Ranking::Best,
        }
    }

    /// The output that has a field, or the first of several.
    pub fn output_of(&self, field: Field) -> usize {
        self.tables.get(field.table).and_then(|table| table.outputs.first()).copied().unwrap_or(0)
    }

    /// Tensor pixels per unit of plain boxes.
    pub fn unit(&self) -> [f32; 2] {
        if let Coding::Plain(coding) = &self.coding { coding.unit } else { [1.0; 2] }
    }

    /// The order of the dimensions of raw heads.
    pub fn form(&self) -> Option<Form> {
        self.tables.iter().find_map(|table| match table.shape {
            Shape::Heads { form, .. } => Some(form),
            _ => None,
        })
    }

    /// Whether each box has one label, and not a score for each class.
    pub fn has_labels(&self) -> bool {
        matches!(self.scoring, Scoring::Final(_))
    }

    /// What is known of the scores.
    pub fn scores(&self) -> Scores {
        // The root of a product of two is between them.
        let factors = if matches!(self.scoring, Scoring::Objectness) { 2 } else { 1 };
        Scores { activation: self.activation, background: self.background, factors }
    }

    /// Whether boxes are in 0..1 of the tensor, not in its pixels; `None` where they are in neither.
    pub fn is_normalized(&self) -> Option<bool> {
        if let Coding::Plain(coding) = &self.coding { Some(coding.is_normalized()) } else { None }
    }

    /// Whether neighbouring scores are those of neighbouring anchors, not classes.
    pub fn by_columns(&self) -> bool {
        matches!(
            self.tables.get(self.scores.table).map(|table| table.shape),
            Some(Shape::Matrix { anchors: Anchors::Columns, .. } | Shape::Maps { channels_last: false, .. })
        )
    }

    /// Keypoints of each object.
    pub fn keypoints(&self) -> usize {
        match self.extra {
            Some((_, Meaning::Points(points))) => points.count,
            Some((_, Meaning::Around(count))) => count,
            _ => 0,
        }
    }
}
