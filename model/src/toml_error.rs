//! Errors of TOML files in one line: the number of the line, the key, and what is wrong with it.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// What is wrong with `text`: `line 4, input.width: invalid type: string "a", expected u32`.
pub(super) fn sentence(text: &str, error: &toml::de::Error) -> String {
    // Some are a list of expectations with a line each.
    let words: Vec<_> = error.message().split_whitespace().collect();
    let words = words.join(" ");
    let Some(span) = error.span() else { return words };
    let before = text.as_bytes().get(..span.start).unwrap_or_default();
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let key = DeTable::parse(text).ok().and_then(|table| key_at(table.get_ref(), &span));
    match key {
        // Some of our own errors begin with it.
        Some(key) if !words.starts_with(&key) => format!("line {line}, {key}: {words}"),
        _ => format!("line {line}: {words}"),
    }
}

/// The innermost key whose name or value contains the span, with those of its tables before it.
fn key_at(table: &DeTable<'_>, span: &Range<usize>) -> Option<String> {
    let contains = |outer: Range<usize>| outer.start <= span.start && span.end <= outer.end;
    table.iter().find_map(|(key, value)| {
        let name = key.get_ref();
        if contains(key.span()) {
            return Some(name.to_string());
        }
        // A table's own span may be that of its header only.
        let inner = match value.get_ref() {
            DeValue::Table(table) => key_at(table, span).map(|inner| format!("{name}.{inner}")),
            _ => None,
        };
        inner.or_else(|| contains(value.span()).then(|| name.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use super::super::Sidecar;
    use super::*;

    #[test]
    fn an_error_is_one_line_with_its_number_and_the_key() {
        for (text, wanted) in [
            ("[input]\nscale = 1.0\nwidth = \"a\"", "line 3, input.width: invalid type: string \"a\""),
            ("[output]\n\nlabels = [\n \"a\",\n 7]", "line 5, output.labels: invalid type: integer `7`"),
            ("[input]\nheigth = 4", "line 2, input.heigth: unknown field `heigth`, expected one of `name`, "),
            ("[inputs]\nheight = 4", "line 1, inputs: unknown field `inputs`"),
            ("input.width = -1", "line 1, input.width: invalid value: integer `-1`"),
            ("[input]\nresize = \"crop\"", "line 2, input.resize: 'crop' is none of letterbox"),
            ("[input]\nwidth = 4\nwidth = 5", "line 3: duplicate key"),
            ("[input]\nwidth = ", "line 2: "),
            ("[input", "line 1: "),
        ] {
            let error = sentence(text, &toml::from_str::<Sidecar>(text).unwrap_err());
            assert!(error.starts_with(wanted), "{text}: {error}");
            assert!(!error.contains(['\n', '|', '^']), "{text}: {error}");
        }
    }
}
