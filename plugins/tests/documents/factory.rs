//! docs/elements/*.md end with what GStreamer's own pages of elements have: classification, hierarchy, pad templates, since when.

use gst::prelude::*;

use crate::cache;
use crate::properties::{NOTE, compare, elements};

const MARKERS: [&str; 2] = ["<!-- factory -->", "<!-- /factory -->"];

/// The plugin's version in which an element came, where that is not the first one.
const NEWER: [(&str, &str); 0] = [];

/// GStreamer's keywords for what elements are for (design/draft-klass).
const KEYWORDS: [&str; 6] = ["Filter", "Effect", "Analyzer", "Video", "Metadata", "Hardware"];

#[test]
fn each_elements_page_has_the_details_of_its_factory() {
    if !cache::has_documented_formats() {
        return;
    }
    for (name, element) in elements() {
        let factory = element.factory().unwrap();
        let said = cache::element(&factory, &mut cache::OtherTypes::new());
        let since = NEWER.iter().find(|(newer, _)| *newer == name).map_or("0.1", |(_, version)| version);
        let list = |key: &str| {
            let names = said[key].as_array().into_iter().flatten();
            names.map(|name| format!("`{}`", name.as_str().unwrap())).collect::<Vec<_>>().join(", ")
        };
        let interfaces = match list("interfaces") {
            none if none.is_empty() => "none".to_owned(),
            some => some,
        };
        let rows = [
            ("classification", format!("`{}`", said["klass"].as_str().unwrap())),
            ("rank", said["rank"].as_str().unwrap().to_owned()),
            ("hierarchy", list("hierarchy")),
            ("interfaces", interfaces),
            ("since", since.to_owned()),
        ];
        let mut text = format!("{}\n{NOTE}\n\n| | |\n|---|---|\n", MARKERS[0]);
        for (key, value) in rows {
            text += &format!("| {key} | {value} |\n");
        }
        for (pad, template) in said["pad-templates"].as_object().unwrap() {
            let word = |key: &str| template[key].as_str().unwrap();
            text += &format!(
                "\nPad template `{pad}`: {}, {}\n\n```text\n{}```\n",
                word("direction"),
                word("presence"),
                word("caps")
            );
        }
        compare(&format!("docs/elements/{name}.md"), MARKERS, &(text + "\n" + MARKERS[1]));
    }
}

#[test]
fn elements_are_classified_in_gstreamers_words() {
    for (name, element) in elements() {
        let klass = element.factory().unwrap().metadata("klass").unwrap().to_owned();
        assert!(klass.split('/').all(|word| KEYWORDS.contains(&word)), "{name}: {klass}");
    }
}
