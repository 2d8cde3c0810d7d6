//! A model's outputs, run on both sides and compared.

use cudainfer_kernels::detect::{
    CudaDetector, Decoder, DecoderKind, DetectError, DetectParams, Detection, Detector, Hints, Nms, Outcome,
    choose,
};
use cudainfer_kernels::device::{CudaStream, DeviceTensor, Memory};
use cudainfer_kernels::geometry::RowFrame;
use cudainfer_kernels::tensor::{TensorDesc, TensorType, TensorView};
use cudainfer_kernels::words::Words as _;
use half::f16;

use super::{ROW, upload};

#[derive(Clone)]
pub struct Tensor {
    pub name: &'static str,
    pub ty: TensorType,
    pub dims: Vec<usize>,
    pub bytes: Vec<u8>,
}

impl Tensor {
    pub fn new(name: &'static str, dims: &[usize], values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self { name, ty: TensorType::Float32, dims: dims.into(), bytes }
    }

    /// Integers of one of the two types that labels have.
    pub fn integers(name: &'static str, ty: TensorType, dims: &[usize], values: &[i64]) -> Self {
        let bytes = values.iter().flat_map(|v| match ty {
            TensorType::Int32 => (*v as i32).to_le_bytes().to_vec(),
            _ => v.to_le_bytes().to_vec(),
        });
        Self { name, ty, dims: dims.into(), bytes: bytes.collect() }
    }

    pub fn halved(&self) -> Self {
        let halves = self.view().to_f32().iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect();
        Self { ty: TensorType::Float16, bytes: halves, ..self.clone() }
    }

    pub fn desc(&self) -> TensorDesc {
        TensorDesc::fixed(self.name, self.ty, &self.dims)
    }

    pub fn view(&self) -> TensorView<'_> {
        TensorView::new(self.name, self.ty, &self.dims, &self.bytes).unwrap()
    }

    pub fn upload(&self, stream: &CudaStream) -> Memory {
        if self.bytes.is_empty() { stream.allocate(0).unwrap() } else { upload(stream, &self.bytes) }
    }
}

pub fn device<'a>(tensors: &'a [Tensor], memories: &'a [Memory]) -> Vec<DeviceTensor<'a>> {
    let pairs = tensors.iter().zip(memories);
    pairs.map(|(t, m)| DeviceTensor::new(t.name, t.ty, &t.dims, m.slice()).unwrap()).collect()
}

/// One frame's detections: a batch of one.
pub fn alone(
    detector: &mut CudaDetector,
    stream: &CudaStream,
    outputs: &[DeviceTensor<'_>],
    row: &RowFrame,
) -> Result<(Vec<Detection>, Outcome), DetectError> {
    let mut found = vec![vec![]; 3];
    let outcomes = detector.run(stream, outputs, &[*row], &mut found)?;
    assert_eq!((found.len(), outcomes.len()), (1, 1));
    Ok((found.remove(0), outcomes[0]))
}

/// A model's outputs, and how to read them.
#[derive(Clone)]
pub struct Case {
    pub name: String,
    pub tensors: Vec<Tensor>,
    pub decoder: Decoder,
    /// Whether no exponential is needed.
    pub exact: bool,
}

impl Case {
    pub fn new(
        name: &str,
        kind: DecoderKind,
        tensors: Vec<Tensor>,
        input: [usize; 2],
        hints: &Hints,
        exact: bool,
    ) -> Self {
        let descs: Vec<_> = tensors.iter().map(Tensor::desc).collect();
        let decoder = choose(&descs, input, Some(kind), hints).unwrap();
        Self { name: name.into(), tensors, decoder, exact }
    }

    pub fn cpu(&self, params: &DetectParams, row: &RowFrame) -> (Vec<Detection>, Outcome) {
        let views: Vec<_> = self.tensors.iter().map(Tensor::view).collect();
        let mut found = vec![];
        let mut detector = Detector::new(self.decoder.clone(), params.clone()).unwrap();
        let outcome = detector.run(&views, &row.to_frame, row.frame, &mut found).unwrap();
        (found, outcome)
    }

    /// With float16 tensors.
    pub fn halved(self) -> Self {
        let tensors = self.tensors.iter().map(Tensor::halved).collect();
        Self { name: format!("{}, float16", self.name), tensors, ..self }
    }

    pub fn gpu(&self, stream: &CudaStream, params: &DetectParams) -> (Vec<Detection>, Outcome) {
        let memories: Vec<_> = self.tensors.iter().map(|t| t.upload(stream)).collect();
        let mut detector = CudaDetector::new(self.decoder.clone(), params.clone(), stream).unwrap();
        let outputs = device(&self.tensors, &memories);
        let (found, outcome) = alone(&mut detector, stream, &outputs, &ROW).unwrap();
        // Nothing of a frame may linger in the buffers.
        let (again, same) = alone(&mut detector, stream, &outputs, &ROW).unwrap();
        assert_eq!(same, outcome, "{}", self.name);
        assert!(bits(&again) == bits(&found), "{}: another result the second time", self.name);
        (found, outcome)
    }

    /// Of one run, whose result need not be the next one's.
    pub fn gpu_once(&self, stream: &CudaStream, params: &DetectParams) -> (Vec<Detection>, Outcome) {
        let memories: Vec<_> = self.tensors.iter().map(|t| t.upload(stream)).collect();
        let mut detector = CudaDetector::new(self.decoder.clone(), params.clone(), stream).unwrap();
        alone(&mut detector, stream, &device(&self.tensors, &memories), &ROW).unwrap()
    }

    /// Computes on both and compares; returns what was found.
    pub fn check(&self, stream: &CudaStream, params: &DetectParams) -> (Vec<Detection>, Outcome) {
        let gpu = self.gpu(stream, params);
        self.compare(&gpu, &self.cpu(params, &ROW), params);
        gpu
    }

    /// Compares what both sides found.
    pub fn compare(
        &self,
        (gpu, outcome): &(Vec<Detection>, Outcome),
        (cpu, expected): &(Vec<Detection>, Outcome),
        params: &DetectParams,
    ) {
        let what = format!("{} {:?}", self.name, params.nms);
        assert_eq!(outcome, expected, "{what}");
        // Decays are exponentials, whose last bits decide which of two equally confident boxes is chosen, and what reaches the
        // threshold.
        let soft = matches!(params.nms, Nms::SoftGaussian { .. });
        assert!(soft || gpu.len() == cpu.len(), "{what}: {} on the GPU, {} on the CPU", gpu.len(), cpu.len());
        let exact = self.exact && !soft;
        let is_on_threshold = |d: &Detection| soft && is_near(d.confidence, params.confidence);
        if exact {
            for (i, (g, c)) in gpu.iter().zip(cpu).enumerate() {
                assert_eq!(g, c, "{what}: detection {i} of {}", cpu.len());
            }
        }
        let mut left: Vec<_> = cpu.iter().collect();
        for (i, g) in gpu.iter().enumerate().filter(|_| !exact) {
            // Those that are equally confident, as hundreds in float16 are, may have changed places.
            let near = |(place, c): &(usize, &&Detection)| *place < 20 || is_near(c.confidence, g.confidence);
            let reach = left.iter().enumerate().take_while(near).count();
            let Some(at) = left.iter().take(reach).position(|c| close(g, c)) else {
                // Of two that are equally confident but for the last bits of a decay, one side takes the one and the other the
                // other, and from there on they decay differently.
                let is_tied = |c: &&Detection| c.class == g.class && is_near(c.confidence, g.confidence);
                // Where the limit cuts among those, each side may keep another.
                let is_cut = cpu.len() == params.top_k_after
                    && cpu.last().is_some_and(|last| is_near(last.confidence, g.confidence));
                if soft && (is_cut || left.iter().take(reach).any(is_tied)) {
                    return;
                }
                if is_on_threshold(g) {
                    continue;
                }
                panic!("{what}: detection {i} is {g:?}, the CPU has {:?}", &left[..left.len().min(3)]);
            };
            left.remove(at);
        }
        let missing = left.into_iter().find(|c| !exact && !is_on_threshold(c));
        assert!(missing.is_none(), "{what}: the GPU has not found {missing:?}");
    }
}

/// Boxes that an exponential gives differ in their last bits, and so does each of a box's hundreds of decays.
fn is_near(a: f32, b: f32) -> bool {
    a == b || (a - b).abs() <= 4e-6
}

fn close(a: &Detection, b: &Detection) -> bool {
    let (r, s) = (a.rect, b.rect);
    let edges = [(r.x, s.x), (r.y, s.y), (r.right(), s.right()), (r.bottom(), s.bottom())];
    a.class == b.class
        && is_near(a.confidence, b.confidence)
        && edges.iter().all(|(p, q)| (p - q).abs() <= 1e-3)
}

pub fn bits(found: &[Detection]) -> Vec<[u32; 6]> {
    let all = |d: &Detection| {
        let r = d.rect;
        let [x, y, w, h, c] = [r.x, r.y, r.w, r.h, d.confidence].map(f32::to_bits);
        [x, y, w, h, c, d.class]
    };
    found.iter().map(all).collect()
}

pub fn single(kind: DecoderKind, tensor: Tensor) -> Case {
    Case::new(kind.word(), kind, vec![tensor], [640, 640], &Hints::default(), true)
}
