//! Tests of the whole operation; what they share is here.

mod anchors;
mod choice;
mod decoders;
mod detectnet;
mod extras;
mod faces;
mod finals;
mod limits;
mod mediapipe;
mod multi_label;
mod object_maps;
mod priors;
mod queries;
mod rotated;
mod suppression;
mod survey;

use half::f16;

use super::*;
use crate::tensor::{TensorDesc, TensorType};

/// A tensor with its data.
#[derive(Clone)]
struct Tensor {
    name: &'static str,
    ty: TensorType,
    dims: Vec<usize>,
    bytes: Vec<u8>,
}

impl Tensor {
    fn new(name: &'static str, dims: &[usize], values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self { name, ty: TensorType::Float32, dims: dims.into(), bytes }
    }

    fn halved(name: &'static str, dims: &[usize], values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect();
        Self { name, ty: TensorType::Float16, dims: dims.into(), bytes }
    }

    fn view(&self) -> TensorView<'_> {
        TensorView::new(self.name, self.ty, &self.dims, &self.bytes).unwrap()
    }

    fn desc(&self) -> TensorDesc {
        TensorDesc::fixed(self.name, self.ty, &self.dims)
    }
}

fn descs(tensors: &[Tensor]) -> Vec<TensorDesc> {
    tensors.iter().map(Tensor::desc).collect()
}

fn run(
    detector: &mut Detector,
    tensors: &[Tensor],
    map: &Affine,
    frame: [usize; 2],
) -> (Vec<Detection>, Outcome) {
    let views: Vec<_> = tensors.iter().map(Tensor::view).collect();
    let mut found = vec![];
    let outcome = detector.run(&views, map, frame, &mut found).unwrap();
    (found, outcome)
}

/// Everything passes but the confidence threshold.
fn open_params(confidence: f32) -> DetectParams {
    DetectParams {
        confidence,
        nms: Nms::None,
        top_k_before: 1 << 20,
        top_k_after: 1 << 20,
        ..DetectParams::default()
    }
}

/// A generator of numbers that does (Knuth's MMIX constants): seeded, so that failures repeat.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f32 / (1u64 << 24) as f32
    }

    fn within(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// Scores of one anchor: mostly low, and in one anchor of `every` one class that is not.
    fn scores(&mut self, classes: usize, every: usize) -> Vec<f32> {
        let mut scores: Vec<_> = (0..classes).map(|_| self.within(0.0, 0.2)).collect();
        if self.unit() * (every as f32) < 1.0 {
            let class = (self.unit() * classes as f32) as usize;
            scores[class] = self.within(0.6, 1.0);
        }
        scores
    }
}
