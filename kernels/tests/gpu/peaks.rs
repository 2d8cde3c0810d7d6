//! The operation `peaks`.

mod batch;
mod offsets;

use cudainfer_kernels::device::{CudaStream, DeviceSlice, DeviceTensor, Memory};
use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::peaks::{
    Activation, BLUR, Border, CudaPeaks, Grid, Mode, Outcome, Peak, PeakFinder, PeakParams, PeaksError,
    Refinement,
};
use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::tensor::{TensorDesc, TensorType, TensorView};
use half::f16;

use super::{Random, stream, upload};

const LETTERBOX: Affine = Affine::upright([1.7, 1.7], [-11.0, 3.5]);

/// Values of `[c, h, w]`, channels first.
type Fill = fn(&mut Random, [usize; 3]) -> Vec<f32>;

/// Up to 5 gaussians a channel over noise that stays below most thresholds.
fn blobs(random: &mut Random, [c, h, w]: [usize; 3]) -> Vec<f32> {
    let mut data = Vec::new();
    for _ in 0..c {
        let n = random.below(6);
        let centres: Vec<_> =
            (0..n).map(|_| (random.range(0.0, w as f32), random.range(0.0, h as f32))).collect();
        for i in 0..h * w {
            let far = |(x, y): &(f32, f32)| ((i % w) as f32 - x).powi(2) + ((i / w) as f32 - y).powi(2);
            let blob: f32 = centres.iter().map(|at| 0.9 * (-far(at) / 8.0).exp()).sum();
            data.push(blob + 0.05 * random.unit());
        }
    }
    data
}

fn noise(random: &mut Random, dims: [usize; 3]) -> Vec<f32> {
    (0..dims.iter().product()).map(|_| random.range(-0.5, 1.0)).collect()
}

/// A few levels, zeros of both signs among them, so that plateaus and equal neighbours abound.
fn levels(random: &mut Random, dims: [usize; 3]) -> Vec<f32> {
    (0..dims.iter().product()).map(|_| [-0.25, -0.0, 0.0, 0.5, 0.75][random.below(5)]).collect()
}

/// The same with values that are not finite.
fn broken(random: &mut Random, dims: [usize; 3]) -> Vec<f32> {
    let mut data = levels(random, dims);
    for value in &mut data {
        match random.below(20) {
            0 => *value = f32::NAN,
            1 => *value = f32::INFINITY,
            2 => *value = f32::NEG_INFINITY,
            _ => {}
        }
    }
    data
}

/// A map in memory.
struct Map {
    dims: Vec<usize>,
    ty: TensorType,
    bytes: Vec<u8>,
}

impl Map {
    fn new(first: &[f32], [c, h, w]: [usize; 3], layout: Layout, ty: TensorType) -> Self {
        let (dims, data) = match layout {
            Layout::Nchw => (vec![1, c, h, w], first.to_vec()),
            Layout::Nhwc => {
                (vec![1, h, w, c], (0..c * h * w).map(|i| first[i % c * h * w + i / c]).collect())
            }
        };
        let bytes = match ty {
            TensorType::Float16 => data.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect(),
            _ => bytemuck::cast_slice(&data).to_vec(),
        };
        Self { dims, ty, bytes }
    }

    fn desc(&self) -> TensorDesc {
        TensorDesc::fixed("maps", self.ty, &self.dims)
    }

    fn on_device<'a>(&'a self, memory: &'a Memory) -> DeviceTensor<'a> {
        DeviceTensor::new("maps", self.ty, &self.dims, memory.slice()).unwrap()
    }

    /// One frame's peaks: a batch of one.
    fn on_gpu(
        &self,
        finder: &mut CudaPeaks,
        stream: &CudaStream,
        memory: &Memory,
    ) -> Result<(Vec<Peak>, Outcome), PeaksError> {
        alone(finder, stream, &self.on_device(memory), &LETTERBOX)
    }

    fn on_cpu(&self, input: [usize; 2], params: PeakParams) -> (Vec<Peak>, Outcome) {
        self.on_cpu_to(&LETTERBOX, input, params)
    }

    fn on_cpu_to(&self, to_frame: &Affine, input: [usize; 2], params: PeakParams) -> (Vec<Peak>, Outcome) {
        let mut peaks = Vec::new();
        let view = TensorView::new("maps", self.ty, &self.dims, &self.bytes).unwrap();
        let mut finder = PeakFinder::new(&self.desc(), input, params).unwrap();
        let outcome = finder.run(&view, to_frame, &mut peaks).unwrap();
        (peaks, outcome)
    }
}

/// What a batch of one gives.
fn alone(
    finder: &mut CudaPeaks,
    stream: &CudaStream,
    map: &DeviceTensor<'_>,
    to_frame: &Affine,
) -> Result<(Vec<Peak>, Outcome), PeaksError> {
    let mut peaks = vec![vec![Peak { channel: 9, x: 0.0, y: 0.0, score: 0.0 }]; 3];
    let outcomes = finder.run(stream, map, &[*to_frame], &mut peaks)?;
    assert_eq!((peaks.len(), outcomes.len()), (1, 1));
    Ok((peaks.remove(0), outcomes[0]))
}

fn bits(peaks: &[Peak]) -> Vec<(u32, [u32; 3])> {
    peaks.iter().map(|p| (p.channel, [p.x, p.y, p.score].map(f32::to_bits))).collect()
}

/// Everything is equal; but with logits the refinement weighs by sigmoids whose last bit may differ, and DarkPose's takes
/// logarithms of which that is true: places by 1e-4 pixels then.
fn assert_same(got: &(Vec<Peak>, Outcome), want: &(Vec<Peak>, Outcome), params: &PeakParams, what: &str) {
    assert_eq!(got.1, want.1, "{what} {params:?}");
    assert_eq!(got.0.len(), want.0.len(), "{what} {params:?}");
    let dark = matches!(params.refinement, Refinement::Dark | Refinement::DarkUdp);
    let near = if dark || params.activation == Activation::Sigmoid { 1e-4 } else { 0.0 };
    for (g, w) in got.0.iter().zip(&want.0) {
        let off = (g.x - w.x).abs().max((g.y - w.y).abs());
        assert!(
            off <= near && g.channel == w.channel && g.score == w.score,
            "{what} {params:?}: {g:?} {w:?}"
        );
    }
}

fn every_mode(mut check: impl FnMut(PeakParams)) {
    for mode in [Mode::Local, Mode::Global] {
        for refinement in [
            Refinement::None,
            Refinement::Quadratic,
            Refinement::Integral,
            Refinement::Shift,
            Refinement::Dark,
            Refinement::DarkUdp,
        ] {
            for activation in [Activation::None, Activation::Sigmoid] {
                for (threshold, top_k) in [(0.3, 100), (0.0, 2)] {
                    let params = PeakParams {
                        mode,
                        refinement,
                        activation,
                        threshold,
                        top_k,
                        ..PeakParams::default()
                    };
                    check(params);
                }
            }
        }
    }
}

fn compare(stream: &CudaStream, dims: [usize; 3], fills: &[(&str, Fill)]) {
    let mut random = Random::new(dims.iter().fold(7, |seed, d| seed * 1000 + *d as u64));
    let input = [4 * dims[2], 4 * dims[1]];
    for (name, fill) in fills {
        let first = fill(&mut random, dims);
        for layout in [Layout::Nchw, Layout::Nhwc] {
            for ty in [TensorType::Float32, TensorType::Float16] {
                let map = Map::new(&first, dims, layout, ty);
                let memory = upload(stream, &map.bytes);
                every_mode(|params| {
                    let params = PeakParams { layout: Some(layout), ..params };
                    let mut finder = CudaPeaks::new(&map.desc(), input, params, stream).unwrap();
                    let what = format!("{name} {dims:?} {ty}");
                    let want = map.on_cpu(input, params);
                    for _ in 0..3 {
                        let got = map.on_gpu(&mut finder, stream, &memory).unwrap();
                        assert_same(&got, &want, &params, &what);
                    }
                });
            }
        }
    }
}

const FILLS: [(&str, Fill); 4] =
    [("blobs", blobs), ("noise", noise), ("levels", levels), ("not finite", broken)];

#[test]
#[ignore = "needs a CUDA device"]
fn every_mode_refinement_layout_and_type_finds_what_the_cpu_finds_at_odd_sizes() {
    let stream = stream();
    let sizes =
        [[1, 1, 1], [3, 1, 1], [1, 1, 9], [2, 40, 1], [3, 9, 17], [5, 33, 65], [300, 5, 7], [17, 18, 24]];
    for dims in sizes {
        compare(&stream, dims, &FILLS);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn large_maps_give_what_the_cpu_finds_beyond_the_pinned_memory_too() {
    let stream = stream();
    // Of noise, some 13 000 maxima; of the second size several kinds of blocks.
    compare(&stream, [13, 96, 96], &FILLS);
    compare(&stream, [2, 700, 611], &FILLS[..2]);
    assert!(stream.counters().fallbacks.get() > 0);
}

/// Widths, standard deviations and borders.
fn blurs() -> Vec<(usize, Option<f32>, Border)> {
    let mut blurs = Vec::new();
    for blur in BLUR.step_by(2) {
        for sigma in [None, Some(0.8), Some(2.5)] {
            blurs.extend([Border::Zero, Border::Reflect].map(|border| (blur, sigma, border)));
        }
    }
    blurs
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_blur_refines_as_on_the_cpu() {
    let stream = stream();
    // Maps that are smaller than the kernel are mirrored more than once.
    for dims @ [_, height, width] in [[17, 64, 48], [3, 1, 1], [3, 9, 1], [5, 3, 7]] {
        let first = blobs(&mut Random::new(11), dims);
        let input = [4 * width, 4 * height];
        for layout in [Layout::Nchw, Layout::Nhwc] {
            let map = Map::new(&first, dims, layout, TensorType::Float32);
            let memory = upload(&stream, &map.bytes);
            for refinement in [Refinement::Dark, Refinement::DarkUdp] {
                for (blur, sigma, border) in blurs() {
                    let params = PeakParams {
                        mode: Mode::Global,
                        threshold: 0.0,
                        refinement,
                        blur,
                        sigma,
                        border,
                        layout: Some(layout),
                        ..PeakParams::default()
                    };
                    let mut finder = CudaPeaks::new(&map.desc(), input, params, &stream).unwrap();
                    let got = map.on_gpu(&mut finder, &stream, &memory).unwrap();
                    assert_same(&got, &map.on_cpu(input, params), &params, "blur");
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn plateaus_give_one_peak_at_their_first_cell() {
    let stream = stream();
    let plateaus: [fn(usize, usize) -> bool; 5] = [
        |_, _| true,
        |x, y| (2..6).contains(&x) && (3..5).contains(&y),
        |x, _| x == 8,
        |x, y| x == y && x > 1,
        |x, y| x + y == 9,
    ];
    let data: Vec<f32> = plateaus
        .iter()
        .flat_map(|inside| (0..81).map(|i| if inside(i % 9, i / 9) { 0.5 } else { 0.0 }))
        .collect();
    let params =
        PeakParams { refinement: Refinement::None, grid: Some(Grid::Strided), ..PeakParams::default() };
    for layout in [Layout::Nchw, Layout::Nhwc] {
        let map = Map::new(&data, [5, 9, 9], layout, TensorType::Float32);
        let params = PeakParams { layout: Some(layout), ..params };
        let mut finder = CudaPeaks::new(&map.desc(), [9, 9], params, &stream).unwrap();
        let memory = upload(&stream, &map.bytes);
        let (peaks, _) = alone(&mut finder, &stream, &map.on_device(&memory), &Affine::IDENTITY).unwrap();
        let places: Vec<_> = peaks.iter().map(|p| (p.channel, p.x, p.y)).collect();
        assert_eq!(places, [(0, 0.5, 0.5), (1, 2.5, 3.5), (2, 8.5, 0.5), (3, 2.5, 2.5), (4, 8.5, 1.5)]);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn maps_may_begin_at_any_element() {
    let stream = stream();
    let dims = [3, 13, 11];
    let first = broken(&mut Random::new(5), dims);
    for ty in [TensorType::Float32, TensorType::Float16] {
        let map = Map::new(&first, dims, Layout::Nchw, ty);
        for skipped in 0..9 {
            let start = skipped * ty.size();
            let mut bytes = vec![0; start];
            bytes.extend(&map.bytes);
            let memory = upload(&stream, &bytes);
            // SAFETY: inside `memory`, which stays.
            let slice = unsafe { DeviceSlice::from_raw(memory.pointer() + start as u64, map.bytes.len()) };
            let tensor = DeviceTensor::new("maps", ty, &map.dims, slice).unwrap();
            for mode in [Mode::Local, Mode::Global] {
                let params = PeakParams { mode, layout: Some(Layout::Nchw), ..PeakParams::default() };
                let mut finder = CudaPeaks::new(&map.desc(), [44, 52], params, &stream).unwrap();
                let got = alone(&mut finder, &stream, &tensor, &LETTERBOX).unwrap();
                assert_same(&got, &map.on_cpu([44, 52], params), &params, "at any element");
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_hundred_runs_give_the_same_bits() {
    let stream = stream();
    let dims = [13, 96, 96];
    let map = Map::new(&noise(&mut Random::new(3), dims), dims, Layout::Nchw, TensorType::Float32);
    let memory = upload(&stream, &map.bytes);
    for activation in [Activation::None, Activation::Sigmoid] {
        let params = PeakParams { refinement: Refinement::Integral, activation, ..PeakParams::default() };
        let mut finder = CudaPeaks::new(&map.desc(), [384, 384], params, &stream).unwrap();
        let mut run = || {
            let (peaks, outcome) = map.on_gpu(&mut finder, &stream, &memory).unwrap();
            (bits(&peaks), outcome)
        };
        let first = run();
        assert!((0..100).all(|_| run() == first));
    }
}

/// Maxima and their centres of mass by definition, in f64: (channel, x, y, score) in cells.
fn reference(data: &[f32], [c, h, w]: [usize; 3], threshold: f64) -> Vec<(usize, f64, f64, f64)> {
    let (h, w) = (h as i64, w as i64);
    let at = |c: usize, x: i64, y: i64| {
        let inside = (0..w).contains(&x) && (0..h).contains(&y);
        if inside { f64::from(data[c * (h * w) as usize + (y * w + x) as usize]) } else { f64::NEG_INFINITY }
    };
    let around = |r: i64| (-r..=r).flat_map(move |dy| (-r..=r).map(move |dx| (dx, dy)));
    let mut peaks = Vec::new();
    for c in 0..c {
        for (y, x) in (0..h).flat_map(|y| (0..w).map(move |x| (y, x))) {
            let v = at(c, x, y);
            let greatest = around(1).all(|(dx, dy)| {
                let n = at(c, x + dx, y + dy);
                if (dy, dx) < (0, 0) { v > n } else { v >= n }
            });
            if v >= threshold && greatest {
                let cells = || {
                    around(2)
                        .map(|(dx, dy)| (dx as f64, dy as f64, at(c, x + dx, y + dy)))
                        .filter(|cell| cell.2.is_finite())
                };
                let sum: f64 = cells().map(|cell| cell.2).sum();
                let dx = cells().map(|(dx, _, n)| dx * n / sum).sum::<f64>();
                let dy = cells().map(|(_, dy, n)| dy * n / sum).sum::<f64>();
                peaks.push((c, x as f64 + dx, y as f64 + dy, v));
            }
        }
    }
    peaks.sort_by(|a, b| a.0.cmp(&b.0).then(b.3.total_cmp(&a.3)));
    peaks
}

#[test]
#[ignore = "needs a CUDA device"]
fn maxima_and_their_centres_of_mass_are_those_of_the_definition() {
    let stream = stream();
    for (dims, threshold) in [([13, 96, 96], 0.3), ([5, 33, 65], 0.0)] {
        let data = blobs(&mut Random::new(11), dims);
        let map = Map::new(&data, dims, Layout::Nchw, TensorType::Float32);
        let memory = upload(&stream, &map.bytes);
        let params = PeakParams {
            refinement: Refinement::Integral,
            threshold,
            top_k: usize::MAX,
            // Strided by 1 puts cell 0 at 0.5, so that the comparison is in cells.
            grid: Some(Grid::Strided),
            ..PeakParams::default()
        };
        let mut finder = CudaPeaks::new(&map.desc(), [dims[2], dims[1]], params, &stream).unwrap();
        let (peaks, _) = alone(&mut finder, &stream, &map.on_device(&memory), &Affine::IDENTITY).unwrap();
        let want = reference(&data, dims, f64::from(threshold));
        assert_eq!(peaks.len(), want.len());
        for (g, w) in peaks.iter().zip(&want) {
            // Places are f32 of up to 96 cells: two roundings of 2^-18 at most.
            let off = (f64::from(g.x) - 0.5 - w.1).abs().max((f64::from(g.y) - 0.5 - w.2).abs());
            assert!(g.channel as usize == w.0 && off < 1e-5 && f64::from(g.score) == w.3, "{g:?} {w:?}");
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn memory_for_records_is_that_of_the_peaks_there_are_and_grows_once() {
    let stream = stream();
    let dims = [13, 256, 256];
    // A peak in each tile of 2x2 cells: as many as there can be.
    let mut random = Random::new(4);
    let mut data = vec![0.0; dims.iter().product()];
    for (i, value) in data.iter_mut().enumerate() {
        let (x, y) = (i % dims[2], i / dims[2] % dims[1]);
        if x % 2 == 0 && y % 2 == 0 {
            *value = 0.5 + random.below(1000) as f32 / 4096.0;
        }
    }
    let map = Map::new(&data, dims, Layout::Nchw, TensorType::Float32);
    let memory = upload(&stream, &map.bytes);
    let params = PeakParams { top_k: usize::MAX, layout: Some(Layout::Nchw), ..PeakParams::default() };
    let before = stream.counters().device_bytes();
    let mut finder = CudaPeaks::new(&map.desc(), [512, 512], params, &stream).unwrap();
    let held = || stream.counters().device_bytes() - before;
    assert!(held() < 1 << 20, "{} bytes before anything was found", held());
    finder.start(&stream, &map.on_device(&memory), &[LETTERBOX]).unwrap();
    let mut peaks = Vec::new();
    assert_eq!(finder.finish(&stream, &mut peaks), Err(PeaksError::NoRoom));
    let wanted = map.on_cpu([512, 512], params);
    assert_eq!(wanted.0.len(), 13 * 128 * 128);
    for allocations in [1, 0, 0] {
        let counted = stream.counters().allocations.get();
        assert_same(&map.on_gpu(&mut finder, &stream, &memory).unwrap(), &wanted, &params, "grown");
        assert_eq!(stream.counters().allocations.get() - counted, allocations);
    }
    assert!(held() < 16 << 20, "{} bytes for {} records of 32", held(), wanted.0.len());
    drop(finder);
    assert_eq!(held(), 0);
    // Whoever runs it at once does not notice.
    let mut finder = CudaPeaks::new(&map.desc(), [512, 512], params, &stream).unwrap();
    assert_same(&map.on_gpu(&mut finder, &stream, &memory).unwrap(), &wanted, &params, "at once");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_map_costs_one_launch_one_wait_and_no_allocation() {
    let stream = stream();
    let dims = [13, 96, 96];
    let map = Map::new(&blobs(&mut Random::new(2), dims), dims, Layout::Nchw, TensorType::Float32);
    let memory = upload(&stream, &map.bytes);
    for mode in [Mode::Local, Mode::Global] {
        let params = PeakParams { mode, layout: Some(Layout::Nchw), ..PeakParams::default() };
        // Open dimensions: the first map allocates.
        let open = "maps:float32:?x?x?x?".parse().unwrap();
        let mut finder = CudaPeaks::new(&open, [384, 384], params, &stream).unwrap();
        let want = map.on_cpu([384, 384], params);
        map.on_gpu(&mut finder, &stream, &memory).unwrap();
        let counters = stream.counters();
        counters.reset();
        for _ in 0..10 {
            let got = map.on_gpu(&mut finder, &stream, &memory).unwrap();
            assert_same(&got, &want, &params, "counted");
        }
        assert_eq!((counters.launches.get(), counters.host_waits.get()), (10, 10));
        assert_eq!((counters.allocations.get(), counters.fallbacks.get()), (0, 0));
        assert_eq!(counters.device_to_host.get(), 10 * 32 * want.0.len() as u64);
        // The last one that was started counts, and it only once.
        for _ in 0..3 {
            finder.start(&stream, &map.on_device(&memory), &[LETTERBOX]).unwrap();
        }
        let mut peaks = Vec::new();
        let outcomes = finder.finish(&stream, &mut peaks).unwrap();
        assert_same(&(peaks.concat(), outcomes[0]), &want, &params, "thrice");
        assert_eq!(finder.finish(&stream, &mut peaks), Ok(vec![]));
        assert!(peaks.is_empty());
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_the_cpu_refuses_is_refused() {
    let stream = stream();
    let new = |text: &str, params| CudaPeaks::new(&text.parse().unwrap(), [64, 64], params, &stream);
    let p = PeakParams { layout: Some(Layout::Nchw), ..PeakParams::default() };
    assert!(matches!(new("m:uint8:1x2x8x8", p), Err(PeaksError::Type(_))));
    assert!(matches!(new("m:float32:2x2x8x8", p), Err(PeaksError::Batch(_, 2))));
    assert!(matches!(new("m:float32:1x2x8x8", PeakParams { top_k: 0, ..p }), Err(PeaksError::TopK)));
    assert!(matches!(new("m:float32:1x99999x99999x64", p), Err(PeaksError::TooLarge(_))));
    let memory = upload(&stream, &[0; 2 * 8 * 8 * 4]);
    let mut peaks = vec![vec![Peak { channel: 9, x: 0.0, y: 0.0, score: 0.0 }]];
    let mut refused = |text: &str, dims: &[usize], frames: usize| {
        let bytes = memory.slice().first(4 * dims.iter().product::<usize>());
        let map = DeviceTensor::new("m", TensorType::Float32, dims, bytes).unwrap();
        new(text, p).unwrap().run(&stream, &map, &vec![LETTERBOX; frames], &mut peaks).unwrap_err()
    };
    assert!(matches!(refused("m:float32:1x2x8x8", &[1, 2, 4, 16], 1), PeaksError::Changed { .. }));
    assert!(matches!(refused("m:float16:1x2x8x8", &[1, 2, 8, 8], 1), PeaksError::Changed { .. }));
    assert!(matches!(refused("m:float32:?x?x?x?", &[0, 2, 8, 8], 1), PeaksError::Empty(..)));
    // A batch of too few; three dimensions are one frame's.
    assert!(matches!(refused("m:float32:1x2x8x8", &[1, 2, 8, 8], 2), PeaksError::Rows { wanted: 2, .. }));
    assert!(matches!(refused("m:float32:?x?x?x?", &[2, 1, 8, 8], 3), PeaksError::Rows { wanted: 3, .. }));
    assert!(matches!(refused("m:float32:2x8x8", &[2, 8, 8], 2), PeaksError::Rows { wanted: 2, .. }));
    assert!(peaks.is_empty());
}
