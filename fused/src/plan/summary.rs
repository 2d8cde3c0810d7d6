//! Steps in words, for logs.

use cudainfer_kernels::tensor::TensorType;

use super::{Convolution, Epilogue, Map, Normalize, Product, Reduce, Softmax, Source, Step, Top, View};
use crate::graph::{Unary, Window};

impl Step {
    /// What it does, in a line.
    pub fn summary(&self) -> String {
        match self {
            Self::Convolution(Convolution { input, weights, window, groups, epilogue, output, .. }) => {
                let after = epilogue.iter().map(|part| match part {
                    Epilogue::Unary(function) => format!(" {function:?}"),
                    Epilogue::Add(_) => " add".to_owned(),
                    Epilogue::Multiply(_) => " multiply".to_owned(),
                    Epilogue::AddQuantized(..) => " add integers".to_owned(),
                    Epilogue::Store(_) => " store".to_owned(),
                    Epilogue::Table(_) => " table".to_owned(),
                });
                format!(
                    "convolution {} {:?} {:?} stride {:?} groups {groups} of {:?} to {:?}{}",
                    input.ty,
                    weights.dims,
                    window.kernel,
                    window.strides,
                    input.dims,
                    output.dims,
                    after.collect::<String>()
                )
            }
            Self::Map(Map { dims, sources, program, outputs }) => {
                let read = sources.iter().map(|source| match source {
                    Source::Element(view) => format!("{:?}", view.strides),
                    Source::Resized { view, .. } => format!("resized {:?}", view.dims),
                    Source::Padded { view, .. } => format!("padded {:?}", view.dims),
                    Source::Pooled { view, window, .. } => {
                        format!("pooled {:?} by {:?}", view.dims, window.kernel)
                    }
                    Source::Gathered { view, axis, .. } => format!("gathered {:?} along {axis}", view.dims),
                    Source::Sampled { view, .. } => format!("sampled {:?}", view.dims),
                });
                let read: Vec<String> = read.collect();
                let to: Vec<_> = outputs.iter().map(|(view, _)| &view.strides).collect();
                format!("map {dims:?} of {} to {to:?}, {} functions", read.join(", "), program.0.len())
            }
            Self::Reduce(Reduce { kind, input, axes, .. }) => {
                format!("reduce {kind:?} {:?} over {axes:?}", input.dims)
            }
            Self::Softmax(Softmax { input, axis, .. }) => format!("softmax {:?} along {axis}", input.dims),
            Self::Normalize(Normalize { input, axes, .. }) => {
                format!("normalize {:?} of {:?} over {axes:?}", input.dims, input.strides)
            }
            Self::Product(Product { left, right, .. }) => {
                format!("product {:?} by {:?}", left.dims, right.dims)
            }
            Self::Top(Top { input, axis, output, .. }) => {
                format!("top {} of {:?} along {axis}", output.dims[*axis], input.dims)
            }
        }
    }
}

impl Convolution {
    /// What decides how fast it is: everything but where its tensors are.
    pub fn kind(&self) -> String {
        let of = |view: &View| {
            let aligned = view.offset * view.ty.size() % 16;
            let ty = match view.ty {
                TensorType::Float16 => "h",
                TensorType::Int8 => "b",
                TensorType::UInt8 => "u",
                _ => "f",
            };
            format!("{:?}{:?}+{aligned}{ty}", view.dims, view.strides)
        };
        let Self { input, weights, bias, window, groups, zero, epilogue, output } = self;
        let parts = epilogue.iter().map(|part| match part {
            // Which integers stand for which numbers does not matter.
            Epilogue::Unary(Unary::Quantize(_)) => " quantize".to_owned(),
            Epilogue::Unary(Unary::Dequantize(_)) => " dequantize".to_owned(),
            Epilogue::Unary(function) => format!(" {function:?}"),
            Epilogue::Add(view) => format!(" add{}", of(view)),
            Epilogue::Multiply(view) => format!(" mul{}", of(view)),
            Epilogue::AddQuantized(view, _) => format!(" addq{}", of(view)),
            Epilogue::Store(view) => format!(" store{}", of(view)),
            Epilogue::Table(_) => " table".to_owned(),
        });
        let &Window { kernel, strides, dilations, begin, end } = window;
        format!(
            "{} -> {} {:?} k{kernel:?} s{strides:?} d{dilations:?} p{begin:?}{end:?} g{groups}{}{}{}",
            of(input),
            of(output),
            weights.dims,
            if bias.is_some() { " bias" } else { "" },
            if *zero == 0 { "" } else { " zero" },
            parts.collect::<String>()
        )
    }
}
