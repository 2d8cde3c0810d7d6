//! The modules that a file of Rust mentions, and the items that it defines.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A name that a file imports.
#[derive(Debug)]
pub struct Use {
    /// As written; a glob ends in `*`.
    pub path: Vec<String>,
    /// Its name in this file.
    pub name: String,
    /// Whether it is re-exported.
    pub public: bool,
}

/// A file that is compiled without tests.
#[derive(Debug)]
pub struct Source {
    /// Its module: `detect::nms` is `["detect", "nms"]`, and the crate's root is empty.
    pub module: Vec<String>,
    /// Whether it is a `mod.rs` or `lib.rs`, whose public `use` only re-exports.
    pub is_top: bool,
    pub uses: Vec<Use>,
    /// Paths outside of `use`.
    pub paths: Vec<Vec<String>>,
    pub defines: BTreeSet<String>,
}

/// All files below `root` but those of tests.
pub fn read(root: &Path) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") {
                found.push(parse(&name, &fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.retain(|source| !source.module.iter().any(|part| part == "tests"));
    found
}

/// The file at `path` below the crate's root.
pub fn parse(path: &str, text: &str) -> Source {
    let mut module: Vec<String> = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    let is_top = matches!(module.last().map(String::as_str), Some("mod" | "lib"));
    if is_top {
        module.pop();
    }
    let mut source = Source { module, is_top, uses: Vec::new(), paths: Vec::new(), defines: BTreeSet::new() };
    if source.module.iter().any(|part| part == "tests") {
        return source;
    }
    let tokens = tokens(text);
    let mut at = 0;
    while at < tokens.len() {
        let rest = &tokens[at..];
        let word = rest[0].as_str();
        let is_path = is_word(word) && rest.get(1).is_some_and(|next| next == "::");
        let continued = at > 0 && ["::", "."].contains(&tokens[at - 1].as_str());
        let is_visibility = at > 2 && tokens[at - 3..at].concat() == "pub(in";
        if rest.len() > 7 && rest[..7].concat() == "#[cfg(test)]" {
            at += 7 + item(&rest[7..]);
        } else if word == "use" {
            let length = rest.iter().position(|token| token == ";").unwrap_or(rest.len());
            // `pub use` or `pub(crate) use`.
            let public = at > 0 && (tokens[at - 1] == "pub" || tokens[at - 1] == ")");
            tree(&rest[1..length], &[], public, &mut source.uses);
            at += length;
        } else if is_path && !continued {
            let mut path = vec![word.to_owned()];
            at += 1;
            while let [colons, part, ..] = &tokens[at..]
                && colons == "::"
                && is_word(part)
            {
                path.push(part.clone());
                at += 2;
            }
            // `pub(in crate::a)` names a visibility, not a dependency.
            if !is_visibility {
                source.paths.push(path);
            }
        } else {
            if ["struct", "enum", "trait", "type", "const", "static", "fn", "union"].contains(&word)
                && let Some(name) = rest.get(1)
            {
                source.defines.insert(name.clone());
            }
            at += 1;
        }
    }
    source
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// How many tokens an item takes.
fn item(tokens: &[String]) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                let in_use = tokens.get(i + 1).is_some_and(|next| next == ";");
                if depth == 0 && !in_use {
                    return i + 1;
                }
            }
            ";" if depth == 0 => return i + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// The names that a tree of `use` imports.
fn tree(tokens: &[String], before: &[String], public: bool, uses: &mut Vec<Use>) {
    let (mut path, mut at) = (before.to_vec(), 0);
    let mut name = None;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "{" => {
                let (mut depth, mut start) = (0, at + 1);
                for (i, token) in tokens.iter().enumerate().skip(at) {
                    depth += i32::from(token == "{") - i32::from(token == "}");
                    if (depth == 1 && token == ",") || depth == 0 {
                        if start < i {
                            tree(&tokens[start..i], &path, public, uses);
                        }
                        start = i + 1;
                    }
                    if depth == 0 {
                        break;
                    }
                }
                return;
            }
            "as" => {
                name = tokens.get(at + 1).cloned();
                break;
            }
            "self" if !path.is_empty() => {}
            "::" => {}
            part => path.push(part.to_owned()),
        }
        at += 1;
    }
    let name = name.or_else(|| path.last().cloned()).unwrap_or_default();
    uses.push(Use { path, name, public });
}

/// Words, `::` and other characters, without comments, literals and lifetimes.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let starts = |at: usize, what: &str| what.chars().enumerate().all(|(i, c)| chars.get(at + i) == Some(&c));
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let raw = if c == 'r' { chars[at + 1..].iter().take_while(|c| **c == '#').count() } else { 0 };
        if starts(at, "//") {
            while chars.get(at).is_some_and(|c| *c != '\n') {
                at += 1;
            }
        } else if starts(at, "/*") {
            let mut depth = 0;
            loop {
                let (opens, closes) = (starts(at, "/*"), starts(at, "*/"));
                depth += i32::from(opens) - i32::from(closes);
                at += if opens || closes { 2 } else { 1 };
                if depth == 0 || at >= chars.len() {
                    break;
                }
            }
        } else if c == 'r' && chars.get(at + 1 + raw) == Some(&'"') {
            let end = format!("\"{}", "#".repeat(raw));
            at += 2 + raw;
            while at < chars.len() && !starts(at, &end) {
                at += 1;
            }
            at += end.len();
        } else if c == '"' {
            at += 1;
            while chars.get(at).is_some_and(|c| *c != '"') {
                at += if chars[at] == '\\' { 2 } else { 1 };
            }
            at += 1;
        } else if c == '\'' && (chars.get(at + 1) == Some(&'\\') || chars.get(at + 2) == Some(&'\'')) {
            // A character, not a lifetime.
            at += 3;
            while chars.get(at - 1).is_some_and(|c| *c != '\'') {
                at += 1;
            }
        } else if c.is_alphanumeric() || c == '_' {
            let word: String = chars[at..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').collect();
            at += word.chars().count();
            found.push(word);
        } else if starts(at, "::") {
            found.push("::".into());
            at += 2;
        } else {
            if !c.is_whitespace() {
                found.push(c.into());
            }
            at += 1;
        }
    }
    found
}
