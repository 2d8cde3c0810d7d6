//! Tables of numbers: the outputs of a model by the shapes that they must have, and places in them.

use crate::detect::grid::Level;

/// Outputs of one meaning: the numbers of each anchor, which are the table's channels.
#[derive(Clone, Debug)]
pub(in crate::detect) struct Table {
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
pub(in crate::detect) enum Shape {
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
pub(in crate::detect) enum Anchors {
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
pub(in crate::detect) enum Count {
    /// Any number, which errors call so.
    Any(&'static str),
    /// This many.
    Exactly(usize),
    /// As many as the table before.
    Same,
}

/// How many numbers an anchor has in a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::detect) enum Channels {
    /// This many.
    Exactly(usize),
    /// This number and a score for each of several classes, one at least.
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
pub(in crate::detect) enum Form {
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
pub(in crate::detect) struct Field {
    /// Which of the tables.
    pub table: usize,
    /// Which of its channels.
    pub channel: Channel,
}

/// A channel of a table whose number of channels may be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::detect) enum Channel {
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
