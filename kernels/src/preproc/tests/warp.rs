//! Warped regions: against a reference in f64 (with the tolerance of the other tests), against OpenCV, and against regions that
//! follow affine maps.

use super::regions::{INTERPOLATIONS, sampled};
use super::*;
use crate::geometry::Affine;
use crate::homography::{Homography, corners};

/// Turned, steep and flat; enlarging and shrinking; inside, partly and wholly outside of frames of 10 to 70 pixels.
const QUADRILATERALS: [[[f64; 2]; 4]; 7] = [
    [[1.3, 2.1], [9.4, 3.3], [8.8, 7.7], [0.7, 6.9]],
    [[-3.2, -4.7], [40.1, 2.2], [33.3, 30.4], [2.9, 22.2]],
    [[20.4, 10.1], [41.3, 10.6], [60.2, 50.9], [4.4, 31.8]],
    [[15.1, 1.2], [24.9, 13.7], [14.2, 22.6], [5.3, 12.4]],
    [[9.1, 7.3], [8.2, 8.1], [7.4, 7.2], [8.3, 6.3]],
    [[62.0, 60.0], [3.0, 55.0], [9.0, 2.0], [50.0, 8.0]],
    [[-100.3, 3.0], [-80.2, 4.0], [-81.9, 20.0], [-99.1, 22.0]],
];

fn maps(tensor: (usize, usize)) -> Vec<Homography> {
    QUADRILATERALS.iter().map(|points| Homography::between(&corners([tensor.0, tensor.1]), points)).collect()
}

fn warp(owned: &Owned, params: &PreprocParams, maps: &[Homography]) -> Vec<u8> {
    let mut regions = RegionPreproc::new(owned.format, params.clone()).unwrap();
    let mut tensor = vec![0xaa; maps.len() * regions.bytes()];
    regions.run(&owned.frame(), maps, &mut tensor).unwrap();
    tensor
}

/// The length of the step to the next tensor pixel on an axis, where it is longest: at one of the corners.
fn step(map: &Homography, (w, h): (usize, usize), axis: usize) -> f64 {
    let steps = corners([w, h]).map(|corner| {
        let mut next = corner;
        next[axis] += 1e-5;
        let ([x, y], [next_x, next_y]) = (map.point(corner), map.point(next));
        (next_x - x).hypot(next_y - y) / 1e-5
    });
    steps.into_iter().fold(0.0, f64::max)
}

/// One region in 0..255, `[C, H, W]`.
fn reference(owned: &Owned, params: &PreprocParams, map: &Homography) -> Vec<f64> {
    let counts = [0, 1].map(|axis| step(map, (params.width, params.height), axis).ceil().min(64.0));
    sampled(owned, params, |u, v| map.point([u, v]).into(), counts)
}

#[test]
fn every_format_and_interpolation_equals_the_reference_at_odd_sizes() {
    let mut seed = 0;
    for pixels in PixelFormat::ALL {
        for interpolation in INTERPOLATIONS {
            for (frame, tensor) in
                [((17, 9), (9, 17)), ((65, 33), (13, 11)), ((1, 1), (3, 2)), ((33, 64), (20, 1))]
            {
                seed += 1;
                let owned = Owned::noise(format(pixels, frame), seed as usize % 3 * 5, seed);
                let channels = [ChannelOrder::Rgb, ChannelOrder::Bgr, ChannelOrder::Gray][seed as usize % 3];
                let params = PreprocParams { interpolation, channels, ..plain(tensor) };
                let maps = maps(tensor);
                let got = floats(&warp(&owned, &params, &maps));
                let wanted = maps.iter().flat_map(|map| reference(&owned, &params, map));
                assert_eq!(got.len(), maps.len() * tensor.0 * tensor.1 * channels.channels());
                for (i, (a, b)) in got.iter().zip(wanted).enumerate() {
                    let close = (f64::from(*a) - b).abs() < TOLERANCE;
                    assert!(close, "element {i} is {a}, not {b}: {:?} {params:?}", owned.format);
                }
            }
        }
    }
}

/// OpenCV 5's `warpPerspective(image, getPerspectiveTransform(points, template), (7, 5), flags=INTER_LINEAR,
/// borderMode=BORDER_CONSTANT, borderValue=114)` of a float32 image of (37 x + 91 y) mod 256, rounded to 3 digits. It differs from
/// float64 by up to 1e-4.
#[test]
fn a_quadrilateral_partly_outside_the_frame_equals_opencvs() {
    #[rustfmt::skip]
    let wanted = [
        142.250, 223.094, 101.535, 152.222, 20.704, 67.253, 109.375,
        68.437, 87.229, 106.583, 126.525, 147.082, 155.949, 174.651,
        154.749, 210.341, 51.912, 137.509, 117.027, 60.851, 68.573,
        105.390, 80.544, 104.215, 128.624, 153.805, 179.796, 141.395,
        184.750, 195.208, 160.133, 95.174, 57.263, 62.985, 92.500,
    ];
    let mut owned = Owned::flat(format(PixelFormat::Gray8, (12, 9)), &[&[0]]);
    owned.format.range = Range::Full;
    for (i, v) in owned.planes[0].0.iter_mut().enumerate() {
        *v = (i % 12 * 37 + i / 12 * 91) as u8;
    }
    let params = PreprocParams { channels: ChannelOrder::Gray, ..plain((7, 5)) };
    let points = [[2.5, 1.25], [9.75, -0.5], [8.5, 6.0], [1.0, 7.25]];
    let template = [[0.0, 0.0], [6.0, 0.0], [6.0, 4.0], [0.0, 4.0]];
    let map = warped(&points, Some(&template), 1.0, [7, 5], [12, 9]).unwrap().unwrap();
    for (i, (a, b)) in floats(&warp(&owned, &params, &[map])).iter().zip(wanted).enumerate() {
        assert!((a - b).abs() < 1e-3, "element {i} is {a}, not {b}");
    }
}

/// Positions are cut to fixed point where an affine map's are rounded: weights differ in their last bits.
#[test]
fn parallelograms_equal_regions_of_their_affine_map() {
    let owned = Owned::noise(format(PixelFormat::Nv12, (65, 33)), 0, 9);
    let points = [[10.2, 3.1], [50.7, 9.4], [44.6, 30.2], [4.1, 23.9]];
    let tensor = [20, 9];
    let map = Homography::between(&corners(tensor), &points);
    for interpolation in INTERPOLATIONS {
        let params = PreprocParams { interpolation, ..plain((20, 9)) };
        let ours = floats(&warp(&owned, &params, &[map]));
        let mut regions = RegionPreproc::new(owned.format, params).unwrap();
        let mut theirs = vec![0; regions.bytes()];
        let affine: Affine = map.nearest_affine(tensor);
        regions.run(&owned.frame(), &[affine], &mut theirs).unwrap();
        for (a, b) in ours.iter().zip(floats(&theirs)) {
            assert!((a - b).abs() < 1e-3, "{a} {b} {interpolation:?}");
        }
    }
}

#[test]
fn a_batch_equals_its_regions_one_by_one_in_every_type_and_layout() {
    let owned = Owned::noise(format(PixelFormat::I420, (33, 27)), 2, 6);
    let all = maps((7, 5));
    for ty in TYPES {
        for layout in [Layout::Nchw, Layout::Nhwc] {
            let params = PreprocParams { ty, layout, quant_scale: 2.0, ..plain((7, 5)) };
            let mut regions = RegionPreproc::new(owned.format, params.clone()).unwrap();
            assert_eq!(regions.bytes(), 7 * 5 * 3 * ty.size());
            assert_eq!(regions.dims(), if layout == Layout::Nchw { [1, 3, 5, 7] } else { [1, 5, 7, 3] });
            let got = warp(&owned, &params, &all);
            for (map, got) in all.iter().zip(got.chunks(regions.bytes())) {
                let mut alone = vec![0x55; regions.bytes()];
                regions.run(&owned.frame(), &[*map], &mut alone).unwrap();
                assert!(alone == got, "{map:?}");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_without_a_panic() {
    let owned = Owned::noise(format(PixelFormat::Nv12, (16, 16)), 0, 1);
    let mut regions = RegionPreproc::new(owned.format, plain((8, 8))).unwrap();
    let bytes = regions.bytes();
    let good = maps((8, 8))[0];
    for given in [0, bytes, 2 * bytes + 1] {
        let wanted = PreprocError::Tensor { wanted: 2 * bytes, given };
        assert_eq!(regions.run(&owned.frame(), &[good; 2], &mut vec![0; given]).unwrap_err(), wanted);
    }
    // Not finite, and through the camera.
    for row in [[0.0, 0.0, f64::NAN], [-0.2, 0.0, 1.0]] {
        let mut bad = good;
        bad.rows[2] = row;
        let error = regions.run(&owned.frame(), &[good, bad], &mut vec![0; 2 * bytes]).unwrap_err();
        assert_eq!(error, PreprocError::Region(1));
    }
    let filter = PreprocParams { interpolation: Interpolation::PilBicubic, ..plain((8, 8)) };
    assert_eq!(RegionPreproc::new(owned.format, filter).unwrap_err(), PreprocError::RegionFilter);
}
