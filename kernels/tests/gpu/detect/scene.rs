//! Outputs of every family of decoders, with objects in them.

use cudainfer_kernels::detect::{
    Activation, AnchorFormula, AnchorSizes, Background, BoxFormat, DecoderKind, Hints, Priors, RowFormat,
};
use cudainfer_kernels::tensor::TensorType;

use super::{Case, Random, Tensor, single};

/// Anchors as a model sees a scene: some objects, boxes around them, mostly low scores.
pub struct Scene {
    /// Left, top, right, bottom in tensor pixels.
    pub boxes: Vec<[f32; 4]>,
    pub scores: Vec<Vec<f32>>,
}

impl Scene {
    /// `hits` of `n` anchors are sure of themselves: above 0.3, the others below 0.2.
    pub fn new(random: &mut Random, n: usize, classes: usize, hits: usize, side: f32) -> Self {
        let objects: Vec<_> = (0..60)
            .map(|_| {
                let (w, h) = (random.range(10.0, 120.0), random.range(10.0, 120.0));
                let (x, y) = (random.range(0.0, side - w), random.range(0.0, side - h));
                ([x, y, w, h], random.below(classes))
            })
            .collect();
        let mut scene = Self { boxes: vec![], scores: vec![] };
        let mut left = hits.min(n);
        for anchor in 0..n {
            let ([x, y, w, h], class) = objects[random.below(objects.len())];
            let (x, y) = (x + random.range(-0.2, 0.2) * w, y + random.range(-0.2, 0.2) * h);
            let (w, h) = (w * random.range(0.8, 1.2), h * random.range(0.8, 1.2));
            scene.boxes.push([x, y, x + w, y + h]);
            let mut scores: Vec<_> = (0..classes).map(|_| random.range(0.0, 0.2)).collect();
            if random.below(n - anchor) < left {
                left -= 1;
                let class = if random.below(5) == 0 { random.below(classes) } else { class };
                scores[class] = random.range(0.3, 1.0);
            }
            scene.scores.push(scores);
        }
        scene
    }

    pub fn rows(&self) -> impl Iterator<Item = (&[f32; 4], &Vec<f32>)> {
        self.boxes.iter().zip(&self.scores)
    }

    pub fn yolov5(&self) -> Tensor {
        let classes = self.scores.first().map_or(1, Vec::len);
        let row = |(b, s): (&[f32; 4], &Vec<f32>)| {
            let objectness = 0.9 + s[0] * 0.1;
            centered(b).into_iter().chain([objectness]).chain(s.clone()).collect::<Vec<_>>()
        };
        let values: Vec<_> = self.rows().flat_map(row).collect();
        Tensor::new("output0", &[1, self.boxes.len(), 5 + classes], &values)
    }

    pub fn yolov8(&self) -> Tensor {
        let (n, classes) = (self.boxes.len(), self.scores.first().map_or(1, Vec::len));
        let mut values = vec![0.0; (4 + classes) * n];
        for (a, (b, s)) in self.rows().enumerate() {
            for (k, v) in centered(b).iter().chain(s).enumerate() {
                values[k * n + a] = *v;
            }
        }
        Tensor::new("output0", &[1, 4 + classes, n], &values)
    }

    /// The same, an anchor a row.
    pub fn transposed_yolov8(&self) -> Tensor {
        let classes = self.scores.first().map_or(1, Vec::len);
        let row = |(b, s): (&[f32; 4], &Vec<f32>)| [centered(b).as_slice(), s].concat();
        let values: Vec<_> = self.rows().flat_map(row).collect();
        Tensor::new("output0", &[1, self.boxes.len(), 4 + classes], &values)
    }

    /// Boxes and scores; `map` changes a row of scores.
    pub fn boxes_scores(&self, unit: f32, map: impl Fn(&[f32]) -> Vec<f32>) -> Vec<Tensor> {
        let boxes: Vec<f32> = self.boxes.iter().flatten().map(|v| v / unit).collect();
        let scores: Vec<Vec<f32>> = self.scores.iter().map(|s| map(s)).collect();
        let columns = scores.first().map_or(1, Vec::len);
        vec![
            Tensor::new("scores", &[1, scores.len(), columns], &scores.concat()),
            Tensor::new("boxes", &[1, scores.len(), 4], &boxes),
        ]
    }
}

/// Queries with keypoints of seven numbers, of which a score is the third.
fn queries_with_points(random: &mut Random) -> Case {
    let case = queries(random, Activation::Sigmoid);
    let queries = case.tensors[0].dims[1];
    let values: Vec<f32> = (0..queries * 5 * 7).map(|_| random.range(-0.5, 1.5)).collect();
    let mut tensors = case.tensors;
    tensors.push(Tensor::new("keypoints", &[1, queries, 5, 7], &values));
    let hints = Hints { activation: Some(Activation::Sigmoid), keypoints: Some(5), ..Hints::default() };
    Case::new("queries with points", DecoderKind::Queries, tensors, [640, 640], &hints, false)
}

/// Queries with what is usual for them: centre and size in 0..1, and with softmax the background last.
fn queries(random: &mut Random, activation: Activation) -> Case {
    let scene = Scene::new(random, 301, 9, 100, 600.0);
    let boxes: Vec<f32> = scene.boxes.iter().flat_map(|b| centered(b).map(|v| v / 640.0)).collect();
    let row = |s: &Vec<f32>| match activation {
        Activation::None => s.clone(),
        Activation::Sigmoid => s.iter().map(|v| logit(*v)).collect(),
        Activation::Softmax => s.iter().map(|v| logit(*v) + 3.0).chain([s[0] * 10.0]).collect::<Vec<_>>(),
    };
    let scores: Vec<Vec<f32>> = scene.scores.iter().map(row).collect();
    let mut tensors = vec![
        Tensor::new("logits", &[1, 301, scores[0].len()], &scores.concat()),
        Tensor::new("pred_boxes", &[1, 301, 4], &boxes),
    ];
    let hints = Hints { activation: Some(activation), ..Hints::default() };
    let exact = activation == Activation::None;
    if exact {
        // What is in the masks does not matter here, only whose they are.
        tensors.push(Tensor::new("pred_masks", &[1, 301, 2, 2], &[0.5; 1204]));
    }
    Case::new(&format!("queries {activation:?}"), DecoderKind::Queries, tensors, [640, 640], &hints, exact)
}

fn centered(b: &[f32; 4]) -> [f32; 4] {
    [(b[0] + b[2]) * 0.5, (b[1] + b[3]) * 0.5, b[2] - b[0], b[3] - b[1]]
}

/// Centre, size, scores and what `more` says, a row each of `[1, 4 + classes + more, n]`.
fn columns(scene: &Scene, mut more: impl FnMut() -> Vec<f32>) -> Tensor {
    let rows: Vec<Vec<f32>> =
        scene.rows().map(|(b, s)| [centered(b).as_slice(), s, &more()].concat()).collect();
    let (n, height) = (rows.len(), rows[0].len());
    let values: Vec<f32> = (0..n * height).map(|i| rows[i % n][i / n]).collect();
    Tensor::new("output0", &[1, height, n], &values)
}

/// Centre, size, scores and what `more` says, of an anchor in each row of `[1, n, 4 + classes + more]`.
fn rows(scene: &Scene, mut more: impl FnMut() -> Vec<f32>) -> Tensor {
    let rows: Vec<Vec<f32>> =
        scene.rows().map(|(b, s)| [centered(b).as_slice(), s, &more()].concat()).collect();
    Tensor::new("output0", &[1, rows.len(), rows[0].len()], &rows.concat())
}

/// Poses of `points` keypoints, of three numbers each or of two; already suppressed or not.
fn pose(random: &mut Random, points: usize, numbers: usize, suppressed: bool) -> Case {
    let classes = 2;
    let scene = Scene::new(random, 2100, classes, 600, 600.0);
    let mut more = || -> Vec<f32> { (0..points * numbers).map(|_| random.range(-20.0, 640.0)).collect() };
    let tensor = if suppressed {
        let row = |(b, s): (&[f32; 4], &Vec<f32>)| [b.as_slice(), &[s[0].max(s[1]), 1.0], &more()].concat();
        let values: Vec<f32> = scene.rows().flat_map(row).collect();
        Tensor::new("output0", &[1, 2100, 6 + points * numbers], &values)
    } else {
        columns(&scene, more)
    };
    let hints = Hints { classes: Some(classes), keypoints: Some(points), ..Hints::default() };
    let name = format!("yolo-pose {points} {numbers} {suppressed}");
    Case::new(&name, DecoderKind::YoloPose, vec![tensor], [640, 640], &hints, true)
}

fn seg(random: &mut Random, coefficients: usize, transposed: bool) -> Case {
    let scene = Scene::new(random, 1500, 5, 400, 600.0);
    let more = || (0..coefficients).map(|_| random.range(-3.0, 3.0)).collect();
    let output = if transposed { rows(&scene, more) } else { columns(&scene, more) };
    let prototypes = Tensor::new("protos", &[1, coefficients, 4, 4], &vec![0.5; coefficients * 16]);
    let hints = Hints { classes: Some(5), ..Hints::default() };
    Case::new("yolo-seg", DecoderKind::YoloSeg, vec![output, prototypes], [640, 640], &hints, true)
}

/// Heat-maps with sizes, offsets and landmarks of this many channels.
fn centers(random: &mut Random, kind: DecoderKind, channels: [usize; 4], channels_last: bool) -> Case {
    let (columns, rows) = (41, 26);
    let face = kind == DecoderKind::Centerface;
    let ranges = [(0.0, 1.0), if face { (0.5, 2.5) } else { (1.0, 9.0) }, (-0.5, 0.5), (-0.2, 1.2)];
    let mut tensors = vec![];
    for ((name, count), (low, high)) in ["hm", "wh", "reg", "lm"].into_iter().zip(channels).zip(ranges) {
        if count > 0 {
            let values: Vec<f32> = (0..count * columns * rows).map(|_| random.range(low, high)).collect();
            let dims = if channels_last { [1, rows, columns, count] } else { [1, count, rows, columns] };
            tensors.push(Tensor::new(name, &dims, &values));
        }
    }
    let name = format!("{kind} {channels:?} {channels_last}");
    let input = [4 * columns, 4 * rows];
    Case::new(&name, kind, tensors, input, &Hints::default(), !face)
}

/// The score whose logistic function is `p`.
/// Masks of a model with objectness: 3 anchors in each of 1344 cells.
fn seg_with_objectness(random: &mut Random) -> Case {
    let scene = Scene::new(random, 4032, 5, 400, 240.0);
    let mut row = |(b, s): (&[f32; 4], &Vec<f32>)| {
        let more: Vec<f32> = (0..32).map(|_| random.range(-3.0, 3.0)).collect();
        [centered(b).as_slice(), &[0.9 + s[0] * 0.1], s, &more].concat()
    };
    let values: Vec<f32> = scene.rows().flat_map(&mut row).collect();
    let output = Tensor::new("output0", &[1, 4032, 5 + 5 + 32], &values);
    let prototypes = Tensor::new("protos", &[1, 32, 4, 4], &[0.5; 32 * 16]);
    let hints = Hints { classes: Some(5), ..Hints::default() };
    Case::new("yolo-seg, v5", DecoderKind::YoloSeg, vec![output, prototypes], [256, 256], &hints, true)
}

fn logit(p: f32) -> f32 {
    let p = p.clamp(1e-4, 1.0 - 1e-4);
    (p / (1.0 - p)).ln()
}

/// Columns, rows and stride of each level.
fn levels(input: [usize; 2], strides: &[usize]) -> Vec<[usize; 3]> {
    strides.iter().map(|s| [input[0].div_ceil(*s), input[1].div_ceil(*s), *s]).collect()
}

/// Final boxes in outputs of their own, of which the model says that there are `count`; labels of this type, among them
/// padding and such as no class has.
pub fn detections(
    random: &mut Random,
    ty: TensorType,
    count: Option<i64>,
    background: Option<Background>,
) -> Case {
    let n = 301;
    let scene = Scene::new(random, n, 9, 250, 600.0);
    let labels: Vec<i64> = (0..n).map(|i| [-1, -2, 9, 10, i64::MAX][i % 5].min((i % 14) as i64)).collect();
    let confidences: Vec<f32> = scene.scores.iter().map(|s| s.iter().copied().fold(0.0, f32::max)).collect();
    let mut tensors = vec![
        Tensor::integers("labels", ty, &[1, n], &labels),
        Tensor::new("boxes", &[1, n, 4], &scene.boxes.concat()),
        Tensor::new("scores", &[1, n], &confidences),
    ];
    tensors.extend(count.map(|count| Tensor::integers("num_dets", TensorType::Int32, &[1, 1], &[count])));
    let hints = Hints { classes: Some(9), background, ..Hints::default() };
    let name = format!("detections {ty} {count:?} {background:?}");
    Case::new(&name, DecoderKind::Detections, tensors, [640, 640], &hints, true)
}

/// Final boxes with keypoints beside them, of three numbers or two, and labels and masks or neither.
fn posed(random: &mut Random, numbers: usize, labels: bool) -> Case {
    let (n, points) = (301, 17);
    let scene = Scene::new(random, n, 1, 250, 600.0);
    let scored: Vec<f32> = scene.rows().flat_map(|(b, s)| [b[0], b[1], b[2], b[3], s[0]]).collect();
    let values: Vec<f32> = (0..n * points * numbers).map(|_| random.range(-20.0, 640.0)).collect();
    let mut tensors = vec![
        Tensor::new("keypoints", &[1, n, points, numbers], &values),
        Tensor::new("dets", &[1, n, 5], &scored),
    ];
    if labels {
        tensors.push(Tensor::integers("labels", TensorType::Int64, &[1, n], &vec![0; n]));
        tensors.push(Tensor::new("masks", &[1, n, 2, 3], &vec![0.5; n * 6]));
    }
    let name = format!("detections with keypoints {numbers} {labels}");
    Case::new(&name, DecoderKind::Detections, tensors, [640, 640], &Hints::default(), true)
}

/// Final boxes with their scores, and labels beside them; and rows of seven in another order.
fn final_rows(random: &mut Random) -> [Case; 2] {
    let n = 77;
    let scene = Scene::new(random, n, 9, 60, 600.0);
    let rows: Vec<_> = scene.rows().map(|(b, s)| (*b, s.iter().copied().fold(0.0, f32::max))).collect();
    let scored: Vec<f32> = rows.iter().flat_map(|(b, s)| b.iter().copied().chain([*s])).collect();
    let labels: Vec<i64> = (0..n).map(|i| (i % 9) as i64).collect();
    let tensors = vec![
        Tensor::new("dets", &[1, n, 5], &scored),
        Tensor::new("masks", &[1, n, 2, 3], &vec![0.5; n * 6]),
        Tensor::integers("labels", TensorType::Int64, &[1, n], &labels),
    ];
    let plain = Hints::default();
    let scored = Case::new("dets", DecoderKind::Detections, tensors, [640, 640], &plain, true);
    let row = |(i, (b, s)): (usize, &([f32; 4], f32))| [0.0, b[0], b[1], b[2], b[3], (i % 9) as f32, *s];
    let values: Vec<f32> = rows.iter().enumerate().flat_map(row).collect();
    let hints = Hints { row_format: Some(RowFormat::BatchBoxClassScore), ..plain };
    let tensor = Tensor::new("output", &[1, n, 7], &values);
    [scored, Case::new("rows of seven", DecoderKind::EndToEnd, vec![tensor], [640, 640], &hints, true)]
}

fn yolox(random: &mut Random, input: [usize; 2], strides: &[usize], hits: usize) -> Case {
    let levels = levels(input, strides);
    let n = levels.iter().map(|[c, r, _]| c * r).sum();
    let scene = Scene::new(random, n, 20, hits, input[0] as f32);
    let mut values = vec![];
    for s in &scene.scores {
        values.extend([random.unit(), random.unit(), random.range(-0.5, 2.0), random.range(-0.5, 2.0), 0.95]);
        values.extend(s);
    }
    let hints = Hints { strides: strides.into(), ..Hints::default() };
    let tensor = Tensor::new("output", &[1, n, 25], &values);
    Case::new("yolox", DecoderKind::Yolox, vec![tensor], input, &hints, false)
}

fn nanodet(random: &mut Random, input: [usize; 2], strides: &[usize], bins: usize, joined: bool) -> Case {
    let classes = 80;
    let (mut apart, mut all) = (vec![], vec![]);
    for [columns, rows, _] in levels(input, strides) {
        let n = columns * rows;
        let scene = Scene::new(random, n, classes, n / 12, input[0] as f32);
        let mut logits = vec![];
        for s in &scene.scores {
            let row: Vec<_> = (0..4 * bins).map(|_| random.range(-4.0, 4.0)).collect();
            all.extend(s.iter().chain(&row));
            logits.extend(row);
        }
        apart.insert(0, Tensor::new("scores", &[1, n, classes], &scene.scores.concat()));
        apart.push(Tensor::new("boxes", &[1, n, 4 * bins], &logits));
    }
    let width = classes + 4 * bins;
    let tensors =
        if joined { vec![Tensor::new("output", &[1, all.len() / width, width], &all)] } else { apart };
    let hints = Hints { strides: strides.into(), classes: Some(classes), ..Hints::default() };
    Case::new("nanodet", DecoderKind::Nanodet, tensors, input, &hints, false)
}

/// Faces of this many anchors a cell and landmarks; with two scores, as YuNet has them, or with one, as SCRFD has it.
fn faces(
    random: &mut Random,
    kind: DecoderKind,
    input: [usize; 2],
    strides: &[usize],
    [per_cell, landmarks]: [usize; 2],
) -> Case {
    let yunet = kind == DecoderKind::Yunet;
    let mut tensors = vec![];
    let sides = if yunet { (-0.5, 1.5) } else { (0.2, 2.0) };
    let scores = (1, (-0.2, 1.2));
    let mut outputs = if yunet { vec![scores, scores] } else { vec![scores] };
    outputs.push((4, sides));
    if landmarks > 0 {
        outputs.push((2 * landmarks, (-1.5, 1.5)));
    }
    for (columns, (low, high)) in outputs {
        for [w, h, _] in levels(input, strides) {
            let n = w * h * per_cell;
            let values: Vec<f32> = (0..n * columns).map(|_| random.range(low, high)).collect();
            tensors.push(Tensor::new("face", &[1, n, columns], &values));
        }
    }
    let hints = Hints { strides: strides.into(), ..Hints::default() };
    Case::new(&format!("{kind} {per_cell} {landmarks}"), kind, tensors, input, &hints, !yunet)
}

/// Offsets from prior boxes, and landmarks if there are any.
fn priors(random: &mut Random, kind: DecoderKind, activation: Activation, landmarks: usize) -> Case {
    let input = [192, 161];
    let ssd = kind == DecoderKind::Ssd;
    let given = Priors {
        min_sizes: vec![vec![20.0], vec![50.0, 60.0], vec![100.0]],
        max_sizes: vec![vec![30.0], vec![70.0, 80.0], vec![140.0]],
        aspect_ratios: vec![vec![], vec![2.0], vec![2.0, 3.0]],
        variances: [0.1, 0.2],
        clip: true,
    };
    let per_cell = if ssd { [2, 8, 6] } else { [2, 2, 2] };
    let n: usize = levels(input, &[8, 16, 32]).iter().zip(per_cell).map(|([w, h, _], k)| w * h * k).sum();
    let classes = if ssd { 21 } else { 1 };
    let (low, high) = if activation == Activation::None { (0.0, 1.0) } else { (-3.0, 6.0) };
    let mut tensors = vec![];
    let tables =
        [("loc", 4, -1.5, 1.5), ("conf", classes + 1, low, high), ("landms", 2 * landmarks, -3.0, 3.0)];
    for (name, columns, low, high) in tables {
        if columns > 0 {
            let values: Vec<f32> = (0..n * columns).map(|_| random.range(low, high)).collect();
            tensors.push(Tensor::new(name, &[1, n, columns], &values));
        }
    }
    let hints = Hints { priors: ssd.then_some(given), activation: Some(activation), ..Hints::default() };
    Case::new(&format!("{kind} {activation:?} {landmarks}"), kind, tensors, input, &hints, false)
}

/// Boxes with points around the centres of MediaPipe's anchors, as many as faces near the camera have.
fn mediapipe(random: &mut Random) -> Case {
    let (input, n, points) = ([192, 161], 24 * 21 * 2 + 12 * 11 * 6, 7);
    let mut boxes = vec![];
    for _ in 0..n {
        boxes.extend([0; 2].map(|_| random.range(-9.0, 9.0)));
        boxes.extend([0; 2].map(|_| random.range(4.0, 40.0)));
        boxes.extend((0..2 * points).map(|_| random.range(-20.0, 20.0)));
    }
    let scores: Vec<f32> = (0..n).map(|_| random.range(-9.0, 4.0)).collect();
    let tensors = vec![
        Tensor::new("regressors", &[1, n, 4 + 2 * points], &boxes),
        Tensor::new("classificators", &[1, n, 1], &scores),
    ];
    Case::new("mediapipe", DecoderKind::Mediapipe, tensors, input, &Hints::default(), false)
}

/// Coverage and boxes of this many classes, each with boxes of its own, on sizes that the stride does not divide.
pub fn detectnet(random: &mut Random, classes: usize) -> Case {
    let (input, [columns, rows]) = ([330, 161], [21, 11]);
    let mut maps = |name: &'static str, count: usize, low: f32, high: f32| {
        let values: Vec<f32> = (0..count * columns * rows).map(|_| random.range(low, high)).collect();
        Tensor::new(name, &[1, count, rows, columns], &values)
    };
    let tensors = vec![maps("output_cov", classes, 0.0, 1.0), maps("output_bbox", 4 * classes, 0.1, 1.5)];
    let name = format!("detectnet-v2 {classes}");
    Case::new(&name, DecoderKind::DetectnetV2, tensors, input, &Hints::default(), true)
}

/// Raw heads with anchors, in one of the orders of dimensions, on sizes that no stride divides. Few are sure of themselves, and
/// boxes are not so large that their edges lose digits.
pub fn anchors(random: &mut Random, formula: AnchorFormula, form: usize, activation: Activation) -> Case {
    let (input, strides, per_cell, values) = ([333, 161], [8, 16, 32, 64, 128], 3, 12);
    let raw = activation == Activation::Sigmoid;
    let mut tensors = vec![];
    for [w, h, _] in levels(input, &strides) {
        let cells = w * h;
        let mut head = vec![0.0; cells * per_cell * values];
        for (anchor, cell) in (0..per_cell).flat_map(|anchor| (0..cells).map(move |cell| (anchor, cell))) {
            let sure = random.below(16) == 0;
            for value in 0..values {
                let [low, high] = match value {
                    0..4 => [-1.0, 1.0],
                    4 if raw => {
                        if sure {
                            [1.0, 4.0]
                        } else {
                            [-6.0, -3.0]
                        }
                    }
                    4 => {
                        if sure {
                            [0.6, 1.0]
                        } else {
                            [0.0, 0.2]
                        }
                    }
                    _ if raw => [-4.0, 4.0],
                    _ => [0.0, 1.0],
                };
                let at = match form {
                    0 => (anchor * values + value) * cells + cell,
                    1 => (anchor * cells + cell) * values + value,
                    _ => (cell * per_cell + anchor) * values + value,
                };
                head[at] = random.range(low, high);
            }
        }
        let dims = match form {
            0 => vec![1, per_cell * values, h, w],
            1 => vec![1, per_cell, h, w, values],
            2 => vec![1, h, w, per_cell, values],
            _ => vec![1, h, w, per_cell * values],
        };
        // In another order than the strides'.
        tensors.insert(tensors.len() / 2, Tensor::new("head", &dims, &head));
    }
    let sizes = strides.iter().map(|s| (1..=6).map(|k| (k * s) as f32).collect()).collect();
    let scale_xy = if formula == AnchorFormula::Yolov5 { vec![] } else { vec![1.2, 1.1, 1.05, 1.0, 2.0] };
    let hints = Hints {
        strides: strides.into(),
        anchors: Some(AnchorSizes { sizes, formula, scale_xy }),
        activation: Some(activation),
        ..Hints::default()
    };
    let name = format!("yolo-anchors {formula:?} {form} {activation:?}");
    Case::new(&name, DecoderKind::YoloAnchors, tensors, input, &hints, false)
}

/// The decoders' cases, on odd sizes, with all that their hints offer. The seed changes the numbers only.
pub fn cases(seed: u64) -> Vec<Case> {
    let mut random = Random::new(seed);
    let mut cases = vec![];
    for (n, classes, hits) in [(1027, 80, 300), (333, 1, 100), (65, 17, 60), (2100, 3, 900)] {
        let scene = Scene::new(&mut random, n, classes, hits, 600.0);
        cases.push(single(DecoderKind::Yolov5, scene.yolov5()));
        cases.push(single(DecoderKind::Yolov8, scene.yolov8()));
        let rows = scene.transposed_yolov8();
        let hints = Hints { classes: Some(classes), ..Hints::default() };
        cases.push(Case::new("yolov8, rows", DecoderKind::Yolov8, vec![rows], [640, 640], &hints, true));
        // As logits.
        let hints = Hints { activation: Some(Activation::Sigmoid), ..Hints::default() };
        let logits = Scene {
            scores: scene.scores.iter().map(|s| s.iter().map(|v| logit(*v)).collect()).collect(),
            ..scene
        };
        let tensor = logits.yolov8();
        cases.push(Case::new("yolov8, logits", DecoderKind::Yolov8, vec![tensor], [640, 640], &hints, false));
    }
    let scene = Scene::new(&mut random, 301, 9, 250, 600.0);
    let row = |(i, (b, s)): (usize, (&[f32; 4], &Vec<f32>))| {
        let class = if i % 11 == 0 { -1.0 } else { (i % 9) as f32 };
        [b[0], b[1], b[2], b[3], s.iter().copied().fold(0.0, f32::max), class]
    };
    let values: Vec<_> = scene.rows().enumerate().flat_map(row).collect();
    cases.push(single(DecoderKind::EndToEnd, Tensor::new("output0", &[1, 301, 6], &values)));
    for (ty, count, background) in [
        (TensorType::Int64, None, None),
        (TensorType::Int32, Some(200), None),
        (TensorType::Int64, Some(302), Some(Background::First)),
    ] {
        cases.push(detections(&mut random, ty, count, background));
    }
    cases.extend(final_rows(&mut random));
    cases.push(posed(&mut random, 3, false));
    cases.push(posed(&mut random, 2, true));
    cases.push(yolox(&mut random, [416, 416], &[8, 16, 32], 400));
    cases.push(yolox(&mut random, [100, 65], &[8, 16, 32], 50));
    cases.push(nanodet(&mut random, [416, 416], &[8, 16, 32], 11, false));
    cases.push(nanodet(&mut random, [320, 192], &[8, 16, 32, 64], 8, false));
    cases.push(nanodet(&mut random, [100, 65], &[8, 16, 32], 17, true));
    let scene = Scene::new(&mut random, 777, 20, 300, 600.0);
    let formats = [BoxFormat::CenterSize, BoxFormat::Corners, BoxFormat::CornersYx, BoxFormat::TopLeftSize];
    let activations = [Activation::None, Activation::Sigmoid, Activation::Softmax];
    let backgrounds = [Background::None, Background::First, Background::Last];
    for (i, (activation, background)) in
        activations.into_iter().flat_map(|a| backgrounds.map(|b| (a, b))).enumerate()
    {
        let map = |s: &[f32]| {
            let mut row: Vec<_> = match activation {
                Activation::None => s.to_vec(),
                _ => s
                    .iter()
                    .map(|v| logit(*v) + if activation == Activation::Softmax { 3.0 } else { 0.0 })
                    .collect(),
            };
            match background {
                Background::None => {}
                Background::First => row.insert(0, s[0] * 10.0),
                Background::Last => row.push(s[0] * 10.0),
            }
            row
        };
        let (format, normalized) = (formats[i % 4], i % 2 == 0);
        let hints = Hints {
            box_format: Some(format),
            normalized: Some(normalized),
            activation: Some(activation),
            background: Some(background),
            ..Hints::default()
        };
        let tensors = scene.boxes_scores(if normalized { 640.0 } else { 1.0 }, map);
        let exact = activation == Activation::None;
        let name = format!("boxes-scores {format:?} {activation:?} {background:?}");
        cases.push(Case::new(&name, DecoderKind::BoxesScores, tensors, [640, 640], &hints, exact));
    }
    for activation in activations {
        cases.push(queries(&mut random, activation));
    }
    cases.push(queries_with_points(&mut random));
    let hints = Hints { normalized: Some(false), ..Hints::default() };
    let joined = vec![Scene::new(&mut random, 301, 9, 100, 600.0).transposed_yolov8()];
    cases.push(Case::new("queries, joined", DecoderKind::Queries, joined, [640, 640], &hints, true));
    for (points, numbers, suppressed) in [(17, 3, false), (5, 2, false), (3, 3, true)] {
        cases.push(pose(&mut random, points, numbers, suppressed));
    }
    cases.push(seg(&mut random, 32, false));
    cases.push(seg(&mut random, 32, true));
    cases.push(seg_with_objectness(&mut random));
    cases.push(priors(&mut random, DecoderKind::Ssd, Activation::Softmax, 0));
    cases.push(priors(&mut random, DecoderKind::Ssd, Activation::None, 0));
    cases.push(priors(&mut random, DecoderKind::Retinaface, Activation::Softmax, 5));
    cases.push(priors(&mut random, DecoderKind::Retinaface, Activation::None, 5));
    cases.push(mediapipe(&mut random));
    cases.push(faces(&mut random, DecoderKind::Scrfd, [192, 161], &[8, 16, 32], [2, 5]));
    cases.push(faces(&mut random, DecoderKind::Scrfd, [130, 160], &[8, 16, 32, 64], [1, 3]));
    cases.push(faces(&mut random, DecoderKind::Scrfd, [160, 160], &[4, 8, 16, 32, 64], [2, 0]));
    cases.push(faces(&mut random, DecoderKind::Yunet, [192, 161], &[8, 16, 32], [1, 5]));
    cases.push(faces(&mut random, DecoderKind::Yunet, [130, 160], &[8, 16, 32, 64], [1, 0]));
    for form in 0..4 {
        cases.push(anchors(&mut random, AnchorFormula::Yolov3, form, Activation::Sigmoid));
        cases.push(anchors(&mut random, AnchorFormula::Yolov5, form, Activation::None));
        cases.push(anchors(&mut random, AnchorFormula::NewCoords, form, Activation::None));
    }
    cases.push(detectnet(&mut random, 1));
    cases.push(detectnet(&mut random, 4));
    for channels_last in [false, true] {
        cases.push(centers(&mut random, DecoderKind::Centernet, [7, 2, 2, 0], channels_last));
        cases.push(centers(&mut random, DecoderKind::Centernet, [80, 4, 0, 0], channels_last));
        cases.push(centers(&mut random, DecoderKind::Centerface, [1, 2, 2, 10], channels_last));
    }
    cases
}
