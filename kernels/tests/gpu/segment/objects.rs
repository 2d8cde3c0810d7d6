//! Masks of single objects.

use cudainfer_kernels::detect::Extent;
use cudainfer_kernels::device::DeviceTensor;
use cudainfer_kernels::geometry::{Affine, Rect};
use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::segment::{
    Activation, CudaInstanceMasks, CudaPrototypes, InstanceMasks, Instances, Region, Window,
};
use cudainfer_kernels::tensor::{TensorDesc, TensorType, TensorView};

use super::super::{Random, download, stream, upload};
use super::{bytes_of, dims_of};

#[test]
#[ignore = "needs a CUDA device"]
fn masks_of_objects_are_the_cpus_while_many_frames_are_under_way() {
    let stream = stream();
    let mut random = Random::new(9);
    for (dims, layout) in [([32, 40, 56], Layout::Nchw), ([7, 9, 17], Layout::Nhwc)] {
        for ty in [TensorType::Float32, TensorType::Float16] {
            let [m, h, w] = dims;
            let [h4, w4] = [4 * h, 4 * w].map(|n| n as f32);
            let shape = dims_of(dims, layout);
            let desc = TensorDesc::fixed("protos", ty, &shape);
            let data = bytes_of((0..m * h * w).map(|_| random.range(-1.0, 1.0)), ty);
            let memory = upload(&stream, &data);
            let mut gpu = CudaPrototypes::new(&desc, [4 * w, 4 * h], Some(layout), &stream).unwrap();
            let mut frames = Vec::new();
            for objects in [0, 1, 30, 300, 2, 1000, 5, 64, 0, 3] {
                let boxes: Vec<Rect> = (0..objects)
                    .map(|_| Rect {
                        x: random.range(-20.0, w4),
                        y: random.range(-20.0, h4),
                        w: random.range(-5.0, 60.0),
                        h: random.range(-5.0, 60.0),
                    })
                    .collect();
                let coefficients: Vec<f32> = (0..objects * m).map(|_| random.range(-1.0, 1.0)).collect();
                let mut regions: Vec<Region> = Vec::new();
                let bytes = gpu.plan().regions(&boxes, &mut regions);
                let mut wanted = vec![0; bytes];
                let view = TensorView::new("protos", ty, &shape, &data).unwrap();
                gpu.plan().run(&view, &coefficients, &regions, &mut wanted).unwrap();
                let out = stream.allocate(bytes).unwrap();
                let prototypes = DeviceTensor::new("protos", ty, &shape, memory.slice()).unwrap();
                gpu.run(&stream, &prototypes, &coefficients, &regions, out.slice()).unwrap();
                frames.push((out, wanted));
            }
            for (frame, (out, wanted)) in frames.iter().enumerate() {
                assert!(download(&stream, out.slice()) == *wanted, "{layout:?} {ty} frame {frame}");
            }
        }
    }
}

/// Frames of the masks of `plan`, whose tensor is `[1, n, h, w]` or, of boxes, `[n, 1, h, w]`, against those of the CPU.
fn check_instances(plan: &InstanceMasks, shape: &[usize], ty: TensorType, rows: u32, upsampled: [bool; 2]) {
    let stream = stream();
    let mut random = Random::new(10);
    let data = bytes_of((0..shape.iter().product()).map(|_| random.range(-1.0, 1.0)), ty);
    let memory = upload(&stream, &data);
    let mut gpu = CudaInstanceMasks::new(plan.clone(), &stream).unwrap();
    let frame = [301, 203];
    let rotated = Affine { scale: [1.2, 0.9], skew: [-0.3, 0.4], offset: [40.0, -12.0] };
    let mut frames = Vec::new();
    for to_frame in [Affine::upright([1.3, 0.9], [-7.0, 11.0]), rotated] {
        for upsample in upsampled {
            for objects in [0, 1, 30, 300, 2, 7, 5, 64, 0, 3] {
                let boxes: Vec<Rect> = (0..objects)
                    .map(|_| Rect {
                        x: random.range(-20.0, 300.0),
                        y: random.range(-20.0, 200.0),
                        w: random.range(-5.0, 60.0),
                        h: random.range(-5.0, 60.0),
                    })
                    .collect();
                let numbers: Vec<u32> = (0..objects).map(|i| (i * 7 + 1) % rows).collect();
                let count = boxes.len() * plan.coefficients();
                let coefficients: Vec<f32> = (0..count).map(|_| random.range(-1.0, 1.0)).collect();
                let mut windows: Vec<Window> = Vec::new();
                let bytes = if upsample {
                    let rows = if count > 0 { &[][..] } else { &numbers };
                    let objects = Instances { boxes: &boxes, rows, to_frame, frame };
                    plan.pixels(&objects, &mut windows).unwrap()
                } else {
                    plan.cells(&numbers, &mut windows)
                };
                let mut wanted = vec![0; bytes];
                let view = TensorView::new("values", ty, shape, &data).unwrap();
                plan.run(&view, &coefficients, &windows, &mut wanted).unwrap();
                let out = stream.allocate(bytes).unwrap();
                let values = DeviceTensor::new("values", ty, shape, memory.slice()).unwrap();
                gpu.run(&stream, &values, &coefficients, &windows, out.slice()).unwrap();
                frames.push((out, wanted));
            }
        }
    }
    for (i, (out, wanted)) in frames.iter().enumerate() {
        assert!(download(&stream, out.slice()) == *wanted, "{shape:?} {ty} frame {i}");
    }
    assert!(frames.iter().any(|(_, wanted)| wanted.contains(&1)));
}

#[test]
#[ignore = "needs a CUDA device"]
fn interpolated_masks_of_objects_are_the_cpus_while_many_frames_are_under_way() {
    for ty in [TensorType::Float32, TensorType::Float16] {
        for (dims, layout) in [([32, 40, 56], Layout::Nchw), ([7, 9, 17], Layout::Nhwc)] {
            let shape = dims_of(dims, layout);
            let desc = TensorDesc::fixed("values", ty, &shape);
            let input = [4 * dims[2], 4 * dims[1]];
            let plan = InstanceMasks::of_prototypes(&desc, input, Some(layout)).unwrap();
            check_instances(&plan, &shape, ty, u32::MAX, [true, true]);
        }
        for (shape, extent) in
            [([1, 11, 40, 56], Extent::Input), ([11, 1, 28, 28], Extent::Box), ([1, 11, 7, 13], Extent::Box)]
        {
            let desc = TensorDesc::fixed("values", ty, &shape);
            for (activation, threshold) in [(Activation::Sigmoid, 0.5), (Activation::None, 0.25)] {
                let plan = InstanceMasks::of_maps(&desc, [224, 160], extent, activation, threshold).unwrap();
                check_instances(&plan, &shape, ty, 11, [true, false]);
            }
        }
    }
}
