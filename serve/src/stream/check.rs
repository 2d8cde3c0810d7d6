//! Checking what a stream needs with GStreamer, before anything is started.

use cudainfer_launch::{elements, properties};
use std::collections::BTreeMap;
use std::path::Path;

use super::{Description, Held, StreamSpec, permission};
use crate::config::{ChangedModel, Config, Scalar, SourceConfig, SourceKind};

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
        spec.check(config)?;
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
                let held = spec.check(config).err();
                let held = held.map(|(_, why)| Held { why, tried_again: spec.lacks_a_file() });
                Self { held, ..spec }
            }
        }
    }

    /// Checks what needs GStreamer.
    ///
    /// # Errors
    /// The key, and a sentence that begins with the source's name.
    fn check(&self, config: &Config) -> Result<(), (&'static str, String)> {
        let named =
            |(key, sentence): (&'static str, String)| (key, format!("source '{}': {sentence}", self.name()));
        self.check_pipeline(config).and_then(|()| self.check_source(config)).map_err(named)
    }

    /// Checks the pipeline's description, what its source sets there, its models and zones.
    fn check_pipeline(&self, config: &Config) -> Result<(), (&'static str, String)> {
        let description = Description::new(self)?;
        permission::check(config, &self.source, &self.kind, &self.description, &description)?;
        let key = if self.source.set.is_empty() { "line" } else { "set" };
        description.check_models().map_err(|sentence| (key, sentence))?;
        let models = description.models();
        for changed in self.models.values().filter(|changed| models.contains(&changed.now)) {
            // The file may have been missing when the permission was checked before.
            permission::check_model(config, &changed.now).map_err(|sentence| (key, sentence))?;
        }
        description.check_zones(&self.source).map_err(|sentence| ("zones", sentence))
    }

    /// Checks the source, as far as it is known without contacting it.
    fn check_source(&self, config: &Config) -> Result<(), (&'static str, String)> {
        self.file().map_err(|sentence| ("uri", sentence))?;
        let element = match &self.kind {
            SourceKind::Test(_) => elements::make("videotestsrc", "check"),
            SourceKind::V4l2 { .. } => elements::make("v4l2src", "check"),
            _ => gst::Element::make_from_uri(gst::URIType::Src, self.source.uri.whole(), Some("check"))
                .map_err(|e| {
                    self.without_secrets(&format!("GStreamer has no element for '{}': {e}", self.source.uri))
                }),
        };
        let element = element.map_err(|sentence| ("uri", sentence))?;
        permission::check_source(config, &self.source, &element).map_err(|sentence| ("source", sentence))?;
        for (name, value) in &self.source.properties {
            properties::checked(&element, name, value).map_err(|sentence| ("source", sentence))?;
        }
        if let SourceKind::Test(test) = &self.kind {
            let pattern = Scalar::Text(test.pattern.clone());
            properties::checked(&element, "pattern", &pattern).map_err(|sentence| ("uri", sentence))?;
        }
        Ok(())
    }

    /// Whether a file that it needs is missing.
    fn lacks_a_file(&self) -> bool {
        let is_absent = |path: &Path| path.metadata().is_err();
        let models = Description::new(self).map(|description| description.models()).unwrap_or_default();
        models.iter().any(|model| is_absent(Path::new(model)))
            || self.source.zones_file.as_deref().is_some_and(is_absent)
            || self.lacks_its_source()
    }
}
