//! The files of pipelines/: a header of lines that begin with `#`, then one pipeline that may be broken anywhere.
//!
//! The header's first line tells what the pipeline does. A line of it such as `# key=default  what the key is for` declares a
//! placeholder, `{key}` in the pipeline; with nothing after the `=` a value must be given. A default that begins with `./out/` is
//! a result. Braces around anything else are left alone: caps lists need them. tools/cudainfer_tools/pipeline.py reads the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cudainfer_model::mistakes::nearest;
use gst::prelude::*;

use crate::elements;

/// What the default of a key for a result begins with.
const RESULT: &str = "./out/";

/// The end of the files' names.
const ENDING: &str = "launch";

/// A placeholder of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// What is filled in if nobody says otherwise; `None` where a value must be given.
    pub default: Option<String>,
    /// What it is for.
    pub help: String,
}

impl Key {
    /// The end of the name of a result's file, as in `jsonl`, if the key is for a result.
    pub fn result(&self) -> Option<&str> {
        let file = self.default.as_deref()?.strip_prefix(RESULT)?;
        file.split_once('.').map(|(_, ending)| ending)
    }
}

/// A pipeline file, read and checked.
#[derive(Clone, Debug)]
pub struct PipelineFile {
    /// Where it lies.
    pub path: PathBuf,
    /// All of it.
    pub text: String,
    /// Its placeholders, in the header's order.
    pub keys: Vec<Key>,
    words: Vec<String>,
}

impl PipelineFile {
    /// Reads the file at a path, or an installed one by its name, with or without `.launch`.
    ///
    /// # Errors
    /// A sentence.
    pub fn find(name: &str) -> Result<Self, String> {
        let path = Path::new(name);
        if path.exists() || name.contains('/') {
            return Self::read(path);
        }
        let stem = name.strip_suffix(".launch").unwrap_or(name);
        let folders = folders();
        let found = folders.iter().map(|folder| folder.join(stem).with_extension(ENDING));
        match found.into_iter().find(|path| path.is_file()) {
            Some(path) => Self::read(&path),
            None => {
                let names: Vec<String> = folders.iter().flat_map(|folder| names(folder)).collect();
                let near = nearest(stem, names.iter().map(String::as_str));
                Err(match near {
                    Some(near) => format!("there is no pipeline '{name}': '{near}' is probably meant"),
                    None => format!(
                        "there is no pipeline '{name}': give a file's path, or one of {}",
                        names.join(", ")
                    ),
                })
            }
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// A sentence.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let text =
            cudainfer_files::text(path).map_err(|e| format!("the pipeline '{shown}' cannot be read: {e}"))?;
        let (header, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('#'));
        let keys: Vec<Key> = header.iter().filter_map(|line| key(line)).collect();
        let words = shlex::split(&lines.join(" "))
            .ok_or_else(|| format!("the pipeline '{shown}' has a quotation mark that is not closed"))?;
        for name in words.iter().flat_map(|word| placeholders(word)) {
            if !keys.iter().any(|key| key.name == name) {
                return Err(format!(
                    "the pipeline '{shown}' has {{{name}}}: its header lacks a line '# {name}=DEFAULT  HELP'"
                ));
            }
        }
        if words.is_empty() {
            return Err(format!("the pipeline '{shown}' has no elements after its header"));
        }
        Ok(Self { path: path.to_owned(), keys, words, text })
    }

    /// The key of this name.
    ///
    /// # Errors
    /// A sentence with the name that is probably meant.
    pub fn key(&self, name: &str) -> Result<&Key, String> {
        self.keys.iter().find(|key| key.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.keys.iter().map(|key| key.name.as_str()).collect();
            let shown = self.path.display();
            match nearest(name, names.iter().copied()) {
                Some(near) => {
                    format!("the pipeline '{shown}' has no key '{name}': '{near}' is probably meant")
                }
                None => {
                    format!("the pipeline '{shown}' has no key '{name}': its keys are {}", names.join(", "))
                }
            }
        })
    }

    /// The default of a key. A path in the repository, which begins with `./`, is one only where it exists.
    pub fn default(&self, key: &Key) -> Option<String> {
        let default = key.default.as_deref()?;
        let Some(path) = default.strip_prefix("./") else { return Some(default.to_owned()) };
        let root = self.path.canonicalize().ok()?.parent()?.parent()?.join(path);
        root.exists().then(|| root.to_string_lossy().into_owned())
    }

    /// The pipeline's words with these values of all keys, as gst-launch-1.0 takes its arguments.
    pub fn filled(&self, values: &BTreeMap<String, String>) -> Vec<String> {
        self.words.iter().map(|word| filled(word, values)).collect()
    }
}

/// Parses the words of a pipeline whose keys were filled in.
///
/// # Errors
/// A sentence.
pub fn parse(words: &[String]) -> Result<gst::Pipeline, String> {
    let mut context = gst::ParseContext::new();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let parsed = gst::parse::launchv_full(&words, Some(&mut context), gst::ParseFlags::FATAL_ERRORS);
    let parsed = parsed.map_err(|e| match elements::missing_in(&context, &e) {
        Some(missing) => elements::missing(&missing),
        None => format!("the pipeline does not parse: {}", e.message()),
    })?;
    parsed.downcast().map_err(|_| "the pipeline has one element only: it needs a source and a sink".into())
}

fn key(line: &str) -> Option<Key> {
    let rest = line.strip_prefix('#')?.trim_start();
    let (word, help) = rest.split_once(char::is_whitespace)?;
    let (name, default) = word.split_once('=')?;
    let default = (!default.is_empty()).then(|| default.to_owned());
    is_name(name).then(|| Key { name: name.to_owned(), default, help: help.trim().to_owned() })
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// The names in braces.
fn placeholders(text: &str) -> Vec<&str> {
    let after = text.split('{').skip(1);
    after.filter_map(|part| part.split_once('}')).map(|(name, _)| name).filter(|name| is_name(name)).collect()
}

/// A word with the values of its placeholders. Parsing takes a backslash for an escape, and the next word for the value of a
/// property where there is none.
fn filled(word: &str, values: &BTreeMap<String, String>) -> String {
    let (mut text, mut rest) = (String::with_capacity(word.len()), word);
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let value = after.split_once('}').and_then(|(name, after)| Some((values.get(name)?, after)));
        match value {
            Some((value, after)) => {
                text.push_str(&if value.is_empty() {
                    "\"\"".to_owned()
                } else {
                    value.replace('\\', "\\\\")
                });
                rest = after;
            }
            None => {
                text.push('{');
                rest = after;
            }
        }
    }
    text + rest
}

/// Where pipelines are installed, as seen from the program: in a package, in the repository.
fn folders() -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
    let places = ["../share/cudainfer/pipelines", "../../pipelines"].map(|place| beside.join(place));
    places.into_iter().filter(|folder| folder.is_dir()).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == ENDING));
    let mut names: Vec<String> =
        paths.filter_map(|path| path.file_stem()?.to_str().map(str::to_owned)).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<PipelineFile, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.launch");
        std::fs::write(&path, text).unwrap();
        PipelineFile::read(&path)
    }

    const TEXT: &str = "# Does\n#\n# video=./none.avi  the video\n# model=  the model\n# json=./out/a.jsonl   results\n\
        filesrc location={video} ! video/x-raw,width={16,32} ! trtinfer model={model}\n  ! filesink location='{json} x'\n";

    #[test]
    fn keys_and_words_are_those_that_the_python_reads() {
        let file = read(TEXT).unwrap();
        let keys: Vec<_> =
            file.keys.iter().map(|key| (key.name.as_str(), key.default.as_deref(), key.result())).collect();
        assert_eq!(
            keys,
            [
                ("video", Some("./none.avi"), None),
                ("model", None, None),
                ("json", Some("./out/a.jsonl"), Some("jsonl"))
            ]
        );
        let values = [("video", "a \\ b"), ("model", ""), ("json", "{model}")];
        let values = values.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let words = file.filled(&values);
        let expected = [
            "filesrc",
            "location=a \\\\ b",
            "!",
            "video/x-raw,width={16,32}",
            "!",
            "trtinfer",
            "model=\"\"",
            "!",
            "filesink",
            "location={model} x",
        ];
        assert_eq!(words, expected);
        assert_eq!(file.default(&file.keys[0]), None, "the path does not exist");
    }

    #[test]
    fn what_is_wrong_with_a_file_is_a_sentence() {
        for (from, to, part) in [
            ("# model=", "# modell=", "its header lacks a line '# model=DEFAULT  HELP'"),
            ("'{json} x'", "'{json}", "quotation mark that is not closed"),
        ] {
            assert!(TEXT.contains(from));
            let error = read(&TEXT.replace(from, to)).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert!(read("# only a header\n").unwrap_err().contains("no elements"));
        let file = read(TEXT).unwrap();
        assert!(file.key("modle").unwrap_err().contains("'model' is probably meant"));
        assert!(file.key("zzz").unwrap_err().contains("its keys are video, model, json"));
        assert!(PipelineFile::find("/nowhere/a.launch").unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn a_pipeline_is_parsed_as_gst_launch_does() {
        gst::init().unwrap();
        let words = |text: &str| text.split('|').map(str::to_owned).collect::<Vec<_>>();
        let pipeline = parse(&words("fakesrc|!|identity|name=a|!|filesink|location=/a b")).unwrap();
        let sink = elements::of_factory(pipeline.upcast_ref(), "filesink").remove(0);
        assert_eq!(sink.property::<String>("location"), "/a b");
        for (text, part) in [
            ("fakesrc|!|fakesik", "GStreamer has no element fakesik"),
            ("fakesrc|!|!|fakesink", "does not parse"),
            ("fakesrc|num-bufers=1|!|fakesink", "no property \"num-bufers\""),
            ("fakesrc", "one element only"),
        ] {
            assert!(parse(&words(text)).unwrap_err().contains(part), "{text}");
        }
    }
}
