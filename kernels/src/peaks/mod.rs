//! From confidence maps to sub-pixel points in the frame.
//!
//! A pose network answers with one small image a body part: the higher a cell, the surer it is that the part lies
//! there. [`PeakFinder`] looks for the maxima, refines them to a fraction of a cell and maps them to the frame.
//!
//! # What counts as a maximum
//! With [`Mode::Local`] a cell is a peak if it reaches the threshold, is *strictly* greater than those of its eight
//! neighbours that come earlier in scan order (the row above, and the cell to the left) and at least as great as the
//! later ones. So a plateau that is a rectangle, or a line along a row, a column or a diagonal, gives exactly one peak,
//! its first cell. A ragged plateau gives one for each of its rows that begins beyond the reach of the row above.
//! Neighbours outside the map, and those that are NaN or infinite, count as -infinity. With [`Mode::Global`] the
//! first of several equal maxima wins.
//!
//! Maxima are found on the map as it is. The threshold, the score and the refinement use the activated values.
//!
//! [`CudaPeaks`] does the same on the GPU.

mod announced;
mod choose;
mod cpu;
mod cuda;
mod grid;
mod refine;
#[cfg(test)]
mod tests;

pub use cuda::CudaPeaks;

use crate::device::DeviceError;
use crate::geometry::Affine;
use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorView};
pub(crate) use announced::Announced;
pub(crate) use choose::{Place, activate};
pub(crate) use cuda::Records;
pub(crate) use grid::Shape;

/// Which maxima of a channel are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One peak a channel: its greatest cell, if it reaches the threshold. For one animal or person a frame.
    Global,
    /// Every 3x3 maximum that reaches the threshold, so many a channel.
    Local,
}

/// How a peak is placed between the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refinement {
    /// The cell's own place.
    None,
    /// On each axis the vertex of the parabola through the cell and its two neighbours, at most half a cell away. An
    /// axis where a neighbour is missing (the map's edge) or not finite is not refined.
    Quadratic,
    /// The mean place of the 5x5 neighbourhood, weighted by the values: the "integral" refinement of SLEAP (Pereira et
    /// al., Nature Methods 2022). What lies outside the map or is not finite has no weight; where the weights do
    /// not sum up to more than 0 there is no refinement. For maps without negative values, which logits are not.
    Integral,
}

/// What turns the map's values into scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// The map holds scores.
    None,
    /// The map holds logits: `1 / (1 + exp(-v))`.
    Sigmoid,
}

/// Where the cells of a map, `w` wide, lie in the input tensor, `W` wide (and `h`, `H` likewise). Coordinates are
/// continuous: tensor pixel `p` has its centre at `p + 0.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// Cell `i` is the tile of `W / w` pixels that it covers: its centre is at `(i + 0.5) * W / w`. Most networks.
    CellCentres,
    /// The first and last cells are the first and last pixels: cell `i` is pixel `i * (W - 1) / (w - 1)`, at that plus
    /// 0.5. Networks that align corners; PoseNet's 385 pixels and 25 cells. A single cell lies in the middle.
    Corners,
    /// Cell `i` is pixel `i * W / w`, at that plus 0.5: maps drawn by sampling at every n-th pixel, as SLEAP does.
    Strided,
}

/// What to look for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Which maxima.
    pub mode: Mode,
    /// The least score of a peak, in activated units.
    pub threshold: f32,
    /// How they are refined.
    pub refinement: Refinement,
    /// What the map's values are.
    pub activation: Activation,
    /// The map's order of dimensions. `None`: the one whose height and width are an even reduction of the input
    /// tensor's, by the same factor on both axes; an error where that is neither or both.
    pub layout: Option<Layout>,
    /// Where its cells lie. `None`: [`Grid::CellCentres`] where the cells tile the input evenly, else
    /// [`Grid::Corners`] where they do so from first to last pixel, else [`Grid::CellCentres`].
    pub grid: Option<Grid>,
    /// How many peaks a channel keeps in [`Mode::Local`], the strongest.
    pub top_k: usize,
    /// How many channels are looked at, from the first on; `None` is all. For tensors that hold something else besides the
    /// maps, whose values that are not finite are counted all the same.
    pub channels: Option<usize>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            mode: Mode::Local,
            threshold: 0.3,
            refinement: Refinement::Quadratic,
            activation: Activation::None,
            layout: None,
            grid: None,
            top_k: 100,
            channels: None,
        }
    }
}

/// A point that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// The channel it was found in, which is the body part.
    pub channel: u32,
    /// Across, in continuous frame pixels (pixel `i` has its centre at `i + 0.5`).
    pub x: f32,
    /// Down, likewise.
    pub y: f32,
    /// The activated value of the cell.
    pub score: f32,
}

/// What happened besides the peaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Cells of the map that are NaN or infinite. They are never peaks.
    pub non_finite: usize,
    /// Peaks that [`Params::top_k`] cut off.
    pub truncated: usize,
}

/// A map or parameters that cannot be worked with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeaksError {
    /// Another element type.
    #[error(
        "confidence map '{0}' must be float16 or float32; choose another output of the model or dequantise it"
    )]
    Type(String),
    /// Not an image a channel.
    #[error(
        "confidence map '{0}' must have the dimensions 1xCxHxW or 1xHxWxC, or the same without the 1; \
         choose the model's output that holds the maps"
    )]
    Rank(String),
    /// More than one frame.
    #[error("confidence map '{0}' holds {1} frames; hand over one frame's map at a time")]
    Batch(String, usize),
    /// Fewer frames than a batch has.
    #[error(
        "confidence map '{got}' does not hold the {wanted} frames of the batch; hand over one with that many along its \
         first dimension"
    )]
    Rows {
        /// What came.
        got: String,
        /// How many frames it is to hold.
        wanted: usize,
    },
    /// A dimension or size of 0.
    #[error("confidence map '{0}' for a {1}x{2} input has a size of 0; give every size at least 1")]
    Empty(String, usize, usize),
    /// The layout is open and the dimensions do not tell.
    #[error(
        "confidence map '{map}' can be read as {nchw} or as {nhwc}, and {fits} the {width}x{height} input. \
         Set the layout to nchw or nhwc, or correct the grid"
    )]
    Layout {
        /// The map.
        map: String,
        /// Read channels first.
        nchw: String,
        /// Read channels last.
        nhwc: String,
        /// Whether each of them fits, or neither, and what they should be: "each of them is an even reduction of".
        fits: &'static str,
        /// The input's width.
        width: usize,
        /// The input's height.
        height: usize,
    },
    /// A map other than the one that was announced.
    #[error(
        "a confidence map '{got}' arrived where '{declared}' was announced; renegotiate with the new dimensions"
    )]
    Changed {
        /// What came.
        got: String,
        /// What [`PeakFinder::new`] was told.
        declared: String,
    },
    /// A threshold that is not a number.
    #[error("a threshold of NaN finds nothing; set a number, for scores one between 0 and 1")]
    Threshold,
    /// No peak may be kept.
    #[error("a top-k of 0 keeps no peak; set it to 1 or more")]
    TopK,
    /// More than the GPU's side counts.
    #[error(
        "confidence map '{0}' has more than 2^28 values, or a batch of them 2^31; use a smaller one or smaller batches, \
         or compute on the CPU"
    )]
    TooLarge(String),
    /// The GPU failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Finds the peaks of one output of a model. Made once a stream; keeps its scratch memory.
#[derive(Debug)]
pub struct PeakFinder {
    pub(crate) announced: Announced,
    scratch: cpu::Scratch,
}

impl PeakFinder {
    /// Prepares for the output `map` of a network whose input is `input` (width, height) pixels.
    ///
    /// # Errors
    /// Every [`PeaksError`] that says what is wrong with `map` or `params`; a map with open dimensions is checked when
    /// it arrives.
    pub fn new(map: &TensorDesc, input: [usize; 2], params: Params) -> Result<Self, PeaksError> {
        Ok(Self { announced: Announced::new(map, input, params)?, scratch: cpu::Scratch::default() })
    }

    /// The number of channels, where the map's description tells it.
    pub fn channels(&self) -> Option<usize> {
        self.announced.channels
    }

    /// Replaces `peaks` by those of `map`: channel by channel, the strongest first, equals in scan order.
    /// `to_frame` leads from the input tensor's pixels to the frame's.
    ///
    /// # Errors
    /// [`PeaksError::Changed`] where `map` is not what was announced, and for open dimensions what
    /// [`PeakFinder::new`] would have said.
    pub fn run(
        &mut self,
        map: &TensorView<'_>,
        to_frame: &Affine,
        peaks: &mut Vec<Peak>,
    ) -> Result<Outcome, PeaksError> {
        peaks.clear();
        Ok(self.find(map, to_frame, |peak, _| peaks.push(peak))?.0)
    }

    /// The same with where each peak lies in the tensor; also returns how the map's dimensions are read.
    pub(crate) fn find(
        &mut self,
        map: &TensorView<'_>,
        to_frame: &Affine,
        emit: impl FnMut(Peak, Place),
    ) -> Result<(Outcome, Shape), PeaksError> {
        let shape = self.announced.read(map.name, map.ty, &map.dims)?;
        let values = map.to_f32();
        let cells = cpu::Cells::new(&values, &shape);
        let outcome = cpu::find(&cells, &self.announced.params, &shape, to_frame, &mut self.scratch, emit);
        Ok((outcome, shape))
    }
}
