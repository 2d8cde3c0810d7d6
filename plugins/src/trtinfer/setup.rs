//! What an instance is opened with.

use std::path::PathBuf;
use std::time::Duration;

use crate::inference::{Config, OpenVinoDevice};
use crate::property::nick;

/// The same for all elements that share the instance.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setup {
    pub config: Config,
    pub min_batch: usize,
    pub timeout: Duration,
}

/// What names a model in the properties.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelSelection {
    pub model: Option<PathBuf>,
    pub labels: Option<PathBuf>,
}

impl ModelSelection {
    /// A setup with this model instead of its own.
    pub fn put_into(&self, setup: &Setup) -> Setup {
        let mut setup = setup.clone();
        if let Some(model) = &self.model {
            setup.config.model.clone_from(model);
        }
        setup.config.labels.clone_from(&self.labels);
        setup
    }
}

impl Setup {
    /// What names its model.
    pub fn selection(&self) -> ModelSelection {
        ModelSelection { model: Some(self.config.model.clone()), labels: self.config.labels.clone() }
    }

    /// What differs, in the properties' words: name, this value, the other's.
    pub fn difference(&self, other: &Self) -> Option<(&'static str, String, String)> {
        let fields = |setup: &Self| {
            let Config { model, labels, library, provider, device, precision, workspace, .. } = &setup.config;
            let Config {
                cache,
                graphs,
                search,
                warm_up,
                sessions,
                intra_threads,
                inter_threads,
                batch,
                memory_limit,
                openvino,
                openvino_device,
                plugin,
                plugin_options,
                ..
            } = &setup.config;
            let device = match openvino_device {
                OpenVinoDevice::Cpu => device.to_string(),
                other => format!("openvino:{}", other.name()),
            };
            // Two names that are not UTF-8 would look the same where they are displayed.
            let exact = |p: &std::path::Path| p.to_str().map_or_else(|| format!("{p:?}"), str::to_owned);
            let path = |p: &Option<std::path::PathBuf>| p.as_deref().map_or_else(String::new, exact);
            [
                ("model", exact(model)),
                ("labels", path(labels)),
                ("onnxruntime", path(library)),
                ("provider", nick(*provider)),
                ("openvino", path(openvino)),
                ("device", device),
                ("provider-library", path(plugin)),
                (
                    "provider-options",
                    plugin_options
                        .iter()
                        .map(|(key, value)| format!("{key}={value}"))
                        .collect::<Vec<_>>()
                        .join(","),
                ),
                ("precision", nick(*precision)),
                ("workspace", (workspace >> 20).to_string()),
                ("engine-cache", path(cache)),
                ("cuda-graphs", graphs.to_string()),
                ("engine-search", nick(*search)),
                ("warm-up", nick(*warm_up)),
                ("workers", sessions.to_string()),
                ("intra-threads", intra_threads.to_string()),
                ("inter-threads", inter_threads.to_string()),
                ("batch-size", batch.map_or_else(|| "(the model's)".to_owned(), |n| n.to_string())),
                ("memory-limit", (memory_limit >> 20).to_string()),
                ("min-batch-size", setup.min_batch.to_string()),
                ("batch-timeout", setup.timeout.as_nanos().to_string()),
            ]
        };
        let pairs = fields(self).into_iter().zip(fields(other));
        pairs.map(|((name, a), (_, b))| (name, a, b)).find(|(_, a, b)| a != b)
    }
}
