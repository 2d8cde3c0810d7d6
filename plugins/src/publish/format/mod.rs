//! How a frame is written, if not as a record of ours.

mod coco;
mod deepstream;
mod mot;

use gst::glib;

pub(crate) use coco::coco;
pub(crate) use deepstream::deepstream;
pub(crate) use mot::{PRESENT, mot, mot_row};

use super::labels::Program;

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
    /// A table of instances, and a file of JSON beside it.
    #[enum_value(
        name = "SLEAP's CSV: a row for each instance with points, to a file, and what it has no columns for to a file of the \
                same name with .json",
        nick = "sleap"
    )]
    Sleap,
    /// A table of frames.
    #[enum_value(
        name = "DeepLabCut's CSV: a row for each frame with the points of all individuals, to a file",
        nick = "dlc"
    )]
    DeepLabCut,
    /// A table of frames.
    #[enum_value(
        name = "Lightning Pose's CSV: a row for each frame with the points of one animal, to a file",
        nick = "lightning-pose"
    )]
    LightningPose,
}

impl Format {
    /// Whether it only makes sense as a file.
    pub fn is_for_files(self) -> bool {
        !matches!(self, Self::Json | Self::Deepstream)
    }

    /// The program whose table of points it is.
    pub(crate) fn program(self) -> Option<Program> {
        match self {
            Self::Sleap => Some(Program::Sleap),
            Self::DeepLabCut => Some(Program::DeepLabCut),
            Self::LightningPose => Some(Program::LightningPose),
            Self::Json | Self::Deepstream | Self::Mot | Self::Coco => None,
        }
    }
}
