//! One frame, without clean-up.

use super::super::value::exp;
use super::super::{Activation, Classes, Outcome, SegmentParams};
use super::{FLOATS, Logits, every_shape};
use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorType, TensorView};

/// A few levels, so that ties abound, and values that are not finite.
fn broken(random: &mut super::Random) -> f32 {
    match random.below(12) {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => f32::NEG_INFINITY,
        n => [-1.5, -0.0, 0.0, 2.25][n % 4],
    }
}

#[test]
fn argmax_takes_the_first_of_the_greatest_and_no_nan() {
    every_shape(broken, |values, dims, layout, ty, what| {
        let [c, h, w] = dims;
        if c == 1 {
            return;
        }
        let logits = Logits::new(values, dims, layout, ty);
        let (mask, outcome) = logits.mask(layout, SegmentParams::default());
        let value = |class: usize, cell: usize| {
            let v = logits.values[class * h * w + cell];
            if v.is_nan() { f64::NEG_INFINITY } else { v }
        };
        for (cell, got) in mask.iter().enumerate() {
            let greatest = (0..c).map(|class| value(class, cell)).fold(f64::NEG_INFINITY, f64::max);
            let wanted = (0..c).find(|class| value(*class, cell) == greatest).unwrap();
            assert_eq!(usize::from(*got), wanted, "{what} cell {cell}");
        }
        let non_finite = values.iter().filter(|v| !v.is_finite()).count();
        assert_eq!(outcome, Outcome { non_finite, out_of_range: 0 }, "{what}");
    });
}

/// The probability of `channel` in f64; NaN counts as -infinity among the others.
fn probability(logits: &Logits, [c, h, w]: [usize; 3], params: SegmentParams, cell: usize) -> f64 {
    let at = |channel: usize| logits.values[channel * h * w + cell];
    let v = at(params.channel);
    match params.activation {
        Activation::None => v,
        Activation::Sigmoid => 1.0 / (1.0 + (-v).exp()),
        Activation::Softmax if v.is_nan() => v,
        Activation::Softmax => {
            let others = (0..c).map(at).filter(|v| !v.is_nan());
            1.0 / others.map(|other| if other == v { 1.0 } else { (other - v).exp() }).sum::<f64>()
        }
    }
}

fn every_activation(c: usize, mut check: impl FnMut(SegmentParams)) {
    for channel in [0, c / 2, c - 1] {
        for activation in [Activation::None, Activation::Sigmoid, Activation::Softmax] {
            if activation != Activation::Softmax || c > 1 {
                check(SegmentParams { channel, activation, ..SegmentParams::default() });
            }
        }
    }
}

#[test]
fn a_threshold_parts_a_channel_where_f64_does() {
    // 1e-5 to either side the two may differ: float32 holds such logits and sums to about 1e-6.
    let wild =
        |random: &mut super::Random| if random.below(9) == 0 { broken(random) } else { 6.0 * random.unit() };
    every_shape(wild, |values, dims, layout, ty, what| {
        let logits = Logits::new(values, dims, layout, ty);
        every_activation(dims[0], |params| {
            for threshold in [0.0, 0.3, 0.5, 1.0, 1.5] {
                let classes = Classes::Threshold(threshold);
                let (mask, _) = logits.mask(layout, SegmentParams { classes, ..params });
                for (cell, got) in mask.iter().enumerate() {
                    let p = probability(&logits, dims, params, cell);
                    let threshold = f64::from(threshold);
                    if (p - threshold).abs() > 1e-5 || p == threshold && params.activation == Activation::None
                    {
                        assert_eq!(
                            *got,
                            u8::from(p >= threshold),
                            "{what} {params:?} {threshold} cell {cell}: {p}"
                        );
                    }
                }
            }
        });
    });
}

#[test]
fn a_soft_mask_is_the_probability_to_half_a_level() {
    // And 1e-3 of one, for float32's rounding.
    let wild =
        |random: &mut super::Random| if random.below(9) == 0 { broken(random) } else { 4.0 * random.unit() };
    every_shape(wild, |values, dims, layout, ty, what| {
        let logits = Logits::new(values, dims, layout, ty);
        every_activation(dims[0], |params| {
            let (mask, _) = logits.mask(layout, SegmentParams { soft: true, ..params });
            for (cell, got) in mask.iter().enumerate() {
                let p = probability(&logits, dims, params, cell);
                let wanted = if p.is_nan() { 0.0 } else { 255.0 * p.clamp(0.0, 1.0) };
                assert!(
                    (f64::from(*got) - wanted).abs() <= 0.501,
                    "{what} {params:?} cell {cell}: {got} {wanted}"
                );
            }
        });
    });
}

#[test]
fn only_the_channels_that_matter_are_counted() {
    let values = [1.0, f32::NAN, 2.0, f32::INFINITY, 3.0, 4.0];
    let logits = Logits::new(&values, [3, 1, 2], Layout::Nchw, TensorType::Float32);
    let counted = |channel, activation| {
        let params = SegmentParams {
            classes: Classes::Threshold(0.5),
            channel,
            activation,
            ..SegmentParams::default()
        };
        logits.mask(Layout::Nchw, params).1.non_finite
    };
    assert_eq!([0, 1, 2].map(|channel| counted(channel, Activation::Sigmoid)), [1, 1, 0]);
    assert_eq!(counted(2, Activation::Softmax), 2);
}

#[test]
fn where_the_values_lie_in_memory_does_not_matter() {
    for ty in FLOATS {
        let values: Vec<f32> = (0..3 * 77).map(|i| ((i * 37) % 101) as f32 / 8.0).collect();
        for layout in [Layout::Nchw, Layout::Nhwc] {
            let logits = Logits::new(&values, [3, 7, 11], layout, ty);
            let (wanted, _) = logits.mask(layout, SegmentParams::default());
            let mut room = vec![0; logits.bytes.len() + 1];
            room[1..].copy_from_slice(&logits.bytes);
            let odd = TensorView::new("logits", ty, &logits.dims, &room[1..]).unwrap();
            let params = SegmentParams { layout: Some(layout), ..SegmentParams::default() };
            let mut mask = vec![0; 77];
            logits.segmenter(params).unwrap().run(&odd, &mut mask).unwrap();
            assert_eq!(mask, wanted);
        }
    }
}

#[test]
fn one_channel_may_come_without_its_dimension() {
    let bytes: Vec<u8> = [-1.0f32, 0.5, 0.25, 3.0, 0.0, 1.0].iter().flat_map(|v| v.to_ne_bytes()).collect();
    for dims in [&[2, 3][..], &[1, 2, 3], &[2, 3, 1], &[1, 1, 2, 3], &[1, 2, 3, 1]] {
        let params = SegmentParams { classes: Classes::Threshold(0.5), ..SegmentParams::default() };
        let desc = TensorDesc::fixed("mask", TensorType::Float32, dims);
        let mut segmenter = super::Segmenter::new(&desc, [30, 20], params).unwrap();
        assert_eq!((segmenter.size(), segmenter.channels()), ([3, 2], 1), "{dims:?}");
        let mut mask = [9; 6];
        segmenter.run(&TensorView::new("mask", desc.ty, dims, &bytes).unwrap(), &mut mask).unwrap();
        assert_eq!(mask, [0, 1, 0, 1, 0, 1], "{dims:?}");
    }
}

#[test]
fn our_exp_is_within_two_units_in_the_last_place() {
    for i in -870_000..=880_000 {
        let x = i as f32 * 1e-4;
        let (got, wanted) = (f64::from(exp(x)), f64::from(x).exp());
        assert!((got / wanted - 1.0).abs() < 2.4e-7, "{x}: {got} {wanted}");
    }
    assert_eq!([-88.0, f32::NEG_INFINITY, f32::NAN].map(exp), [0.0; 3]);
    assert_eq!([89.0, f32::INFINITY].map(exp), [f32::INFINITY; 2]);
    assert_eq!(exp(0.0), 1.0);
}
