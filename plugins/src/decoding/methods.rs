//! The table of methods that each element adds to the base class, which has no type for the element.

use std::marker::PhantomData;

use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::InputBuffer;

use super::doubts::Description;
use super::{Decode, DecodingElement, DecodingElementImpl, HandsOn, Incoming, Reading};
use crate::meta::analytics::Forms;
use crate::model::ModelInfo;

/// [`DecodingElementImpl::prepare`].
type Prepare = fn(&DecodingElement, &Incoming<'_>) -> Result<Box<dyn Decode>, String>;

/// [`DecodingElementImpl::instead_of`].
type InsteadOf = fn(&DecodingElement, &InputBuffer) -> Result<Option<gst::Buffer>, String>;

/// An element's [`DecodingElementImpl`].
pub(super) struct Methods {
    pub counts: &'static [&'static str],
    pub non_finite: &'static str,
    pub described: Description,
    pub tensors: HandsOn,
    pub category: fn() -> gst::DebugCategory,
    pub prepare: Prepare,
    pub reading: fn(&DecodingElement, &Incoming<'_>) -> Reading,
    pub hands_on: fn(&DecodingElement, &gst::Caps, &ModelInfo) -> Result<Option<gst::Caps>, String>,
    pub instead_of: InsteadOf,
    pub forms: fn(&DecodingElement) -> Result<Forms, String>,
    pub reads_on: fn(&DecodingElement) -> bool,
    pub tensors_taken: fn(&str) -> String,
}

/// A method was called with an element of another class, which the base class never does.
const OTHER_CLASS: &str = "the element is of another class";

/// The table of an element.
pub(super) struct MethodsOf<T>(PhantomData<T>);

impl<T: DecodingElementImpl> MethodsOf<T> {
    pub const METHODS: &'static Methods = &Methods {
        counts: T::COUNTS,
        non_finite: T::NON_FINITE,
        described: Description { section: T::SECTION, activation: T::ACTIVATION, results: T::RESULTS },
        tensors: T::HANDS_ON,
        category: T::category,
        prepare: |element, incoming| {
            let element = element.downcast_ref::<T::Type>().ok_or(OTHER_CLASS)?;
            element.imp().prepare(incoming)
        },
        reading: |element, incoming| {
            let element = element.downcast_ref::<T::Type>();
            element.map(|element| element.imp().reading(incoming)).unwrap_or_default()
        },
        hands_on: |element, caps, info| {
            let element = element.downcast_ref::<T::Type>().ok_or(OTHER_CLASS)?;
            element.imp().hands_on(caps, info)
        },
        instead_of: |element, frame| {
            let element = element.downcast_ref::<T::Type>().ok_or(OTHER_CLASS)?;
            element.imp().instead_of(frame)
        },
        forms: |element| element.downcast_ref::<T::Type>().ok_or(OTHER_CLASS)?.imp().forms(),
        reads_on: |element| element.downcast_ref::<T::Type>().is_some_and(|element| element.imp().reads_on()),
        tensors_taken: T::tensors_taken,
    };
}
