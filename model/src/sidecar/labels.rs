//! Files of labels: a name a line, or what training tools and DeepStream write.

use std::path::{Path, PathBuf};

use cudainfer_files as files;

use super::{Segment, Sidecar};
use crate::ModelError;
use crate::declared::names_in_yaml;

/// Labels from a file: a name a line, whatever ends the lines; one line of names between semicolons, as DeepStream's classifiers
/// have; or `names` of a YAML file, as Ultralytics' `data.yaml`. Blank lines at the end are ignored.
///
/// # Errors
/// [`ModelError::File`]: it cannot be read, or holds names in another form.
pub fn labels(path: &Path) -> Result<Vec<String>, ModelError> {
    let failed = |sentence| ModelError::File("labels", path.to_owned(), sentence);
    parse(&files::text(path).map_err(|e| failed(e.to_string()))?).map_err(failed)
}

impl Sidecar {
    /// The names of classes besides those of `[output]`, each list with the file that has it.
    pub(crate) fn further_labels(&mut self) -> impl Iterator<Item = (&mut Vec<String>, &Option<PathBuf>)> {
        let heads = self.classify.heads.values_mut().map(|head| (&mut head.labels, &head.labels_file));
        let slices = self.classify.slices.values_mut().map(|slice| (&mut slice.labels, &slice.labels_file));
        let Segment { labels, labels_file, masks, .. } = &mut self.segment;
        let masks = masks.values_mut().map(|masks| (&mut masks.labels, &masks.labels_file));
        heads.chain(slices).chain(std::iter::once((labels, &*labels_file))).chain(masks)
    }
}

fn parse(text: &str) -> Result<Vec<String>, String> {
    // A lone CR ended lines of old Macs.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text = text.trim_end();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    if text.lines().any(|line| line.starts_with("names:")) {
        return of_yaml(text);
    }
    match lines[..] {
        [line] if line.contains(';') => {
            Ok(line.trim_end_matches(';').split(';').map(|name| name.trim().to_owned()).collect())
        }
        [_, _, ..] if lines.iter().all(|line| line.contains(';')) => Err(
            "each line holds several names between semicolons, as DeepStream writes them for a classifier with several outputs, but \
             one name a line was expected. Name the classes of each output by labels in its [classify.NAME] of the model's sidecar"
                .into(),
        ),
        _ => Ok(lines.into_iter().map(str::to_owned).collect()),
    }
}

fn of_yaml(text: &str) -> Result<Vec<String>, String> {
    let wrong = |why: &str| {
        format!(
            "it has a line 'names:' as YAML of a training tool, but {why}. Give a list of names there, or a file with a name a line"
        )
    };
    names_in_yaml(text).map_err(|e| wrong(&e))?.ok_or_else(|| wrong("it names no classes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_whatever_ends_their_lines_and_as_training_tools_and_deepstream_write_them() {
        for text in [
            "a\nb c\nd\n",
            "a\r\nb c\r\nd\r\n\r\n",
            "a\rb c\rd\r",
            "  a \n b c\nd",
            "a;b c;d",
            "a; b c ;d;\n",
            "path: coco\nnames:\n  0: a\n  1: b c\n  2: d\n",
            "train: x\nnc: 3\nnames: ['a', \"b c\", d]\n",
            "names:\r\n- a\r\n- b c\r\n- d\r\n",
        ] {
            assert_eq!(parse(text).unwrap(), ["a", "b c", "d"], "{text:?}");
        }
        assert_eq!(parse("a\n\nc").unwrap(), ["a", "", "c"]);
        assert_eq!(parse("person; adult\ncar").unwrap(), ["person; adult", "car"]);
        for (text, part) in [
            ("red;blue\nsedan;van\n", "several names between semicolons"),
            ("names: 80\n", "it names no classes"),
            ("names: [a, b\nnc: 2\n", "names:"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(part) && error.matches(". ").count() < 3, "{error}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_not_a_part_of_the_first_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.txt");
        std::fs::write(&path, "\u{feff}person\r\ncar\r\n").unwrap();
        assert_eq!(labels(&path).unwrap(), ["person", "car"]);
    }

    #[test]
    fn fuzz_labels() {
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "labels")
            .with_ratio(100) // an empty name has 24 bytes and a line end
            .run_text(|text| drop(parse(text)));
    }
}
