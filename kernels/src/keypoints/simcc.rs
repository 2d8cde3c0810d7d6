//! SimCC: "SimCC: a Simple Coordinate Classification Perspective for Human Pose Estimation" (Li et al., ECCV 2022). The
//! place of a point along each axis is a class: the pixels of the input are split into cells, mostly two each, and the
//! network gives each cell of an axis a score. The point is where both axes have their maximum, the first of equals. Its
//! score is the smaller of both maxima, and it is no point if that is 0 or less: mmpose's `get_simcc_maximum`.

use super::{KeypointsError, SimccParams};
use crate::geometry::Affine;
use crate::peaks::{Activation, Outcome, Peak, activate, axis};
use crate::tensor::{TensorDesc, TensorType, TensorView};

/// The outputs' sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub points: usize,
    /// Cells along x and y.
    pub cells: [usize; 2],
    /// Tensor pixels per cell, and where the centre of cell 0 lies, of each axis.
    pub axes: [(f64, f64); 2],
}

/// The two outputs that were announced.
#[derive(Clone, Debug)]
pub(super) struct Announced {
    /// Along x and y.
    pub outputs: [TensorDesc; 2],
    input: [usize; 2],
    pub params: SimccParams,
}

impl Announced {
    pub fn new(
        outputs: [&TensorDesc; 2],
        input: [usize; 2],
        params: SimccParams,
    ) -> Result<Self, KeypointsError> {
        if params.threshold.is_nan() {
            return Err(KeypointsError::Threshold);
        }
        for output in outputs {
            if !matches!(output.ty, TensorType::Float32 | TensorType::Float16) {
                return Err(KeypointsError::Type(output.to_string()));
            }
            if !matches!(output.dims[..], [None | Some(1), _, _]) {
                return Err(KeypointsError::SimccShape(output.to_string()));
            }
            if input.contains(&0) || output.dims.contains(&Some(0)) {
                return Err(KeypointsError::Empty(output.to_string(), input[0], input[1]));
            }
        }
        let this = Self { outputs: outputs.map(TensorDesc::clone), input, params };
        let [x, y] = outputs.map(|output| [output.dims[1], output.dims[2]]);
        if let ([Some(kx), Some(wx)], [Some(ky), Some(wy)]) = (x, y) {
            this.shape([kx, wx], [ky, wy])?;
        }
        Ok(this)
    }

    /// The shape of both outputs from their numbers of points and cells, none of which is 0.
    fn shape(&self, x: [usize; 2], y: [usize; 2]) -> Result<Shape, KeypointsError> {
        let Self { input: [width, height], params, .. } = *self;
        let names = || self.outputs.each_ref().map(ToString::to_string);
        let ([of_x, wx], [of_y, wy]) = (x, y);
        if of_x != of_y {
            let [x, y] = names();
            return Err(KeypointsError::SimccPoints { x, y, of_x, of_y });
        }
        if wx * height != wy * width {
            let [x, y] = names();
            let split = |cells: usize, pixels: usize| format!("{:.4}", cells as f64 / pixels as f64);
            let [of_x, of_y] = [split(wx, width), split(wy, height)];
            return Err(KeypointsError::Split { x, y, width, height, of_x, of_y });
        }
        let axes = [axis(params.grid, wx, width), axis(params.grid, wy, height)];
        Ok(Shape { points: of_x, cells: [wx, wy], axes })
    }

    /// The shape of outputs of at least `rows` rows.
    pub fn read(&self, got: [(&str, TensorType, &[usize]); 2], rows: usize) -> Result<Shape, KeypointsError> {
        for ((name, ty, dims), declared) in got.into_iter().zip(&self.outputs) {
            let written = || TensorDesc::fixed(name, ty, dims).to_string();
            // The first dimension is the batch's.
            let same = ty == declared.ty
                && dims.len() == 3
                && dims[1..]
                    .iter()
                    .zip(&declared.dims[1..])
                    .all(|(got, want)| want.is_none_or(|w| w == *got));
            if !same {
                return Err(KeypointsError::Changed { got: written(), declared: declared.to_string() });
            }
            if dims[1..].contains(&0) {
                return Err(KeypointsError::Empty(written(), self.input[0], self.input[1]));
            }
            if dims[0] < rows {
                return Err(KeypointsError::Rows { got: written(), wanted: rows });
            }
        }
        let [x, y] = got.map(|(_, _, dims)| [dims[1], dims[2]]);
        self.shape(x, y)
    }

    /// The point of this number from the maxima of both axes, each a cell and its value, if it is valid.
    pub fn peak(
        &self,
        shape: &Shape,
        point: usize,
        maxima: [Option<(usize, f32)>; 2],
        to_frame: &Affine,
    ) -> Option<Peak> {
        let [Some((cell_x, of_x)), Some((cell_y, of_y))] = maxima else { return None };
        let lesser = of_x.min(of_y);
        let SimccParams { activation, threshold, .. } = self.params;
        let score = activate(activation, lesser);
        if score < threshold || activation == Activation::None && lesser <= 0.0 {
            return None;
        }
        let at = |(scale, first): (f64, f64), cell: usize| (scale * cell as f64 + first) as f32;
        let (x, y) = to_frame.point(at(shape.axes[0], cell_x), at(shape.axes[1], cell_y));
        Some(Peak { channel: u32::try_from(point).unwrap_or(u32::MAX), x, y, score })
    }
}

/// The cell with the greatest finite value, the first of equals, and that value; and how many are not finite.
fn greatest(values: &[f32]) -> (Option<(usize, f32)>, usize) {
    let (mut best, mut non_finite) = (None, 0);
    for (cell, v) in values.iter().enumerate() {
        if !v.is_finite() {
            non_finite += 1;
        } else if best.is_none_or(|(_, most)| *v > most) {
            best = Some((cell, *v));
        }
    }
    (best, non_finite)
}

/// Reads the two outputs of a SimCC network.
#[derive(Debug)]
pub struct SimccReader {
    announced: Announced,
}

impl SimccReader {
    /// Prepares for the outputs along `x`, `[1, K, Wx]`, and along `y`, `[1, K, Wy]`, float32 or float16, of a network whose
    /// input is `input` (width, height) pixels. `Wx / width` and `Wy / height` are the same: the split ratio.
    ///
    /// # Errors
    /// Every [`KeypointsError`] that says what is wrong with outputs or `params`.
    pub fn new(
        x: &TensorDesc,
        y: &TensorDesc,
        input: [usize; 2],
        params: SimccParams,
    ) -> Result<Self, KeypointsError> {
        Ok(Self { announced: Announced::new([x, y], input, params)? })
    }

    /// Replaces `peaks` by the points of the outputs' first row, in their order, each of which is there once or not at all.
    /// `to_frame` leads from the input tensor's pixels to the frame's.
    ///
    /// # Errors
    /// [`KeypointsError::Changed`] for other outputs than those announced, and for open dimensions those of
    /// [`SimccReader::new`].
    pub fn run(
        &mut self,
        x: &TensorView<'_>,
        y: &TensorView<'_>,
        to_frame: &Affine,
        peaks: &mut Vec<Peak>,
    ) -> Result<Outcome, KeypointsError> {
        peaks.clear();
        let shape = self.announced.read([(x.name, x.ty, &x.dims), (y.name, y.ty, &y.dims)], 1)?;
        let values = [x.to_f32(), y.to_f32()];
        let [of_x, of_y] = [0, 1].map(|i| values[i].chunks_exact(shape.cells[i]));
        let mut outcome = Outcome::default();
        for (point, (of_x, of_y)) in of_x.zip(of_y).take(shape.points).enumerate() {
            let [(x, bad_x), (y, bad_y)] = [greatest(of_x), greatest(of_y)];
            outcome.non_finite += bad_x + bad_y;
            peaks.extend(self.announced.peak(&shape, point, [x, y], to_frame));
        }
        Ok(outcome)
    }
}
