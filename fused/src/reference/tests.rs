#![allow(clippy::unwrap_used)] // clippy's own exception stops at functions without #[test]

use cudainfer_kernels::tensor::TensorType::{self, Float16, Float32, Int64};

use super::{read, run, unary, write};
use crate::FusedError;
use crate::graph::{Coordinates, PadMode, PoolKind, ReduceKind, ResizeMode, Rounding, Unary, Window};
use crate::plan::{
    BufferId, Content, Convolution, Epilogue, Expression, Map, Plan, Program, Reduce, Softmax, Source, Step,
    View,
};

const ONE: Window = Window { kernel: [1, 1], strides: [1, 1], dilations: [1, 1], begin: [0, 0], end: [0, 0] };

fn bytes(ty: TensorType, numbers: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0; numbers.len() * ty.size()];
    numbers.iter().enumerate().for_each(|(index, number)| write(&mut bytes, ty, index, *number));
    bytes
}

fn numbers(bytes: &[u8], ty: TensorType) -> Vec<f32> {
    (0..bytes.len() / ty.size()).map(|index| read(bytes, ty, index)).collect()
}

/// Runs one step whose inputs are float32 buffers, and whose output is the buffer after them.
fn outcome(step: Step, inputs: &[Vec<f32>], output: &View) -> Result<Vec<f32>, FusedError> {
    let mut plan = Plan::default();
    for (index, input) in inputs.iter().enumerate() {
        plan.buffer(Content::Input(index), 4 * input.len());
    }
    plan.buffer(Content::Output(0), output.elements() * output.ty.size());
    plan.steps.push(step);
    plan.outputs.push(output.clone());
    let inputs: Vec<Vec<u8>> = inputs.iter().map(|input| bytes(Float32, input)).collect();
    Ok(numbers(&run(&plan, &inputs)?[0], output.ty))
}

fn dense(buffer: usize, dims: &[usize]) -> View {
    View::dense(BufferId(buffer), Float32, dims)
}

/// What a map makes of one source.
fn mapped(source: Source, input: &[f32], dims: &[usize]) -> Vec<f32> {
    let output = dense(1, dims);
    let program = Program(vec![Expression::Source(0)]);
    let map = Map { dims: dims.to_vec(), sources: vec![source], program, outputs: vec![(output.clone(), 0)] };
    outcome(Step::Map(map), &[input.to_vec()], &output).unwrap()
}

#[test]
fn a_convolution_adds_taps_channels_and_bias_and_runs_its_epilogue() {
    // Two channels of 2x2, one output of a 2x2 window with a border of one cell before the first.
    let window = Window { kernel: [2, 2], begin: [1, 1], ..ONE };
    let weights = View { strides: vec![8, 1, 4, 2], ..dense(1, &[1, 2, 2, 2]) };
    let output = dense(4, &[1, 1, 2, 2]);
    let step = Convolution {
        input: dense(0, &[1, 2, 2, 2]),
        weights,
        bias: Some(dense(2, &[1])),
        window,
        groups: 1,
        zero: 0,
        epilogue: vec![Epilogue::Unary(Unary::Relu), Epilogue::Add(dense(3, &[1, 1, 2, 2]))],
        output: output.clone(),
    };
    let image = vec![1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0];
    // By tap: (0, 0), (0, 1), (1, 0), (1, 1); of each, both channels.
    let taps = vec![1.0, 0.1, 2.0, 0.2, 3.0, 0.3, -4.0, 0.4];
    let made = outcome(Step::Convolution(step), &[image, taps, vec![0.5], vec![100.0; 4]], &output).unwrap();
    // (0, 0): -4 + 4 + 0.5; (0, 1): 3 + 3 - 8 + 8 + 0.5; (1, 0): 2 + 2 - 12 + 12 + 0.5; (1, 1): 1+1 + 4+4 + 9+9 - 16+16 + 0.5.
    assert_eq!(made, [100.5, 106.5, 104.5, 128.5]);
}

#[test]
fn groups_see_their_own_channels() {
    let output = dense(2, &[1, 2, 1, 1]);
    let step = Convolution {
        input: dense(0, &[1, 4, 1, 1]),
        weights: dense(1, &[2, 2, 1, 1]),
        bias: None,
        window: ONE,
        groups: 2,
        zero: 0,
        epilogue: Vec::new(),
        output: output.clone(),
    };
    let inputs = [vec![1.0, 2.0, 3.0, 4.0], vec![1.0, 10.0, 1.0, 10.0]];
    assert_eq!(outcome(Step::Convolution(step), &inputs, &output).unwrap(), [21.0, 43.0]);
}

#[test]
fn integers_are_convolved_exactly_and_looked_up() {
    let view = |buffer: usize, ty, dims: &[usize]| View::dense(BufferId(buffer), ty, dims);
    let output = view(4, TensorType::UInt8, &[1, 1, 1, 3]);
    let step = Convolution {
        input: view(0, TensorType::UInt8, &[1, 1, 1, 3]),
        weights: view(1, TensorType::Int8, &[1, 1, 1, 3]),
        bias: Some(view(2, TensorType::Int32, &[1])),
        window: Window { kernel: [1, 3], begin: [0, 1], end: [0, 1], ..ONE },
        groups: 1,
        zero: 5,
        epilogue: vec![Epilogue::Table(view(3, TensorType::UInt8, &[256]))],
        output: output.clone(),
    };
    let mut plan = Plan::default();
    let contents = [
        vec![200, 7, 5],
        vec![2, 1_u8.wrapping_neg(), 3],
        // Beyond 2^24, where float32 has no odd numbers: 16,777,217 - 16,777,400.
        (-16_777_217_i32 + 200).to_le_bytes().to_vec(),
        (0..=255).rev().collect(),
    ];
    for content in contents {
        let bytes = content.len();
        plan.buffer(Content::Constant(content), bytes);
    }
    plan.buffer(Content::Output(0), 3);
    plan.steps.push(Step::Convolution(Convolution { bias: None, ..step.clone() }));
    plan.outputs.push(output);
    // 2 * 5 - 200 + 3 * 7 is -169, 87 of 256; 2 * 200 - 7 + 3 * 5 is 408, 152; 2 * 7 - 5 + 3 * 5 is 24.
    assert_eq!(run(&plan, &[]).unwrap()[0], [255 - 87, 255 - 152, 255 - 24]);
    plan.steps = vec![Step::Convolution(step)];
    // The same after -16,777,017, which is 7 of 256: -169 makes it -17,186, 222 of 256, and so on.
    let wanted = [-169_i32, 408, 24].map(|sum| 255 - (sum - 16_777_017).rem_euclid(256));
    assert_eq!(run(&plan, &[]).unwrap()[0].iter().map(|byte| i32::from(*byte)).collect::<Vec<_>>(), wanted);
}

#[test]
fn outputs_are_rounded_to_their_type() {
    let map = |ty| {
        let output = View::dense(BufferId(1), ty, &[5]);
        let program = Program(vec![Expression::Source(0)]);
        let sources = vec![Source::Element(dense(0, &[5]))];
        let map = Map { dims: vec![5], sources, program, outputs: vec![(output.clone(), 0)] };
        outcome(Step::Map(map), &[vec![-1.7, 0.0, 1.9, 300.0, 2049.0]], &output).unwrap()
    };
    assert_eq!(map(Int64), [-1.0, 0.0, 1.0, 300.0, 2049.0]);
    assert_eq!(map(TensorType::UInt8), [0.0, 0.0, 1.0, 255.0, 255.0]);
    assert_eq!(map(TensorType::Bool), [1.0, 0.0, 1.0, 1.0, 1.0]);
    assert_eq!(map(Float16)[4], 2048.0);
}

#[test]
fn a_view_beyond_its_buffer_is_an_error_with_the_steps_number() {
    let output = dense(1, &[2]);
    let source = Source::Element(View { offset: 1, ..dense(0, &[2]) });
    let program = Program(vec![Expression::Source(0)]);
    let map = Map { dims: vec![2], sources: vec![source], program, outputs: vec![(output.clone(), 0)] };
    let error = outcome(Step::Map(map), &[vec![1.0, 2.0]], &output).unwrap_err();
    assert!(matches!(error, FusedError::Step { number: 0, .. }), "{error}");
    assert!(error.to_string().contains("elements 1 to 2 of a buffer of 2"), "{error}");
}

#[test]
fn windows_have_maxima_and_means() {
    let window = Window { kernel: [1, 3], begin: [0, 1], end: [0, 1], ..ONE };
    let pooled = |kind| {
        let source = Source::Pooled { view: dense(0, &[1, 1, 1, 4]), kind, window };
        mapped(source, &[-1.0, -2.0, 5.0, 3.0], &[1, 1, 1, 4])
    };
    assert_eq!(pooled(PoolKind::Maximum), [-1.0, 5.0, 5.0, 5.0]);
    assert_eq!(pooled(PoolKind::Average { count_padding: true }), [-1.0, 2.0 / 3.0, 2.0, 8.0 / 3.0]);
    assert_eq!(pooled(PoolKind::Average { count_padding: false }), [-1.5, 2.0 / 3.0, 2.0, 4.0]);
}

#[test]
fn tensors_are_padded_and_cut() {
    let padded = |mode, before| {
        mapped(Source::Padded { view: dense(0, &[3]), before: vec![before], mode }, &[1.0, 2.0, 3.0], &[6])
    };
    assert_eq!(padded(PadMode::Constant(9.0), 2), [9.0, 9.0, 1.0, 2.0, 3.0, 9.0]);
    assert_eq!(padded(PadMode::Edge, 2), [1.0, 1.0, 1.0, 2.0, 3.0, 3.0]);
    assert_eq!(padded(PadMode::Reflect, 2), [3.0, 2.0, 1.0, 2.0, 3.0, 2.0]);
    assert_eq!(padded(PadMode::Constant(0.0), -1), [2.0, 3.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn rows_are_reduced() {
    let reduced = |kind, axes: &[usize], dims: &[usize]| {
        let output = dense(1, dims);
        let step = Reduce { kind, input: dense(0, &[2, 3]), axes: axes.to_vec(), output: output.clone() };
        outcome(Step::Reduce(step), &[vec![1.0, 3.0, 3.0, -4.0, 0.0, 3.0]], &output).unwrap()
    };
    assert_eq!(reduced(Some(ReduceKind::Sum), &[1], &[2, 1]), [7.0, -1.0]);
    assert_eq!(reduced(Some(ReduceKind::Mean), &[0], &[1, 3]), [-1.5, 1.5, 3.0]);
    assert_eq!(reduced(Some(ReduceKind::Maximum), &[0, 1], &[1, 1]), [3.0]);
    assert_eq!(reduced(Some(ReduceKind::Minimum), &[0, 1], &[1, 1]), [-4.0]);
    assert_eq!(reduced(Some(ReduceKind::L2), &[1], &[2, 1]), [19_f32.sqrt(), 5.0]);
    assert_eq!(reduced(None, &[1], &[2, 1]), [1.0, 2.0], "the first of equal ones");
}

#[test]
fn a_softmax_sums_to_one_along_its_axis() {
    let output = dense(1, &[2, 2]);
    let step = Softmax { input: dense(0, &[2, 2]), axis: 0, output: output.clone() };
    let made = outcome(Step::Softmax(step), &[vec![0.0, 1000.0, 0.0, 1000.0 + 3_f32.ln()]], &output).unwrap();
    for (made, wanted) in made.iter().zip([0.5, 0.25, 0.5, 0.75]) {
        assert!(
            (made - wanted).abs() < 2e-5,
            "{made} for {wanted}: 1000 + ln 3 has 2^-14 of room in float32"
        );
    }
}

#[test]
fn functions_have_the_values_of_tables() {
    // Abramowitz and Stegun, table 7.1; the others follow from e = 2.718281828.
    for (function, x, wanted) in [
        (Unary::Erf, 0.5, 0.520_499_9),
        (Unary::Erf, -2.0, -0.995_322_3),
        (Unary::Erf, 7.0, 1.0),
        (Unary::Gelu, 1.0, 0.841_344_8),
        (Unary::Sigmoid, 1.0, 0.731_058_6),
        (Unary::Silu, -1.0, -0.268_941_43),
        (Unary::Softplus, 1.0, 1.313_261_6),
        (Unary::Mish, 1.0, 0.865_098_4),
        (Unary::HardSwish, 1.0, 0.666_666_7),
        (Unary::Round, 2.5, 2.0),
        (Unary::Sign, -0.0, 0.0),
        (Unary::Elu { alpha: 2.0 }, -1.0, -1.264_241_1),
    ] {
        let made = unary(function, x);
        assert!((made - wanted).abs() <= 1e-7, "{function:?} of {x} is {made}, not {wanted}");
    }
}

/// What ONNX Runtime makes of [`SAMPLES`] (tools: fused/tests/resize.py).
const RESIZED: &str = include_str!("resized.txt");
const SAMPLES: [f32; 12] = [1.0, -2.0, 3.5, 4.0, 0.25, 6.0, -7.0, 8.0, 2.0, -1.0, 5.0, 3.0];

#[test]
fn resized_tensors_are_those_of_onnx_runtime() {
    let mut checked = 0;
    for line in RESIZED.lines() {
        let (case, values) = line.split_once(": ").unwrap();
        let values: Vec<f32> = values.split(' ').map(|value| value.parse().unwrap()).collect();
        let [mode, coordinates, rounding, rows, columns] = case.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{case}")
        };
        let rounding = match rounding {
            "round_prefer_floor" => Rounding::PreferFloor,
            "round_prefer_ceil" => Rounding::PreferCeil,
            "floor" => Rounding::Floor,
            _ => Rounding::Ceil,
        };
        let mode = match mode {
            "nearest" => ResizeMode::Nearest(rounding),
            "linear" => ResizeMode::Linear,
            _ => ResizeMode::Cubic { a: -0.75 },
        };
        let coordinates = match coordinates {
            "half_pixel" => Coordinates::HalfPixel,
            "pytorch_half_pixel" => Coordinates::PytorchHalfPixel,
            "asymmetric" => Coordinates::Asymmetric,
            _ => Coordinates::AlignCorners,
        };
        let scales: Vec<f32> = [rows, columns].iter().map(|scale| scale.parse().unwrap()).collect();
        let dims = [1, 1, (3.0 * scales[0]) as usize, (4.0 * scales[1]) as usize];
        let view = dense(0, &[1, 1, 3, 4]);
        let source =
            Source::Resized { view, mode, coordinates, scales: vec![1.0, 1.0, scales[0], scales[1]] };
        let made = mapped(source, &SAMPLES, &dims);
        assert_eq!(made.len(), values.len(), "{case}");
        for (made, wanted) in made.iter().zip(&values) {
            // Some sixteen products of numbers up to 8, each rounded to 2^-24 of its size.
            assert!((made - wanted).abs() < 2e-5, "{case}: {made} for {wanted}");
        }
        checked += 1;
    }
    assert!(checked > 50, "{checked}");
}
