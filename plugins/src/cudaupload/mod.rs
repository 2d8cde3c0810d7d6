//! SECTION:element-cudainferupload
//!
//! See also: cudainferdownload, cudaconvert.
//!
//! Copies frames from system memory to GPU memory, as GStreamer's own CUDA memory, so that every element that reads
//! `video/x-raw(memory:CUDAMemory)` can follow: fusedpreproc, cudaconvert, nvh264enc, cudadownload.
//!
//! Frames in CUDA memory pass through unchanged, and so do all frames if there is no GPU, with `device=cpu`, or if the
//! elements downstream accept only system memory: the same pipeline runs on every machine. With `device=auto` and no GPU
//! that can be used, one WARNING on the bus gives the reason.
//!
//! Unlike GStreamer's own uploader, it keeps all metadata on the frames (regions of interest, analytics). The element is
//! also registered as `cudaupload` if GStreamer's own is missing, as on machines without an NVIDIA driver.
//!
//! ## Example
//! ```text
//! gst-launch-1.0 videotestsrc num-buffers=100 ! video/x-raw,format=NV12 ! cudainferupload ! fakesink
//! ```
//!
//! ## Properties
//! - `device` (string, default `auto`): `auto`, `cuda`, `cuda:N` or `cpu`. Anything else is an error at NULL->READY.
//! - `stats` (structure, read only): what all elements count, since READY->PAUSED, and `failed`, frames that could not be
//!   copied. `host-waits` grows only if the element downstream does not order its work on the GPU by events, as foreign
//!   elements; `fallbacks` counts frames that were not in pinned memory, and a start without a GPU.
//!
//! ## Speed
//! The element proposes a pool of pinned memory: decoders and sources that use it write straight to where the GPU copies
//! from by itself. Other frames are copied into pinned memory first. Either way the copy to the GPU is enqueued, and the
//! thread goes on. It waits only if a foreign element follows, which would not know when the copy is done.

use gst::{glib, prelude::*};

mod imp;

glib::wrapper! {
    /// The element `cudainferupload`.
    pub struct CudaUpload(ObjectSubclass<imp::CudaUpload>)
        @extends crate::transfer::TransferElement, gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Registers `cudainferupload`, and the same as `cudaupload` where no other plugin owns that name.
///
/// GStreamer's nvcodec plugin owns it where it finds CUDA and the codec libraries; the registry would keep whichever
/// comes last, so that the winner would depend on the order in which plugins are scanned.
///
/// # Errors
/// If GStreamer refuses the registration.
pub fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "cudainferupload", gst::Rank::NONE, CudaUpload::static_type())?;
    // A feature of our own name is an earlier scan's: the registry loads this plugin because of it, so it must be
    // registered again.
    let owner = gst::Registry::get().lookup_feature("cudaupload").and_then(|feature| feature.plugin_name());
    if owner.is_none_or(|owner| owner == plugin.plugin_name()) {
        gst::Element::register(Some(plugin), "cudaupload", gst::Rank::NONE, CudaUpload::static_type())?;
    }
    Ok(())
}
