//! Part affinity fields.

use cudainfer_kernels::group::{CudaPafGrouper, GroupError, PafConvention, PafGrouper, PafParams};
use cudainfer_kernels::peaks::{Grid, PeakParams, PeaksError, Refinement};

use super::*;

const EDGES: [[usize; 2]; 5] = [[0, 1], [1, 2], [1, 3], [3, 4], [2, 5]];
const POINTS: usize = 6;
const BOTH: [PafConvention; 2] = [PafConvention::Sleap, PafConvention::OpenPose];

/// A network's outputs: fields are half as wide and high as maps, or as large.
struct Scene {
    maps: Output,
    fields: Output,
    input: [usize; 2],
    peaks: PeakParams,
    paf: PafParams,
}

impl Scene {
    /// This many peaks a channel and frame, or noise all over if the number is 0, on random fields, in which every 97th value is
    /// not finite.
    fn new(
        stream: &CudaStream,
        random: &mut Random,
        (frames, [h, w], count): (usize, [usize; 2], usize),
        format: (Layout, TensorType),
        convention: PafConvention,
    ) -> Self {
        let background = usize::from(convention == PafConvention::OpenPose);
        let channels = POINTS + background;
        let mut maps = vec![0.0; frames * channels * h * w];
        for plane in maps.chunks_mut(h * w) {
            if count == 0 {
                plane.iter_mut().for_each(|v| *v = random.unit());
            }
            for _ in 0..random.below(2 * count + 1) {
                let (x, y) = (random.range(1.0, w as f32 - 1.0), random.range(1.0, h as f32 - 1.0));
                for (i, v) in plane.iter_mut().enumerate() {
                    let far = ((i % w) as f32 - x).powi(2) + ((i / w) as f32 - y).powi(2);
                    *v += 0.9 * (-far / 3.0).exp();
                }
            }
        }
        let shrink = if h % 2 == 0 && w % 2 == 0 { 2 } else { 1 };
        let dims = [2 * EDGES.len(), h / shrink, w / shrink];
        let field = |i: usize| if i % 97 == 96 { f32::NAN } else { random.range(-0.7, 1.0) };
        let fields: Vec<f32> = (0..frames * dims.iter().product::<usize>()).map(field).collect();
        let paf = PafParams {
            min_line_score: 0.0,
            min_share: 0.3,
            min_points: 0,
            min_score: -10.0,
            ..PafParams::new(convention, POINTS, &EDGES)
        };
        Self {
            maps: Output::new(stream, "maps", &maps, [channels, h, w], format),
            fields: Output::new(stream, "pafs", &fields, dims, format),
            input: [2 * w, 2 * h],
            peaks: PeakParams {
                refinement: Refinement::Integral,
                layout: Some(format.0),
                grid: Some(Grid::Strided),
                threshold: 0.2,
                ..PeakParams::default()
            },
            paf,
        }
    }

    fn on_gpu(&self, stream: &CudaStream) -> CudaPafGrouper {
        let (maps, fields) = (self.maps.desc(), self.fields.desc());
        CudaPafGrouper::new(&maps, &fields, self.input, self.peaks, &self.paf, stream).unwrap()
    }

    fn run(&self, stream: &CudaStream, grouper: &mut CudaPafGrouper) -> (Vec<Vec<Pose>>, Vec<Outcome>) {
        let to_frame: Vec<Affine> = (0..self.maps.frames).map(to_frame).collect();
        let mut poses = vec![vec![Pose::default()]; 3];
        let (maps, fields) = (self.maps.on_device(), self.fields.on_device());
        let outcomes = grouper.run(stream, &maps, &fields, &to_frame, &mut poses).unwrap();
        (poses, outcomes)
    }

    fn on_cpu(&self) -> Vec<(Vec<Pose>, Outcome)> {
        let (maps, fields) = (self.maps.desc(), self.fields.desc());
        let mut grouper = PafGrouper::new(&maps, &fields, self.input, self.peaks, &self.paf).unwrap();
        let mut frame = |i| {
            let mut poses = Vec::new();
            let (maps, fields) = (self.maps.view(i), self.fields.view(i));
            let outcome = grouper.run(&maps, &fields, &to_frame(i), &mut poses).unwrap();
            (poses, outcome)
        };
        (0..self.maps.frames).map(&mut frame).collect()
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn instances_are_the_cpus_in_every_layout_type_and_convention() {
    let stream = stream();
    let mut random = Random::new(31);
    let mut found = 0;
    for layout in [Layout::Nchw, Layout::Nhwc] {
        for ty in [TensorType::Float32, TensorType::Float16] {
            for convention in BOTH {
                for size in [(1, [48, 64], 3), (1, [17, 9], 2), (3, [32, 40], 4), (9, [24, 24], 2)] {
                    let scene = Scene::new(&stream, &mut random, size, (layout, ty), convention);
                    let want = scene.on_cpu();
                    let mut grouper = scene.on_gpu(&stream);
                    // Again: nothing may be left from before.
                    for turn in 0..3 {
                        let got = scene.run(&stream, &mut grouper);
                        assert_same(&got, &want, || {
                            format!("{layout:?} {ty} {convention:?} {size:?} turn {turn}")
                        });
                    }
                    found += want.iter().map(|frame| frame.0.len()).sum::<usize>();
                }
            }
        }
    }
    assert!(found > 200, "{found}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn of_thousands_of_peaks_the_same_ones_are_kept() {
    let stream = stream();
    let mut random = Random::new(32);
    // 1024 peaks a channel, about, of which the strongest are found bit by bit; and batches whose records find no room in
    // pinned memory.
    for (size, top_k) in
        [((1, [96, 96], 0), 7), ((1, [96, 96], 0), 60), ((3, [96, 96], 0), 100), ((1, [48, 48], 0), 300)]
    {
        let mut scene =
            Scene::new(&stream, &mut random, size, (Layout::Nchw, TensorType::Float32), PafConvention::Sleap);
        scene.peaks.top_k = top_k;
        let want = scene.on_cpu();
        assert!(want[0].1.truncated > 0, "{:?}", want[0].1);
        let mut grouper = scene.on_gpu(&stream);
        for turn in 0..2 {
            let got = scene.run(&stream, &mut grouper);
            assert_same(&got, &want, || format!("{size:?} top {top_k} turn {turn}"));
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_batch_takes_two_launches_one_wait_and_no_allocation() {
    let stream = stream();
    let mut random = Random::new(33);
    for frames in [1, 6] {
        let format = (Layout::Nchw, TensorType::Float32);
        let scene = Scene::new(&stream, &mut random, (frames, [64, 64], 2), format, PafConvention::Sleap);
        let mut grouper = scene.on_gpu(&stream);
        let want = scene.on_cpu();
        scene.run(&stream, &mut grouper);
        let counters = stream.counters();
        counters.reset();
        for _ in 0..10 {
            assert_same(&scene.run(&stream, &mut grouper), &want, || format!("{frames} frames"));
        }
        assert_eq!((counters.launches.get(), counters.host_waits.get()), (20, 10));
        assert_eq!((counters.allocations.get(), counters.fallbacks.get()), (0, 0));
        // The last one that was started counts, and it only once.
        let to_frame: Vec<Affine> = (0..frames).map(to_frame).collect();
        for _ in 0..3 {
            grouper.start(&stream, &scene.maps.on_device(), &scene.fields.on_device(), &to_frame).unwrap();
        }
        let mut poses = Vec::new();
        let outcomes = grouper.finish(&stream, &mut poses).unwrap();
        assert_same(&(poses, outcomes), &want, || "thrice".into());
        let mut poses = vec![vec![]];
        assert_eq!((grouper.finish(&stream, &mut poses), poses.len()), (Ok(vec![]), 0));
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn one_tensor_may_hold_maps_background_and_fields() {
    let stream = stream();
    let mut random = Random::new(34);
    let channels = POINTS + 1 + 2 * EDGES.len();
    for layout in [Layout::Nchw, Layout::Nhwc] {
        let data: Vec<f32> = (0..2 * channels * 24 * 32).map(|_| random.unit()).collect();
        let format = (layout, TensorType::Float32);
        let mut scene = Scene::new(&stream, &mut random, (2, [24, 32], 1), format, PafConvention::OpenPose);
        scene.maps = Output::new(&stream, "all", &data, [channels, 24, 32], format);
        scene.fields = Output::new(&stream, "all", &data, [channels, 24, 32], format);
        let want = scene.on_cpu();
        assert!(!want[0].0.is_empty());
        let mut grouper = scene.on_gpu(&stream);
        assert_same(&scene.run(&stream, &mut grouper), &want, || format!("{layout:?}"));
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_the_cpu_refuses_is_refused() {
    let stream = stream();
    let mut random = Random::new(35);
    let format = (Layout::Nchw, TensorType::Float32);
    let scene = Scene::new(&stream, &mut random, (2, [16, 16], 1), format, PafConvention::Sleap);
    let new = |maps: &str, fields: &str| {
        let [maps, fields] = [maps, fields].map(|text| text.parse().unwrap());
        CudaPafGrouper::new(&maps, &fields, [32, 32], scene.peaks, &scene.paf, &stream)
    };
    let (maps, fields) = ("maps:float32:1x6x16x16", "pafs:float32:1x10x8x8");
    assert!(matches!(new("maps:float32:1x5x16x16", fields), Err(GroupError::Maps { got: 5, .. })));
    assert!(matches!(new(maps, "pafs:float32:1x8x8x8"), Err(GroupError::Channels { got: 8, .. })));
    assert!(matches!(new(maps, "pafs:int8:1x10x8x8"), Err(GroupError::Output(_, PeaksError::Type(_)))));
    let mut grouper = new(maps, fields).unwrap();
    let (maps, fields) = (scene.maps.on_device(), scene.fields.on_device());
    let mut start = |frames: usize| grouper.start(&stream, &maps, &fields, &vec![Affine::IDENTITY; frames]);
    assert!(matches!(start(3), Err(GroupError::Output(_, PeaksError::Rows { wanted: 3, .. }))));
    assert_eq!(start(0), Ok(()));
    let mut poses = vec![vec![]];
    assert_eq!((grouper.finish(&stream, &mut poses), poses.len()), (Ok(vec![]), 0));
}
