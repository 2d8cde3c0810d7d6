//! GStreamer's own meta for tensors, `GstTensorMeta`, and how its caps announce tensors: the form in which elements of GStreamer 1.26
//! and newer, such as onnxinference and ssdobjectdetector, write and read a network's outputs.
//!
//! [`crate::meta::tensor`] holds more (where a tensor's pixels are in the frame, regions, batches) and is what our own elements
//! hand on to each other. This meta names a tensor by an identifier that tells its reader how to interpret it, and holds the same
//! data without a copy: data on a GPU is downloaded when it is mapped.

mod announced;
mod library;
mod read;
mod write;

pub(crate) use announced::{asks_for_tensors, candidates, without_announcement};
pub(crate) use library::{Functions, open};
pub(crate) use read::{Foreign, foreign};
pub(crate) use write::{Labelled, put, remove};

/// Since which version caps announce tensors.
pub(crate) const ANNOUNCED_SINCE: (u32, u32) = (1, 28);

/// Whether the caps of the GStreamer that runs can announce tensors.
pub(crate) fn is_announced() -> bool {
    let (major, minor, ..) = gst::version();
    (major, minor) >= ANNOUNCED_SINCE
}

#[cfg(test)]
mod tests;
