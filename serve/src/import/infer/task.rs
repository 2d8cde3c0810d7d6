//! What a network does.

use crate::import::section::Section;

/// The task of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Detection,
    Classification,
    Segmentation,
    Instances,
    Other,
}

impl Task {
    /// By `network-type`, or `is-classifier` of older files; detection where neither is set, as in nvinfer.
    pub(super) fn of(property: Section<'_>) -> Self {
        match property.integer("network-type").or_else(|| property.integer("is-classifier")) {
            None | Some(0) => Self::Detection,
            Some(1) => Self::Classification,
            Some(2) => Self::Segmentation,
            Some(3) => Self::Instances,
            Some(_) => Self::Other,
        }
    }
}
