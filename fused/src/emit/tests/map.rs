use cudainfer_kernels::tensor::TensorType::{self, Bool, Float16, Float32, Int32, Int64, UInt8};

use super::{channels_last, dense, host, nvrtc};
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

fn only(step: &Step) -> Kernel {
    let kernels = kernels(step).unwrap();
    assert_eq!(kernels.len(), 1, "{kernels:?}");
    nvrtc::compile(&kernels);
    host::check(std::slice::from_ref(step));
    kernels[0].clone()
}

#[test]
fn images_with_channels_last_are_read_and_written_sixteen_bytes_at_a_time() {
    let dims = [2, 64, 20, 20];
    for (ty, count) in [(Float16, 8), (Float32, 4)] {
        let image = |buffer| channels_last(buffer, ty, dims);
        let kernel = only(&sum(&dims, vec![Source::Element(image(0)), Source::Element(image(1))], image(2)));
        assert!(kernel.source.contains(&format!("load<true, {count}>(s0 + 0, ((const")), "{}", kernel.source);
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
    let views: [fn(usize, TensorType, [usize; 4]) -> View; 2] =
        [channels_last, |buffer, ty, dims| dense(buffer, ty, &dims)];
    for image in views {
        for ty in [Float16, Float32, Int32, Int64, UInt8, Bool, TensorType::Int8] {
            let mut sources =
                vec![Source::Element(image(0, ty, new)), Source::Reshaped(image(1, ty, [4, 4, 5, 12]))];
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

#[test]
fn functions_are_those_of_the_reference() {
    let mut program = Program::default();
    let x = program.push(Expression::Source(0));
    let low = program.push(Expression::Constant(f32::NEG_INFINITY));
    let unary = [
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
    let mut last = program.push(Expression::Select(x, x, low));
    for function in unary {
        last = program.push(Expression::Unary(function, last));
    }
    let binary = [
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
    for function in binary {
        last = program.push(Expression::Binary(function, last, x));
    }
    let unused = program.push(Expression::Constant(12345.0));
    let (dims, view) = ([3, 5], |buffer| dense(buffer, Float32, &[3, 5]));
    let sources = vec![Source::Element(view(0)), Source::Element(view(7))];
    let kernel = only(&Step::Map(Map {
        dims: dims.to_vec(),
        sources,
        program,
        outputs: vec![(view(1), last), (view(2), x)],
    }));
    assert!(!kernel.source.contains(&format!("e{unused}")) && kernel.buffers.len() == 3, "{kernel:?}");
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
