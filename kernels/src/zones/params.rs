//! The zones, and the checks of their geometry.

use super::geometry::{Point, crossing_edges, orientation};
use crate::geometry::Rect;

/// Which point of an object's box counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Anchor {
    TopLeft,
    TopCenter,
    TopRight,
    CenterLeft,
    Center,
    CenterRight,
    BottomLeft,
    /// The middle of the bottom edge: where a person stands.
    #[default]
    BottomCenter,
    BottomRight,
}

crate::words! { Anchor:
    TopLeft = "top-left", "The upper left corner";
    TopCenter = "top-center", "The middle of the upper edge";
    TopRight = "top-right", "The upper right corner";
    CenterLeft = "center-left", "The middle of the left edge";
    Center = "center", "The middle of the box";
    CenterRight = "center-right", "The middle of the right edge";
    BottomLeft = "bottom-left", "The lower left corner";
    BottomCenter = "bottom-center", "The middle of the lower edge, where a person stands";
    BottomRight = "bottom-right", "The lower right corner";
}

impl Anchor {
    /// The point of a box.
    pub fn of(self, rect: &Rect) -> [f64; 2] {
        use Anchor::*;
        let x = match self {
            TopLeft | CenterLeft | BottomLeft => 0.0,
            TopCenter | Center | BottomCenter => 0.5,
            TopRight | CenterRight | BottomRight => 1.0,
        };
        let y = match self {
            TopLeft | TopCenter | TopRight => 0.0,
            CenterLeft | Center | CenterRight => 0.5,
            BottomLeft | BottomCenter | BottomRight => 1.0,
        };
        let [left, top, w, h] = [rect.x, rect.y, rect.w, rect.h].map(f64::from);
        [left + x * w, top + y * h]
    }
}

/// What a zone is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneKind {
    /// An area with an outline.
    Polygon,
    /// A line from its first point to its second.
    Line,
}

/// The unit of coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Units {
    /// Pixels of the frame.
    #[default]
    Pixels,
    /// Fractions of the frame's width and height.
    Fraction,
}

crate::words! { Units:
    Pixels = "pixels", "Pixels of the frame";
    Fraction = "fraction", "Fractions of the frame's width and height, 0 to 1";
}

/// A zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// The zone's name.
    pub name: String,
    /// Polygon or line.
    pub kind: ZoneKind,
    /// The outline, or the line's two ends.
    pub points: Vec<[f64; 2]>,
    /// Which objects count, by their classes' names or numbers; empty: all.
    pub classes: Vec<String>,
    /// Which point of the objects counts; none: that of the parameters.
    pub anchor: Option<Anchor>,
    /// A visit of this length is an event, in ns.
    pub dwell: Option<u64>,
    /// This many objects in the zone are an event.
    pub occupancy: Option<u32>,
}

impl Zone {
    /// A zone that counts every object and has no events of its own.
    pub fn new(name: &str, kind: ZoneKind, points: Vec<[f64; 2]>) -> Self {
        let (name, classes) = (name.to_owned(), Vec::new());
        Self { name, kind, points, classes, anchor: None, dwell: None, occupancy: None }
    }

    /// A polygon's outline without points that repeat the previous one.
    pub(super) fn outline(&self) -> Vec<Point> {
        let mut points = self.points.clone();
        points.dedup();
        if self.kind == ZoneKind::Polygon && points.len() > 1 && points.first() == points.last() {
            points.pop();
        }
        points
    }

    fn check(&self) -> Result<(), ZoneError> {
        let name = || self.name.clone();
        if let Some(point) = self.points.iter().position(|p| p.iter().any(|v| !v.is_finite())) {
            return Err(ZoneError::NotFinite { name: name(), point: point + 1 });
        }
        let outline = self.outline();
        if self.kind == ZoneKind::Line {
            return match (self.points.len(), outline.len()) {
                (2, 2) => Ok(()),
                (2, _) => Err(ZoneError::NoLength { name: name() }),
                (points, _) => Err(ZoneError::LinePoints { name: name(), points }),
            };
        }
        if outline.len() < 3 {
            return Err(ZoneError::FewPoints { name: name(), points: outline.len() });
        }
        if outline.iter().all(|p| orientation(outline[0], outline[1], *p) == 0.0) {
            return Err(ZoneError::NoArea { name: name() });
        }
        if let Some((a, b)) = crossing_edges(&outline) {
            let edge = |i: usize| [i + 1, (i + 1) % outline.len() + 1];
            return Err(ZoneError::Crossing { name: name(), first: edge(a), second: edge(b) });
        }
        Ok(())
    }
}

/// The parameters of a [`super::Counter`].
#[derive(Clone, Debug, PartialEq)]
pub struct ZoneParams {
    /// The zones.
    pub zones: Vec<Zone>,
    /// The unit of their coordinates.
    pub units: Units,
    /// The point of a box that counts, where the zone does not set another.
    pub anchor: Anchor,
    /// Frames in a row on the other side that make an event, at least 1.
    pub min_frames: u32,
    /// How far on the other side an object must be to have left or crossed, as a share of its box's longer side.
    pub margin: f64,
    /// How long a lost object keeps its place, in ns.
    pub patience: u64,
    /// Whether objects without an identity count in the occupancy.
    pub untracked: bool,
}

impl Default for ZoneParams {
    fn default() -> Self {
        Self {
            zones: Vec::new(),
            units: Units::Pixels,
            anchor: Anchor::default(),
            min_frames: 2,
            margin: 0.05,
            patience: 3_000_000_000,
            untracked: false,
        }
    }
}

impl ZoneParams {
    /// Checks that a [`super::Counter`] can use these parameters.
    ///
    /// # Errors
    /// The error names the zone.
    pub fn check(&self) -> Result<(), ZoneError> {
        if self.min_frames == 0 {
            return Err(ZoneError::MinFrames);
        }
        if !(0.0..=1.0).contains(&self.margin) {
            return Err(ZoneError::Margin(self.margin));
        }
        for (i, zone) in self.zones.iter().enumerate() {
            if zone.name.trim().is_empty() {
                return Err(ZoneError::NoName { number: i + 1 });
            }
            if self.zones[..i].iter().any(|other| other.name == zone.name) {
                return Err(ZoneError::SameName { name: zone.name.clone() });
            }
            zone.check()?;
        }
        Ok(())
    }
}

/// A zone or a parameter that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)]
pub enum ZoneError {
    #[error("zone number {number} has no name: give it one, by which its counts are found")]
    NoName { number: usize },
    #[error("two zones are called '{name}': give each a name of its own")]
    SameName { name: String },
    #[error("zone '{name}': point {point} is NaN or infinite. Write finite numbers")]
    NotFinite { name: String, point: usize },
    #[error(
        "zone '{name}': a polygon needs at least three different points, but this one has {points}. Add points, or make it a line"
    )]
    FewPoints { name: String, points: usize },
    #[error("zone '{name}': its points lie on one straight line, so nothing can be inside: make it a line")]
    NoArea { name: String },
    #[error(
        "zone '{name}': its outline meets itself, the edge from point {} to {} that from point {} to {}: \
         give the points in the order in which they go around, or make two zones",
        first[0], first[1], second[0], second[1]
    )]
    Crossing { name: String, first: [usize; 2], second: [usize; 2] },
    #[error("zone '{name}': a line has two points, but this one has {points}. Make a zone of each piece")]
    LinePoints { name: String, points: usize },
    #[error(
        "zone '{name}': both ends of the line are the same point, so nothing can cross it. Write two different points"
    )]
    NoLength { name: String },
    #[error("min-frames is 0, but must be at least 1")]
    MinFrames,
    #[error("margin is {0}, but must be a fraction of the box between 0 and 1")]
    Margin(f64),
}
