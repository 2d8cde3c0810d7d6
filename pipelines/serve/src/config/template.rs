//! The `{key}`s of a launch line.

use std::fmt::Write;

/// Fills in the `{key}`s of `line`; whatever a value contains, it stays one value of a property.
///
/// A brace that is not around a name of small letters, digits and `-` is left alone: GStreamer writes lists so, as in
/// `format={NV12,I420}`.
///
/// # Errors
/// The first key without a value.
pub fn fill<'a>(line: &str, value: impl Fn(&str) -> Option<String> + 'a) -> Result<String, String> {
    let mut filled = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(open) = rest.find('{') {
        let (before, behind) = rest.split_at(open);
        filled.push_str(before);
        let key = behind[1..].split('}').next().filter(|key| is_key(key) && behind[1..].len() > key.len());
        let Some(key) = key else {
            filled.push('{');
            rest = &behind[1..];
            continue;
        };
        let value = value(key).ok_or_else(|| key.to_owned())?;
        // Where a property's whole value is meant, it is quoted, so that it may have spaces; inside of caps and texts it is not.
        rest = &behind[key.len() + 2..];
        let whole = before.ends_with('=') && rest.chars().next().is_none_or(char::is_whitespace);
        if whole && !plain(&value) {
            let _ = write!(filled, "\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
        } else {
            filled.push_str(&value);
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

fn plain(value: &str) -> bool {
    !value.is_empty() && value.chars().all(|c| c.is_alphanumeric() || "-_./:".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_filled_in_and_lists_are_left_alone() {
        let value = |key: &str| match key {
            "model" => Some("a b\".onnx".to_owned()),
            "width" => Some("640".to_owned()),
            _ => None,
        };
        let line = "trtinfer model={model} ! video/x-raw,width={width},format={NV12, I420} ! x";
        let filled = "trtinfer model=\"a b\\\".onnx\" ! video/x-raw,width=640,format={NV12, I420} ! x";
        assert_eq!(fill(line, value).unwrap(), filled);
        assert_eq!(fill("a b={classes}", value).unwrap_err(), "classes");
        assert_eq!(fill("a b={open", value).unwrap(), "a b={open");
    }
}
