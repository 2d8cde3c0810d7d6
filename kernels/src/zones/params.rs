//! The zones, and the checks of their geometry.

use super::geometry::Point;
use super::outline::{OutlineError, check_hole, check_outline, closed, finite};
use crate::geometry::Rect;
use crate::ground::{GroundError, GroundMap};

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
    /// Where it lies in a box, as fractions of its width and height.
    pub(super) fn fractions(self) -> [f64; 2] {
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
        [x, y]
    }

    /// The point of a box.
    pub fn of(self, rect: &Rect) -> [f64; 2] {
        let [x, y] = self.fractions();
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
    /// Outlines of what does not belong to the polygon.
    pub holes: Vec<Vec<[f64; 2]>>,
    /// Which objects count, by their classes' names or numbers; empty: all.
    pub classes: Vec<String>,
    /// Which point of the objects counts; none: that of the parameters.
    pub anchor: Option<Anchor>,
    /// Frames in a row on the other side that make an event; none: those of the parameters.
    pub inertia: Option<u32>,
    /// A visit of this length is an event, in ns.
    pub dwell: Option<u64>,
    /// A stay of this length, with short breaks, is an event, in ns.
    pub loitering: Option<u64>,
    /// This many objects in the zone are an event.
    pub occupancy: Option<u32>,
    /// The slowest and the fastest speed, in m/s, at which an object in the polygon is an event; without both, none is.
    pub min_speed: Option<f64>,
    /// See `min_speed`.
    pub max_speed: Option<f64>,
}

impl Zone {
    /// A zone that counts every object and has no events of its own.
    pub fn new(name: &str, kind: ZoneKind, points: Vec<[f64; 2]>) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            points,
            holes: Vec::new(),
            classes: Vec::new(),
            anchor: None,
            inertia: None,
            dwell: None,
            loitering: None,
            occupancy: None,
            min_speed: None,
            max_speed: None,
        }
    }

    /// A polygon's outline without points that repeat the previous one.
    pub(super) fn outline(&self) -> Vec<Point> {
        if self.kind == ZoneKind::Polygon {
            return closed(&self.points);
        }
        let mut points = self.points.clone();
        points.dedup();
        points
    }

    /// The holes' outlines, likewise.
    pub(super) fn hole_outlines(&self) -> Vec<Vec<Point>> {
        self.holes.iter().map(|hole| closed(hole)).collect()
    }

    /// Whether an object's speed makes it an event; none where no speed does.
    pub(super) fn reports_speed(&self, speed: f64) -> Option<bool> {
        (self.min_speed.is_some() || self.max_speed.is_some()).then_some(
            self.min_speed.is_none_or(|least| speed >= least)
                && self.max_speed.is_none_or(|most| speed <= most),
        )
    }

    fn check(&self) -> Result<(), ZoneError> {
        let name = || self.name.clone();
        let outline = self.outline();
        if self.kind == ZoneKind::Line {
            finite(&self.points).map_err(|why| ZoneError::Outline { name: name(), why })?;
            for (option, set) in [
                ("holes", !self.holes.is_empty()),
                ("loitering", self.loitering.is_some()),
                ("min-speed", self.min_speed.is_some()),
                ("max-speed", self.max_speed.is_some()),
            ] {
                if set {
                    return Err(ZoneError::OfPolygons { name: name(), option });
                }
            }
            return match (self.points.len(), outline.len()) {
                (2, 2) => Ok(()),
                (2, _) => Err(ZoneError::NoLength { name: name() }),
                (points, _) => Err(ZoneError::LinePoints { name: name(), points }),
            };
        }
        check_outline(&self.points).map_err(|why| ZoneError::Outline { name: name(), why })?;
        for (hole, number) in self.holes.iter().zip(1..) {
            check_outline(hole)
                .and_then(|()| check_hole(&outline, &closed(hole)))
                .map_err(|why| ZoneError::Hole { name: name(), number, why })?;
        }
        for (option, speed) in [("min-speed", self.min_speed), ("max-speed", self.max_speed)] {
            if let Some(speed) = speed.filter(|speed| !speed.is_finite() || *speed <= 0.0) {
                return Err(ZoneError::Speed { name: name(), option, speed });
            }
        }
        match (self.min_speed, self.max_speed) {
            (Some(least), Some(most)) if least >= most => {
                Err(ZoneError::Speeds { name: name(), least, most })
            }
            _ => Ok(()),
        }
    }
}

/// The ground, and how objects stand on it.
#[derive(Clone, Debug, PartialEq)]
pub struct GroundParams {
    /// From the frame to metres.
    pub map: GroundMap,
    /// The unit of the map's coordinates in the frame; none: that of the zones.
    pub units: Option<Units>,
    /// The point of a box that touches the ground.
    pub anchor: Anchor,
}

/// The parameters of a [`super::Counter`].
#[derive(Clone, Debug, PartialEq)]
pub struct ZoneParams {
    /// The zones.
    pub zones: Vec<Zone>,
    /// The unit of their coordinates.
    pub units: Units,
    /// Where objects are in the world, where that is known.
    pub ground: Option<GroundParams>,
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
            ground: None,
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
            if self.ground.is_none() && zone.reports_speed(0.0).is_some() {
                return Err(ZoneError::NoGround { name: zone.name.clone() });
            }
        }
        if let Some(ground) = &self.ground {
            ground.map.check()?;
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
    #[error("zone '{name}': {why}{}", why.remedy())]
    Outline { name: String, why: OutlineError },
    #[error("zone '{name}', hole {number}: {why}")]
    Hole { name: String, number: usize, why: OutlineError },
    #[error("zone '{name}' is a line, which has no {option}: leave it out, or make the zone a polygon")]
    OfPolygons { name: String, option: &'static str },
    #[error("zone '{name}': {option} is {speed} m/s, but must be a speed above 0")]
    Speed { name: String, option: &'static str, speed: f64 },
    #[error(
        "zone '{name}': no speed is at least {least} m/s and at most {most} m/s. Raise max-speed above min-speed, or set one of them"
    )]
    Speeds { name: String, least: f64, most: f64 },
    #[error(
        "zone '{name}': min-speed and max-speed need speeds in the world, but it is not known where the ground is. Add [ground], four \
         points with their metres, to the zones-file"
    )]
    NoGround { name: String },
    #[error("[ground]: {0}")]
    Ground(#[from] GroundError),
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
