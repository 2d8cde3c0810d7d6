//! All that a stream needs to run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::defaults::Defaults;
use super::permission::is_login;
use crate::config::{
    ChangedModel, Config, FilledDescription, Restart, Scalar, SourceConfig, SourceKind, hide,
};

/// Why a stream is listed and not started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// A sentence for the user.
    pub why: String,
    /// Whether it is tried again by itself, because a file is missing and may come back, as files of a network folder do.
    pub tried_again: bool,
}

/// All that a stream needs to run: streams with equal specs run equally.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamSpec {
    /// The source's keys.
    pub source: SourceConfig,
    /// Why it is listed and not started.
    pub held: Option<Held>,
    /// The kind of source, by its URI.
    pub kind: SourceKind,
    /// The description of its pipeline, and the values of its keys.
    pub description: FilledDescription,
    /// When it is started again.
    pub restart: Restart,
    /// The properties of each inferpublish that follows the pipeline.
    pub publish: Vec<BTreeMap<String, Scalar>>,
    /// The properties of the pipeline's trtinfers without a source.
    pub(super) defaults: Defaults,
    /// The folder below which the source's file must be, if a client has named it.
    pub(super) files: Option<PathBuf>,
    /// Models that took the place of those of the description, by element.
    pub models: BTreeMap<String, ChangedModel>,
}

impl StreamSpec {
    /// Collects all keys of a configuration about a source. What needs GStreamer is not checked.
    ///
    /// # Errors
    /// The key, and a sentence that begins with the source's name.
    pub(super) fn unchecked(
        config: &Config,
        mut source: SourceConfig,
        models: &BTreeMap<String, ChangedModel>,
    ) -> Result<Self, (&'static str, String)> {
        config.complete(&mut source)?;
        let name = source.name.clone();
        let at = |key: &'static str| {
            let name = name.clone();
            move |sentence: String| (key, format!("source '{name}': {sentence}"))
        };
        let kind = SourceKind::parse(&source.uri).map_err(at("uri"))?;
        let pipeline = config.pipelines.get(&source.pipeline);
        let pipeline = pipeline.ok_or_else(|| at("pipeline")("there is no such pipeline".into()))?;
        let description = pipeline.filled_for(&source).map_err(at("set"))?;
        let bare = pipeline.filled_for(&SourceConfig::bare(&source.pipeline)).ok();
        let defaults = bare.and_then(|filled| Defaults::of(&filled).ok()).unwrap_or_default();
        let concerns =
            |streams: &Option<Vec<String>>| streams.as_ref().is_none_or(|all| all.contains(&source.name));
        let publish = config.publish.iter().filter(|publish| concerns(&publish.streams));
        let publish = publish.map(|publish| publish.properties.clone()).collect();
        Ok(Self {
            held: None,
            kind,
            description,
            restart: config.restart_of(&source),
            publish,
            defaults,
            models: of_pipeline(&source.pipeline, models),
            files: folder_for(config, &source),
            source,
        })
    }

    /// A stream that is listed and not started.
    pub fn held(config: &Config, source: SourceConfig, why: Held) -> Self {
        Self {
            held: Some(why),
            kind: SourceKind::Rtsp,
            description: FilledDescription::default(),
            restart: config.restart_of(&source),
            publish: Vec::new(),
            defaults: Defaults::default(),
            models: BTreeMap::new(),
            files: None,
            source,
        }
    }

    /// The stream's name.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// Whether this spec equals `running`, which plays, but for a file that is missing by now.
    pub fn lacks_a_file_only(&self, running: &Self) -> bool {
        self.held.as_ref().is_some_and(|held| held.tried_again)
            && Self { held: None, ..self.clone() } == *running
    }

    /// The same with other models in place of those of the description, by `PIPELINE/ELEMENT`.
    pub fn with_models(&self, models: &BTreeMap<String, ChangedModel>) -> Self {
        Self { models: of_pipeline(&self.source.pipeline, models), ..self.clone() }
    }

    /// A text of GStreamer's without the logins at the source.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        let logins = self.source.properties.iter().filter(|(property, _)| is_login(property));
        self.source.uri.hide_in(&hide(text, logins.map(|(_, value)| value.to_string()).collect()))
    }
}

/// The models of a pipeline, by element.
fn of_pipeline(pipeline: &str, models: &BTreeMap<String, ChangedModel>) -> BTreeMap<String, ChangedModel> {
    let prefix = format!("{pipeline}/");
    let own =
        |(key, model): (&String, &ChangedModel)| Some((key.strip_prefix(&prefix)?.to_owned(), model.clone()));
    models.iter().filter_map(own).collect()
}

/// The folder below which the file of a source must be; `None` if the configuration itself names the file.
fn folder_for(config: &Config, source: &SourceConfig) -> Option<PathBuf> {
    let own = config.sources.iter().any(|own| own.name == source.name && own.uri == source.uri);
    // If `[server]` has no `files`, the source was refused before.
    (!own).then(|| config.server.files.clone().unwrap_or_default())
}
