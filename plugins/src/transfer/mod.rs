//! The abstract base class of the elements that copy frames between system memory and CUDA memory: cudaupload and
//! cudadownload.
//!
//! It negotiates, allocates, copies and counts; an element says only where it takes frames, [`TransferElementImpl::TO`].

use gst::glib;
use gst::prelude::*;
use gst_base::subclass::prelude::*;

mod download;
mod imp;
mod negotiate;
mod upload;

pub(crate) use negotiate::template;

glib::wrapper! {
    /// The abstract base class. Its properties are `device` and `stats`.
    pub struct TransferElement(ObjectSubclass<imp::TransferElement>) @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// A kind of memory for frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Memory of the host.
    System,
    /// Memory of a GPU.
    Cuda,
}

/// What an element adds to the base class.
pub trait TransferElementImpl: BaseTransformImpl + ObjectSubclass<Type: IsA<TransferElement>> {
    /// Where it takes frames.
    const TO: Memory;

    /// Where the element logs.
    fn category() -> gst::DebugCategory;
}
