//! SECTION:element-gpunms
//!
//! Decodes a detector's output tensors into objects: thresholds, top-k and non-maximum suppression. Each object is a
//! `GstVideoRegionOfInterestMeta` on the frame, with a `detection` parameter (see [`crate::meta::region`]).
//!
//! The format of the outputs is chosen by their shapes, or set by the sidecar or by `decoder`. If the shapes fit several
//! decoders, the error lists them.
//!
//! ```text
//! gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! videoconvert ! fusedpreproc \
//!   ! trtinfer model=yolo11n.onnx ! gpunms classes=person,car confidence=0.4 ! inferpublish ! fakesink
//! ```
//!
//! Models with keypoints (YOLO-pose, RTMO, Keypoint R-CNN, CenterFace, SCRFD, YuNet, RetinaFace, MediaPipe's detectors) give each object a `keypoints` parameter, with the names and edges of the
//! skeleton in the sidecar. With masks (YOLO-seg), the prototypes and the objects' coefficients are passed on as tensors if
//! the caps downstream ask for tensors: to segmask, which may also stand after a tracker. Downstream of
//! `fusedpreproc roi=objects`, the objects of every region are put on the frame in frame coordinates. Downstream of
//! `roi=tiles` and `roi=list`, those that were found in several regions are merged.
//!
//! A property that is not set has the sidecar's value, else the default that gst-inspect shows. Candidates with NaN or
//! infinity are dropped and counted in `stats`.

use gst::prelude::*;

mod contradictions;
mod imp;
mod limits;
mod masks;
mod objects;
mod points;
mod regions;
mod settings;

glib::wrapper! {
    /// The element.
    pub struct GpuNms(ObjectSubclass<imp::GpuNms>) @extends crate::decoding::DecodingElement, gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "gpunms", gst::Rank::NONE, GpuNms::static_type())
}
