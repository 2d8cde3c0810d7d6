//! What a family of detectors is here: what it reads, how well an offer fits that, and what may be said about it.

use super::offer::{Fit, Offer};
use super::{Activation, Background, DecoderKind, DetectError, Hints, Nms};

/// A family of detectors, whose outputs one decoder reads.
#[derive(Debug)]
pub(super) struct Family {
    /// Its decoder.
    pub kind: DecoderKind,
    /// What it reads, with the numbers of this offer, to end a sentence with.
    pub wanted: fn(&Offer<'_>) -> String,
    /// Every way in which it can read the offer.
    pub fits: fn(&Offer<'_>) -> Vec<Fit>,
    /// The hints that it has a use for; all have one for classes and strides.
    pub takes: &'static [Hint],
    /// What holds if nobody sets it.
    pub usual: Usual,
}

/// A hint that not every family has a use for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hint {
    /// [`Hints::box_format`].
    BoxFormat,
    /// [`Hints::normalized`].
    Normalized,
    /// [`Hints::activation`].
    Activation,
    /// [`Activation::Softmax`] among the activations.
    Softmax,
    /// [`Hints::background`], as the first column or label.
    Background,
    /// [`Background::Last`] among the backgrounds.
    BackgroundLast,
    /// [`Hints::keypoints`].
    Keypoints,
    /// [`Hints::size_unit`] and [`Hints::axis_order`].
    Maps,
    /// [`Hints::map_threshold`] and [`Hints::unclip_ratio`].
    Text,
    /// [`Hints::priors`].
    Priors,
    /// [`Hints::anchors`].
    Anchors,
    /// [`Hints::row_format`].
    RowFormat,
}

/// What holds if nobody sets it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usual {
    /// What suppresses overlapping boxes, if the model has not suppressed them itself.
    pub nms: Nms,
    /// The confidence threshold, where it is not the default.
    pub confidence: Option<f32>,
    /// What the only class is called.
    pub label: Option<&'static str>,
}

impl Usual {
    /// Of models that find an object several times.
    pub const SUPPRESSED: Self = Self { nms: Nms::ClassWise, confidence: None, label: None };
    /// Of models that find nothing twice, or whose peaks alone are candidates.
    pub const UNIQUE: Self = Self { nms: Nms::None, confidence: None, label: None };
    /// Of detectors of faces that find a face several times.
    pub const FACES: Self = Self { label: Some("face"), ..Self::SUPPRESSED };
}

impl Family {
    /// Whether it has a use for this hint.
    pub fn takes(&self, hint: Hint) -> bool {
        self.takes.contains(&hint)
    }

    /// Refuses hints that it would have to ignore.
    ///
    /// # Errors
    /// [`DetectError::Hint`] names the first.
    pub fn check(&self, hints: &Hints) -> Result<(), DetectError> {
        let last = hints.background == Some(Background::Last);
        let is_softmax = hints.activation == Some(Activation::Softmax);
        let has_background = hints.background.is_some_and(|background| background != Background::None);
        let own_boxes = "whose boxes have a format of their own";
        let checks: [(bool, Hint, &'static str, &str); 13] = [
            (hints.box_format.is_some(), Hint::BoxFormat, "box format", own_boxes),
            (hints.normalized.is_some(), Hint::Normalized, "normalized", own_boxes),
            (hints.keypoints.is_some(), Hint::Keypoints, "keypoints", "whose objects have none"),
            (hints.size_unit.is_some(), Hint::Maps, "size unit", "which has no map of sizes"),
            (hints.axis_order.is_some(), Hint::Maps, "axis order", "which has no maps"),
            (
                hints.map_threshold.is_some() || hints.unclip_ratio.is_some(),
                Hint::Text,
                "map threshold or unclip ratio",
                "which reads no map of text",
            ),
            (hints.activation.is_some(), Hint::Activation, "activation", "whose confidences are final"),
            (is_softmax, Hint::Softmax, "activation softmax", "whose classes are scored independently"),
            (
                last && self.takes(Hint::Background),
                Hint::BackgroundLast,
                "background last",
                "whose labels begin with the background if they have one",
            ),
            (has_background, Hint::Background, "background", "which has no background column"),
            (hints.priors.is_some(), Hint::Priors, "priors", "whose boxes are not counted from prior boxes"),
            (hints.anchors.is_some(), Hint::Anchors, "anchors", "whose boxes are not multiples of anchors"),
            (
                hints.row_format.is_some(),
                Hint::RowFormat,
                "row format",
                "which does not write a box with its confidence and class in one row",
            ),
        ];
        match checks.into_iter().find(|(is_set, hint, ..)| *is_set && !self.takes(*hint)) {
            None => Ok(()),
            Some((_, _, hint, why)) => {
                let kind = self.kind;
                let wanted =
                    format!("does not apply to decoder {kind}, {why}: drop it or set another decoder");
                Err(DetectError::Hint { hint, wanted })
            }
        }
    }
}
