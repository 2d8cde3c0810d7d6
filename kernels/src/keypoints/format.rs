//! What the numbers of a point are, and how the numbers of an object become points.

use super::{CoordinateParams, KeypointsError};
use crate::tensor::TensorDesc;
use crate::words::Words as _;

/// The numbers of each point, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointFormat {
    /// Two coordinates.
    Xy,
    /// Two coordinates and a score.
    XyScore,
    /// Three coordinates.
    Xyz,
    /// Three coordinates and a score.
    XyzScore,
    /// Three coordinates and two scores: that the point is visible, and that it lies in the picture. The lesser one is the point's.
    XyzVisibilityPresence,
}

crate::words! { PointFormat:
    Xy = "xy", "Two coordinates";
    XyScore = "xy-score", "Two coordinates and a score (MoveNet)";
    Xyz = "xyz", "Three coordinates (MediaPipe's hands and faces)";
    XyzScore = "xyz-score", "Three coordinates and a score";
    XyzVisibilityPresence = "xyz-visibility-presence",
        "Three coordinates, and the scores that the point is visible and in the picture (BlazePose)";
}

impl PointFormat {
    /// How many numbers a point has.
    pub fn numbers(self) -> usize {
        self.coordinates() + self.scores()
    }

    /// How many of them, the first ones, are coordinates.
    pub fn coordinates(self) -> usize {
        match self {
            Self::Xy | Self::XyScore => 2,
            Self::Xyz | Self::XyzScore | Self::XyzVisibilityPresence => 3,
        }
    }

    /// How many of them, the last ones, are scores.
    pub fn scores(self) -> usize {
        match self {
            Self::Xy | Self::Xyz => 0,
            Self::XyScore | Self::XyzScore => 1,
            Self::XyzVisibilityPresence => 2,
        }
    }

    /// The one of points that have that many numbers, where nothing states it. A third number is a score, unless the scores have
    /// an output of their own.
    fn of(numbers: usize, has_scores: bool) -> Option<Self> {
        match (numbers, has_scores) {
            (2, _) => Some(Self::Xy),
            (3, false) => Some(Self::XyScore),
            (3, true) => Some(Self::Xyz),
            _ => None,
        }
    }
}

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
