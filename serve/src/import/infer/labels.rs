//! `labelfile-path`: names of classes. A detector's file has a class in each line; a classifier's has all classes of an output in
//! each line, between semicolons.

use std::path::PathBuf;

use super::task::Task;
use crate::import::document;
use crate::import::report::Verdict::{Differs, NotTranslated};
use crate::import::section::Section;

/// Names of classes, and how the sidecar has them.
pub(super) struct Labels {
    pub(super) names: Vec<String>,
    /// The file, if trtinfer can read it as it is.
    pub(super) file: Option<PathBuf>,
    /// For a classifier with several outputs: the names of each output.
    pub(super) outputs: Vec<Vec<String>>,
}

/// The names of the network's classes. The file that the application's group names overrides the network's own.
pub(super) fn read(gie: Section<'_>, property: Section<'_>, task: Task) -> Labels {
    let none = Labels { names: Vec::new(), file: None, outputs: Vec::new() };
    let own = property.path("labelfile-path");
    let Some(path) = gie.path("labelfile-path").or(own) else { return none };
    let text = match document::read(&path) {
        Ok(text) => text,
        Err(e) => {
            property.note("labelfile-path", NotTranslated, format!("classes have numbers for now: {e}"));
            return none;
        }
    };
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    let parts = |line: &str| -> Vec<String> {
        line.split(';').map(|p| p.trim().to_owned()).filter(|p| !p.is_empty()).collect()
    };
    if task == Task::Classification {
        let outputs: Vec<Vec<String>> = lines.iter().map(|l| parts(l)).collect();
        return Labels { names: outputs.first().cloned().unwrap_or_default(), file: None, outputs };
    }
    let names: Vec<String> =
        lines.iter().map(|l| l.split(';').next().unwrap_or("").trim().to_owned()).collect();
    if let Some(count) = property.integer("num-detected-classes").and_then(|n| usize::try_from(n).ok())
        && count != names.len()
    {
        property.note(
            "num-detected-classes",
            Differs,
            format!("the file of labels has {} lines, and one for each class is expected", names.len()),
        );
    }
    let as_it_is = !text.contains(';');
    Labels { names, file: as_it_is.then_some(path), outputs: Vec::new() }
}
