//! Attributes of convolutions and pooling: where they look.

use super::super::call::Call;
use crate::graph::{Refusal, Window};

/// Padding that is calculated from the dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoPad {
    /// It is stated.
    Stated,
    /// None.
    Valid,
    /// So much that there is an output for each stride of the input; what cannot be halved comes after the last cell.
    SameUpper,
    /// The same, but before the first one.
    SameLower,
}

/// What attributes say: along one or two axes.
pub struct Attributes {
    /// For two axes; of one axis, the first has a kernel of 1.
    pub window: Window,
    /// What its pads are instead.
    pub auto_pad: AutoPad,
    /// How many axes the model has.
    pub axes: usize,
}

/// The largest number in these attributes: far more than any image has.
const MOST: i64 = 1 << 24;

/// Reads the attributes of a node whose image has `axes` dimensions beside batch and channels. `kernel` are the weights' dimensions, where
/// there are any.
///
/// # Errors
/// There are other than one or two axes, or the attributes contradict that.
pub fn read(call: &Call<'_>, axes: usize, kernel: Option<&[usize]>) -> Result<Attributes, Refusal> {
    if !(1..=2).contains(&axes) {
        return Err(Refusal::unsupported(format!(
            "its image has {axes} dimensions beside batch and channels"
        )));
    }
    let kernel = match (call.ints("kernel_shape"), kernel) {
        (stated, Some(own)) => {
            let fits = |stated: &[i64]| {
                stated.iter().copied().eq(own.iter().map(|dim| crate::graph::number::signed(*dim)))
            };
            if !stated.is_none_or(fits) {
                return Err(Refusal::invalid(format!("kernel_shape is {stated:?}, its weights are {own:?}")));
            }
            two(own, axes, 1)?
        }
        (Some(stated), None) => two(&positive(stated)?, axes, 1)?,
        (None, None) => return Err(Refusal::invalid("it has no kernel_shape")),
    };
    let lengths = |name: &str| two(&positive(call.ints(name).unwrap_or(&[1, 1][..axes]))?, axes, 1);
    let (begin, end) = pads(call.ints("pads").unwrap_or(&[0; 4][..axes * 2]), axes)?;
    let auto_pad = match call.text("auto_pad", "NOTSET") {
        "NOTSET" | "" => AutoPad::Stated,
        "VALID" => AutoPad::Valid,
        "SAME_UPPER" => AutoPad::SameUpper,
        "SAME_LOWER" => AutoPad::SameLower,
        other => return Err(Refusal::invalid(format!("auto_pad is '{other}'"))),
    };
    let (strides, dilations) = (lengths("strides")?, lengths("dilations")?);
    let window = Window { kernel, strides, dilations, begin, end };
    Ok(Attributes { window, auto_pad, axes })
}

impl Attributes {
    /// The window over an image of these rows and columns.
    pub fn over(&self, image: [usize; 2]) -> Window {
        let mut window = self.window;
        if self.auto_pad == AutoPad::Stated {
            return window;
        }
        for (axis, length) in image.into_iter().enumerate() {
            let outputs = length.div_ceil(window.strides[axis]);
            let needed = outputs.saturating_sub(1) * window.strides[axis] + window.extent(axis);
            let total = if self.auto_pad == AutoPad::Valid { 0 } else { needed.saturating_sub(length) };
            (window.begin[axis], window.end[axis]) = self.halves(total.cast_signed());
        }
        window
    }

    /// A number of cells before the first and after the last one.
    pub fn halves(&self, total: isize) -> (isize, isize) {
        let less = total.div_euclid(2);
        if self.auto_pad == AutoPad::SameUpper { (less, total - less) } else { (total - less, less) }
    }
}

/// Positive numbers below [`MOST`].
fn positive(values: &[i64]) -> Result<Vec<usize>, Refusal> {
    let known = |value: &i64| usize::try_from(*value).ok().filter(|_| (1..=MOST).contains(value));
    let all = values.iter().map(known).collect::<Option<_>>();
    all.ok_or_else(|| Refusal::invalid(format!("its window has {values:?}")))
}

/// Numbers of rows and columns; `missing` for the rows where there is one axis.
fn two(values: &[usize], axes: usize, missing: usize) -> Result<[usize; 2], Refusal> {
    match *values {
        [columns] if axes == 1 => Ok([missing, columns]),
        [rows, columns] if axes == 2 => Ok([rows, columns]),
        _ => Err(Refusal::invalid(format!("its window has {values:?} for {axes} axes"))),
    }
}

/// ONNX's pads: those before the first cells, then those after the last ones.
fn pads(values: &[i64], axes: usize) -> Result<([isize; 2], [isize; 2]), Refusal> {
    let known = |value: &i64| isize::try_from(*value).ok().filter(|_| (-MOST..=MOST).contains(value));
    let all: Option<Vec<isize>> = values.iter().map(known).collect();
    match (all.as_deref(), axes) {
        (Some([left, right]), 1) => Ok(([0, *left], [0, *right])),
        (Some([top, left, bottom, right]), 2) => Ok(([*top, *left], [*bottom, *right])),
        _ => Err(Refusal::invalid(format!("its pads are {values:?} for {axes} axes"))),
    }
}
