//! How a frame is written, if not as a record of ours.

mod coco;
mod deepstream;
mod mot;

use gst::glib;

pub(crate) use coco::coco;
pub(crate) use deepstream::deepstream;
pub(crate) use mot::mot;

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferPublishFormat")]
pub enum Format {
    /// Records of ours.
    #[default]
    #[enum_value(name = "JSON as docs/schema.md describes it", nick = "json")]
    Json,
    /// What DeepStream's nvmsgconv makes of a frame.
    #[enum_value(name = "DeepStream's minimal JSON payload, as nvmsgconv writes it", nick = "deepstream")]
    Deepstream,
    /// Text rows of tracks.
    #[enum_value(name = "MOTChallenge: a row of text for each tracked object, to a file", nick = "mot")]
    Mot,
    /// An array of detections.
    #[enum_value(name = "COCO's results: one JSON array of detections, to a file", nick = "coco")]
    Coco,
}

impl Format {
    /// Whether it only makes sense as a file.
    pub fn is_for_files(self) -> bool {
        matches!(self, Self::Mot | Self::Coco)
    }
}
