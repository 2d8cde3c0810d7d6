//! Outputs of one meaning that a model has once for each stride: the number of their rows says which stride is whose.

use crate::tensor::TensorView;

use super::super::attached::{Extra, Meaning, Spot};
use super::super::cuda::{At, Output};
use super::super::grid::{Grid, Level};
use super::super::offer::{Evidence, Fit, Offer, Plane};
use super::super::{Activation, DecoderKind, DetectError};
use super::matrix::{Matrix, Shaped, misshapen, read};

/// The outputs, in any order; where a level has several, their order distinguishes them.
#[derive(Clone, Debug)]
pub struct ByLevel {
    kind: DecoderKind,
    outputs: Vec<usize>,
    columns: usize,
    /// Rows of every level, for errors.
    rows: Vec<usize>,
}

impl ByLevel {
    /// These planes, which have that many columns, and how well their rows are those of `grid`, `times` of each level; none
    /// if they cannot be.
    pub fn new(
        kind: DecoderKind,
        planes: &[Plane],
        columns: usize,
        grid: &Grid,
        times: usize,
    ) -> Option<(Self, Evidence)> {
        let count = |rows: usize| planes.iter().filter(|plane| plane.rows == Some(rows)).count();
        let levels = &grid.levels;
        let is_open = planes.iter().any(|plane| plane.rows.is_none());
        let fits = |level: &Level| {
            let alone = levels.iter().filter(|other| other.cells == level.cells).count() == 1;
            alone && if is_open { count(level.cells) <= times } else { count(level.cells) == times }
        };
        let known = planes.iter().filter_map(|plane| plane.rows);
        let all_known = known.clone().all(|rows| levels.iter().any(|level| level.cells == rows));
        if planes.len() != times * levels.len() || !all_known || !levels.iter().all(fits) {
            return None;
        }
        let outputs = planes.iter().map(|plane| plane.output).collect();
        let rows = levels.iter().map(|level| level.cells).collect();
        let evidence = if is_open { Evidence::Open } else { Evidence::Exact };
        Some((Self { kind, outputs, columns, rows }, evidence))
    }

    /// How many outputs.
    pub fn count(&self) -> usize {
        self.outputs.len()
    }

    /// Numbers of each anchor.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The first of them.
    pub fn first(&self) -> usize {
        self.outputs.first().copied().unwrap_or(0)
    }

    /// Index of the output of `level`, of several the one of this number.
    pub fn find<T: Shaped>(&self, outputs: &[T], level: &Level, number: usize) -> Result<usize, DetectError> {
        let shape = Some([level.cells, self.columns]);
        let is_of_level = |i: &usize| outputs.get(*i).is_some_and(|tensor| tensor.shape() == shape);
        if let Some(i) = self.outputs.iter().copied().filter(is_of_level).nth(number) {
            return Ok(i);
        }
        // One that is of no level, if there is one, is what is wrong.
        let is_known = |tensor: &T| {
            tensor.shape().is_some_and(|[rows, columns]| columns == self.columns && self.rows.contains(&rows))
        };
        let tensors = self.outputs.iter().filter_map(|&i| outputs.get(i));
        let wrong = tensors.clone().find(|tensor| !is_known(tensor)).or_else(|| tensors.clone().next());
        let Some(wrong) = wrong else {
            return Err(DetectError::Outputs { given: outputs.len(), wanted: self.count() });
        };
        let rows: Vec<_> = self.rows.iter().map(ToString::to_string).collect();
        let columns = self.columns;
        let wanted = format!("[1, Ns, {columns}], as many outputs for each Ns of {}", rows.join(", "));
        Err(misshapen(self.kind, wrong, wanted))
    }

    /// That output, read.
    pub fn matrix<'a>(
        &self,
        outputs: &[TensorView<'a>],
        level: &Level,
        number: usize,
    ) -> Result<Matrix<'a>, DetectError> {
        self.find(outputs, level, number).map(|i| read(&outputs[i], [level.cells, self.columns]))
    }

    /// Where that output begins on the device.
    pub fn at<'a>(
        &self,
        outputs: &'a [Output<'a>],
        level: &Level,
        number: usize,
    ) -> Result<At<'a>, DetectError> {
        self.find(outputs, level, number).map(|i| At { tensor: &outputs[i], element: 0 })
    }
}

/// The outputs of detectors of faces: scores, boxes and, in most models, landmarks of each anchor.
#[derive(Clone, Debug)]
pub struct Faces {
    pub scores: ByLevel,
    pub boxes: ByLevel,
    pub landmarks: Option<ByLevel>,
    pub grid: Grid,
    /// What makes scores probabilities.
    pub activation: Activation,
}

impl Faces {
    /// As they are offered, on this grid, with that many scores of each anchor; none if they do not fit.
    pub fn fit(kind: DecoderKind, offer: &Offer<'_>, grid: Grid, scores: usize) -> Option<Fit<Self>> {
        if offer.hints.classes.is_some_and(|classes| classes != 1) {
            return None;
        }
        let (scores, first) = ByLevel::new(kind, &of_columns(offer, 1), 1, &grid, scores)?;
        let (boxes, second) = ByLevel::new(kind, &of_columns(offer, 4), 4, &grid, 1)?;
        let (landmarks, third) = match &landmarks(offer)?[..] {
            [] => (None, Evidence::Exact),
            planes @ [first, ..] => {
                let (landmarks, evidence) = ByLevel::new(kind, planes, first.columns?, &grid, 1)?;
                (Some(landmarks), evidence)
            }
        };
        let reads = scores.count() + boxes.count() + landmarks.as_ref().map_or(0, ByLevel::count);
        let activation = offer.hints.activation.unwrap_or(Activation::None);
        let plan = Self { scores, boxes, landmarks, grid, activation };
        let evidence = first.min(second).min(third);
        Some(Fit { evidence, plan, classes: Some(1), reads, far_fetched: false })
    }

    /// Keypoints of each object.
    pub fn points(&self) -> usize {
        self.landmarks.as_ref().map_or(0, |landmarks| landmarks.columns() / 2)
    }

    /// Where the landmarks are, which are counted in cells from the corner of their anchor's.
    pub fn extra<T: Shaped>(&self, outputs: &[T]) -> Result<Option<Extra>, DetectError> {
        let Some(landmarks) = &self.landmarks else { return Ok(None) };
        for level in &self.grid.levels {
            landmarks.find(outputs, level, 0)?;
        }
        let (columns, meaning) = (landmarks.columns(), Meaning::Around(self.points()));
        Ok(Some(Extra { output: landmarks.first(), element: 0, step: columns, value_step: 1, meaning }))
    }

    /// Where those of one anchor are.
    pub fn spot(&self, outputs: &[TensorView<'_>], anchor: usize) -> Option<Spot> {
        let (landmarks, level) = (self.landmarks.as_ref()?, self.grid.level_of(anchor)?);
        let output = landmarks.find(outputs, level, 0).ok()?;
        let cell = anchor - level.first;
        let unit = [level.stride as f32; 2];
        Some(Spot { output, element: cell * landmarks.columns(), center: corner(level, cell), unit })
    }
}

/// Where a cell has its corner, in tensor pixels, which is what its anchors are counted from.
pub fn corner(level: &Level, anchor: usize) -> [f32; 2] {
    let (column, row) = level.position(anchor);
    [column * level.stride as f32, row * level.stride as f32]
}

/// How errors call the outputs of landmarks, and whether there must be some: `" and"`, `"2 * K"`.
pub fn landmark_terms(offer: &Offer<'_>) -> [String; 2] {
    let must = if offer.hints.keypoints.is_none() { " and, if there are landmarks," } else { " and" };
    let columns = offer.hints.keypoints.map_or_else(|| "2 * K".into(), |k| (2 * k).to_string());
    [must.into(), columns]
}

/// The planes of that many columns.
fn of_columns(offer: &Offer<'_>, columns: usize) -> Vec<Plane> {
    offer.planes.iter().copied().filter(|plane| plane.columns == Some(columns)).collect()
}

/// The planes of landmarks, two numbers each, and their columns: as many as there are hinted keypoints, else more than a box
/// has. None if they do not agree.
pub fn landmarks(offer: &Offer<'_>) -> Option<Vec<Plane>> {
    let is_landmarks = |columns: usize| {
        columns.is_multiple_of(2) && offer.hints.keypoints.map_or(columns > 4, |k| columns == 2 * k)
    };
    let mut planes = offer.planes.iter().copied();
    let found: Vec<Plane> = planes.by_ref().filter(|plane| plane.columns.is_some_and(is_landmarks)).collect();
    let agree = found.iter().all(|plane| plane.columns == found[0].columns);
    (agree && (offer.hints.keypoints.is_none() || !found.is_empty())).then_some(found)
}
