//! From a network's logits to masks.
//!
//! A segmentation network answers with one small image a class: the higher a cell, the surer it is that the class is
//! seen there. [`Segmenter`] makes one byte a cell of it, at the network's own size; [`Resize`] takes such a mask to the
//! frame. [`Prototypes`] makes the masks of single objects, as YOLO's segmentation models encode them.
//!
//! # What a cell becomes
//! 1. With [`Params::smoothing`] `s` the values are the stream's state, `s * state + (1 - s) * logit`, computed in
//!    float32 and kept in the tensor's own type: in float16 it stays behind a constant logit by up to `0.5 / (1 - s)`
//!    steps of that type. A NaN leaves the state as it was; a state that is not finite is replaced by the logit.
//! 2. [`Classes::Argmax`] takes the class of the greatest value, the first of equals; NaN counts as -infinity.
//!    [`Classes::Threshold`] takes 1 where the activated value of one channel reaches the threshold, else 0; a NaN does
//!    not reach it. With [`Params::soft`] it is the activated value itself, 0..1 as 0..255.
//! 3. Opening, then closing, then the removal of small areas, on the mask: see [`Params`].
//!
//! Softmax is `1 / sum(exp(v - v_channel))`, the sum in the channels' order and without NaN; with a single precision exp
//! of our own, so that all of it is the same to the bit on the GPU: [`CudaSegmenter`], [`CudaResize`], [`CudaPrototypes`].

mod clean;
mod cpu;
mod cuda;
mod error;
mod plan;
mod prototypes;
mod resize;
#[cfg(test)]
mod tests;
mod value;

pub use cuda::{CudaPrototypes, CudaResize, CudaSegmenter};
pub use error::SegmentError;
pub use prototypes::{Prototypes, Region};
pub use resize::Resize;

use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorView};
use clean::Cleaner;
use cpu::State;
use plan::Plan;

/// How classes are told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Classes {
    /// The channel of the greatest value. For 2 to 256 channels.
    Argmax,
    /// 1 where [`Params::channel`] reaches this, in activated units, else 0.
    Threshold(f32),
}

/// What turns values into probabilities. It does not matter to [`Classes::Argmax`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// They are probabilities.
    None,
    /// They are logits, each for itself: `1 / (1 + exp(-v))`.
    Sigmoid,
    /// They are logits of classes that exclude each other. For 2 channels and more.
    Softmax,
}

/// What to make of the logits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// How classes are told.
    pub classes: Classes,
    /// The channel of [`Classes::Threshold`] and [`Params::soft`], which count from 0.
    pub channel: usize,
    /// What the values are.
    pub activation: Activation,
    /// The tensor's order of dimensions. `None`: the one whose height and width are an even reduction of the input
    /// tensor's, by the same factor on both axes; else the one with a single channel; an error where that does not tell.
    pub layout: Option<Layout>,
    /// How much of the state a frame keeps: 0 (no smoothing) up to, but not including, 1.
    pub smoothing: f32,
    /// Radius in cells, 0..=32, of the square of `2 * radius + 1` cells by which the foreground is eroded and then
    /// dilated: what is narrower than the square goes. Foreground is every class but 0, all classes together: a cell that
    /// stays keeps its class, one that goes becomes 0. Soft masks are opened as grey images (least, then greatest, of the
    /// square). Cells outside the mask do not count, so the mask's edge erodes nothing; as in OpenCV.
    pub opening: u32,
    /// Radius likewise, by which the foreground is dilated and then eroded: gaps narrower than the square are filled. A
    /// cell that is filled takes the greatest class number within the square around it.
    pub closing: u32,
    /// Cells that a connected area of one class has at least; smaller ones become 0. Cells are connected to all 8
    /// neighbours. In soft masks the areas are those of cells of at least 128.
    pub min_area: u32,
    /// The mask is the activated value of [`Params::channel`] instead of classes, whatever [`Params::classes`] says:
    /// `255 * value`, rounded to nearest, 0 for NaN.
    pub soft: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            classes: Classes::Argmax,
            channel: 0,
            activation: Activation::None,
            layout: None,
            smoothing: 0.0,
            opening: 0,
            closing: 0,
            min_area: 0,
            soft: false,
        }
    }
}

/// What happened besides the mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Values that are NaN or infinite, of the channels that the mask depends on.
    pub non_finite: usize,
}

/// Makes masks of one output of a model. Made once a stream: it holds the state of the smoothing.
#[derive(Debug)]
pub struct Segmenter {
    plan: Plan,
    state: State,
    cleaner: Cleaner,
}

impl Segmenter {
    /// Prepares for the output `logits` of a network whose input is `input` (width, height) pixels: float16 or float32,
    /// `[1, C, h, w]` or `[1, h, w, C]`, the same without the 1, or `[h, w]`; one frame's, all dimensions known.
    ///
    /// # Errors
    /// Every [`SegmentError`] that says what is wrong with `logits` or `params`.
    pub fn new(logits: &TensorDesc, input: [usize; 2], params: Params) -> Result<Self, SegmentError> {
        let plan = Plan::new(logits, input, params)?;
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
        let non_finite = cpu::run(&self.plan, logits, &mut self.state, mask);
        self.cleaner.run(mask);
        Ok(Outcome { non_finite })
    }

    /// Forgets the frames so far: the next one is the first.
    pub fn reset(&mut self) {
        self.state.reset();
    }
}
