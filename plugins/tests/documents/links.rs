//! That links between the pages lead somewhere.

use std::path::Path;

use crate::{page, pages, root};

/// The anchor that GitHub gives a heading.
fn slug(heading: &str) -> String {
    let plain: String =
        heading.trim().to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect();
    plain.replace(' ', "-")
}

/// The text outside of code.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let keep = |line: &&str| {
        fenced ^= line.starts_with("```");
        !fenced && !line.starts_with("    ")
    };
    text.lines().filter(keep).collect::<Vec<_>>().join("\n")
}

fn anchors(text: &str) -> Vec<String> {
    prose(text)
        .lines()
        .filter_map(|line| line.strip_prefix('#'))
        .map(|line| slug(line.trim_start_matches('#')))
        .collect()
}

#[test]
fn anchors_are_githubs() {
    assert_eq!(
        slug(" `[skeleton]`: the points of an object, and what joins them"),
        "skeleton-the-points-of-an-object-and-what-joins-them"
    );
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut seen = 0;
    for name in pages() {
        let text = prose(&page(&name));
        for (at, _) in text.match_indices("](") {
            let target = text[at + 2..].split(')').next().unwrap();
            if target.contains("://") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() {
                root().join(&name)
            } else {
                root().join(&name).parent().unwrap().join(path)
            };
            assert!(file.exists(), "{name}: {target} does not exist");
            if !anchor.is_empty() {
                let text = std::fs::read_to_string(&file).unwrap();
                assert!(
                    anchors(&text).iter().any(|a| a == anchor),
                    "{name}: {target}: there is no such heading"
                );
            }
            seen += 1;
        }
        assert!(Path::new(&name).extension().is_some());
    }
    assert!(seen > 50, "{seen}");
}
