//! What a network does.

/// The task of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Detection,
    Classification,
    Segmentation,
    Instances,
    Other,
}
