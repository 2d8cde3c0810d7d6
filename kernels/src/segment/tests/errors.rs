//! Tensors and parameters that are refused.

use super::super::{Activation, Classes, SegmentError, SegmentParams, Segmenter};
use crate::preproc::Layout;
use crate::tensor::TensorDesc;

fn refused(logits: &str, params: SegmentParams) -> SegmentError {
    Segmenter::new(&logits.parse::<TensorDesc>().unwrap(), [64, 32], params).unwrap_err()
}

#[test]
fn the_layout_is_the_one_that_fits_the_input() {
    let read = |dims: &str, input, layout| {
        let desc: TensorDesc = format!("x:float16:{dims}").parse().unwrap();
        let params = SegmentParams { layout, ..SegmentParams::default() };
        Segmenter::new(&desc, input, params).map(|segmenter| (segmenter.channels(), segmenter.size()))
    };
    assert_eq!(read("1x21x32x64", [64, 32], None), Ok((21, [64, 32])));
    assert_eq!(read("1x32x64x21", [64, 32], None), Ok((21, [64, 32])));
    assert_eq!(read("2x16x32", [64, 32], None), Ok((2, [32, 16])));
    assert_eq!(read("16x32x2", [64, 32], None), Ok((2, [32, 16])));
    assert_eq!(read("1x21x65x65", [513, 513], None), Ok((21, [65, 65])), "corners aligned");
    assert_eq!(read("1x5x7x9", [64, 32], Some(Layout::Nhwc)), Ok((9, [7, 5])));
    let text = read("1x5x7x9", [64, 32], None).unwrap_err().to_string();
    assert!(text.contains("5 channels of 9x7 cells (nchw)") && text.contains("neither"), "{text}");
    let text = read("1x4x4x4", [4, 4], None).unwrap_err().to_string();
    assert!(text.contains("each of them"), "{text}");
}

#[test]
fn logits_that_are_none_are_refused_in_a_sentence() {
    for (logits, says) in [
        ("x:int64:1x2x32x64", "must be 1xHxW, 1x1xHxW, 1xHxWx1 or HxW"),
        ("x:int64:1x?x64", "all of them known"),
        ("x:uint8:3x32x64", "must be 1xHxW"),
        ("x:float32:1x2x?x64", "all of them known"),
        ("x:float32:64", "1xCxHxW"),
        ("x:float32:1x1x2x32x64", "1xCxHxW"),
        ("x:float32:3x2x32x64", "holds 3 frames"),
        ("x:float32:1x2x0x64", "size of 0"),
        ("x:float32:1x1x32x64", "has 1 channels, but mode=argmax looks for the greatest of 2 to 256"),
        ("x:float32:1x257x32x64", "257 channels"),
        ("x:float32:1x65536x32768x2", "2^31"),
    ] {
        let text = refused(logits, SegmentParams::default()).to_string();
        assert!(text.contains(says), "{logits}: {text}");
    }
}

#[test]
fn parameters_that_make_no_mask_are_refused_in_a_sentence() {
    let default = SegmentParams { classes: Classes::Threshold(0.5), ..SegmentParams::default() };
    for (params, says) in [
        (SegmentParams { channel: 2, ..default }, "channel 2 is set, but"),
        (SegmentParams { channel: 2, soft: true, ..SegmentParams::default() }, "channel 2 is set, but"),
        (SegmentParams { classes: Classes::Threshold(f32::NAN), ..default }, "threshold of NaN"),
        (SegmentParams { smoothing: 1.0, ..default }, "smoothing of 1"),
        (SegmentParams { smoothing: -0.1, ..default }, "smoothing of -0.1"),
        (SegmentParams { smoothing: f32::NAN, ..default }, "smoothing of NaN"),
        (SegmentParams { opening: 33, ..default }, "radius of 33"),
        (SegmentParams { closing: 100, ..default }, "radius of 100"),
    ] {
        let text = refused("x:float32:1x2x32x64", params).to_string();
        assert!(text.contains(says), "{params:?}: {text}");
    }
    let softmax = SegmentParams { activation: Activation::Softmax, ..default };
    assert!(refused("x:float32:1x1x32x64", softmax).to_string().contains("always 1"));
}

#[test]
fn a_tensor_of_another_size_is_refused_by_name() {
    let desc: TensorDesc = "x:float32:1x2x1x2".parse().unwrap();
    let mut segmenter = Segmenter::new(&desc, [2, 1], SegmentParams::default()).unwrap();
    let view = crate::tensor::TensorView::new("x", desc.ty, &[1, 2, 2, 1], &[0; 16]).unwrap();
    let text = segmenter.run(&view, &mut [0; 2]).unwrap_err().to_string();
    assert!(text.contains("'x:float32:1x2x2x1' arrived where 'x:float32:1x2x1x2' was announced"), "{text}");
    let view = crate::tensor::TensorView::new("x", desc.ty, &[1, 2, 1, 2], &[0; 16]).unwrap();
    let text = segmenter.run(&view, &mut [0; 3]).unwrap_err().to_string();
    assert!(text.contains("a mask of 2x1 was handed 3 bytes"), "{text}");
}
