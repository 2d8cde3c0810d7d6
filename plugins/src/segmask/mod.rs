//! SECTION:element-segmask
//!
//! Makes masks from a segmentation network's outputs: the class of each pixel, or the probability of one class. Masks are
//! metadata on the frame, `GstCudaInferMaskMeta` (see [`crate::meta::mask`]), or the frame's alpha channel, or gray frames
//! that replace the frame. Downstream of gpunms, with models such as YOLO11n-seg, each detection gets a mask of its own.
//!
//! ```text
//! gst-launch-1.0 v4l2src ! videoconvert ! fusedpreproc ! trtinfer model=selfie.onnx ! segmask smoothing=0.5 \
//!   ! inferoverlay ! videoconvert ! autovideosink
//! ```

use gst::prelude::*;

mod imp;
mod improve;
mod instances;
mod masks;
mod negotiate;
mod object_masks;
mod pools;
mod properties;
mod queries;
mod query_objects;
mod settings;
mod target;
mod whole;

pub use settings::{Output, Size};

glib::wrapper! {
    /// The element.
    pub struct SegMask(ObjectSubclass<imp::SegMask>) @extends crate::decoding::DecodingElement, gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "segmask", gst::Rank::NONE, SegMask::static_type())
}
