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

use std::sync::Arc;

use super::attached::{Masks, Meaning};
use super::grid::{Grid, Level};
use super::{Activation, AnchorFormula, Background, BoxFormat, DecoderKind, Hints, SizeUnit};

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

/// Outputs of one meaning: the numbers of each anchor, which are the table's channels.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// Indices of the outputs: one, or some for each level, in any order.
    pub outputs: Vec<usize>,
    /// What shape they must have.
    pub shape: Shape,
}

impl Table {
    /// One output.
    pub fn new(output: usize, shape: Shape) -> Self {
        Self { outputs: vec![output], shape }
    }

    /// A list of a number for each anchor.
    pub fn list(output: usize) -> Self {
        Self::new(output, Shape::List)
    }

    /// A matrix with a row for each anchor.
    pub fn rows(output: usize, count: Count, channels: Channels) -> Self {
        Self::new(output, Shape::Matrix { anchors: Anchors::Rows, count, channels })
    }

    /// Maps over the only level of the grid.
    pub fn maps(output: usize, channels: usize, channels_last: bool) -> Self {
        Self::new(output, Shape::Maps { channels, channels_last })
    }
}

/// The shape of a table. The dimension of the batch, the first, may be missing where one frame alone is read, but for maps and raw
/// heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `[1, N, channels]` or `[1, channels, N]`.
    Matrix {
        /// Which dimension is the anchors'.
        anchors: Anchors,
        /// How many there are.
        count: Count,
        /// Numbers of each.
        channels: Channels,
    },
    /// `[1, N]`: a number for each anchor of the table before.
    List,
    /// `[1, 1]`: one number.
    Number,
    /// `[1, N, points, numbers]`, of each anchor of the table before.
    Points {
        /// Points of an anchor.
        points: usize,
        /// Numbers of a point.
        numbers: usize,
    },
    /// `[1, channels, h, w]` or `[1, h, w, channels]` over the only level of the grid.
    Maps {
        /// Numbers of a cell.
        channels: usize,
        /// Whether they follow one another.
        channels_last: bool,
    },
    /// `[1, M, h, w]` of any size, which only masks are made of.
    Prototypes(usize),
    /// For each level that many matrices `[1, Ns, channels]`; their rows say which level is whose.
    Levels {
        /// Numbers of an anchor.
        channels: usize,
        /// Matrices of a level; their order distinguishes them.
        times: usize,
    },
    /// For each level a raw head of that many numbers an anchor.
    Heads {
        /// The order of the dimensions.
        form: Form,
        /// Numbers of an anchor.
        values: usize,
    },
}

/// Where a matrix has its anchors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchors {
    /// Each is a column; a channel is a row.
    Columns,
    /// Each is a row; a channel is a column.
    Rows,
}

impl Anchors {
    /// Both; the first is what the families' own exporters write.
    pub const ALL: [Self; 2] = [Self::Columns, Self::Rows];

    /// Anchors and channels of a matrix of these rows and columns.
    pub fn of<T>(self, rows: T, columns: T) -> [T; 2] {
        match self {
            Self::Columns => [columns, rows],
            Self::Rows => [rows, columns],
        }
    }
}

/// How many anchors a matrix has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// Any number, which errors call so.
    Any(&'static str),
    /// This many.
    Exactly(usize),
    /// As many as the table before.
    Same,
}

/// How many numbers an anchor has in a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channels {
    /// This many.
    Exactly(usize),
    /// So many and a score for each of some classes, one at least.
    Classes {
        /// Those that are no class's.
        others: usize,
    },
}

impl Channels {
    /// `others` and the scores of the classes, if their number is known.
    pub fn of(others: usize, classes: Option<usize>) -> Self {
        classes.map_or(Self::Classes { others }, |classes| Self::Exactly(others + classes))
    }
}

/// The order of a raw head's dimensions, of A anchors a cell and V numbers each; numbered as in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `[A * V, h, w]`
    Planes = 0,
    /// `[A, h, w, V]`
    ByAnchor = 1,
    /// `[h, w, A, V]`
    ByCell = 2,
    /// `[h, w, A * V]`, which lies in memory as the last one does.
    Joined = 3,
}

impl Form {
    /// All of them; the first is what Darknet writes.
    pub const ALL: [Self; 4] = [Self::Planes, Self::ByAnchor, Self::ByCell, Self::Joined];

    /// The dimensions of a level after the batch's, of that many numbers an anchor.
    pub fn dims(self, level: &Level, values: usize) -> Vec<usize> {
        let (anchors, w, h) = (level.per_cell, level.columns, level.rows());
        match self {
            Self::Planes => vec![anchors * values, h, w],
            Self::ByAnchor => vec![anchors, h, w, values],
            Self::ByCell => vec![h, w, anchors, values],
            Self::Joined => vec![h, w, anchors * values],
        }
    }

    /// Element of the first number of an anchor of a level, and elements from one number to the next. Anchors are numbered anchor of
    /// the cell by anchor of the cell, row by row.
    pub fn place(self, level: &Level, anchor: usize, values: usize) -> [usize; 2] {
        let cells = level.cells / level.per_cell;
        let (shape, cell) = (anchor / cells, anchor % cells);
        match self {
            Self::Planes => [shape * values * cells + cell, cells],
            Self::ByAnchor => [anchor * values, 1],
            Self::ByCell | Self::Joined => [(cell * level.per_cell + shape) * values, 1],
        }
    }
}

/// Where an anchor's number lies, or the first of several that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// Which of the tables.
    pub table: usize,
    /// Which of its channels.
    pub channel: Channel,
}

/// A channel of a table whose number of channels may be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    /// Counted from the first, which is 0.
    First(usize),
    /// Counted from the end: the last is 1.
    Last(usize),
}

impl Field {
    /// This channel of the table, from 0.
    pub fn new(table: usize, channel: usize) -> Self {
        Self { table, channel: Channel::First(channel) }
    }

    /// The first of the last `count` channels.
    pub fn last(table: usize, count: usize) -> Self {
        Self { table, channel: Channel::Last(count) }
    }

    /// The channel, where the table has that many.
    pub fn of(self, channels: usize) -> usize {
        match self.channel {
            Channel::First(channel) => channel,
            Channel::Last(count) => channels.saturating_sub(count),
        }
    }
}

/// What the numbers of a box are: four, if nothing else is said.
#[derive(Clone, Debug)]
pub(super) enum Coding {
    /// Corners, or a corner or the centre with the size.
    Plain(BoxCoding),
    /// Centre from the corner of the cell, in cells, and the logarithm of width and height in cells (YOLOX).
    Grid,
    /// For each side the logits of that many bins of its distance from the cell's point, in cells (DFL).
    Distances {
        /// Bins of a side.
        bins: usize,
        /// Where the point lies in the cell, in cells.
        point: f32,
    },
    /// Sizes around a cell's point.
    Centers(Centers),
    /// The distances of left, top, right and bottom from the corner of the cell, in cells.
    Sides,
    /// Offsets from prior boxes.
    Priors {
        /// Centre and size of each anchor's prior box in tensor pixels.
        boxes: Arc<[[f32; 4]]>,
        /// Factors on the offsets of the centre, and on the logarithms of the size.
        variances: [f32; 2],
    },
    /// Multiples of anchors' sizes.
    Anchored {
        /// What a box is made by.
        formula: AnchorFormula,
        /// Width, height and scale of the centre of each anchor of a cell, level by level.
        sizes: Arc<[[f32; 4]]>,
    },
}

/// How boxes lie around cells' points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Centers {
    /// Numbers of a size: 2, width and height, or 4, the distances of left, top, right and bottom.
    pub sides: usize,
    /// Their unit.
    pub unit: SizeUnit,
    /// Tensor pixels of 1 in [`SizeUnit::Pixels`].
    pub pixels: f32,
    /// Whether y comes before x, height before width, top before left.
    pub y_first: bool,
    /// Where the point lies in the cell, in cells.
    pub point: f32,
    /// What is added to it, x and y in cells; in the same order of dimensions as the boxes.
    pub offsets: Option<Field>,
    /// Whether each class of a cell has a box of its own, after that of the class before.
    pub of_each_class: bool,
}

/// Format and unit of a model's boxes.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoxCoding {
    /// What the four numbers are.
    pub format: BoxFormat,
    /// Tensor pixels per unit, in x and y.
    pub unit: [f32; 2],
}

impl BoxCoding {
    /// As the hints say, and where they do not, `format` and `normalized`.
    pub fn new(hints: &Hints, format: BoxFormat, normalized: bool, input: [usize; 2]) -> Self {
        let unit =
            if hints.normalized.unwrap_or(normalized) { input.map(|side| side as f32) } else { [1.0, 1.0] };
        Self { format: hints.box_format.unwrap_or(format), unit }
    }

    /// Whether they are in 0..1 of the tensor, not in its pixels.
    pub fn is_normalized(&self) -> bool {
        self.unit != [1.0, 1.0]
    }

    /// Of centre and size, in the same unit.
    pub fn centered(self) -> Self {
        Self { format: BoxFormat::CenterSize, ..self }
    }
}

/// How an anchor's confidence comes about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scoring {
    /// It is that of its best class, after the activation.
    Classes,
    /// Objectness, the number after the box's four, times its best class.
    Objectness,
    /// Its only score is the confidence of a box that the model has chosen, whose class is a label.
    Final(Finals),
    /// As [`Scoring::Classes`], if no neighbouring cell's score is higher in that class.
    Peaks,
    /// The root of its score times that in the level's second output of the same table, each in 0..1.
    Root,
}

/// What there is of final boxes besides boxes and confidences.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finals {
    /// A box's label; none where all boxes are of class 0.
    pub labels: Option<Field>,
    /// The number of boxes, if the model says it.
    pub count: Option<Field>,
    /// What labels mean.
    pub meaning: Labels,
}

/// Above 2^24 float32 cannot tell one class from the next.
const LAST_CLASS: f32 = 16_777_216.0;

/// What labels mean.
#[derive(Clone, Copy, Debug)]
pub(super) struct Labels {
    /// The first class's label: 1 where 0 is the background.
    pub first: u32,
    /// The last class.
    pub last_class: f32,
}

impl Labels {
    /// As the hints say, and without them with the background first or not. Of that many `classes`, where that is known.
    pub fn new(hints: &Hints, background_first: bool, classes: Option<usize>) -> Self {
        let first = hints.background.map_or(background_first, |background| background == Background::First);
        let last_class = classes.map_or(LAST_CLASS, |classes| (classes as f32 - 1.0).min(LAST_CLASS));
        Self { first: u32::from(first), last_class }
    }
}

/// How the model's own library ranks classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ranking {
    /// The best class of each anchor.
    Best,
    /// All classes of all anchors, of which it keeps that many if the number is known.
    All {
        /// How many.
        kept: Option<usize>,
    },
}

/// What is known of the scores before the first tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scores {
    /// What is applied to a score.
    pub activation: Activation,
    /// Which column is the background.
    pub background: Background,
    /// Scores whose product a confidence is.
    pub factors: i32,
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

    /// The output of the boxes, or the first of them.
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
            Some(
                Shape::Matrix { anchors: Anchors::Columns, .. } | Shape::Maps { channels_last: false, .. }
            )
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
