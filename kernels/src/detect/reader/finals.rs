//! Boxes that the model has chosen itself: each has one confidence and one label.

use crate::detect::candidates::Collector;
use crate::detect::layout::Labels;

use super::level::LevelReader;
use super::scan::is_bad;

/// What one label says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Label {
    Class(u32),
    /// No box: padding, which models label -1, or background.
    Nothing,
    /// No label at all.
    Invalid,
}

impl Label {
    fn read(meaning: Labels, label: f32) -> Self {
        if !label.is_finite() {
            return Self::Invalid;
        }
        let label = label.round();
        if label == -1.0 || meaning.first > 0 && label == 0.0 {
            return Self::Nothing;
        }
        let class = label - meaning.first as f32;
        if (0.0..=meaning.last_class).contains(&class) { Self::Class(class as u32) } else { Self::Invalid }
    }
}

/// Collects them; the model says how many there are, or all are there. A count that is negative, NaN or more than there is room for is
/// counted as not finite, and so is a label that no class has.
pub fn read(level: &LevelReader<'_>, meaning: Labels, count: Option<f32>, into: &mut Collector<'_>) {
    for row in 0..rows_in_use(level.anchors(), count, into) {
        let confidence = level.scores_of(row)[0];
        if is_bad(confidence) {
            into.drop_non_finite();
            continue;
        }
        if confidence < into.lowest() {
            continue;
        }
        let label = level.located.labels.map_or(Label::Class(0), |labels| {
            let labelled = level.values.of(labels.at.output);
            Label::read(meaning, labelled[labels.at.element + row * labels.steps.anchor])
        });
        match label {
            Label::Class(class) if into.wants(class, confidence) => level.take(into, row, class, confidence),
            Label::Class(_) | Label::Nothing => {}
            Label::Invalid => into.drop_non_finite(),
        }
    }
}

fn rows_in_use(rows: usize, count: Option<f32>, into: &mut Collector<'_>) -> usize {
    let Some(count) = count else { return rows };
    let room = rows as f32;
    if !(0.0..=room).contains(&count) {
        into.drop_non_finite();
    }
    if count >= room { rows } else { count.max(0.0) as usize }
}
