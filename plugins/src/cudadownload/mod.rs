//! SECTION:element-cudainferdownload
//!
//! See also: cudainferupload, cudadownload.
//!
//! Takes frames from the GPU to system memory, with all their metadata: GStreamer's own downloader drops regions of
//! interest, analytics and tensors. So elements that only know system memory can follow, as encoders on the CPU do, and
//! whatever draws or prints results.
//!
//! Frames that already lie in system memory go through untouched, so the same line runs on a machine without a GPU.
//! Frames stay in CUDA memory where what follows takes nothing else.
//!
//! Each frame is copied by the GPU into a pool of pinned memory, and waited for: the one time per frame that this element
//! makes its thread wait. In contrast, mapping CUDA memory for the CPU would copy it with its padding, and into memory
//! that is allocated anew for each frame that has not been mapped before.
//!
//! ## Example
//! ```text
//! gst-launch-1.0 videotestsrc num-buffers=100 ! video/x-raw,format=NV12 ! cudainferupload ! cudainferdownload ! fakesink
//! ```
//!
//! ## Properties
//! - `device` (string, default `auto`): the GPU whose copies these are: `auto`, `cuda`, `cuda:N` or `cpu` (frames go
//!   through as they are). Anything else is an error at NULL->READY. Frames of another GPU are copied over.
//! - `stats` (structure, read only): what all elements count; `host-waits` grows by one a frame.

use gst::{glib, prelude::*};

mod copy;
mod imp;
mod negotiate;

glib::wrapper! {
    /// The element `cudainferdownload`.
    pub struct CudaDownload(ObjectSubclass<imp::CudaDownload>)
        @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers `cudainferdownload`. There is no second name: `cudadownload` is GStreamer's, which drops metadata.
///
/// # Errors
/// If GStreamer refuses the registration.
pub fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "cudainferdownload", gst::Rank::NONE, CudaDownload::static_type())
}
