//! That every element has a page with the sections that one looks for, and no page is left of an element that is gone.

use crate::properties::elements;
use crate::{page, pages, root};

const SECTIONS: [&str; 7] =
    ["Pads", "Properties", "Metadata", "Messages", "Examples", "Performance", "Factory"];

#[test]
fn every_element_has_a_page_with_all_sections_and_the_index_names_it() {
    let index = page("docs/elements.md");
    for (name, _) in elements() {
        let text = page(&format!("docs/elements/{name}.md"));
        assert!(text.starts_with(&format!("# {name}\n")), "{name}");
        for section in SECTIONS {
            assert!(
                text.contains(&format!("\n## {section}\n")),
                "docs/elements/{name}.md has no section '{section}'"
            );
        }
        assert!(index.contains(&format!("(elements/{name}.md)")), "docs/elements.md does not name {name}");
    }
}

#[test]
fn every_page_of_an_element_is_of_one_that_there_is() {
    let names: Vec<_> = elements().into_iter().map(|(name, _)| format!("docs/elements/{name}.md")).collect();
    for page in pages().iter().filter(|page| page.starts_with("docs/elements/")) {
        assert!(names.contains(page), "{page}");
    }
}

/// A blank line within a table ends it, and leaves its last rows as text.
#[test]
fn no_table_is_broken() {
    for name in pages() {
        let text = page(&name);
        let lines: Vec<_> = text.lines().collect();
        let row = |i: usize| lines.get(i).is_some_and(|line| line.starts_with('|'));
        for i in 0..lines.len() {
            let first = row(i) && (i == 0 || !row(i - 1));
            let ruled = lines.get(i + 1).is_some_and(|line| line.starts_with('|') && line.contains("---"));
            assert!(!first || ruled, "{name}:{}: a table begins without a head: {}", i + 1, lines[i]);
            if row(i) && row(i + 1) {
                let count = |line: &str| crate::cells(line).len();
                assert_eq!(count(lines[i]), count(lines[i + 1]), "{name}:{}: {}", i + 2, lines[i + 1]);
            }
        }
    }
}

#[test]
fn readme_is_short() {
    assert!(page("README.md").lines().count() <= 150);
}

#[test]
fn scripts_that_are_named_exist() {
    for name in pages() {
        let text = page(&name);
        for (at, _) in text.match_indices("scripts/") {
            let before = text[..at].chars().next_back();
            let word: String =
                text[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || "/._-".contains(*c)).collect();
            let word = word.trim_end_matches(['.', '/', '-']);
            // `scripts/requirements*.txt`, and links, which have a test of their own.
            let whole = before.is_none_or(|c| c.is_whitespace() || "(`\"".contains(c));
            if whole && word != "scripts" && !text[at + word.len()..].starts_with('*') {
                assert!(root().join(word).exists(), "{name} names {word}, which does not exist");
            }
        }
    }
}
