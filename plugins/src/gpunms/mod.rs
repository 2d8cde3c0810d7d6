//! SECTION:element-gpunms
//!
//! Turns a detector's output tensors into objects on the frame: decoding, threshold, top-k and non-maximum suppression.
//! Each object becomes a `GstVideoRegionOfInterestMeta` with a `detection` parameter (see [`crate::meta::object`]).
//!
//! The decoder is chosen from the shapes of the outputs, or named by `decoder`. Shapes that fit several decoders are an error
//! that lists them.
//!
//! ```text
//! gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! videoconvert ! fusedpreproc \
//!   ! trtinfer model=yolo11n.onnx ! gpunms classes=person,car confidence=0.4 ! inferpublish ! fakesink
//! ```
//!
//! Keypoints (YOLO-pose, CenterFace) are attached to their objects as a `keypoints` parameter, with the names and edges of
//! the skeleton in the sidecar. With models that have masks (YOLO-seg), the prototypes and the objects' coefficients are
//! passed on as tensors to elements that accept tensors in their caps: segmask, also behind a tracker. Behind
//! `fusedpreproc roi=objects`, the objects of every region are put on the frame, in its coordinates.
//!
//! A property that is not set has the sidecar's value, else the default that gst-inspect shows. Candidates with NaN or
//! infinite values are dropped and counted in `stats`.

use gst::prelude::*;

mod imp;
mod masks;
mod objects;
mod points;
mod settings;

glib::wrapper! {
    /// The element.
    pub struct GpuNms(ObjectSubclass<imp::GpuNms>) @extends crate::decoding::DecodingElement, gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "gpunms", gst::Rank::NONE, GpuNms::static_type())
}
