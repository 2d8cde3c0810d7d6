//! What a detector's outputs should be, and statistics of what they are.

use crate::geometry::Affine;
use crate::sanity::{self, Expected, Survey};
use crate::tensor::TensorView;

use super::candidates::{Collector, Gate};
use super::layout::Scores;
use super::{Activation, Decoder, DetectError, DetectParams, Nms};

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
    /// What [`Decoder::survey`] should show. There are `labels` names of classes, 0 if none is known.
    pub fn expected(&self, params: &DetectParams, labels: usize) -> Expected {
        let Scores { activation, background, factors } = self.scores();
        let activation = activation.into();
        let columns = self.classes().map(|classes| classes + background.columns());
        let (_, _, lowest) = Gate::new(params).parts();
        Expected {
            activation,
            raw: false,
            slack: Some(SLACK),
            twice: Expected::of_probabilities(activation, factors, columns),
            threshold: lowest.is_finite().then_some(lowest),
            final_scores: self.has_labels(),
            normalized: self.is_normalized(),
            unique: params.nms == Nms::None && self.usual_nms() == Nms::None,
            labels: (labels > 0).then_some(labels),
        }
    }

    /// Statistics of one frame's outputs, as [`super::Detector::run`] takes them, for an input tensor of `input` (width,
    /// height) pixels: the confidence of every anchor's best class, its box in pixels of the input tensor, and the classes of
    /// those that `params` lets pass.
    ///
    /// # Errors
    /// As [`super::Detector::run`].
    pub fn survey(
        &self,
        outputs: &[TensorView<'_>],
        params: &DetectParams,
        input: [usize; 2],
    ) -> Result<Survey, DetectError> {
        let (gate, passes) = (Gate::open(), Gate::new(params));
        let mut all = Vec::new();
        let size = input.map(|side| side as f32);
        let best = DetectParams::default();
        let mut collector = Collector::new(&gate, &Affine::IDENTITY, size, &best, &mut all).of_any_size();
        self.read(outputs, &mut collector)?;
        // Labels that no class has are counted among them, too.
        let non_finite = if self.has_labels() { 0 } else { collector.outcome().non_finite };
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
