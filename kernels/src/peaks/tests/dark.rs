//! DarkPose's and UDP's refinement, and mmpose's shift, against tools/cudainfer_tools/reference/refinement.py: NumPy, written from the
//! papers, which blurs the whole map.

use super::*;

const SIZE: [usize; 2] = [48, 64];

/// The reference's maps: a gaussian, a lower one beside it, and a ripple all over.
fn heat_map([x, y]: [f64; 2], sigma: f64, neighbour: f64) -> Map {
    map_of(1, SIZE[1], SIZE[0], |_, cy, cx| {
        let (dx, dy) = (cx as f64 - x, cy as f64 - y);
        let gaussian = |dx: f64, dy: f64| (-(dx * dx + dy * dy) / (2.0 * sigma * sigma)).exp();
        let ripple = 0.01 * (1.7 * cx as f64 + 0.9 * cy as f64).sin();
        (0.8 * gaussian(dx, dy) + neighbour * gaussian(dx - 4.0, dy + 3.0) + ripple) as f32
    })
}

/// A map's arguments, and its place by `shift`, then by `dark` and `dark-udp` with 11 and with 17 cells.
type Case = ([f64; 2], f64, f64, [[f64; 2]; 5]);

const CASES: [Case; 5] = [
    (
        [20.3, 31.7],
        2.0,
        0.3,
        [[20.25, 31.75], [20.6591, 31.4358], [20.6544, 31.4385], [20.8965, 31.2548], [20.8945, 31.2560]],
    ),
    (
        [10.5, 40.25],
        2.0,
        0.6,
        [[10.75, 40.25], [11.5056, 39.5024], [11.5042, 39.5033], [11.8848, 39.2131], [11.8870, 39.2118]],
    ),
    (
        [33.8, 12.1],
        3.0,
        0.0,
        [[33.75, 12.25], [33.8003, 12.1001], [33.8002, 12.1002], [33.8000, 12.1000], [33.8000, 12.1000]],
    ),
    // At the edge, where DarkPose does nothing.
    ([1.2, 30.4], 2.0, 0.2, [[1.25, 30.25], [1.0, 30.0], [1.8760, 30.1660], [1.0, 30.0], [2.1475, 30.0137]]),
    (
        [45.6, 62.2],
        2.0,
        0.0,
        [[45.75, 62.25], [46.0, 62.0], [45.2233, 61.5391], [46.0, 62.0], [45.1174, 61.4455]],
    ),
];

const WAYS: [(Refinement, usize); 5] = [
    (Refinement::Shift, 11),
    (Refinement::Dark, 11),
    (Refinement::DarkUdp, 11),
    (Refinement::Dark, 17),
    (Refinement::DarkUdp, 17),
];

/// Half of the 0.01 pixels of the input that results should agree to; places are printed to 0.0001 cells of 4 pixels.
const TOLERANCE: f64 = 0.005;

#[test]
fn peaks_are_refined_as_by_the_numpy_reference() {
    for (centre, sigma, neighbour, wanted) in CASES {
        let map = heat_map(centre, sigma, neighbour);
        for ((refinement, blur), [x, y]) in WAYS.into_iter().zip(wanted) {
            for layout in [Layout::Nchw, Layout::Nhwc] {
                let grid = Some(Grid::Strided);
                let params =
                    PeakParams { mode: Mode::Global, refinement, blur, grid, ..PeakParams::default() };
                let (peaks, _) = run(&map, layout, [192, 256], params);
                let off = (f64::from(peaks[0].x) - 0.5 - 4.0 * x, f64::from(peaks[0].y) - 0.5 - 4.0 * y);
                let near = off.0.abs() < TOLERANCE && off.1.abs() < TOLERANCE;
                assert!(near, "{centre:?} {refinement:?} {blur}: {off:?} pixels off");
            }
        }
    }
}

/// The reference's "mirrored": a kernel of 11 cells with a standard deviation of 0.8, as transformers reads ViTPose, one with 2
/// and one of 31 cells with 4. At the left and at the bottom right edge the border decides.
#[test]
fn a_blur_of_any_width_meets_the_mirrored_map_as_scipys_does() {
    let wanted = [
        [[20.4327, 31.6368], [20.6544, 31.4385], [21.0985, 31.1019]],
        [[10.7914, 40.0242], [11.5042, 39.5033], [12.0675, 39.0750]],
        [[33.8295, 12.1288], [33.8002, 12.1002], [33.8000, 12.1000]],
        [[1.0297, 30.3384], [-0.2873, 30.3428], [-0.4955, 30.0828]],
        [[45.7166, 62.5557], [47.1794, 63.3773], [47.4896, 63.4959]],
    ];
    for ((centre, sigma, neighbour, _), wanted) in CASES.into_iter().zip(wanted) {
        let map = heat_map(centre, sigma, neighbour);
        for ((blur, sigma), [x, y]) in [(11, 0.8), (11, 2.0), (31, 4.0)].into_iter().zip(wanted) {
            let params = PeakParams {
                mode: Mode::Global,
                refinement: Refinement::DarkUdp,
                grid: Some(Grid::Strided),
                blur,
                sigma: Some(sigma),
                border: Border::Reflect,
                ..PeakParams::default()
            };
            let (peaks, _) = run(&map, Layout::Nchw, [192, 256], params);
            let off = (f64::from(peaks[0].x) - 0.5 - 4.0 * x, f64::from(peaks[0].y) - 0.5 - 4.0 * y);
            let near = off.0.abs() < TOLERANCE && off.1.abs() < TOLERANCE;
            assert!(near, "{centre:?} {blur} {sigma}: {off:?} pixels off");
        }
    }
}

/// The reference's "on the input": the map's last cell is the input's last pixel.
#[test]
fn the_grid_of_unbiased_data_processing_ends_at_the_last_pixel() {
    let udp = PeakParams {
        mode: Mode::Global,
        refinement: Refinement::DarkUdp,
        grid: Some(Grid::Udp),
        ..PeakParams::default()
    };
    for (case, [x, y]) in CASES.into_iter().zip([[83.9359, 127.2510], [46.7510, 159.8944]]) {
        let (peaks, _) = run(&heat_map(case.0, case.1, case.2), Layout::Nchw, [192, 256], udp);
        let off = (f64::from(peaks[0].x) - 0.5 - x, f64::from(peaks[0].y) - 0.5 - y);
        assert!(off.0.abs() < TOLERANCE && off.1.abs() < TOLERANCE, "{off:?}");
    }
    // The layout follows from the sizes, which are not those of corners.
    let map: TensorDesc = "m:float32:1x17x64x48".parse().unwrap();
    assert_eq!(PeakFinder::new(&map, [192, 256], udp).unwrap().channels(), Some(17));
    let corners = PeakParams { grid: Some(Grid::Corners), ..udp };
    assert!(matches!(PeakFinder::new(&map, [192, 256], corners), Err(PeaksError::Layout { .. })));
}

#[test]
fn gaussians_are_found_exactly_where_nothing_disturbs_them() {
    for refinement in [Refinement::Dark, Refinement::DarkUdp] {
        for step in 0..=10 {
            let (x, y) = (20.0 + f64::from(step) / 10.0, 31.0 - f64::from(step) / 13.0);
            let map = map_of(1, 65, 65, gaussian(x, y, 2.0));
            let params = PeakParams { refinement, grid: Some(Grid::Strided), ..PeakParams::default() };
            let (peaks, _) = run(&map, Layout::Nchw, [65, 65], params);
            let off = (f64::from(peaks[0].x) - 0.5 - x).abs().max((f64::from(peaks[0].y) - 0.5 - y).abs());
            // A blurred gaussian is a gaussian, but the kernel ends at 2.5 standard deviations.
            assert!(off < 0.002, "{refinement:?}: {off} cells off");
        }
    }
}

#[test]
fn great_logits_are_shifted_though_their_scores_are_equal() {
    let map: Map = vec![vec![vec![0.0; 5], vec![0.0, 30.0, 50.0, 40.0, 0.0], vec![0.0, 0.0, 35.0, 0.0, 0.0]]];
    let params = PeakParams {
        mode: Mode::Global,
        refinement: Refinement::Shift,
        activation: Activation::Sigmoid,
        ..PeakParams::default()
    };
    let (peaks, _) = run(&map, Layout::Nchw, [5, 3], params);
    assert_eq!((peaks[0].x, peaks[0].y), (2.75, 1.75));
}

#[test]
fn what_has_no_maximum_to_expand_around_stays_in_its_cell() {
    for refinement in [Refinement::Dark, Refinement::DarkUdp, Refinement::Shift] {
        for (name, value) in [("flat", 0.5), ("negative", -0.5), ("zero", 0.0)] {
            for [w, h] in [[9, 9], [1, 1], [2, 3]] {
                let map = map_of(1, h, w, |_, _, _| value);
                let params = PeakParams {
                    refinement,
                    threshold: -1.0,
                    grid: Some(Grid::Strided),
                    ..PeakParams::default()
                };
                let (peaks, _) = run(&map, Layout::Nchw, [w, h], params);
                let inside = |at: f32, size: usize| at.is_finite() && (at - 0.5).abs() <= size as f32;
                assert!(
                    peaks.len() == 1 && inside(peaks[0].x, w) && inside(peaks[0].y, h),
                    "{name}: {peaks:?}"
                );
            }
        }
    }
}

#[test]
fn a_blur_without_a_middle_or_a_width_is_refused() {
    for blur in [0, 1, 2, 10, 33] {
        let map: TensorDesc = "m:float32:1x17x96x96".parse().unwrap();
        let params = PeakParams { blur, ..PeakParams::default() };
        assert_eq!(PeakFinder::new(&map, [384, 384], params).unwrap_err(), PeaksError::Blur(blur));
    }
    for sigma in [0.0, -1.0, 17.0, f32::NAN, f32::INFINITY] {
        let map: TensorDesc = "m:float32:1x17x96x96".parse().unwrap();
        let params = PeakParams { sigma: Some(sigma), ..PeakParams::default() };
        let error = PeakFinder::new(&map, [384, 384], params).unwrap_err();
        assert_eq!(error, PeaksError::Sigma(sigma.to_string()));
    }
}
