//! All that a stream needs to run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::description::{Defaults, Description};
use super::publish::publisher;
use super::{elements, file, permission, properties};
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
    pub config: SourceConfig,
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
    /// Collects all keys of a configuration about a source, and checks them with GStreamer. Nothing is started.
    ///
    /// # Errors
    /// The key, and a sentence that begins with the source's name.
    pub fn new(
        config: &Config,
        source: SourceConfig,
        models: &BTreeMap<String, ChangedModel>,
    ) -> Result<Self, (&'static str, String)> {
        let spec = Self::unchecked(config, source, models)?;
        spec.checked(config)?;
        Ok(spec)
    }

    /// The same, or a held stream if the keys are wrong.
    pub fn new_or_held(
        config: &Config,
        source: SourceConfig,
        models: &BTreeMap<String, ChangedModel>,
    ) -> Self {
        match Self::unchecked(config, source.clone(), models) {
            Err((_, why)) => Self::held(config, source, Held { why, tried_again: false }),
            Ok(spec) => {
                let held = spec.checked(config).err();
                let held = held.map(|(_, why)| Held { why, tried_again: spec.lacks_a_file() });
                Self { held, ..spec }
            }
        }
    }

    fn unchecked(
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
        let bare = SourceConfig {
            name: "default".into(),
            pipeline: source.pipeline.clone(),
            ..SourceConfig::default()
        };
        let defaults =
            pipeline.filled_for(&bare).ok().and_then(|filled| Defaults::of(&filled).ok()).unwrap_or_default();
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
            files: file::folder_for(config, &source),
            config: source,
        })
    }

    fn checked(&self, config: &Config) -> Result<(), (&'static str, String)> {
        self.check(config).map_err(|(key, sentence)| (key, format!("source '{}': {sentence}", self.name())))
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
            config: source,
        }
    }

    /// The stream's name.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Whether this spec equals `running`, which plays, but for a file that is missing by now.
    pub fn lacks_a_file_only(&self, running: &Self) -> bool {
        self.held.as_ref().is_some_and(|held| held.tried_again)
            && Self { held: None, ..self.clone() } == *running
    }

    /// The same with other models in place of those of the description, by `PIPELINE/ELEMENT`.
    pub fn with_models(&self, models: &BTreeMap<String, ChangedModel>) -> Self {
        Self { models: of_pipeline(&self.config.pipeline, models), ..self.clone() }
    }

    /// Checks what needs GStreamer.
    fn check(&self, config: &Config) -> Result<(), (&'static str, String)> {
        let description = Description::new(self)?;
        permission::check(config, &self.config, &self.kind, &self.description, &description)?;
        let key = if self.config.set.is_empty() { "line" } else { "set" };
        description.check_models().map_err(|sentence| (key, sentence))?;
        let models = description.models();
        for changed in self.models.values().filter(|changed| models.contains(&changed.now)) {
            // The file may have been missing when the permission was checked before.
            permission::check_model(config, &changed.now).map_err(|sentence| (key, sentence))?;
        }
        description.check_zones(&self.config.zones).map_err(|sentence| ("zones", sentence))?;
        self.file().map_err(|sentence| ("uri", sentence))?;
        let source = match &self.kind {
            SourceKind::Test(_) => elements::make("videotestsrc", "check"),
            SourceKind::V4l2 { .. } => elements::make("v4l2src", "check"),
            _ => gst::Element::make_from_uri(gst::URIType::Src, self.config.uri.whole(), Some("check"))
                .map_err(|e| {
                    self.without_secrets(&format!("GStreamer has no element for '{}': {e}", self.config.uri))
                }),
        };
        let source = source.map_err(|sentence| ("uri", sentence))?;
        permission::check_source(config, &self.config, &source).map_err(|sentence| ("source", sentence))?;
        for (name, value) in &self.config.properties {
            properties::checked(&source, name, value).map_err(|sentence| ("source", sentence))?;
        }
        if let SourceKind::Test(test) = &self.kind {
            let pattern = Scalar::Text(test.pattern.clone());
            properties::checked(&source, "pattern", &pattern).map_err(|sentence| ("uri", sentence))?;
        }
        Ok(())
    }

    /// Whether a file that it needs is missing.
    fn lacks_a_file(&self) -> bool {
        let is_absent = |path: &Path| path.metadata().is_err();
        let models = Description::new(self).map(|description| description.models()).unwrap_or_default();
        models.iter().any(|model| is_absent(Path::new(model)))
            || self.config.zones_file.as_deref().is_some_and(is_absent)
            || self.lacks_its_source()
    }

    /// A text of GStreamer's without the logins at the source.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        let logins = self.config.properties.iter().filter(|(property, _)| permission::is_login(property));
        self.config.uri.hide_in(&hide(text, logins.map(|(_, value)| value.to_string()).collect()))
    }

    /// The elements of `[[publish]]`.
    pub(super) fn publishers(&self) -> Result<Vec<gst::Element>, String> {
        let make = |(index, properties)| {
            let name = if index == 0 { "publish".to_owned() } else { format!("publish-{}", index + 1) };
            publisher(&name, properties, &self.config.name)
        };
        self.publish.iter().enumerate().map(make).collect()
    }
}

/// The models of a pipeline, by element.
fn of_pipeline(pipeline: &str, models: &BTreeMap<String, ChangedModel>) -> BTreeMap<String, ChangedModel> {
    let prefix = format!("{pipeline}/");
    let own =
        |(key, model): (&String, &ChangedModel)| Some((key.strip_prefix(&prefix)?.to_owned(), model.clone()));
    models.iter().filter_map(own).collect()
}
