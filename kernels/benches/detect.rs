//! From output tensors to boxes: decode, threshold, NMS of one frame, and NMS alone.
//!
//! The floor is reading the tensors once; each benchmark reports the bytes of its tensors per second, to compare with
//! the machine's memory bandwidth. Contents are random scores with few hits, in clusters as real models
//! leave them, never zeros. Run: `cargo bench -p cudainfer-kernels --bench detect`.
#![allow(missing_docs, reason = "criterion's macros make the public items")]
#![allow(clippy::expect_used, reason = "a benchmark that cannot be set up has nothing better to do")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use cudainfer_kernels::detect::{
    Activation, AnchorFormula, AnchorSizes, Background, BoxFormat, DecoderKind, DetectParams, Detector,
    Hints, Nms, choose,
};
use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::tensor::{TensorDesc, TensorType, TensorView};
use half::f16;

const FRAME: [usize; 2] = [1920, 1080];
const MAP: Affine = Affine::upright([3.0, 3.0], [0.0, -420.0]);

struct Tensor {
    ty: TensorType,
    dims: Vec<usize>,
    bytes: Vec<u8>,
}

impl Tensor {
    fn new(dims: &[usize], values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self { ty: TensorType::Float32, dims: dims.into(), bytes }
    }

    fn halved(dims: &[usize], values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect();
        Self { ty: TensorType::Float16, dims: dims.into(), bytes }
    }
}

/// Knuth's MMIX generator: the same contents every time.
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f32 / (1u64 << 24) as f32
    }

    /// Class scores: the sigmoid of strongly negative logits; one class is sure of itself in a hit.
    fn scores(&mut self, classes: usize, hit: bool) -> Vec<f32> {
        let mut scores: Vec<f32> =
            (0..classes).map(|_| 1.0 / (1.0 + (4.0 + 6.0 * self.unit()).exp())).collect();
        if hit {
            scores[(self.unit() * self.unit() * classes as f32) as usize] = 0.3 + 0.65 * self.unit();
        }
        scores
    }

    /// Centre and size, around one of 20 objects.
    fn cluster(&mut self, side: f32) -> [f32; 4] {
        let object = (self.unit() * 20.0).floor();
        let at = |k: f32| (object * k) % 0.9 * side;
        [
            at(0.37) + 6.0 * self.unit(),
            at(0.73) + 6.0 * self.unit(),
            40.0 + 8.0 * self.unit(),
            80.0 + 8.0 * self.unit(),
        ]
    }
}

/// Benchmarks one frame of these tensors.
fn frame(
    c: &mut Criterion,
    name: &str,
    tensors: &[Tensor],
    input: [usize; 2],
    hints: &Hints,
    params: DetectParams,
) {
    let kind = (name.starts_with("nms")).then_some(DecoderKind::BoxesScores);
    let descs: Vec<_> = tensors.iter().map(|t| TensorDesc::fixed("t", t.ty, &t.dims)).collect();
    let views: Vec<_> = tensors
        .iter()
        .map(|t| TensorView::new("t", t.ty, &t.dims, &t.bytes).expect("a size that fits"))
        .collect();
    let decoder = choose(&descs, input, kind, hints).expect("a decoder that fits");
    let mut detector = Detector::new(decoder, params).expect("valid parameters");
    let mut found = vec![];
    let outcome = detector.run(&views, &MAP, FRAME, &mut found).expect("tensors that fit");
    println!("{name}: {outcome:?}, {} boxes", found.len());

    let mut group = c.benchmark_group("detect");
    group.throughput(Throughput::Bytes(tensors.iter().map(|t| t.bytes.len() as u64).sum()));
    group.bench_function(BenchmarkId::from_parameter(name), |b| {
        b.iter(|| detector.run(black_box(&views), &MAP, FRAME, &mut found).map(|o| o.candidates));
    });
    group.finish();
}

fn yolov8(c: &mut Criterion) {
    let (classes, n) = (80, 8400);
    for (name, every, confidence) in [("", 70.0, 0.25), (", mAP", 4.0, 0.001)] {
        let mut random = Random(1);
        let mut values = vec![0.0; (4 + classes) * n];
        for a in 0..n {
            let hit = random.unit() * every < 1.0;
            let row = random.cluster(640.0).into_iter().chain(random.scores(classes, hit));
            for (k, v) in row.enumerate() {
                values[k * n + a] = v;
            }
        }
        let params = DetectParams { confidence, ..DetectParams::default() };
        let (dims, input) = ([1, 4 + classes, n], [640, 640]);
        let hints = Hints::default();
        let name = format!("yolov8 84x8400 f32{name}");
        frame(c, &name, &[Tensor::new(&dims, &values)], input, &hints, params.clone());
        if every > 4.0 {
            frame(c, "yolov8 84x8400 f16", &[Tensor::halved(&dims, &values)], input, &hints, params);
        }
    }
}

fn yolov5(c: &mut Criterion) {
    for (name, classes, n, input) in
        [("yolov5 16128x7", 2, 16128, [512, 512]), ("yolov5 25200x85", 80, 25200, [640, 640])]
    {
        let mut random = Random(2);
        let mut values = vec![];
        for _ in 0..n {
            let hit = random.unit() * 150.0 < 1.0;
            values.extend(random.cluster(input[0] as f32));
            values.push(if hit { 0.5 + 0.5 * random.unit() } else { 0.01 * random.unit() });
            values.extend(random.scores(classes, hit));
        }
        let tensor = Tensor::new(&[1, n, 5 + classes], &values);
        frame(c, name, &[tensor], input, &Hints::default(), DetectParams::default());
    }
}

fn nanodet(c: &mut Criterion) {
    let mut random = Random(3);
    let mut tensors = vec![];
    for cells in [2704, 676, 169] {
        let (mut scores, mut logits) = (vec![], vec![]);
        for _ in 0..cells {
            let hit = random.unit() * 60.0 < 1.0;
            scores.extend(random.scores(80, hit));
            logits.extend((0..44).map(|_| 8.0 * random.unit() - 4.0));
        }
        tensors.push(Tensor::new(&[1, cells, 80], &scores));
        tensors.push(Tensor::new(&[1, cells, 44], &logits));
    }
    let input = [416, 416];
    frame(c, "nanodet 3549x(80+44)", &tensors, input, &Hints::default(), DetectParams::default());
}

/// Raw heads of a YOLOv5, in Darknet's order of dimensions and in that of its own export.
fn raw_heads(c: &mut Criterion) {
    let (classes, side, per_cell) = (80, 640, 3);
    let values = 5 + classes;
    let sizes = [[10.0, 13.0, 16.0, 30.0, 33.0, 23.0]; 3].map(Vec::from).into();
    let anchors = AnchorSizes { sizes, formula: AnchorFormula::Yolov5, scale_xy: vec![] };
    let hints = Hints { anchors: Some(anchors), activation: Some(Activation::None), ..Hints::default() };
    for (name, planes) in [("raw heads planes", true), ("raw heads by anchor", false)] {
        let mut random = Random(5);
        let tensor = |cells: usize, random: &mut Random| {
            let anchors = cells * cells * per_cell;
            let mut head = vec![0.0; anchors * values];
            for anchor in 0..anchors {
                let hit = random.unit() * 150.0 < 1.0;
                let objectness = if hit { 0.5 + 0.5 * random.unit() } else { 0.01 * random.unit() };
                let row = [random.unit(), random.unit(), 0.5, 0.5, objectness];
                for (k, v) in row.into_iter().chain(random.scores(classes, hit)).enumerate() {
                    let (shape, cell) = (anchor / (cells * cells), anchor % (cells * cells));
                    let at = if planes {
                        (shape * values + k) * cells * cells + cell
                    } else {
                        anchor * values + k
                    };
                    head[at] = v;
                }
            }
            let dims: &[usize] = if planes {
                &[1, per_cell * values, cells, cells]
            } else {
                &[1, per_cell, cells, cells, values]
            };
            Tensor::new(dims, &head)
        };
        let tensors = [8, 16, 32].map(|stride| tensor(side / stride, &mut random));
        frame(c, name, &tensors, [side, side], &hints, DetectParams::default());
    }
}

/// The softmax of an SSD's scores, with the background's first.
fn softmax(c: &mut Criterion) {
    let (n, classes) = (8732, 20);
    let mut random = Random(6);
    let (mut boxes, mut scores) = (vec![], vec![]);
    for _ in 0..n {
        let hit = random.unit() * 70.0 < 1.0;
        boxes.extend(random.cluster(1.0));
        scores.push(if hit { 0.0 } else { 6.0 });
        scores.extend(random.scores(classes, hit).iter().map(|score| 8.0 * score - 2.0));
    }
    let tensors = [Tensor::new(&[1, n, 4], &boxes), Tensor::new(&[1, n, 1 + classes], &scores)];
    let hints = Hints {
        activation: Some(Activation::Softmax),
        background: Some(Background::First),
        box_format: Some(BoxFormat::CenterSize),
        ..Hints::default()
    };
    frame(c, "boxes-scores softmax 8732x21", &tensors, [300, 300], &hints, DetectParams::default());
}

/// NMS alone: with one class, and a threshold that every box passes, the decoder has almost nothing to do.
fn nms(c: &mut Criterion) {
    for n in [100, 1000, 5000] {
        let mut random = Random(4);
        let (mut boxes, mut scores) = (vec![], vec![]);
        for _ in 0..n {
            boxes.extend([random.unit(), random.unit(), 0.05, 0.05]);
            scores.push(0.3 + 0.7 * random.unit());
        }
        let tensors = [Tensor::new(&[1, n, 4], &boxes), Tensor::new(&[1, n, 1], &scores)];
        let hints = Hints { box_format: Some(BoxFormat::CenterSize), ..Hints::default() };
        for (kind, nms) in [("greedy", Nms::Agnostic), ("gaussian", Nms::SoftGaussian { sigma: 0.5 })] {
            if n == 5000 && kind == "gaussian" {
                continue;
            }
            let params = DetectParams { nms, top_k_before: n, top_k_after: n, ..DetectParams::default() };
            frame(c, &format!("nms {kind} {n}"), &tensors, [640, 640], &hints, params);
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(40).measurement_time(std::time::Duration::from_secs(2))
        .warm_up_time(std::time::Duration::from_millis(500));
    targets = yolov8, yolov5, nanodet, raw_heads, softmax, nms
}
criterion_main!(benches);
