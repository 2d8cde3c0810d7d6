//! The abstract base class of the elements that turn a model's outputs into results: gpunms, peakfind, classify and segmask.
//!
//! It negotiates, removes the tensors from the frames, chooses between GPU and CPU, has a batch decoded once, counts, warns
//! of values that are not finite, and answers queries about the model. An element adds its settings and a [`Decode`] that it
//! makes from them in [`DecodingElementImpl::prepare`]. If that decodes the rows of the outputs one by one, [`Rows`] does the
//! rest.

use std::any::Any;

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::prelude::*;

use crate::caps::ModelOutputs;
use crate::meta::tensor::TensorSet;
use crate::model::ModelInfo;

mod class;
mod counts;
mod imp;
mod rows;
mod side;

pub use counts::Counts;
pub use rows::{RowDecoder, Rows};
pub use side::Side;

glib::wrapper! {
    /// The abstract base class. Its properties are `device` and `stats`.
    pub struct DecodingElement(ObjectSubclass<imp::DecodingElement>) @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Frames whose tensors are to be decoded.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// Their caps.
    pub caps: &'a gst::Caps,
    /// What the caps say of the model.
    pub model: &'a ModelOutputs,
    /// What else is known of it.
    pub info: &'a ModelInfo,
    /// The caps that the frames go on with; `None` where it is only asked whether these tensors could be decoded.
    pub outgoing: Option<&'a gst::Caps>,
}

/// Makes results of the tensors that negotiated caps announce.
pub trait Decode: Any + Send {
    /// Puts on the frame what its tensors hold, or those of its regions: there is one set of a frame, or one of each region.
    ///
    /// # Errors
    /// A sentence, without the element's name.
    fn decode(
        &mut self,
        sets: &[TensorSet],
        frame: &mut gst::BufferRef,
        side: &Side,
        counts: &mut Counts,
    ) -> Result<(), String>;
}

/// What an element adds to the base class.
pub trait DecodingElementImpl: BaseTransformImpl + ObjectSubclass<Type: IsA<DecodingElement>> {
    /// What `stats` counts besides the base class's counters, in this order. The one of values that are no numbers, which are
    /// warned of, is called `non-finite`.
    const COUNTS: &'static [&'static str];

    /// What values that are no numbers are, as in "12 cells of this frame's maps were dropped".
    const NON_FINITE: &'static str;

    /// Where the element logs.
    fn category() -> gst::DebugCategory;

    /// Gets ready for frames of these caps. What is wrong with parameters is to be said here, not with the first frame.
    ///
    /// # Errors
    /// A sentence, without the element's name.
    fn prepare(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String>;

    /// The caps that frames of these caps would go on with, where what is behind may get tensors; `None` where it never does.
    ///
    /// # Errors
    /// A sentence, without the element's name: what is behind wants tensors, and there would be none.
    fn hands_on(&self, _caps: &gst::Caps, _info: &ModelInfo) -> Result<Option<gst::Caps>, String> {
        Ok(None)
    }

    /// Whether work that reads a frame may be under way in the element when the frame goes on.
    fn reads_on(&self) -> bool {
        false
    }

    /// What is said where the element `taker` has taken the tensors before they come here.
    fn tensors_taken(taker: &str) -> String {
        format!(
            "frames arrive without tensors: '{taker}' has taken them. Take out one of the two elements, or put fusedpreproc \
             and a trtinfer with a model for this one between them"
        )
    }
}

/// What an element uses of the base class.
pub trait DecodingElementImplExt: DecodingElementImpl {
    /// The value of the property `stats`.
    fn stats(&self) -> gst::Structure {
        let element = self.obj();
        element.upcast_ref::<DecodingElement>().imp().stats()
    }

    /// Does something with what [`DecodingElementImpl::prepare`] returned for the frames that come now, if it is a `D`. Frames are not
    /// decoded meanwhile.
    fn with_decoder<D: Decode, R>(&self, work: impl FnOnce(&mut D) -> R) -> Option<R> {
        let element = self.obj();
        element.upcast_ref::<DecodingElement>().imp().with_decoder(work)
    }

    /// What counts the element's work on the GPU and copies.
    fn counters(&self) -> std::sync::Arc<cudainfer_kernels::device::Counters> {
        let element = self.obj();
        std::sync::Arc::clone(element.upcast_ref::<DecodingElement>().imp().side.counters())
    }

    /// What is known of the model that made the tensors of these caps.
    fn ask_model(&self, incaps: &gst::Caps) -> ModelInfo {
        let sink = self.obj().upcast_ref::<gst::Element>().static_pad("sink");
        sink.map(|sink| ModelInfo::ask(&sink, incaps)).unwrap_or_default()
    }
}

impl<T: DecodingElementImpl> DecodingElementImplExt for T {}
