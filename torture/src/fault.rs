//! Which call fails, and how.

use std::ffi::CStr;

use crate::seam::Seam;

/// How many calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The nth alone.
    Once,
    /// The nth and all after it, as on a disk that stays full.
    ThenOn,
    /// The nth is done by half, as a write may be.
    Half,
}

impl Form {
    const ALL: [Self; 3] = [Self::Once, Self::ThenOn, Self::Half];

    pub(crate) fn number(self) -> usize {
        Self::ALL.iter().position(|form| *form == self).unwrap_or(0)
    }

    pub(crate) fn of(number: usize) -> Self {
        Self::ALL.get(number).copied().unwrap_or(Self::Once)
    }
}

/// Calls that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Of this kind.
    pub seam: Seam,
    /// The first one that fails, counted from 1.
    pub first: u64,
    /// How many fail.
    pub form: Form,
    /// With this error: the system's, the library's own.
    pub error: i32,
}

/// What CUDA calls no memory, and a kernel that has failed.
const CUDA_NO_MEMORY: i32 = 2;
const CUDA_LAUNCH_FAILED: i32 = 719;
/// What ONNX Runtime calls a failure, and OpenVINO one that it does not know.
const ORT_FAIL: i32 = 1;
const OPENVINO_UNKNOWN: i32 = -17;
/// What NVRTC calls a failed compilation; cuDNN has no success of this number either.
const NVRTC_COMPILATION: i32 = 6;

/// What ONNX Runtime's message is where it fails on purpose.
pub(crate) const ORT_MESSAGE: &CStr = c"failed on purpose by a test";

/// The faults of a seam: how many calls fail, and with which error.
pub(crate) fn faults_of(seam: Seam) -> &'static [(Form, i32)] {
    use Form::{Half, Once, ThenOn};
    match seam {
        Seam::Open => &[(Once, libc::EMFILE), (ThenOn, libc::EMFILE)],
        Seam::Write => &[(Once, libc::ENOSPC), (ThenOn, libc::ENOSPC), (Once, libc::EIO), (Half, 0)],
        Seam::Rename | Seam::Sync => &[(Once, libc::EIO)],
        Seam::Remove => &[(Once, libc::EACCES)],
        Seam::Folder => &[(Once, libc::ENOSPC)],
        Seam::Socket | Seam::Accept => &[(Once, libc::EMFILE)],
        Seam::Connect => &[(Once, libc::ECONNREFUSED), (ThenOn, libc::ECONNREFUSED)],
        Seam::Send => &[(Once, libc::ECONNRESET)],
        Seam::Thread => &[(Once, libc::EAGAIN), (ThenOn, libc::EAGAIN)],
        Seam::Memory => &[(Once, libc::ENOMEM), (ThenOn, libc::ENOMEM)],
        Seam::OrtOpen | Seam::OrtRun => &[(Once, ORT_FAIL), (ThenOn, ORT_FAIL)],
        Seam::OpenVinoOpen | Seam::OpenVinoRun => &[(Once, OPENVINO_UNKNOWN), (ThenOn, OPENVINO_UNKNOWN)],
        Seam::DeviceMemory | Seam::PinnedMemory => &[(Once, CUDA_NO_MEMORY), (ThenOn, CUDA_NO_MEMORY)],
        Seam::DriverCall | Seam::Launch => &[(Once, CUDA_LAUNCH_FAILED), (ThenOn, CUDA_LAUNCH_FAILED)],
        Seam::Compile => &[(Once, NVRTC_COMPILATION), (ThenOn, NVRTC_COMPILATION)],
    }
}

impl Fault {
    /// What it is called in the output: `ENOSPC`, `ENOSPC…` where all that follow fail, too.
    pub(crate) fn name(&self) -> String {
        let error = match (self.seam, self.error) {
            (_, 0) => "half",
            (Seam::OrtOpen | Seam::OrtRun, _) => "ORT_FAIL",
            (Seam::OpenVinoOpen | Seam::OpenVinoRun, _) => "UNKNOWN_EXCEPTION",
            (Seam::Compile, _) => "NVRTC_ERROR_COMPILATION",
            (_, CUDA_NO_MEMORY) => "CUDA_ERROR_OUT_OF_MEMORY",
            (_, CUDA_LAUNCH_FAILED) => "CUDA_ERROR_LAUNCH_FAILED",
            (_, libc::EMFILE) => "EMFILE",
            (_, libc::ENOSPC) => "ENOSPC",
            (_, libc::EIO) => "EIO",
            (_, libc::EACCES) => "EACCES",
            (_, libc::ECONNREFUSED) => "ECONNREFUSED",
            (_, libc::ECONNRESET) => "ECONNRESET",
            (_, libc::EAGAIN) => "EAGAIN",
            (_, libc::ENOMEM) => "ENOMEM",
            _ => "error",
        };
        format!("{error}{}", if self.form == Form::ThenOn { "…" } else { "" })
    }

    /// Whether a sentence names the fault.
    pub(crate) fn is_named_by(&self, sentence: &str) -> bool {
        let sentence = sentence.to_lowercase();
        let words: Vec<String> = match self.seam {
            Seam::OrtOpen | Seam::OrtRun => vec![ORT_MESSAGE.to_string_lossy().into_owned()],
            Seam::OpenVinoOpen | Seam::OpenVinoRun => vec!["openvino".into()],
            Seam::Memory => vec!["memory".into()],
            Seam::DeviceMemory | Seam::PinnedMemory => vec!["bytes left".into(), "memory".into()],
            Seam::DriverCall | Seam::Launch => {
                vec!["cuda_error_launch_failed".into(), "cuda's".into(), "cuda error".into()]
            }
            Seam::Compile => vec!["nvrtc".into(), "cudnn".into(), "compil".into()],
            _ => {
                let text = std::io::Error::from_raw_os_error(self.error).to_string().to_lowercase();
                let words = text.split(" (os error").next().unwrap_or(&text).to_owned();
                // SQLite and GStreamer have words of their own.
                let others = ["disk i/o error", "disk is full", "unable to open database"];
                let others = others.into_iter().chain(["no space left", "could not write to resource"]);
                others.map(str::to_owned).chain([words]).collect()
            }
        };
        words.iter().any(|words| sentence.contains(words.as_str()))
    }
}
