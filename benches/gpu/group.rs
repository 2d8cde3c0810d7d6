//! The operation `group`: a search for peaks and the scores of all lines between them, up to the event after both; one row
//! measures everything, up to the instances on the host. Maps are those of peaks.rs, 2 to 5 peaks a channel, with as many
//! fields of noise as edges, half as wide and high. The bytes are the maps', read once; of the fields, little is read.

use cudainfer_kernels::device::{CudaStream, DeviceTensor, Memory};
use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::group::{CudaPafGrouper, PafConvention, PafParams};
use cudainfer_kernels::peaks::{Grid, PeakParams, Refinement};
use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use super::measure::{measure, row};
use super::peaks::{BEYOND_CACHE, blobs, upload};

pub fn run(stream: &CudaStream) {
    for (name, convention, frames, points, noise) in [
        ("peaks + PAF lines 2x192x192, 1 edge", PafConvention::Sleap, 1, 2, 0.1),
        ("peaks + PAF lines 13x192x192, 12 edges", PafConvention::Sleap, 1, 13, 0.1),
        ("peaks + PAF lines 13x192x192, 12 edges, OpenPose", PafConvention::OpenPose, 1, 13, 0.1),
        ("peaks + PAF lines 16x13x192x192, 12 edges", PafConvention::Sleap, 16, 13, 0.1),
        // Some 50 000 peaks, of which 100 a channel are kept.
        ("peaks + PAF lines 13x192x192, 12 edges, noise", PafConvention::Sleap, 1, 13, 1.0),
    ] {
        let edges: Vec<[usize; 2]> = (1..points).map(|point| [(point - 1) / 2, point]).collect();
        let (dims, of_fields) = ([points, 192, 192], [2 * edges.len(), 96, 96]);
        let bytes = 4 * frames * (dims.iter().product::<usize>() + of_fields.iter().product::<usize>());
        let frame = |seed: u64, noise: f32, dims: [usize; 3]| -> Vec<u8> {
            let seeds = seed * frames as u64..(seed + 1) * frames as u64;
            seeds.flat_map(|seed| blobs(seed, noise, dims, Layout::Nchw, TensorType::Float32)).collect()
        };
        let outputs: Vec<[Memory; 2]> = (0..BEYOND_CACHE.div_ceil(bytes).min(200) as u64)
            .map(|seed| {
                [frame(seed, noise, dims), frame(seed, 0.5, of_fields)].map(|data| upload(stream, &data))
            })
            .collect();
        let params = PeakParams {
            refinement: Refinement::Integral,
            layout: Some(Layout::Nchw),
            grid: Some(Grid::Strided),
            ..PeakParams::default()
        };
        let paf = PafParams {
            min_line_score: -1.0,
            min_share: -1.0,
            min_points: 0,
            min_score: -10.0,
            ..PafParams::new(convention, points, &edges)
        };
        let desc = |name, [c, h, w]: [usize; 3]| TensorDesc::fixed(name, TensorType::Float32, &[1, c, h, w]);
        let (maps, fields) = (desc("maps", dims), desc("pafs", of_fields));
        let mut grouper = CudaPafGrouper::new(&maps, &fields, [384; 2], params, &paf, stream).unwrap();
        let to_frame = vec![Affine::IDENTITY; frames];
        let goal = if frames == 1 && noise < 1.0 { Some(60.0) } else { None };
        let tensors = |i: usize| {
            let tensor = |name, [c, h, w]: [usize; 3], at: usize| {
                let memory = outputs[i % outputs.len()][at].slice();
                DeviceTensor::new(name, TensorType::Float32, &[frames, c, h, w], memory).unwrap()
            };
            [tensor("maps", dims, 0), tensor("pafs", of_fields, 1)]
        };
        // The first batches find out how much room their peaks take.
        let mut poses = Vec::new();
        for i in 0..outputs.len() {
            let [maps, fields] = tensors(i);
            grouper.run(stream, &maps, &fields, &to_frame, &mut poses).unwrap();
        }
        let of_maps = frames * 4 * dims.iter().product::<usize>();
        let times = measure(stream, |i| {
            let [maps, fields] = tensors(i);
            grouper.start(stream, &maps, &fields, &to_frame).unwrap();
        });
        row(name, &times, of_maps, 1.0, goal);
        grouper.finish(stream, &mut poses).unwrap();
        if points == 2 {
            // As in tools/cudainfer_tools/bench/gpu/peers: until the instances are on the host.
            let times = measure(stream, |i| {
                let waits = stream.counters().host_waits.get();
                let [maps, fields] = tensors(i);
                grouper.run(stream, &maps, &fields, &to_frame, &mut poses).unwrap();
                assert_eq!(stream.counters().host_waits.get() - waits, 1, "the host waits once");
            });
            row("peaks + integral + grouping 384x384 bottom-up", &times, of_maps, 1.0, goal);
        }
        assert!(poses.iter().all(|poses| !poses.is_empty()), "{name}: a frame without instances");
    }
}
