//! YAML as values of JSON, with limits: a text of a megabyte makes no more than that, because aliases are refused.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// Maximum depth of nested values.
const DEEPEST: usize = 32;

/// Reads the first document. Unquoted words are read as in YAML 1.2: numbers, `true`, `false`, `null`, else text.
///
/// # Errors
/// A sentence: it is not valid, has aliases or is nested too deeply.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let mut parser = Parser::new_from_str(text);
    let mut open: Vec<Open> = Vec::new();
    while let Some(event) = parser.next_event() {
        let (event, _) = event.map_err(|e| e.to_string())?;
        let value = match event {
            Event::Scalar(text, style, ..) => scalar(&text, style),
            Event::SequenceStart(..) => {
                push(&mut open, Open::List(Vec::new()))?;
                continue;
            }
            Event::MappingStart(..) => {
                push(&mut open, Open::Map(Map::new(), None))?;
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(values)) => Value::Array(values),
                Some(Open::Map(values, _)) => Value::Object(values),
                None => return Err("it ends what has not begun".into()),
            },
            Event::Alias(_) => return Err("it has an alias, which is not followed".into()),
            Event::DocumentEnd | Event::StreamEnd => break,
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => continue,
        };
        match open.last_mut() {
            None => return Ok(value),
            Some(Open::List(values)) => values.push(value),
            Some(Open::Map(values, key)) => match key.take() {
                Some(key) => drop(values.insert(key, value)),
                None => *key = Some(key_of(value)?),
            },
        }
    }
    Ok(Value::Null)
}

/// A value that is not complete.
enum Open {
    List(Vec<Value>),
    /// With the key whose value comes next.
    Map(Map<String, Value>, Option<String>),
}

fn push(open: &mut Vec<Open>, value: Open) -> Result<(), String> {
    if open.len() >= DEEPEST {
        return Err(format!("it is nested more than {DEEPEST} times"));
    }
    open.push(value);
    Ok(())
}

fn key_of(value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Array(_) | Value::Object(_) => Err("a key is not a word".into()),
        other => Ok(other.to_string()),
    }
}

fn scalar(text: &str, style: ScalarStyle) -> Value {
    if style != ScalarStyle::Plain {
        return text.into();
    }
    match text {
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        "null" | "Null" | "NULL" | "~" | "" => Value::Null,
        other => match other.parse::<i64>() {
            Ok(number) => number.into(),
            Err(_) => {
                let looks = other.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
                let number = other.parse().ok().filter(|_| looks).and_then(serde_json::Number::from_f64);
                number.map_or_else(|| other.into(), Value::Number)
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_those_of_yaml() {
        let text = "a: 1\nb: [x, 'y', 1.5, -2e-3, true, ~]\nc:\n- {d: e}\n- \"1\"\n3: no\n";
        let wanted =
            json!({"a": 1, "b": ["x", "y", 1.5, -0.002, true, null], "c": [{"d": "e"}, "1"], "3": "no"});
        assert_eq!(read(text).unwrap(), wanted);
        assert_eq!(read("").unwrap(), Value::Null);
    }

    #[test]
    fn hostile_texts_are_refused_at_once() {
        let laughs =
            (1..30).map(|i| format!("l{i}: &l{i} [*l{0}, *l{0}, *l{0}]\n", i - 1)).collect::<String>();
        assert!(read(&format!("l0: &l0 ha\n{laughs}")).unwrap_err().contains("alias"));
        for text in [
            "[".repeat(100),
            "a: ".repeat(100),
            "[1".into(),
            "{[1]: 2}".into(),
            "a: b: c".into(),
            "- \t- a\n b".into(),
            "%".into(),
        ] {
            assert!(read(&text).is_err(), "{text}");
        }
    }
}
