//! The operation `preproc`, warped regions: equal to the CPU twin bit by bit, which the crate's own tests compare with a reference
//! in f64 and with OpenCV.

use cudainfer_kernels::device::{CudaStream, DeviceFrame, DevicePlane};
use cudainfer_kernels::frame::PixelFormat;
use cudainfer_kernels::homography::{Homography, corners};
use cudainfer_kernels::preproc::{CudaWarpPreproc, Layout, PreprocError, PreprocParams, warped};
use cudainfer_kernels::tensor::TensorType;

use super::preproc::reference::Owned;
use super::regions::{INTERPOLATIONS, ORDERS, POISON, TYPES, assert_equals_cpu, format, padding, planes};
use super::{Random, download, stream, upload};

/// Corners around any point in and around the frame, from steep to flat, turned by any angle.
fn map(random: &mut Random, (width, height): (usize, usize), size: (usize, usize)) -> Homography {
    let tensor = [size.0, size.1];
    loop {
        let center = [width, height].map(|side| f64::from(random.range(-10.0, 10.0 + side as f32)));
        let turn = f64::from(random.range(-4.0, 4.0));
        let points = [0, 1, 2, 3].map(|corner| {
            let (sin, cos) = (turn + std::f64::consts::FRAC_PI_2 * f64::from(corner)).sin_cos();
            let radius = f64::from(random.range(1.0, 2.0 * tensor[0].max(tensor[1]) as f32));
            [center[0] + radius * cos, center[1] + radius * sin]
        });
        let padding = f64::from(random.range(0.5, 1.5));
        // Frames far larger than regions, so that all are seen.
        if let Ok(Some(map)) = warped(&points, None, padding, tensor, [1 << 20, 1 << 20]) {
            return map;
        }
    }
}

#[track_caller]
fn assert_equals_twin(
    stream: &CudaStream,
    owned: &Owned,
    params: &PreprocParams,
    maps: &[Homography],
    shift: usize,
) {
    assert_equals_cpu::<Homography, 48>(stream, owned, params, maps, shift);
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_format_type_and_interpolation_equals_the_twin_at_odd_sizes_strides_and_addresses() {
    let stream = stream();
    let mut random = Random::new(15);
    let mut seed = 0;
    for pixels in PixelFormat::ALL {
        for interpolation in INTERPOLATIONS {
            for ty in TYPES {
                for layout in [Layout::Nchw, Layout::Nhwc] {
                    for (frame, tensor) in [((65, 33), (13, 11)), ((17, 9), (16, 20)), ((1, 1), (3, 2))] {
                        seed += 1;
                        let params = PreprocParams {
                            width: tensor.0,
                            height: tensor.1,
                            interpolation,
                            ty,
                            layout,
                            channels: ORDERS[seed as usize % 3],
                            mean: [0.4, -0.5, 0.6],
                            std: [0.2, 0.3, -0.25],
                            quant_scale: 0.02,
                            zero_point: if ty == TensorType::UInt8 { 100 } else { -3 },
                            padding: padding(pixels, &mut random),
                            ..PreprocParams::default()
                        };
                        let maps: Vec<Homography> =
                            (0..1 + random.below(5)).map(|_| map(&mut random, frame, tensor)).collect();
                        let owned = Owned::noise(format(pixels, frame, seed), seed as usize % 4 * 5, seed);
                        assert_equals_twin(&stream, &owned, &params, &maps, seed as usize % 5);
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn large_frames_and_steep_perspective_equal_the_twin() {
    let stream = stream();
    let mut random = Random::new(16);
    for (i, pixels) in PixelFormat::ALL.into_iter().enumerate() {
        for (frame, tensor) in [((1281, 721), (224, 223)), ((16_384, 40), (161, 97))] {
            let params = PreprocParams {
                width: tensor.0,
                height: tensor.1,
                interpolation: INTERPOLATIONS[i % 3],
                ty: TYPES[i % 5],
                ..PreprocParams::default()
            };
            let mut maps: Vec<Homography> = (0..3).map(|_| map(&mut random, frame, tensor)).collect();
            // A road to the horizon. w' is 0 not far from the tensor's right side, where threads have pixels that are not stored.
            let [w, h] = [frame.0 as f64, frame.1 as f64];
            let steep = [[1.0, h * 0.5], [w, 0.0], [w, h], [1.0, h * 0.5 + 0.25]];
            maps.push(Homography::between(&corners([tensor.0, tensor.1]), &steep));
            let owned = Owned::noise(format(pixels, frame, i as u64), 0, i as u64);
            assert_equals_twin(&stream, &owned, &params, &maps, 0);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn any_number_of_regions_is_made_in_a_launch_for_each_48() {
    let stream = stream();
    let mut random = Random::new(17);
    let params = PreprocParams { width: 20, height: 7, ty: TensorType::Float16, ..PreprocParams::default() };
    let owned = Owned::noise(format(PixelFormat::Nv12, (320, 180), 2), 0, 1);
    let maps: Vec<Homography> = (0..300).map(|_| map(&mut random, (320, 180), (20, 7))).collect();
    for (n, launches) in [(0, 0), (1, 1), (7, 1), (48, 1), (49, 2), (300, 7)] {
        let before = stream.counters().launches.get();
        assert_equals_twin(&stream, &owned, &params, &maps[..n], 0);
        assert_eq!(stream.counters().launches.get(), before + launches, "{n}");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_map_that_reaches_the_camera_is_refused_and_nothing_enqueued() {
    let stream = stream();
    let owned = Owned::noise(format(PixelFormat::Gray8, (16, 16), 2), 0, 1);
    let params = PreprocParams { width: 8, height: 8, ..PreprocParams::default() };
    let regions = CudaWarpPreproc::new(owned.format, params, &stream).unwrap();
    let memories = planes(&stream, &owned, 0);
    let frame = DeviceFrame::new(&owned.format, &[DevicePlane::new(memories[0].slice(), 16)]).unwrap();
    let tensor = upload(&stream, &vec![POISON; 2 * regions.bytes()]);
    let good = Homography { rows: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] };
    let mut bad = good;
    bad.rows[2] = [-0.2, 0.0, 1.0];
    let error = regions.run(&stream, &frame, &[good, bad], tensor.slice()).unwrap_err();
    assert_eq!(error, PreprocError::Region(1));
    assert!(download(&stream, tensor.slice()).iter().all(|byte| *byte == POISON));
}
