//! ONNX Runtime: finding its library, choosing a provider, loading a model and running it.
//!
//! The `ort` crate calls the library. `unsafe` is only where libraries are examined or opened (`runtime_library`, `gpu_libraries`,
//! `cudnn`), where device addresses and a stream are handed over (`binding`, `provider`) and where plugins are registered (`plugin`). Nothing outside this folder
//! names ONNX Runtime's types.

mod binding;
mod candidates;
mod cudnn;
mod error_codes;
mod failure;
mod gpu_libraries;
mod messages;
mod model_form;
mod operators;
mod options;
mod plugin;
mod profile;
mod provider;
mod provider_libraries;
mod runner;
mod runtime_library;
mod session;
mod variant;

use std::sync::Arc;

use cudainfer_kernels::device::Counters;
use ort::environment::Environment;

pub(super) use self::gpu_libraries::folders as gpu_library_folders;
use self::runtime_library::Preferred;
use self::session::OrtSession;
use super::backend::{Backend, Opened};
use super::cache::Cache;
use super::{Config, InferenceError, Progress, Provider, Session, exit};
use crate::property::nick;

/// ONNX Runtime, opened.
#[derive(Debug)]
pub(super) struct OnnxRuntime(&'static Environment);

impl OnnxRuntime {
    /// Finds and opens its library at the first call.
    ///
    /// # Errors
    /// [`InferenceError::Library`]: nothing was found, or what was found cannot be opened or is too old.
    pub fn start(config: &Config) -> Result<Self, InferenceError> {
        let plugin = config.provider == Provider::Plugin || config.plugin.is_some();
        let preferred = if plugin { Preferred::Newest } else { Preferred::First };
        runtime_library::environment(config.library.as_deref(), preferred).map(Self)
    }
}

impl Backend for OnnxRuntime {
    fn version(&self) -> String {
        runtime_library::version()
    }

    fn open(
        &self,
        config: &Config,
        counters: &Arc<Counters>,
        cache: &mut Cache,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Opened, InferenceError> {
        let _call = exit::begin()?;
        provider::open(self.0, config, counters, cache, progress)
    }

    fn variants(&self, config: &Config, provider: Provider) -> Vec<&'static str> {
        variant::worth_timing(config, provider)
    }

    fn open_variant(
        &self,
        config: &Config,
        counters: &Arc<Counters>,
        variant: &str,
    ) -> Result<Box<dyn Session>, InferenceError> {
        let _call = exit::begin()?;
        provider::open_variant(self.0, config, counters, variant)
    }

    fn warning(&self, provider: Provider) -> Option<String> {
        provider::has_uncaught(provider).then(|| {
            format!(
                "an error inside of ONNX Runtime's {} provider would end this process, because C++ libraries (NumPy's, for \
                 example) were loaded before GStreamer. Load GStreamer first, or start the process with LD_PRELOAD=libgcc_s.so.1",
                nick(provider)
            )
        })
    }

    fn open_another(
        &self,
        config: &Config,
        provider: Provider,
        cache: &mut Cache,
    ) -> Result<Box<dyn Session>, InferenceError> {
        let _call = exit::begin()?;
        let session = OrtSession::open(self.0, config, provider, None, &variant::PLAIN, cache)?;
        Ok(Box::new(session))
    }
}

#[cfg(test)]
mod image_tests;
