use cudainfer_kernels::tensor::TensorType::{self, Bool, Float16, Float32, Int32, Int64, UInt8};

use super::{channels_last, dense, host, nvrtc, only};
use crate::emit::{Kernel, kernels};
use crate::graph::{Binary, Coordinates, PadMode, PoolKind, ResizeMode, Rounding, Unary, Window};
use crate::plan::{Expression, Map, Program, Source, Step, View};

/// The sum of all sources.
fn sum(dims: &[usize], sources: Vec<Source>, output: View) -> Step {
    let mut program = Program::default();
    let mut last = program.push(Expression::Source(0));
    for number in 1..sources.len() {
        let source = program.push(Expression::Source(number));
        last = program.push(Expression::Binary(Binary::Add, last, source));
    }
    Step::Map(Map { dims: dims.to_vec(), sources, program, outputs: vec![(output, last)] })
}

#[test]
fn images_with_channels_last_are_read_and_written_sixteen_bytes_at_a_time() {
    let dims = [2, 64, 20, 20];
    for (ty, count) in [(Float16, 8), (Float32, 4)] {
        let image = |buffer| channels_last(buffer, ty, dims);
        let kernel = only(&sum(&dims, vec![Source::Element(image(0)), Source::Element(image(1))], image(2)));
        assert!(kernel.source.contains(&format!("load<false, {count}>(s0 + 0, ((")), "{}", kernel.source);
        assert!(kernel.source.contains(&format!("store<{count}>")), "{}", kernel.source);
        let threads = kernel.grid[0] * kernel.block[0];
        assert_eq!(threads, 51200 / count, "{}", kernel.source);
    }
}

#[test]
fn all_types_and_sources_are_those_of_the_reference() {
    let window = Window { kernel: [3, 2], strides: [2, 1], dilations: [1, 2], begin: [1, 1], end: [1, 1] };
    let (old, new) = ([1, 16, 10, 12], [1, 16, 5, 12]);
    let mut steps = Vec::new();
    let modes = [
        ResizeMode::Nearest(Rounding::PreferFloor),
        ResizeMode::Nearest(Rounding::Ceil),
        ResizeMode::Linear,
        ResizeMode::Cubic { a: -0.75 },
    ];
    for is_last in [true, false] {
        let image = |buffer: usize, ty: TensorType, dims: [usize; 4]| {
            if is_last { channels_last(buffer, ty, dims) } else { dense(buffer, ty, &dims) }
        };
        for ty in [Float16, Float32, Int32, Int64, UInt8, Bool, TensorType::Int8] {
            let mut sources = vec![Source::Element(image(0, ty, new))];
            for kind in [PoolKind::Maximum, PoolKind::Average { count_padding: true }] {
                sources.push(Source::Pooled { view: image(2, ty, old), kind, window });
            }
            for mode in modes {
                for coordinates in
                    [Coordinates::HalfPixel, Coordinates::Asymmetric, Coordinates::AlignCorners]
                {
                    let scales = vec![1.0, 1.0, 0.5, 1.0];
                    sources.push(Source::Resized { view: image(3, ty, old), mode, coordinates, scales });
                }
            }
            for mode in [PadMode::Constant(0.5), PadMode::Edge, PadMode::Reflect] {
                let before = vec![0, 0, -2, 0];
                sources.push(Source::Padded { view: image(3, ty, old), before, mode });
                let before = vec![0, 4, 1, 3];
                sources.push(Source::Padded { view: image(4, ty, [1, 4, 3, 8]), before, mode });
            }
            steps.push(sum(&new, sources, image(5, ty, new)));
        }
    }
    let kernels: Vec<Kernel> = steps.iter().flat_map(|step| kernels(step).unwrap()).collect();
    assert_eq!(kernels.len(), steps.len());
    nvrtc::compile(&kernels);
    host::check(&steps);
}

const UNARY: [Unary; 28] = [
    Unary::Abs,
    Unary::Negate,
    Unary::Exp,
    Unary::Log,
    Unary::Sqrt,
    Unary::Reciprocal,
    Unary::Erf,
    Unary::Sigmoid,
    Unary::Tanh,
    Unary::Relu,
    Unary::LeakyRelu { slope: 0.1 },
    Unary::Elu { alpha: 1.0 },
    Unary::Softplus,
    Unary::Silu,
    Unary::Mish,
    Unary::Gelu,
    Unary::GeluTanh,
    Unary::HardSigmoid { slope: 0.2, offset: 0.5 },
    Unary::HardSwish,
    Unary::Clip { low: -1e-30, high: 6.0 },
    Unary::Floor,
    Unary::Ceil,
    Unary::Round,
    Unary::Truncate,
    Unary::Sign,
    Unary::Sin,
    Unary::Cos,
    Unary::Not,
];

const BINARY: [Binary; 15] = [
    Binary::Add,
    Binary::Subtract,
    Binary::Multiply,
    Binary::Divide,
    Binary::Power,
    Binary::Maximum,
    Binary::Minimum,
    Binary::PRelu,
    Binary::Greater,
    Binary::GreaterOrEqual,
    Binary::Less,
    Binary::LessOrEqual,
    Binary::Equal,
    Binary::And,
    Binary::Or,
];

#[test]
fn functions_are_those_of_the_reference() {
    let dims = vec![4, 8];
    let (x, y) = (dense(0, Float32, &dims), dense(1, Float32, &dims));
    let step = |expression: Expression| {
        let program = Program(vec![
            Expression::Source(0),
            Expression::Source(1),
            Expression::Constant(-0.5),
            expression,
        ]);
        let sources = vec![Source::Element(x.clone()), Source::Element(y.clone())];
        let outputs = vec![(dense(2, Float32, &dims), 3)];
        Step::Map(Map { dims: dims.clone(), sources, program, outputs })
    };
    let unary = UNARY.into_iter().map(|function| Expression::Unary(function, 0));
    let binary = BINARY.into_iter().map(|function| Expression::Binary(function, 0, 1));
    let steps: Vec<Step> = unary.chain(binary).chain([Expression::Select(0, 1, 2)]).map(step).collect();
    let kernels: Vec<Kernel> = steps.iter().flat_map(|step| kernels(step).unwrap()).collect();
    nvrtc::compile(&kernels);
    host::check(&steps);
}

#[test]
fn tensors_in_another_order_are_loaded_and_stored_several_elements_at_a_time() {
    let dims = [2, 32, 80, 56];
    let sources = || {
        let row = View { strides: vec![0, 1, 0, 0], ..channels_last(1, Float32, dims) };
        vec![
            Source::Element(channels_last(0, Float16, dims)),
            Source::Element(row),
            Source::Element(dense(3, Float16, &dims)),
        ]
    };
    let kernel = only(&sum(&dims, sources(), dense(2, Float16, &dims)));
    assert!(
        kernel.source.contains("load<false, 2>(t0 + 0") && kernel.source.contains("store<4>"),
        "{}",
        kernel.source
    );
    // Of a large tensor, sixteen bytes at a time on both sides.
    let large = [4, 80, 84, 84];
    let image = vec![Source::Element(channels_last(0, Float16, large))];
    let source = only(&sum(&large, image, dense(1, Float16, &large))).source;
    assert!(source.contains("load<false, 8>(t0 + 0") && source.contains("store<8>"), "{source}");
    assert!(source.contains("thread % 2u"), "two threads load a sector: {source}");
    // The other way round, and with few channels.
    let dims = [1, 6, 5, 7];
    let first = vec![Source::Element(dense(0, Float32, &dims))];
    host::check(&[
        sum(&[2, 32, 80, 56], sources(), channels_last(2, Float32, [2, 32, 80, 56])),
        sum(&dims, first.clone(), channels_last(2, Float16, dims)),
        sum(&dims, first, channels_last(2, Float32, dims)),
        sum(&dims, vec![Source::Element(channels_last(0, Float16, dims))], dense(2, Float32, &dims)),
        sum(
            &[1, 48, 96, 88],
            vec![Source::Element(channels_last(0, Float16, [1, 48, 96, 88]))],
            dense(2, Float16, &[1, 48, 96, 88]),
        ),
    ]);
}

#[test]
fn what_no_output_needs_is_not_computed() {
    let program =
        Program(vec![Expression::Source(0), Expression::Source(1), Expression::Unary(Unary::Exp, 1)]);
    let view = |buffer| dense(buffer, Float32, &[3, 5]);
    let sources = vec![Source::Element(view(0)), Source::Element(view(1))];
    let kernel = only(&Step::Map(Map { dims: vec![3, 5], sources, program, outputs: vec![(view(2), 0)] }));
    assert!(!kernel.source.contains("expf") && kernel.buffers.len() == 2, "{kernel:?}");
}

#[test]
fn many_outputs_are_made_by_several_kernels() {
    let (dims, view) = ([8, 8], |buffer| dense(buffer, Float16, &[8, 8]));
    let program = Program(vec![Expression::Source(0)]);
    let outputs = (1..21).map(|buffer| (view(buffer), 0)).collect();
    let step =
        Step::Map(Map { dims: dims.to_vec(), sources: vec![Source::Element(view(0))], program, outputs });
    let made = kernels(&step).unwrap();
    assert_eq!(made.iter().map(|kernel| kernel.buffers.len()).collect::<Vec<_>>(), [16, 6]);
    nvrtc::compile(&made);
    host::check(&[step]);
}
