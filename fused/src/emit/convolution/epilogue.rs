//! What is done to a convolution's sums before they are stored, as source.

use std::fmt::Write as _;

use crate::emit::kernel::Slots;
use crate::emit::nest::offset;
use crate::emit::reader::{Reader, width};
use crate::emit::text::unary;
use crate::plan::{Convolution, Epilogue, View};

/// The end of a convolution.
pub(super) struct Finish<'a> {
    convolution: &'a Convolution,
}

impl<'a> Finish<'a> {
    /// Of a convolution.
    pub(super) fn new(convolution: &'a Convolution) -> Self {
        Self { convolution }
    }

    /// Source of the function `finish`, which adds the bias to `count` neighbouring channels' sums, runs the epilogue, and stores them.
    /// `k` is a multiple of `count`.
    pub(super) fn source(&self, name: &str, count: usize, slots: &mut Slots) -> String {
        let mut text = format!(
            "static __device__ __forceinline__ void {name}(const Buffers& b, float* x, unsigned n, unsigned k, \
             unsigned p, unsigned q) {{\n"
        );
        if let Some(bias) = &self.convolution.bias {
            let strides = vec![0, bias.strides[0], 0, 0];
            let bias = View { dims: self.convolution.output.dims.clone(), strides, ..bias.clone() };
            let reader = Reader::constant(&bias, slots);
            text.push_str(&operand(&bias, &reader, count, "x[l] + a[l]"));
        }
        for epilogue in &self.convolution.epilogue {
            match epilogue {
                Epilogue::Unary(function) => {
                    let made = unary(*function, "x[l]");
                    let _ = write!(
                        text,
                        "#pragma unroll\n    for (int l = 0; l < {count}; ++l) {{\n        x[l] = {made};\n    }}\n"
                    );
                }
                Epilogue::Add(view) => {
                    text.push_str(&operand(view, &Reader::new(view, slots), count, "x[l] + a[l]"));
                }
                Epilogue::Multiply(view) => {
                    text.push_str(&operand(view, &Reader::new(view, slots), count, "x[l] * a[l]"));
                }
            }
        }
        let output = &self.convolution.output;
        let writer = Reader::new(output, slots);
        let together = together(output, count);
        for lane in (0..count).step_by(together) {
            let at = writer.at(&position(output, lane));
            let _ = writeln!(text, "    store<{together}>({at}, x + {lane});");
        }
        text + "}\n\n"
    }
}

/// The most channels of a tensor that lie together and at multiples of their number.
pub(super) fn together(view: &View, most: usize) -> usize {
    let strides = [view.strides[0], view.strides[2], view.strides[3], view.strides[1]];
    let dims = [view.dims[0], view.dims[2], view.dims[3], 0];
    let strides: Vec<isize> =
        strides.into_iter().zip(dims).map(|(stride, dim)| if dim == 1 { 0 } else { stride }).collect();
    width(view.offset, &strides, most)
}

/// Where channel `k + lane` lies.
fn position(view: &View, lane: usize) -> String {
    let counters = ["n".to_owned(), format!("(k + {lane})"), "p".into(), "q".into()];
    offset(&counters, &view.strides)
}

/// Loads a tensor's elements, and does something with each.
fn operand(view: &View, reader: &Reader, count: usize, made: &str) -> String {
    let mut text = format!("    {{\n        float a[{count}];\n");
    if view.strides[1] == 0 {
        let _ = writeln!(text, "        fill<{count}>(a, {});", reader.element(&position(view, 0)));
    } else {
        let together = together(view, count);
        for lane in (0..count).step_by(together) {
            let load = reader.load(&format!("a + {lane}"), &position(view, lane), together);
            let _ = writeln!(text, "        {load}");
        }
    }
    let _ = write!(
        text,
        "#pragma unroll\n        for (int l = 0; l < {count}; ++l) {{\n            x[l] = {made};\n        }}\n    }}\n"
    );
    text
}
