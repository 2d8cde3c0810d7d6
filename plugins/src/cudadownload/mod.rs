//! SECTION:element-cudainferdownload
//!
//! See also: cudainferupload, cudadownload.
//!
//! Copies frames from GPU memory to system memory, with all their metadata: GStreamer's own downloader drops regions of
//! interest, analytics and tensors. Elements that know only system memory can follow, such as encoders on the CPU.
//!
//! Frames in system memory pass through unchanged, so the same pipeline runs on a machine without a GPU. Frames stay in
//! CUDA memory if the elements downstream accept nothing else.
//!
//! The GPU copies each frame into a pool of pinned memory, and the element waits for the copy, once for each frame. Mapping
//! CUDA memory for the CPU would instead copy it with its padding, into memory that is allocated anew for each frame that
//! has not been mapped before.
//!
//! ## Example
//! ```text
//! gst-launch-1.0 videotestsrc num-buffers=100 ! video/x-raw,format=NV12 ! cudainferupload ! cudainferdownload ! fakesink
//! ```
//!
//! ## Properties
//! - `device` (string, default `auto`): the GPU that copies: `auto`, `cuda`, `cuda:N` or `cpu` (frames pass through).
//!   Anything else is an error at NULL->READY. Frames of another GPU are copied over.
//! - `stats` (structure, read only): what all elements count, and `failed`, frames that could not be copied. `host-waits`
//!   grows by one for each frame.

use gst::{glib, prelude::*};

mod imp;

glib::wrapper! {
    /// The element `cudainferdownload`.
    pub struct CudaDownload(ObjectSubclass<imp::CudaDownload>)
        @extends crate::transfer::TransferElement, gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers `cudainferdownload`. There is no second name: `cudadownload` is GStreamer's, which drops metadata.
///
/// # Errors
/// If GStreamer refuses the registration.
pub fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "cudainferdownload", gst::Rank::NONE, CudaDownload::static_type())
}
