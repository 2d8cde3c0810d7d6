//! How the numbers of an object become points.

use super::{CoordinateParams, KeypointsError, PointFormat};
use crate::tensor::TensorDesc;
use crate::words::Words as _;

/// The points of an object in an output.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointLayout {
    pub format: PointFormat,
    /// How many there are; `None` where the output's description leaves it open.
    pub points: Option<usize>,
}

impl PointLayout {
    /// Of the dimensions of `output` that an object has: `[K, V]`, or `[K*V]` where [`CoordinateParams::format`] or
    /// [`CoordinateParams::points`] says what these are. `has_scores` if there is an output with the points' scores.
    ///
    /// # Errors
    /// The [`KeypointsError`] that says what does not fit or is not known.
    pub fn new(
        output: &TensorDesc,
        object: &[Option<usize>],
        has_scores: bool,
        params: &CoordinateParams,
    ) -> Result<Self, KeypointsError> {
        let stated = params.format;
        if let Some(format) = stated.filter(|format| has_scores && format.scores() > 0) {
            return Err(KeypointsError::ScoredTwice(format.word()));
        }
        let of = |numbers: usize| match stated {
            Some(format) => Some(format).filter(|format| format.numbers() == numbers),
            None => PointFormat::of(numbers, has_scores),
        };
        let output = || output.to_string();
        let unfit = || match stated {
            Some(format) => {
                KeypointsError::Format { output: output(), format: format.word(), numbers: format.numbers() }
            }
            None => KeypointsError::PointsShape(output()),
        };
        match (object, stated, params.points) {
            (&[_, Some(_)], Some(PointFormat::XyThenScores), _) => Err(unfit()),
            (&[points, Some(numbers)], ..) => {
                let format = of(numbers).ok_or_else(unfit)?;
                Ok(Self { format, points })
            }
            (&[Some(all)], Some(format), _) if all.is_multiple_of(format.numbers()) => {
                Ok(Self { format, points: Some(all / format.numbers()) })
            }
            (&[Some(all)], None, Some(points)) => {
                let format = Some(all).filter(|all| points > 0 && all.is_multiple_of(points));
                let format = format.and_then(|all| of(all / points));
                let format = format.ok_or_else(|| KeypointsError::Named { output: output(), all, points })?;
                Ok(Self { format, points: Some(points) })
            }
            (&[Some(all)], None, None) => Err(KeypointsError::Undivided { output: output(), all }),
            _ => Err(unfit()),
        }
    }
}
