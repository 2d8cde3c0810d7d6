//! Streams that are listed and not started: because of kept changes that are not allowed or not possible, or because their
//! sources have ended the process.

use std::collections::BTreeMap;

use crate::config::{ChangedModel, Config, Kept, SourceConfig, Stuck};
use crate::log;
use crate::stream::{Held, StreamSpec, check_model, is_missing_model};

/// The specs of the sources of a configuration with the changes that were kept. Changes that no longer fit the configuration are
/// forgotten, which is logged.
pub(super) fn changed_specs(config: &Config, kept: &mut Kept, stuck: &Stuck) -> Vec<StreamSpec> {
    let (sources, forgotten) = kept.apply(&config.sources);
    forgotten.iter().for_each(log::warning);
    keep_allowed_models(config, kept);
    sources.into_iter().map(|source| spec_or_held(config, source, &kept.models, stuck)).collect()
}

/// Forgets models that were set by the API and that a client may not choose, or no longer: those of the pipeline's description
/// are used. A model whose file is only missing is kept, and its streams wait for it.
fn keep_allowed_models(config: &Config, kept: &mut Kept) {
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

/// The spec of a source. One that cannot run, or has ended the process again and again, is listed and not started; its thread logs
/// why. The sources of the file have been checked alone before, so what is wrong here was set by the API.
pub(super) fn spec_or_held(
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
    match stuck.refusal(&spec.source) {
        Some(why) => StreamSpec::held(config, spec.source, Held { why, tried_again: false }),
        None => spec,
    }
}
