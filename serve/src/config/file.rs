//! The configuration file: read, and checked as far as is possible without GStreamer.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use cudainfer_model::TomlError;
use cudainfer_model::mistakes::nearest;
use cudainfer_model::toml_error::line_at;
use serde::Deserialize;
use toml::de::{DeTable, DeValue};

use super::{
    DescribeSettings, NotifySettings, Pipeline, Restart, RetentionSettings, Scalar, ServerSettings,
    SourceConfig,
};

/// All that a file says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// `[server]`.
    pub server: ServerSettings,
    /// `[restart]`.
    pub restart: Restart,
    /// `[retention]`.
    pub retention: RetentionSettings,
    /// `[pipeline.NAME]`.
    #[serde(rename = "pipeline")]
    pub pipelines: BTreeMap<String, Pipeline>,
    /// `[[publish]]`.
    pub publish: Vec<Publish>,
    /// `[[notify]]`.
    pub notify: Vec<NotifySettings>,
    /// `[describe]`.
    pub describe: Option<DescribeSettings>,
    /// `[[source]]`.
    #[serde(rename = "source")]
    pub sources: Vec<SourceConfig>,
    /// The file itself.
    #[serde(skip)]
    pub path: PathBuf,
}

/// `[[publish]]`: an inferpublish after each stream's pipeline.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Publish {
    /// The streams that have it; all if not set.
    pub streams: Option<Vec<String>>,
    /// Its properties. `{name}` in a text is the stream's name.
    #[serde(flatten)]
    pub properties: BTreeMap<String, Scalar>,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrong {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1, if the fault is in one.
    pub line: Option<usize>,
    /// What is wrong.
    pub sentence: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line.map_or_else(String::new, |line| format!("{line}:"));
        write!(f, "{}:{line} {}", self.file.display(), self.sentence)
    }
}

impl std::error::Error for Wrong {}

/// A step to a value in the file.
#[derive(Clone, Copy, Debug)]
enum PathStep<'a> {
    Key(&'a str),
    Index(usize),
}

impl Config {
    /// Reads and checks a file. Relative paths in it start at the working directory, which must be the file's folder.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn load(path: &Path) -> Result<Self, Wrong> {
        let wrong = |sentence| Wrong { file: path.to_owned(), line: None, sentence };
        let text = cudainfer_files::text(path).map_err(|e| wrong(format!("the file cannot be read: {e}")))?;
        Self::read(&text, path)
    }

    /// Reads and checks the text of a file.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(text: &str, path: &Path) -> Result<Self, Wrong> {
        let mut config: Self = toml::from_str(text).map_err(|e| {
            let TomlError { line, sentence, .. } = TomlError::of(text, &e);
            Wrong { file: path.to_owned(), line, sentence }
        })?;
        config.path = path.to_owned();
        let wrong = |(steps, sentence): (Vec<PathStep<'_>>, String)| Wrong {
            file: path.to_owned(),
            line: line_of(text, &steps),
            sentence,
        };
        config.check().map_err(wrong)?;
        config.check_sets().map_err(wrong)?;
        Ok(config)
    }

    /// Where in the file a key is that concerns a source: its own key, or `line` of its pipeline.
    pub fn line_of_key(&self, source: &SourceConfig, key: &str) -> Option<usize> {
        let text = cudainfer_files::text(&self.path).ok()?;
        if key == "line" {
            return self.line_of_pipeline(&source.pipeline);
        }
        let index = self.sources.iter().position(|other| other.name == source.name)?;
        line_of(&text, &[PathStep::Key("source"), PathStep::Index(index), PathStep::Key(key)])
    }

    /// Where the description of a pipeline is in the file.
    pub fn line_of_pipeline(&self, name: &str) -> Option<usize> {
        let text = cudainfer_files::text(&self.path).ok()?;
        line_of(&text, &[PathStep::Key("pipeline"), PathStep::Key(name), PathStep::Key("line")])
    }

    /// Where a `[[publish]]` begins in the file.
    pub fn line_of_publish(&self, index: usize) -> Option<usize> {
        let text = cudainfer_files::text(&self.path).ok()?;
        line_of(&text, &[PathStep::Key("publish"), PathStep::Index(index), PathStep::Key("location")])
    }

    /// Fills in the keys that a source leaves open, and checks it against the rest of the configuration.
    ///
    /// # Errors
    /// The key, and a sentence that begins with the source's name.
    pub fn complete(&self, source: &mut SourceConfig) -> Result<(), (&'static str, String)> {
        if source.pipeline.is_empty() && self.pipelines.len() == 1 {
            source.pipeline = self.pipelines.keys().next().cloned().unwrap_or_default();
        }
        let named = |(key, sentence): (&'static str, String)| {
            (key, format!("source '{:.128}': {sentence}", source.name))
        };
        source.check().map_err(named)?;
        self.restart_of(source).check().map_err(|(_, sentence)| named(("restart", sentence)))?;
        self.check_outputs(source).map_err(named)?;
        let pipeline = self
            .pipelines
            .get(&source.pipeline)
            .ok_or_else(|| named(("pipeline", self.no_pipeline(&source.pipeline))))?;
        pipeline.filled_for(source).map(drop).map_err(|sentence| named(("set", sentence)))
    }

    /// Refuses outputs of a source for which a key of `[server]` is missing.
    fn check_outputs(&self, source: &SourceConfig) -> Result<(), (&'static str, String)> {
        let kept = [
            ("record", source.record.is_some()),
            ("snapshots", source.snapshots.is_some()),
            ("sample", source.sample.is_some()),
            ("hls", source.hls),
        ];
        if let Some((key, _)) = kept.into_iter().find(|(_, wanted)| *wanted && self.server.state.is_none()) {
            return Err((key, format!("{key} needs a folder, and [server] has none: set state in [server]")));
        }
        if source.rtsp && self.server.rtsp.is_none() {
            let sentence = "rtsp = true needs the RTSP server: set rtsp in [server] to an address, such as \"127.0.0.1:8554\"";
            return Err(("rtsp", sentence.into()));
        }
        if source.rtsp && !cfg!(feature = "rtsp") {
            let sentence = "rtsp = true, and this cudainfer-serve was built without RTSP: build it with the Cargo feature rtsp";
            return Err(("rtsp", sentence.into()));
        }
        Ok(())
    }

    /// When the stream of a source is started again.
    pub fn restart_of(&self, source: &SourceConfig) -> Restart {
        source.restart.as_ref().map_or_else(|| self.restart.clone(), |own| self.restart.with(own))
    }

    fn no_pipeline(&self, name: &str) -> String {
        let known: Vec<&str> = self.pipelines.keys().map(String::as_str).collect();
        if known.is_empty() {
            return "there is no pipeline: write one as [pipeline.NAME] with its line".into();
        }
        if name.is_empty() {
            return format!("it does not say which pipeline: set pipeline to one of {}", known.join(", "));
        }
        match nearest(name, known.iter().copied()) {
            Some(near) => format!("there is no pipeline '{name}': '{near}' is probably meant"),
            None => format!("there is no pipeline '{name}', there are {}", known.join(", ")),
        }
    }

    fn check(&mut self) -> Result<(), (Vec<PathStep<'static>>, String)> {
        use PathStep::{Index, Key};
        self.server.check().map_err(|(key, sentence)| (vec![Key("server"), Key(key)], sentence))?;
        self.restart.check().map_err(|(key, sentence)| (vec![Key("restart"), Key(key)], sentence))?;
        self.retention.check().map_err(|(key, sentence)| (vec![Key("retention"), Key(key)], sentence))?;
        let mut sources = std::mem::take(&mut self.sources);
        let mut names = HashSet::new();
        for (index, source) in sources.iter_mut().enumerate() {
            let at = |key| vec![Key("source"), Index(index), Key(key)];
            self.complete(source).map_err(|(key, sentence)| (at(key), sentence))?;
            if !names.insert(source.name.clone()) {
                let first =
                    format!("there are two sources called '{}': give each a name of its own", source.name);
                return Err((at("name"), first));
            }
        }
        for (index, publish) in self.publish.iter().enumerate() {
            let at = |key| vec![Key("publish"), Index(index), Key(key)];
            check_names(publish.streams.as_ref(), &names).map_err(|sentence| (at("streams"), sentence))?;
            if publish.properties.contains_key("source") {
                let sentence = "source is the stream's name, so it cannot be set: use topic, or another name of the stream";
                return Err((at("source"), sentence.into()));
            }
        }
        for (index, notify) in self.notify.iter().enumerate() {
            let at = |key| vec![Key("notify"), Index(index), Key(key)];
            notify.check().map_err(|(key, sentence)| (at(key), sentence))?;
            check_names(notify.streams.as_ref(), &names).map_err(|sentence| (at("streams"), sentence))?;
        }
        if let Some(describe) = &self.describe {
            let at = |key| vec![Key("describe"), Key(key)];
            describe.check().map_err(|(key, sentence)| (at(key), sentence))?;
            check_names(describe.streams.as_ref(), &names).map_err(|sentence| (at("streams"), sentence))?;
            if self.server.state.is_none() || !self.server.history {
                let sentence = "[describe] needs the history, which has the events: set state in [server], and leave history true";
                return Err((vec![Key("describe")], sentence.into()));
            }
        }
        self.sources = sources;
        Ok(())
    }

    /// Checks that each pipeline's description has the keys of its `set`.
    fn check_sets(&self) -> Result<(), (Vec<PathStep<'_>>, String)> {
        use PathStep::Key;
        for (name, pipeline) in &self.pipelines {
            if let Some(key) = pipeline.unused(&pipeline.set) {
                let sentence =
                    format!("the line of pipeline '{name}' has no {{{key}}} that set could fill in");
                return Err((vec![Key("pipeline"), Key(name), Key("set"), Key(key)], sentence));
            }
        }
        Ok(())
    }
}

/// Checks that each of `wanted` is the name of a source.
fn check_names(wanted: Option<&Vec<String>>, names: &HashSet<String>) -> Result<(), String> {
    let Some(name) = wanted.into_iter().flatten().find(|name| !names.contains(*name)) else { return Ok(()) };
    Err(match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("there is no source '{name}': '{near}' is probably meant"),
        None => format!("there is no source '{name}'"),
    })
}

/// The line of the value at the end of `steps`, or of the last value on the way that the file has.
fn line_of(text: &str, steps: &[PathStep<'_>]) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut found = None;
    let mut value: Option<&DeValue<'_>> = None;
    for step in steps {
        let next = match (step, value) {
            (PathStep::Key(key), None) => document.get_ref().get_key_value(*key),
            (PathStep::Key(key), Some(DeValue::Table(table))) => table.get_key_value(*key),
            (PathStep::Index(index), Some(DeValue::Array(array))) => {
                let Some(next) = array.get(*index) else { break };
                found = Some(next.span().start);
                value = Some(next.get_ref());
                continue;
            }
            _ => None,
        };
        let Some((key, next)) = next else { break };
        found = Some(key.span().start);
        value = Some(next.get_ref());
    }
    found.map(|byte| line_at(text, byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
[server]
stop-timeout = 3
[restart]
stall = 4
[pipeline.one]
line = "identity silent={silent}"
set = { silent = true }
[[publish]]
location = "out/{name}.jsonl"
streams = ["b"]
[[source]]
name = "a"
uri = "test://ball"
restart = { stall = 2.5 }
[[source]]
name = "b"
uri = "file:///b.mp4"
pipeline = "one"
set = { silent = false }
override = { "identity.sync" = true }
"#;

    fn read(text: &str) -> Result<Config, Wrong> {
        Config::read(text, Path::new("serve.toml"))
    }

    #[test]
    fn a_file_is_read_and_completed() {
        let config = read(GOOD).unwrap();
        assert_eq!(config.sources[0].pipeline, "one");
        assert_eq!(config.restart_of(&config.sources[0]).stall, 2.5);
        assert_eq!(config.restart_of(&config.sources[1]).stall, 4.0);
        let location = Scalar::Text("out/{name}.jsonl".into());
        assert_eq!(config.publish[0].properties["location"], location);
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_line() {
        for (from, to, line, part) in [
            ("stop-timeout", "stop-timout", 3, "'stop-timeout' is probably meant"),
            ("stall = 4", "stall = -4", 5, "stall = -4"),
            ("stall = 4", "first = 1e-9", 5, "set 0.1 or more"),
            ("stall = 4", "stall = ", 5, ""),
            ("stall = 4", "stall = \"4\"", 5, "expected a number"),
            ("[restart]", "[retention]\nmax-age = -1\n[restart]", 5, "max-age = -1"),
            ("set = { silent = true }", "", 12, "what {silent}"),
            ("name = \"b\"", "name = \"a\"", 17, "two sources called 'a'"),
            ("name = \"b\"", "name = \"b/c\"", 17, "'b/c' cannot be"),
            ("\"one\"\nset", "\"onne\"\nset", 19, "'one' is probably meant"),
            ("file:///", "file:", 18, "absolute path"),
            ("restart = { stall = 2.5 }", "restart = { stal = 2.5 }", 15, "'stall' is probably meant"),
            ("restart = { stall = 2.5 }", "restart = { jitter = 2.5 }", 15, "jitter = 2.5"),
            ("streams = [\"b\"]", "streams = [\"c\"]", 11, "no source 'c'"),
            (
                "[[publish]]",
                "[[notify]]\nurl = \"http://h/\"\nstreams = [\"c\"]\n[[publish]]",
                11,
                "no source 'c'",
            ),
            ("[[publish]]", "[[notify]]\nurl = \"h\"\n[[publish]]", 10, "http or https"),
            (
                "[[publish]]",
                "[describe]\nurl = \"http://h/v1\"\nmodel = \"m\"\n[[publish]]",
                9,
                "set state in [server]",
            ),
            ("[[publish]]", "[describe]\nurl = \"http://h/v1\"\n[[publish]]", 9, "model is not set"),
            (
                "[[publish]]",
                "[describe]\nkey-fiel = \"secret\"\n[[publish]]",
                10,
                "'key-file' is probably meant",
            ),
            ("streams = [\"b\"]", "source = \"c\"", 11, "source is the stream's name"),
            ("[server]", "[server]\nlisten = \"0.0.0.0:80\"", 3, "Set token-file or client-ca"),
            ("[server]", "[server]\nhistory-size = 1000", 3, "set 4000000 or more"),
            ("[server]", "[server]\ntls-cert = \"x\"", 3, "belong together"),
            ("[server]", "[server]\ntoken-file = \"/nowhere/t\"", 3, "'/nowhere/t' cannot be read"),
            ("[server]", "[server]\nrtsp = \"127.0.0.1:8080\"", 3, "a port of its own"),
            ("\"identity.sync\"", "sync", 21, "ELEMENT.PROPERTY"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let wrong = read(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert!(wrong.sentence.contains(part), "{to}: {wrong}");
            assert_eq!(wrong.line, Some(line), "{to}: {wrong}");
        }
        let text = read(&GOOD.replace("stall = 4", "stal = 4")).unwrap_err().to_string();
        assert_eq!(text, "serve.toml:5: there is no key 'stal': 'stall' is probably meant");
    }

    #[test]
    fn fuzz_config() {
        // Each `[[source]]` has the fields of all keys.
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "config").with_ratio(300).run_text(
            |text| {
                let Ok(config) = Config::read(text, Path::new("serve.toml")) else { return };
                for source in &config.sources {
                    let _ = crate::config::SourceKind::parse(&source.uri);
                    if let Some(pipeline) = config.pipelines.get(&source.pipeline) {
                        let _ = pipeline.filled_for(source);
                    }
                }
            },
        );
    }
}
