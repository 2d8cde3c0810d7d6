//! Against a reference that indexes cell by cell, in f64, and against gaussians whose centres are known.

mod dark;
mod offsets;

use half::f16;
use proptest::prelude::*;

use super::*;
use crate::preproc::Layout;
use crate::tensor::TensorType;

/// A map as `[channel][y][x]`.
type Map = Vec<Vec<Vec<f32>>>;

fn map_of(channels: usize, h: usize, w: usize, mut f: impl FnMut(usize, usize, usize) -> f32) -> Map {
    (0..channels).map(|c| (0..h).map(|y| (0..w).map(|x| f(c, y, x)).collect()).collect()).collect()
}

/// Dimensions and elements of `map` in memory.
fn laid_out(map: &Map, layout: Layout) -> ([usize; 4], Vec<f32>) {
    let (c, h, w) = (map.len(), map[0].len(), map[0][0].len());
    let mut data = Vec::new();
    match layout {
        Layout::Nchw => data.extend(map.iter().flatten().flatten()),
        Layout::Nhwc => {
            let cells = (0..h).flat_map(|y| (0..w).map(move |x| (y, x)));
            data.extend(cells.flat_map(|(y, x)| map.iter().map(move |plane| plane[y][x])));
        }
    }
    (if layout == Layout::Nchw { [1, c, h, w] } else { [1, h, w, c] }, data)
}

fn run(map: &Map, layout: Layout, input: [usize; 2], params: PeakParams) -> (Vec<Peak>, Outcome) {
    let (dims, data) = laid_out(map, layout);
    let params = PeakParams { layout: Some(layout), ..params };
    let desc = TensorDesc::fixed("maps", TensorType::Float32, &dims);
    let mut finder = PeakFinder::new(&desc, input, params).unwrap();
    let view = TensorView::new("maps", TensorType::Float32, &dims, bytemuck::cast_slice(&data)).unwrap();
    // Twice, into a vector that is not empty: its old contents must be gone.
    let mut peaks = vec![Peak { channel: 9, x: 0.0, y: 0.0, score: 0.0 }];
    finder.run(&view, &Affine::IDENTITY, &mut peaks).unwrap();
    let outcome = finder.run(&view, &Affine::IDENTITY, &mut peaks).unwrap();
    (peaks, outcome)
}

/// Peaks by the definition: (channel, x, y, score) in cells, where cell 0's centre is 0.
fn reference(map: &Map, params: &PeakParams) -> (Vec<(usize, f64, f64, f64)>, Outcome) {
    let (h, w) = (map[0].len() as i64, map[0][0].len() as i64);
    let mut peaks = Vec::new();
    let mut outcome = Outcome::default();
    let act = |v: f32| match params.activation {
        Activation::None => f64::from(v),
        Activation::Sigmoid => 1.0 / (1.0 + (-f64::from(v)).exp()),
    };
    for (c, plane) in map.iter().enumerate() {
        outcome.non_finite += plane.iter().flatten().filter(|v| !v.is_finite()).count();
        let at = |x: i64, y: i64| -> Option<f32> {
            let inside = (0..w).contains(&x) && (0..h).contains(&y);
            inside.then(|| plane[y as usize][x as usize]).filter(|v| v.is_finite())
        };
        let cells = (0..h).flat_map(|y| (0..w).map(move |x| (x, y)));
        let mut of_channel: Vec<(i64, i64, f32)> = cells
            .filter_map(|(x, y)| Some((x, y, at(x, y)?)))
            .filter(|(.., v)| act(*v) >= f64::from(params.threshold))
            .collect();
        let everything = of_channel.clone();
        // Stable, so equals stay in scan order.
        of_channel.sort_by(|a, b| b.2.partial_cmp(&a.2).unwrap());
        match params.mode {
            Mode::Global => of_channel.truncate(1),
            Mode::Local => of_channel.retain(|&(x, y, v)| {
                everything.iter().all(|&(nx, ny, n)| {
                    let near = (nx - x).abs() <= 1 && (ny - y).abs() <= 1;
                    !near || (nx, ny) == (x, y) || if (ny, nx) < (y, x) { v > n } else { v >= n }
                })
            }),
        }
        outcome.truncated += of_channel.len().saturating_sub(params.top_k);
        of_channel.truncate(params.top_k);
        for (x, y, v) in of_channel {
            let value = |dx: i64, dy: i64| at(x + dx, y + dy).map(act);
            let parabola = |a: Option<f64>, c: Option<f64>| match (a, value(0, 0), c) {
                (Some(a), Some(b), Some(c)) if a + c < 2.0 * b => {
                    ((a - c) / (2.0 * (a + c - 2.0 * b))).clamp(-0.5, 0.5)
                }
                _ => 0.0,
            };
            let (dx, dy) = match params.refinement {
                Refinement::None => (0.0, 0.0),
                Refinement::Quadratic => {
                    (parabola(value(-1, 0), value(1, 0)), parabola(value(0, -1), value(0, 1)))
                }
                Refinement::Integral => {
                    let around: Vec<(f64, f64, f64)> = (-2..3)
                        .flat_map(|dy| (-2..3).map(move |dx| (dx, dy)))
                        .filter_map(|(dx, dy)| Some((dx as f64, dy as f64, value(dx, dy)?)))
                        .collect();
                    let sum: f64 = around.iter().map(|a| a.2).sum();
                    let mean = |f: fn(&(f64, f64, f64)) -> f64| around.iter().map(f).sum::<f64>() / sum;
                    if sum > 0.0 {
                        (mean(|a| a.0 * a.2).clamp(-2.0, 2.0), mean(|a| a.1 * a.2).clamp(-2.0, 2.0))
                    } else {
                        (0.0, 0.0)
                    }
                }
                Refinement::Shift => {
                    let raw = |dx: i64, dy: i64| at(x + dx, y + dy);
                    let sign = |a: Option<f32>, c: Option<f32>| match (a, c) {
                        (Some(a), Some(c)) => f64::from(c.total_cmp(&a) as i8) * 0.25,
                        _ => 0.0,
                    };
                    (sign(raw(-1, 0), raw(1, 0)), sign(raw(0, -1), raw(0, 1)))
                }
                Refinement::Dark | Refinement::DarkUdp => {
                    unreachable!("tests/dark.rs has a reference for them")
                }
                Refinement::Offsets => unreachable!("tests/offsets.rs has a reference for it"),
            };
            peaks.push((c, x as f64 + dx, y as f64 + dy, act(v)));
        }
    }
    (peaks, outcome)
}

/// Strided by 1 puts cell 0 at 0.5, so that the comparison is in cells.
fn assert_as_reference(map: &Map, layout: Layout, params: PeakParams) {
    let params = PeakParams { grid: Some(Grid::Strided), ..params };
    let (got, outcome) = run(map, layout, [map[0][0].len(), map[0].len()], params);
    let (want, want_outcome) = reference(map, &params);
    assert_eq!(outcome, want_outcome);
    assert_eq!(got.len(), want.len(), "{got:?}\n{want:?}");
    for (g, w) in got.iter().zip(&want) {
        // Tolerance of places: f32 up to 70 cells, and refinement by f32 sigmoids. Of scores: one or two roundings of f32.
        let near = (f64::from(g.x) - 0.5 - w.1).abs() < 1e-4 && (f64::from(g.y) - 0.5 - w.2).abs() < 1e-4;
        assert!(g.channel as usize == w.0 && near && (f64::from(g.score) - w.3).abs() < 1e-6, "{g:?} {w:?}");
    }
}

fn gaussian(x: f64, y: f64, sigma: f64) -> impl Fn(usize, usize, usize) -> f32 {
    move |_, cy, cx| {
        (-((cx as f64 - x).powi(2) + (cy as f64 - y).powi(2)) / (2.0 * sigma * sigma)).exp() as f32
    }
}

/// The error of each refinement at sigma = 2 cells, about as pose networks draw maps. The bounds follow from the
/// formulas: a parabola through three samples of that gaussian is off by 0.012 cells at most, an expectation over 5x5
/// by 0.293, because it cuts off the tail that is farther away.
#[test]
fn gaussians_are_found_to_a_fraction_of_a_cell() {
    for (refinement, tolerance) in
        [(Refinement::None, 0.5), (Refinement::Quadratic, 0.0121), (Refinement::Integral, 0.2931)]
    {
        for step in 0..=10 {
            let (x, y) = (20.0 + f64::from(step) / 10.0, 31.0 - f64::from(step) / 13.0);
            let map = map_of(1, 65, 65, gaussian(x, y, 2.0));
            let params = PeakParams { refinement, grid: Some(Grid::Strided), ..PeakParams::default() };
            let (peaks, _) = run(&map, Layout::Nchw, [65, 65], params);
            assert_eq!(peaks.len(), 1);
            let off = (f64::from(peaks[0].x) - 0.5 - x).abs().max((f64::from(peaks[0].y) - 0.5 - y).abs());
            assert!(off < tolerance + 1e-6, "{refinement:?}: {off} cells off");
        }
    }
}

#[test]
fn the_grids_place_cells_as_documented() {
    // Cell (3, 1) of 25x25, and where each grid puts its centre in 400x400, 385x385 and 400x400 pixels.
    let map = map_of(1, 25, 25, |_, y, x| f32::from(u8::from((x, y) == (3, 1))));
    let params = PeakParams { refinement: Refinement::None, ..PeakParams::default() };
    for (grid, input, x, y) in [
        (Some(Grid::CellCentres), 400, 56.0, 24.0),
        (Some(Grid::Corners), 385, 48.5, 16.5),
        (Some(Grid::Strided), 400, 48.5, 16.5),
        (Some(Grid::StridedHalf), 400, 56.5, 24.5),
        (None, 400, 56.0, 24.0),
        (None, 385, 48.5, 16.5),
        (None, 390, 3.5 * 15.6, 1.5 * 15.6),
    ] {
        let (peaks, _) = run(&map, Layout::Nhwc, [input; 2], PeakParams { grid, ..params });
        assert!((peaks[0].x - x).abs() < 1e-4 && (peaks[0].y - y).abs() < 1e-4, "{grid:?} {peaks:?}");
    }
}

#[test]
fn a_map_of_one_cell_is_one_peak() {
    for (grid, at) in [(None, 24.0), (Some(Grid::Corners), 24.0), (Some(Grid::Strided), 0.5)] {
        for refinement in [Refinement::None, Refinement::Quadratic, Refinement::Integral] {
            for mode in [Mode::Local, Mode::Global] {
                let params = PeakParams { mode, refinement, grid, ..PeakParams::default() };
                let (peaks, _) = run(&vec![vec![vec![0.7]]], Layout::Nchw, [48, 48], params);
                assert_eq!(peaks, [Peak { channel: 0, x: at, y: at, score: 0.7 }]);
            }
        }
    }
}

#[test]
fn peaks_reach_the_frame_through_the_affine() {
    let dims = [2, 2, 2];
    let desc = TensorDesc::fixed("m", TensorType::Float32, &dims);
    let data = [0f32, 0.0, 0.0, 0.0, 0.0, 0.9, 0.0, 0.0];
    let view = TensorView::new("m", TensorType::Float32, &dims, bytemuck::cast_slice(&data)).unwrap();
    let params =
        PeakParams { layout: Some(Layout::Nchw), refinement: Refinement::None, ..PeakParams::default() };
    let mut peaks = Vec::new();
    let letterbox = Affine::upright([2.0, 3.0], [-5.0, 7.0]);
    PeakFinder::new(&desc, [64, 64], params).unwrap().run(&view, &letterbox, &mut peaks).unwrap();
    assert_eq!(peaks, [Peak { channel: 1, x: 91.0, y: 55.0, score: 0.9 }]);
}

#[test]
fn rectangular_and_straight_plateaus_give_one_peak_at_their_first_cell() {
    let params =
        PeakParams { refinement: Refinement::None, grid: Some(Grid::Strided), ..PeakParams::default() };
    type Plateau = (&'static str, fn(usize, usize) -> bool, (f32, f32));
    let plateaus: [Plateau; 5] = [
        ("all", |_, _| true, (0.5, 0.5)),
        ("rectangle", |x, y| (2..6).contains(&x) && (3..5).contains(&y), (2.5, 3.5)),
        ("column at the border", |x, _| x == 8, (8.5, 0.5)),
        ("diagonal", |x, y| x == y && x > 1, (2.5, 2.5)),
        ("other diagonal", |x, y| x + y == 9, (8.5, 1.5)),
    ];
    for (name, inside, at) in plateaus {
        for layout in [Layout::Nchw, Layout::Nhwc] {
            let map = map_of(1, 9, 9, |_, y, x| if inside(x, y) { 0.5 } else { 0.0 });
            let (peaks, _) = run(&map, layout, [9, 9], params);
            assert_eq!(peaks.iter().map(|p| (p.x, p.y)).collect::<Vec<_>>(), [at], "{name}");
        }
    }
    // The vertex of two equal cells lies between them.
    let pair = map_of(1, 5, 5, |_, y, x| if y == 2 && (x == 1 || x == 2) { 0.5 } else { 0.0 });
    let (peaks, _) =
        run(&pair, Layout::Nchw, [5, 5], PeakParams { refinement: Refinement::Quadratic, ..params });
    assert_eq!((peaks[0].x, peaks[0].y), (2.0, 2.5));
}

#[test]
fn cells_that_are_not_finite_count_and_hide_nothing() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for mode in [Mode::Local, Mode::Global] {
            for layout in [Layout::Nchw, Layout::Nhwc] {
                let mut map = map_of(3, 17, 17, |_, _, _| 0.0);
                map[1][8][8] = 0.8;
                map[1][8][9] = bad;
                map[1][7][8] = bad;
                map[2] = vec![vec![bad; 17]; 17];
                let (peaks, outcome) =
                    run(&map, layout, [17, 17], PeakParams { mode, ..PeakParams::default() });
                assert_eq!(peaks, [Peak { channel: 1, x: 8.5, y: 8.5, score: 0.8 }], "{bad} {mode:?}");
                assert_eq!(outcome, Outcome { non_finite: 2 + 17 * 17, truncated: 0, limited: false });
            }
        }
    }
}

#[test]
fn the_strongest_are_kept_and_the_others_counted() {
    let map = map_of(
        2,
        9,
        65,
        |c, y, x| if x % 2 == 0 && y % 2 == 0 { 0.5 + (c + x + y) as f32 / 200.0 } else { 0.0 },
    );
    let (peaks, outcome) = run(&map, Layout::Nchw, [65, 9], PeakParams { top_k: 3, ..PeakParams::default() });
    assert_eq!(outcome.truncated, 2 * (33 * 5 - 3));
    let scores: Vec<f32> = peaks.iter().map(|p| p.score).collect();
    assert_eq!(scores[..3], [0.5 + 72.0 / 200.0, 0.5 + 70.0 / 200.0, 0.5 + 70.0 / 200.0]);
    assert!(peaks[1].y < peaks[2].y, "equals come in scan order");
    assert_eq!(peaks.iter().map(|p| p.channel).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1]);
}

#[test]
fn great_logits_stay_apart_and_thresholds_are_in_scores() {
    // Logits 30 and 40 both round to a score of 1; the greater comes first. 0 has a score of 0.5, which reaches the threshold.
    let map: Map = vec![vec![vec![30.0, -9.0, 40.0, -9.0, 0.0, -9.0, -0.1]]];
    let params = PeakParams {
        activation: Activation::Sigmoid,
        threshold: 0.5,
        refinement: Refinement::None,
        ..PeakParams::default()
    };
    let (peaks, _) = run(&map, Layout::Nchw, [7, 1], params);
    assert_eq!(
        peaks.iter().map(|p| (p.x, p.score)).collect::<Vec<_>>(),
        [(2.5, 1.0), (0.5, 1.0), (4.5, 0.5)]
    );
    let (peaks, _) = run(&map, Layout::Nchw, [7, 1], PeakParams { threshold: 1.0, ..params });
    assert_eq!(peaks.len(), 2);
}

#[test]
fn half_precision_maps_and_open_dimensions_work() {
    let map = map_of(2, 24, 18, |c, y, x| gaussian(4.0 + c as f64, 7.0, 2.0)(c, y, x));
    let (dims, data) = laid_out(&map, Layout::Nchw);
    let bytes: Vec<u8> = data.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect();
    let open: TensorDesc = "m:float16:?x?x?x?".parse().unwrap();
    let mut finder = PeakFinder::new(&open, [72, 96], PeakParams::default()).unwrap();
    assert_eq!(finder.channels(), None);
    let mut peaks = Vec::new();
    let view = TensorView::new("m", TensorType::Float16, &dims, &bytes).unwrap();
    finder.run(&view, &Affine::IDENTITY, &mut peaks).unwrap();
    assert_eq!(peaks.len(), 2);
    // Cell 5 of stride 4; half precision is exact at the top and symmetric around it.
    assert_eq!((peaks[1].x, peaks[1].y, peaks[1].score), (22.0, 30.0, 1.0));
    let two = TensorView::new("m", TensorType::Float16, &[2, 1, 24, 18], &bytes).unwrap();
    assert!(matches!(finder.run(&two, &Affine::IDENTITY, &mut peaks), Err(PeaksError::Batch(_, 2))));
    assert!(peaks.is_empty());
    for (row, x) in [18.0, 22.0].into_iter().enumerate() {
        finder.run(&two.row(row).unwrap(), &Affine::IDENTITY, &mut peaks).unwrap();
        assert_eq!(peaks, [Peak { channel: 0, x, y: 30.0, score: 1.0 }]);
    }
}

#[test]
fn the_layout_follows_from_the_input_or_is_asked_for() {
    let channels = |text: &str, input: [usize; 2]| {
        PeakFinder::new(&text.parse().unwrap(), input, PeakParams::default()).map(|f| f.channels())
    };
    assert_eq!(channels("posenet:float32:1x25x25x17", [385, 385]), Ok(Some(17)));
    assert_eq!(channels("simple:float32:?x17x96x72", [288, 384]), Ok(Some(17)));
    assert_eq!(channels("centroid:float32:1x1x96x96", [384, 384]), Ok(Some(1)));
    assert_eq!(channels("bottomup:float32:2x192x192", [384, 384]), Ok(Some(2)));
    assert_eq!(channels("last:float32:96x96x1", [384, 384]), Ok(Some(1)));
    assert_eq!(channels("open:float32:1x?x96x72", [288, 384]), Ok(None));
    let both = channels("cube:float32:1x96x96x96", [384, 384]).unwrap_err().to_string();
    assert!(both.contains("each of them") && both.contains("Set the layout to nchw or nhwc"), "{both}");
    let corners = PeakParams { grid: Some(Grid::Corners), ..PeakParams::default() };
    let even = "even:float32:1x17x96x96".parse().unwrap();
    let text = PeakFinder::new(&even, [384, 384], corners).unwrap_err().to_string();
    assert!(
        text.contains("neither of them has cells evenly spaced") && text.contains("grid=corners"),
        "{text}"
    );
    let neither = channels("odd:float32:1x17x50x50", [384, 384]).unwrap_err().to_string();
    assert!(neither.contains("17 channels of 50x50 cells (nchw)"), "{neither}");
    assert!(
        neither.contains("50 channels of 50x17 cells (nhwc)") && neither.contains("neither"),
        "{neither}"
    );
}

#[test]
fn cells_of_a_stated_stride_may_cover_more_than_the_input() {
    // 190x185 pixels, halved by the network and padded to multiples of 16: 96x96 of stride 2 for the network, 4 for the input.
    let map = map_of(1, 48, 48, |_, y, x| if (x, y) == (47, 11) { 1.0 } else { 0.0 });
    for (grid, first) in [
        (Some(Grid::Strided), 0.5),
        (Some(Grid::StridedHalf), 2.5),
        (Some(Grid::CellCentres), 2.0),
        (None, 2.0),
    ] {
        let params =
            PeakParams { grid, stride: Some(4.0), refinement: Refinement::None, ..PeakParams::default() };
        let (peaks, _) = run(&map, Layout::Nchw, [190, 185], params);
        assert_eq!((peaks[0].x, peaks[0].y), (47.0 * 4.0 + first, 11.0 * 4.0 + first), "{grid:?}");
    }
    let by_shape = |text: &str, input| {
        let params = PeakParams { stride: Some(4.0), ..PeakParams::default() };
        PeakFinder::new(&text.parse().unwrap(), input, params).map(|f| f.channels())
    };
    assert_eq!(by_shape("maps:float32:1x3x48x48", [190, 185]), Ok(Some(3)));
    let none = by_shape("maps:float32:1x3x40x40", [190, 185]).unwrap_err().to_string();
    assert!(none.contains("with cells of the stride, neither of them covers"), "{none}");
}

#[test]
fn what_cannot_work_is_refused() {
    let new = |text: &str, params: PeakParams| PeakFinder::new(&text.parse().unwrap(), [384, 384], params);
    let p = PeakParams::default();
    assert!(matches!(new("m:uint8:1x17x96x96", p), Err(PeaksError::Type(_))));
    assert!(matches!(new("m:float32:96x96", p), Err(PeaksError::Rank(_))));
    assert!(matches!(new("m:float32:1x1x17x96x96", p), Err(PeaksError::Rank(_))));
    assert!(matches!(new("m:float32:4x17x96x96", p), Err(PeaksError::Batch(_, 4))));
    assert!(matches!(new("m:float32:1x0x96x96", p), Err(PeaksError::Empty(..))));
    let nan = PeakParams { threshold: f32::NAN, ..p };
    assert_eq!(new("m:float32:1x17x96x96", nan).unwrap_err(), PeaksError::Threshold);
    assert_eq!(new("m:float32:1x17x96x96", PeakParams { top_k: 0, ..p }).unwrap_err(), PeaksError::TopK);
    let mut finder = new("m:float32:1x17x96x96", p).unwrap();
    let data = vec![0u8; 16 * 96 * 96 * 4];
    let view = TensorView::new("m", TensorType::Float32, &[1, 16, 96, 96], &data).unwrap();
    let error = finder.run(&view, &Affine::IDENTITY, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, PeaksError::Changed { .. }));
}

fn any_params() -> impl Strategy<Value = PeakParams> {
    let mode = prop_oneof![Just(Mode::Local), Just(Mode::Global)];
    let refinement = prop_oneof![
        Just(Refinement::None),
        Just(Refinement::Quadratic),
        Just(Refinement::Integral),
        Just(Refinement::Shift)
    ];
    let activation = prop_oneof![Just(Activation::None), Just(Activation::Sigmoid)];
    (mode, refinement, activation, 1usize..20).prop_map(|(mode, refinement, activation, top_k)| PeakParams {
        mode,
        refinement,
        activation,
        top_k,
        // No value of the maps below has this score, in f32 or f64.
        threshold: 0.3017,
        ..PeakParams::default()
    })
}

proptest! {
    /// Few levels, so that plateaus and ties abound; now and then a cell that is not finite.
    #[test]
    fn any_map_gives_the_peaks_of_the_definition(
        (w, h, c) in (1usize..70, 1usize..20, 1usize..6),
        levels in 2i32..40,
        seed: u64,
        params in any_params(),
    ) {
        let mut state = seed | 1;
        let map = map_of(c, h, w, |_, _, _| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            match (state >> 20) % 97 {
                0 => f32::NAN,
                1 => f32::INFINITY,
                2 => f32::NEG_INFINITY,
                _ => ((state >> 40) % levels as u64) as f32 * 3.0 / levels as f32 - 1.5,
            }
        });
        assert_as_reference(&map, Layout::Nchw, params);
        assert_as_reference(&map, Layout::Nhwc, params);
    }
}
