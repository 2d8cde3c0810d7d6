//! Names for the elements of a pipeline description that has given them none.

use std::collections::BTreeSet;

/// Writes `name=` after each element without a name: the name of its factory, with a number from the second such element on.
///
/// GStreamer's own names count over the whole process, so an element would have another name after each restart: in metrics,
/// in messages and in the name of the shared instance.
pub(super) fn named(description: &str, is_element: impl Fn(&str) -> bool) -> String {
    let words = words(description);
    let mut taken: BTreeSet<String> =
        words.iter().filter_map(|word| Some(word.strip_prefix("name=")?.to_owned())).collect();
    let mut named = Vec::with_capacity(words.len() + 8);
    for (index, word) in words.iter().enumerate() {
        named.push((*word).to_owned());
        if !is_element(word) {
            continue;
        }
        let own = words[index + 1..].iter().take_while(|word| word.contains('=') && **word != "!");
        if own.into_iter().any(|word| word.starts_with("name=")) {
            continue;
        }
        let name = std::iter::once((*word).to_owned()).chain((2..).map(|number| format!("{word}-{number}")));
        if let Some(name) = name.into_iter().find(|name| !taken.contains(name)) {
            named.push(format!("name={name}"));
            taken.insert(name);
        }
    }
    named.join(" ")
}

/// The words of a description: separated by white space that is not in quotes.
pub(super) fn words(description: &str) -> Vec<&str> {
    let (mut words, mut begin, mut quote, mut escaped) = (Vec::new(), None, None, false);
    for (at, c) in description.char_indices() {
        if quote.is_none() && !escaped && c.is_whitespace() {
            words.extend(begin.take().and_then(|begin: usize| description.get(begin..at)));
            continue;
        }
        begin.get_or_insert(at);
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if quote == Some(c) {
            quote = None;
        } else if quote.is_none() && (c == '"' || c == '\'') {
            quote = Some(c);
        }
    }
    words.extend(begin.and_then(|begin| description.get(begin..)));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_without_a_name_get_that_of_their_factory() {
        let known = |word: &str| ["tee", "queue", "trtinfer", "gpunms"].contains(&word);
        for (description, expected) in [
            ("trtinfer model=a ! gpunms", "trtinfer name=trtinfer model=a ! gpunms name=gpunms"),
            ("queue ! queue max-size-bytes=1", "queue name=queue ! queue name=queue-2 max-size-bytes=1"),
            ("tee name=t t. ! queue", "tee name=t t. ! queue name=queue"),
            (
                "gpunms a=\"x ! queue\" name=queue ! queue",
                "gpunms a=\"x ! queue\" name=queue ! queue name=queue-2",
            ),
            (
                "trtinfer model=a\\ queue\n ! gpunms ",
                "trtinfer name=trtinfer model=a\\ queue ! gpunms name=gpunms",
            ),
            ("video/x-raw, format=NV12 ! queue", "video/x-raw, format=NV12 ! queue name=queue"),
        ] {
            assert_eq!(named(description, known), expected);
        }
    }
}
