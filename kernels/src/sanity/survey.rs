//! Statistics: of a frame's outputs, and of its results.

/// How far from its probabilities' sum of 1 a row may be, by the rounding of float16.
const SUM_SLACK: f32 = 0.01;
/// A box of which a corner is that many times the input's size away from the origin is far outside.
const FAR: f32 = 4.0;

/// Whether a corner of a box is far outside of a picture of this width and height.
fn is_far([x, y]: [f32; 2], size: [usize; 2]) -> bool {
    let [width, height] = size.map(|side| side as f32);
    x.abs() > FAR * width || y.abs() > FAR * height
}

/// Fewer points than this may all lie on a side by chance.
const FEWEST_POINTS: usize = 16;

/// Where the points of results lie.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PointSurvey {
    /// Points.
    pub all: usize,
    /// Those of them that lie outside of the input tensor by more than its size.
    pub far: usize,
    /// Those that lie to the left of the input tensor or above it.
    pub before: usize,
    /// The coordinate that is farthest from 0, in pixels of the input tensor.
    pub farthest: f32,
}

impl PointSurvey {
    /// Adds a point, in pixels of an input tensor of this width and height.
    pub fn see(&mut self, point: [f32; 2], input: [usize; 2]) {
        let is_far = |(value, side): (f32, usize)| {
            let side = side as f32;
            !(-side..=2.0 * side).contains(&value)
        };
        self.all += 1;
        self.far += usize::from(point.into_iter().zip(input).any(is_far));
        self.before += usize::from(point.into_iter().any(|value| value < 0.0));
        self.farthest = point.iter().fold(self.farthest, |farthest, x| farthest.max(x.abs()));
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.all += other.all;
        self.far += other.far;
        self.before += other.before;
        self.farthest = self.farthest.max(other.farthest);
    }

    /// Whether more than half of the points are far outside.
    pub(super) fn are_far(&self) -> bool {
        self.far * 2 > self.all
    }

    /// Whether most points lie to the left or above, and none is far outside: as those around the middle of a range that begins
    /// below 0.
    pub(super) fn are_before(&self) -> bool {
        self.all >= FEWEST_POINTS && self.far == 0 && self.before * 2 > self.all
    }
}

/// Statistics of the results of a frame, which need no outputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Glance {
    /// Number of results; 0 where there is always one.
    pub found: usize,
    /// The least and the greatest confidence, +infinity and -infinity if there is none.
    pub confidences: [f32; 2],
    /// Whether there are boxes, and none has two pixels of the input tensor.
    pub tiny: bool,
    /// Where points are.
    pub points: PointSurvey,
    /// Boxes that were compared with each other.
    pub compared: usize,
    /// Those of them that lie on a stronger one of their class.
    pub repeated: usize,
    /// The greatest class of a result.
    pub class: Option<u32>,
}

impl Default for Glance {
    fn default() -> Self {
        Self {
            found: 0,
            confidences: [f32::INFINITY, f32::NEG_INFINITY],
            tiny: false,
            points: PointSurvey::default(),
            compared: 0,
            repeated: 0,
            class: None,
        }
    }
}

impl Glance {
    /// Adds a confidence.
    pub fn see(&mut self, confidence: f32) {
        let [lowest, highest] = self.confidences;
        self.confidences = [lowest.min(confidence), highest.max(confidence)];
    }
}

/// Statistics of the outputs of one frame, or of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Survey {
    /// Scores that are finite.
    pub finite: usize,
    /// Scores, or anchors with scores, that are NaN or infinite.
    pub non_finite: usize,
    /// The least finite score; +infinity if there is none.
    pub lowest: f32,
    /// The greatest finite score; -infinity if there is none.
    pub highest: f32,
    /// Rows of two or more scores.
    pub rows: usize,
    /// Those of them that are probabilities which add up to 1.
    pub probability_rows: usize,
    /// Boxes that have a size, or points.
    pub places: usize,
    /// Boxes that are far outside of the input tensor by one of their corners.
    pub far_places: usize,
    /// The coordinate of a corner or point that is farthest from 0, in pixels of the input tensor.
    pub farthest: f32,
    /// Where the points of the results are.
    pub points: PointSurvey,
    /// Boxes of the results that were compared with each other.
    pub compared: usize,
    /// Those of them that lie on a stronger one of their class.
    pub repeated: usize,
    /// The greatest class of a result.
    pub class: Option<u32>,
}

impl Default for Survey {
    fn default() -> Self {
        Self {
            finite: 0,
            non_finite: 0,
            lowest: f32::INFINITY,
            highest: f32::NEG_INFINITY,
            rows: 0,
            probability_rows: 0,
            places: 0,
            far_places: 0,
            farthest: 0.0,
            points: PointSurvey::default(),
            compared: 0,
            repeated: 0,
            class: None,
        }
    }
}

impl Survey {
    /// Statistics of independent scores.
    pub fn of_scores(scores: impl IntoIterator<Item = f32>) -> Self {
        let mut survey = Self::default();
        scores.into_iter().for_each(|score| survey.score(score));
        survey
    }

    /// Statistics of rows of scores.
    pub fn of_rows<R: Iterator<Item = f32>>(rows: impl IntoIterator<Item = R>) -> Self {
        let mut survey = Self::default();
        for row in rows {
            let (mut count, mut sum, mut inside) = (0, 0.0, true);
            for score in row {
                survey.score(score);
                count += 1;
                sum += score;
                inside &= (0.0..=1.0).contains(&score);
            }
            if count > 1 {
                survey.rows += 1;
                survey.probability_rows += usize::from(inside && (sum - 1.0).abs() <= SUM_SLACK);
            }
        }
        survey
    }

    /// Adds a score.
    pub fn score(&mut self, score: f32) {
        if score.is_finite() {
            self.finite += 1;
            self.lowest = self.lowest.min(score);
            self.highest = self.highest.max(score);
        } else {
            self.non_finite += 1;
        }
    }

    /// Adds a box of these corners, in pixels of an input tensor of this width and height, unless it has no size.
    pub fn corners(&mut self, [x1, y1, x2, y2]: [f32; 4], input: [usize; 2]) {
        if !(x2 > x1 && y2 > y1) {
            return;
        }
        let corner = [x1.abs().max(x2.abs()), y1.abs().max(y2.abs())];
        self.far_places += usize::from(is_far(corner, input));
        self.point(corner);
    }

    /// Adds a point, in pixels of the input tensor.
    pub fn point(&mut self, point: [f32; 2]) {
        self.places += 1;
        self.farthest = point.iter().fold(self.farthest, |farthest, x| farthest.max(x.abs()));
    }

    /// Adds the statistics of the frame's results.
    pub fn results(&mut self, glance: &Glance) {
        // An anchor may be of several classes.
        self.class = self.class.max(glance.class);
        self.points.add(&glance.points);
        self.compared += glance.compared;
        self.repeated += glance.repeated;
    }

    /// Adds the statistics of another frame.
    pub(super) fn add(&mut self, other: &Self) {
        self.finite += other.finite;
        self.non_finite += other.non_finite;
        self.lowest = self.lowest.min(other.lowest);
        self.highest = self.highest.max(other.highest);
        self.rows += other.rows;
        self.probability_rows += other.probability_rows;
        self.places += other.places;
        self.far_places += other.far_places;
        self.farthest = self.farthest.max(other.farthest);
        self.points.add(&other.points);
        self.compared += other.compared;
        self.repeated += other.repeated;
        self.class = self.class.max(other.class);
    }
}
