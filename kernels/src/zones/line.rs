//! An object and a line.

use super::Direction;
use super::geometry::{Point, distance_to_line, orientation, passes};

/// Where an object is with respect to a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineState {
    /// Where the object was seen last, in frame pixels.
    pub last: Point,
    /// Whether the side that it counts as being on is the right one.
    right: bool,
    /// Set while it has been seen on the other side.
    beyond: Option<Beyond>,
}

#[derive(Clone, Copy, Debug)]
struct Beyond {
    frames: u32,
    /// Whether it passed between the line's ends.
    through: bool,
    /// Whether it counted when it was seen last.
    counts: bool,
}

/// When a change of sides counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Frames in a row beyond the line.
    pub frames: u32,
    /// Pixels beyond the line; none where they do not matter, because the object cannot get any further.
    pub margin: Option<f64>,
    /// Whether objects of this class count.
    pub counts: bool,
}

fn is_right([a, b]: [Point; 2], p: Point) -> bool {
    orientation(a, b, p) >= 0.0
}

impl LineState {
    /// For an object that is seen for the first time.
    pub fn new(line: [Point; 2], at: Point) -> Self {
        Self { last: at, right: is_right(line, at), beyond: None }
    }

    /// Takes in that the object is seen at `at`; returns in which direction it has crossed the line, if that is sure now.
    pub fn see(&mut self, line: [Point; 2], at: Point, rule: Rule) -> Option<Direction> {
        let [a, b] = line;
        let last = std::mem::replace(&mut self.last, at);
        let right = is_right(line, at);
        if right == self.right {
            self.beyond = None;
            return None;
        }
        let beyond = self.beyond.get_or_insert_with(|| Beyond {
            frames: 0,
            through: passes(a, b, last, at, right),
            counts: rule.counts,
        });
        (beyond.frames, beyond.counts) = (beyond.frames.saturating_add(1), rule.counts);
        let far = rule.margin.is_none_or(|margin| distance_to_line(a, b, at) >= margin);
        if !far || !rule.counts || beyond.frames < rule.frames {
            return None;
        }
        self.crossing()
    }

    /// The object will not be seen again; if it counts and was long enough beyond the line, it has crossed it.
    pub fn lose(&mut self, frames: u32) -> Option<Direction> {
        self.beyond.filter(|beyond| beyond.counts && beyond.frames >= frames)?;
        self.crossing()
    }

    fn crossing(&mut self) -> Option<Direction> {
        self.right = !self.right;
        let direction = if self.right { Direction::In } else { Direction::Out };
        self.beyond.take().filter(|beyond| beyond.through).map(|_| direction)
    }
}
