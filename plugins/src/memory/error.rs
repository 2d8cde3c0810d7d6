//! What can be wrong with GPU memory in GStreamer.

use cudainfer_kernels::device::DeviceError;

/// Why a frame cannot be had in GPU memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum MemoryError {
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(
        "GStreamer's CUDA library libgstcuda-1.0.so.0 cannot be opened: {reason} (it comes with GStreamer's bad \
         plugins, 1.22 or newer; Debian's package is libgstreamer-plugins-bad1.0-0)"
    )]
    NoLibrary { reason: String },
    #[error("this libgstcuda-1.0.so.0 has no function {symbol}: GStreamer 1.22 or newer is needed")]
    NoSymbol { symbol: &'static str },
    #[error(
        "GStreamer's CUDA library found no CUDA driver that it can use (GST_DEBUG=cudaloader:4 says what it misses)"
    )]
    LibraryFoundNoDriver,
    #[error(
        "GStreamer's CUDA library refused the context of the GPU '{device}' (GST_DEBUG=cuda*:4 says why)"
    )]
    NoContext { device: String },
    #[error(
        "no GPU memory for frames of the caps {caps}: either the GPU's memory is used up or GStreamer's CUDA memory \
         does not know the format (GST_DEBUG=cuda*:4 says which)"
    )]
    NoPool { caps: String },
    #[error("no pinned memory for frames of the caps {caps}: they are not fixed video caps")]
    NoPinnedPool { caps: String },
    #[error(
        "the caps promise CUDA memory, but the buffer holds {found}: the element that made it broke its promise"
    )]
    NotCuda { found: String },
    #[error("the buffer's CUDA memory could not be mapped for {access}: somebody else holds it")]
    NoMap { access: &'static str },
    #[error(
        "plane {plane} of a {format} frame needs {wanted} bytes from offset {offset} on, but its memory has {bytes}"
    )]
    ShortPlane { plane: usize, format: String, offset: usize, wanted: usize, bytes: usize },
}
