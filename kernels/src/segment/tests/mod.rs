//! Everything against plain references in f64.

mod clean;
mod errors;
mod instances;
mod logits;
mod map;
mod prototypes;
mod resize;
mod smoothing;

use super::{Outcome, SegmentError, SegmentParams, Segmenter};
use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorType, TensorView};
use half::f16;

const FLOATS: [TensorType; 2] = [TensorType::Float32, TensorType::Float16];

/// Reproducible numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n
    }

    /// One of 2^16 numbers in `-1..1`.
    fn unit(&mut self) -> f32 {
        self.below(1 << 16) as f32 / f32::exp2(15.0) - 1.0
    }
}

/// Logits of one frame, given channels first.
struct Logits {
    dims: Vec<usize>,
    ty: TensorType,
    bytes: Vec<u8>,
    /// Channels first, as the type holds them.
    values: Vec<f64>,
}

impl Logits {
    fn new(values: &[f32], [c, h, w]: [usize; 3], layout: Layout, ty: TensorType) -> Self {
        let (dims, order): (_, Vec<usize>) = match layout {
            Layout::Nchw => (vec![1, c, h, w], (0..c * h * w).collect()),
            Layout::Nhwc => (vec![1, h, w, c], (0..c * h * w).map(|i| i % c * h * w + i / c).collect()),
        };
        let ordered = order.iter().map(|i| values[*i]);
        match ty {
            TensorType::Float16 => Self {
                dims,
                ty,
                bytes: ordered.flat_map(|v| f16::from_f32(v).to_ne_bytes()).collect(),
                values: values.iter().map(|v| f16::from_f32(*v).to_f64()).collect(),
            },
            _ => Self {
                dims,
                ty,
                bytes: ordered.flat_map(f32::to_ne_bytes).collect(),
                values: values.iter().map(|v| f64::from(*v)).collect(),
            },
        }
    }

    fn desc(&self) -> TensorDesc {
        TensorDesc::fixed("logits", self.ty, &self.dims)
    }

    fn segmenter(&self, params: SegmentParams) -> Result<Segmenter, SegmentError> {
        Segmenter::new(&self.desc(), [64, 64], params)
    }

    fn through(&self, segmenter: &mut Segmenter) -> (Vec<u8>, Outcome) {
        let [width, height] = segmenter.size();
        let mut mask = vec![0xee; width * height];
        let view = TensorView::new("logits", self.ty, &self.dims, &self.bytes).unwrap();
        let outcome = segmenter.run(&view, &mut mask).unwrap();
        (mask, outcome)
    }

    fn mask(&self, layout: Layout, params: SegmentParams) -> (Vec<u8>, Outcome) {
        self.through(&mut self.segmenter(SegmentParams { layout: Some(layout), ..params }).unwrap())
    }
}

/// `check(values of a frame, dims, layout, type, description)` for odd and even sizes of all kinds.
fn every_shape(
    fill: impl Fn(&mut Random) -> f32,
    mut check: impl FnMut(&[f32], [usize; 3], Layout, TensorType, &str),
) {
    for (c, h, w) in [(2, 1, 1), (2, 9, 17), (3, 65, 9), (5, 17, 65), (21, 16, 40), (1, 33, 31), (256, 4, 5)]
    {
        for layout in [Layout::Nchw, Layout::Nhwc] {
            for ty in FLOATS {
                let mut random = Random::new((c * h * w) as u64);
                let values: Vec<f32> = (0..c * h * w).map(|_| fill(&mut random)).collect();
                check(&values, [c, h, w], layout, ty, &format!("{c}x{h}x{w} {layout:?} {ty}"));
            }
        }
    }
}
