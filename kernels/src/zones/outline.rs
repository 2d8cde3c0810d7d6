//! Outlines of polygons and of their holes, and the checks of them.

use super::geometry::{Point, contains, crossing_edges, distance_to_outline, edges, orientation, overlap};

/// An outline without points that repeat the previous one.
pub(super) fn closed(points: &[Point]) -> Vec<Point> {
    let mut points = points.to_vec();
    points.dedup();
    if points.len() > 1 && points.first() == points.last() {
        points.pop();
    }
    points
}

pub(super) fn finite(points: &[Point]) -> Result<(), OutlineError> {
    let bad = points.iter().position(|p| p.iter().any(|v| !v.is_finite()));
    bad.map_or(Ok(()), |point| Err(OutlineError::NotFinite { point: point + 1 }))
}

/// Whether points go around something.
pub(super) fn check_outline(points: &[Point]) -> Result<(), OutlineError> {
    finite(points)?;
    let outline = closed(points);
    if outline.len() < 3 {
        return Err(OutlineError::FewPoints { points: outline.len() });
    }
    if outline.iter().all(|p| orientation(outline[0], outline[1], *p) == 0.0) {
        return Err(OutlineError::NoArea);
    }
    if let Some((a, b)) = crossing_edges(&outline) {
        let edge = |i: usize| [i + 1, (i + 1) % outline.len() + 1];
        return Err(OutlineError::Crossing { first: edge(a), second: edge(b) });
    }
    Ok(())
}

/// Whether a hole takes a part of a polygon away, and leaves one.
pub(super) fn check_hole(outline: &[Point], hole: &[Point]) -> Result<(), OutlineError> {
    if overlap(outline, hole) {
        return Ok(());
    }
    // One of them is within the other, or they are apart.
    let area = |points: &[Point]| edges(points).map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum::<f64>().abs();
    let within = |points: &[Point], around: &[Point]| {
        points.iter().any(|p| contains(around, *p) || distance_to_outline(around, *p) == 0.0)
    };
    if area(hole) < area(outline) {
        if within(hole, outline) { Ok(()) } else { Err(OutlineError::Outside) }
    } else if within(outline, hole) {
        Err(OutlineError::Covers)
    } else {
        Err(OutlineError::Outside)
    }
}

/// Why an outline encloses nothing that could be meant.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)]
pub enum OutlineError {
    #[error("point {point} is NaN or infinite. Write finite numbers")]
    NotFinite { point: usize },
    #[error("an outline needs at least three different points, but this one has {points}")]
    FewPoints { points: usize },
    #[error("its points lie on one straight line, so nothing can be inside")]
    NoArea,
    #[error(
        "its outline meets itself, the edge from point {} to {} that from point {} to {}: \
         give the points in the order in which they go around, or make two zones",
        first[0], first[1], second[0], second[1]
    )]
    Crossing { first: [usize; 2], second: [usize; 2] },
    #[error("it lies outside the polygon, so it takes nothing away. Leave it out, or move its points")]
    Outside,
    #[error("it covers the whole polygon, so nothing can be inside. Leave it out, or move its points")]
    Covers,
}

impl OutlineError {
    /// What else the zone could be.
    pub(super) fn remedy(&self) -> &'static str {
        match self {
            Self::FewPoints { .. } => ". Add points, or make it a line",
            Self::NoArea => ": make it a line",
            _ => "",
        }
    }
}
