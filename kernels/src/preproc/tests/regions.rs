//! Regions of interest: against a reference in f64 (with the tolerance of the other tests), against [`Preproc`], and exactly
//! where results are exact.

use super::reference::value;
use super::*;
use crate::geometry::Affine;

/// All but the filters, which cannot be turned.
pub(super) const INTERPOLATIONS: [Interpolation; 3] =
    [Interpolation::Bilinear, Interpolation::Nearest, Interpolation::Area];

fn turned(degrees: f64, scale: [f64; 2], offset: [f64; 2]) -> Affine {
    let (sin, cos) = degrees.to_radians().sin_cos();
    Affine { scale: [cos * scale[0], cos * scale[1]], skew: [-sin * scale[1], sin * scale[0]], offset }
}

/// Upright, turned, mirrored, sheared; enlarging and shrinking; inside, partly and wholly outside of frames of 10 to 70 pixels.
fn maps() -> Vec<Affine> {
    vec![
        Affine::upright([0.71, 0.83], [1.3, 2.1]),
        Affine::upright([2.37, 3.19], [-3.2, -4.7]),
        Affine::upright([-0.9, 1.1], [12.6, 0.4]),
        turned(31.7, [1.02, 0.93], [4.4, 1.2]),
        turned(-118.3, [0.41, 0.57], [9.1, 7.3]),
        turned(203.1, [5.3, 4.1], [31.2, 40.9]),
        Affine { scale: [0.3, -0.7], skew: [1.1, 0.2], offset: [2.2, 8.8] },
        Affine::upright([1.0, 1.0], [-100.3, 3.0]),
        turned(45.0, [1.0, 1.0], [5.0, 300.0]),
    ]
}

fn crop(owned: &Owned, params: &PreprocParams, maps: &[Affine]) -> Vec<u8> {
    let mut regions = RegionPreproc::new(owned.format, params.clone()).unwrap();
    let mut tensor = vec![0xaa; maps.len() * regions.bytes()];
    regions.run(&owned.frame(), maps, &mut tensor).unwrap();
    tensor
}

/// Pixel (x, y) or padding.
fn pixel(owned: &Owned, params: &PreprocParams, x: f64, y: f64) -> [f64; 3] {
    let FrameFormat { width, height, .. } = owned.format;
    if x < 0.0 || y < 0.0 || x >= width as f64 || y >= height as f64 {
        return [value(params.padding); 3];
    }
    owned.pixel(x as usize, y as usize, params.channels == ChannelOrder::Gray)
}

fn bilinear(owned: &Owned, params: &PreprocParams, (x, y): (f64, f64)) -> [f64; 3] {
    let (x, y) = (x - 0.5, y - 0.5);
    let mut sum = [0.0; 3];
    for (dx, dy) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
        let (px, py) = (x.floor() + dx, y.floor() + dy);
        let weight = (1.0 - (x - px).abs()) * (1.0 - (y - py).abs());
        let v = pixel(owned, params, px, py);
        (0..3).for_each(|c| sum[c] += weight * v[c]);
    }
    sum
}

/// One region in 0..255, `[C, H, W]`.
fn reference(owned: &Owned, params: &PreprocParams, map: &Affine) -> Vec<f64> {
    let Affine { scale, skew, offset } = map;
    let point =
        |u: f64, v: f64| (scale[0] * u + skew[0] * v + offset[0], skew[1] * u + scale[1] * v + offset[1]);
    sampled(owned, params, point, [scale[0].hypot(skew[1]).ceil(), skew[0].hypot(scale[1]).ceil()])
}

/// The same of any map, which `point` follows; with Area, a pixel is the mean of `n` columns and `m` rows of samples.
pub(super) fn sampled(
    owned: &Owned,
    params: &PreprocParams,
    point: impl Fn(f64, f64) -> (f64, f64),
    [n, m]: [f64; 2],
) -> Vec<f64> {
    let (w, h, channels) = (params.width, params.height, params.channels.channels());
    let mut out = vec![0.0; channels * w * h];
    for (j, i) in (0..h).flat_map(|j| (0..w).map(move |i| (j, i))) {
        let (u, v) = (i as f64, j as f64);
        let mut value = match params.interpolation {
            Interpolation::Nearest => {
                let (x, y) = point(u + 0.5, v + 0.5);
                pixel(owned, params, x.floor(), y.floor())
            }
            Interpolation::Bilinear => bilinear(owned, params, point(u + 0.5, v + 0.5)),
            Interpolation::Area => {
                let mut sum = [0.0; 3];
                for (k, l) in (0..m as usize).flat_map(|l| (0..n as usize).map(move |k| (k, l))) {
                    let at = point(u + (k as f64 + 0.5) / n, v + (l as f64 + 0.5) / m);
                    let sample = bilinear(owned, params, at);
                    (0..3).for_each(|c| sum[c] += sample[c] / (n * m));
                }
                sum
            }
            Interpolation::PilBilinear | Interpolation::PilBicubic => panic!("refused"),
        };
        if params.channels == ChannelOrder::Bgr {
            value.reverse();
        }
        for c in 0..channels {
            out[(c * h + j) * w + i] = value[c];
        }
    }
    out
}

#[test]
fn every_format_interpolation_and_order_equals_the_reference_at_odd_sizes() {
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
                let maps = maps();
                let got = floats(&crop(&owned, &params, &maps));
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

/// OpenCV 5's `warpAffine(image, m, (6, 5), flags=INTER_LINEAR | WARP_INVERSE_MAP, borderMode=BORDER_CONSTANT,
/// borderValue=114)` of a float32 image of (37 x + 91 y) mod 256, rounded to 3 digits. `m` leads from pixels' centres to
/// pixels' centres, that is, `m (i, j) = map (i + 0.5, j + 0.5) - (0.5, 0.5)`.
#[test]
fn a_turned_region_partly_outside_the_frame_equals_opencvs() {
    #[rustfmt::skip]
    let wanted = [
        114.0, 96.586, 133.448, 149.352, 75.304, 174.232,
        16.35, 115.278, 145.235, 84.61, 156.061, 199.562,
        107.828, 196.036, 38.964, 136.304, 68.683, 79.747,
        116.466, 39.256, 119.721, 174.006, 76.99, 118.751,
        114.0, 114.168, 200.479, 56.822, 110.49, 114.0,
    ];
    let mut owned = Owned::flat(format(PixelFormat::Gray8, (8, 6)), &[&[0]]);
    owned.format.range = Range::Full;
    for (i, v) in owned.planes[0].0.iter_mut().enumerate() {
        *v = (i % 8 * 37 + i / 8 * 91) as u8;
    }
    let params = PreprocParams { channels: ChannelOrder::Gray, ..plain((6, 5)) };
    let map = turned(0.5f64.to_degrees(), [1.3, 1.3], [1.25, -1.5]);
    for (i, (a, b)) in floats(&crop(&owned, &params, &[map])).iter().zip(wanted).enumerate() {
        assert!((a - b).abs() < 1e-3, "element {i} is {a}, not {b}");
    }
}

/// In enlarged regions, bilinear samples within half a pixel of the frame's edge mix with the padding; they are left out.
#[test]
fn the_whole_frame_as_a_region_equals_the_stretched_frame() {
    let shapes = [
        ((65, 33), (65, 33)),
        ((65, 33), (13, 11)),
        ((65, 33), (40, 21)),
        ((33, 18), (64, 65)),
        ((10, 10), (15, 15)),
        ((64, 36), (32, 18)),
    ];
    for pixels in PixelFormat::ALL {
        for interpolation in INTERPOLATIONS {
            for (frame, tensor) in shapes {
                let exact = frame.0 % tensor.0 == 0 && frame.1 % tensor.1 == 0;
                if interpolation == Interpolation::Area && !exact {
                    continue;
                }
                let owned = Owned::noise(format(pixels, frame), 0, 3);
                let params = PreprocParams { interpolation, resize: Resize::Stretch, ..plain(tensor) };
                let map = Preproc::new(owned.format, params.clone()).unwrap().affine();
                let (ours, theirs) = (floats(&crop(&owned, &params, &[map])), floats(&run(&owned, &params)));
                for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
                    let at = map.point((i % tensor.0) as f32 + 0.5, (i / tensor.0 % tensor.1) as f32 + 0.5);
                    let within = |v: f32, side: usize| v > 0.4999 && v < side as f32 - 0.4999;
                    if interpolation == Interpolation::Nearest
                        || within(at.0, frame.0) && within(at.1, frame.1)
                    {
                        assert!((a - b).abs() < 1e-3, "{i}: {a} {b} {:?} {params:?}", owned.format);
                    }
                }
            }
        }
    }
}

#[test]
fn quarter_turns_and_mirrors_equal_transposed_crops_exactly() {
    // Except for means, which are summed in another order.
    let equal = |a: f32, b: f32, exact: bool| if exact { a == b } else { (a - b).abs() < 1e-4 };
    let owned = Owned::noise(format(PixelFormat::Nv12, (65, 33)), 0, 9);
    let (w, h) = (12, 7);
    for interpolation in INTERPOLATIONS {
        for s in [0.75, 1.0, 2.5] {
            let (upright, lying) = (
                PreprocParams { interpolation, ..plain((w, h)) },
                PreprocParams { interpolation, ..plain((h, w)) },
            );
            let [x, y] = [2.25, -1.5];
            let plain = floats(&crop(&owned, &upright, &[Affine::upright([s, s], [x, y])]));
            // Tensor x goes down, tensor y to the left.
            let map = Affine { scale: [0.0, 0.0], skew: [-s, s], offset: [x + w as f64 * s, y] };
            let quarter = floats(&crop(&owned, &lying, &[map]));
            let mirror = Affine::upright([-s, s], [x + w as f64 * s, y]);
            let mirrored = floats(&crop(&owned, &upright, &[mirror]));
            for c in 0..3 {
                for (j, i) in (0..h).flat_map(|j| (0..w).map(move |i| (j, i))) {
                    let v = plain[(c * h + j) * w + i];
                    let exact = interpolation != Interpolation::Area || s <= 1.0;
                    for other in [quarter[(c * w + w - 1 - i) * h + j], mirrored[(c * h + j) * w + w - 1 - i]]
                    {
                        assert!(equal(v, other, exact), "{v} {other}: {c} {j} {i} {s} {interpolation:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_crop_at_scale_1_has_the_frames_own_pixels_and_padding_around() {
    let owned = Owned::noise(format(PixelFormat::Rgb, (20, 10)), 3, 4);
    for interpolation in INTERPOLATIONS {
        let params = PreprocParams {
            interpolation,
            ty: TensorType::UInt8,
            layout: Layout::Nhwc,
            padding: Padding::Pixel(0),
            ..plain((9, 8))
        };
        let (left, top) = (14, -3);
        let got = crop(&owned, &params, &[Affine::upright([1.0, 1.0], [f64::from(left), f64::from(top)])]);
        for (i, v) in got.chunks(3).enumerate() {
            let (x, y) = (left + i as i32 % 9, top + i as i32 / 9);
            let inside = (0..20).contains(&x) && (0..10).contains(&y);
            let at = (y.max(0) * 63 + 3 * x) as usize;
            assert_eq!(v, if inside { &owned.planes[0].0[at..at + 3] } else { &[0; 3] }, "{x} {y}");
        }
    }
}

/// SLEAP's crops begin at whole pixels, ours anywhere: points must come out the same, within 0.1 pixel.
#[test]
fn a_point_found_in_a_crop_of_a_fractional_centre_returns_to_where_it_is() {
    let (width, height) = (64, 48);
    let spot = (30.3, 20.8);
    let mut owned = Owned::flat(format(PixelFormat::Gray8, (width, height)), &[&[0]]);
    owned.format.range = Range::Full;
    for (i, v) in owned.planes[0].0.iter_mut().enumerate() {
        let (x, y) = ((i % width) as f64 + 0.5 - spot.0, (i / width) as f64 + 0.5 - spot.1);
        *v = (250.0 * (-(x * x + y * y) / 18.0).exp()).round() as u8;
    }
    let params =
        PreprocParams { channels: ChannelOrder::Gray, padding: Padding::Pixel(0), ..plain((32, 32)) };
    let rect = crate::geometry::Rect { x: 28.0, y: 17.0, w: 4.62, h: 5.3 };
    for angle in [0.0, 0.4, 2.0] {
        let map = region(rect, angle, 1.0, Fit::Fixed(32.0), [32, 32], [width, height]).unwrap();
        let got = floats(&crop(&owned, &params, &[map]));
        let (mut sum, mut x, mut y) = (0.0, 0.0, 0.0);
        for (i, v) in got.iter().enumerate() {
            sum += v;
            x += v * ((i % 32) as f32 + 0.5);
            y += v * ((i / 32) as f32 + 0.5);
        }
        let (x, y) = map.point(x / sum, y / sum);
        // The centroid of a spot rounded to bytes.
        assert!((x - 30.3).hypot(y - 20.8) < 0.02, "{x} {y} {angle}");
    }
}

#[test]
fn a_batch_equals_its_regions_one_by_one_in_every_type_and_layout() {
    let owned = Owned::noise(format(PixelFormat::I420, (33, 27)), 2, 6);
    let all: Vec<Affine> = (0..300)
        .map(|i| turned(f64::from(i) * 7.0, [0.8, 0.9], [f64::from(i % 40), f64::from(i % 23)]))
        .collect();
    for ty in TYPES {
        for layout in [Layout::Nchw, Layout::Nhwc] {
            let params = PreprocParams { ty, layout, quant_scale: 2.0, ..plain((7, 5)) };
            let mut regions = RegionPreproc::new(owned.format, params.clone()).unwrap();
            assert_eq!(regions.bytes(), 7 * 5 * 3 * ty.size());
            assert_eq!(regions.dims(), if layout == Layout::Nchw { [1, 3, 5, 7] } else { [1, 5, 7, 3] });
            for n in [0, 1, 7, 300] {
                let got = crop(&owned, &params, &all[..n]);
                for (map, got) in all.iter().zip(got.chunks(regions.bytes())) {
                    let mut alone = vec![0x55; regions.bytes()];
                    regions.run(&owned.frame(), &[*map], &mut alone).unwrap();
                    assert!(alone == got, "{map:?}");
                }
            }
        }
    }
}

/// Elements are written as for whole frames: the same crop in both ways, in every type and layout.
#[test]
fn elements_equal_those_of_whole_frames() {
    let owned = Owned::noise(format(PixelFormat::Bgra, (21, 13)), 0, 8);
    for ty in TYPES {
        for layout in [Layout::Nchw, Layout::Nhwc] {
            for channels in [ChannelOrder::Rgb, ChannelOrder::Bgr, ChannelOrder::Gray] {
                let params = PreprocParams {
                    ty,
                    layout,
                    channels,
                    resize: Resize::Stretch,
                    mean: [0.1, 0.2, 0.3],
                    std: [0.9, 1.1, -1.2],
                    quant_scale: 1.5,
                    zero_point: 3,
                    ..plain((21, 13))
                };
                assert!(crop(&owned, &params, &[Affine::IDENTITY]) == run(&owned, &params), "{params:?}");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_without_a_panic() {
    let owned = Owned::noise(format(PixelFormat::Nv12, (16, 16)), 0, 1);
    let mut regions = RegionPreproc::new(owned.format, plain((8, 8))).unwrap();
    let bytes = regions.bytes();
    let two = [Affine::IDENTITY; 2];
    for given in [0, bytes, 2 * bytes + 1] {
        let wanted = PreprocError::Tensor { wanted: 2 * bytes, given };
        assert_eq!(regions.run(&owned.frame(), &two, &mut vec![0; given]).unwrap_err(), wanted);
    }
    let bad = [two[0], Affine { offset: [f64::NAN, 0.0], ..two[0] }];
    let error = regions.run(&owned.frame(), &bad, &mut vec![0; 2 * bytes]).unwrap_err();
    assert_eq!(error, PreprocError::Region(1));
    assert!(error.to_string().starts_with("region 1's map to the frame is not finite"), "{error}");
    let other = Owned::noise(format(PixelFormat::Nv12, (16, 14)), 0, 1);
    let error = regions.run(&other.frame(), &two, &mut vec![0; 2 * bytes]).unwrap_err();
    assert!(matches!(error, PreprocError::Frame(_)), "{error}");
    assert!(RegionPreproc::new(owned.format, plain((0, 8))).is_err());
    for interpolation in [Interpolation::PilBilinear, Interpolation::PilBicubic] {
        let error =
            RegionPreproc::new(owned.format, PreprocParams { interpolation, ..plain((8, 8)) }).unwrap_err();
        assert_eq!(error, PreprocError::RegionFilter);
    }
    // The largest map that is allowed, and a map onto a single point.
    let huge = [Affine::upright([2e6, 2e6], [0.0, 0.0]), Affine::upright([0.0, 0.0], [3.5, 3.5])];
    for interpolation in INTERPOLATIONS {
        let mut regions =
            RegionPreproc::new(owned.format, PreprocParams { interpolation, ..plain((8, 8)) }).unwrap();
        regions.run(&owned.frame(), &huge, &mut vec![0; 2 * bytes]).unwrap();
    }
}
