//! Outputs of one meaning that a model has once for each stride: the number of their rows says which stride is whose.

use super::super::grid::{Grid, Level};
use super::super::offer::{Evidence, Offer, Plane};
use super::super::{DecoderKind, DetectError};
use super::matrix::{Shaped, misshapen};

/// The outputs, in any order; where a level has several, they are told apart by their order.
#[derive(Clone, Debug)]
pub struct ByLevel {
    kind: DecoderKind,
    outputs: Vec<usize>,
    columns: usize,
    /// Rows of every level, for errors.
    rows: Vec<usize>,
}

impl ByLevel {
    /// These planes, which have so many columns, and how well their rows are those of `grid`, `times` of each level; none
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
}

/// The planes of so many columns.
pub fn of_columns(offer: &Offer<'_>, columns: usize) -> Vec<Plane> {
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
