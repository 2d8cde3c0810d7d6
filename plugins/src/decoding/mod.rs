//! The abstract base class of the elements that decode a model's outputs into results: gpunms, peakfind, classify, embed,
//! segmask and tensormap.
//!
//! It negotiates, removes the tensors from the frames, decides whether they are decoded on the GPU or on the CPU, has each
//! batch decoded once, counts, warns about NaN and infinity and about outputs that cannot be right, and answers whether another
//! model can be used while frames flow. An element adds its settings and a [`Decode`], which [`DecodingElementImpl::prepare`]
//! makes from them. [`Rows`] does the rest for an element that decodes one row of the outputs at a time.

use std::any::Any;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use cudainfer_kernels::sanity::{Expected, Survey};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::InputBuffer;
use gst_base::subclass::prelude::*;

use crate::caps::ModelOutputs;
use crate::meta::analytics::{Contents, Forms, Metadata};
use crate::meta::tensor::{Tensor, TensorSet};
use crate::model::{self, ModelInfo};
use crate::notice::Remark;
use crate::property::Table;
use crate::sync::lock;

mod counts;
mod detector;
mod doubts;
mod follow;
mod foreign;
pub(crate) mod hand_on;
mod imp;
mod methods;
pub(crate) mod named;
mod prepare;
pub(crate) mod reading;
mod rows;
mod side;

pub use crate::notice::Limit;
pub use counts::Counts;
pub use reading::Reading;
pub use rows::{RowDecoder, Rows};
pub use side::Side;

glib::wrapper! {
    /// The abstract base class. Its properties are `device`, `reading` and `stats`.
    pub struct DecodingElement(ObjectSubclass<imp::DecodingElement>) @extends gst_base::BaseTransform, gst::Element, gst::Object;
}

/// Frames whose tensors will be decoded.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// Their caps.
    pub caps: &'a gst::Caps,
    /// The caps' information about the model.
    pub model: &'a ModelOutputs,
    /// What else is known about it.
    pub info: &'a ModelInfo,
    /// The source caps; `None` if the question is only whether these tensors could be decoded.
    pub outgoing: Option<&'a gst::Caps>,
}

/// Decodes the tensors that the negotiated caps announce.
pub trait Decode: Any + Send {
    /// Puts the results on the frame. `sets` has one set of tensors for the frame, or one for each of its regions.
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

    /// Tensors that this element adds to those of the last frame, if these go on
    /// ([`DecodingElementImpl::HANDS_ON`]). Asked once a frame.
    fn added(&mut self) -> Vec<Tensor> {
        Vec::new()
    }

    /// Something about the last frame that the user should know, a sentence without the element's name. Asked once a frame.
    fn remark(&mut self) -> Option<Remark> {
        None
    }

    /// What the outputs should be; `None` if nothing about them is judged.
    fn expected(&self) -> Option<Expected> {
        None
    }

    /// Statistics of the outputs in `set`, which may have to be downloaded; called for a few frames of each model, if they
    /// are judged. `None` if they cannot be read.
    fn survey(&self, _set: &TensorSet) -> Option<Survey> {
        None
    }
}

/// What an element adds to the base class.
pub trait DecodingElementImpl: BaseTransformImpl + ObjectSubclass<Type: IsA<DecodingElement>> {
    /// What `stats` counts besides the base class's counters, in this order. NaN and infinity, about which there is a warning,
    /// are counted as `non-finite`.
    const COUNTS: &'static [&'static str];

    /// Which values were NaN or infinity, as in "12 cells of this frame's maps were dropped".
    const NON_FINITE: &'static str;

    /// The section of the sidecar that describes the outputs.
    const SECTION: &'static str = "[output]";

    /// The name of its results, in sentences about where they lie.
    const RESULTS: &'static str = "boxes";

    /// The activation that usually makes the logits of such a model probabilities.
    const ACTIVATION: &'static str = "sigmoid";

    /// Whether all tensors go on to elements downstream whose caps ask for a model's outputs. The template of the source pad has
    /// to have the feature, then.
    const HANDS_ON: bool = false;

    /// Where the element logs.
    fn category() -> gst::DebugCategory;

    /// Makes the decoder for frames of these caps. Wrong parameters must be an error here, not with the first frame.
    ///
    /// # Errors
    /// A sentence, without the element's name.
    fn prepare(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String>;

    /// How the outputs are read that [`DecodingElementImpl::prepare`] accepted, for the property `reading`.
    fn reading(&self, incoming: &Incoming<'_>) -> Reading;

    /// The fields of caps that describe what [`Decode::added`] adds to the tensors of frames of these caps.
    fn added_fields(&self, _caps: &gst::Caps, _info: &ModelInfo) -> gst::Structure {
        gst::Structure::new_empty("tensors")
    }

    /// The frame that goes on with the results in place of the one that arrives, without any yet, if that one must not be shared.
    ///
    /// # Errors
    /// A sentence, without the element's name.
    fn instead_of(&self, _frame: &InputBuffer) -> Result<Option<gst::Buffer>, String> {
        Ok(None)
    }

    /// The form in which the results are written, asked when the element starts.
    ///
    /// # Errors
    /// A sentence, without the element's name: the form is not available here.
    fn forms(&self) -> Result<Forms, String> {
        Metadata::default().forms(Contents::Objects)
    }

    /// Whether the element may still be reading a frame when it pushes the frame on.
    fn reads_on(&self) -> bool {
        false
    }
}

/// The value of an element's property: `stats`, or one of its `table`.
pub(crate) fn value_of<S: Default + 'static>(
    element: &impl DecodingElementImpl,
    table: &Table<S>,
    settings: &Mutex<S>,
    pspec: &glib::ParamSpec,
) -> glib::Value {
    if pspec.name() == "stats" {
        return element.stats().to_value();
    }
    table.get(&lock(settings), pspec).unwrap_or_else(|| pspec.default_value().clone())
}

/// In `impl ObjectImpl`: the properties of this table, which the element's field `settings` holds; `then` is the method of the element
/// that is called after one of them has been set.
macro_rules! properties {
    ($table:ident $(, then $changed:ident)?) => {
        fn properties() -> &'static [glib::ParamSpec] {
            $table.specs()
        }

        fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
            $table.set(&*self.obj(), &self.settings, value, pspec);
            $(self.$changed();)?
        }

        fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
            $crate::decoding::value_of(self, &$table, &self.settings, pspec)
        }
    };
}
pub(crate) use properties;

/// The methods of the base class that an element uses.
pub trait DecodingElementImplExt: DecodingElementImpl {
    /// The value of the property `stats`.
    fn stats(&self) -> gst::Structure {
        let element = self.obj();
        element.upcast_ref::<DecodingElement>().imp().stats()
    }

    /// Has [`DecodingElementImpl::prepare`] make another decoder before the next frame, because a property has changed.
    fn changed(&self) {
        let element = self.obj();
        element.upcast_ref::<DecodingElement>().imp().changed.store(true, Ordering::Release);
    }

    /// Calls `work` with the current decoder, which [`DecodingElementImpl::prepare`] made, if it is a `D`. No frame is decoded
    /// meanwhile.
    fn with_decoder<D: Decode, R>(&self, work: impl FnOnce(&mut D) -> R) -> Option<R> {
        let element = self.obj();
        element.upcast_ref::<DecodingElement>().imp().with_decoder(work)
    }

    /// The counters of the element's work on the GPU and of its copies.
    fn counters(&self) -> std::sync::Arc<cudainfer_kernels::device::Counters> {
        let element = self.obj();
        std::sync::Arc::clone(element.upcast_ref::<DecodingElement>().imp().side.counters())
    }

    /// What is known about the model that made the tensors of these caps.
    fn ask_model(&self, incaps: &gst::Caps) -> ModelInfo {
        let sink = self.obj().upcast_ref::<gst::Element>().static_pad("sink");
        sink.map(|sink| model::ask(&sink, incaps)).unwrap_or_default()
    }
}

impl<T: DecodingElementImpl> DecodingElementImplExt for T {}
