//! The operation `maps`: samples and counts are the CPU's to the bit.

use cudainfer_kernels::device::{CudaStream, DevicePlane, DeviceTensor};
use cudainfer_kernels::geometry::Affine;
use cudainfer_kernels::maps::{
    CudaMapReader, CudaPicture, MapParams, MapReader, Picture, Place, Range, Region,
};
use cudainfer_kernels::preproc::{ChannelOrder, Layout};
use cudainfer_kernels::tensor::{TensorDesc, TensorType, TensorView};
use half::f16;

use super::{Random, download, stream, upload};

/// Mostly numbers from -1 to 2, now and then one that is not finite.
fn bytes(random: &mut Random, count: usize, ty: TensorType) -> Vec<u8> {
    let mut value = || match random.below(60) {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => f32::NEG_INFINITY,
        _ => random.range(-1.0, 2.0),
    };
    let values: Vec<f32> = (0..count).map(|_| value()).collect();
    match ty {
        TensorType::Float16 => values.iter().flat_map(|v| f16::from_f32(*v).to_ne_bytes()).collect(),
        TensorType::UInt8 => values.iter().map(|v| (100.0 * v.abs()) as u8).collect(),
        _ => values.iter().flat_map(|v| v.to_ne_bytes()).collect(),
    }
}

/// Runs both sides on the same numbers, of the region, with video in rows with padding.
fn same(stream: &CudaStream, output: &TensorDesc, params: MapParams, region: &Region, place: Option<&Place>) {
    let what = format!("{output} {params:?} {region:?} {place:?}");
    let dims: Vec<usize> = output.dims.iter().map(|d| d.unwrap()).collect();
    let count = dims.iter().product();
    let data = bytes(&mut Random::new(count as u64), count, output.ty);
    let cpu = MapReader::new(output, params).unwrap();
    let mut gpu = CudaMapReader::new(output, params, stream).unwrap();
    assert_eq!(cpu.size(), gpu.size());
    let [width, height] = place.map_or([0, 0], |place| place.size);
    let stride = width * if params.channels == 1 { 2 } else { 3 } + 5;
    let mut wanted = vec![0xee; stride * height];
    let (memory, room) = (upload(stream, &data), upload(stream, &wanted));
    let view = TensorView::new(&output.name, output.ty, &dims, &data).unwrap();
    let on_host = place.map(|place| Picture { place, out: &mut wanted, stride });
    let expected = cpu.run(&view, region, on_host).unwrap();
    let tensor = DeviceTensor::new(&output.name, output.ty, &dims, memory.slice()).unwrap();
    let on_device = place.map(|place| CudaPicture { place, out: DevicePlane::new(room.slice(), stride) });
    gpu.start(stream, &tensor, region, on_device).unwrap();
    let found = gpu.finish(stream).unwrap();
    assert_eq!(
        (found.min.to_bits(), found.max.to_bits()),
        (expected.min.to_bits(), expected.max.to_bits()),
        "{what}"
    );
    assert_eq!(
        [found.finite, found.non_finite, found.out_of_range],
        [expected.finite, expected.non_finite, expected.out_of_range],
        "{what}"
    );
    // The numbers are added in another order, in float64.
    assert!((found.sum - expected.sum).abs() <= 1e-12 * count as f64 * 255.0, "{what}");
    assert!(download(stream, room.slice()) == wanted, "{what}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn maps_become_the_cpus_samples_and_counts() {
    let stream = stream();
    for [width, height] in [[1, 1], [9, 17], [65, 33], [640, 480]] {
        let size = [width, height];
        // A letterbox with bars above and below, and a crop.
        let letterbox = Affine::upright([1.7, 1.7], [0.0, -0.2 * height as f64]);
        let crop = Affine::upright([0.4, 0.7], [3.25, 1.5]);
        for ty in [TensorType::Float32, TensorType::Float16, TensorType::UInt8] {
            let output = TensorDesc::fixed("map", ty, &[1, height, width]);
            for range in [Range::Frame, Range::Fixed(-0.5, 1.25)] {
                let params = MapParams { range, ..MapParams::default() };
                for (to_frame, frame) in [(Affine::IDENTITY, size), (letterbox, [41, 23]), (crop, [33, 9])] {
                    let region = Region::inside(size, size, &to_frame, frame).unwrap();
                    let of_frame = Place::of_frame(size, size, &to_frame, frame).unwrap();
                    let of_cells = Place::of_cells(size, region);
                    for place in [None, Some(&of_frame), Some(&of_cells)] {
                        same(&stream, &output, params, &region, place);
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn pictures_become_the_cpus_samples_and_counts() {
    let stream = stream();
    let size = [37, 19];
    let region = Region { first: [0, 0], size };
    let of_frame =
        Place::of_frame(size, [74, 38], &Affine::upright([0.75, 0.75], [0.0, 0.0]), [55, 28]).unwrap();
    for ty in [TensorType::Float32, TensorType::Float16, TensorType::UInt8] {
        for (dims, layout) in [([1, 3, 19, 37], Layout::Nchw), ([1, 19, 37, 3], Layout::Nhwc)] {
            for order in [ChannelOrder::Rgb, ChannelOrder::Bgr] {
                let params = MapParams {
                    layout: Some(layout),
                    channels: 3,
                    range: Range::Fixed(0.0, 1.0),
                    mean: [0.485, 0.456, 0.406],
                    std: [0.229, 0.224, 0.225],
                    order,
                };
                let output = TensorDesc::fixed("picture", ty, &dims);
                for place in [&of_frame, &Place::of_cells(size, region)] {
                    same(&stream, &output, params, &region, Some(place));
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_frame_is_two_launches_and_one_more_for_video_without_allocation_and_with_one_wait() {
    let stream = stream();
    let size = [64, 48];
    let output = TensorDesc::fixed("map", TensorType::Float32, &[1, 48, 64]);
    let mut gpu = CudaMapReader::new(&output, MapParams::default(), &stream).unwrap();
    let memory = upload(&stream, &vec![0; 4 * 64 * 48]);
    let room = upload(&stream, &vec![0; 2 * 64 * 48]);
    let region = Region { first: [0, 0], size };
    let place = Place::of_cells(size, region);
    let counters = stream.counters();
    let counts = || [counters.launches.get(), counters.allocations.get(), counters.host_waits.get()];
    for video in [false, true] {
        let before = counts();
        let tensor = DeviceTensor::new("map", output.ty, &[1, 48, 64], memory.slice()).unwrap();
        let picture = CudaPicture { place: &place, out: DevicePlane::new(room.slice(), 128) };
        gpu.start(&stream, &tensor, &region, video.then_some(picture)).unwrap();
        assert_eq!(gpu.finish(&stream).unwrap().finite, 64 * 48);
        assert_eq!(counts(), [before[0] + 2 + u64::from(video), before[1], before[2] + 1]);
    }
}
