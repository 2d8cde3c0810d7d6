//! Warns about outputs that cannot be right: what `cudainfer_kernels::sanity` suspects, in words, with what to set.

use std::sync::Mutex;

use cudainfer_kernels::sanity::{Activation, Expected, LAST, PointSurvey, Suspicion, Watch};
use gst::prelude::*;

use super::{Counts, Decode};
use crate::memory::tensor::device_memory;
use crate::meta::tensor::TensorSet;
use crate::notice::Remark;
use crate::sync::lock;

/// Follows the first frames of each model.
#[derive(Debug, Default)]
pub(super) struct Doubts(Mutex<Watched>);

#[derive(Debug, Default)]
struct Watched {
    /// The model's name in caps.
    model: Option<String>,
    watch: Watch,
}

/// Where an element's model is described.
#[derive(Clone, Copy, Debug)]
pub(super) struct Description {
    /// The sidecar's section, as in `[output]`.
    pub section: &'static str,
    /// The activation that usually makes its logits probabilities.
    pub activation: &'static str,
    /// The results that have places: `boxes` or `points`.
    pub results: &'static str,
}

impl Doubts {
    /// Begins anew.
    pub fn reset(&self) {
        *lock(&self.0) = Watched::default();
    }

    /// Begins anew if this is another model.
    pub fn follow(&self, model: Option<String>) {
        let mut watched = lock(&self.0);
        if watched.model != model {
            *watched = Watched { model, watch: Watch::default() };
        }
    }

    /// Whether no more frames of the model are looked at.
    pub fn are_over(&self) -> bool {
        lock(&self.0).watch.is_over()
    }

    /// Reports what is suspected of a frame that has been decoded, once for each model and cause.
    pub fn of(
        &self,
        decoder: &dyn Decode,
        sets: &[TensorSet],
        counts: &Counts,
    ) -> Vec<(Suspicion, Expected)> {
        let mut watched = lock(&self.0);
        if watched.watch.is_over() {
            return Vec::new();
        }
        let (Some(set), Some(expected)) = (sets.first(), decoder.expected()) else { return Vec::new() };
        let on_gpu = set.tensors.iter().any(|tensor| device_memory(&tensor.data).is_some());
        let glance = counts.glance();
        if !watched.watch.wants(&glance, &expected, on_gpu) {
            return Vec::new();
        }
        let Some(mut survey) = decoder.survey(set) else { return Vec::new() };
        survey.results(&glance);
        let new = watched.watch.judge(&survey, &expected);
        new.into_iter().map(|suspicion| (suspicion, expected)).collect()
    }
}

/// Posts a WARNING; an INFO where nothing may be wrong.
pub(super) fn post(element: &gst::Element, about: &Description, suspicion: &Suspicion, expected: &Expected) {
    let text = sentence(element, about, suspicion, expected);
    let remark = match suspicion {
        Suspicion::NothingFound { .. } => Remark::Info(text),
        _ => Remark::Warning(text),
    };
    remark.post(element, gst::StreamError::Decode);
}

/// What was observed, what that means, and what to set.
fn sentence(
    element: &gst::Element,
    Description { section, activation, results }: &Description,
    suspicion: &Suspicion,
    expected: &Expected,
) -> String {
    let set = |key: &str, value: &str, quoted: bool| {
        let quote = if quoted { "\"" } else { "" };
        let sidecar = format!("{key} = {quote}{value}{quote} in {section} of the model's sidecar");
        if element.find_property(key).is_some() {
            format!("set {key}={value}, or {sidecar}")
        } else {
            format!("set {sidecar}")
        }
    };
    match *suspicion {
        Suspicion::NonFinite { scores } => format!(
            "all scores of a frame, {scores}, are NaN or infinite, so nothing can be found. Check scale, mean and std in \
             [input] of the model's sidecar, and whether the model overflows in float16"
        ),
        Suspicion::Outside { lowest, highest } => {
            let seen = format!(
                "the model's scores are {} to {}, but probabilities of 0 to 1 are expected",
                number(lowest),
                number(highest)
            );
            if expected.final_scores {
                format!(
                    "{seen}. The columns of its outputs have another meaning or order, or it lacks its last layer: set another \
                     decoder, or export the model with one that gpunms reads"
                )
            } else {
                let cure = set("activation", activation, true);
                let other = match (*results, expected.normalized) {
                    ("points", Some(_)) => {
                        ". If they are another coordinate, set point-format there, such as point-format = \"xyz\""
                    }
                    (_, Some(_)) if expected.threshold.is_some() => {
                        ". If they are not, set the right decoder there"
                    }
                    _ => "",
                };
                format!("{seen}. If they are logits, {cure}{other}")
            }
        }
        Suspicion::Twice { activation } => {
            let effect = match activation {
                Activation::Softmax => {
                    "softmax is applied to them once more, which makes all classes nearly equal"
                }
                _ => "sigmoid is applied to them once more, which leaves none below 0.5",
            };
            format!(
                "the model's scores are probabilities already, and {effect}. {}",
                capitalized(&set("activation", "none", true))
            )
        }
        Suspicion::Constant { score } => format!(
            "all scores of the first {LAST} frames are {}, whatever the picture. Check scale, mean, std and channels in [input] \
             of the model's sidecar, and the model itself",
            number(score)
        ),
        Suspicion::Fractions { farthest } => format!(
            "the {results} are read as pixels, but none reaches further than {} pixels from the corner of the model's input. They \
             are probably fractions of its size: {}",
            number(farthest),
            set("normalized", "true", false)
        ),
        Suspicion::Far { farthest } => {
            let seen = format!(
                "nearly all boxes lie far outside of the model's input, up to pixel {}",
                number(farthest)
            );
            if expected.normalized == Some(true) {
                let cure = set("normalized", "false", false);
                format!("{seen}. They are read as fractions of its size; if they are pixels, {cure}")
            } else {
                format!("{seen}. Set the right box-format or decoder in {section} of the model's sidecar")
            }
        }
        Suspicion::FarPoints(PointSurvey { all, far, farthest, .. }) => {
            let seen = format!(
                "{far} of {all} points lie outside of the model's input by more than its size, up to pixel {}",
                number(farthest)
            );
            let of_boxes = *results == "boxes";
            if expected.normalized == Some(true) && !of_boxes {
                let cure = set("normalized", "false", false);
                format!("{seen}. They are read as fractions of its size; if they are pixels, {cure}")
            } else {
                let keys = if of_boxes { "keypoints or decoder" } else { "axis-order or encoding" };
                format!("{seen}. Set the right {keys} in {section} of the model's sidecar")
            }
        }
        Suspicion::PointsBefore(PointSurvey { all, before, .. }) => {
            let seen = format!("{before} of {all} points lie to the left of the model's input or above it");
            if *results == "points" {
                let cure = set("coordinate-range", "[-1, 1]", false);
                format!("{seen}. Their coordinates are read as 0 to 1; if they are -1 to 1, {cure}")
            } else {
                format!("{seen}. Set the right keypoints or decoder in {section} of the model's sidecar")
            }
        }
        Suspicion::Repeated { repeated, boxes } => format!(
            "{repeated} of {boxes} boxes lie on a stronger one of their class, as those of a model that suppresses nothing itself. {}",
            capitalized(&set("nms", "class-wise", true))
        ),
        Suspicion::Class { class, labels } => format!(
            "an object of class {class} was found, but the last label is that of class {}. Correct labels in {section} of the \
             model's sidecar, or set another decoder if the outputs hold no such class",
            labels.saturating_sub(1)
        ),
        Suspicion::NothingFound { best, threshold } => {
            let name = if element.find_property("confidence").is_some() { "confidence" } else { "threshold" };
            format!(
                "nothing was found in {LAST} frames: the best confidence of those that were looked at was {}, below {name}={}. If \
                 there is something to be found, lower {name}, or check scale, mean, std and channels in [input] of the model's \
                 sidecar",
                number(best),
                number(threshold)
            )
        }
    }
}

/// With three digits.
fn number(value: f32) -> String {
    match value.abs() {
        0.0 => "0".into(),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        0.001.. => format!("{value:.3}"),
        _ => format!("{value:.1e}"),
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_or_are_written_with_an_exponent() {
        let texts = [0.0, -0.0, 0.25, -9.5, 13.25, 4096.0, 0.00002].map(number);
        assert_eq!(texts, ["0", "0", "0.250", "-9.50", "13.2", "4096", "2.0e-5"]);
    }
}
