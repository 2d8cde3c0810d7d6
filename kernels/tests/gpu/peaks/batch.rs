//! Batches: every frame's map as if it were alone, in one launch and with one wait.

use super::*;

/// Another map to the frame for each.
fn to_frame(i: usize) -> Affine {
    let k = i as f64;
    Affine::upright([1.0 + 0.03125 * k, 1.5 - 0.03125 * k], [-3.0 * k, 10.5 + k])
}

/// Maps of several frames in device memory, one after the other, and two of NaN after them.
struct Frames {
    maps: Vec<Map>,
    input: [usize; 2],
    memory: Memory,
}

impl Frames {
    const PADDING: usize = 2;

    fn new(
        stream: &CudaStream,
        dims: [usize; 3],
        layout: Layout,
        ty: TensorType,
        fills: impl Iterator<Item = Fill>,
    ) -> Self {
        let mut random = Random::new(17);
        let maps: Vec<_> = fills.map(|fill| Map::new(&fill(&mut random, dims), dims, layout, ty)).collect();
        let mut bytes: Vec<u8> = maps.iter().flat_map(|map| map.bytes.clone()).collect();
        bytes.resize(bytes.len() + Self::PADDING * maps[0].bytes.len(), 0xff);
        Self { maps, input: [4 * dims[2], 4 * dims[1]], memory: upload(stream, &bytes) }
    }

    fn finder(&self, stream: &CudaStream, params: PeakParams) -> CudaPeaks {
        CudaPeaks::new(&self.maps[0].desc(), self.input, params, stream).unwrap()
    }

    /// The maps of `frames` frames from frame `first` on, wherever that is in memory.
    fn tensor(&self, first: usize, frames: usize) -> DeviceTensor<'_> {
        let Map { dims, ty, bytes } = &self.maps[0];
        let slice = self.memory.slice().after(first * bytes.len()).first(frames * bytes.len());
        DeviceTensor::new("maps", *ty, &[frames, dims[1], dims[2], dims[3]], slice).unwrap()
    }

    /// What each frame gives by itself.
    fn alone(&self, stream: &CudaStream, params: PeakParams) -> Vec<(Vec<Peak>, Outcome)> {
        let mut finder = self.finder(stream, params);
        let frame = |i| alone(&mut finder, stream, &self.tensor(i, 1), &to_frame(i)).unwrap();
        (0..self.maps.len()).map(frame).collect()
    }

    /// Runs a batch of frames and compares it with them.
    fn check(
        &self,
        stream: &CudaStream,
        finder: &mut CudaPeaks,
        (first, frames, padding): (usize, usize, usize),
        wanted: &[(Vec<Peak>, Outcome)],
    ) {
        let what = format!("{:?}: {frames} from {first} on, {padding} more", self.maps[0].dims);
        let to_frame: Vec<Affine> = (first..first + frames).map(to_frame).collect();
        let mut peaks = Vec::new();
        let map = self.tensor(first, frames + padding);
        let outcomes = finder.run(stream, &map, &to_frame, &mut peaks).unwrap();
        assert_eq!((peaks.len(), outcomes.len()), (frames, frames), "{what}");
        for (i, (peaks, outcome)) in peaks.iter().zip(&outcomes).enumerate() {
            let (alone, expected) = &wanted[first + i];
            assert_eq!(outcome, expected, "{what}: row {i}");
            assert!(bits(peaks) == bits(alone), "{what}: row {i} is {peaks:?}, alone {alone:?}");
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn rows_of_batches_that_grow_and_shrink_are_those_of_every_mode_alone() {
    const FRAMES: usize = 17;
    let stream = stream();
    let (mut random, mut turn) = (Random::new(18), 0);
    // Of the small ones a load holds several frames.
    for dims in [[1, 1, 1], [2, 1, 3], [3, 9, 17], [5, 33, 65], [17, 18, 24]] {
        for layout in [Layout::Nchw, Layout::Nhwc] {
            for ty in [TensorType::Float32, TensorType::Float16] {
                let fills = FILLS.iter().map(|(_, fill)| *fill).cycle().take(FRAMES);
                let frames = Frames::new(&stream, dims, layout, ty, fills);
                every_mode(|params| {
                    let params = PeakParams { layout: Some(layout), ..params };
                    let wanted = frames.alone(&stream, params);
                    for (i, (map, gpu)) in frames.maps.iter().zip(&wanted).enumerate() {
                        assert_same(
                            gpu,
                            &map.on_cpu_to(&to_frame(i), frames.input, params),
                            &params,
                            "alone",
                        );
                    }
                    let mut finder = frames.finder(&stream, params);
                    for _ in 0..4 {
                        // Every size from 1 to 17, in no order.
                        turn += 1;
                        let rows = 1 + turn * 7 % FRAMES;
                        let first = random.below(FRAMES - rows + 1);
                        let padding = random.below(FRAMES + Frames::PADDING - first - rows + 1);
                        frames.check(&stream, &mut finder, (first, rows, padding), &wanted);
                    }
                });
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn batches_with_more_peaks_than_the_pinned_memory_holds_lose_none() {
    let stream = stream();
    let fills: [Fill; 12] = std::array::from_fn(|i| [noise as Fill, blobs, broken][i % 3]);
    for mode in [Mode::Local, Mode::Global] {
        let frames = Frames::new(&stream, [13, 64, 96], Layout::Nchw, TensorType::Float32, fills.into_iter());
        let params =
            PeakParams { mode, layout: Some(Layout::Nchw), top_k: usize::MAX, ..PeakParams::default() };
        let wanted = frames.alone(&stream, params);
        let found: usize = wanted.iter().map(|(peaks, _)| peaks.len()).sum();
        assert!(mode == Mode::Global || found > 20_000, "{found}");
        let mut finder = frames.finder(&stream, params);
        for batch in [(0, 12, 2), (0, 1, 0), (3, 9, 0), (0, 12, 0)] {
            frames.check(&stream, &mut finder, batch, &wanted);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_batch_costs_one_launch_one_wait_and_no_allocation() {
    let stream = stream();
    for mode in [Mode::Local, Mode::Global] {
        let fills = std::iter::repeat_n(blobs as Fill, 16);
        let frames = Frames::new(&stream, [13, 96, 96], Layout::Nchw, TensorType::Float32, fills);
        let params = PeakParams { mode, layout: Some(Layout::Nchw), ..PeakParams::default() };
        let wanted = frames.alone(&stream, params);
        let mut finder = frames.finder(&stream, params);
        frames.check(&stream, &mut finder, (0, 16, 0), &wanted);
        let counters = stream.counters();
        counters.reset();
        for rows in [16, 1, 7, 16] {
            frames.check(&stream, &mut finder, (16 - rows, rows, 0), &wanted);
        }
        // No rows: nothing to do, nothing to wait for.
        frames.check(&stream, &mut finder, (0, 0, 1), &wanted);
        assert_eq!((counters.launches.get(), counters.host_waits.get()), (4, 4));
        assert_eq!((counters.allocations.get(), counters.fallbacks.get()), (0, 0));
    }
}
