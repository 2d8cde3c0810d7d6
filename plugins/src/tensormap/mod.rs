//! SECTION:element-tensormap
//!
//! Gives frames the maps of numbers that a network makes of them, such as depth, anomaly scores and heat-maps, or makes video
//! of them. Maps are metadata on the frame, `GstCudaInferMapMeta` (see [`crate::meta::map`]), with the numbers themselves; or
//! GRAY16_LE frames, in which a range of numbers is stretched to 0 to 65535. Networks that make pictures, for super-resolution
//! or another style, become RGB frames.
//!
//! ```text
//! gst-launch-1.0 v4l2src ! videoconvert ! fusedpreproc ! trtinfer model=depth.onnx ! tensormap output=gray16 range=frame \
//!   ! videoconvert ! autovideosink
//! ```

use gst::prelude::*;

mod decode;
mod imp;
mod negotiate;
mod properties;
mod settings;
mod video;

pub use settings::{Output, Size};

glib::wrapper! {
    /// The element.
    pub struct TensorMap(ObjectSubclass<imp::TensorMap>) @extends crate::decoding::DecodingElement, gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "tensormap", gst::Rank::NONE, TensorMap::static_type())
}
