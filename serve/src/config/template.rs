//! The `{key}`s of a pipeline description, and of the values in it.

use std::collections::BTreeMap;

/// The keys of a text, in their order.
///
/// Only braces around a name of small letters, digits and `-` are a key: GStreamer writes lists with braces as well, as in
/// `format={NV12,I420}`.
pub fn keys(text: &str) -> Vec<&str> {
    parts(text)
        .into_iter()
        .filter_map(|part| if let TemplatePart::Key(key) = part { Some(key) } else { None })
        .collect()
}

/// A text with the values of its keys. Keys without a value stay as they are.
///
/// This is for single values only: in a whole description, a value could add elements and properties.
pub fn fill(text: &str, values: &BTreeMap<String, String>) -> String {
    let filled = parts(text).into_iter().map(|part| match part {
        TemplatePart::Text(text) => text.to_owned(),
        TemplatePart::Key(key) => values.get(key).cloned().unwrap_or_else(|| format!("{{{key}}}")),
    });
    filled.collect()
}

enum TemplatePart<'a> {
    Text(&'a str),
    Key(&'a str),
}

fn parts(text: &str) -> Vec<TemplatePart<'_>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        match after.split_once('}').filter(|(key, _)| is_key(key)) {
            Some((key, after)) => {
                parts.extend([TemplatePart::Text(before), TemplatePart::Key(key)]);
                rest = after;
            }
            None => {
                parts.push(TemplatePart::Text(&rest[..=before.len()]));
                rest = after;
            }
        }
    }
    parts.push(TemplatePart::Text(rest));
    parts
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_filled_in_and_lists_are_left_alone() {
        let values = [("model", "a {width} b\".onnx"), ("width", "640")];
        let values = values.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        for (text, found, filled) in [
            ("{model}", vec!["model"], "a {width} b\".onnx"),
            (
                "video/x-raw,width={width},format={NV12, I420}",
                vec!["width"],
                "video/x-raw,width=640,format={NV12, I420}",
            ),
            ("{{width}}/{source}", vec!["width", "source"], "{640}/{source}"),
            ("a b={open", vec![], "a b={open"),
        ] {
            assert_eq!(keys(text), found, "{text}");
            assert_eq!(fill(text, &values), filled, "{text}");
        }
    }
}
