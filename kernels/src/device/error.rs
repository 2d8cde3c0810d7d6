//! What can be wrong with a GPU, with messages that say what to do.

use cudarc::driver::{DriverError, sys::CUresult};

/// Oldest CUDA version a driver may speak, as `cuDriverGetVersion` reports it (1000 x major + 10 x minor): 12.0 came
/// with the driver series 525.
pub(super) const OLDEST_CUDA: i32 = 12000;

/// Oldest compute capability the embedded kernels run on (Turing).
pub(super) const OLDEST_CAPABILITY: (i32, i32) = (7, 5);

/// Why a GPU cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum DeviceError {
    #[error(
        "no CUDA driver: libcuda.so.1 is not installed or not on the library path (install NVIDIA's driver; in a \
         container, start it with access to the GPUs)"
    )]
    NoDriver,
    #[error(
        "the NVIDIA driver is too old: it speaks CUDA {}.{}, at least {}.{} is needed (update it to 525 or newer)",
        found / 1000, found % 1000 / 10, OLDEST_CUDA / 1000, OLDEST_CUDA % 1000 / 10
    )]
    OldDriver { found: i32 },
    #[error("the CUDA driver found no GPU{}", visible(.visible_devices.as_deref()))]
    NoGpu { visible_devices: Option<String> },
    #[error(
        "the CUDA library on the library path is a stub for linking, not the driver's (take the CUDA toolkit's \
         'stubs' folder out of LD_LIBRARY_PATH)"
    )]
    Stub,
    #[error(
        "there is no CUDA device {wanted}: this machine has {count}, numbered from 0. Set device=cuda:N to one of them"
    )]
    NoSuchDevice { wanted: u32, count: usize },
    #[error(
        "the GPU '{name}' is too old: its compute capability is {}.{}, at least {}.{} (Turing) is needed. Set another device, or \
         device=cpu",
        capability.0, capability.1, OLDEST_CAPABILITY.0, OLDEST_CAPABILITY.1
    )]
    OldGpu { name: String, capability: (i32, i32) },
    #[error(
        "the GPU has no {bytes} bytes left ({call}): use a smaller model or fewer elements, or end other programs on it"
    )]
    OutOfMemory { bytes: usize, call: &'static str },
    #[error(
        "this plugin was built without the kernel {operation}/{name}: build it again, from one version of its sources"
    )]
    NoKernel { operation: &'static str, name: String },
    #[error(
        "the GPU has not finished its work for {seconds} s. Look with nvidia-smi whether another program keeps it busy or it has \
         failed, and restart the process"
    )]
    Busy { seconds: u64 },
    #[error("CUDA's {call} failed: {reason}. After a fault on the GPU, restart the process")]
    Call { call: &'static str, reason: String },
    #[error(
        "a plane has {rows} rows of {row_bytes} bytes, but its {side} memory has {bytes} bytes at a stride of {stride}"
    )]
    ShortPlane { side: &'static str, rows: usize, row_bytes: usize, bytes: usize, stride: usize },
}

impl DeviceError {
    /// An allocation that failed: there was no memory left, or the call failed otherwise.
    pub(super) fn out_of_memory(bytes: usize, call: &'static str, error: DriverError) -> Self {
        if error.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            return Self::OutOfMemory { bytes, call };
        }
        Self::call(call)(error)
    }

    /// For `map_err`: a driver call that failed, with the driver's own words for it.
    pub(super) fn call(call: &'static str) -> impl FnOnce(DriverError) -> Self {
        move |error| {
            let words = |text: Result<&std::ffi::CStr, DriverError>| {
                text.map_or_else(|_| "unknown".to_owned(), |text| text.to_string_lossy().into_owned())
            };
            Self::Call {
                call,
                reason: format!("{} ({})", words(error.error_name()), words(error.error_string())),
            }
        }
    }
}

fn visible(devices: Option<&str>) -> String {
    devices.map_or_else(String::new, |devices| {
        format!(" (CUDA_VISIBLE_DEVICES is set to '{devices}': unset it to see all)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_written_as_people_write_them() {
        let text = DeviceError::OldDriver { found: 11080 }.to_string();
        assert!(text.contains("CUDA 11.8, at least 12.0"), "{text}");
        let text = DeviceError::OldGpu { name: "P4".into(), capability: (6, 1) }.to_string();
        assert!(text.contains("is 6.1, at least 7.5"), "{text}");
    }

    #[test]
    fn an_environment_that_hides_the_gpu_is_named() {
        let hidden = DeviceError::NoGpu { visible_devices: Some("-1".into()) }.to_string();
        assert!(hidden.contains("CUDA_VISIBLE_DEVICES is set to '-1'"), "{hidden}");
        assert_eq!(DeviceError::NoGpu { visible_devices: None }.to_string(), "the CUDA driver found no GPU");
    }
}
