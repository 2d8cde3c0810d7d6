//! What a detector's outputs should be, and statistics of what they are.

use crate::geometry::Affine;
use crate::sanity::{self, Expected, Survey};
use crate::tensor::TensorView;

use super::candidates::{Collector, Gate};
use super::{Activation, Decoder, DecoderKind, DetectError, Hints, Params};

/// How far outside of 0..1 confidences may be, by the rounding of float16 and of quantised models.
const SLACK: f32 = 0.01;

impl From<Activation> for sanity::Activation {
    fn from(activation: Activation) -> Self {
        match activation {
            Activation::None => Self::None,
            Activation::Sigmoid => Self::Sigmoid,
            Activation::Softmax => Self::Softmax,
        }
    }
}

impl Decoder {
    /// What [`Decoder::survey`] should show. `hints` are those that the decoder was chosen with, and there are `labels` names
    /// of classes, 0 if none is known.
    pub fn expected(&self, hints: &Hints, params: &Params, labels: usize) -> Expected {
        let kind = self.kind();
        let activation = hints.activation.map_or(sanity::Activation::None, Into::into);
        let factors = if matches!(kind, DecoderKind::Yolov5 | DecoderKind::Yolox) { 2 } else { 1 };
        let columns = self.classes().map(|classes| classes + hints.background_columns());
        let in_cells = matches!(kind, DecoderKind::Yolox | DecoderKind::Nanodet) || kind.has_centers();
        let normalized = hints.normalized.unwrap_or(kind == DecoderKind::BoxesScores);
        let (_, _, lowest) = Gate::new(params).parts();
        Expected {
            activation,
            raw: false,
            slack: Some(SLACK),
            twice: Expected::of_probabilities(activation, factors, columns),
            threshold: lowest.is_finite().then_some(lowest),
            final_scores: self.is_suppressed(),
            normalized: (!in_cells).then_some(normalized),
            labels: (labels > 0).then_some(labels),
        }
    }

    /// Statistics of one frame's outputs, as [`super::Detector::run`] takes them, for an input tensor of `input` (width,
    /// height) pixels: the confidence of every anchor, its box in pixels of the input tensor, and the classes of those that
    /// `params` lets pass.
    ///
    /// # Errors
    /// As [`super::Detector::run`].
    pub fn survey(
        &self,
        outputs: &[TensorView<'_>],
        params: &Params,
        input: [usize; 2],
    ) -> Result<Survey, DetectError> {
        let (gate, passes) = (Gate::open(), Gate::new(params));
        let mut all = Vec::new();
        let size = input.map(|side| side as f32);
        let mut collector = Collector::new(&gate, &Affine::IDENTITY, size, [0.0; 2], &mut all).of_any_size();
        self.decode(outputs, &mut collector)?;
        let non_finite = collector.outcome().non_finite;
        let mut survey = Survey { non_finite, ..Survey::default() };
        for candidate in &all {
            survey.score(candidate.confidence);
            survey.corners(candidate.corners, input);
            if candidate.confidence >= passes.threshold(candidate.class) {
                survey.class = survey.class.max(Some(candidate.class));
            }
        }
        Ok(survey)
    }
}
