//! Masks of single objects.

use cudainfer_kernels::device::DeviceTensor;
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::segment::{CudaPrototypes, Region};
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
