//! What is done to a convolution's sums before they are stored, as source.

use std::fmt::Write as _;

use cudainfer_kernels::tensor::TensorType;

use crate::emit::kernel::Slots;
use crate::emit::nest::offset;
use crate::emit::reader::{Reader, width};
use crate::emit::text::{c_type, literal, quantize, unary};
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

    /// Source of the function `finish<PLACES>`, which adds the bias to the sums of `count` neighbouring channels of each of some pixels, runs
    /// the epilogue, and stores them. `k`, the first channel, is a multiple of `count`. What it loads, it loads for all pixels before it uses
    /// it, so that a thread waits once.
    pub(super) fn source(&self, name: &str, count: usize, sums: Sums, slots: &mut Slots) -> String {
        let sum = if sums == Sums::Floats { "float* x" } else { "const int* sums" };
        let mut text = format!(
            "template <int PLACES> static __device__ __forceinline__ void {name}(const Buffers& b, {sum}, unsigned k, \
             const Pixel* at) {{\n"
        );
        let bias = self.convolution.bias.as_ref().map(|bias| {
            let strides = vec![0, bias.strides[0], 0, 0];
            View { dims: self.convolution.output.dims.clone(), strides, ..bias.clone() }
        });
        match (sums, bias) {
            (Sums::Floats, Some(bias)) => {
                let reader = Reader::constant(&bias, slots);
                text.push_str(&operand(&bias, &reader, count, |a| format!("x[l] + {a}")));
            }
            (Sums::Floats, None) => {}
            (Sums::Integers, bias) => {
                let bias = bias.map(|bias| Reader::constant(&bias, slots).at(&format!(" + k + l % {count}")));
                let bias = bias.map_or_else(String::new, |bias| format!(" + __ldg({bias})"));
                let _ = writeln!(text, "    float x[PLACES * {count}];");
                text.push_str(&each(count, &format!("float(sums[l]{bias})")));
            }
        }
        // Sums of integers are the same in all kernels, and so is what becomes of them: nothing is contracted.
        let is_exact = is_byte(self.convolution.input.ty);
        let plus = |a: &str| if is_exact { format!("__fadd_rn(x[l], {a})") } else { format!("x[l] + {a}") };
        let times = |a: &str| if is_exact { format!("__fmul_rn(x[l], {a})") } else { format!("x[l] * {a}") };
        let mut form = Form::Number;
        for epilogue in &self.convolution.epilogue {
            let takes_carriers = match epilogue {
                Epilogue::Store(_) | Epilogue::Table(_) => true,
                Epilogue::Unary(Unary::Dequantize(_)) => form == Form::Raised,
                _ => false,
            };
            if !takes_carriers {
                text.push_str(&form.numbers(count));
                form = Form::Number;
            }
            match epilogue {
                Epilogue::Unary(Unary::Quantize(by)) => {
                    text.push_str(&each(count, &quantize("quantize_raised", *by, "x[l]")));
                    form = Form::Raised;
                }
                Epilogue::Unary(Unary::Dequantize(by)) if form == Form::Raised => {
                    let [scale, zero] = [by.scale, by.zero.into()].map(literal);
                    text.push_str(&each(count, &format!("dequantize_raised(x[l], {scale}, {zero})")));
                    form = Form::Number;
                }
                Epilogue::Unary(Unary::Gelu) if self.convolution.output.ty == TensorType::Float16 => {
                    text.push_str(&each(count, "gelu_half(x[l])"));
                }
                Epilogue::Unary(function) => text.push_str(&each(count, &unary(*function, "x[l]"))),
                Epilogue::Add(view) => {
                    text.push_str(&operand(view, &Reader::new(view, slots), count, plus));
                }
                Epilogue::Multiply(view) => {
                    text.push_str(&operand(view, &Reader::new(view, slots), count, times));
                }
                Epilogue::AddQuantized(view, by) => {
                    let made = |a: &str| format!("__fadd_rn(x[l], {})", unary(Unary::Dequantize(*by), a));
                    text.push_str(&operand(view, &Reader::new(view, slots), count, made));
                }
                Epilogue::Store(view) => text.push_str(&store(view, count, form, slots)),
                Epilogue::Table(view) => {
                    if form == Form::Number {
                        text.push_str(&each(count, "x[l] + RAISED"));
                    }
                    let results = Reader::constant(view, slots).at("");
                    text.push_str(&each(count, &format!("looked_up({results}, x[l])")));
                    form = Form::Byte(view.ty);
                }
            }
        }
        let output = &self.convolution.output;
        if !is_byte(output.ty) {
            text.push_str(&form.numbers(count));
            form = Form::Number;
        }
        text + &store(output, count, form, slots) + "}\n\n"
    }
}

/// What the floats hold that a kernel computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The number.
    Number,
    /// An integer of 8 bits and RAISED (cuda/memory.cuh).
    Raised,
    /// Such an integer of this type as the lowest byte.
    Byte(TensorType),
}

impl Form {
    /// Source that makes numbers of what is of this form.
    fn numbers(self, count: usize) -> String {
        match self {
            Form::Number => String::new(),
            Form::Raised => each(count, "x[l] - RAISED"),
            Form::Byte(ty) => each(count, &format!("number(carried<{}>(x[l]))", c_type(ty))),
        }
    }
}

/// Stores the numbers, or integers of the tensor's type.
fn store(view: &View, count: usize, form: Form, slots: &mut Slots) -> String {
    let writer = Reader::new(view, slots);
    let together = together(view, count);
    let store = if form == Form::Number { "store" } else { "store_carried" };
    let mut text =
        String::from("#pragma unroll\n    for (int u = 0; u < PLACES; ++u) {\n        if (at[u].there) {\n");
    for lane in (0..count).step_by(together) {
        let at = writer.at(&position(view, lane));
        let _ = writeln!(text, "            {store}<{together}>({at}, x + u * {count} + {lane});");
    }
    text + "        }\n    }\n"
}

/// Does something with each number.
fn each(count: usize, made: &str) -> String {
    format!(
        "#pragma unroll\n    for (int l = 0; l < PLACES * {count}; ++l) {{\n        x[l] = {made};\n    }}\n"
    )
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

/// Where channel `k + lane` of pixel `at[u]` lies.
fn position(view: &View, lane: usize) -> String {
    let counters = ["at[u].n".to_owned(), format!("(k + {lane})"), "at[u].p".into(), "at[u].q".into()];
    offset(&counters, &view.strides)
}

/// Loads a tensor's elements, and makes something of each number and the element, whose name `made` gets.
fn operand(view: &View, reader: &Reader, count: usize, made: impl Fn(&str) -> String) -> String {
    // Of a tensor that is the same for all pixels, there is one for each channel.
    let (places, a) = match view.strides[..] {
        [0, _, 0, 0] => ("1", format!("a[l % {count}]")),
        _ => ("PLACES", "a[l]".to_owned()),
    };
    let mut text = format!(
        "    {{\n        float a[{places} * {count}];\n#pragma unroll\n        for (int u = 0; u < {places}; ++u) {{\n"
    );
    if view.strides[1] == 0 {
        let element = reader.element(&position(view, 0));
        let _ = writeln!(text, "            fill<{count}>(a + u * {count}, {element});");
    } else {
        let together = together(view, count);
        for lane in (0..count).step_by(together) {
            let load = reader.load(&format!("a + u * {count} + {lane}"), &position(view, lane), together);
            let _ = writeln!(text, "            {load}");
        }
    }
    text + "        }\n" + &each(count, &made(&a)) + "    }\n"
}
