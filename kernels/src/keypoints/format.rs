//! What the numbers of a point are.

use std::borrow::Cow;

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
    /// Two coordinates of each point of an object, then a score of each.
    XyThenScores,
    /// Three coordinates and two scores: that the point is visible, and that it lies in the picture. The lesser one is the point's.
    XyzVisibilityPresence,
}

crate::words! { PointFormat:
    Xy = "xy", "Two coordinates";
    XyScore = "xy-score", "Two coordinates and a score (MoveNet)";
    Xyz = "xyz", "Three coordinates (MediaPipe's hands and faces)";
    XyzScore = "xyz-score", "Three coordinates and a score";
    XyThenScores = "xy-then-scores", "Two coordinates of each point, then a score of each (ED-Pose)";
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
            Self::Xy | Self::XyScore | Self::XyThenScores => 2,
            Self::Xyz | Self::XyzScore | Self::XyzVisibilityPresence => 3,
        }
    }

    /// How many of them, the last ones, are scores.
    pub fn scores(self) -> usize {
        match self {
            Self::Xy | Self::Xyz => 0,
            Self::XyScore | Self::XyzScore | Self::XyThenScores => 1,
            Self::XyzVisibilityPresence => 2,
        }
    }

    /// The points of an object of these numbers: the numbers of each, its coordinates before its scores.
    pub(super) fn points(self, object: &[f32]) -> impl Iterator<Item = Cow<'_, [f32]>> {
        let count = object.len() / self.numbers();
        let (coordinates, scores) = object.split_at(self.coordinates() * count);
        (0..count).filter_map(move |point| match self {
            Self::XyThenScores => {
                Some([coordinates.get(2 * point..2 * point + 2)?, scores.get(point..=point)?].concat().into())
            }
            _ => Some(object.get(point * self.numbers()..(point + 1) * self.numbers())?.into()),
        })
    }

    /// The one of points that have that many numbers, where nothing states it. A third number is a score, unless the scores have
    /// an output of their own.
    pub(super) fn of(numbers: usize, has_scores: bool) -> Option<Self> {
        match (numbers, has_scores) {
            (2, _) => Some(Self::Xy),
            (3, false) => Some(Self::XyScore),
            (3, true) => Some(Self::Xyz),
            _ => None,
        }
    }
}
