//! How the model's outputs are read, for users: the property `reading`, an INFO message for each model, and a WARNING where the
//! model's information about itself cannot be right.

use gst::glib;
use gst::prelude::*;

use super::Incoming;
use crate::model::{Group, ModelInfo, OriginKind, names_reading, origins_reading};
use crate::notice::post_info;

/// The name of the structure in the INFO message's details, with the fields `reading` and `sidecar`.
pub(crate) const DETAILS: &str = "cudainfer-reading";

/// The name of the property.
pub(crate) const PROPERTY: &str = "reading";

/// How outputs are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// In words, as in "decoder yolov8, 80 classes, names from the file's metadata (Ultralytics), 640x640".
    pub text: String,
    /// The sidecar that would state the same.
    pub sidecar: String,
    /// Sentences, without the element's name.
    pub warnings: Vec<String>,
}

impl Reading {
    /// The part that all elements have: names, and the size of the input.
    pub fn of(incoming: &Incoming<'_>, info: &ModelInfo, what: &str) -> Self {
        let [width, height] = incoming.model.input;
        let text = format!("{what}, {}, {width}x{height}", names_reading(info));
        Self { text, sidecar: info.to_toml(None), warnings: Vec::new() }
    }
}

/// The property's specification.
pub(crate) fn param_spec(blurb: &str) -> glib::ParamSpec {
    glib::ParamSpecString::builder(PROPERTY).nick("Reading").blurb(blurb).read_only().build()
}

/// Posts the INFO message with its details.
pub(crate) fn post(element: &impl IsA<gst::Element>, text: &str, sidecar: &str) {
    let details = gst::Structure::builder(DETAILS).field("reading", text).field("sidecar", sidecar).build();
    let element = element.upcast_ref::<gst::Element>();
    post_info!(
        element,
        gst::LibraryError::Settings,
        ("{}: {text}", element.name()),
        details: details
    );
}

/// The source that names the decoder, as in " from the sidecar"; where none does, the shapes decided.
pub(crate) fn decoding_origin(info: &ModelInfo, by_property: bool, shapes: &str) -> String {
    let named = info.output.decoder.is_some();
    match info.origin(Group::Decoding) {
        _ if by_property => format!(" from {}", crate::model::Origin::of(OriginKind::Property)),
        Some(_) if named => origins_reading(info, &[Group::Decoding]),
        _ => format!(", assumed from {shapes}"),
    }
}

/// Without labels of the model's maker that are not as many as there are classes, and a sentence about them.
pub(crate) fn resolve_labels(info: &ModelInfo, classes: Option<usize>) -> (ModelInfo, Option<String>) {
    let names = info.output.labels.len();
    match (classes, info.origin(Group::Labels)) {
        (Some(classes), Some(origin)) if origin.is_declared() && names != classes => {
            let warning = format!(
                "{origin} names {names} classes, but the outputs have {classes}: the names are left out. Set labels of trtinfer, \
                 or labels in the sidecar"
            );
            (info.without(&[Group::Labels]), Some(warning))
        }
        _ => (info.clone(), None),
    }
}
