//! Names in messages: every property that a message names exists.

use std::collections::BTreeSet;
use std::path::PathBuf;

use cudainfer_tests::{files_below, root};

use crate::plugin::inspect::{factories, own};

/// Names that messages have as NAME=VALUE and that are no properties: keys within values of properties, in sidecars and caps.
const OTHER_KEYS: &[&str] = &[
    // Options of the tracer.
    "metrics",
    "stall",
    "otlp",
    "sample",
    // Of a content type.
    "charset",
    // Zones and their options.
    "door",
    "ground",
    "yard",
    "classes",
    "anchor",
    "dwell",
    "occupancy",
    "hole",
    "inertia",
    "loitering",
    "min-speed",
    "max-speed",
    // Keys of zones-file.
    "points",
    "metres",
    "class",
    // Classes of gpunms.
    "person",
    "car",
    // Keys of the sidecar.
    "point-format",
    "simcc-x",
    "simcc-y",
    // Points, for sigmas.
    "nose",
    "tail",
    // The tracer's.
    "mode",
    "json",
    "trace",
    // Debug output.
    "flow",
    // Of a .modelinfo file's section.
    "version",
    // Fields of video caps.
    "colorimetry",
    "interlace-mode",
    "pixel-aspect-ratio",
    // Of GStreamer's own elements.
    "caps",
    "video-direction",
];

/// Words that come before the name of a property.
const BEFORE_NAMES: &[&str] =
    &["raise", "lower", "set", "drop", "its", "property", "properties", "larger", "smaller", "higher"];

/// The string literals of a source above its tests, with their line breaks taken away.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]").next().unwrap();
    let mut chars = source.chars().peekable();
    let mut found = Vec::new();
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => while chars.next().is_some_and(|c| c != '\n') {},
            // A quotation mark as a character is no string.
            '\'' if chars.peek() == Some(&'"') => drop(chars.next()),
            '"' => {
                let mut text = String::new();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    match (c, chars.peek()) {
                        ('\\', Some('\n')) => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                        ('\\', Some(_)) => text.extend(chars.next()),
                        _ => text.push(c),
                    }
                }
                found.push(text);
            }
            _ => (),
        }
    }
    found
}

/// The names of properties that a sentence mentions: those with a value, and those that it asks to set or remove.
fn mentioned(text: &str) -> BTreeSet<String> {
    let is_name = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    let mut names = BTreeSet::new();
    let words: Vec<&str> = text.split_whitespace().collect();
    for word in &words {
        let parts: Vec<&str> = word.split('=').collect();
        let value_follows =
            |value: &str| value.starts_with(|c: char| c.is_alphanumeric() || "{<\"-".contains(c));
        for pair in parts.windows(2).filter(|pair| value_follows(pair[1])) {
            let name = pair[0].rsplit(|c: char| !(c.is_alphanumeric() || "-_}".contains(c))).next().unwrap();
            names.extend(Some(name.to_owned()).filter(|name| is_name(name)));
        }
    }
    for pair in words.windows(2) {
        let name = pair[1].split(['=', ',', '.', ':', ';', ')']).next().unwrap();
        if BEFORE_NAMES.contains(&pair[0]) && name.contains('-') && is_name(name) {
            names.insert(name.to_owned());
        }
    }
    names
}

#[test]
fn mentions_are_found_in_sentences() {
    let names = |text: &str| mentioned(text).into_iter().collect::<Vec<_>>();
    assert_eq!(
        names("{name}: drop it (untracked=true counts all), or lower its max-things"),
        ["max-things", "untracked"]
    );
    assert_eq!(names("set no-such-thing, or device={device}: {a}={b} == c"), ["device", "no-such-thing"]);
    assert_eq!(
        literals("a(\"b \\\"c\\\" \\\n   d\", '\"', \"e\"); // \"f\"\n#[cfg(test)] \"g\""),
        ["b \"c\" d", "e"]
    );
}

#[test]
fn every_property_that_a_message_mentions_exists() {
    let properties: BTreeSet<String> = factories()
        .iter()
        .flat_map(|factory| own(&factory.create().build().unwrap()))
        .map(|property| property.name().to_owned())
        .collect();
    let (mut checked, mut unknown) = (BTreeSet::new(), Vec::new());
    // Programs describe whole pipelines, with other elements' properties.
    let files = files_below(&root().join("plugins/src"), &[".rs"]);
    let is_ours = |path: &&PathBuf| !path.ends_with("tests.rs") && !path.iter().any(|part| part == "bin");
    for path in files.iter().filter(is_ours) {
        for text in literals(&std::fs::read_to_string(path).unwrap()).iter().filter(|text| text.contains(' '))
        {
            for name in mentioned(text) {
                if !properties.contains(&name) && !OTHER_KEYS.contains(&name.as_str()) {
                    unknown.push(format!("{}: '{name}' in: {text}", path.display()));
                }
                checked.insert(name);
            }
        }
    }
    assert!(unknown.is_empty(), "no element has these properties:\n{}", unknown.join("\n"));
    // The scan finds the names that it must find.
    for name in ["untracked", "zones", "max-lost", "provider", "roi"] {
        assert!(checked.contains(name), "{name} is not among {checked:?}");
    }
}
