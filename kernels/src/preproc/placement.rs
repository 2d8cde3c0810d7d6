//! Where the resized frame lies in the tensor. Exact integer arithmetic, so that every device agrees to the pixel.

use super::{PreprocParams, Resize};
use crate::frame::FrameFormat;
use crate::geometry::Affine;

/// One axis of the placement, in pixels. The frame, or the part of it that is shown, is resized to `resized` pixels, of which the
/// first `crop` are cut; the tensor is filled from pixel `pad` on, `len` pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// Frame pixels before the part that is shown.
    pub origin: usize,
    /// The extent of the part that is shown, in frame pixels.
    pub frame: usize,
    /// That extent after resizing.
    pub resized: usize,
    /// Tensor pixels before the first filled one.
    pub pad: usize,
    /// Resized pixels that are cut before the first that is used.
    pub crop: usize,
    /// Tensor pixels filled.
    pub len: usize,
}

impl Axis {
    /// If bars cannot be equal, the right or bottom one is wider. Half of the excess, rounded half to even, is cut left or top.
    fn centred(frame: usize, resized: usize, tensor: usize) -> Self {
        let beyond = resized.saturating_sub(tensor);
        Self {
            origin: 0,
            frame,
            resized,
            pad: tensor.saturating_sub(resized) / 2,
            crop: scaled(beyond, 1, 2),
            len: resized.min(tensor),
        }
    }

    /// Frame pixels per tensor pixel, and where the tensor's first edge lies in the frame.
    fn affine(&self) -> (f64, f64) {
        let scale = self.frame as f64 / self.resized as f64;
        (scale, self.origin as f64 + (self.crop as f64 - self.pad as f64) * scale)
    }
}

/// The placement on both axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    pub x: Axis,
    pub y: Axis,
}

impl Placement {
    /// The placement that `params.resize` asks for; all sizes have been checked.
    pub fn new(source: &FrameFormat, params: &PreprocParams) -> Self {
        let (frame, tensor) = ((source.width, source.height), (params.width, params.height));
        // The scales of the two axes, compared without dividing: tensor.0 / frame.0 <= tensor.1 / frame.1.
        let x_is_smaller = tensor.0 * frame.1 <= tensor.1 * frame.0;
        let one_scale = |by_x: bool| {
            let (to, from) = if by_x { (tensor.0, frame.0) } else { (tensor.1, frame.1) };
            (scaled(frame.0, to, from), scaled(frame.1, to, from))
        };
        let resized = match params.resize {
            Resize::Stretch => tensor,
            Resize::Letterbox => {
                let (w, h) = one_scale(x_is_smaller);
                (w.max(1), h.max(1))
            }
            Resize::LetterboxTopLeft => rounded_down(frame, tensor),
            Resize::CenterCrop => center_crop(frame, tensor, params.crop_ratio),
            Resize::Pad => frame,
        };
        let mut x = Axis::centred(frame.0, resized.0, tensor.0);
        let mut y = Axis::centred(frame.1, resized.1, tensor.1);
        if matches!(params.resize, Resize::LetterboxTopLeft | Resize::Pad) {
            (x.pad, y.pad) = (0, 0);
            (x.crop, y.crop) = (0, 0);
        }
        Self { x, y }
    }

    /// The placement of a part that begins at `origin` of a larger frame.
    pub fn moved(mut self, origin: [usize; 2]) -> Self {
        [self.x.origin, self.y.origin] = origin;
        self
    }

    /// The map from tensor to frame coordinates.
    pub fn affine(&self) -> Affine {
        let ((sx, ox), (sy, oy)) = (self.x.affine(), self.y.affine());
        Affine::upright([sx, sy], [ox, oy])
    }
}

/// The size of a letterboxed frame in YOLOX: truncated, in the same floats.
fn rounded_down(frame: (usize, usize), tensor: (usize, usize)) -> (usize, usize) {
    let ratio = |to: usize, from: usize| to as f64 / from as f64;
    let scale = ratio(tensor.1, frame.1).min(ratio(tensor.0, frame.0));
    let side = |length: usize| ((length as f64 * scale) as usize).max(1);
    (side(frame.0), side(frame.1))
}

/// The size of a resized frame from whose middle the tensor is cut: it covers the tensor divided by `ratio`, rounded down as
/// in timm. The frame's other side is rounded down for a square tensor (torchvision's `Resize`), else to the nearest (timm's
/// `ResizeKeepRatio`).
fn center_crop(frame: (usize, usize), tensor: (usize, usize), ratio: f64) -> (usize, usize) {
    // The small summand makes 224 / 0.96552 the 232 from which the ratio was calculated.
    let target = |side: usize| ((side as f64 / ratio + 1e-3) as usize).max(side);
    let (w, h) = (target(tensor.0), target(tensor.1));
    let other = |length: usize, to: usize, from: usize| {
        if tensor.0 == tensor.1 { length * to / from } else { scaled(length, to, from) }
    };
    let (w, h) = if frame.0 * h <= frame.1 * w {
        (w, other(frame.1, w, frame.0))
    } else {
        (other(frame.0, h, frame.1), h)
    };
    (w.max(tensor.0), h.max(tensor.1))
}

/// `length * to / from`, rounded half to even, as Python's `round` does (and with it Ultralytics' letterbox).
fn scaled(length: usize, to: usize, from: usize) -> usize {
    // At most 2^32: sides are at most MAX_SIDE, and ten times that where a crop's ratio is small.
    let product = length * to;
    let (whole, rest) = (product / from, product % from);
    match (2 * rest).cmp(&from) {
        std::cmp::Ordering::Less => whole,
        std::cmp::Ordering::Greater => whole + 1,
        std::cmp::Ordering::Equal => whole + whole % 2,
    }
}
