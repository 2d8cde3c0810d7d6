//! Mistakes in keys and values that users write, in TOML and JSON, as sentences.

/// An error of serde in the words of the user who writes a configuration. For an unknown name, the sentence has the nearest
/// known one.
pub fn sentence(message: &str) -> String {
    // Some are a list of expectations with a line each.
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return unknown(rest, "there is no key");
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        return unknown(rest, "there is no choice");
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("the key {} is missing", key.replace('`', "'"));
    }
    let found = ["invalid type: ", "invalid value: "].iter().find_map(|prefix| message.strip_prefix(prefix));
    match found.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, expected)) => {
            format!("found {}, expected {}", found.replace('`', ""), in_words(expected))
        }
        None => message,
    }
}

/// `rest` has the wrong name and all known names, each between backticks.
fn unknown(rest: &str, what: &str) -> String {
    let mut quoted = rest.split('`').skip(1).step_by(2);
    let wrong = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.collect();
    match nearest(wrong, known.iter().copied()) {
        Some(name) => format!("{what} '{wrong}': '{name}' is probably meant"),
        None => format!("{what} '{wrong}', there are {}", known.join(", ")),
    }
}

/// A type of Rust or of serde, in words.
fn in_words(expected: &str) -> &str {
    match expected {
        "f64" | "f32" => "a number",
        "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i32" | "i64" => "a whole number",
        "a boolean" => "true or false",
        "a string" => "a text in quotes",
        "a sequence" => "a list",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

/// The one of `names` that is most like `wrong`, if any is like it.
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let rated = names.into_iter().map(|name| (strsim::jaro_winkler(wrong, name), name));
    let best = rated.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.7).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_serde_name_the_key_and_no_types_of_rust() {
        for (message, expected) in [
            (
                "unknown field `piplin`, expected `name` or `pipeline`",
                "there is no key 'piplin': 'pipeline' is probably meant",
            ),
            (
                "unknown field `colour`, expected `name` or `uri`",
                "there is no key 'colour', there are name, uri",
            ),
            (
                "unknown variant `polygn`, expected `line` or `polygon`",
                "there is no choice 'polygn': 'polygon' is probably meant",
            ),
            ("missing field `uri`", "the key 'uri' is missing"),
            ("invalid type: integer `5`, expected a string\n", "found integer 5, expected a text in quotes"),
            (
                "invalid value: integer `-1`, expected u32",
                "found integer -1, expected a whole number, 0 or more",
            ),
            ("invalid type: integer `3`, expected struct Restart", "found integer 3, expected a table"),
            ("expected a value,\n  or a comment", "expected a value, or a comment"),
        ] {
            assert_eq!(sentence(message), expected);
        }
    }

    #[test]
    fn a_slip_is_recognised_and_a_strange_word_is_not() {
        let names = ["listen", "token-file", "tls-cert"];
        assert_eq!(nearest("lisen", names), Some("listen"));
        assert_eq!(nearest("token_file", names), Some("token-file"));
        assert_eq!(nearest("colour", names), None);
        assert_eq!(nearest("x", []), None);
    }
}
