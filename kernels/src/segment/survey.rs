//! The values that logits should have, and statistics of those that they have.

use crate::preproc::Layout;
use crate::sanity::{self, Expected, Survey};
use crate::tensor::{TensorDesc, TensorView};

use super::instances::Source;
use super::plan::{SegmentPlan, Task};
use super::{Activation, Classes, InstanceMasks, SegmentError, SegmentParams};

/// How far outside of 0..1 a soft mask's values may be: some networks end without a function that bounds them.
const SLACK: f32 = 0.1;

impl From<Activation> for sanity::Activation {
    fn from(activation: Activation) -> Self {
        match activation {
            Activation::None => Self::None,
            Activation::Sigmoid => Self::Sigmoid,
            Activation::Softmax => Self::Softmax,
        }
    }
}

/// Surveys a model's logits for values that cannot be right.
#[derive(Clone, Debug)]
pub struct LogitsSurvey {
    plan: SegmentPlan,
}

impl LogitsSurvey {
    /// As [`super::Segmenter::new`].
    ///
    /// # Errors
    /// Likewise.
    pub fn new(logits: &TensorDesc, input: [usize; 2], params: SegmentParams) -> Result<Self, SegmentError> {
        SegmentPlan::new(logits, input, params).map(|plan| Self { plan })
    }

    /// What [`LogitsSurvey::run`] should show.
    pub fn expected(&self) -> Expected {
        let SegmentParams { classes, activation, soft, stretched, .. } = self.plan.params;
        let activation = activation.into();
        // An activation does not change which is the greatest. A threshold outside of 0..1 shows that values have another unit.
        let fraction = match classes {
            Classes::Threshold(threshold) if !soft => (0.0..=1.0).contains(&threshold),
            _ => true,
        };
        let judged = matches!(self.plan.task, Task::Value | Task::Softmax) && fraction && !stretched;
        let channels = Some(self.plan.announced.shape.channels);
        let twice = Expected::of_probabilities(activation, 1, channels);
        Expected {
            activation,
            raw: true,
            slack: judged.then_some(SLACK),
            twice: twice.filter(|_| judged),
            threshold: None,
            final_scores: false,
            normalized: None,
            unique: false,
            labels: None,
        }
    }

    /// Statistics of one frame's logits: of the channel that is used, or of all if they are compared. `None` for logits that
    /// are not those announced, and for class numbers.
    pub fn run(&self, logits: &TensorView<'_>) -> Option<Survey> {
        let SegmentPlan { announced, params, task, .. } = &self.plan;
        announced.check(logits.name, logits.ty, &logits.dims).ok()?;
        let values = logits.to_f32();
        let (cells, channels) = (announced.shape.cells(), announced.shape.channels);
        let [cell_step, channel_step] =
            if announced.shape.layout == Layout::Nhwc { [channels, 1] } else { [1, cells] };
        let at = |cell: usize, channel: usize| values[cell * cell_step + channel * channel_step];
        Some(match task {
            Task::ClassMap => return None,
            Task::Argmax => Survey::of_scores(values.iter().copied()),
            Task::Value => Survey::of_scores((0..cells).map(|cell| at(cell, params.channel))),
            Task::Softmax => Survey::of_rows((0..cells).map(|cell| (0..channels).map(move |c| at(cell, c)))),
        })
    }
}

impl InstanceMasks {
    /// What [`InstanceMasks::survey`] should show; `None` for prototypes, which may have any values.
    pub fn expected(&self) -> Option<Expected> {
        let Source::Maps { activation, threshold, .. } = self.source else { return None };
        // A threshold outside of 0..1 shows that values have another unit.
        let fraction = (0.0..=1.0).contains(&threshold);
        let activation = activation.into();
        Some(Expected {
            activation,
            raw: true,
            slack: fraction.then_some(SLACK),
            twice: Expected::of_probabilities(activation, 1, None).filter(|_| fraction),
            threshold: None,
            final_scores: false,
            normalized: None,
            unique: false,
            labels: None,
        })
    }

    /// Statistics of the maps of all queries or boxes; `None` for prototypes.
    pub fn survey(&self, maps: &TensorView<'_>) -> Option<Survey> {
        matches!(self.source, Source::Maps { .. }).then(|| Survey::of_scores(maps.to_f32().iter().copied()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::TensorType;

    /// Two cells of three channels: 0, 1, 2 and 10, 11, 12.
    fn run(dims: &[usize], values: [f32; 6], params: SegmentParams) -> (Survey, Expected) {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let survey =
            LogitsSurvey::new(&TensorDesc::fixed("x", TensorType::Float32, dims), [4, 2], params).unwrap();
        let view = TensorView::new("x", TensorType::Float32, dims, &bytes).unwrap();
        (survey.run(&view).unwrap(), survey.expected())
    }

    #[test]
    fn the_channel_that_is_used_is_surveyed_in_either_layout() {
        let params =
            SegmentParams { classes: Classes::Threshold(0.5), channel: 1, ..SegmentParams::default() };
        for (dims, values) in [
            (&[1, 3, 1, 2], [0.0, 10.0, 1.0, 11.0, 2.0, 12.0]),
            (&[1, 1, 2, 3], [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]),
        ] {
            let (survey, expected) = run(dims, values, params);
            assert_eq!((survey.finite, survey.lowest, survey.highest), (2, 1.0, 11.0), "{dims:?}");
            assert_eq!((expected.slack, expected.twice), (Some(0.1), None));
            let softmax = SegmentParams { activation: Activation::Softmax, ..params };
            let (survey, _) = run(dims, [0.25, 0.5, 0.5, 0.25, 0.25, 0.25], softmax);
            assert_eq!((survey.finite, survey.rows), (6, 2), "{dims:?}");
        }
    }

    #[test]
    fn of_the_greatest_channel_and_of_thresholds_in_other_units_no_range_is_expected() {
        let values = [0.0, 10.0, 1.0, 11.0, 2.0, 12.0];
        let other = SegmentParams { classes: Classes::Threshold(5.0), ..SegmentParams::default() };
        for params in [SegmentParams::default(), other] {
            let (survey, expected) = run(&[1, 3, 1, 2], values, params);
            assert_eq!((expected.slack, expected.twice), (None, None));
            assert!(survey.finite > 0);
        }
    }
}
