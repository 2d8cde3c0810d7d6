//! Parameters that are refused, and those that only look dangerous.

use super::*;

fn error(source: FrameFormat, params: PreprocParams) -> PreprocError {
    Preproc::new(source, params).unwrap_err()
}

#[test]
fn impossible_parameters_are_refused_with_their_name() {
    let source = format(PixelFormat::Nv12, (16, 16));
    let good = plain((8, 8));
    assert_eq!(
        error(source, PreprocParams { width: 0, ..good.clone() }),
        PreprocError::Empty("tensor width")
    );
    assert_eq!(
        error(source, PreprocParams { height: 0, ..good.clone() }),
        PreprocError::Empty("tensor height")
    );
    assert_eq!(error(FrameFormat { width: 0, ..source }, good.clone()), PreprocError::Empty("frame width"));
    assert_eq!(error(FrameFormat { height: 0, ..source }, good.clone()), PreprocError::Empty("frame height"));
    for pixels in [MAX_SIDE + 1, usize::MAX] {
        assert!(matches!(
            error(source, PreprocParams { width: pixels, ..good.clone() }),
            PreprocError::TooLarge { .. }
        ));
        let wide = FrameFormat { height: pixels, ..source };
        assert!(matches!(error(wide, good.clone()), PreprocError::TooLarge { what: "frame height", .. }));
    }
    for bad in [0.0, f32::NAN, f32::INFINITY] {
        let named = |params: PreprocParams| match error(source, params) {
            PreprocError::Factor { name, .. } => name,
            other => panic!("{other}"),
        };
        assert_eq!(named(PreprocParams { scale: bad, ..good.clone() }), "scale");
        assert_eq!(named(PreprocParams { std: [1.0, bad, 1.0], ..good.clone() }), "std");
        let int8 = PreprocParams { ty: TensorType::Int8, quant_scale: bad, ..good.clone() };
        assert_eq!(named(int8), "quant_scale");
        // A float tensor does not use it, so it may be anything.
        assert!(Preproc::new(source, PreprocParams { quant_scale: bad, ..good.clone() }).is_ok());
    }
    for bad in [0.0, -1.0, 0.09, 1.01, f64::NAN] {
        let message = error(source, PreprocParams { crop_ratio: bad, ..good.clone() }).to_string();
        assert!(message.starts_with("crop-ratio is ") && message.contains("give 0.1 to 1"), "{message}");
    }
    let flat = FrameFormat { width: MAX_SIDE, height: 1, ..source };
    let huge = PreprocParams { resize: Resize::CenterCrop, crop_ratio: 0.1, ..plain((MAX_SIDE, MAX_SIDE)) };
    assert!(matches!(error(flat, huge), PreprocError::Enlarged(_)));
    let mean = PreprocParams { mean: [0.0, 0.0, f32::NAN], ..good.clone() };
    assert!(matches!(error(source, mean), PreprocError::Mean(_)));
    let huge = PreprocParams { scale: f32::MAX, std: [f32::MIN_POSITIVE; 3], ..good.clone() };
    assert_eq!(error(source, huge), PreprocError::Combination(0));
    let ty = TensorType::Int64;
    assert_eq!(error(source, PreprocParams { ty, ..good.clone() }), PreprocError::Type(ty));
    for (ty, zero_point) in [(TensorType::UInt8, -1), (TensorType::UInt8, 256), (TensorType::Int8, 128)] {
        let params = PreprocParams { ty, zero_point, ..good.clone() };
        assert!(matches!(error(source, params), PreprocError::ZeroPoint { .. }));
    }
}

#[test]
fn tensors_and_frames_that_do_not_fit_are_refused_without_a_panic() {
    let source = format(PixelFormat::Nv12, (16, 16));
    let mut preproc = Preproc::new(source, plain((8, 8))).unwrap();
    let owned = Owned::noise(source, 0, 1);
    let bytes = preproc.bytes();
    for given in [0, bytes - 1, bytes + 1] {
        let wanted = PreprocError::Tensor { wanted: bytes, given };
        assert_eq!(preproc.run(&owned.frame(), &mut vec![0; given]).unwrap_err(), wanted);
    }
    for other in
        [(PixelFormat::Nv12, (16, 14)), (PixelFormat::Gray8, (16, 16)), (PixelFormat::I420, (16, 16))]
    {
        let other = Owned::noise(format(other.0, other.1), 0, 1);
        let result = preproc.run(&other.frame(), &mut vec![0; bytes]);
        assert!(matches!(result, Err(PreprocError::Frame(_))), "{:?}", other.format);
    }
    assert!(preproc.run(&owned.frame(), &mut vec![0; bytes]).is_ok());
}

#[test]
fn the_longest_sides_work() {
    for (frame, tensor) in [((MAX_SIDE, 1), (1, MAX_SIDE)), ((1, MAX_SIDE), (MAX_SIDE, 1))] {
        let owned = Owned::flat(format(PixelFormat::Rgb, frame), &[&[90]]);
        for resize in RESIZES {
            for interpolation in INTERPOLATIONS {
                let params =
                    PreprocParams { resize, interpolation, padding: Padding::Pixel(90), ..plain(tensor) };
                let got = floats(&run(&owned, &params));
                assert!(got.iter().all(|v| (v - 90.0).abs() < 2e-2), "{resize:?} {interpolation:?}");
            }
        }
    }
}
