//! SECTION:element-identify
//!
//! Recognises objects by their embeddings: faces, people, products, animals. A gallery has names with several embeddings each; an
//! object gets the name that it is most similar to, if it is similar enough, and more so than to any other name. A tracked object
//! keeps the name of the best of its last frames. Objects that are like nobody in the gallery are numbered, known again by their
//! numbers, and collected, so that somebody can name them. The result is the parameter `identity` of the object (see
//! [`crate::meta::region`]).
//!
//! ```text
//! gst-launch-1.0 filesrc location=door.mp4 ! decodebin ! videoconvert ! fusedpreproc ! trtinfer model=nanodet.onnx \
//!   ! gpunms classes=person ! tracker ! fusedpreproc roi=objects ! trtinfer model=reid.onnx ! embed \
//!   ! identify gallery=people.npz unknowns=unknowns.npz ! inferoverlay ! videoconvert ! autovideosink
//! ```
//!
//! Elements of a process with the same `instance` share the gallery and the numbers of unknowns, so that who is seen by two cameras
//! has one name on both. The rules are those of [`cudainfer_kernels::identify`].

use gst::prelude::*;

mod collection;
mod gallery_file;
mod imp;
mod notices;
mod settings;
mod shared;
mod stream_tracks;
mod unknowns_file;

glib::wrapper! {
    /// The element.
    pub struct Identify(ObjectSubclass<imp::Identify>) @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

pub(crate) fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    gst::Element::register(Some(plugin), "identify", gst::Rank::NONE, Identify::static_type())
}
