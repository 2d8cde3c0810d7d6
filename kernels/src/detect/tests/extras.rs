//! Keypoints, coefficients and centres against f64 references, and boxes in rotated regions.
//!
//! Tolerance 2e-3 frame pixels, as for the decoders: float32 holds coordinates of 1000 to 6e-5, exponentials lose a few
//! units more, and the map to the frame multiplies by 3. Scores: 1e-6.

use super::*;

const MAP: Affine = Affine::upright([3.0, 2.5], [-20.0, 10.0]);
/// A region that is rotated by some 53 degrees.
const ROTATED: Affine = Affine { scale: [1.5, 1.5], skew: [-2.0, 2.0], offset: [300.0, -40.0] };
const FRAME: [usize; 2] = [900, 700];

fn run_attached(
    tensors: &[Tensor],
    decoder: Decoder,
    params: DetectParams,
    map: &Affine,
) -> (Vec<Detection>, Attached) {
    let mut detector = Detector::new(decoder, params).unwrap();
    let (found, _) = run(&mut detector, tensors, map, FRAME);
    (found, detector.attached().clone())
}

fn point(map: &Affine, x: f64, y: f64) -> [f64; 2] {
    [map.scale[0] * x + map.skew[0] * y + map.offset[0], map.skew[1] * x + map.scale[1] * y + map.offset[1]]
}

fn close(a: f32, b: f64, tolerance: f64) -> bool {
    (f64::from(a) - b).abs() < tolerance
}

fn logistic(v: f64) -> f64 {
    1.0 / (1.0 + (-v).exp())
}

/// `rows` of an anchor each, as `[1, columns, anchors]` where `transposed`, else `[1, anchors, columns]`.
fn table(rows: &[Vec<f32>], transposed: bool, half: bool) -> Tensor {
    let (n, columns) = (rows.len(), rows[0].len());
    let values: Vec<f32> =
        if transposed { (0..n * columns).map(|i| rows[i % n][i / n]).collect() } else { rows.concat() };
    let dims = if transposed { [1, columns, n] } else { [1, n, columns] };
    if half { Tensor::halved("o", &dims, &values) } else { Tensor::new("o", &dims, &values) }
}

#[test]
fn keypoints_of_what_is_kept_equal_their_reference_in_every_form() {
    for (classes, points, numbers, suppressed, transposed, map) in [
        (1, 17, 3, false, true, MAP),
        (3, 4, 3, false, true, ROTATED),
        (1, 5, 2, false, true, MAP),
        // An anchor a row.
        (1, 17, 3, false, false, MAP),
        (3, 4, 3, false, false, ROTATED),
        (2, 7, 3, true, false, ROTATED),
        (1, 3, 2, true, false, MAP),
    ] {
        let mut random = Random(points as u64);
        // Far apart, so that nothing is suppressed; every third is sure.
        let rows: Vec<Vec<f32>> = (0..65u16)
            .map(|i| {
                let (x, y) = (f32::from(i % 8) * 30.0 + 10.0, f32::from(i / 8) * 25.0 + 10.0);
                let score = if i % 3 == 0 { random.within(0.5, 0.9) } else { 0.1 };
                let mut row = if suppressed {
                    vec![x - 5.0, y - 5.0, x + 5.0, y + 5.0, score, f32::from(i % 2)]
                } else {
                    let mut scores = vec![0.01; classes];
                    scores[usize::from(i) % classes] = score;
                    [vec![x, y, 10.0, 10.0], scores].concat()
                };
                for k in 0..points * numbers {
                    row.push(if k % numbers == 2 { random.unit() } else { random.within(-50.0, 300.0) });
                }
                row
            })
            .collect();
        let tensor = table(&rows, transposed, false);
        let hints = Hints { classes: Some(classes), keypoints: Some(points), ..Hints::default() };
        let decoder = choose(&[tensor.desc()], [640, 640], None, &hints).unwrap();
        assert_eq!((decoder.kind(), decoder.keypoints()), (DecoderKind::YoloPose, points));
        let (found, attached) = run_attached(&[tensor], decoder, DetectParams::default(), &map);
        let mut expected: Vec<_> = rows
            .iter()
            .map(|row| {
                let before = if suppressed { 6 } else { 4 + classes };
                let scores = if suppressed { &row[4..5] } else { &row[4..before] };
                (scores.iter().copied().fold(0.0, f32::max), &row[before..])
            })
            .filter(|(score, _)| *score > 0.25)
            .collect();
        expected.sort_by(|a, b| b.0.total_cmp(&a.0));
        assert!(found.len() > 10 && attached.keypoints.len() == points * found.len());
        // A rotated map leaves some boxes outside of the frame.
        expected.retain(|(score, _)| found.iter().any(|d| d.confidence == *score));
        assert_eq!(expected.len(), found.len());
        for (places, (_, numbers_of)) in attached.keypoints.chunks(points).zip(expected) {
            for ([x, y, score], wanted) in places.iter().zip(numbers_of.chunks(numbers)) {
                let [wx, wy] = point(&map, wanted[0].into(), wanted[1].into());
                assert!(close(*x, wx, 2e-3) && close(*y, wy, 2e-3), "{x} {y}, not {wx} {wy}");
                assert_eq!(*score, wanted.get(2).copied().unwrap_or(1.0));
            }
        }
    }
}

#[test]
fn a_keypoint_that_is_not_finite_is_one_that_is_not_there_and_logits_become_visibility() {
    let row = [
        32.0,
        32.0,
        20.0,
        20.0,
        2.0,
        30.0,
        31.0,
        -1.0,
        f32::NAN,
        3.0,
        2.0,
        5.0,
        f32::INFINITY,
        0.0,
        7.0,
        8.0,
        f32::NAN,
    ];
    // Twenty times the same, of which one is left.
    let tensor = table(&vec![row.to_vec(); 20], true, false);
    let hints = Hints { keypoints: Some(4), activation: Some(Activation::Sigmoid), ..Hints::default() };
    let decoder = choose(&[tensor.desc()], [640, 640], Some(DecoderKind::YoloPose), &hints).unwrap();
    let (found, attached) = run_attached(&[tensor], decoder, DetectParams::default(), &Affine::IDENTITY);
    assert!(close(found[0].confidence, logistic(2.0), 1e-6));
    let [first, others @ ..] = &attached.keypoints[..] else { panic!("there are four points") };
    assert_eq!(first[..2], [30.0, 31.0]);
    assert!(close(first[2], logistic(-1.0), 1e-6));
    assert_eq!(others, [[0.0; 3]; 3]);
}

#[test]
fn coefficients_are_those_of_the_kept_in_their_order() {
    let (classes, count) = (5, 32);
    for (suppressed, half) in [(false, false), (true, false), (false, true)] {
        let mut random = Random(3);
        let rows: Vec<Vec<f32>> = (0..50u16)
            .map(|i| {
                let (x, y) = (f32::from(i % 8) * 30.0 + 10.0, f32::from(i / 8) * 25.0 + 10.0);
                let score = f32::from(i) / 64.0;
                let mut row = if suppressed {
                    vec![x - 5.0, y - 5.0, x + 5.0, y + 5.0, score, 1.0]
                } else {
                    vec![x, y, 10.0, 10.0, 0.0, score, 0.0, 0.0, 0.0]
                };
                // Exact in float16.
                row.extend((0..count).map(|_| random.within(-32.0, 32.0).round() / 8.0));
                row
            })
            .collect();
        let prototypes = Tensor::new("p", &[1, count, 2, 3], &vec![0.5; count * 6]);
        let tensors = [prototypes, table(&rows, !suppressed, half)];
        let hints = Hints { classes: Some(classes), ..Hints::default() };
        let decoder = choose(&descs(&tensors), [640, 640], None, &hints).unwrap();
        assert_eq!(decoder.masks(), Some(Masks::Prototypes { output: 0, coefficients: count }));
        let params = DetectParams { top_k_after: 20, ..DetectParams::default() };
        let (found, attached) = run_attached(&tensors, decoder.clone(), params, &MAP);
        assert_eq!((found.len(), attached.coefficients.len()), (20, 20 * count));
        for (i, coefficients) in attached.coefficients.chunks(count).enumerate() {
            let row = &rows[49 - i];
            assert_eq!(coefficients, &row[row.len() - count..], "{i}");
        }
        // Prototypes that are not as many as the coefficients.
        let wrong = [Tensor::new("p", &[1, 8, 2, 3], &[0.5; 48]), tensors[1].clone()];
        let views: Vec<_> = wrong.iter().map(Tensor::view).collect();
        let error = Detector::new(decoder, DetectParams::default())
            .unwrap()
            .run(&views, &MAP, FRAME, &mut vec![])
            .unwrap_err();
        assert!(error.to_string().contains("'p' has the shape [1, 8, 2, 3]"), "{error}");
        assert!(error.to_string().contains("[1, 32, h, w]"), "{error}");
    }
}

/// Score, class, corners in tensor pixels and landmarks there.
type Cell = (f64, usize, [f64; 4], Vec<[f64; 2]>);

/// Maps of centres, channels first.
struct Maps {
    grid: [usize; 2],
    heat: Vec<Vec<f32>>,
    sizes: Vec<Vec<f32>>,
    offsets: Vec<Vec<f32>>,
    landmarks: Vec<Vec<f32>>,
}

impl Maps {
    fn new(seed: u64, grid: [usize; 2], channels: [usize; 4], sizes: [f32; 2]) -> Self {
        let mut random = Random(seed);
        let mut maps = |count: usize, low: f32, high: f32| -> Vec<Vec<f32>> {
            (0..count).map(|_| (0..grid[0] * grid[1]).map(|_| random.within(low, high)).collect()).collect()
        };
        Self {
            grid,
            heat: maps(channels[0], 0.0, 1.0),
            sizes: maps(channels[1], sizes[0], sizes[1]),
            offsets: maps(channels[2], -0.5, 0.9),
            landmarks: maps(channels[3], -0.2, 1.2),
        }
    }

    fn tensors(&self, channels_last: bool) -> Vec<Tensor> {
        let [columns, rows] = self.grid;
        let all = [("hm", &self.heat), ("wh", &self.sizes), ("reg", &self.offsets), ("lm", &self.landmarks)];
        all.into_iter()
            .filter(|(_, maps)| !maps.is_empty())
            .map(|(name, maps)| {
                let c = maps.len();
                if channels_last {
                    let values: Vec<f32> = (0..c * columns * rows).map(|i| maps[i % c][i / c]).collect();
                    Tensor::new(name, &[1, rows, columns, c], &values)
                } else {
                    Tensor::new(name, &[1, c, rows, columns], &maps.concat())
                }
            })
            .collect()
    }

    /// Every cell whose best class has a 3x3 maximum there.
    fn reference(&self, stride: f64, face: bool, unit: SizeUnit) -> Vec<Cell> {
        let [columns, rows] = self.grid.map(|n| n as i64);
        let mut all = vec![];
        for y in 0..rows {
            for x in 0..columns {
                let at = |map: &[f32], x: i64, y: i64| f64::from(map[(y * columns + x) as usize]);
                let scores: Vec<f64> = self.heat.iter().map(|map| at(map, x, y)).collect();
                let class =
                    (0..scores.len()).fold(0, |best, c| if scores[c] > scores[best] { c } else { best });
                let around = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (x + dx, y + dy)));
                let highest = around
                    .filter(|(x, y)| (0..columns).contains(x) && (0..rows).contains(y))
                    .map(|(x, y)| at(&self.heat[class], x, y))
                    .fold(0.0, f64::max);
                if highest > scores[class] {
                    continue;
                }
                let of = |maps: &[Vec<f32>]| -> Vec<f64> { maps.iter().map(|m| at(m, x, y)).collect() };
                let sizes: Vec<f64> = of(&self.sizes)
                    .into_iter()
                    .map(|v| match unit {
                        SizeUnit::Cells => v * stride,
                        SizeUnit::Pixels => v,
                        SizeUnit::LogCells => v.exp() * stride,
                    })
                    .collect();
                let offset = if self.offsets.is_empty() { vec![0.0, 0.0] } else { of(&self.offsets) };
                let swapped = |v: &[f64]| if face { [v[1], v[0]] } else { [v[0], v[1]] };
                let ([ox, oy], point) = (swapped(&offset), if face { 0.5 } else { 0.0 });
                let (cx, cy) = ((x as f64 + ox + point) * stride, (y as f64 + oy + point) * stride);
                let [a, b] = swapped(&sizes[..2]);
                let [l, t, r, b] = match sizes.get(2..4) {
                    Some(rest) => {
                        let [c, d] = swapped(rest);
                        [cx - a, cy - b, cx + c, cy + d]
                    }
                    None => [cx - a / 2.0, cy - b / 2.0, cx + a / 2.0, cy + b / 2.0],
                };
                let landmarks = of(&self.landmarks)
                    .chunks(2)
                    .map(|pair| {
                        let [x, y] = swapped(pair);
                        [l + x * (r - l), t + y * (b - t)]
                    })
                    .collect();
                all.push((scores[class], class, [l, t, r, b], landmarks));
            }
        }
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all
    }
}

#[test]
fn centres_equal_their_reference_in_both_layouts_with_sizes_and_sides_in_every_unit() {
    use SizeUnit::{Cells, LogCells, Pixels};
    let cases = [
        (DecoderKind::Centernet, [20, 13], [7, 2, 2, 0], Cells, [1.0, 9.0], None),
        (DecoderKind::Centernet, [16, 12], [80, 4, 0, 0], Pixels, [5.0, 60.0], Some(Pixels)),
        (DecoderKind::Centernet, [9, 9], [1, 2, 0, 0], Cells, [1.0, 9.0], None),
        (DecoderKind::Centernet, [9, 1], [3, 4, 2, 0], Cells, [1.0, 9.0], None),
        (DecoderKind::Centerface, [24, 16], [1, 2, 2, 10], LogCells, [0.5, 2.5], None),
    ];
    for (i, (kind, grid, channels, unit, sizes, stated)) in cases.into_iter().enumerate() {
        let maps = Maps::new(i as u64, grid, channels, sizes);
        let face = kind == DecoderKind::Centerface;
        let expected = maps.reference(4.0, face, unit);
        for channels_last in [false, true] {
            let tensors = maps.tensors(channels_last);
            let hints = Hints { size_unit: stated, ..Hints::default() };
            let input = grid.map(|n| n * 4);
            let decoder = choose(&descs(&tensors), input, Some(kind), &hints).unwrap();
            assert_eq!((decoder.kind(), decoder.keypoints()), (kind, channels[3] / 2));
            let big = Affine::upright([0.5, 0.5], [200.0, 200.0]);
            let (found, attached) = run_attached(&tensors, decoder, open_params(0.3), &big);
            let expected: Vec<_> = expected.iter().filter(|e| e.0 > 0.3).collect();
            assert!(found.len() >= 3, "{}", found.len());
            assert_eq!(found.len(), expected.len(), "{kind} {grid:?}");
            for (d, (score, class, corners, _)) in found.iter().zip(&expected) {
                assert!(close(d.confidence, *score, 1e-6) && d.class as usize == *class);
                let r = d.rect;
                for (got, wanted) in [r.x, r.y, r.right(), r.bottom()].into_iter().zip(corners) {
                    assert!(close(got, wanted * 0.5 + 200.0, 2e-3), "{d:?} {corners:?}");
                }
            }
            let landmarks = expected.iter().flat_map(|(.., landmarks)| landmarks);
            assert_eq!(attached.keypoints.len(), found.len() * channels[3] / 2);
            for ([x, y, score], [wx, wy]) in attached.keypoints.iter().zip(landmarks) {
                assert!(close(*x, wx * 0.5 + 200.0, 2e-3) && close(*y, wy * 0.5 + 200.0, 2e-3));
                assert_eq!(*score, 1.0);
            }
        }
    }
}

#[test]
fn of_equal_neighbours_the_first_is_the_peak_and_a_cell_is_one_of_its_best_class_only() {
    let mut heat = vec![vec![0.0; 25]; 2];
    // A plateau of two, and a diagonal one; a cell that is a peak of both classes.
    for (cell, class, score) in
        [(6, 0, 0.5), (7, 0, 0.5), (9, 1, 0.75), (13, 1, 0.75), (20, 0, 0.9), (20, 1, 0.8)]
    {
        heat[class][cell] = score;
    }
    let maps = Maps { grid: [5, 5], heat, sizes: vec![vec![1.0; 25]; 2], offsets: vec![], landmarks: vec![] };
    let tensors = maps.tensors(false);
    let decoder =
        choose(&descs(&tensors), [20, 20], Some(DecoderKind::Centernet), &Hints::default()).unwrap();
    let (found, _) =
        run_attached(&tensors, decoder, open_params(0.25), &Affine::upright([1.0; 2], [100.0; 2]));
    let places: Vec<_> =
        found.iter().map(|d| (d.confidence, d.class, d.rect.x - 98.0, d.rect.y - 98.0)).collect();
    assert_eq!(places, [(0.9, 0, 0.0, 16.0), (0.75, 1, 16.0, 4.0), (0.5, 0, 4.0, 4.0)]);
}

#[test]
fn broken_cells_are_dropped_and_counted_and_do_not_hide_their_neighbours() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let mut heat = vec![vec![0.0; 25]; 2];
    let mut sizes = vec![vec![1.0; 25]; 2];
    // The peak's neighbour is NaN in its class; another cell is infinite in one class; a third has a NaN for its size, and
    // so has one that is no peak.
    for (cell, class, score) in [(6, 0, 0.5), (7, 0, nan), (24, 1, inf), (22, 0, 0.75), (16, 0, 0.5)] {
        heat[class][cell] = score;
    }
    (sizes[0][22], sizes[1][16]) = (nan, nan);
    let maps = Maps { grid: [5, 5], heat, sizes, offsets: vec![], landmarks: vec![] };
    for channels_last in [false, true] {
        let tensors = maps.tensors(channels_last);
        let kind = Some(DecoderKind::Centernet);
        let decoder = choose(&descs(&tensors), [20, 20], kind, &Hints::default()).unwrap();
        let mut detector = Detector::new(decoder, open_params(0.25)).unwrap();
        let (found, outcome) = run(&mut detector, &tensors, &Affine::IDENTITY, FRAME);
        assert_eq!(found.iter().map(|d| d.confidence).collect::<Vec<_>>(), [0.5]);
        assert_eq!((outcome.candidates, outcome.non_finite), (1, 3));
    }
}

#[test]
fn maps_that_change_their_grid_are_refused() {
    let maps = Maps::new(1, [8, 8], [3, 2, 2, 0], [1.0, 2.0]);
    let tensors = maps.tensors(false);
    let decoder = choose(&descs(&tensors), [32, 32], None, &Hints::default()).unwrap();
    let mut detector = Detector::new(decoder, DetectParams::default()).unwrap();
    let other = Maps::new(1, [8, 4], [3, 2, 2, 0], [1.0, 2.0]).tensors(false);
    let views = [tensors[0].view(), other[1].view(), tensors[2].view()];
    let error = detector.run(&views, &MAP, FRAME, &mut vec![]).unwrap_err();
    let text = "output 'wh' has the shape [1, 2, 4, 8], but decoder centernet needs [1, 2, 8, 8]. Set decoder= to the one that the model \
         was made for";
    assert_eq!(error.to_string(), text);
}

#[test]
fn a_box_in_a_rotated_region_is_the_upright_one_around_it() {
    let at = |x1: f32, y1: f32, x2: f32, y2: f32| vec![x1, y1, x2, y2, 0.9, 0.0];
    let nan = f32::NAN;
    let rows = [
        at(50.0, 60.0, 90.0, 75.0),
        at(90.0, 75.0, 50.0, 60.0), // inside out
        at(nan, 60.0, 90.0, 75.0),
        at(50.0, 60.0, nan, 75.0),
        at(50.0, 60.0, f32::INFINITY, 75.0),
        at(20.0, 90.0, 90.0, 190.0),
    ];
    for map in [ROTATED, Affine { scale: [0.0; 2], skew: [-3.0, 3.0], offset: [800.0, 20.0] }] {
        let tensor = table(&rows, false, false);
        let decoder =
            choose(&[tensor.desc()], [640, 640], Some(DecoderKind::EndToEnd), &Hints::default()).unwrap();
        let mut detector = Detector::new(decoder, DetectParams::default()).unwrap();
        let (found, outcome) = run(&mut detector, &[tensor], &map, FRAME);
        assert_eq!((outcome.candidates, outcome.non_finite), (3, 3));
        let wanted: Vec<_> = [0, 5]
            .map(|i| Rect::from_corners(rows[i][0], rows[i][1], rows[i][2], rows[i][3]))
            .map(|rect| map.rect(&rect).clamped(FRAME[0] as f32, FRAME[1] as f32))
            .into();
        assert_eq!(found.iter().map(|d| d.rect).collect::<Vec<_>>(), wanted);
    }
}

#[test]
fn masks_of_a_model_with_objectness_have_the_coefficients_after_its_classes() {
    // 3 anchors in each of 84 cells; two of them are sure, one by its class only.
    let quiet = [8.0, 8.0, 4.0, 4.0, 0.0625, 0.5, 0.5, 9.0, 9.0, 9.0, 9.0];
    let mut rows = vec![quiet.to_vec(); 252];
    rows[7] = vec![32.0, 24.0, 16.0, 8.0, 0.5, 0.25, 0.75, 1.0, -2.0, 3.0, 0.5];
    rows[100] = vec![16.0, 48.0, 8.0, 8.0, 0.75, 1.0, 0.125, 4.0, 5.0, -6.0, 7.0];
    rows[200] = vec![48.0, 48.0, 8.0, 8.0, 0.125, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    let prototypes = Tensor::new("protos", &[1, 4, 16, 16], &[0.0; 1024]);
    let tensors = [table(&rows, false, false), prototypes];
    for hints in [Hints::default(), Hints { classes: Some(2), ..Hints::default() }] {
        let decoder = choose(&descs(&tensors), [64, 64], None, &hints).unwrap();
        assert_eq!((decoder.kind(), decoder.classes()), (DecoderKind::YoloSeg, Some(2)));
        assert_eq!(decoder.masks(), Some(Masks::Prototypes { output: 1, coefficients: 4 }));
        let (found, attached) = run_attached(&tensors, decoder, open_params(0.25), &Affine::IDENTITY);
        assert_eq!(
            found,
            [
                Detection { rect: Rect { x: 12.0, y: 44.0, w: 8.0, h: 8.0 }, confidence: 0.75, class: 0 },
                Detection { rect: Rect { x: 24.0, y: 20.0, w: 16.0, h: 8.0 }, confidence: 0.375, class: 1 },
            ]
        );
        assert_eq!(attached.coefficients, [4.0, 5.0, -6.0, 7.0, 1.0, -2.0, 3.0, 0.5]);
    }
}
