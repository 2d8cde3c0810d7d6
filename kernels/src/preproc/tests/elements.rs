//! Normalisation, quantisation, element types and layouts.

use half::f16;

use super::*;

const MEAN: [f32; 3] = [0.4, -0.5, 0.6];
const STD: [f32; 3] = [0.2, 0.3, -0.25];

/// The reference's real values in the tensor's own order of elements.
fn normalised(owned: &Owned, params: &PreprocParams) -> Vec<f64> {
    let chw = pixels(owned, params);
    let (channels, area) = (params.channels.channels(), params.width * params.height);
    (0..chw.len())
        .map(|i| {
            let (c, p) = match params.layout {
                Layout::Nchw => (i / area, i % area),
                Layout::Nhwc => (i % channels, i / channels),
            };
            let v = chw[c * area + p] * f64::from(params.scale);
            (v - f64::from(params.mean[c])) / f64::from(params.std[c])
        })
        .collect()
}

fn cases() -> Vec<PreprocParams> {
    let mut cases = Vec::new();
    for ty in TYPES {
        for layout in [Layout::Nchw, Layout::Nhwc] {
            for channels in [ChannelOrder::Rgb, ChannelOrder::Bgr, ChannelOrder::Gray] {
                let zero_point = if ty == TensorType::UInt8 { 100 } else { -3 };
                let params =
                    PreprocParams { width: 17, height: 13, ty, layout, channels, ..PreprocParams::default() };
                // With this step some elements saturate, and others do not.
                let params = PreprocParams { mean: MEAN, std: STD, quant_scale: 0.02, zero_point, ..params };
                cases.push(params);
            }
        }
    }
    cases
}

#[test]
fn every_type_layout_and_channel_order_equals_the_reference() {
    for (seed, params) in cases().into_iter().enumerate() {
        for pixels in [PixelFormat::Nv12, PixelFormat::Rgb, PixelFormat::Gray8] {
            let owned = Owned::noise(format(pixels, (33, 9)), 2, seed as u64);
            let tensor = run(&owned, &params);
            let wanted = normalised(&owned, &params);
            assert_eq!(tensor.len(), wanted.len() * params.ty.size());
            // 2e-3 of 0..255, after the steepest of the normalisations.
            let error = TOLERANCE / 255.0 / 0.2;
            for (i, v) in wanted.into_iter().enumerate() {
                let bytes = &tensor[i * params.ty.size()..][..params.ty.size()];
                let (got, slack) = match params.ty {
                    TensorType::Float32 => (f64::from(f32::from_ne_bytes(bytes.try_into().unwrap())), error),
                    TensorType::Float16 => {
                        // Half a unit in the last of 11 places.
                        (f16::from_ne_bytes(bytes.try_into().unwrap()).to_f64(), error + v.abs() / 2048.0)
                    }
                    ty => {
                        let (low, high, got) = match ty {
                            TensorType::UInt8 => (0.0, 255.0, f64::from(bytes[0])),
                            TensorType::Int8 => (-128.0, 127.0, f64::from(bytes[0] as i8)),
                            _ => (-1e6, 1e6, f64::from(i32::from_ne_bytes(bytes.try_into().unwrap()))),
                        };
                        let exact = v / f64::from(params.quant_scale) + f64::from(params.zero_point);
                        // An error of one step is allowed only where the exact value is almost half-way between two.
                        let tie = ((exact - exact.floor()) - 0.5).abs() < 2.0 * error / 0.02;
                        let (got, wanted) = (got, exact.round_ties_even().clamp(low, high));
                        assert!(got == wanted || (tie && (got - wanted).abs() == 1.0), "{got} {exact}");
                        continue;
                    }
                };
                assert!((got - v).abs() < slack, "element {i} is {got}, not {v}: {params:?}");
            }
        }
    }
}

#[test]
fn integers_saturate_and_halves_go_to_the_even_one() {
    let owned =
        Owned { planes: vec![((0..=255).collect(), 256)], format: format(PixelFormat::Gray8, (256, 1)) };
    let owned = Owned { format: FrameFormat { range: Range::Full, ..owned.format }, ..owned };
    let gray = PreprocParams { channels: ChannelOrder::Gray, ..plain((256, 1)) };
    let halved =
        PreprocParams { ty: TensorType::Int8, quant_scale: 2.0, zero_point: 1, mean: [100.0; 3], ..gray };
    let bytes = run(&owned, &halved);
    for (v, got) in (0..=255).zip(&bytes) {
        let wanted = ((f64::from(v) - 100.0) / 2.0).round_ties_even() + 1.0;
        assert_eq!(f64::from(*got as i8), wanted);
    }
    let steep =
        PreprocParams { ty: TensorType::UInt8, scale: 1e6, mean: [1e8; 3], quant_scale: 0.5, ..halved };
    let bytes = run(&owned, &steep);
    assert!(bytes[..100].iter().all(|b| *b == 0) && bytes[101..].iter().all(|b| *b == 255));
    assert_eq!(bytes[100], 1, "nothing but the zero point");
    // Pixel values themselves, and values far beyond those of 8 bits, to 2^20.
    let wide = |params: PreprocParams| -> Vec<i32> {
        let bytes = run(&owned, &PreprocParams { ty: TensorType::Int32, zero_point: 0, ..params });
        bytes.as_chunks().0.iter().map(|bytes| i32::from_ne_bytes(*bytes)).collect()
    };
    assert_eq!(wide(gray.clone()), (0..=255).collect::<Vec<_>>());
    let tens = wide(PreprocParams { scale: -10.0, ..gray.clone() });
    assert_eq!(tens, (0..=255).map(|v| -10 * v).collect::<Vec<_>>());
    assert_eq!(
        wide(PreprocParams { scale: 1e6, mean: [1e8; 3], ..gray })[99..102],
        [-1_000_000, 0, 1_000_000]
    );
    assert_eq!(wide(steep)[0], -(1 << 20));
}

#[test]
fn halves_are_rounded_to_even() {
    // 2049 lies half-way between 2048 and 2050, 2051 between 2050 and 2052.
    let source = FrameFormat { range: Range::Full, ..format(PixelFormat::Gray8, (4, 1)) };
    let owned = Owned { planes: vec![(vec![0, 1, 2, 3], 4)], format: source };
    let gray = PreprocParams { channels: ChannelOrder::Gray, mean: [-2048.0; 3], ..plain((4, 1)) };
    let tensor = run(&owned, &PreprocParams { ty: TensorType::Float16, ..gray });
    let values: Vec<f32> =
        tensor.as_chunks::<2>().0.iter().map(|bytes| f16::from_ne_bytes(*bytes).to_f32()).collect();
    assert_eq!(values, [2048.0, 2048.0, 2050.0, 2052.0]);
}

#[test]
fn unaligned_tensors_are_filled_alike() {
    let owned = Owned::noise(format(PixelFormat::I420, (33, 9)), 0, 1);
    for params in cases() {
        let aligned = run(&owned, &params);
        let mut preproc = Preproc::new(owned.format, params).unwrap();
        let mut room = vec![0; aligned.len() + 8];
        for shift in 0..4 {
            preproc.run(&owned.frame(), &mut room[shift..][..aligned.len()]).unwrap();
            assert!(aligned == room[shift..][..aligned.len()]);
        }
    }
}
