//! SECTION:element-fusedpreproc
//!
//! Makes the network's input tensor from a video frame in one pass over the pixels: colour conversion by the caps'
//! colorimetry, resize, normalisation, channel order and layout. The tensor is attached to the frame. The frame itself is
//! not changed, so that elements downstream can draw on it or encode it.
//!
//! Size, layout, type and normalisation come from the model by caps negotiation with trtinfer, so a pipeline usually needs
//! no property here. A property that is set overrides the model's sidecar.
//!
//! ```text
//! gst-launch-1.0 videotestsrc num-buffers=100 ! fusedpreproc ! trtinfer model=yolo11n.onnx ! gpunms ! fakesink
//! ```
//!
//! With `roi=objects` it makes a tensor for each object that was found upstream, for a second model that works on single
//! objects: a classifier, or a network that finds the keypoints of one person. All regions of a frame are cut out in one
//! launch and go through the model as one batch. Its results are added to the objects.
//!
//! ```text
//! ... ! gpunms ! fusedpreproc roi=objects classes=person ! trtinfer model=pose.onnx batch-size=8 ! peakfind mode=global ! ...
//! ```
//!
//! With `roi=tiles` it cuts the frame into tiles that overlap, for objects that are too small in the whole frame; with
//! `roi=list` it cuts out regions that are given. gpunms downstream of the model merges objects of several regions.
//!
//! ```text
//! ... ! fusedpreproc roi=tiles tile-size=640 overlap=0.2 ! trtinfer model=yolo11n.onnx batch-size=8 ! gpunms ! ...
//! ```
//!
//! With `motion=gate` the model sees only frames in which something moves, as the motion detection of Frigate does for a camera that stands
//! still; with `roi=motion` it sees only the parts of the frame in which something moves, at the frame's own resolution.
//!
//! ```text
//! ... ! fusedpreproc roi=motion ! trtinfer model=yolo11n.onnx batch-size=4 ! gpunms ! tracker ! ...
//! ```
//!
//! Each tensor element is `(pixel * scale - mean[c]) / std[c]` with `pixel` in 0..255 and `c` counted in the tensor's
//! own channel order; integer tensors are then divided by `quant-scale`, rounded and moved by `zero-point`.

use gst::prelude::*;

mod align;
mod budget;
mod crop;
mod doubts;
mod fixed;
mod follow;
mod gate;
mod imp;
mod maker;
mod mask;
mod negotiate;
mod points;
mod properties;
mod regions;
mod roi;
mod view;
mod warp;

pub use gate::Motion;
pub use roi::Roi;

glib::wrapper! {
    /// The element.
    pub struct FusedPreproc(ObjectSubclass<imp::FusedPreproc>) @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "fusedpreproc", gst::Rank::NONE, FusedPreproc::static_type())
}
