//! The tables of a layout among actual tensors: each has the shape that it must have, or the error tells which has not.

use crate::detect::grid::Level;
use crate::detect::layout::{Anchors, Channels, Count, Field, Form, Shape, Table};
use crate::detect::shaped::{Shaped, misshapen};
use crate::detect::{DecoderKind, DetectError};

/// A number's place in one frame's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::detect) struct At {
    /// Index of the output.
    pub output: usize,
    /// The element there.
    pub element: usize,
}

/// How far numbers of one meaning are apart, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::detect) struct Steps {
    /// From an anchor's number to the next anchor's.
    pub anchor: usize,
    /// From an anchor's number to its next.
    pub channel: usize,
}

/// A table in actual tensors.
pub(super) struct FoundTable {
    /// Where it is.
    outputs: FoundOutputs,
    /// Anchors that it has numbers of; those of the table before where it is no table of anchors.
    pub anchors: usize,
    /// Numbers of an anchor.
    pub channels: usize,
    /// How far they are apart.
    pub steps: Steps,
}

/// The outputs of a table.
enum FoundOutputs {
    /// One with the numbers of all anchors.
    One(usize),
    /// That many for each level, in the order of levels.
    Levels(Vec<usize>, usize),
}

impl FoundTable {
    /// The table among the outputs, over these levels; the one before it has that many anchors.
    pub fn find<T: Shaped>(
        kind: DecoderKind,
        table: &Table,
        levels: &[Level],
        before: usize,
        outputs: &[T],
    ) -> Result<Self, DetectError> {
        let of_levels = |found: Vec<usize>, times: usize, channels: usize, anchor: usize| Self {
            outputs: FoundOutputs::Levels(found, times),
            anchors: before,
            channels,
            steps: Steps { anchor, channel: 1 },
        };
        let output = table.outputs.first().copied().unwrap_or(0);
        let given = outputs.len();
        let tensor = outputs.get(output).ok_or(DetectError::Outputs { given, wanted: output + 1 })?;
        let found = match table.shape {
            Shape::Levels { channels, times } => {
                let found = levels_of(kind, levels, &table.outputs, outputs, [channels, times])?;
                return Ok(of_levels(found, times, channels, channels));
            }
            Shape::Heads { form, values } => {
                let found = heads_of(kind, levels, &table.outputs, outputs, form, values)?;
                return Ok(of_levels(found, 1, values, 0));
            }
            Shape::Matrix { anchors, count: Count::Same, channels } => {
                matrix(tensor, anchors, Count::Exactly(before), channels)
            }
            Shape::Matrix { anchors, count, channels } => matrix(tensor, anchors, count, channels),
            Shape::List => list(tensor, before, before),
            Shape::Number => list(tensor, 1, before),
            Shape::Points { points, numbers } => points_of(tensor, before, [points, numbers]),
            Shape::Maps { channels, channels_last } => maps(tensor, levels.first(), channels, channels_last),
            Shape::Prototypes(count) => prototypes(tensor, before, count),
        };
        let Numbers { anchors, channels, steps } = found.map_err(|wanted| misshapen(kind, tensor, wanted))?;
        Ok(Self { outputs: FoundOutputs::One(output), anchors, channels, steps })
    }

    /// Where the first number of a field lies for the first anchor of a level, which has this index; of several outputs of the level in
    /// that of this number.
    pub fn at(&self, field: Field, index: usize, level: &Level, number: usize) -> At {
        let element = field.of(self.channels) * self.steps.channel;
        match &self.outputs {
            FoundOutputs::One(output) => {
                At { output: *output, element: element + level.first * self.steps.anchor }
            }
            FoundOutputs::Levels(outputs, times) => {
                At { output: outputs.get(index * times + number).copied().unwrap_or(0), element }
            }
        }
    }
}

/// Anchors and numbers of each in one output. Where an output has another shape, the functions below give the one that it should have.
struct Numbers {
    anchors: usize,
    channels: usize,
    steps: Steps,
}

impl Numbers {
    fn new([anchors, channels]: [usize; 2], [anchor, channel]: [usize; 2]) -> Self {
        Self { anchors, channels, steps: Steps { anchor, channel } }
    }
}

/// Anchors and channels of a matrix, if they are as many as wanted.
fn matrix(tensor: &impl Shaped, side: Anchors, count: Count, channels: Channels) -> Result<Numbers, String> {
    let is_right = |[anchors, found]: &[usize; 2]| {
        let enough = match channels {
            Channels::Exactly(channels) => *found == channels,
            Channels::Classes { others } => *found > others,
        };
        enough && if let Count::Exactly(count) = count { *anchors == count } else { true }
    };
    let found = tensor.shape().map(|[rows, columns]| side.of(rows, columns));
    if let Some([anchors, channels]) = found.filter(is_right) {
        let steps = match side {
            Anchors::Columns => [1, anchors],
            Anchors::Rows => [channels, 1],
        };
        return Ok(Numbers::new([anchors, channels], steps));
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
    Err(format!("[1, {rows}, {columns}]"))
}

/// A list of that many numbers.
fn list(tensor: &impl Shaped, length: usize, anchors: usize) -> Result<Numbers, String> {
    if tensor.list() == Some(length) {
        Ok(Numbers::new([anchors, 1], [1, 1]))
    } else {
        Err(format!("[1, {length}]"))
    }
}

/// That many points of as many numbers each, for every anchor.
fn points_of(tensor: &impl Shaped, anchors: usize, [points, numbers]: [usize; 2]) -> Result<Numbers, String> {
    let all = points * numbers;
    if tensor.points() == Some([anchors, points, numbers]) {
        Ok(Numbers::new([anchors, all], [all, 1]))
    } else {
        Err(format!("[1, {anchors}, {points}, {numbers}]"))
    }
}

/// That many prototypes; they are no numbers of anchors.
fn prototypes(tensor: &impl Shaped, anchors: usize, count: usize) -> Result<Numbers, String> {
    match tensor.maps() {
        Some([maps, ..]) if maps == count => Ok(Numbers::new([anchors, count], [0, 0])),
        _ => Err(format!("[1, {count}, h, w]")),
    }
}

/// Maps of these cells.
fn maps(
    tensor: &impl Shaped,
    cells: Option<&Level>,
    channels: usize,
    channels_last: bool,
) -> Result<Numbers, String> {
    let [rows, columns] = cells.map_or([0; 2], |level| [level.rows(), level.columns]);
    let dims = if channels_last { [rows, columns, channels] } else { [channels, rows, columns] };
    if tensor.maps() != Some(dims) {
        let [a, b, c] = dims;
        return Err(format!("[1, {a}, {b}, {c}]"));
    }
    let steps = if channels_last { [channels, 1] } else { [1, rows * columns] };
    Ok(Numbers::new([rows * columns, channels], steps))
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
