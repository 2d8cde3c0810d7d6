//! README, CONTRIBUTING and docs/ against the code: tables of properties, keys of the sidecar, links, pipelines.
//!
//! `UPDATE_DOCS=1 cargo test -p gst-plugin-cudainfer --test documents` writes the tables anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests, which clippy does not know as such

mod cache;
mod examples;
mod factory;
mod links;
mod metrics;
mod pages;
mod pipelines;
mod properties;
mod sidecar;

use std::path::{Path, PathBuf};

fn init() {
    static INIT: std::sync::Once = std::sync::Once::new();
    INIT.call_once(|| {
        gst::init().unwrap();
        gstcudainfer::plugin_register_static().unwrap();
    });
}

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A page, by its path in the repository.
fn page(name: &str) -> String {
    let path = root().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// All pages, by their paths in the repository: those at its top, docs/ and docs/elements/.
fn pages() -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["", "docs", "docs/elements"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                found.push(Path::new(folder).join(name).display().to_string());
            }
        }
    }
    found.sort();
    assert!(found.len() > 10, "{found:?}");
    found
}

/// The cells of a table's row: `\|` is no border.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|');
    let row = row.strip_suffix('|').unwrap_or(row).replace("\\|", "\u{1}");
    row.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}
