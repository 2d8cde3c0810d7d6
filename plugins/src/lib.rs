//! GStreamer elements for GPU video inference.
//!
//! | element | from | to |
//! |---|---|---|
//! | [`fusedpreproc`] | a video frame | the same frame with the network's input tensor attached |
//! | [`trtinfer`] | an input tensor | the network's output tensors |
//! | [`gpunms`] | a detector's outputs | regions of interest on the frame |
//! | [`peakfind`] | confidence maps | keypoints on the frame |
//! | [`classify`] | a classifier's scores | classes of the frame or of its objects |
//! | [`embed`] | a model's vectors | embeddings of the frame or of its objects |
//! | [`identify`] | embeddings, and a gallery of names | who the objects are |
//! | [`segmask`] | a segmentation network's outputs | masks on the frame |
//! | [`tracker`] | detections | the same with identities |
//! | [`zonecount`] | objects with identities | who enters, leaves, stays or crosses a line |
//! | [`inferoverlay`] | results | the same, drawn on the frame |
//! | [`inferpublish`] | results | one JSON object a frame |
//! | [`cudaupload`] | frames in system memory | frames in CUDA memory |
//! | [`cudadownload`] | frames in CUDA memory | frames in system memory |
//!
//! Tensors travel on the frame as [`meta::tensor`], results as [`meta::object`], [`meta::mask`] and [`meta::zone`].

use gst::prelude::{PluginApiExt, StaticType};

mod auto_gpu;
mod between;
pub mod caps;
mod choices;
mod class_name;
pub mod classify;
mod colorimetry;
mod continuity;
pub mod cudadownload;
pub mod cudaupload;
pub mod decoding;
mod device;
mod element;
pub mod embed;
mod feedback;
pub mod fusedpreproc;
pub mod gpunms;
mod histogram;
pub mod identify;
mod ignored;
mod individuals;
pub mod inference;
pub mod inferoverlay;
pub mod inferpublish;
mod lag;
mod load;
mod loader;
mod log;
pub mod memory;
pub mod meta;
pub mod model;
mod mutability;
pub mod notice;
mod nvtx;
pub mod peakfind;
mod pictures;
mod pixels;
mod property;
mod publish;
mod refused;
pub mod segmask;
mod stats;
mod streams;
mod strings;
mod sync;
pub mod tensormap;
pub mod time;
pub mod tracer;
pub mod tracker;
pub mod transfer;
pub mod trtinfer;
pub mod video;
pub mod zonecount;

/// The elements' computation, without GStreamer: tensors, geometry, and the operations themselves.
pub use cudainfer_kernels as kernels;

/// The name of [`Elements`].
const ELEMENTS: &str = "GstCudaInferElements";

/// A type that shows that this process has the elements; only [`register`] registers it.
#[derive(Clone, glib::Boxed)]
#[boxed_type(name = "GstCudaInferElements")]
struct Elements;

/// Registers the elements in a plugin of one's own, which takes the place of this crate's file: see docs/your-own-decoder.md.
///
/// # Errors
/// The process has the elements already, from another plugin's file, or GStreamer refuses the registration.
pub fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    // GObject's types exist once a process: registering one again panics.
    static OURS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    let first = || glib::Type::from_name(ELEMENTS).is_none() && Elements::static_type().is_valid();
    if !OURS.get_or_init(first) {
        return Err(glib::bool_error!(
            "{} has cudainfer's elements, but this process has them already, from another file. Keep one of the two files where \
             GStreamer finds it, or do not register the elements in a program that loads one",
            plugin.plugin_name()
        ));
    }
    meta::tensor::register();
    meta::map::register();
    meta::mask::register();
    meta::zone::register();
    between::register();
    feedback::register();
    decoding::DecodingElement::static_type().mark_as_plugin_api(gst::PluginAPIFlags::empty());
    transfer::TransferElement::static_type().mark_as_plugin_api(gst::PluginAPIFlags::empty());
    cudaupload::register(plugin)?;
    cudadownload::register(plugin)?;
    fusedpreproc::register(plugin)?;
    trtinfer::register(plugin)?;
    gpunms::register(plugin)?;
    peakfind::register(plugin)?;
    classify::register(plugin)?;
    embed::register(plugin)?;
    identify::register(plugin)?;
    segmask::register(plugin)?;
    tensormap::register(plugin)?;
    tracker::register(plugin)?;
    zonecount::register(plugin)?;
    inferoverlay::register(plugin)?;
    inferpublish::register(plugin)?;
    tracer::register(plugin)
}

/// Registers the elements in a program that links this crate; GStreamer itself calls it when it loads the plugin.
pub use entry::plugin_register_static;

#[allow(missing_docs)]
mod entry {
    use super::register as plugin_init;

    macro_rules! define {
        ($($date:expr)?) => {
            gst::plugin_define!(
                cudainfer,
                env!("CARGO_PKG_DESCRIPTION"),
                plugin_init,
                env!("CARGO_PKG_VERSION"),
                "MIT/X11",
                env!("CARGO_PKG_NAME"),
                env!("CARGO_PKG_NAME"),
                "cudainfer"
                $(, $date)?
            );
        };
    }
    // GStreamer knows "MIT/X11" of the two licences.
    #[cfg(released)]
    define!(env!("CUDAINFER_RELEASE_DATE"));
    #[cfg(not(released))]
    define!();
}
