//! The trtinfers of a pipeline: their models without a source, and whether they can load others.

use cudainfer_launch::{elements, properties};
use gst::prelude::*;

use super::defaults::Defaults;
use super::parse::parse;
use super::{Description, StreamSpec};
use crate::config::{Config, SourceConfig};

/// A trtinfer with the properties that a pipeline's description gives it.
#[derive(Clone, Debug)]
pub struct Network(gst::Element);

impl Network {
    /// The trtinfer of this name in a pipeline, or the only one, with the properties that it has without a source.
    ///
    /// # Errors
    /// A sentence: there is none, or there are several.
    pub fn of_pipeline(config: &Config, pipeline: &str, element: Option<&str>) -> Result<Self, String> {
        let at = |sentence: String| format!("pipeline '{pipeline}': {sentence}");
        let bare = SourceConfig::bare(pipeline);
        let filled = config.pipelines.get(pipeline).and_then(|pipeline| pipeline.filled_for(&bare).ok());
        let defaults = filled.as_ref().and_then(|filled| Defaults::of(filled).ok()).unwrap_or_default();
        let name = defaults.network(element).map_err(at)?;
        let bin = parse(&filled.unwrap_or_default()).map_err(at)?;
        let found = elements::all(&bin).into_iter().find(|element| element.name() == name);
        found.map(Self).ok_or_else(|| at(format!("it has no trtinfer '{name}'")))
    }

    /// The trtinfers of a stream, with the properties that its source sets.
    pub fn of_stream(spec: &StreamSpec) -> Vec<Self> {
        Description::new(spec)
            .map(|description| description.networks().into_iter().map(Self).collect())
            .unwrap_or_default()
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.0.name().to_string()
    }

    /// Its model.
    pub fn model(&self) -> String {
        self.0.property::<Option<String>>("model").unwrap_or_default()
    }

    /// The instance that it shares with other streams.
    pub fn instance(&self) -> String {
        self.0.property::<Option<String>>("instance").unwrap_or_default()
    }

    /// Loads a model with this trtinfer's properties, and releases it.
    ///
    /// # Errors
    /// trtinfer's error, if it cannot load the model.
    pub fn try_model(&self, model: &str) -> Result<(), String> {
        let alone = elements::make("trtinfer", &self.0.name())?;
        for (pspec, _) in properties::all(&self.0).into_iter().filter(|(pspec, _)| pspec.name() != "instance")
        {
            alone.set_property_from_value(pspec.name(), &self.0.property_value(pspec.name()));
        }
        alone.set_property("model", model);
        // trtinfer loads its model on the way to READY.
        elements::refusal(&alone, gst::State::Ready).map_or(Ok(()), Err)
    }
}
