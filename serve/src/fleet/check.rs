//! Whether a configuration can run, as far as that is known without starting anything.

use std::collections::BTreeMap;

use crate::config::{Config, SourceConfig, Wrong};
use crate::output;
use crate::stream::{
    StreamSpec, check_description, check_publish, check_shared_file, is_known_of_machine, try_line,
};

/// Checks a configuration as far as is possible without starting anything.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(config: &Config) -> Result<(), Wrong> {
    check_sources(config)?;
    check_unused(config)?;
    check_publishers(config)?;
    output::check(config).map_err(|sentence| Wrong { file: config.path.clone(), line: None, sentence })
}

/// Sends a picture through the line of each source, which loads its models; sources that set the same have one trial. Returns
/// what their models' elements warn about.
///
/// # Errors
/// The first error of an element.
pub fn try_lines(config: &Config) -> Result<Vec<String>, Wrong> {
    let mut tried: Vec<SourceConfig> = Vec::new();
    let mut warnings = Vec::new();
    for source in &config.sources {
        let wrong = |(key, sentence): (&str, String)| Wrong {
            file: config.path.clone(),
            line: config.line_of_key(source, key),
            sentence,
        };
        let spec = StreamSpec::new(config, source.clone(), &BTreeMap::new()).map_err(wrong)?;
        let own = SourceConfig {
            pipeline: spec.source.pipeline.clone(),
            set: spec.source.set.clone(),
            overrides: spec.source.overrides.clone(),
            ..SourceConfig::default()
        };
        if spec.held.is_some() || tried.contains(&own) {
            continue;
        }
        tried.push(own);
        let of_line = try_line(&spec).map_err(|sentence| wrong(("pipeline", sentence)))?;
        warnings.extend(of_line.into_iter().filter(|warning| !is_known_of_machine(warning)));
    }
    Ok(warnings)
}

/// Checks each source with its pipeline.
fn check_sources(config: &Config) -> Result<(), Wrong> {
    config.sources.iter().try_for_each(|source| {
        StreamSpec::new(config, source.clone(), &BTreeMap::new()).map(drop).map_err(|(key, sentence)| Wrong {
            file: config.path.clone(),
            line: config.line_of_key(source, key),
            sentence,
        })
    })
}

/// Parses the pipelines that no source of the file has: streams that are added later may have them.
fn check_unused(config: &Config) -> Result<(), Wrong> {
    let used = |name: &String| config.sources.iter().any(|source| source.pipeline == *name);
    for (name, pipeline) in config.pipelines.iter().filter(|(name, _)| !used(name)) {
        // A key without a value is no mistake: each stream fills it in.
        let Ok(filled) = pipeline.filled_for(&SourceConfig::default()) else { continue };
        check_description(&filled).map_err(|sentence| Wrong {
            file: config.path.clone(),
            line: config.line_of_pipeline(name),
            sentence: format!("pipeline '{name}': {sentence}"),
        })?;
    }
    Ok(())
}

/// Checks each `[[publish]]` for one of its streams, and whether streams share a file.
fn check_publishers(config: &Config) -> Result<(), Wrong> {
    let any = config.sources.first().map_or("any", |source| source.name.as_str());
    for (index, publish) in config.publish.iter().enumerate() {
        let stream = publish.streams.iter().flatten().next().map_or(any, String::as_str);
        let count = publish.streams.as_ref().map_or(config.sources.len(), Vec::len);
        let checked = check_publish(publish, stream).and_then(|()| check_shared_file(publish, count));
        checked.map_err(|sentence| Wrong {
            file: config.path.clone(),
            line: config.line_of_publish(index),
            sentence,
        })?;
    }
    Ok(())
}
