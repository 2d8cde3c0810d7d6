//! The name that was probably meant.

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
    fn a_slip_is_recognised_and_a_strange_word_is_not() {
        let names = ["listen", "token-file", "tls-cert"];
        assert_eq!(nearest("lisen", names), Some("listen"));
        assert_eq!(nearest("token_file", names), Some("token-file"));
        assert_eq!(nearest("colour", names), None);
        assert_eq!(nearest("x", []), None);
    }
}
