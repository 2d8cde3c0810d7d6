//! Steps in words, for logs.

use super::{Convolution, Epilogue, Map, Reduce, Softmax, Source, Step};

impl Step {
    /// What it does, in a line.
    pub fn summary(&self) -> String {
        match self {
            Self::Convolution(Convolution { input, weights, window, groups, epilogue, output, .. }) => {
                let after = epilogue.iter().map(|part| match part {
                    Epilogue::Unary(function) => format!(" {function:?}"),
                    Epilogue::Add(_) => " add".to_owned(),
                    Epilogue::Multiply(_) => " multiply".to_owned(),
                });
                format!(
                    "convolution {:?} {:?} stride {:?} groups {groups} of {:?} to {:?}{}",
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
                    Source::Reshaped(view) => format!("reshaped {:?}", view.dims),
                });
                let read: Vec<String> = read.collect();
                let to: Vec<_> = outputs.iter().map(|(view, _)| &view.strides).collect();
                format!("map {dims:?} of {} to {to:?}, {} functions", read.join(", "), program.0.len())
            }
            Self::Reduce(Reduce { kind, input, axes, .. }) => {
                format!("reduce {kind:?} {:?} over {axes:?}", input.dims)
            }
            Self::Softmax(Softmax { input, axis, .. }) => format!("softmax {:?} along {axis}", input.dims),
        }
    }
}
