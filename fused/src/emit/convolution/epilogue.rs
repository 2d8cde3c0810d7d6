//! What is done to a convolution's sums before they are stored, as source.

use std::fmt::Write as _;

use crate::emit::kernel::Slots;
use crate::emit::nest::offset;
use crate::emit::reader::{Reader, width};
use crate::emit::text::unary;
use crate::graph::Unary;
use crate::graph::number::is_byte;
use crate::plan::{Convolution, Epilogue, View};

/// The end of a convolution.
pub(super) struct Finish<'a> {
    convolution: &'a Convolution,
}

/// In what a kernel adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sums {
    /// float32: exact as well for integers of 8 bits, as far as all sums of a convolution are less than 2^24.
    Floats,
    /// int32.
    Integers,
}

impl<'a> Finish<'a> {
    /// Of a convolution.
    pub(super) fn new(convolution: &'a Convolution) -> Self {
        Self { convolution }
    }

    /// Source of the function `finish`, which adds the bias to `count` neighbouring channels' sums, runs the epilogue, and stores them.
    /// `k` is a multiple of `count`.
    pub(super) fn source(&self, name: &str, count: usize, sums: Sums, slots: &mut Slots) -> String {
        let sum = if sums == Sums::Floats { "float* x" } else { "int* sums" };
        let mut text = format!(
            "static __device__ __forceinline__ void {name}(const Buffers& b, {sum}, unsigned n, unsigned k, \
             unsigned p, unsigned q) {{\n"
        );
        let bias = self.convolution.bias.as_ref().map(|bias| {
            let strides = vec![0, bias.strides[0], 0, 0];
            View { dims: self.convolution.output.dims.clone(), strides, ..bias.clone() }
        });
        match (sums, bias) {
            (Sums::Floats, Some(bias)) => {
                let reader = Reader::constant(&bias, slots);
                text.push_str(&operand(&bias, &reader, count, "x[l] + a[l]"));
            }
            (Sums::Floats, None) => {}
            (Sums::Integers, bias) => {
                let bias = bias.map(|bias| Reader::constant(&bias, slots).at(" + k + l"));
                let bias = bias.map_or_else(String::new, |bias| format!(" + __ldg({bias})"));
                let _ = writeln!(text, "    float x[{count}];");
                text.push_str(&each(count, &format!("float(sums[l]{bias})")));
            }
        }
        // Sums of integers are the same in all kernels, and so is what becomes of them: nothing is contracted.
        let [plus, times] = match self.is_of_integers() {
            true => ["__fadd_rn(x[l], a[l])", "__fmul_rn(x[l], a[l])"],
            false => ["x[l] + a[l]", "x[l] * a[l]"],
        };
        for epilogue in &self.convolution.epilogue {
            match epilogue {
                Epilogue::Unary(function) => text.push_str(&each(count, &unary(*function, "x[l]"))),
                Epilogue::Add(view) => {
                    text.push_str(&operand(view, &Reader::new(view, slots), count, plus));
                }
                Epilogue::Multiply(view) => {
                    text.push_str(&operand(view, &Reader::new(view, slots), count, times));
                }
                Epilogue::AddQuantized(view, by) => {
                    let number = unary(Unary::Dequantize(*by), "a[l]");
                    let made = format!("__fadd_rn(x[l], {number})");
                    text.push_str(&operand(view, &Reader::new(view, slots), count, &made));
                }
                Epilogue::Store(view) => text.push_str(&store(view, count, slots)),
                Epilogue::Table(view) => {
                    let results = Reader::constant(view, slots).at("");
                    text.push_str(&each(count, &format!("looked_up({results}, x[l])")));
                }
            }
        }
        text + &store(&self.convolution.output, count, slots) + "}\n\n"
    }

    fn is_of_integers(&self) -> bool {
        is_byte(self.convolution.input.ty)
    }
}

/// Stores the numbers.
fn store(view: &View, count: usize, slots: &mut Slots) -> String {
    let writer = Reader::new(view, slots);
    let together = together(view, count);
    let mut text = String::new();
    for lane in (0..count).step_by(together) {
        let at = writer.at(&position(view, lane));
        let _ = writeln!(text, "    store<{together}>({at}, x + {lane});");
    }
    text
}

/// Does something with each number.
fn each(count: usize, made: &str) -> String {
    format!("#pragma unroll\n    for (int l = 0; l < {count}; ++l) {{\n        x[l] = {made};\n    }}\n")
}

/// Products of integers of 8 bits, of which float32 holds all sums: 255 * 128 * 515 is the first beyond 2^24.
pub(super) const MOST_EXACT: usize = 514;

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
