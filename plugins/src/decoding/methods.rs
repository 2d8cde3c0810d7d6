//! The table of methods that each element adds to the base class, which has no type for the element.

use std::marker::PhantomData;

use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::InputBuffer;

use super::doubts::Description;
use super::{Decode, DecodingElement, DecodingElementImpl, Incoming, Reading};
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
    pub hands_on: bool,
    pub category: fn() -> gst::DebugCategory,
    pub prepare: Prepare,
    pub reading: fn(&DecodingElement, &Incoming<'_>) -> Reading,
    pub added_fields: fn(&DecodingElement, &gst::Caps, &ModelInfo) -> Option<gst::Structure>,
    pub instead_of: InsteadOf,
    pub forms: fn(&DecodingElement) -> Result<Forms, String>,
    pub reads_on: fn(&DecodingElement) -> bool,
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
        hands_on: T::HANDS_ON,
        category: T::category,
        prepare: |element, incoming| {
            let element = element.downcast_ref::<T::Type>().ok_or(OTHER_CLASS)?;
            element.imp().prepare(incoming)
        },
        reading: |element, incoming| {
            let element = element.downcast_ref::<T::Type>();
            element.map(|element| element.imp().reading(incoming)).unwrap_or_default()
        },
        added_fields: |element, caps, info| {
            let element = element.downcast_ref::<T::Type>();
            element.map(|element| element.imp().added_fields(caps, info))
        },
        instead_of: |element, frame| {
            let element = element.downcast_ref::<T::Type>().ok_or(OTHER_CLASS)?;
            element.imp().instead_of(frame)
        },
        forms: |element| element.downcast_ref::<T::Type>().ok_or(OTHER_CLASS)?.imp().forms(),
        reads_on: |element| element.downcast_ref::<T::Type>().is_some_and(|element| element.imp().reads_on()),
    };
}
