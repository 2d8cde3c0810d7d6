//! Raw heads: objectness times class score, of numbers that need not follow one another.

use crate::detect::candidates::Collector;

use super::boxes::{self, Numbers};
use super::level::LevelReader;
use super::scan::{is_bad, take_scored};

/// Numbers before the class scores, the last of which is objectness.
const BEFORE_CLASSES: usize = 5;

/// Collects the anchors of a level.
pub fn read(level: &LevelReader<'_>, into: &mut Collector<'_>) {
    let Some(form) = level.layout.form() else { return };
    let (cells, data, activation) = (&level.at.cells, level.boxes, level.layout.activation);
    let values = BEFORE_CLASSES + level.located.columns;
    let mut scores = Vec::with_capacity(level.located.columns);
    for anchor in 0..level.anchors() {
        let [first, step] = form.place(cells, anchor, values);
        let value = |k: usize| data[first + k * step];
        let objectness = value(BEFORE_CLASSES - 1);
        if is_bad(objectness) {
            into.drop_non_finite();
            continue;
        }
        let objectness = activation.probability(objectness);
        // No class score exceeds 1.
        if objectness < into.lowest() {
            continue;
        }
        scores.clear();
        scores.extend((BEFORE_CLASSES..values).map(value));
        let confidence = |score| objectness * activation.probability(score);
        take_scored(&scores, into, confidence, |into, class, confidence| {
            let numbers = Numbers { value, offset: |_| 0.0 };
            let corners = boxes::corners(level.layout, cells, level.index, anchor, numbers);
            into.take(cells.first + anchor, class, confidence, corners);
        });
    }
}
