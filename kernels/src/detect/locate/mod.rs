//! Where a layout's numbers lie in actual tensors: their shapes are checked, and what was open is known.

mod tables;

use super::DetectError;
use super::attached::{Angle, Extra, Meaning};
use super::grid::Level;
use super::layout::{Coding, Field, Layout, Scoring};
use super::shaped::Shaped;

use tables::FoundTable;

pub(super) use tables::{At, Steps};

/// Where the first anchor's first number lies, and how far the others are from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strided {
    /// Where it lies.
    pub at: At,
    /// How far the others are.
    pub steps: Steps,
}

/// The anchors of one stride, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocatedLevel {
    /// Their cells; where there is no grid, one column of cells of a pixel.
    pub cells: Level,
    /// The first anchor's first score.
    pub scores: At,
    /// The first anchor's box.
    pub boxes: At,
    /// The first anchor's second score, of [`Scoring::Root`].
    pub second: Option<At>,
    /// The first anchor's first landmark, of [`Meaning::Around`].
    pub landmarks: Option<At>,
}

/// A layout's numbers in actual tensors.
#[derive(Clone, Debug)]
pub(super) struct Located {
    /// One for each stride, or one.
    pub levels: Vec<LocatedLevel>,
    /// How far scores are apart; second scores, too.
    pub scores: Steps,
    /// Scores of an anchor, background included.
    pub columns: usize,
    /// How far the numbers of boxes are apart.
    pub boxes: Steps,
    /// Which of the numbers from a box's first on is its angle, if it is rotated.
    pub angle: Option<usize>,
    /// Offsets of the centres of [`Coding::Centers`].
    pub offsets: Option<Strided>,
    /// Labels of [`Scoring::Final`].
    pub labels: Option<Strided>,
    /// The number of boxes of [`Scoring::Final`].
    pub count: Option<At>,
    /// What there is of an object besides its box.
    pub extra: Option<Extra>,
}

impl LocatedLevel {
    /// Whether an anchor of the model is one of these.
    pub fn has(&self, anchor: usize) -> bool {
        (self.cells.first..self.cells.first + self.cells.cells).contains(&anchor)
    }
}

impl Located {
    /// The level that an anchor belongs to.
    pub fn level_of(&self, anchor: usize) -> Option<&LocatedLevel> {
        self.levels.iter().find(|level| level.has(anchor))
    }
}

impl Layout {
    /// Where everything lies in these outputs, as many as were offered, for each of their frames.
    ///
    /// # Errors
    /// [`DetectError::Shape`] names an output that is not as the layout needs it.
    pub fn locate<T: Shaped>(&self, outputs: &[T]) -> Result<Located, DetectError> {
        let levels = self.grid.as_ref().map_or(&[][..], |grid| &grid.levels);
        let mut found: Vec<FoundTable> = Vec::with_capacity(self.tables.len());
        for table in &self.tables {
            let before = found.last().map_or(0, |table| table.anchors);
            found.push(FoundTable::find(self.kind, table, levels, before, outputs)?);
        }
        Ok(self.located(&found))
    }

    /// Of all tables.
    fn located(&self, found: &[FoundTable]) -> Located {
        let strided = |field: Field| {
            let table = &found[field.table];
            let element = field.of(table.channels) * table.steps.channel;
            Strided { at: At { output: self.output_of(field), element }, steps: table.steps }
        };
        let offsets = if let Coding::Centers(centers) = &self.coding { centers.offsets } else { None };
        let finals = if let Scoring::Final(finals) = self.scoring { Some(finals) } else { None };
        let angle = self.angle.map(|field| field.of(found[field.table].channels));
        let rotated = angle.map(|place| (self.boxes, Meaning::Rotated(Angle { place, unit: self.unit() })));
        Located {
            levels: self.levels(found),
            scores: found[self.scores.table].steps,
            columns: self.columns(&found[self.scores.table]),
            boxes: found[self.boxes.table].steps,
            angle,
            offsets: offsets.map(strided),
            labels: finals.and_then(|finals| finals.labels).map(strided),
            count: finals.and_then(|finals| finals.count).map(|field| strided(field).at),
            extra: rotated.or(self.extra).map(|(field, meaning)| extra_of(strided(field), meaning)),
        }
    }

    /// Where the anchors of each level have their numbers.
    fn levels(&self, found: &[FoundTable]) -> Vec<LocatedLevel> {
        let at = |field: Field, index: usize, level: &Level, number: usize| {
            found[field.table].at(field, index, level, number)
        };
        let around = self.extra.filter(|(_, meaning)| matches!(meaning, Meaning::Around(_)));
        let is_root = matches!(self.scoring, Scoring::Root);
        let cells = found[self.boxes.table].anchors;
        let all = [Level { stride: 1, columns: 1, cells, per_cell: 1, first: 0 }];
        let levels = self.grid.as_ref().map_or(&all[..], |grid| &grid.levels).iter().enumerate();
        let located = levels.map(|(index, level)| LocatedLevel {
            cells: *level,
            scores: at(self.scores, index, level, 0),
            boxes: at(self.boxes, index, level, 0),
            second: is_root.then(|| at(self.scores, index, level, 1)),
            landmarks: around.map(|(field, _)| at(field, index, level, 0)),
        });
        located.collect()
    }

    /// Scores of an anchor, background included, in the table that has them.
    fn columns(&self, table: &FoundTable) -> usize {
        match self.scoring {
            Scoring::Final(_) => 1,
            _ => table.channels - self.scores.of(table.channels) - self.after_scores,
        }
    }
}

/// What is read of an object besides its box.
fn extra_of(Strided { at, steps }: Strided, meaning: Meaning) -> Extra {
    // Of a row's number nothing is read but which one it is.
    let [step, value_step] =
        if matches!(meaning, Meaning::Row) { [0; 2] } else { [steps.anchor, steps.channel] };
    Extra { output: at.output, element: at.element, step, value_step, meaning }
}
