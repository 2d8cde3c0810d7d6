//! Images at places between their pixels, as source.

use std::fmt::Write as _;

use super::source::{Input, Place};
use crate::emit::nest::offset;
use crate::graph::{Outside, Sampling};
use crate::plan::View;

/// Source that fills `place.count` elements of an array; `plain` is where the image and the channel begin.
pub(super) fn source(
    view: &View,
    places: &[View; 2],
    how: Sampling,
    input: &Input,
    place: &Place,
    plain: &str,
) -> String {
    let (count, to) = (place.count, &place.to);
    let pixels = if how.nearest { 1 } else { 2 };
    let mut text = String::from("    {\n");
    for (axis, name) in ["x", "y"].into_iter().enumerate() {
        let at = offset(&place.counters, &place.nest.strides(&places[axis].strides));
        let (length, at) = (view.dims[3 - axis], input.others[axis].element(&at));
        let corners = how.align_corners;
        let _ = writeln!(text, "        float {name} = grid_place<{corners}>({at}, {length}.f);");
        if how.nearest {
            let _ = writeln!(text, "        {name} = rintf({name});");
        }
        let folded = folded(how, name, length);
        let _ =
            writeln!(text, "        {name} = {folded};\n        const float first_{name} = floorf({name});");
        let _ = writeln!(
            text,
            "        const float w{name}[2] = {{1.f - ({name} - first_{name}), {name} - first_{name}}};"
        );
    }
    let (rows, columns) = (view.dims[2], view.dims[3]);
    let [row, column] = [("r", rows), ("c", columns)].map(|(name, length)| folded(how, name, length));
    let at = format!(
        "{plain} + inside({row}, {}) * {} + inside({column}, {}) * {}",
        rows - 1,
        view.strides[2],
        columns - 1,
        view.strides[3]
    );
    let load = input.reader.load("old", &at, count);
    let is_inside = match how.outside {
        Outside::Zeros => format!("r >= 0.f && r <= {}.f && c >= 0.f && c <= {}.f", rows - 1, columns - 1),
        Outside::Border | Outside::Reflection => "true".into(),
    };
    let _ = write!(
        text,
        "        float sum[{count}];
        fill<{count}>(sum, 0.f);
#pragma unroll
        for (int j = 0; j < {pixels}; ++j) {{
            const float r = first_y + float(j);
#pragma unroll
            for (int i = 0; i < {pixels}; ++i) {{
                const float c = first_x + float(i), weight = wy[j] * wx[i];
                float old[{count}];
                if ({is_inside}) {{
                    {load}
                }} else {{
                    fill<{count}>(old, 0.f);
                }}
#pragma unroll
                for (int k = 0; k < {count}; ++k) {{
                    sum[k] = fmaf(weight, old[k], sum[k]);
                }}
            }}
        }}
#pragma unroll
        for (int k = 0; k < {count}; ++k) {{
            ({to})[k] = sum[k];
        }}
    }}
"
    );
    text
}

/// Where a place is found that may be outside.
fn folded(how: Sampling, at: &str, length: usize) -> String {
    let last = length - 1;
    match how.outside {
        Outside::Zeros => at.into(),
        Outside::Border => format!("fminf(fmaxf({at}, 0.f), {last}.f)"),
        Outside::Reflection if how.align_corners => format!("mirrored({at}, 0.f, {last}.f)"),
        Outside::Reflection => format!("mirrored({at}, -0.5f, {last}.5f)"),
    }
}
