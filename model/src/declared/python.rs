//! Python's literals, in which exporters write what `str()` makes of a value: `{0: 'person', 1: "it's"}`.

use serde_json::{Map, Value};

/// Maximum depth of nested values.
const DEEPEST: usize = 32;

/// Reads one literal: numbers, strings, `True`, `False`, `None`, lists, tuples, and dicts whose keys are numbers or strings.
/// Tuples become lists, keys text. `None` if the text is anything else.
pub(super) fn literal(text: &str) -> Option<Value> {
    let mut reader = Reader { rest: text };
    let value = reader.value(DEEPEST)?;
    reader.skip();
    reader.rest.is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Whether this text comes next, after spaces; it is then skipped.
    fn eat(&mut self, token: &str) -> bool {
        self.skip();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self, deepest: usize) -> Option<Value> {
        let deepest = deepest.checked_sub(1)?;
        self.skip();
        match self.rest.chars().next()? {
            '[' => self.list(']', deepest),
            '(' => self.list(')', deepest),
            '{' => self.dict(deepest),
            '\'' | '"' => self.string().map(Value::String),
            _ => self.word(),
        }
    }

    fn list(&mut self, close: char, deepest: usize) -> Option<Value> {
        self.rest = self.rest.get(1..)?;
        let mut values = Vec::new();
        let close = close.to_string();
        while !self.eat(&close) {
            values.push(self.value(deepest)?);
            if !self.eat(",") {
                return self.eat(&close).then_some(Value::Array(values));
            }
        }
        Some(Value::Array(values))
    }

    fn dict(&mut self, deepest: usize) -> Option<Value> {
        self.rest = self.rest.get(1..)?;
        let mut values = Map::new();
        while !self.eat("}") {
            let key = self.key()?;
            if !self.eat(":") {
                return None;
            }
            let value = self.value(deepest)?;
            values.insert(key, value);
            if !self.eat(",") {
                return self.eat("}").then_some(Value::Object(values));
            }
        }
        Some(Value::Object(values))
    }

    /// A number or a string as text.
    fn key(&mut self) -> Option<String> {
        self.skip();
        if self.rest.starts_with(['\'', '"']) {
            return self.string();
        }
        match self.word()? {
            Value::Number(key) => Some(key.to_string()),
            _ => None,
        }
    }

    fn string(&mut self) -> Option<String> {
        let mut chars = self.rest.chars();
        let quote = chars.next()?;
        let mut text = String::new();
        loop {
            match chars.next()? {
                c if c == quote => break,
                '\\' => match chars.next()? {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'x' => text.push(code(&mut chars, 2)?),
                    'u' => text.push(utf16(&mut chars)?),
                    'U' => text.push(code(&mut chars, 8)?),
                    c @ ('\\' | '\'' | '"') => text.push(c),
                    _ => return None,
                },
                '\n' => return None,
                c => text.push(c),
            }
        }
        self.rest = chars.as_str();
        Some(text)
    }

    fn word(&mut self) -> Option<Value> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            "None" => Some(Value::Null),
            number => match number.parse::<i64>() {
                Ok(number) => Some(number.into()),
                // Infinity and NaN are no JSON, and nothing here may be either.
                Err(_) => serde_json::Number::from_f64(number.parse().ok()?).map(Value::Number),
            },
        }
    }
}

/// The character whose code is written in this number of hexadecimal digits.
fn code(chars: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    char::from_u32(hexadecimal(chars, digits)?)
}

/// The character that one `\u` begins, or two: JSON, which some libraries write, has those beyond 16 bits as a surrogate pair.
fn utf16(chars: &mut std::str::Chars<'_>) -> Option<char> {
    let first = u16::try_from(hexadecimal(chars, 4)?).ok()?;
    let mut units = vec![first];
    if (0xd800..0xdc00).contains(&first) {
        let pair = chars.next() == Some('\\') && chars.next() == Some('u');
        units.push(u16::try_from(hexadecimal(chars, 4)?).ok().filter(|_| pair)?);
    }
    char::decode_utf16(units).next()?.ok()
}

fn hexadecimal(chars: &mut std::str::Chars<'_>, digits: usize) -> Option<u32> {
    let text: String = chars.take(digits).collect();
    let valid = text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit());
    u32::from_str_radix(&text, 16).ok().filter(|_| valid)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literals_become_what_python_reads() {
        for (text, wanted) in [
            (
                "{0: 'person', 1: \"it's\", 2: 'a, b: {c}'}",
                json!({"0": "person", "1": "it's", "2": "a, b: {c}"}),
            ),
            ("[640, 480]", json!([640, 480])),
            ("(17, 3,)", json!([17, 3])),
            (
                "{'nms': False, 'iou': 0.7, 'x': None, 'y': [-1, 1e-3], }",
                json!({"nms": false, "iou": 0.7, "x": null, "y": [-1, 0.001]}),
            ),
            (r"'tab\t, \x41\u00fc\U0001F600, \'quoted\' \\'", json!("tab\t, Aü😀, 'quoted' \\")),
            (r#"{"0": "\ud83d\udc1f \u00fc"}"#, json!({"0": "🐟 ü"})),
            (" True ", json!(true)),
            ("{}", json!({})),
            ("[]", json!([])),
        ] {
            assert_eq!(literal(text), Some(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_no_literal_or_too_deep_is_nothing() {
        let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(literal(&deep(30)).is_some());
        for text in [
            "",
            "{",
            "[1",
            "[1 2]",
            "{0 'a'}",
            "{0: }",
            "{[1]: 2}",
            "'open",
            "'bad \\q'",
            "'\\x4'",
            "'\\ud800'",
            "'\\udc1f'",
            "'\\ud83d\\u0041'",
            "'\\ud83dxudc1f'",
            "'\\ud83d\\udc1'",
            "__import__('os')",
            "1 2",
            "{0: 'a'} x",
            "nan",
            "inf",
            "1e999",
            "[,]",
            "{,}",
            "'line\nend'",
            &deep(33),
            &deep(100_000),
            &"[".repeat(100_000),
            &"{".repeat(100_000),
            &"{0:".repeat(100_000),
        ] {
            assert_eq!(literal(text), None, "{}", &text[..text.len().min(20)]);
        }
    }
}
