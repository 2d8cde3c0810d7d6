//! Errors of TOML files: the line, the key, and what is wrong with it.

use std::fmt;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::mistakes;

/// What is wrong with a TOML file, for one line of text: `line 4, input.width: found string "a", expected a number`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TomlError {
    /// The line, from 1, if the error is in one.
    pub line: Option<usize>,
    /// The key, after those of its tables, if the file can be read so far.
    pub key: Option<String>,
    /// What is wrong.
    pub sentence: String,
}

impl TomlError {
    /// The error of `text`.
    pub fn of(text: &str, error: &toml::de::Error) -> Self {
        let span = error.span();
        let line = span.as_ref().map(|span| line_at(text, span.start));
        let table = DeTable::parse(text).ok();
        let key = table.zip(span).and_then(|(table, span)| key_at(table.get_ref(), &span));
        Self { line, key, sentence: mistakes::sentence(error.message()) }
    }
}

impl fmt::Display for TomlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(line) = self.line else { return f.write_str(&self.sentence) };
        match &self.key {
            // Some of our own errors begin with it.
            Some(key) if !self.sentence.starts_with(key) => {
                write!(f, "line {line}, {key}: {}", self.sentence)
            }
            _ => write!(f, "line {line}: {}", self.sentence),
        }
    }
}

/// The line of a byte, from 1.
pub fn line_at(text: &str, byte: usize) -> usize {
    text.as_bytes().iter().take(byte).filter(|byte| **byte == b'\n').count() + 1
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
            (
                "[input]\nscale = 1.0\nwidth = \"a\"",
                "line 3, input.width: found string \"a\", expected a whole number",
            ),
            (
                "[output]\n\nlabels = [\n \"a\",\n 7]",
                "line 5, output.labels: found integer 7, expected a text in quotes",
            ),
            (
                "[input]\nheigth = 4",
                "line 2, input.heigth: there is no key 'heigth': 'height' is probably meant",
            ),
            ("[inputs]\nheight = 4", "line 1, inputs: there is no key 'inputs': 'input' is probably meant"),
            ("input.width = -1", "line 1, input.width: found integer -1, expected a whole number"),
            ("[input]\nresize = \"crop\"", "line 2, input.resize: 'crop' is none of letterbox"),
            ("[input]\nwidth = 4\nwidth = 5", "line 3: duplicate key"),
            ("[input]\nwidth = ", "line 2: "),
            ("[input", "line 1: "),
        ] {
            let error = TomlError::of(text, &toml::from_str::<Sidecar>(text).unwrap_err()).to_string();
            assert!(error.starts_with(wanted), "{text}: {error}");
            assert!(!error.contains(['\n', '|', '^']), "{text}: {error}");
        }
    }
}
