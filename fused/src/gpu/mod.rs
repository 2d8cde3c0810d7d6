//! Plans on a GPU.

mod check;
mod choice;
mod choose;
mod compiled;
mod constants;
mod cudnn;
mod engines;
mod launch;
mod libraries;
mod network;
mod nvrtc;
mod places;
mod report;
mod schedule;
mod scratch;
mod store;
mod threads;
mod timing;

pub use self::constants::Constants;
pub use self::libraries::{Libraries, compile};
pub use self::network::{Network, Options, Tolerance};
pub use self::report::{Report, Stages};
pub use self::store::{NoStore, Store};

use cudainfer_kernels::device::DeviceError;

/// Why a plan does not run on a GPU.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GpuError {
    /// A library that it needs.
    #[error("{0}")]
    Library(String),
    /// cuDNN's words.
    #[error("cuDNN refuses {what}: {status}")]
    Cudnn {
        /// What it was asked for.
        what: &'static str,
        /// Its word for why.
        status: String,
    },
    /// NVRTC's words.
    #[error("a kernel could not be compiled: {0}")]
    Compile(String),
    /// The device's.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// No kernel gives the right numbers.
    #[error("no kernel computes step {step} of the plan: {why}")]
    NoKernel {
        /// Which one.
        step: usize,
        /// What was tried.
        why: String,
    },
}
