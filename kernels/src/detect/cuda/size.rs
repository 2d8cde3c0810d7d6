//! Numbers that the kernels count in 32 bits.

use crate::detect::DetectError;
use crate::device::DeviceError;

/// In 32 bits.
///
/// # Errors
/// [`DetectError::Device`] where it is larger.
pub fn size(n: usize) -> Result<u32, DetectError> {
    u32::try_from(n).map_err(|_| too_large(n))
}

/// What is not counted in 32 bits does not fit the GPU's memory either.
pub fn too_large(n: usize) -> DetectError {
    DeviceError::OutOfMemory { bytes: n, call: "detect" }.into()
}
