//! OpenVINO: finding its library, loading a model and running it on Intel's devices, the CPU of any maker among them.
//!
//! The `openvino` crate calls the library. `unsafe` is only where libraries are examined or opened (`library`). Nothing outside this
//! folder names OpenVINO's types.

mod candidates;
mod failure;
mod library;
mod network;
mod request;
mod session;

use std::sync::{Arc, Mutex, OnceLock};

use cudainfer_kernels::device::Counters;

use self::library::Library;
use self::network::Network;
use self::session::OpenVinoSession;
use super::backend::{Backend, Opened, PLAIN, loading};
use super::cache::{Cache, Choices};
use super::{Config, InferenceError, Progress, Provider, Session, exit, watched};
use crate::log::ENGINE as CAT;
use crate::sync::lock;

/// Whether OpenVINO's library is installed, so that it pays to start it without being asked for it. Where it is not named, it is
/// searched for once a process.
///
/// # Errors
/// [`InferenceError::Library`]: a library is named, and does not serve.
pub(super) fn is_installed(config: &Config) -> Result<bool, InferenceError> {
    static FOUND: OnceLock<bool> = OnceLock::new();
    let named = config.openvino.as_deref();
    if library::is_named(named) {
        return library::open(named).map(|_| true);
    }
    let look = || library::open(None).inspect_err(|e| gst::debug!(CAT, "without OpenVINO: {e}")).is_ok();
    Ok(*FOUND.get_or_init(look))
}

/// OpenVINO, opened.
#[derive(Debug)]
pub(super) struct OpenVino {
    library: &'static Library,
    /// The model, once it is loaded: all sessions run it.
    network: Mutex<Option<Arc<Network>>>,
}

impl OpenVino {
    /// Finds and opens its library at the first call.
    ///
    /// # Errors
    /// [`InferenceError::Library`]: nothing was found, or what was found cannot be opened or is too old.
    pub fn start(config: &Config) -> Result<Self, InferenceError> {
        let library = library::open(config.openvino.as_deref())?;
        Ok(Self { library, network: Mutex::default() })
    }

    /// The model, loaded at the first call.
    fn network(&self, config: &Config) -> Result<Arc<Network>, InferenceError> {
        let mut network = lock(&self.network);
        if let Some(network) = &*network {
            return Ok(Arc::clone(network));
        }
        let loaded = Arc::new(Network::open(self.library, config)?);
        *network = Some(Arc::clone(&loaded));
        Ok(loaded)
    }

    fn session(&self, config: &Config) -> Result<Box<dyn Session>, InferenceError> {
        let _call = exit::begin()?;
        Ok(Box::new(OpenVinoSession::new(self.network(config)?)))
    }
}

impl Backend for OpenVino {
    fn version(&self) -> String {
        format!("OpenVINO {}", self.library.version)
    }

    fn open(
        &self,
        config: &Config,
        _: &Arc<Counters>,
        _: &mut Cache,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Opened, InferenceError> {
        let session = watched(&loading(config, Provider::OpenVino), progress, || self.session(config))?;
        Ok(Opened {
            provider: Provider::OpenVino,
            session,
            variant: PLAIN,
            choices: Choices::default(),
            refused: Vec::new(),
        })
    }

    fn open_variant(
        &self,
        config: &Config,
        _: &Arc<Counters>,
        _: &str,
    ) -> Result<Box<dyn Session>, InferenceError> {
        self.session(config)
    }

    fn open_another(
        &self,
        config: &Config,
        _: Provider,
        _: &mut Cache,
    ) -> Result<Box<dyn Session>, InferenceError> {
        self.session(config)
    }
}
