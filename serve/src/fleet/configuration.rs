//! Pipelines and sources as they are now, as a configuration file has them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::Fleet;
use crate::config::{Pipeline, Scalar, SourceConfig, redacted};
use crate::stream::is_login;
use crate::unpoisoned::lock;

/// What the text begins with.
const HEAD: &str = "# Pipelines and sources of cudainfer-serve as they are now, with what the API and the page have changed.\n\
                    # Not in here: [server], [restart], [retention], [[publish]], [[notify]], [describe], and logins. Where a login or a query was, there is \"…\".\n\n";

/// The file.
#[derive(Serialize)]
struct Configuration {
    pipeline: BTreeMap<String, Pipeline>,
    source: Vec<Value>,
}

impl Fleet {
    /// The present configuration of pipelines and sources, as TOML without logins.
    ///
    /// # Errors
    /// A sentence: it cannot be written as TOML.
    pub fn configuration(&self) -> Result<String, String> {
        let pipelines = self.config().pipelines.clone();
        let specs: Vec<_> = lock(&self.0.streams).values().map(|stream| stream.spec()).collect();
        let mut sources = Vec::new();
        for spec in specs {
            let mut source = spec.source.clone();
            // A model that took the place of the pipeline's is one of this source's properties.
            for (element, model) in &spec.models {
                let key = format!("{element}.model");
                source.overrides.entry(key).or_insert_with(|| Scalar::Text(model.now.clone()));
            }
            sources.push(without_logins(&source)?);
        }
        let pipeline = pipelines.into_iter().map(|(name, pipeline)| {
            let set = pipeline.set.into_iter().map(|(key, value)| (key, hidden(value))).collect();
            (name, Pipeline { line: redacted(&pipeline.line), set })
        });
        let configuration = Configuration { pipeline: pipeline.collect(), source: sources };
        let text = toml::to_string(&configuration);
        text.map(|text| HEAD.to_owned() + &text)
            .map_err(|e| format!("the configuration cannot be written as TOML: {e}"))
    }
}

/// A text without logins in URIs.
fn hidden(value: Scalar) -> Scalar {
    match value {
        Scalar::Text(text) => Scalar::Text(redacted(&text)),
        other => other,
    }
}

/// A source's keys, without logins.
fn without_logins(source: &SourceConfig) -> Result<Value, String> {
    let mut source = source.clone();
    source.properties.retain(|property, _| !is_login(property));
    for set in [&mut source.set, &mut source.overrides, &mut source.properties] {
        for value in set.values_mut() {
            *value = hidden(value.clone());
        }
    }
    let uri = source.uri.to_string();
    let mut value = serde_json::to_value(&source)
        .map_err(|e| format!("the source '{}' cannot be written: {e}", source.name))?;
    if let Some(source) = value.as_object_mut() {
        source.insert("uri".into(), Value::String(uri));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    #[test]
    fn a_source_is_written_without_its_login_and_read_again_as_it_was() {
        let text = "[pipeline.p]\nline = \"identity\"\n[[source]]\nname = \"a\"\nuri = \"rtsp://me:secret@camera/1?key=hidden\"\n\
                    pipeline = \"p\"\nmax-latency = 2.5\nsource = { user-pw = \"secret\", latency = 200 }\nzone-units = \"fraction\"\n\
                    zones = [{ name = \"z\", kind = \"line\", points = [[0, 0.5], [1, 0.5]] }]\n";
        let source = Config::read(text, Path::new("serve.toml")).unwrap().sources.remove(0);
        let written = Configuration {
            pipeline: [("p".to_owned(), Pipeline { line: "identity".into(), ..Pipeline::default() })].into(),
            source: vec![without_logins(&source).unwrap()],
        };
        let written = HEAD.to_owned() + &toml::to_string(&written).unwrap();
        assert!(!written.contains("secret") && !written.contains("hidden"), "{written}");
        let again = Config::read(&written, Path::new("serve.toml")).unwrap().sources.remove(0);
        assert_eq!((again.zones, again.max_latency), (source.zones, source.max_latency));
        assert_eq!(again.properties.keys().collect::<Vec<_>>(), ["latency"]);
    }
}
