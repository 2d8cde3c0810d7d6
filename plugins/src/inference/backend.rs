//! What a library that runs models has to offer.

use std::fmt::Debug;
use std::sync::Arc;

use cudainfer_kernels::device::Counters;

use super::cache::{Cache, Choices};
use super::{Config, InferenceError, Progress, Provider, Session};
use crate::property::nick;

/// How a library runs a model by default, and for most the only way.
pub(super) const PLAIN: &str = "plain";

/// A runtime that has been started.
pub(super) trait Backend: Debug + Send + Sync {
    /// Its name and version, and what else identifies its build: entries of the cache are only for it.
    fn version(&self) -> String;

    /// Opens the model on the provider that `config` asks for, or on the best that works. Its work on a GPU is counted in
    /// `counters`; work that takes long is reported to `progress`.
    ///
    /// # Errors
    /// What is missing, or why the model is refused.
    fn open(
        &self,
        config: &Config,
        counters: &Arc<Counters>,
        cache: &mut Cache,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Opened, InferenceError>;

    /// The ways in which the provider can run the model that are worth timing. The first one is the reference that the others
    /// must agree with.
    fn variants(&self, _: &Config, _: Provider) -> Vec<&'static str> {
        vec![PLAIN]
    }

    /// Opens another session of the model on CUDA, in one of its variants.
    ///
    /// # Errors
    /// The variant is refused.
    fn open_variant(
        &self,
        config: &Config,
        counters: &Arc<Counters>,
        variant: &str,
    ) -> Result<Box<dyn Session>, InferenceError>;

    /// What the user should know before models run on this provider: a sentence or two.
    fn warning(&self, _: Provider) -> Option<String> {
        None
    }

    /// Opens another session of the same model on this provider, whose tensors are on the host.
    ///
    /// # Errors
    /// As for [`Backend::open`].
    fn open_another(
        &self,
        config: &Config,
        provider: Provider,
        cache: &mut Cache,
    ) -> Result<Box<dyn Session>, InferenceError>;
}

/// The first session of a model.
pub(super) struct Opened {
    /// Where it runs.
    pub provider: Provider,
    pub session: Box<dyn Session>,
    /// Which of the provider's variants it is.
    pub variant: &'static str,
    /// What the cache knows of variants.
    pub choices: Choices,
    /// Why better providers do not run it, a sentence each.
    pub refused: Vec<String>,
}

/// The progress message of a load that takes more than a second.
pub(super) fn loading(config: &Config, provider: Provider) -> String {
    let model = config.model.file_name().unwrap_or_default().to_string_lossy();
    let verb = if provider == Provider::TensorRt { "building" } else { "loading" };
    format!("{verb} {model} for {}", nick(provider))
}
