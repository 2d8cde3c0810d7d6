//! Streams that are listed and not started: because of kept changes that are not allowed or not possible, or because their
//! sources have ended the process.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::streams::Inner;
use crate::config::{ChangedModel, Config, Kept, SourceConfig, Stuck};
use crate::log;
use crate::stream::{Held, StreamSpec, check_model, is_missing_model};
use crate::unpoisoned::lock;

impl Inner {
    /// Notes, for the next process, which sources end this one.
    pub fn note_stuck(self: &Arc<Self>, sources: &[SourceConfig]) {
        let mut stuck = lock(&self.stuck);
        // A source may have several pipelines that do not stop; the last one has its present keys.
        let last: BTreeMap<&str, &SourceConfig> =
            sources.iter().map(|source| (source.name.as_str(), source)).collect();
        last.values().for_each(|source| stuck.note(source));
        self.save_stuck(&stuck);
    }

    pub fn forget_stuck(self: &Arc<Self>, name: &str) {
        let mut stuck = lock(&self.stuck);
        if stuck.forget(name) {
            self.save_stuck(&stuck);
        }
    }

    /// The spec of a held stream's source, checked again.
    pub fn try_again(&self, source: &SourceConfig) -> StreamSpec {
        // Copies, so that no lock is held while a disk is slow.
        let config = Arc::clone(&lock(&self.config));
        let (models, stuck) = (lock(&self.kept).models.clone(), lock(&self.stuck).clone());
        spec_or_held(&config, source.clone(), &models, &stuck)
    }
}

/// Forgets models that were set by the API and that a client may not choose, or no longer: those of the pipeline's description
/// are used. A model whose file is only missing is kept, and its streams wait for it.
pub(super) fn keep_allowed_models(config: &Config, kept: &mut Kept) {
    kept.models.retain(|key, changed| {
        if is_missing_model(config, &changed.now) {
            return true;
        }
        let allowed = check_model(config, &changed.now);
        if let Err(sentence) = &allowed {
            log::error(format_args!(
                "{key}: {sentence}. It was set by the API: '{}' is used instead",
                changed.line
            ));
        }
        allowed.is_ok()
    });
}

/// The specs of these sources. A source that cannot run, or has ended the process again and again, is listed and not started; its
/// thread logs why. The sources of the file have been checked alone before, so what is wrong here was set by the API.
pub(super) fn specs_or_held(
    config: &Config,
    sources: Vec<SourceConfig>,
    models: &BTreeMap<String, ChangedModel>,
    stuck: &Stuck,
) -> Vec<StreamSpec> {
    sources.into_iter().map(|source| spec_or_held(config, source, models, stuck)).collect()
}

fn spec_or_held(
    config: &Config,
    source: SourceConfig,
    models: &BTreeMap<String, ChangedModel>,
    stuck: &Stuck,
) -> StreamSpec {
    let mut spec = StreamSpec::new_or_held(config, source, models);
    if let Some(held) = &mut spec.held {
        held.why += ". It was set by the API, and is not started";
        return spec;
    }
    match stuck.refusal(&spec.config) {
        Some(why) => StreamSpec::held(config, spec.config, Held { why, tried_again: false }),
        None => spec,
    }
}
