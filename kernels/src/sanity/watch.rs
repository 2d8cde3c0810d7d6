//! Which frames of a model are looked at, and what is suspected.

use super::{Activation, Expected, Glance, PointSurvey, Survey};

/// No frame after this one is surveyed.
pub const LAST: usize = 100;

/// The number of frames that are surveyed in a row at first, and the distance between the following ones.
const FIRST: usize = 4;
const STEP: usize = 25;
/// The most frames whose tensors are downloaded from a GPU.
const MOST_DOWNLOADS: usize = 4;
/// Fewer scores than this may all lie in a range, or be the same, by chance.
const FEWEST_SCORES: usize = 16;
/// Fewer boxes than this may lie on each other by chance.
const FEWEST_BOXES: usize = 8;
/// Corners of boxes in 0..1 may be a little outside of it.
const LARGEST_FRACTION: f32 = 2.0;
/// Rounding of float16, where a confidence is compared with the end of a range.
const ROUNDING: f32 = 2e-3;

/// What cannot be right about a model's outputs, or how they are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Suspicion {
    /// All scores of a frame are NaN or infinite.
    NonFinite {
        /// How many.
        scores: usize,
    },
    /// Scores that should be probabilities are outside of 0..1.
    Outside {
        /// The least.
        lowest: f32,
        /// The greatest.
        highest: f32,
    },
    /// An activation is applied to scores that are probabilities already.
    Twice {
        /// The activation.
        activation: Activation,
    },
    /// All scores of all frames that were looked at are the same.
    Constant {
        /// The score.
        score: f32,
    },
    /// Boxes that should be in pixels of the input tensor are all within two pixels of its corner.
    Fractions {
        /// The coordinate that is farthest from 0.
        farthest: f32,
    },
    /// Nearly all boxes are far outside of the input tensor.
    Far {
        /// The coordinate that is farthest from 0, in pixels of the input tensor.
        farthest: f32,
    },
    /// More than half of all points are outside of the input tensor by more than its size.
    FarPoints(PointSurvey),
    /// More than half of all points that should be fractions of the input tensor's size are below 0, and none far from it.
    PointsBefore(PointSurvey),
    /// At least half of a frame's boxes lie on a stronger one of their class, though the model should have suppressed them.
    Repeated {
        /// How many.
        repeated: usize,
        /// Boxes that were compared with each other.
        boxes: usize,
    },
    /// A result is of a class that has no name.
    Class {
        /// The class.
        class: u32,
        /// Number of names.
        labels: usize,
    },
    /// Nothing was found in [`LAST`] frames. It may be that nothing is in the picture.
    NothingFound {
        /// The best confidence of the frames that were looked at.
        best: f32,
        /// The confidence that a result needs.
        threshold: f32,
    },
}

impl Suspicion {
    /// Its bit in [`Watch::reported`].
    fn bit(&self) -> u16 {
        match self {
            Self::NonFinite { .. } => 1,
            Self::Outside { .. } => 1 << 1,
            Self::Twice { .. } => 1 << 2,
            Self::Constant { .. } => 1 << 3,
            Self::Fractions { .. } => 1 << 4,
            Self::Far { .. } => 1 << 5,
            Self::Class { .. } => 1 << 6,
            Self::NothingFound { .. } => 1 << 7,
            Self::Repeated { .. } => 1 << 8,
            Self::FarPoints(_) => 1 << 9,
            Self::PointsBefore(_) => 1 << 10,
        }
    }
}

/// Surveys the first frames of a model.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    frames: usize,
    surveyed: usize,
    total: Survey,
    found: bool,
    reported: u16,
}

impl Watch {
    /// Whether no more frames will be surveyed.
    pub fn is_over(&self) -> bool {
        self.frames >= LAST
    }

    /// Counts a frame, and returns whether its outputs are wanted for [`Watch::judge`]. Outputs on a GPU have to be downloaded
    /// for it: those of the first and the last frame if nothing has been found, and of a few whose results are doubtful.
    pub fn wants(&mut self, glance: &Glance, expected: &Expected, on_gpu: bool) -> bool {
        if self.is_over() {
            return false;
        }
        self.frames += 1;
        self.found |= glance.found > 0;
        if !on_gpu {
            return self.frames <= FIRST || self.frames.is_multiple_of(STEP);
        }
        let empty = !self.found && (self.frames == 1 || self.frames == LAST);
        empty || self.surveyed < MOST_DOWNLOADS && self.reported == 0 && is_doubtful(glance, expected)
    }

    /// New suspicions that were not reported before. `survey` is that of the frame that was counted last.
    pub fn judge(&mut self, survey: &Survey, expected: &Expected) -> Vec<Suspicion> {
        self.surveyed += 1;
        self.total.add(survey);
        let scores = survey.non_finite;
        let non_finite = (survey.finite == 0 && scores > 0).then_some(Suspicion::NonFinite { scores });
        let total = &self.total;
        let scored = self.scores(expected);
        let places = if total.places > 0 { places(total, expected) } else { None };
        let far_points = total.points.are_far().then_some(Suspicion::FarPoints(total.points));
        let before = are_before(&total.points, expected).then_some(Suspicion::PointsBefore(total.points));
        let Survey { repeated, compared: boxes, .. } = *survey;
        let repeated =
            are_repeated(repeated, boxes, expected).then_some(Suspicion::Repeated { repeated, boxes });
        let class = unnamed(total.class, expected).map(|(class, labels)| Suspicion::Class { class, labels });
        let mut new = Vec::new();
        for suspicion in
            [non_finite, scored, places, far_points, before, repeated, class].into_iter().flatten()
        {
            self.say(suspicion, &mut new);
        }
        if self.is_over() && self.reported == 0 && !self.found {
            let best = expected.confidence(self.total.highest).filter(|_| self.total.finite > 0);
            if let (Some(best), Some(threshold)) = (best, expected.threshold)
                && best < threshold
            {
                self.say(Suspicion::NothingFound { best, threshold }, &mut new);
            }
        }
        new
    }

    fn say(&mut self, suspicion: Suspicion, to: &mut Vec<Suspicion>) {
        if self.reported & suspicion.bit() == 0 {
            self.reported |= suspicion.bit();
            to.push(suspicion);
        }
    }

    /// What is suspected of all scores so far.
    fn scores(&self, expected: &Expected) -> Option<Suspicion> {
        let Survey { finite, lowest, highest, .. } = self.total;
        if finite == 0 {
            return None;
        }
        if is_outside([lowest, highest], expected) {
            return Some(Suspicion::Outside { lowest, highest });
        }
        if finite < FEWEST_SCORES {
            return None;
        }
        if self.is_twice(expected) {
            return Some(Suspicion::Twice { activation: expected.activation });
        }
        // A dark picture may have the same score everywhere, and 0 is what models pad with.
        let constant = lowest == highest && lowest != 0.0 && self.is_over() && self.surveyed > 1;
        constant.then_some(Suspicion::Constant { score: lowest })
    }

    fn is_twice(&self, expected: &Expected) -> bool {
        let Survey { rows, probability_rows, lowest, highest, .. } = self.total;
        match (expected.twice, expected.raw, expected.activation) {
            (None, ..) => false,
            (Some(_), true, Activation::Softmax) => rows > 0 && probability_rows == rows,
            (Some(_), true, _) => lowest >= 0.0 && highest <= 1.0,
            (Some(range), false, _) => is_within([lowest, highest], range),
        }
    }
}

/// What is suspected of boxes, and of the unit of points.
fn places(total: &Survey, expected: &Expected) -> Option<Suspicion> {
    let normalized = expected.normalized?;
    let farthest = total.farthest;
    if !normalized && farthest <= LARGEST_FRACTION {
        return Some(Suspicion::Fractions { farthest });
    }
    // A few anchors may be anywhere.
    (total.far_places * 10 >= total.places * 9).then_some(Suspicion::Far { farthest })
}

/// Whether the results are doubtful enough to survey the outputs.
fn is_doubtful(glance: &Glance, expected: &Expected) -> bool {
    let [lowest, highest] = glance.confidences;
    let twice = lowest <= highest && expected.twice.is_some_and(|range| is_within([lowest, highest], range));
    glance.tiny && expected.normalized == Some(false)
        || glance.points.are_far()
        || are_before(&glance.points, expected)
        || are_repeated(glance.repeated, glance.compared, expected)
        || lowest <= highest && is_outside([lowest, highest], expected)
        || twice
        || unnamed(glance.class, expected).is_some()
}

/// Whether points that should be fractions are those of another range.
fn are_before(points: &PointSurvey, expected: &Expected) -> bool {
    expected.normalized == Some(true) && points.are_before()
}

/// The greatest class and the number of names, if it has none.
fn unnamed(class: Option<u32>, expected: &Expected) -> Option<(u32, usize)> {
    let named = expected.labels.zip(class);
    let unnamed =
        |(labels, class): &(usize, u32)| usize::try_from(*class).is_ok_and(|class| class >= *labels);
    named.filter(unnamed).map(|(labels, class)| (class, labels))
}

/// Whether too many boxes lie on stronger ones for a model that has suppressed what overlaps.
fn are_repeated(repeated: usize, compared: usize, expected: &Expected) -> bool {
    expected.unique && compared >= FEWEST_BOXES && repeated * 2 >= compared
}

fn is_outside([lowest, highest]: [f32; 2], expected: &Expected) -> bool {
    expected.range().is_some_and(|[least, most]| lowest < least || highest > most)
}

fn is_within([lowest, highest]: [f32; 2], [least, most]: [f32; 2]) -> bool {
    lowest >= least - ROUNDING && highest <= most + ROUNDING
}
