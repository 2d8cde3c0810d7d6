//! Windows' largest numbers and means, as source.

use std::fmt::Write as _;

use super::source::{Input, Place};
use crate::graph::{PoolKind, Window};
use crate::plan::View;

/// The most taps that are written out.
const MOST_TAPS: usize = 32;

/// Source that fills `place.count` elements of an array; `plain` is where the image and the channel begin.
pub(super) fn source(
    view: &View,
    kind: PoolKind,
    window: &Window,
    input: &Input,
    place: &Place,
    plain: &str,
) -> String {
    let Window { kernel, strides, dilations, begin, end } = window;
    let (count, to) = (place.count, &place.to);
    let unroll = if kernel[0] * kernel[1] <= MOST_TAPS { "#pragma unroll\n" } else { "#pragma unroll 1\n" };
    let (first, each) = match kind {
        PoolKind::Maximum => ("__int_as_float(0xff800000)", "fmaxf(most[j], cell[j])"),
        PoolKind::Average { .. } => ("0.f", "most[j] + cell[j]"),
    };
    let mut text = String::from("    {\n");
    for (axis, name) in ["y", "x"].iter().enumerate() {
        let (along, stride, begin) = (place.along(axis + 2), strides[axis], begin[axis]);
        let _ = writeln!(text, "        const int {name}0 = int({along}) * {stride} - ({begin});");
    }
    let _ = writeln!(text, "        float most[{count}];\n        fill<{count}>(most, {first});");
    let _ = writeln!(text, "{unroll}        for (int r = 0; r < {}; ++r) {{", kernel[0]);
    let _ = writeln!(text, "            const int y = y0 + r * {};", dilations[0]);
    let _ = writeln!(text, "{unroll}            for (int s = 0; s < {}; ++s) {{", kernel[1]);
    let _ = writeln!(text, "                const int x = x0 + s * {};", dilations[1]);
    let (rows, columns) = (view.dims[2], view.dims[3]);
    let _ = writeln!(text, "                if (unsigned(y) < {rows}u && unsigned(x) < {columns}u) {{");
    let at = format!("{plain} + y * {} + x * {}", view.strides[2], view.strides[3]);
    let load = input.reader.load("cell", &at, count);
    let _ = writeln!(text, "                    float cell[{count}];\n                    {load}");
    let _ = writeln!(text, "#pragma unroll\n                    for (int j = 0; j < {count}; ++j) {{");
    let _ = writeln!(text, "                        most[j] = {each};\n                    }}");
    text.push_str("                }\n            }\n        }\n");
    let scale = match kind {
        PoolKind::Maximum => String::new(),
        PoolKind::Average { count_padding } => {
            for (axis, name) in ["y", "x"].iter().enumerate() {
                let length = view.dims[axis + 2].cast_signed();
                let (low, high) =
                    if count_padding { (-begin[axis], length + end[axis]) } else { (0, length) };
                text.push_str(&counted(name, kernel[axis], dilations[axis], low, high));
            }
            text.push_str("        const float cells = float(ny * nx);\n");
            " / cells".into()
        }
    };
    let _ = writeln!(text, "#pragma unroll\n        for (int j = 0; j < {count}; ++j) {{");
    let _ = writeln!(text, "            ({to})[j] = most[j]{scale};\n        }}\n    }}");
    text
}

/// How many taps lie from `low` to before `high` along an axis: `ny` or `nx`.
fn counted(name: &str, taps: usize, dilation: usize, low: isize, high: isize) -> String {
    format!(
        "        int n{name} = 0;\n#pragma unroll\n        for (int t = 0; t < {taps}; ++t) {{\n            \
         const int at = {name}0 + t * {dilation};\n            n{name} += at >= {low} && at < {high};\n        }}\n"
    )
}
