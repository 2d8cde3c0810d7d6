//! Resized tensors, as source.

use std::fmt::Write as _;

use super::source::{Input, Place};
use crate::emit::text::literal;
use crate::graph::{Coordinates, ResizeMode, Rounding};
use crate::plan::View;

/// How a tensor is resized.
pub(super) struct Resized<'a> {
    pub(super) view: &'a View,
    pub(super) mode: ResizeMode,
    pub(super) coordinates: Coordinates,
    pub(super) scales: &'a [f32],
}

/// Source that fills `place.count` elements of an array; `plain` is where those dimensions lead that are not resized.
pub(super) fn source(resized: &Resized, input: &Input, place: &Place, plain: &str) -> String {
    let axes: Vec<usize> = (0..input.special.len()).filter(|dim| input.special[*dim]).collect();
    let samples = match resized.mode {
        ResizeMode::Nearest(_) => 1,
        ResizeMode::Linear => 2,
        ResizeMode::Cubic { .. } => 4,
    };
    let (count, to) = (place.count, &place.to);
    let mut text = String::from("    {\n");
    let (mut at, mut weights) = (plain.to_owned(), Vec::new());
    for axis in &axes {
        text.push_str(&table(resized, *axis, place));
        let _ = write!(at, " + i{axis}[j{axis}] * {}", resized.view.strides[*axis]);
        weights.push(format!("w{axis}[j{axis}]"));
    }
    if samples == 1 || axes.is_empty() {
        for axis in &axes {
            at = at.replace(&format!("[j{axis}]"), "[0]");
        }
        return text + &format!("        {}\n    }}\n", input.reader.load(to, &at, count));
    }
    let _ = writeln!(text, "        float sum[{count}];\n        fill<{count}>(sum, 0.f);");
    for axis in &axes {
        let _ = writeln!(
            text,
            "#pragma unroll\n        for (int j{axis} = 0; j{axis} < {samples}; ++j{axis}) {{"
        );
    }
    let load = input.reader.load("old", &at, count);
    let _ = writeln!(text, "            float old[{count}];\n            {load}");
    let _ = writeln!(text, "            const float weight = {};", weights.join(" * "));
    let _ = writeln!(text, "#pragma unroll\n            for (int j = 0; j < {count}; ++j) {{");
    text.push_str("                sum[j] = fmaf(weight, old[j], sum[j]);\n            }\n");
    text.push_str(&"        }\n".repeat(axes.len()));
    let _ = writeln!(text, "#pragma unroll\n        for (int j = 0; j < {count}; ++j) {{");
    let _ = writeln!(text, "            ({to})[j] = sum[j];\n        }}\n    }}");
    text
}

/// Source of the old samples' indices along an axis, `i0` for axis 0, and of their weights, `w0`.
fn table(resized: &Resized, axis: usize, place: &Place) -> String {
    let (old, scale) = (resized.view.dims[axis], literal(resized.scales[axis]));
    let (last, x) = (old - 1, place.along(axis));
    let new = place.extent(axis);
    let at = match resized.coordinates {
        Coordinates::PytorchHalfPixel | Coordinates::AlignCorners if new == 1 => "0.f".into(),
        Coordinates::HalfPixel | Coordinates::PytorchHalfPixel => format!("half_pixel({x}, {scale})"),
        Coordinates::Asymmetric => format!("asymmetric({x}, {scale})"),
        Coordinates::AlignCorners => format!("align_corners({x}, {last}.f, {}.f)", new - 1),
    };
    match resized.mode {
        ResizeMode::Nearest(rounding) => {
            let nearest = match rounding {
                Rounding::PreferFloor => format!("ceilf({at} - 0.5f)"),
                Rounding::PreferCeil => format!("roundf({at})"),
                Rounding::Floor => format!("floorf({at})"),
                Rounding::Ceil => format!("ceilf({at})"),
            };
            format!("        const int i{axis}[1] = {{inside({nearest}, {last})}};\n")
        }
        ResizeMode::Linear => format!(
            "        const float f{axis} = fminf(fmaxf({at}, 0.f), {last}.f);\n        \
             const int i{axis}[2] = {{int(f{axis}), min(int(f{axis}) + 1, {last})}};\n        \
             const float t{axis} = f{axis} - floorf(f{axis});\n        \
             const float w{axis}[2] = {{1.f - t{axis}, t{axis}}};\n"
        ),
        ResizeMode::Cubic { a } => {
            let a = literal(a);
            let inside = |step: i8| format!("inside(f{axis} + {step}.f, {last})");
            format!(
                "        const float f{axis} = floorf({at});\n        const float t{axis} = {at} - f{axis};\n        \
                 const int i{axis}[4] = {{{}, {}, {}, {}}};\n        \
                 const float w{axis}[4] = {{cubic_far(t{axis} + 1.f, {a}), cubic_near(t{axis}, {a}), \
                 cubic_near(1.f - t{axis}, {a}), cubic_far(2.f - t{axis}, {a})}};\n",
                inside(-1),
                inside(0),
                inside(1),
                inside(2)
            )
        }
    }
}
