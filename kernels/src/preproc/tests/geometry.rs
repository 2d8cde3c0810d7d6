//! Placement and the map back to the frame.

use proptest::prelude::*;

use super::*;
use crate::geometry::{Affine, Rect};

fn prepared(frame: (usize, usize), params: PreprocParams) -> Preproc {
    Preproc::new(format(PixelFormat::Gray8, frame), params).unwrap()
}

#[test]
fn pal_into_a_square_leaves_bars_of_52_rows() {
    let map = prepared((768, 576), plain((416, 416))).affine();
    let s = 768.0 / 416.0;
    assert_eq!((map.scale, map.offset), ([s, s], [0.0, -52.0 * s]));
}

#[test]
fn an_odd_bar_is_thinner_on_top_and_halves_are_rounded_to_even() {
    // 640 / 1280 of 721 rows are 360.5, so 360; of 719 are 359.5, so 360; of 718 are 359, leaving bars of 140 and 141.
    for (rows, resized, top) in [(721, 360.0, 140.0), (719, 360.0, 140.0), (718, 359.0, 140.0)] {
        let map = prepared((1280, rows), plain((640, 640))).affine();
        let s = rows as f64 / resized;
        assert_eq!((map.scale[1], map.offset[1]), (s, -top * s));
    }
}

#[test]
fn a_centre_crop_cuts_both_sides() {
    let crop = PreprocParams { resize: Resize::CenterCrop, ..plain((224, 224)) };
    let map = prepared((1920, 1080), crop).affine();
    // Resized to 398x224 (398.2), of which 87 columns are cut on either side.
    let s = 1920.0 / 398.0;
    assert_eq!((map.scale, map.offset), ([s, 1080.0 / 224.0], [87.0 * s, 0.0]));
}

/// timm's floor(224 / 0.875), and torchvision's weights of ResNet-50 resize to 232.
#[test]
fn a_crop_ratio_resizes_beyond_the_tensor_first() {
    for (ratio, size) in
        [(0.875, 256), (0.9, 248), (0.95, 235), (224.0 / 232.0, 232), (0.9655, 232), (0.96552, 232)]
    {
        let crop = PreprocParams { resize: Resize::CenterCrop, crop_ratio: ratio, ..plain((224, 224)) };
        let map = prepared((500, 375), crop).affine();
        // The longer side is truncated; of an odd rest the half is rounded to even.
        let long = size * 500 / 375;
        let (x, y) = (f64::from(long - 224) / 2.0, f64::from(size - 224) / 2.0);
        let scale = [500.0 / f64::from(long), 375.0 / f64::from(size)];
        assert_eq!(map.scale, scale, "{ratio}");
        assert_eq!(map.offset, [x.round_ties_even() * scale[0], y.round_ties_even() * scale[1]], "{ratio}");
    }
}

/// YOLOX's preproc of 1280x853 for 640x640: int(853 * 0.5) rows.
#[test]
fn a_letterbox_at_the_top_left_begins_with_the_frame_and_is_truncated() {
    let params = PreprocParams { resize: Resize::LetterboxTopLeft, ..plain((640, 640)) };
    let map = prepared((1280, 853), params).affine();
    assert_eq!((map.scale, map.offset), ([2.0, 853.0 / 426.0], [0.0, 0.0]));
}

#[test]
fn bars_hold_the_padding_and_nothing_else_does() {
    let owned = Owned::flat(format(PixelFormat::Rgb, (8, 4)), &[&[200]]);
    for (tensor, inside) in [((8, 9), (0..8, 2..6)), ((19, 4), (5..13, 0..4))] {
        let params =
            PreprocParams { padding: Padding::Pixel(7), scale: 2.0, mean: [1.0, 2.0, 3.0], ..plain(tensor) };
        let got = floats(&run(&owned, &params));
        for (i, v) in got.into_iter().enumerate() {
            let (x, y, c) = (i % tensor.0, i / tensor.0 % tensor.1, i / tensor.0 / tensor.1);
            let pixel = if inside.0.contains(&x) && inside.1.contains(&y) { 200.0 } else { 7.0 };
            assert_eq!(v, pixel * 2.0 - (c + 1) as f32, "x {x} y {y} channel {c}");
        }
    }
}

/// What a tensor holds with the mean as padding: of each channel what it holds where all channels' padding is that channel's mean.
#[test]
fn the_mean_as_padding_is_that_of_each_channel_and_normalises_to_0() {
    let mean = [90.0, 7.0, 200.0];
    let map = Affine { scale: [1.5, 1.25], skew: [0.5, -0.75], offset: [-3.0, -2.5] };
    for pixels in PixelFormat::ALL {
        for channels in [ChannelOrder::Rgb, ChannelOrder::Bgr, ChannelOrder::Gray] {
            for interpolation in INTERPOLATIONS {
                let owned = Owned::noise(format(pixels, (13, 6)), 3, 5);
                let params = PreprocParams { mean, channels, interpolation, ..plain((11, 12)) };
                let of = |padding| {
                    let params = PreprocParams { padding, ..params.clone() };
                    let mut all = vec![floats(&run(&owned, &params))];
                    if !reference::is_filter(interpolation) {
                        let mut regions = RegionPreproc::new(owned.format, params).unwrap();
                        let mut tensor = vec![0; regions.bytes()];
                        regions.run(&owned.frame(), &[map], &mut tensor).unwrap();
                        all.push(floats(&tensor));
                    }
                    all
                };
                let got = of(Padding::Mean);
                for (c, mean) in mean.iter().enumerate().take(channels.channels()) {
                    let wanted = of(Padding::Pixel(*mean as u8));
                    for (got, wanted) in got.iter().zip(&wanted) {
                        let channel = 11 * 12 * c..11 * 12 * (c + 1);
                        assert!(wanted[channel.clone()].contains(&0.0), "{pixels:?} has no padding");
                        assert_eq!(
                            got[channel.clone()],
                            wanted[channel],
                            "{pixels:?} {params:?} channel {c}"
                        );
                    }
                }
            }
        }
    }
}

/// SAM's mean and deviation: its bars are 0 after normalising.
#[test]
fn bars_of_the_mean_are_zero_to_the_rounding_of_float32() {
    let owned = Owned::flat(format(PixelFormat::Rgb, (8, 4)), &[&[200]]);
    let (mean, std) = ([123.675, 116.28, 103.53], [58.395, 57.12, 57.375]);
    for (ty, zero_point) in [(TensorType::Float32, 0), (TensorType::UInt8, 100)] {
        let params = PreprocParams {
            padding: Padding::Mean,
            mean,
            std,
            ty,
            zero_point,
            quant_scale: 0.02,
            ..plain((8, 9))
        };
        let tensor = run(&owned, &params);
        for row in [0, 1, 6, 7, 8] {
            for i in (0..3).flat_map(|c| (0..8).map(move |x| (c * 9 + row) * 8 + x)) {
                if ty == TensorType::UInt8 {
                    assert_eq!(tensor[i], 100);
                } else {
                    assert!(floats(&tensor)[i].abs() < 1e-6, "{}", floats(&tensor)[i]);
                }
            }
        }
    }
}

fn side() -> impl Strategy<Value = usize> {
    prop_oneof![1..40usize, 1..3000usize]
}

proptest! {
    #[test]
    fn the_map_puts_the_tensor_where_the_resize_says(
        frame in (side(), side()), tensor in (side(), side()), resize in prop::sample::select(&RESIZES[..]),
    ) {
        let params = PreprocParams { resize, ..plain(tensor) };
        let (source, nearest) = (format(PixelFormat::Gray8, frame), PreprocParams {
            interpolation: Interpolation::Nearest, ..params
        });
        let map = placement::Placement::new(&source, &nearest).affine();
        for (frame, tensor, scale, offset) in [
            (frame.0 as f64, tensor.0 as f64, map.scale[0], map.offset[0]),
            (frame.1 as f64, tensor.1 as f64, map.scale[1], map.offset[1]),
        ] {
            let (begin, end) = (offset, scale * tensor + offset);
            let slack = 1e-9 * (frame + end.abs());
            match resize {
                Resize::Stretch => prop_assert!(begin == 0.0 && (end - frame).abs() <= slack),
                // The frame lies inside the tensor, centred to a tensor pixel.
                Resize::Letterbox => {
                    prop_assert!(begin <= slack && end >= frame - slack);
                    prop_assert!(((end - frame) + begin).abs() <= scale + slack);
                }
                // The frame begins where the tensor does.
                Resize::LetterboxTopLeft => prop_assert!(begin == 0.0 && end >= frame - slack),
                // A pixel stays a pixel.
                Resize::Pad => prop_assert!(begin == 0.0 && scale == 1.0),
                // The tensor lies inside the frame, centred to a tensor pixel.
                Resize::CenterCrop => {
                    prop_assert!(begin >= -slack && end <= frame + slack);
                    prop_assert!(((frame - end) - begin).abs() <= scale + slack);
                }
            }
        }
        if resize != Resize::Stretch {
            // One scale for both axes, but for the rounding of one of them to a whole pixel.
            let resized = [frame.0 as f64 / map.scale[0], frame.1 as f64 / map.scale[1]];
            let exact = resized[0] * frame.1 as f64 / frame.0 as f64;
            let other = resized[1] * frame.0 as f64 / frame.1 as f64;
            // Sides are rounded to the nearest pixel, or down.
            let nearest = resize == Resize::Letterbox || resize == Resize::CenterCrop && tensor.0 != tensor.1;
            let most = if nearest { 0.5 } else { 1.0 } + 1e-6;
            let ok = (exact - resized[1]).abs() <= most || (other - resized[0]).abs() <= most
                || resized.iter().any(|r| (r - 1.0).abs() < 1e-6);
            prop_assert!(ok, "{resized:?}");
        }
    }

    #[test]
    fn a_box_survives_the_way_to_the_frame_and_back(
        frame in (side(), side()), tensor in (side(), side()), resize in prop::sample::select(&RESIZES[..]),
        at in (0.0..1.0f32, 0.0..1.0f32, 0.0..1.0f32, 0.0..1.0f32),
    ) {
        let params = PreprocParams { resize, ..plain(tensor) };
        let map = placement::Placement::new(&format(PixelFormat::Gray8, frame), &params).affine();
        let (w, h) = (tensor.0 as f32, tensor.1 as f32);
        let there = map.rect(&Rect { x: at.0 * w, y: at.1 * h, w: at.2 * w, h: at.3 * h });
        let back = |v: f32, axis: usize| (f64::from(v) - map.offset[axis]) / map.scale[axis];
        let pairs = [
            (back(there.x, 0), at.0 * w, w),
            (back(there.y, 1), at.1 * h, h),
            (back(there.right(), 0), (at.0 + at.2) * w, w),
            (back(there.bottom(), 1), (at.1 + at.3) * h, h),
        ];
        for (got, wanted, extent) in pairs {
            // Boxes are float32: a few units in the last place of the tensor's extent (a crop's offset can be larger).
            let offset = (map.offset[0] / map.scale[0]).abs().max((map.offset[1] / map.scale[1]).abs());
            let slack = 1e-6 * (f64::from(extent) + offset) + 1e-6;
            prop_assert!((got - f64::from(wanted)).abs() <= slack, "{got} {wanted}");
        }
    }

    #[test]
    fn random_shapes_equal_the_reference(
        frame in (1..48usize, 1..48usize), tensor in (1..48usize, 1..48usize),
        resize in prop::sample::select(&RESIZES[..]), crop_ratio in prop_oneof![Just(1.0), 0.3..1.0f64],
        interpolation in prop::sample::select(&INTERPOLATIONS[..]),
        pixels in prop::sample::select(&PixelFormat::ALL[..]), seed: u64,
    ) {
        let owned = Owned::noise(format(pixels, frame), 0, seed);
        assert_equals_reference(&owned, &PreprocParams { resize, crop_ratio, interpolation, ..plain(tensor) });
    }
}
