//! Words of CONTRIBUTING's glossary: those in its column "not" stay out of comments and messages.
#![allow(clippy::unwrap_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

use std::path::{Path, PathBuf};

use cudainfer_tests::{files_below, root};

/// Folders whose sources and pages are read.
const FOLDERS: [&str; 18] = [
    "batch",
    "benches",
    "brokers",
    "docs",
    "examples",
    "files",
    "fused",
    "fuzzing",
    "kernels",
    "launch",
    "model",
    "pipelines",
    "plugins",
    "python",
    "serve",
    "tests",
    "tools",
    "torture",
];

/// The ends of the names of what is read.
const ENDINGS: [&str; 6] = [".rs", ".cu", ".cuh", ".md", ".h", ".py"];

/// Words of others that are quoted.
const QUOTED: [&str; 1] = ["1.20.1-1 is to be installed"];

/// What comments and messages must not have, from the last column of the glossary.
fn replaced() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let table = text.split("\n## Words\n").nth(1).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let cells = rows.filter_map(|row| row.split('|').nth(3));
    let quoted = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    quoted.map(str::to_owned).collect()
}

/// Whether `text` has the words `phrase` next to each other, whatever their case.
fn has(text: &str, phrase: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let text = text.to_lowercase();
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
    })
}

/// The part of a source's line that is for readers: its comment and its texts. A page is one as a whole.
fn prose(path: &Path, line: &str) -> String {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let comment = match extension {
        Some("md") => return line.to_owned(),
        Some("rs" | "cu" | "cuh" | "h" | "c") => "//",
        _ => "#",
    };
    let (code, comment) = line.split_once(comment).unwrap_or((line, ""));
    let texts: Vec<&str> = code.split('"').skip(1).step_by(2).collect();
    // A text may begin on a line before.
    let continued = if code.contains(['{', ';', '=']) || code.contains("(") { "" } else { code };
    format!("{} {continued} {comment}", texts.join(" "))
}

#[test]
fn replaced_words_stay_out_of_comments_messages_and_pages() {
    let replaced = replaced();
    assert!(replaced.len() > 10, "{replaced:?}");
    let paths = FOLDERS.iter().flat_map(|folder| files_below(&root().join(folder), &ENDINGS));
    let is_left_out = |path: &PathBuf| {
        path.ends_with(file!()) || path.iter().any(|part| part == "results" || part == "target")
    };
    let mut found = Vec::new();
    for path in paths.chain([root().join("README.md")]).filter(|path| !is_left_out(path)) {
        let text = std::fs::read_to_string(&path).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            if QUOTED.iter().any(|quoted| line.contains(quoted)) {
                continue;
            }
            let prose = prose(&path, line);
            let words = replaced.iter().filter(|phrase| has(&prose, phrase));
            let name = path.strip_prefix(root()).unwrap_or(&path).display();
            found.extend(words.map(|phrase| format!("{name}:{number}: '{phrase}': {}", line.trim())));
        }
    }
    let listed: Vec<&str> = found.iter().map(String::as_str).take(40).collect();
    assert!(found.is_empty(), "{} places: {}", found.len(), listed.join("\n"));
}

#[test]
fn words_are_found_as_words() {
    assert!(has("What comes Behind it", "behind") && !has("behindhand", "behind") && !has("so-called", "so"));
    assert_eq!(prose(Path::new("a.rs"), "let a = \"one\" + \"two\"; // three").trim(), "one two   three");
    assert_eq!(prose(Path::new("a.rs"), "        element behind it\\").trim(), "element behind it\\");
}
