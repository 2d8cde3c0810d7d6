//! Where a layout's numbers lie in actual tensors: their shapes are checked, and what was open is known.

use super::attached::{Angle, Extra, Meaning};
use super::grid::{Grid, Level};
use super::layout::{
    Anchors, Channels, Coding, Count, Field, Form, Layout, Scoring, Shape, Table,
};
use super::shaped::{Shaped, misshapen};
use super::{DecoderKind, DetectError};

/// A number's place in one frame's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    /// Index of the output.
    pub output: usize,
    /// The element there.
    pub element: usize,
}

/// How far numbers of one meaning are apart, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Steps {
    /// From an anchor's number to the next anchor's.
    pub anchor: usize,
    /// From an anchor's number to its next.
    pub channel: usize,
}

/// Where the first anchor's first number lies, and how far the others are from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strided {
    /// Where it lies.
    pub at: At,
    /// How far the others are.
    pub steps: Steps,
}

/// The anchors of one stride, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocatedLevel {
    /// Their cells; where there is no grid, one column of cells of a pixel.
    pub cells: Level,
    /// The first anchor's first score.
    pub scores: At,
    /// The first anchor's box.
    pub boxes: At,
    /// The first anchor's second score, of [`Scoring::Root`].
    pub second: Option<At>,
    /// The first anchor's first landmark, of [`Meaning::Around`].
    pub landmarks: Option<At>,
}

/// A layout's numbers in actual tensors.
#[derive(Clone, Debug)]
pub(super) struct Located {
    /// One for each stride, or one.
    pub levels: Vec<LocatedLevel>,
    /// How far scores are apart; second scores, too.
    pub scores: Steps,
    /// Scores of an anchor, background included.
    pub columns: usize,
    /// How far the numbers of boxes are apart.
    pub boxes: Steps,
    /// Which of the numbers from a box's first on is its angle, if it is rotated.
    pub angle: Option<usize>,
    /// Offsets of the centres of [`Coding::Centers`].
    pub offsets: Option<Strided>,
    /// Labels of [`Scoring::Final`].
    pub labels: Option<Strided>,
    /// The number of boxes of [`Scoring::Final`].
    pub count: Option<At>,
    /// What there is of an object besides its box.
    pub extra: Option<Extra>,
}

impl LocatedLevel {
    /// Whether an anchor of the model is one of these.
    pub fn has(&self, anchor: usize) -> bool {
        (self.cells.first..self.cells.first + self.cells.cells).contains(&anchor)
    }
}

impl Located {
    /// The level that an anchor belongs to.
    pub fn level_of(&self, anchor: usize) -> Option<&LocatedLevel> {
        self.levels.iter().find(|level| level.has(anchor))
    }
}

/// A table in actual tensors.
struct FoundTable {
    /// The outputs: one, or some for each level in the order of levels.
    outputs: Vec<usize>,
    /// Outputs of a level; 0 where one output has all levels.
    per_level: usize,
    anchors: usize,
    channels: usize,
    steps: Steps,
}

impl FoundTable {
    /// One output with the numbers of all anchors.
    fn one(table: &Table, [anchors, channels]: [usize; 2], steps: [usize; 2]) -> Self {
        let [anchor, channel] = steps;
        let outputs = table.outputs.clone();
        Self { outputs, per_level: 0, anchors, channels, steps: Steps { anchor, channel } }
    }
}

impl Layout {
    /// Where everything lies in these outputs, as many as were offered, for each of their frames.
    ///
    /// # Errors
    /// [`DetectError::Shape`] names an output that is not as the layout needs it.
    pub fn locate<T: Shaped>(&self, outputs: &[T]) -> Result<Located, DetectError> {
        let mut found = Vec::with_capacity(self.tables.len());
        let mut anchors = 0;
        for table in &self.tables {
            let one = self.find(table, anchors, outputs)?;
            anchors = one.anchors;
            found.push(one);
        }
        Ok(self.located(&found))
    }

    /// The table among the outputs; the one before it has that many `anchors`.
    fn find<T: Shaped>(
        &self,
        table: &Table,
        anchors: usize,
        outputs: &[T],
    ) -> Result<FoundTable, DetectError> {
        let first = table.outputs.first().copied().unwrap_or(0);
        let Some(tensor) = outputs.get(first) else {
            return Err(DetectError::Outputs { given: outputs.len(), wanted: first + 1 });
        };
        let needs = |wanted: String| misshapen(self.kind, tensor, wanted);
        let levels = || self.grid.as_ref().map_or(&[][..], |grid| &grid.levels);
        Ok(match table.shape {
            Shape::Matrix { anchors: side, count, channels } => {
                let count = if count == Count::Same { Count::Exactly(anchors) } else { count };
                let shape = matrix_of(self.kind, tensor, side, count, channels)?;
                let steps = match side {
                    Anchors::Columns => [1, shape[0]],
                    Anchors::Rows => [shape[1], 1],
                };
                FoundTable::one(table, shape, steps)
            }
            Shape::List if tensor.list() == Some(anchors) => FoundTable::one(table, [anchors, 1], [1, 1]),
            Shape::List => return Err(needs(format!("[1, {anchors}]"))),
            Shape::Number if tensor.list() == Some(1) => FoundTable::one(table, [anchors, 1], [1, 1]),
            Shape::Number => return Err(needs("[1, 1]".into())),
            Shape::Points { points, numbers } => {
                if tensor.points() != Some([anchors, points, numbers]) {
                    return Err(needs(format!("[1, {anchors}, {points}, {numbers}]")));
                }
                FoundTable::one(table, [anchors, points * numbers], [points * numbers, 1])
            }
            Shape::Maps { channels, channels_last } => {
                let cells = levels().first().map_or([0; 2], |level| [level.rows(), level.columns]);
                let [rows, columns] = cells;
                let dims = if channels_last { [rows, columns, channels] } else { [channels, rows, columns] };
                if tensor.maps() != Some(dims) {
                    let [a, b, c] = dims;
                    return Err(needs(format!("[1, {a}, {b}, {c}]")));
                }
                let steps = if channels_last { [channels, 1] } else { [1, rows * columns] };
                FoundTable::one(table, [rows * columns, channels], steps)
            }
            Shape::Prototypes(count) => {
                if tensor.maps().is_none_or(|[maps, ..]| maps != count) {
                    return Err(needs(format!("[1, {count}, h, w]")));
                }
                FoundTable::one(table, [anchors, count], [0, 0])
            }
            Shape::Levels { channels, times } => {
                let found = levels_of(self.kind, levels(), &table.outputs, outputs, [channels, times])?;
                let steps = Steps { anchor: channels, channel: 1 };
                FoundTable { outputs: found, per_level: times, anchors, channels, steps }
            }
            Shape::Heads { form, values } => {
                let found = heads_of(self.kind, levels(), &table.outputs, outputs, form, values)?;
                let steps = Steps { anchor: 0, channel: 1 };
                FoundTable { outputs: found, per_level: 1, anchors, channels: values, steps }
            }
        })
    }

    /// Of all tables.
    fn located(&self, found: &[FoundTable]) -> Located {
        let channel = |field: Field| field.of(found[field.table].channels);
        let strided = |field: Field| {
            let table = &found[field.table];
            let element = channel(field) * table.steps.channel;
            let at = At { output: self.output_of(field), element };
            Strided { at, steps: table.steps }
        };
        let at = |field: Field, index: usize, level: &Level, number: usize| {
            let table = &found[field.table];
            let element = channel(field) * table.steps.channel;
            match table.outputs.get(index * table.per_level + number) {
                Some(&output) if table.per_level > 0 => At { output, element },
                _ => At { output: table.outputs[0], element: element + level.first * table.steps.anchor },
            }
        };
        let around = self.extra.filter(|(_, meaning)| matches!(meaning, Meaning::Around(_)));
        let all = Grid::of_one(found[self.boxes.table].anchors, 1, 1);
        let levels = self.grid.as_ref().unwrap_or(&all).levels.iter().enumerate();
        let levels = levels.map(|(index, level)| LocatedLevel {
            cells: *level,
            scores: at(self.scores, index, level, 0),
            boxes: at(self.boxes, index, level, 0),
            second: matches!(self.scoring, Scoring::Root).then(|| at(self.scores, index, level, 1)),
            landmarks: around.map(|(field, _)| at(field, index, level, 0)),
        });
        let columns = match self.scoring {
            Scoring::Final(_) => 1,
            _ => found[self.scores.table].channels - channel(self.scores) - self.after_scores,
        };
        let offsets = if let Coding::Centers(centers) = &self.coding { centers.offsets } else { None };
        let finals = if let Scoring::Final(finals) = self.scoring { Some(finals) } else { None };
        let angle = self.angle.map(channel);
        let rotated = angle.map(|place| {
            (self.boxes, Meaning::Rotated(Angle { place, unit: self.unit() }))
        });
        Located {
            levels: levels.collect(),
            scores: found[self.scores.table].steps,
            columns,
            boxes: found[self.boxes.table].steps,
            angle,
            offsets: offsets.map(strided),
            labels: finals.and_then(|finals| finals.labels).map(strided),
            count: finals.and_then(|finals| finals.count).map(|field| strided(field).at),
            extra: rotated.or(self.extra).map(|(field, meaning)| extra_of(strided(field), meaning)),
        }
    }
}

/// What is read of an object besides its box.
fn extra_of(Strided { at, steps }: Strided, meaning: Meaning) -> Extra {
    // Of a row's number nothing is read but which one it is.
    let [step, value_step] =
        if matches!(meaning, Meaning::Row) { [0; 2] } else { [steps.anchor, steps.channel] };
    Extra { output: at.output, element: at.element, step, value_step, meaning }
}

/// Anchors and channels of a matrix, if they are as many as wanted.
fn matrix_of(
    kind: DecoderKind,
    tensor: &impl Shaped,
    side: Anchors,
    count: Count,
    channels: Channels,
) -> Result<[usize; 2], DetectError> {
    let is_right = |anchors: usize, found: usize| {
        let enough = match channels {
            Channels::Exactly(channels) => found == channels,
            Channels::Classes { others } => found > others,
        };
        enough && if let Count::Exactly(count) = count { anchors == count } else { true }
    };
    if let Some([rows, columns]) = tensor.shape() {
        let [anchors, found] = side.of(rows, columns);
        if is_right(anchors, found) {
            return Ok([anchors, found]);
        }
    }
    let count = match count {
        Count::Exactly(count) => count.to_string(),
        Count::Any(name) => name.into(),
        Count::Same => "N".into(),
    };
    let channels = match channels {
        Channels::Exactly(channels) => channels.to_string(),
        Channels::Classes { others: 0 } => "classes".into(),
        Channels::Classes { others } => format!("{others} + classes"),
    };
    let [rows, columns] = side.of(count, channels);
    Err(misshapen(kind, tensor, format!("[1, {rows}, {columns}]")))
}

/// The outputs of all levels among those of a table, `times` of each, in the order of levels.
fn levels_of<T: Shaped>(
    kind: DecoderKind,
    levels: &[Level],
    among: &[usize],
    outputs: &[T],
    [channels, times]: [usize; 2],
) -> Result<Vec<usize>, DetectError> {
    let is_of = |tensor: &T, level: &Level| tensor.shape() == Some([level.cells, channels]);
    let wanted = || {
        let rows: Vec<_> = levels.iter().map(|level| level.cells.to_string()).collect();
        let each = if times == 1 { "one output" } else { "as many outputs" };
        format!("[1, Ns, {channels}], {each} for each Ns of {}", rows.join(", "))
    };
    of_levels(kind, levels, among, outputs, times, is_of, wanted)
}

/// The raw heads of all levels among the outputs of a table, in the order of levels.
fn heads_of<T: Shaped>(
    kind: DecoderKind,
    levels: &[Level],
    among: &[usize],
    outputs: &[T],
    form: Form,
    values: usize,
) -> Result<Vec<usize>, DetectError> {
    let is_of = |tensor: &T, level: &Level| tensor.is_batch_of(&form.dims(level, values));
    let wanted = || {
        let dims = |level: &Level| {
            let dims: Vec<_> = form.dims(level, values).iter().map(ToString::to_string).collect();
            format!("[1, {}]", dims.join(", "))
        };
        let all: Vec<_> = levels.iter().map(dims).collect();
        format!("outputs {}, in any order", all.join(", "))
    };
    of_levels(kind, levels, among, outputs, 1, is_of, wanted)
}

/// The outputs `among` all of which `times` belong to each level, in the order of levels.
fn of_levels<T: Shaped>(
    kind: DecoderKind,
    levels: &[Level],
    among: &[usize],
    outputs: &[T],
    times: usize,
    is_of: impl Fn(&T, &Level) -> bool,
    wanted: impl FnOnce() -> String,
) -> Result<Vec<usize>, DetectError> {
    let tensors = || among.iter().filter_map(|&index| Some((index, outputs.get(index)?)));
    let mut found = Vec::with_capacity(among.len());
    for level in levels {
        let of_level = tensors().filter(|(_, tensor)| is_of(tensor, level)).map(|(index, _)| index);
        found.extend(of_level.take(times));
    }
    if found.len() == times * levels.len() {
        return Ok(found);
    }
    // One that is of no level, if there is one, is what is wrong.
    let is_known = |tensor: &T| levels.iter().any(|level| is_of(tensor, level));
    let wrong = tensors().find(|(_, tensor)| !is_known(tensor)).or_else(|| tensors().next());
    let outputs = DetectError::Outputs { given: outputs.len(), wanted: among.len() };
    Err(wrong.map_or(outputs, |(_, tensor)| misshapen(kind, tensor, wanted())))
}
