//! The class structure of the GObject, in which the base class finds what an element has added.

use std::marker::PhantomData;

use gst::glib;
use gst::subclass::prelude::*;

use super::{Memory, TransferElement, TransferElementImpl, imp};

/// The class structure.
#[repr(C)]
pub struct Class {
    parent: gst_base::ffi::GstBaseTransformClass,
    /// Zero, which is `None`, in the abstract class itself.
    pub(super) added: Option<&'static Added>,
}

/// An element's [`TransferElementImpl`].
pub(super) struct Added {
    pub to: Memory,
    pub category: fn() -> gst::DebugCategory,
}

struct AddedBy<T>(PhantomData<T>);

impl<T: TransferElementImpl> AddedBy<T> {
    const ADDED: &'static Added = &Added { to: T::TO, category: T::category };
}

// SAFETY: the structure begins with the parent's, is all zeros to begin with, which is valid, and is the instance's by
// `ObjectSubclass::Class`.
unsafe impl ClassStruct for Class {
    type Type = imp::TransferElement;
}

// SAFETY: the parent class is initialised first, and the structure is the one of `TransferElement`'s class.
unsafe impl<T: TransferElementImpl> IsSubclassable<T> for TransferElement {
    fn class_init(class: &mut glib::Class<Self>) {
        Self::parent_class_init::<T>(class);
        class.as_mut().added = Some(AddedBy::<T>::ADDED);
    }
}
