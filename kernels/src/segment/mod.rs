//! From a network's logits to masks.
//!
//! A segmentation network gives one small image a class: the greater a cell's value, the surer it is that the class is there.
//! [`Segmenter`] makes a mask of these, one byte a cell, at the network's own size; [`Resize`] takes such a mask to the frame.
//! [`Prototypes`] makes the masks of single objects, as YOLO's segmentation models encode them; [`InstanceMasks`] those of
//! models that give a map for each object, and masks that are interpolated before they are compared. [`ClassQueries`] makes scores
//! of classes, on the CPU, for models that give each of many queries a class and a mask.
//!
//! # What a cell becomes
//! 1. With [`SegmentParams::smoothing`] `s` the values are the stream's state, `s * state + (1 - s) * logit`, computed in
//!    float32 and kept in the tensor's own type: in float16 it may stop short of a constant logit by up to
//!    `0.5 / (1 - s)` steps of that type. A NaN leaves the state as it was; a state that is not finite is replaced by the logit.
//! 2. [`Classes::Argmax`] takes the class of the greatest value, the first of equals; NaN counts as -infinity.
//!    [`Classes::Threshold`] takes 1 where the activated value of one channel reaches the threshold, else 0; a NaN does
//!    not reach it. With [`SegmentParams::soft`] it is the activated value itself, 0..1 as 0..255. With
//!    [`SegmentParams::stretched`] the activated values of the frame are first moved and scaled to 0..1.
//! 3. Opening, then closing, then the removal of small areas, on the mask: see [`SegmentParams`].
//!
//! A tensor of integers holds class numbers, because the network ends in an argmax. They are the mask, for [`Classes::Argmax`]
//! only and without smoothing; those that a byte cannot hold are counted and become 0.
//!
//! Softmax is `1 / sum(exp(v - v_channel))`, the sum in the channels' order and without NaN; with a single precision exp
//! of our own, so that all of it is the same to the bit on the GPU: [`CudaSegmenter`], [`CudaResize`],
//! [`CudaPrototypes`], [`CudaInstanceMasks`].

mod clean;
mod cpu;
mod cuda;
mod error;
mod instances;
mod map;
mod params;
mod plan;
mod prototypes;
mod queries;
mod resize;
mod survey;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use clean::spread;
pub use cuda::{CudaInstanceMasks, CudaPrototypes, CudaResize, CudaSegmenter};
pub(crate) use cuda::{CudaSpread, Pick};
pub use error::SegmentError;
pub use instances::{InstanceMasks, Instances, Window};
pub use params::{Activation, Classes, SegmentParams};
pub use plan::MOST_RADIUS;
pub use prototypes::{Prototypes, Region};
pub use queries::{ClassQueries, ObjectQueries, QueryObject};
pub use resize::Resize;
pub use survey::LogitsSurvey;

use crate::tensor::{TensorDesc, TensorView};
use clean::Cleaner;
use cpu::State;
use plan::{SegmentPlan, Task};

/// What happened besides the mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Values that are NaN or infinite, of the channels that the mask depends on.
    pub non_finite: usize,
    /// Class numbers below 0 or above 255, which became 0.
    pub out_of_range: usize,
}

/// Makes masks of one output of a model. Made once a stream: it holds the state of the smoothing.
#[derive(Debug)]
pub struct Segmenter {
    plan: SegmentPlan,
    state: State,
    cleaner: Cleaner,
}

impl Segmenter {
    /// Prepares for the output `logits` of a network whose input is `input` (width, height) pixels: float16 or float32,
    /// `[1, C, h, w]` or `[1, h, w, C]`, the same without the 1, or `[h, w]`; or integers with a single channel, which are class
    /// numbers; one frame's, all dimensions known.
    ///
    /// # Errors
    /// Every [`SegmentError`] that says what is wrong with `logits` or `params`.
    pub fn new(logits: &TensorDesc, input: [usize; 2], params: SegmentParams) -> Result<Self, SegmentError> {
        let plan = SegmentPlan::new(logits, input, params)?;
        let cleaner = Cleaner::new(plan.announced.shape.width, &params);
        Ok(Self { state: State::new(&plan)?, cleaner, plan })
    }

    /// The mask's width and height, which are the tensor's.
    pub fn size(&self) -> [usize; 2] {
        self.plan.size()
    }

    /// The number of channels.
    pub fn channels(&self) -> usize {
        self.plan.announced.shape.channels
    }

    /// Writes the mask of the stream's next frame to `mask`, dense, one byte a cell.
    ///
    /// # Errors
    /// [`SegmentError::Changed`] where `logits` is not what was announced, [`SegmentError::Room`] where `mask` has
    /// another size than the mask. The state is then as it was.
    pub fn run(&mut self, logits: &TensorView<'_>, mask: &mut [u8]) -> Result<Outcome, SegmentError> {
        self.plan.check(logits.name, logits.ty, &logits.dims, mask.len())?;
        let outcome = if self.plan.task == Task::ClassMap {
            Outcome { out_of_range: map::run(logits, mask), ..Outcome::default() }
        } else {
            Outcome { non_finite: cpu::run(&self.plan, logits, &mut self.state, mask), ..Outcome::default() }
        };
        self.cleaner.run(mask);
        Ok(outcome)
    }

    /// Forgets the frames so far: the next one is the first.
    pub fn reset(&mut self) {
        self.state.reset();
    }
}
