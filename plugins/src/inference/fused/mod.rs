//! The engine for convolutional networks on NVIDIA GPUs (crate cudainfer-fused): one network for each shape and number of rows, whose
//! kernels are chosen by timing when it is first needed.

mod kept;
mod refusal;
mod runner;
mod session;

use std::sync::{Arc, Mutex};

use cudainfer_fused::emit::CANDIDATES;
use cudainfer_fused::gpu::Libraries;
use cudainfer_kernels::device::{Counters, Device, Resolved};

use self::kept::Kept;
use self::refusal::refused;
use self::runner::Model;
use self::session::FusedSession;
use super::backend::{Backend, Opened, PLAIN, loading};
use super::cache::{Cache, Choices};
use super::ort::gpu_library_folders;
use super::{Config, InferenceError, Progress, Provider, Session, watched};
use crate::sync::lock;

/// The engine, with the libraries that it needs.
#[derive(Debug)]
pub(super) struct Fused {
    libraries: Libraries,
    /// What is known of the model, once a session was made.
    kept: Mutex<Option<Arc<Kept>>>,
}

impl Fused {
    /// Opens cuDNN and NVRTC.
    ///
    /// # Errors
    /// [`InferenceError::Provider`]: there is no GPU, or one of them is missing or of another major version.
    pub fn start(config: &Config) -> Result<Self, InferenceError> {
        device(config)?;
        let libraries = Libraries::open(&gpu_library_folders()).map_err(|e| refused(&e))?;
        Ok(Self { libraries, kept: Mutex::default() })
    }

    fn session(&self, config: &Config, counters: &Arc<Counters>) -> Result<FusedSession, InferenceError> {
        let device = device(config)?;
        let model = Model::read(config)?;
        let read = || Arc::new(Kept::read(config, &device, &self.version()));
        let kept = Arc::clone(lock(&self.kept).get_or_insert_with(read));
        FusedSession::open(&device, counters, config.graphs, model, self.libraries.clone(), kept)
    }
}

/// The GPU to run on.
fn device(config: &Config) -> Result<Device, InferenceError> {
    match config.resolve()? {
        Resolved::Cuda(device) => Ok(device),
        Resolved::Cpu { reason } => {
            Err(refused(&reason.unwrap_or_else(|| "the property device says cpu".into())))
        }
    }
}

impl Backend for Fused {
    fn version(&self) -> String {
        let (version, cudnn) = (env!("CARGO_PKG_VERSION"), self.libraries.cudnn_version());
        format!("cudainfer-fused {version} with candidates {CANDIDATES}, cuDNN {cudnn}")
    }

    fn open(
        &self,
        config: &Config,
        counters: &Arc<Counters>,
        _: &mut Cache,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Opened, InferenceError> {
        let session =
            watched(&loading(config, Provider::Fused), progress, || self.session(config, counters))?;
        let (session, choices) = (Box::new(session), Choices::default());
        Ok(Opened { provider: Provider::Fused, session, variant: PLAIN, choices, refused: Vec::new() })
    }

    fn open_variant(
        &self,
        config: &Config,
        counters: &Arc<Counters>,
        _: &str,
    ) -> Result<Box<dyn Session>, InferenceError> {
        Ok(Box::new(self.session(config, counters)?))
    }

    fn open_another(
        &self,
        config: &Config,
        _: Provider,
        _: &mut Cache,
    ) -> Result<Box<dyn Session>, InferenceError> {
        Ok(Box::new(self.session(config, &Arc::default())?))
    }
}
