//! The announced tensor and the parameters, checked: the same for host and device.

use super::map::is_class_map;
use super::{Activation, Classes, SegmentError, SegmentParams};
use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorType};

/// A tensor's dimensions. One channel is always [`Layout::Nchw`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TensorShape {
    pub layout: Layout,
    pub channels: usize,
    pub width: usize,
    pub height: usize,
}

impl TensorShape {
    pub fn cells(&self) -> usize {
        self.width * self.height
    }
}

/// The tensor that an operation was made for.
#[derive(Clone, Debug)]
pub(super) struct Announced {
    pub tensor: TensorDesc,
    pub shape: TensorShape,
}

impl Announced {
    pub fn new(tensor: &TensorDesc, input: [usize; 2], layout: Option<Layout>) -> Result<Self, SegmentError> {
        if is_class_map(tensor.ty) {
            return Err(SegmentError::Type(tensor.to_string()));
        }
        let image = image(tensor, input)?;
        let layout = if tensor.dims.len() == 2 { Some(Layout::Nchw) } else { layout };
        let shape = read(tensor, image, input, layout)?;
        Ok(Self { tensor: tensor.clone(), shape })
    }

    /// As [`Self::new`] for integers, one a cell, which are class numbers.
    pub fn class_map(tensor: &TensorDesc, input: [usize; 2]) -> Result<Self, SegmentError> {
        let [width, height] = match image(tensor, input)? {
            [1, h, w] | [h, w, 1] => [w, h],
            _ => return Err(SegmentError::ClassMap(tensor.to_string())),
        };
        let shape = TensorShape { layout: Layout::Nchw, channels: 1, width, height };
        Ok(Self { tensor: tensor.clone(), shape })
    }

    /// Whether the tensor is the one that was announced.
    pub fn check(&self, name: &str, ty: TensorType, dims: &[usize]) -> Result<(), SegmentError> {
        if ty == self.tensor.ty && dims.iter().copied().map(Some).eq(self.tensor.dims.iter().copied()) {
            return Ok(());
        }
        let got = TensorDesc::fixed(name, ty, dims).to_string();
        Err(SegmentError::Changed { got, declared: self.tensor.to_string() })
    }
}

/// The three dimensions of an image, of a tensor for an input of this width and height.
fn image(tensor: &TensorDesc, input: [usize; 2]) -> Result<[usize; 3], SegmentError> {
    let text = || tensor.to_string();
    let Some(dims) = tensor.dims.iter().copied().collect::<Option<Vec<usize>>>() else {
        return Err(SegmentError::Rank(text()));
    };
    if input.contains(&0) || dims.contains(&0) {
        return Err(SegmentError::Empty(text(), input[0], input[1]));
    }
    let image = match dims[..] {
        [n, _, _, _] if n != 1 => return Err(SegmentError::Batch(text(), n)),
        [_, a, b, c] | [a, b, c] => [a, b, c],
        // A single row is rather a class number each.
        [h, w] if h > 1 && w > 1 => [1, h, w],
        _ => return Err(SegmentError::Rank(text())),
    };
    // Elements are numbered by 32 bits on the GPU, with a sign.
    if image.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).is_none_or(|n| n > 0x7fff_ffff) {
        return Err(SegmentError::TooLarge(text()));
    }
    Ok(image)
}

fn read(
    tensor: &TensorDesc,
    [a, b, c]: [usize; 3],
    input: [usize; 2],
    layout: Option<Layout>,
) -> Result<TensorShape, SegmentError> {
    let nchw = TensorShape { layout: Layout::Nchw, channels: a, width: c, height: b };
    let nhwc = TensorShape { layout: Layout::Nhwc, channels: c, width: b, height: a };
    let shape = match (layout, fits(&nchw, input), fits(&nhwc, input)) {
        (Some(Layout::Nchw), ..) | (None, true, false) => nchw,
        (Some(Layout::Nhwc), ..) | (None, false, true) => nhwc,
        (None, both, _) => match (a == 1, c == 1) {
            (true, _) => nchw,
            (false, true) => nhwc,
            _ => {
                return Err(SegmentError::Layout {
                    tensor: tensor.to_string(),
                    nchw: format!("{a} channels of {c}x{b} cells (nchw)"),
                    nhwc: format!("{c} channels of {b}x{a} cells (nhwc)"),
                    fits: if both { "each" } else { "neither" },
                    width: input[0],
                    height: input[1],
                });
            }
        },
    };
    Ok(if shape.channels == 1 { TensorShape { layout: Layout::Nchw, ..shape } } else { shape })
}

/// Whether the cells are the input's pixels reduced by the same whole factor on both axes: as tiles of it, or evenly
/// spaced from the first pixel to the last.
fn fits(shape: &TensorShape, [width, height]: [usize; 2]) -> bool {
    let TensorShape { width: w, height: h, .. } = *shape;
    let spans = |cells, pixels: usize| cells > 1 && pixels >= cells && (pixels - 1).is_multiple_of(cells - 1);
    let tiled = width.is_multiple_of(w) && height.is_multiple_of(h) && width / w == height / h;
    tiled || spans(w, width) && spans(h, height) && (width - 1) / (w - 1) == (height - 1) / (h - 1)
}

/// What a cell's byte is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// The greatest of all channels.
    Argmax,
    /// One channel by itself.
    Value,
    /// One channel among all.
    Softmax,
    /// The cell's own number.
    ClassMap,
}

/// Logits and parameters that go together.
#[derive(Clone, Debug)]
pub(super) struct SegmentPlan {
    pub announced: Announced,
    pub params: SegmentParams,
    pub task: Task,
    /// Threshold of the value ([`Task::Value`]) or probability ([`Task::Softmax`]); no value reaches NaN.
    pub gate: f32,
}

impl SegmentPlan {
    /// As `Segmenter::new`.
    pub fn new(logits: &TensorDesc, input: [usize; 2], params: SegmentParams) -> Result<Self, SegmentError> {
        let class_map = is_class_map(logits.ty);
        let announced = if class_map {
            Announced::class_map(logits, input)?
        } else {
            Announced::new(logits, input, params.layout)?
        };
        let channels = announced.shape.channels;
        let task = match (params.classes, params.activation) {
            (Classes::Argmax, _) if class_map && !params.soft && params.smoothing == 0.0 => Task::ClassMap,
            _ if class_map => return Err(SegmentError::NoScores(logits.to_string())),
            (Classes::Argmax, _) if !params.soft => Task::Argmax,
            (_, Activation::Softmax) => Task::Softmax,
            _ => Task::Value,
        };
        match task {
            Task::Argmax if !(2..=256).contains(&channels) => {
                return Err(SegmentError::Channels { tensor: logits.to_string(), channels });
            }
            Task::Value | Task::Softmax if params.channel >= channels => {
                let channel = params.channel;
                return Err(SegmentError::Channel { tensor: logits.to_string(), channels, channel });
            }
            Task::Softmax if channels == 1 => return Err(SegmentError::Softmax(logits.to_string())),
            _ => {}
        }
        if params.stretched && !matches!(task, Task::Value | Task::Softmax) {
            return Err(SegmentError::Stretched);
        }
        if !(0.0..1.0).contains(&params.smoothing) {
            return Err(SegmentError::Smoothing(params.smoothing));
        }
        if let Some(radius) = [params.opening, params.closing].into_iter().find(|r| *r > MOST_RADIUS) {
            return Err(SegmentError::Radius(radius));
        }
        let gate = match params.classes {
            Classes::Threshold(t) if !params.soft && t.is_nan() => return Err(SegmentError::Threshold),
            Classes::Threshold(t) if params.activation == Activation::Sigmoid && !params.stretched => {
                logit(t)
            }
            Classes::Threshold(t) => t,
            Classes::Argmax => f32::NAN,
        };
        Ok(Self { announced, params, task, gate })
    }

    /// The mask's width and height.
    pub fn size(&self) -> [usize; 2] {
        let TensorShape { width, height, .. } = self.announced.shape;
        [width, height]
    }

    /// Whether the tensor is the one that was announced, and `room` the mask's size.
    pub fn check(&self, name: &str, ty: TensorType, dims: &[usize], room: usize) -> Result<(), SegmentError> {
        self.announced.check(name, ty, dims)?;
        let [width, height] = self.size();
        if room == width * height {
            return Ok(());
        }
        Err(SegmentError::Room { width, height, bytes: room, stride: width })
    }

    /// Channels whose values are read, and of which there is a state.
    pub fn planes(&self) -> usize {
        if self.task == Task::Value { 1 } else { self.announced.shape.channels }
    }
}

/// The greatest radius of opening and closing: that of a tile on the GPU.
pub const MOST_RADIUS: u32 = 32;

/// The logit of a probability, so that only a comparison remains: -infinity where every value reaches it, NaN where none does.
pub(super) fn logit(p: f32) -> f32 {
    let p = f64::from(p);
    if p <= 0.0 { f32::NEG_INFINITY } else { (p / (1.0 - p)).ln() as f32 }
}

/// For numbers of at most 2^31, which the announced tensor has been checked for.
pub(super) fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
