//! Offsets and displacements.

use cudainfer_kernels::group::{
    CudaDisplacementGrouper, DisplacementGrouper, DisplacementOutputs, DisplacementParams, GroupError,
};
use cudainfer_kernels::peaks::{Activation, Grid, PeakParams};

use super::*;

const POINTS: usize = 17;
const EDGES: usize = 16;

/// PoseNet's outputs for this many frames, all random; some values are not finite.
struct Scene {
    outputs: DisplacementOutputs<Output>,
    input: [usize; 2],
    peaks: PeakParams,
    params: DisplacementParams,
}

impl Scene {
    fn new(
        stream: &CudaStream,
        random: &mut Random,
        (frames, [h, w]): (usize, [usize; 2]),
        format: (Layout, TensorType),
    ) -> Self {
        let mut output = |name, channels: usize, low: f32, high: f32| {
            let value = |i: usize| if i % 301 == 300 { f32::NAN } else { random.range(low, high) };
            let data: Vec<f32> = (0..frames * channels * h * w).map(value).collect();
            Output::new(stream, name, &data, [channels, h, w], format)
        };
        let outputs = DisplacementOutputs {
            maps: output("maps", POINTS, -6.0, 3.0),
            offsets: output("offsets", 2 * POINTS, -20.0, 20.0),
            forward: output("forward", 2 * EDGES, -90.0, 90.0),
            backward: output("backward", 2 * EDGES, -90.0, 90.0),
        };
        Self {
            outputs,
            input: [16 * (w - 1) + 1, 16 * (h - 1) + 1],
            peaks: PeakParams {
                activation: Activation::Sigmoid,
                layout: Some(format.0),
                grid: Some(Grid::Corners),
                threshold: 0.5,
                ..PeakParams::default()
            },
            params: DisplacementParams { max_poses: 12, ..DisplacementParams::default() },
        }
    }

    fn run(
        &self,
        stream: &CudaStream,
        grouper: &mut CudaDisplacementGrouper,
    ) -> (Vec<Vec<Pose>>, Vec<Outcome>) {
        let DisplacementOutputs { maps, offsets, forward, backward } = &self.outputs;
        let to_frame: Vec<Affine> = (0..maps.frames).map(to_frame).collect();
        let outputs = DisplacementOutputs {
            maps: maps.on_device(),
            offsets: offsets.on_device(),
            forward: forward.on_device(),
            backward: backward.on_device(),
        };
        let mut poses = vec![vec![Pose::default()]; 3];
        let outcomes = grouper.run(stream, &outputs, &to_frame, &mut poses).unwrap();
        (poses, outcomes)
    }

    fn descs(&self) -> [TensorDesc; 4] {
        let DisplacementOutputs { maps, offsets, forward, backward } = &self.outputs;
        [maps, offsets, forward, backward].map(Output::desc)
    }

    fn on_gpu(&self, stream: &CudaStream) -> Result<CudaDisplacementGrouper, GroupError> {
        let [maps, offsets, forward, backward] = &self.descs();
        let outputs = DisplacementOutputs { maps, offsets, forward, backward };
        CudaDisplacementGrouper::new(&outputs, self.input, self.peaks, &self.params, stream)
    }

    fn on_cpu(&self) -> Vec<(Vec<Pose>, Outcome)> {
        let [maps, offsets, forward, backward] = &self.descs();
        let outputs = DisplacementOutputs { maps, offsets, forward, backward };
        let mut grouper = DisplacementGrouper::new(&outputs, self.input, self.peaks, &self.params).unwrap();
        let mut frame = |i| {
            let outputs = DisplacementOutputs {
                maps: self.outputs.maps.view(i),
                offsets: self.outputs.offsets.view(i),
                forward: self.outputs.forward.view(i),
                backward: self.outputs.backward.view(i),
            };
            let mut poses = Vec::new();
            let outcome = grouper.run(&outputs, &to_frame(i), &mut poses).unwrap();
            (poses, outcome)
        };
        (0..self.outputs.maps.frames).map(&mut frame).collect()
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn instances_are_the_cpus_in_every_layout_and_type() {
    let stream = stream();
    let mut random = Random::new(41);
    let mut found = 0;
    for layout in [Layout::Nhwc, Layout::Nchw] {
        for ty in [TensorType::Float32, TensorType::Float16] {
            // The last ones have more roots than pinned memory has room for.
            for size in [(1, [25, 25]), (1, [9, 17]), (5, [13, 13]), (1, [61, 61])] {
                let mut scene = Scene::new(&stream, &mut random, size, (layout, ty));
                if size.1 == [61, 61] {
                    scene.peaks.top_k = 1000;
                }
                let want = scene.on_cpu();
                let mut grouper = scene.on_gpu(&stream).unwrap();
                // Again: nothing may be left from before.
                for turn in 0..3 {
                    let got = scene.run(&stream, &mut grouper);
                    assert_same(&got, &want, || format!("{layout:?} {ty} {size:?} turn {turn}"));
                }
                found += want.iter().map(|frame| frame.0.len()).sum::<usize>();
            }
        }
    }
    assert!(found > 200, "{found}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_batch_takes_two_launches_one_wait_and_no_allocation() {
    let stream = stream();
    let mut scene =
        Scene::new(&stream, &mut Random::new(42), (4, [13, 13]), (Layout::Nhwc, TensorType::Float32));
    // Values of the maps that are not finite would be one more wait.
    let maps: Vec<f32> =
        (0..4 * POINTS * 169).map(|i| if i % 23 == 0 { 1.0 + i as f32 / 1e5 } else { -3.0 }).collect();
    scene.outputs.maps =
        Output::new(&stream, "maps", &maps, [POINTS, 13, 13], (Layout::Nhwc, TensorType::Float32));
    let mut grouper = scene.on_gpu(&stream).unwrap();
    let want = scene.on_cpu();
    scene.run(&stream, &mut grouper);
    let counters = stream.counters();
    counters.reset();
    for _ in 0..10 {
        assert_same(&scene.run(&stream, &mut grouper), &want, || "counted".into());
    }
    assert_eq!((counters.launches.get(), counters.host_waits.get()), (20, 10));
    assert_eq!((counters.allocations.get(), counters.fallbacks.get()), (0, 0));
}

#[test]
#[ignore = "needs a CUDA device"]
fn outputs_of_several_types_are_refused() {
    let stream = stream();
    let mut random = Random::new(43);
    let mut scene = Scene::new(&stream, &mut random, (1, [9, 9]), (Layout::Nhwc, TensorType::Float32));
    let other = Scene::new(&stream, &mut random, (1, [9, 9]), (Layout::Nhwc, TensorType::Float16));
    scene.outputs.forward = other.outputs.forward;
    assert!(matches!(scene.on_gpu(&stream), Err(GroupError::Types { .. })));
}
