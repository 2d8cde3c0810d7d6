//! From confidence maps to sub-pixel points in the frame.
//!
//! A pose network gives a confidence map for each body part: the higher a cell, the more probable is the part there.
//! [`PeakFinder`] finds the maxima, refines them to a fraction of a cell and maps them to the frame.
//!
//! # What counts as a maximum
//! With [`Mode::Local`] a cell is a peak if it reaches the threshold, is *strictly* greater than those of its eight
//! neighbours that come earlier in scan order (the row above, and the cell to the left) and at least as great as the
//! later ones. So a plateau that is a rectangle, or a line along a row, a column or a diagonal, gives exactly one peak,
//! its first cell. A ragged plateau gives one for each of its rows that begins beyond the reach of the row above.
//! Neighbours outside the map, and those that are NaN or infinite, count as -infinity. With [`Mode::Global`] the
//! first of several equal maxima is taken.
//!
//! Maxima are found on the map as it is. The threshold, the score and the refinement use the activated values.
//!
//! [`CudaPeaks`] does the same on the GPU.

mod announced;
mod cells;
mod choose;
mod cpu;
mod cuda;
mod dark;
mod error;
mod grid;
mod offsets;
mod params;
mod peak;
mod refine;
#[cfg(test)]
mod tests;

pub use cuda::CudaPeaks;
pub use error::PeaksError;
pub use params::{Activation, BLUR, BLUR_SIGMA, Border, Grid, Mode, PeakParams, Refinement, STRIDE};
pub use peak::{Outcome, Peak};

use crate::geometry::Affine;
use crate::tensor::{TensorDesc, TensorType, TensorView};
use cells::Cells;
use offsets::Offsets;

pub(crate) use announced::Announced;
pub(crate) use choose::{TensorPeak, activate};
pub(crate) use cuda::Records;
pub(crate) use grid::{MapShape, axis};

/// Finds the peaks of one output of a model. Made once a stream; keeps its scratch memory.
#[derive(Debug)]
pub struct PeakFinder {
    pub(crate) announced: Announced,
    offsets: Option<Offsets>,
    scratch: cpu::Scratch,
}

impl PeakFinder {
    /// Prepares for the output `map` of a network whose input is `input` (width, height) pixels.
    ///
    /// # Errors
    /// Every [`PeaksError`] that says what is wrong with `map` or `params`; a map with open dimensions is checked when
    /// it arrives.
    pub fn new(map: &TensorDesc, input: [usize; 2], params: PeakParams) -> Result<Self, PeaksError> {
        Self::with_offsets(map, None, input, params)
    }

    /// As [`Self::new`], with the output that [`Refinement::Offsets`] reads.
    ///
    /// # Errors
    /// Those of [`Self::new`], [`PeaksError::NoOffsets`] and [`PeaksError::Offsets`].
    pub fn with_offsets(
        map: &TensorDesc,
        offsets: Option<&TensorDesc>,
        input: [usize; 2],
        params: PeakParams,
    ) -> Result<Self, PeaksError> {
        let announced = Announced::new(map, input, params)?;
        let offsets = Offsets::announced(map, offsets, &params)?;
        Ok(Self { announced, offsets, scratch: cpu::Scratch::default() })
    }

    /// The number of channels, where the map's description has it.
    pub fn channels(&self) -> Option<usize> {
        self.announced.channels
    }

    /// Replaces `peaks` by those of `map`: channel by channel, the strongest first, equals in scan order.
    /// `to_frame` leads from the input tensor's pixels to the frame's.
    ///
    /// # Errors
    /// [`PeaksError::Changed`] where `map` is not the one announced, and for open dimensions those of [`PeakFinder::new`].
    pub fn run(
        &mut self,
        map: &TensorView<'_>,
        to_frame: &Affine,
        peaks: &mut Vec<Peak>,
    ) -> Result<Outcome, PeaksError> {
        self.run_with(map, None, to_frame, peaks)
    }

    /// As [`Self::run`], with the offsets that [`Self::with_offsets`] describes.
    ///
    /// # Errors
    /// Those of [`Self::run`], and [`PeaksError::Offsets`].
    pub fn run_with(
        &mut self,
        map: &TensorView<'_>,
        offsets: Option<&TensorView<'_>>,
        to_frame: &Affine,
        peaks: &mut Vec<Peak>,
    ) -> Result<Outcome, PeaksError> {
        peaks.clear();
        Ok(self.find(map, offsets, to_frame, |peak, _| peaks.push(peak))?.0)
    }

    /// As [`Self::find`], for values that lie as `dims` say.
    pub(crate) fn find_in(
        &mut self,
        values: &[f32],
        dims: &[usize],
        to_frame: &Affine,
        emit: impl FnMut(Peak, TensorPeak),
    ) -> Result<(Outcome, MapShape), PeaksError> {
        let Self { announced, scratch, .. } = self;
        let shape = announced.read(&announced.map.name, TensorType::Float32, dims)?;
        let cells = Cells::new(values, &shape);
        Ok((cpu::find(&cells, None, &announced.params, &shape, to_frame, scratch, emit), shape))
    }

    /// The place in tensor pixels of a cell (`y * width + x`) of the channels `values`, refined as if it were a peak.
    pub(crate) fn place(&self, values: &[f32], shape: &MapShape, channel: usize, cell: usize) -> (f64, f64) {
        let params = &self.announced.params;
        let (x, y) = (cell % shape.width, cell / shape.width);
        let cells = Cells::new(values, shape);
        let (dx, dy) = refine::offset(&cells, |v| activate(params.activation, v), params, [channel, x, y]);
        shape.to_tensor(x as f64 + dx, y as f64 + dy)
    }

    /// As [`Self::run`], with each peak's place in the tensor; also returns how the map's dimensions are read.
    pub(crate) fn find(
        &mut self,
        map: &TensorView<'_>,
        offsets: Option<&TensorView<'_>>,
        to_frame: &Affine,
        emit: impl FnMut(Peak, TensorPeak),
    ) -> Result<(Outcome, MapShape), PeaksError> {
        let shape = self.announced.read(map.name, map.ty, &map.dims)?;
        let values = map.to_f32();
        let cells = Cells::new(&values, &shape);
        let offsets =
            self.offsets.map(|each| each.values(offsets, &self.announced.map, &shape)).transpose()?;
        let offsets = offsets.as_deref();
        let outcome =
            cpu::find(&cells, offsets, &self.announced.params, &shape, to_frame, &mut self.scratch, emit);
        Ok((outcome, shape))
    }
}
