//! The operation `group`: everything is the CPU's to the bit.

mod displacements;
mod paf;

use cudainfer_kernels::device::{CudaStream, DeviceTensor, Memory};
use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::group::Pose;
use cudainfer_kernels::peaks::Outcome;
use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::tensor::{TensorDesc, TensorType, TensorView};
use half::f16;

use super::{Random, stream, upload};

/// An output of several frames, in both memories.
struct Output {
    name: &'static str,
    ty: TensorType,
    /// Of one frame.
    dims: [usize; 4],
    frames: usize,
    bytes: Vec<u8>,
    memory: Memory,
}

impl Output {
    /// `data` is `[frames, c, h, w]`.
    fn new(
        stream: &CudaStream,
        name: &'static str,
        data: &[f32],
        [c, h, w]: [usize; 3],
        (layout, ty): (Layout, TensorType),
    ) -> Self {
        let frames = data.len() / (c * h * w);
        let (dims, data) = match layout {
            Layout::Nchw => ([1, c, h, w], data.to_vec()),
            Layout::Nhwc => {
                let frame = |f: usize| (0..c * h * w).map(move |i| f * c * h * w + i % c * h * w + i / c);
                ([1, h, w, c], (0..frames).flat_map(frame).map(|i| data[i]).collect())
            }
        };
        let bytes: Vec<u8> = match ty {
            TensorType::Float16 => data.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect(),
            _ => bytemuck::cast_slice(&data).to_vec(),
        };
        let memory = upload(stream, &bytes);
        Self { name, ty, dims, frames, bytes, memory }
    }

    fn desc(&self) -> TensorDesc {
        TensorDesc::fixed(self.name, self.ty, &self.dims)
    }

    fn on_device(&self) -> DeviceTensor<'_> {
        let [_, a, b, c] = self.dims;
        DeviceTensor::new(self.name, self.ty, &[self.frames, a, b, c], self.memory.slice()).unwrap()
    }

    fn view(&self, frame: usize) -> TensorView<'_> {
        let size = self.bytes.len() / self.frames;
        TensorView::new(self.name, self.ty, &self.dims, &self.bytes[frame * size..][..size]).unwrap()
    }
}

/// Another map to the frame for each; every second one turns.
fn to_frame(i: usize) -> Affine {
    let k = i as f64;
    let skew = if i % 2 == 1 { [-0.25, 0.25] } else { [0.0, 0.0] };
    Affine { scale: [1.0 + 0.03125 * k, 1.5], skew, offset: [-3.0 * k, 10.5 + k] }
}

fn bits(poses: &[Pose]) -> Vec<(u32, Vec<Option<[u32; 3]>>)> {
    let point = |p: &cudainfer_kernels::group::Keypoint| [p.x, p.y, p.score].map(f32::to_bits);
    poses
        .iter()
        .map(|p| (p.score.to_bits(), p.points.iter().map(|p| p.as_ref().map(point)).collect()))
        .collect()
}

fn assert_same(
    got: &(Vec<Vec<Pose>>, Vec<Outcome>),
    want: &[(Vec<Pose>, Outcome)],
    what: impl Fn() -> String,
) {
    assert_eq!((got.0.len(), got.1.len()), (want.len(), want.len()), "{}", what());
    for (frame, (poses, outcome)) in want.iter().enumerate() {
        assert_eq!(&got.1[frame], outcome, "{} frame {frame}", what());
        assert!(
            bits(&got.0[frame]) == bits(poses),
            "{} frame {frame}: {:?}, on the CPU {poses:?}",
            what(),
            got.0[frame]
        );
    }
}
