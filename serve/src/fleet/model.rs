//! Another model for a pipeline while its streams play.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudainfer_model::file_of;
use gst::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Fleet, Refusal};
use crate::config::ChangedModel;
use crate::log;
use crate::stream::supervisor::State;
use crate::stream::{Effect, Network, Stream, check_model};
use crate::unpoisoned::lock;

/// How long a new model may take until it is in use: TensorRT may build for minutes.
const LIMIT: Duration = Duration::from_secs(1800);

/// The result of a change of model.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ModelChange {
    /// The pipeline.
    pub pipeline: String,
    /// Its trtinfer.
    pub element: String,
    /// The model in use before.
    pub before: String,
    /// The model in use now, or from the next start of a stream on.
    pub model: String,
    /// The streams that play with it now.
    pub streams: Vec<String>,
    /// Whether it is kept across restarts.
    pub kept: bool,
    /// Seconds until it was in use.
    pub took: f64,
}

impl Fleet {
    /// Has the streams of a pipeline use another model, and waits until they do. `pipeline` is its name, and
    /// `PIPELINE/ELEMENT` if it has several trtinfers. Streams whose source chooses its own model keep that.
    ///
    /// # Errors
    /// There is no such pipeline or file, or the model cannot be used: then the streams keep the model they have.
    pub fn set_model(&self, pipeline: &str, model: &str) -> Result<ModelChange, Refusal> {
        let _one = self
            .0
            .model
            .try_lock()
            .map_err(|_| Refusal::Busy("another model is being changed or loaded".into()))?;
        self.refuse_while_draining()?;
        let (name, element) =
            pipeline.split_once('/').map_or((pipeline, None), |(name, element)| (name, Some(element)));
        if !self.config().pipelines.contains_key(name) {
            return Err(Refusal::NotFound(format!("there is no pipeline '{name:.128}'")));
        }
        check_model(&self.config(), model).map_err(Refusal::Invalid)?;
        if !file_of(Path::new(model)).is_file() {
            return Err(Refusal::Invalid(format!("there is no model '{model}'")));
        }
        let sharers = || -> Vec<Arc<Stream>> {
            let streams: Vec<_> = lock(&self.0.streams).values().cloned().collect();
            streams.into_iter().filter(|stream| stream.spec().source.pipeline == name).collect()
        };
        let streams = sharers();
        if streams.is_empty() {
            return Err(Refusal::Conflict(format!("pipeline '{name}' has no stream yet")));
        }
        let network = Network::of_pipeline(&self.config(), name, element).map_err(Refusal::Invalid)?;
        let (element, own) = (network.name(), network.model());
        let (key, instance) = (format!("{name}/{element}"), format!("{name}/{element}"));
        let before =
            lock(&self.0.files.kept).models.get(&key).map_or(own.clone(), |changed| changed.now.clone());
        let uses = |stream: &Arc<Stream>| {
            let network = stream.built()?.description.element(&element)?;
            (network.property::<Option<String>>("instance")? == instance).then_some(network)
        };
        let playing = |stream: &&Arc<Stream>| stream.status().state == State::Playing;
        let began = Instant::now();
        match streams.iter().filter(playing).find_map(|stream| Some((stream, uses(stream)?))) {
            Some((stream, used)) => swap(stream, &used, model)?,
            None => network.try_model(model).map_err(Refusal::Conflict)?,
        }
        let _changing = lock(&self.0.changing);
        let models = {
            let mut kept = lock(&self.0.files.kept);
            if own == model {
                kept.models.remove(&key);
            } else {
                kept.models.insert(key, ChangedModel { line: own, now: model.to_owned() });
            }
            kept.models.clone()
        };
        self.save();
        // Streams that were added meanwhile change as well.
        let sharers = sharers();
        for stream in &sharers {
            let spec = stream.spec();
            match &spec.held {
                // A stream that plays has the model already; its next start gets it by the spec.
                None => drop(stream.change(spec.with_models(&models), Effect::Later)),
                // The stream may have waited for this model.
                Some(held) if held.tried_again => {
                    drop(stream.change(self.0.try_again(&spec.source), Effect::Restart));
                }
                Some(_) => (),
            }
        }
        // Streams that are just starting were built with the earlier model.
        let starting = sharers.iter().filter(|stream| !playing(stream)).filter_map(uses);
        starting
            .filter(|network| !has(network, model))
            .for_each(|network| network.set_property("model", model));
        log::info(format_args!("pipeline '{name}': {element} uses '{model}' instead of '{before}'"));
        let streams = sharers.iter().filter(|stream| uses(stream).is_some());
        let streams = streams.map(|stream| stream.spec().name().to_owned()).collect();
        let took = began.elapsed().as_secs_f64();
        let kept = self.keeps();
        Ok(ModelChange { pipeline: name.into(), element, before, model: model.into(), streams, kept, took })
    }
}

/// Whether the model is set already: setting it again would load it again.
fn has(network: &gst::Element, model: &str) -> bool {
    network.property::<Option<String>>("model").as_deref() == Some(model)
}

/// Sets the model and waits until trtinfer pushes frames of it.
fn swap(stream: &Stream, network: &gst::Element, model: &str) -> Result<(), Refusal> {
    let pad = network.static_pad("src");
    // The model's name, with a number that counts how often one was loaded.
    let loaded = || {
        let caps = pad.as_ref()?.current_caps()?;
        caps.structure(0)?.get::<String>("tensor-model").ok()
    };
    if has(network, model) {
        return Ok(());
    }
    let (before, warnings) = (loaded(), stream.warnings());
    network.set_property("model", model);
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        if let Ok(text) = warnings.recv_timeout(Duration::from_millis(50))
            && text.contains("is not taken over")
        {
            return Err(Refusal::Conflict(text));
        }
        if loaded() != before {
            return Ok(());
        }
        if stream.status().state != State::Playing {
            let name = stream.spec().name().to_owned();
            return Err(Refusal::Conflict(format!(
                "stream '{name}', which should show the model, does not play any more"
            )));
        }
    }
    Err(Refusal::Busy(format!("the model is not in use after {} s", LIMIT.as_secs())))
}
