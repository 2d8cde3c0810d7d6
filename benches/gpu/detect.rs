//! The operation `detect`: outputs of models that see 320 objects, to detections in the host's memory.

use std::time::Instant;

use cudainfer_kernels::detect::{CudaDetector, Decoder, DecoderKind, DetectParams, Hints, Nms, choose};
use cudainfer_kernels::device::{CudaStream, DeviceTensor, Memory};
use cudainfer_kernels::geometry::{Affine, RowFrame};
use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use super::measure::{Times, measure, row};

const ROW: RowFrame = RowFrame { to_frame: Affine::upright([3.0, 3.0], [0.0, -420.0]), frame: [1920, 1080] };
/// Inputs in turn: more than the H200's 60 MB of L2 hold.
const ROTATED: usize = 100 << 20;

/// Objects of a scene, so that 300 detections remain where there are that many candidates.
const OBJECTS: usize = 320;

/// Frames of a batch.
const BATCH: usize = 16;

/// Launches of decoding and greedy NMS of a few candidates.
const LAUNCHES: f64 = 3.0;

pub fn run(stream: &CudaStream) {
    let params = DetectParams { top_k_before: 2048, ..DetectParams::default() };
    for (candidates, goal) in [(400, 12.0), (1600, 18.0)] {
        let model = Model::yolov8(stream, candidates);
        let name = format!("decode + NMS 84x8400, {candidates} candidates");
        model.time(stream, &name, &params, Some(goal));
        model.time_batch(stream, &format!("{name}, batch of {BATCH} (a frame)"), &params);
    }
    let model = Model::yolov5(stream, 1600);
    model.time(stream, "decode + NMS 85x25200, 1600 candidates", &params, Some(20.0));
    let model = Model::nanodet(stream, 200);
    model.time(stream, "decode + NMS NanoDet 416, 200 candidates", &params, None);

    let model = Model::yolov8(stream, 400);
    model.time_with_wait(stream, "decode + NMS 84x8400, 400 candidates, with host wait", &params);
    for nms in [Nms::Agnostic, Nms::SoftLinear] {
        let params = DetectParams { nms, ..params.clone() };
        model.time(stream, &format!("decode + {nms:?} NMS 84x8400, 400 candidates"), &params, None);
    }
    let model = Model::yolov5(stream, 25200);
    for top_k_before in [1000, 30000] {
        let name = format!("decode + NMS 85x25200, all candidates, top_k_before {top_k_before}");
        model.time(stream, &name, &DetectParams { top_k_before, ..DetectParams::default() }, None);
    }
}

/// A model's outputs for several frames, in device memory.
struct Model {
    decoder: Decoder,
    dims: Vec<Vec<usize>>,
    frames: Vec<Vec<Memory>>,
    /// Bytes that must move for a frame.
    bytes: usize,
}

impl Model {
    fn new(
        stream: &CudaStream,
        kind: DecoderKind,
        dims: &[&[usize]],
        input: usize,
        bytes: usize,
        mut frame: impl FnMut() -> Vec<Vec<f32>>,
    ) -> Self {
        let descs: Vec<_> = dims.iter().map(|d| TensorDesc::fixed("t", TensorType::Float32, d)).collect();
        let decoder = choose(&descs, [input, input], Some(kind), &Hints::default()).unwrap();
        let size: usize = dims.iter().map(|d| 4 * d.iter().product::<usize>()).sum();
        let frames = (0..ROTATED.div_ceil(size)).map(|_| frame().iter().map(|t| upload(stream, t)).collect());
        let dims = dims.iter().map(|d| d.to_vec()).collect();
        Self { decoder, dims, frames: frames.collect(), bytes }
    }

    /// `[1, 4 + 80, 8400]` at 640x640.
    fn yolov8(stream: &CudaStream, candidates: usize) -> Self {
        let (n, mut scene) = (8400, Scene::new(640.0, &[8, 16, 32], 1, candidates));
        let bytes = n * 80 * 4 + candidates * (16 + 28);
        Self::new(stream, DecoderKind::Yolov8, &[&[1, 84, n]], 640, bytes, || {
            let mut values = vec![0.0; 84 * n];
            for (anchor, (b, scores)) in scene.anchors().iter().enumerate() {
                for (k, v) in b.iter().chain(scores).enumerate() {
                    values[k * n + anchor] = *v;
                }
            }
            vec![values]
        })
    }

    /// `[1, 25200, 5 + 80]` at 640x640. Of rows that are no candidates only the objectness (and the 32 bytes around it) moves.
    fn yolov5(stream: &CudaStream, candidates: usize) -> Self {
        let (n, mut scene) = (25200, Scene::new(640.0, &[8, 16, 32], 3, candidates));
        let bytes = n * 32 + candidates * (85 * 4 + 28);
        Self::new(stream, DecoderKind::Yolov5, &[&[1, n, 85]], 640, bytes, || {
            let mut values = Vec::with_capacity(85 * n);
            for (b, scores) in scene.anchors() {
                let hit = scores.iter().any(|s| *s > 0.25);
                values.extend(b);
                values.push(if hit { 0.97 } else { scores[0] });
                values.extend(scores);
            }
            vec![values]
        })
    }

    /// Scores and 4 x 11 logits for each of three strides at 416x416, as NanoDet-m writes them.
    fn nanodet(stream: &CudaStream, candidates: usize) -> Self {
        let cells = [2704, 676, 169];
        let mut scene = Scene::new(416.0, &[8, 16, 32], 1, candidates);
        let dims: Vec<[usize; 3]> = cells.iter().flat_map(|n| [[1, *n, 80], [1, *n, 44]]).collect();
        let dims: Vec<&[usize]> = dims.iter().map(|d| d.as_slice()).collect();
        let bytes = 3549 * 80 * 4 + candidates * (44 * 4 + 28);
        Self::new(stream, DecoderKind::Nanodet, &dims, 416, bytes, || {
            let anchors = scene.anchors();
            let mut rest = anchors.as_slice();
            let mut tensors = vec![];
            for n in cells {
                let (level, others) = rest.split_at(n);
                rest = others;
                tensors.push(level.iter().flat_map(|(_, s)| s.clone()).collect());
                // Distances of about 3 cells, as sharp as trained heads are.
                let logits = |(b, _): &([f32; 4], Vec<f32>)| -> Vec<f32> {
                    (0..44).map(|i| 4.0 - 1.5 * ((i % 11) as f32 - 2.0 - b[i / 11] % 2.0).abs()).collect()
                };
                tensors.push(level.iter().flat_map(logits).collect());
            }
            tensors
        })
    }

    fn outputs(&self) -> Vec<Vec<DeviceTensor<'_>>> {
        self.frames
            .iter()
            .map(|frame| {
                let pairs = self.dims.iter().zip(frame);
                pairs
                    .map(|(d, m)| DeviceTensor::new("t", TensorType::Float32, d, m.slice()).unwrap())
                    .collect()
            })
            .collect()
    }

    fn time(&self, stream: &CudaStream, name: &str, params: &DetectParams, goal: Option<f64>) {
        let mut detector = CudaDetector::new(self.decoder.clone(), params.clone(), stream).unwrap();
        let outputs = self.outputs();
        let mut found = vec![];
        let outcome = detector.run(stream, &outputs[0], &[ROW], &mut found).unwrap();
        let before = stream.counters().launches.get();
        let times = measure(stream, |i| {
            detector.start(stream, &outputs[i % outputs.len()], &[ROW]).unwrap();
        });
        let calls = 4100;
        let launches = (stream.counters().launches.get() - before) / calls;
        eprintln!("{name}: {outcome:?}, {} boxes", found[0].len());
        row(name, &times, self.bytes + 16 + 24 * found[0].len(), launches as f64, goal);
    }

    /// A frame's share of the time of a batch, of models with one output. Batches rotate as frames do.
    fn time_batch(&self, stream: &CudaStream, name: &str, params: &DetectParams) {
        let dims = [&[BATCH], &self.dims[0][1..]].concat();
        let bytes = 4 * dims.iter().product::<usize>();
        let batches: Vec<Memory> = (0..self.frames.len() / BATCH)
            .map(|batch| {
                let memory = stream.allocate(bytes).unwrap();
                for (i, frame) in self.frames[batch * BATCH..][..BATCH].iter().enumerate() {
                    stream.copy_on_device(frame[0].slice(), memory.slice().after(i * bytes / BATCH)).unwrap();
                }
                memory
            })
            .collect();
        let outputs: Vec<_> = batches
            .iter()
            .map(|m| [DeviceTensor::new("t", TensorType::Float32, &dims, m.slice()).unwrap()])
            .collect();
        let mut detector = CudaDetector::new(self.decoder.clone(), params.clone(), stream).unwrap();
        let mut found = vec![];
        detector.run(stream, &outputs[0], &[ROW; BATCH], &mut found).unwrap();
        let mut times = measure(stream, |i| {
            detector.start(stream, &outputs[i % outputs.len()], &[ROW; BATCH]).unwrap();
        });
        times.median /= BATCH as f64;
        times.p95 /= BATCH as f64;
        let boxes = found.concat().len() / BATCH;
        // 60 us for all frames of a batch.
        let goal = Some(60.0 / BATCH as f64);
        row(name, &times, self.bytes + 16 + 24 * boxes, LAUNCHES / BATCH as f64, goal);
    }

    /// Wall clock time from handing over the tensors to having the detections.
    fn time_with_wait(&self, stream: &CudaStream, name: &str, params: &DetectParams) {
        let mut detector = CudaDetector::new(self.decoder.clone(), params.clone(), stream).unwrap();
        let outputs = self.outputs();
        let mut found = vec![];
        let mut times: Vec<f64> = (0..2000)
            .map(|i| {
                let start = Instant::now();
                detector.run(stream, &outputs[i % outputs.len()], &[ROW], &mut found).unwrap();
                start.elapsed().as_secs_f64() * 1e6
            })
            .skip(100)
            .collect();
        times.sort_by(f64::total_cmp);
        let times = Times { median: times[times.len() / 2], p95: times[times.len() * 95 / 100] };
        row(name, &times, self.bytes + 16 + 24 * found[0].len(), LAUNCHES, None);
    }
}

fn upload(stream: &CudaStream, values: &[f32]) -> Memory {
    let mut pinned = stream.pin(4 * values.len()).unwrap();
    for (bytes, v) in pinned.as_mut_slice().chunks_exact_mut(4).zip(values) {
        bytes.copy_from_slice(&v.to_le_bytes());
    }
    let memory = stream.allocate(4 * values.len()).unwrap();
    stream.upload(&pinned, memory.slice()).unwrap();
    memory
}

/// Objects, each seen by the cells nearest to its centre: `candidates` cells in all have a confidence above 0.3.
struct Scene {
    side: f32,
    strides: &'static [usize],
    per_cell: usize,
    candidates: usize,
    random: u64,
}

impl Scene {
    fn new(side: f32, strides: &'static [usize], per_cell: usize, candidates: usize) -> Self {
        Self { side, strides, per_cell, candidates, random: 1 }
    }

    /// Knuth's MMIX generator, 0..1.
    fn unit(&mut self) -> f32 {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.random >> 40) as f32 / (1u64 << 24) as f32
    }

    /// Centre, size and 80 scores of every anchor, the next frame's each time.
    fn anchors(&mut self) -> Vec<([f32; 4], Vec<f32>)> {
        let mut centres = vec![];
        for stride in self.strides {
            let cells = self.side as usize / stride;
            for _ in 0..self.per_cell {
                centres.extend((0..cells * cells).map(|i| {
                    [(i % cells) as f32 + 0.5, (i / cells) as f32 + 0.5].map(|c| c * *stride as f32)
                }));
            }
        }
        let objects: Vec<_> = (0..OBJECTS)
            .map(|_| {
                let (w, h) =
                    (16.0 + 60.0 * self.unit() * self.unit(), 16.0 + 90.0 * self.unit() * self.unit());
                let (x, y) = (self.unit() * self.side, self.unit() * self.side);
                ([x, y, w, h], (self.unit() * self.unit() * 80.0) as usize)
            })
            .collect();
        let mut seen = vec![None; centres.len()];
        let distance = |anchor: usize, object: usize| {
            let ([x, y], ([ox, oy, ..], _)) = (centres[anchor], objects[object]);
            (x - ox).powi(2) + (y - oy).powi(2)
        };
        if self.candidates == centres.len() {
            let nearest = |anchor| {
                let of = |o: &usize, p: &usize| distance(anchor, *o).total_cmp(&distance(anchor, *p));
                (0..OBJECTS).min_by(of)
            };
            seen.iter_mut().enumerate().for_each(|(anchor, object)| *object = nearest(anchor));
        } else {
            // Each object in turn takes the nearest anchor that is not taken.
            let reach = centres.len().min(8 * self.candidates / OBJECTS + 32);
            let mut near: Vec<_> = (0..OBJECTS)
                .map(|object| {
                    let mut all: Vec<usize> = (0..centres.len()).collect();
                    let by = |a: &usize, b: &usize| distance(*a, object).total_cmp(&distance(*b, object));
                    all.select_nth_unstable_by(reach - 1, by);
                    all.truncate(reach);
                    all.sort_unstable_by(by);
                    all.into_iter()
                })
                .collect();
            let mut left = self.candidates;
            for object in (0..OBJECTS).cycle() {
                if left == 0 {
                    break;
                }
                if let Some(anchor) = near[object].find(|anchor| seen[*anchor].is_none()) {
                    seen[anchor] = Some(object);
                    left -= 1;
                }
            }
        }
        seen.into_iter()
            .zip(centres)
            .map(|(object, [x, y])| {
                let mut scores: Vec<f32> = (0..80).map(|_| 0.02 * self.unit()).collect();
                let Some(object) = object else {
                    return ([x, y, 20.0 + 30.0 * self.unit(), 20.0 + 30.0 * self.unit()], scores);
                };
                let ([ox, oy, w, h], class) = objects[object];
                scores[class] = 0.3 + 0.65 * self.unit();
                let mut about = |v: f32, by: f32| v + by * (self.unit() - 0.5);
                ([about(ox, 0.4 * w), about(oy, 0.4 * h), w * about(1.0, 0.4), h * about(1.0, 0.4)], scores)
            })
            .collect()
    }
}
