//! Errors of frames and tensors in GStreamer's memory.

use cudainfer_kernels::device::DeviceError;

use crate::loader::LibraryError;

/// Why a frame in GPU memory is not available.
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
        "there is no GPU memory for frames of the caps {caps}: either it is used up, or GStreamer's CUDA memory does not \
         know the format (GST_DEBUG=cuda*:4 says which). Use smaller frames, or put videoconvert before this element"
    )]
    NoPool { caps: String },
    #[error(
        "no pinned memory for frames of the caps {caps}: they are not fixed video caps. Put videoconvert before this element"
    )]
    NoPinnedPool { caps: String },
    #[error(
        "the caps promise CUDA memory, but the buffer has {found}. The element that made it is at fault: put \
         cudainferupload after it"
    )]
    NotCuda { found: String },
    #[error(
        "the buffer's CUDA memory could not be mapped for {access}, because another element holds it. Remove the \
         tee or the element that keeps frames before this one"
    )]
    NoMap { access: &'static str },
    #[error(
        "the frame's memory could not be mapped for {access} by the CPU: it belongs to another device, or another element \
         holds it. Put that device's download element, or videoconvert, before this element"
    )]
    NoHostMap { access: &'static str },
    #[error(
        "the frame is smaller than its caps say: it has {bytes} bytes, but a {frame} frame takes {wanted}. The element that \
         made it is at fault: use another source or decoder"
    )]
    ShortFrame { frame: String, bytes: usize, wanted: usize },
    #[error(
        "the frame's video meta describes {found}, but its caps say {wanted}. The element that made the frame is at fault: \
         use another source or decoder"
    )]
    OtherFrame { found: String, wanted: String },
    #[error(
        "the frame's video meta gives plane {plane} a stride of {stride} bytes, but a row of a {frame} frame takes \
         {row_bytes}. Rows must lie one after the other, from the top down: use another source or decoder"
    )]
    BadStride { plane: usize, frame: String, stride: i32, row_bytes: usize },
    #[error(
        "the frame's video meta places plane {plane} outside of the frame's memory: it takes {wanted} bytes from byte {offset} \
         on ({rows} rows, {stride} bytes apart), but the memory has {bytes}. The element that made the frame is at fault: use \
         another source or decoder"
    )]
    ShortPlane { plane: usize, offset: usize, rows: usize, stride: usize, wanted: usize, bytes: usize },
    #[error(
        "the frame carries crop metadata, by which it shows only {width}x{height} pixels at {x},{y} of what its memory holds, and \
         this element does not crop. Have the element that attached it crop the pixels, or put videocrop in its place"
    )]
    Cropped { x: u32, y: u32, width: u32, height: u32 },
    #[error(
        "planes {} and {} of the frame share memory, so the frame cannot be written to. Put videoconvert before this \
         element, or another element that copies frames", planes[0], planes[1]
    )]
    Overlap { planes: [usize; 2] },
}

impl From<LibraryError> for MemoryError {
    fn from(error: LibraryError) -> Self {
        match error {
            LibraryError::NotOpened(reason) => Self::NoLibrary { reason },
            LibraryError::NoFunction(_, symbol) => {
                Self::NoSymbol { symbol: symbol.to_str().unwrap_or_default() }
            }
        }
    }
}
