//! DetectNet_v2 against an f64 reference, written from the description of nvinfer's parser.
//!
//! Tolerance 2e-3 frame pixels, as for the other decoders; confidences are the coverage as it is.

use super::*;

/// Coverage and boxes of that many classes, under the names of TAO's exports, the boxes first.
struct Grid {
    input: [usize; 2],
    cells: [usize; 2],
    coverage: Vec<Vec<f32>>,
    boxes: Vec<Vec<f32>>,
}

impl Grid {
    fn new(seed: u64, input: [usize; 2], classes: usize) -> Self {
        let mut random = Random(seed);
        let cells = input.map(|side| side.div_ceil(16));
        let mut maps = |count: usize, low: f32, high: f32| -> Vec<Vec<f32>> {
            (0..count).map(|_| (0..cells[0] * cells[1]).map(|_| random.within(low, high)).collect()).collect()
        };
        Self { input, cells, coverage: maps(classes, 0.0, 1.0), boxes: maps(4 * classes, 0.1, 1.5) }
    }

    fn tensors(&self, names: [&'static str; 2]) -> Vec<Tensor> {
        let [columns, rows] = self.cells;
        let tensor =
            |name, maps: &Vec<Vec<f32>>| Tensor::new(name, &[1, maps.len(), rows, columns], &maps.concat());
        vec![tensor(names[1], &self.boxes), tensor(names[0], &self.coverage)]
    }

    /// Confidence, class and corners in tensor pixels of every cell and class.
    fn reference(&self) -> Vec<(f64, u32, [f64; 4])> {
        let [columns, rows] = self.cells;
        let mut all = vec![];
        for (class, coverage) in self.coverage.iter().enumerate() {
            for (y, x) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
                let cell = y * columns + x;
                let [cx, cy] = [x, y].map(|at| at as f64 * 16.0 + 0.5);
                let [l, t, r, b] =
                    [0, 1, 2, 3].map(|side| f64::from(self.boxes[4 * class + side][cell]) * 35.0);
                all.push((f64::from(coverage[cell]), class as u32, [cx - l, cy - t, cx + r, cy + b]));
            }
        }
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all
    }
}

const NAMES: [&str; 2] = ["output_cov/Sigmoid:0", "output_bbox/BiasAdd:0"];

fn detector(decoder: Decoder, confidence: f32) -> Detector {
    let params = DetectParams { multi_label: decoder.usual_multi_label(), ..open_params(confidence) };
    Detector::new(decoder, params).unwrap()
}

#[test]
fn detectnet_equals_its_reference_with_each_class_of_a_cell() {
    for (seed, input, classes) in [(1, [960, 544], 3), (2, [320, 200], 4), (3, [384, 240], 1)] {
        let grid = Grid::new(seed, input, classes);
        let tensors = grid.tensors(NAMES);
        let decoder = choose(&descs(&tensors), input, None, &Hints::default()).unwrap();
        assert_eq!((decoder.kind(), decoder.classes()), (DecoderKind::DetectnetV2, Some(classes)));
        assert_eq!(decoder.usual_nms(), Nms::ClassWise);
        let map = Affine::upright([2.0, 1.5], [200.0, 100.0]);
        let (found, _) = run(&mut detector(decoder, 0.5), &tensors, &map, [2400, 1600]);
        let expected: Vec<_> = grid.reference().into_iter().filter(|e| e.0 > 0.5).collect();
        assert!(expected.len() > 50, "{}", expected.len());
        assert_eq!(found.len(), expected.len());
        for (d, (score, class, [l, t, r, b])) in found.iter().zip(&expected) {
            assert_eq!((f64::from(d.confidence), d.class), (*score, *class));
            let rect = d.rect;
            let frame = [l * 2.0 + 200.0, t * 1.5 + 100.0, r * 2.0 + 200.0, b * 1.5 + 100.0];
            for (got, wanted) in [rect.x, rect.y, rect.right(), rect.bottom()].into_iter().zip(frame) {
                assert!((f64::from(got) - wanted).abs() < 2e-3, "{d:?} is not {frame:?}");
            }
        }
    }
}

#[test]
fn without_its_names_detectnet_must_be_asked_for_and_what_does_not_fit_is_refused() {
    let grid = Grid::new(4, [160, 96], 2);
    let tensors = grid.tensors(["a", "b"]);
    let asked = |kind, hints: &Hints| choose(&descs(&tensors), grid.input, kind, hints);
    // By their shapes, they could be the sizes and the heat map of a centernet.
    assert_ne!(asked(None, &Hints::default()).unwrap().kind(), DecoderKind::DetectnetV2);
    let kind = Some(DecoderKind::DetectnetV2);
    assert_eq!(asked(kind, &Hints::default()).unwrap().classes(), Some(2));
    let labels = asked(kind, &Hints { classes: Some(3), ..Hints::default() }).unwrap_err().to_string();
    assert!(labels.contains("2 classes as detectnet-v2 reads them"), "{labels}");
    let format = Hints { box_format: Some(BoxFormat::Corners), ..Hints::default() };
    assert!(asked(kind, &format).unwrap_err().to_string().contains("box format"));
    // Boxes of another number of classes, or of another grid.
    for dims in [[1, 12, 6, 10], [1, 8, 3, 10]] {
        let values = vec![0.0; dims.iter().product()];
        let tensors = [grid.tensors(NAMES).pop().unwrap(), Tensor::new("output_bbox", &dims, &values)];
        let error = choose(&descs(&tensors), grid.input, kind, &Hints::default()).unwrap_err().to_string();
        assert!(error.contains("coverage [1, C, h, w] and boxes [1, 4*C, h, w]"), "{error}");
    }
}

#[test]
fn a_coverage_that_is_no_number_is_counted_and_its_cell_left_out() {
    let mut grid = Grid::new(5, [160, 96], 2);
    grid.coverage[1][7] = f32::NAN;
    let tensors = grid.tensors(NAMES);
    let decoder = choose(&descs(&tensors), grid.input, None, &Hints::default()).unwrap();
    let map = Affine::upright([1.0; 2], [100.0; 2]);
    let (found, outcome) = run(&mut detector(decoder, 0.0), &tensors, &map, [400, 400]);
    assert_eq!((outcome.non_finite, found.len()), (1, 2 * (60 - 1)));
}
