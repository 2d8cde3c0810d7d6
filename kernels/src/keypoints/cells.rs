//! Points of interest: SuperPoint (DeTone et al., "SuperPoint: Self-Supervised Interest Point Detection and Description", CVPRW 2018,
//! section 3.2, and its makers' demo). Each cell of 8x8 pixels has a logit for each of them, row by row, and one for there being no
//! point. A softmax over all of them makes confidences; of points near each other the most confident remains, and those at the input's
//! edge, where the network sees its own padding, are left out.

use super::KeypointsError;
use super::reader::{RowReader, first_rows};
use crate::geometry::Affine;
use crate::peaks::{Outcome, Peak};
use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorType, TensorView};

/// Pixels of a cell on each axis.
const SIDE: usize = 8;
/// Logits of a cell.
const LOGITS: usize = SIDE * SIDE + 1;

/// Which points are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellParams {
    /// The least confidence of a point.
    pub threshold: f32,
    /// Points that are this many pixels or fewer from a more confident one on both axes are left out.
    pub nms_radius: f32,
    /// So are points in this many pixels at each edge of the input.
    pub border: usize,
    /// How many points a frame has at most, the most confident.
    pub top_k: usize,
    /// The order of the output's dimensions. `None`: as the 65 logits show it, `nchw` if both fit.
    pub layout: Option<Layout>,
}

impl Default for CellParams {
    /// The values of SuperGlue's authors, of whom are SuperPoint's.
    fn default() -> Self {
        Self { threshold: 0.005, nms_radius: 4.0, border: 4, top_k: 1024, layout: None }
    }
}

/// Finds the points of one output `[1, 65, H/8, W/8]`, or the same with the logits last, for an input of W x H pixels.
#[derive(Debug)]
pub struct CellReader {
    outputs: Vec<TensorDesc>,
    input: [usize; 2],
    params: CellParams,
    layout: Layout,
    candidates: Vec<Candidate>,
    /// For each pixel, whether a point has left it out.
    taken: Vec<bool>,
}

/// A pixel that may be a point.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    score: f32,
    x: usize,
    y: usize,
}

impl CellReader {
    /// Prepares for an output of a network whose input is `input` (width, height) pixels.
    ///
    /// # Errors
    /// Every [`KeypointsError`] that says what is wrong with it or `params`; one with open dimensions is checked when it arrives.
    pub fn new(output: &TensorDesc, input: [usize; 2], params: CellParams) -> Result<Self, KeypointsError> {
        if params.threshold.is_nan() {
            return Err(KeypointsError::Threshold);
        }
        if !(params.nms_radius >= 0.0 && params.nms_radius.is_finite()) {
            return Err(KeypointsError::Radius(params.nms_radius.to_string()));
        }
        if !matches!(output.ty, TensorType::Float32 | TensorType::Float16) {
            return Err(KeypointsError::Type(output.to_string()));
        }
        let [width, height] = input.map(|size| size / SIDE);
        let fits = |layout: &Layout| {
            let wanted = match layout {
                Layout::Nchw => [1, LOGITS, height, width],
                Layout::Nhwc => [1, height, width, LOGITS],
            };
            let agree = |(dim, wanted): (&Option<usize>, usize)| dim.is_none_or(|dim| dim == wanted);
            output.dims.len() == wanted.len() && output.dims.iter().zip(wanted).all(agree)
        };
        let layouts = [Layout::Nchw, Layout::Nhwc].into_iter();
        let mut layouts = layouts.filter(|layout| params.layout.is_none_or(|stated| stated == *layout));
        let tiled = width > 0 && height > 0 && input.iter().all(|size| size.is_multiple_of(SIDE));
        let wrong =
            || KeypointsError::CellsShape { output: output.to_string(), width: input[0], height: input[1] };
        let layout = layouts.find(fits).filter(|_| tiled).ok_or_else(wrong)?;
        let outputs = vec![output.clone()];
        Ok(Self { outputs, input, params, layout, candidates: Vec::new(), taken: Vec::new() })
    }

    /// Makes candidates of the pixels that reach the threshold, and returns how many logits are not finite; a cell with such a logit
    /// has no points.
    fn find(&mut self, logits: &[f32]) -> usize {
        let [width, height] = self.input.map(|size| size / SIDE);
        let cells = width * height;
        self.candidates.clear();
        let mut non_finite = 0;
        for cell in 0..cells {
            let [first, step] = match self.layout {
                Layout::Nchw => [cell, cells],
                Layout::Nhwc => [cell * LOGITS, 1],
            };
            let of_cell = || logits.iter().skip(first).step_by(step).take(LOGITS).copied();
            let bad = of_cell().filter(|logit| !logit.is_finite()).count();
            if bad > 0 {
                non_finite += bad;
                continue;
            }
            let highest = of_cell().fold(f32::NEG_INFINITY, f32::max);
            let mut powers = [0.0; LOGITS];
            powers.iter_mut().zip(of_cell()).for_each(|(power, logit)| *power = (logit - highest).exp());
            let sum: f32 = powers.iter().sum();
            for (pixel, power) in powers[..SIDE * SIDE].iter().enumerate() {
                let score = power / sum;
                if score >= self.params.threshold {
                    let x = cell % width * SIDE + pixel % SIDE;
                    let y = cell / width * SIDE + pixel / SIDE;
                    self.candidates.push(Candidate { score, x, y });
                }
            }
        }
        non_finite
    }

    /// The candidates that remain, the most confident first, of equals in the order of rows.
    fn suppress(&mut self) -> Vec<Candidate> {
        let Self { input: [width, height], params: CellParams { nms_radius, border, .. }, .. } = *self;
        let radius = nms_radius as usize;
        self.taken.clear();
        self.taken.resize(width * height, false);
        self.candidates
            .sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then((a.y, a.x).cmp(&(b.y, b.x))));
        let mut kept = Vec::new();
        for candidate in &self.candidates {
            let Candidate { x, y, .. } = *candidate;
            if self.taken[y * width + x] {
                continue;
            }
            let columns = x.saturating_sub(radius)..(x + radius + 1).min(width);
            for row in y.saturating_sub(radius)..(y + radius + 1).min(height) {
                self.taken[row * width..][columns.clone()].fill(true);
            }
            // A point at the edge leaves others out, too.
            if x.min(y) >= border && x + border < width && y + border < height {
                kept.push(*candidate);
            }
        }
        kept
    }
}

impl RowReader for CellReader {
    type Found = Vec<Peak>;

    fn outputs(&self) -> &[TensorDesc] {
        &self.outputs
    }

    fn run(
        &mut self,
        outputs: &[TensorView<'_>],
        to_frame: &Affine,
    ) -> Result<(Vec<Peak>, Outcome), KeypointsError> {
        let values = first_rows(&self.outputs, outputs)?;
        let [logits] = &values[..] else {
            return Err(KeypointsError::Count { got: values.len(), wanted: 1 });
        };
        let [width, height] = self.input.map(|size| size / SIDE);
        // Where dimensions were open.
        if logits.len() != width * height * LOGITS {
            let [width, height] = self.input;
            return Err(KeypointsError::CellsShape { output: self.outputs[0].to_string(), width, height });
        }
        let non_finite = self.find(logits);
        let kept = self.suppress();
        let truncated = kept.len().saturating_sub(self.params.top_k);
        let peaks = kept.iter().take(self.params.top_k).map(|Candidate { score, x, y }| {
            let (x, y) = to_frame.point(*x as f32 + 0.5, *y as f32 + 0.5);
            Peak { channel: 0, x, y, score: *score }
        });
        Ok((peaks.collect(), Outcome { non_finite, truncated, limited: false }))
    }
}
