//! Outputs of one meaning that a model has once for each stride, as detectors of faces do: the number of their rows says which stride
//! is whose.

use crate::detect::DecoderKind;
use crate::detect::attached::Meaning;
use crate::detect::grid::{Grid, Level};
use crate::detect::layout::{Coding, Field, Layout, Scoring, Shape, Table};
use crate::detect::offer::{Evidence, Fit, Offer, Plane};

/// These planes as a table, `times` of each level, and how well their rows are those of the levels; none if they cannot be.
fn table(planes: &[Plane], channels: usize, grid: &Grid, times: usize) -> Option<(Table, Evidence)> {
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
    let evidence = if is_open { Evidence::Open } else { Evidence::Exact };
    Some((Table { outputs, shape: Shape::Levels { channels, times } }, evidence))
}

/// Faces on this grid: boxes of this coding, one score of each anchor or two where their root is taken and, in most models, landmarks;
/// none if the outputs do not fit.
pub fn faces(
    kind: DecoderKind,
    offer: &Offer<'_>,
    grid: Grid,
    coding: Coding,
    scoring: Scoring,
) -> Option<Fit> {
    let times = if matches!(scoring, Scoring::Root) { 2 } else { 1 };
    if offer.hints.classes.is_some_and(|classes| classes != 1) {
        return None;
    }
    let (scores, first) = table(&of_columns(offer, 1), 1, &grid, times)?;
    let (boxes, second) = table(&of_columns(offer, 4), 4, &grid, 1)?;
    let (mut tables, mut evidence, mut extra) = (vec![scores, boxes], first.min(second), None);
    if let planes @ [first, ..] = &landmarks(offer)?[..] {
        let columns = first.columns?;
        let (landmarks, third) = table(planes, columns, &grid, 1)?;
        tables.push(landmarks);
        evidence = evidence.min(third);
        extra = Some((Field::new(2, 0), Meaning::Around(columns / 2)));
    }
    let reads = tables.iter().map(|table| table.outputs.len()).sum();
    let layout = Layout {
        grid: Some(grid),
        boxes: Field::new(1, 0),
        scores: Field::new(0, 0),
        scoring,
        extra,
        ..Layout::new(kind, tables, coding, offer.activation())
    };
    Some(Fit::new(evidence, layout, Some(1)).reading(reads))
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
