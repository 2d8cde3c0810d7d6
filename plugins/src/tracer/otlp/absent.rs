//! What stands for the exporter where the plugin was built without it.

use std::sync::Weak;
use std::time::Duration;

use super::sampler::Sampler;
use super::span::Span;

/// There is none.
#[derive(Debug)]
pub(super) enum Exporter {}

impl Exporter {
    /// # Errors
    /// Always.
    pub fn new(_url: &str) -> Result<Self, String> {
        Err("this plugin was built without the Cargo feature otlp, so no spans are sent. Build it with --features otlp".into())
    }

    pub fn start(&self, _sampler: Weak<Sampler>) -> Result<(), String> {
        match *self {}
    }

    pub fn offer(&self, _span: Span) {
        match *self {}
    }

    pub fn skip(&self) {
        match *self {}
    }

    pub fn flush(&self, _patience: Duration) {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_without_the_feature_says_how_to_build_it() {
        assert!(Sampler::start("http://127.0.0.1:4318", 1).unwrap_err().contains("--features otlp"));
    }
}
