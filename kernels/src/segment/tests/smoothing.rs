//! Many frames.

use super::super::{Activation, Classes, SegmentParams, Segmenter};
use super::{FLOATS, Logits, Random};
use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorType, TensorView};

/// A soft mask of one row shows the state: levels of 1/255.
fn shown(frames: &[&[f32]], smoothing: f32, ty: TensorType) -> Vec<Vec<u8>> {
    let params = SegmentParams { smoothing, soft: true, ..SegmentParams::default() };
    let n = frames[0].len();
    let mut segmenter = Segmenter::new(
        &TensorDesc::fixed("logits", ty, &[1, 1, 1, n]),
        [n, 1],
        SegmentParams { layout: Some(Layout::Nchw), ..params },
    )
    .unwrap();
    let masks =
        frames.iter().map(|frame| Logits::new(frame, [1, 1, n], Layout::Nchw, ty).through(&mut segmenter).0);
    masks.collect()
}

const LEVEL: f32 = 1.0 / 255.0;

#[test]
fn the_state_fades_exponentially_from_the_first_frame_on() {
    for ty in FLOATS {
        let frames = [[0.0, 200.0 * LEVEL], [100.0 * LEVEL, 0.0], [100.0 * LEVEL, 0.0]];
        let masks = shown(&frames.each_ref().map(|frame| &frame[..]), 0.5, ty);
        assert_eq!(masks, [[0, 200], [50, 100], [75, 50]]);
    }
}

#[test]
fn nan_leaves_the_state_and_what_is_infinite_has_no_memory() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    for ty in FLOATS {
        let v = |level: f32| level * LEVEL;
        let frames = [
            [nan, v(200.0), v(200.0), -inf],
            [v(100.0), nan, inf, v(40.0)],
            [v(50.0), v(100.0), v(100.0), v(80.0)],
        ];
        let masks = shown(&frames.each_ref().map(|frame| &frame[..]), 0.5, ty);
        assert_eq!(masks, [[0, 200, 200, 0], [100, 200, 255, 40], [75, 150, 100, 60]]);
    }
}

#[test]
fn a_class_wins_as_soon_as_its_state_does_in_f64() {
    let mut random = Random::new(5);
    let (dims, n) = ([4, 9, 17], 4 * 9 * 17);
    for (layout, smoothing) in [(Layout::Nchw, 0.9), (Layout::Nhwc, 0.6)] {
        for ty in FLOATS {
            let params = SegmentParams { smoothing, layout: Some(layout), ..SegmentParams::default() };
            let mut state: Option<Vec<f64>> = None;
            let mut segmenter = None;
            for frame in 0..30 {
                let values: Vec<f32> = (0..n).map(|_| 8.0 * random.unit()).collect();
                let logits = Logits::new(&values, dims, layout, ty);
                let segmenter = segmenter.get_or_insert_with(|| logits.segmenter(params).unwrap());
                let s = f64::from(smoothing);
                let state = state.get_or_insert_with(|| logits.values.clone());
                state.iter_mut().zip(&logits.values).for_each(|(old, v)| *old = s * *old + (1.0 - s) * v);
                let (mask, _) = logits.through(segmenter);
                // Rounding to float16 (half a step of 2^-8 at most, up to a value of 8) adds up to 1 / (1 - s) times
                // that.
                let near = if ty == TensorType::Float16 { 2.0 * f64::exp2(-9.0) / (1.0 - s) } else { 1e-5 };
                for (cell, got) in mask.iter().enumerate() {
                    let of = |class: usize| state[class * 9 * 17 + cell];
                    let greatest = (0..4).map(of).fold(f64::NEG_INFINITY, f64::max);
                    let got = of(usize::from(*got));
                    assert!(
                        got >= greatest - near,
                        "{layout:?} {ty} frame {frame} cell {cell}: {got} {greatest}"
                    );
                }
            }
        }
    }
}

#[test]
fn float16_follows_a_constant_to_the_steps_that_are_promised() {
    let (from, to, smoothing) = (vec![0.0; 100], (0..100).map(|i| i as f32 / 100.0).collect::<Vec<_>>(), 0.9);
    let mut frames = vec![&from[..]];
    frames.resize(200, &to[..]);
    let last = shown(&frames, smoothing, TensorType::Float16).pop().unwrap();
    for (got, wanted) in last.iter().zip(&to) {
        // 0.5 / (1 - 0.9) = 5 steps of at most 2^-11, half a step for the logit itself, and half a level.
        let off = (f32::from(*got) * LEVEL - wanted).abs();
        assert!(off <= 5.5 * f32::exp2(-11.0) + 0.51 * LEVEL, "{got} {wanted}");
    }
}

#[test]
fn reset_forgets_and_a_refused_frame_leaves_no_trace() {
    for (layout, activation) in [(Layout::Nchw, Activation::Softmax), (Layout::Nhwc, Activation::Sigmoid)] {
        let params = SegmentParams {
            classes: Classes::Threshold(0.5),
            activation,
            smoothing: 0.75,
            layout: Some(layout),
            ..SegmentParams::default()
        };
        let logits = |v: f32| Logits::new(&[-v, v, v, -v], [2, 1, 2], layout, TensorType::Float32);
        let (high, low) = (logits(1.0), logits(-1.0));
        let mut segmenter = high.segmenter(params).unwrap();
        assert_eq!(high.through(&mut segmenter).0, [0, 1]);
        let other = TensorView::new("logits", TensorType::Float32, &[4], &[0; 16]).unwrap();
        assert!(segmenter.run(&other, &mut [0; 2]).is_err());
        let view = TensorView::new("logits", low.ty, &low.dims, &low.bytes).unwrap();
        assert!(segmenter.run(&view, &mut [0; 3]).is_err());
        // 0.75 - 0.25 = 0.5 is still above, 0.375 - 0.25 too, then it turns.
        let masks: Vec<_> = (0..3).map(|_| low.through(&mut segmenter).0).collect();
        assert_eq!(masks, [[0, 1], [0, 1], [1, 0]]);
        segmenter.reset();
        assert_eq!(high.through(&mut segmenter).0, [0, 1]);
    }
}
