//! What readers of outputs that are read on the host have in common.

use std::borrow::Cow;

use super::KeypointsError;
use crate::geometry::Affine;
use crate::peaks::Outcome;
use crate::tensor::{TensorDesc, TensorType, TensorView};

/// Reads a frame's row of outputs on the host: those that hold results already, and maps with tags.
pub trait RowReader {
    /// What a row holds.
    type Found;

    /// The outputs that it reads, in the order in which [`RowReader::run`] takes them.
    fn outputs(&self) -> &[TensorDesc];

    /// The results of the first row of `outputs`. `to_frame` leads from the input tensor's pixels to the frame's.
    ///
    /// # Errors
    /// [`KeypointsError::Changed`] for other outputs than those announced, [`KeypointsError::Count`] for another number of them.
    fn run(
        &mut self,
        outputs: &[TensorView<'_>],
        to_frame: &Affine,
    ) -> Result<(Self::Found, Outcome), KeypointsError>;
}

/// Whether an output may have these dimensions: those that are open, here or there, may be any.
pub(super) fn agrees(output: &TensorDesc, dims: &[Option<usize>]) -> bool {
    let agree = |(a, b): (&Option<usize>, &Option<usize>)| a.is_none() || b.is_none() || a == b;
    output.dims.len() == dims.len() && output.dims.iter().zip(dims).all(agree)
}

/// Whether an output may hold that many numbers for a frame, in whatever dimensions.
pub(super) fn holds(output: &TensorDesc, numbers: Option<usize>) -> bool {
    let [None | Some(1), of_frame @ ..] = &output.dims[..] else { return false };
    let all: Option<usize> = of_frame.iter().copied().product();
    all.zip(numbers).is_none_or(|(all, numbers)| all == numbers)
}

/// Checks that outputs belong to that of the coordinates: each has the dimensions that come with it.
///
/// # Errors
/// [`KeypointsError::Scores`] for the first that has others.
pub(super) fn belong<'a>(
    points: &TensorDesc,
    others: impl IntoIterator<Item = (&'a TensorDesc, &'a [Option<usize>])>,
) -> Result<(), KeypointsError> {
    match others.into_iter().find(|(output, dims)| !agrees(output, dims)) {
        None => Ok(()),
        Some((output, _)) => {
            Err(KeypointsError::Scores { points: points.to_string(), scores: output.to_string() })
        }
    }
}

/// Whether a place is empty, by the values of the output that says it, if there is one.
pub(super) fn is_empty(valid: Option<&Cow<'_, [f32]>>, place: usize) -> bool {
    valid.is_some_and(|valid| valid.get(place).is_none_or(|valid| *valid == 0.0))
}

/// Whether an output is the one that was announced, and holds at least `rows` rows.
pub(super) fn check(
    announced: &TensorDesc,
    name: &str,
    ty: TensorType,
    dims: &[usize],
    rows: usize,
) -> Result<(), KeypointsError> {
    let written = || TensorDesc::fixed(name, ty, dims).to_string();
    let same = ty == announced.ty
        && dims.len() == announced.dims.len()
        && dims.iter().zip(&announced.dims).skip(1).all(|(got, want)| want.is_none_or(|want| want == *got));
    if !same {
        return Err(KeypointsError::Changed { got: written(), declared: announced.to_string() });
    }
    match dims.first() {
        Some(first) if *first >= rows => Ok(()),
        _ => Err(KeypointsError::Rows { got: written(), wanted: rows }),
    }
}

/// The values of the first row of each output, after a check that they are those that were announced.
pub(super) fn first_rows<'a>(
    announced: &[TensorDesc],
    outputs: &[TensorView<'a>],
) -> Result<Vec<Cow<'a, [f32]>>, KeypointsError> {
    if announced.len() != outputs.len() {
        return Err(KeypointsError::Count { got: outputs.len(), wanted: announced.len() });
    }
    let row = |(announced, output): (&TensorDesc, &TensorView<'a>)| {
        check(announced, output.name, output.ty, &output.dims, 1)?;
        Ok(output.row(0).unwrap_or(*output).to_f32())
    };
    announced.iter().zip(outputs).map(row).collect()
}
