//! A pipeline description with `{key}`s, taken apart. GStreamer parses what the configuration has written without the
//! properties that have keys; these are set afterwards. So a value can never become a part of the description.

use std::collections::{BTreeMap, BTreeSet};

use super::naming::words;
use crate::config::{fill, keys};

/// A property whose value has `{key}`s in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slot {
    /// The element's name.
    pub element: String,
    /// The property's.
    pub property: String,
    /// The value with its keys, without quotes.
    pub text: String,
}

impl Slot {
    /// Whether a key is in its value.
    pub fn has(&self, key: &str) -> bool {
        keys(&self.text).contains(&key)
    }

    /// Whether a key is the value as a whole.
    pub fn is_whole(&self) -> bool {
        keys(&self.text).first().is_some_and(|key| self.text == format!("{{{key}}}"))
    }

    /// The value. `text` says whether the property is a text, in which everything may stand. In all others (caps, structures,
    /// lists) commas, brackets and the like are separators, so a key that is only a part of the value must be plain.
    ///
    /// # Errors
    /// A sentence.
    pub fn value(&self, values: &BTreeMap<String, String>, text: bool) -> Result<String, String> {
        if !text && !self.is_whole() {
            for key in keys(&self.text) {
                let value = values.get(key).map_or("", String::as_str);
                if value.is_empty()
                    || !value.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:+".contains(c))
                {
                    return Err(format!(
                        "'{value}' cannot be {{{key}}}, which is a part of {}'s property '{}': use letters, digits and - _ . / : + there",
                        self.element, self.property
                    ));
                }
            }
        }
        Ok(fill(&self.text, values))
    }
}

/// A description whose elements have names, taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Template {
    /// What is left for GStreamer's parser. No value of a key is in it.
    pub text: String,
    /// The properties that are set afterwards.
    pub slots: Vec<Slot>,
    /// The first word with a key that is no value of a property.
    pub misplaced: Option<String>,
}

impl Template {
    /// Takes a description apart in which every element has a `name`.
    pub fn of(description: &str) -> Self {
        let words = words(description);
        let mut taken: BTreeSet<String> =
            words.iter().filter_map(|word| Some(word.strip_prefix("name=")?.to_owned())).collect();
        let mut template = Self::default();
        let mut kept: Vec<String> = Vec::with_capacity(words.len());
        for (index, segment) in words.split(|word| *word == "!").enumerate() {
            if index > 0 {
                kept.push("!".to_owned());
            }
            if segment.first().is_some_and(|word| is_caps(word)) && segment.iter().any(|word| has_key(word)) {
                let names =
                    std::iter::once("capsfilter".to_owned()).chain((2..).map(|n| format!("capsfilter-{n}")));
                let name = names.into_iter().find(|name| !taken.contains(name)).unwrap_or_default();
                taken.insert(name.clone());
                kept.push(format!("capsfilter name={name}"));
                let text = unquoted(&segment.join(" "));
                template.slots.push(Slot { element: name, property: "caps".into(), text });
                continue;
            }
            let mut element = None;
            for (at, word) in segment.iter().enumerate() {
                if !has_key(word) {
                    if assignment(word).is_none() {
                        element = name_after(&segment[at + 1..]);
                    }
                    kept.push((*word).to_owned());
                    continue;
                }
                match (assignment(word), &element) {
                    (Some((property, value)), Some(element)) if property != "name" => {
                        template.slots.push(Slot {
                            element: element.clone(),
                            property: property.to_owned(),
                            text: unquoted(value),
                        })
                    }
                    _ => drop(template.misplaced.get_or_insert_with(|| (*word).to_owned())),
                }
            }
        }
        template.text = kept.join(" ");
        template
    }
}

fn has_key(word: &str) -> bool {
    !keys(word).is_empty()
}

/// The name in the assignments that follow an element.
fn name_after(words: &[&str]) -> Option<String> {
    let own = words.iter().map_while(|word| assignment(word));
    own.into_iter().find(|(property, _)| *property == "name").map(|(_, name)| unquoted(name))
}

/// Property and value of `PROPERTY=VALUE`.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (property, value) = word.split_once('=')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_:%".contains(c);
    (!property.is_empty() && property.chars().all(plain)).then_some((property, value))
}

/// Whether a word begins caps, as `video/x-raw,width=640` does.
fn is_caps(word: &str) -> bool {
    let word = word.trim_start_matches(['"', '\'']);
    let name = word.split([',', '(', ';', '"', '\'']).next().unwrap_or_default();
    name.contains('/') && !name.contains('=')
}

/// A value as GStreamer's parser reads it: without quotes around it, and without the backslashes before single characters.
fn unquoted(value: &str) -> String {
    let inner = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    let (mut text, mut quoted, mut before) = (String::with_capacity(value.len()), false, ' ');
    let mut chars = inner.unwrap_or(value).chars();
    while let Some(c) = chars.next() {
        let mut c = c;
        if c == '\\' && !quoted {
            let Some(next) = chars.next() else { break };
            c = next;
        } else if c == '"' && (!quoted || before != '\\') {
            quoted = !quoted;
        }
        text.push(c);
        before = c;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_template() {
        let values: BTreeMap<String, String> = [("a", "x ! filesink location=y"), ("b", "plain")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "template")
            .with_ratio(200) // a word of two bytes is a slice of it, and a name is added to it
            .run_text(move |text| {
                let named = super::super::naming::named(text, |word| word.starts_with('q'));
                let template = Template::of(&named);
                assert!(!template.text.contains("filesink location=y") || text.contains("location=y"));
                for slot in &template.slots {
                    for text in [true, false] {
                        let _ = slot.value(&values, text);
                    }
                }
            });
    }
}
