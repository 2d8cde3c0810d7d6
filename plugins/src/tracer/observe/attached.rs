//! Data of our own that is attached to GStreamer's objects and released with them.

use std::sync::{Arc, Mutex};

use gst::glib;
use gst::glib::prelude::*;

use crate::sync::lock;

/// Data that can be attached to an object.
pub(super) trait Attached: Send + Sync + 'static {
    /// Names it. Each type has its own.
    fn quark() -> glib::Quark;
}

/// The data attached to an object.
pub(super) fn find<T: Attached>(object: &impl IsA<glib::Object>) -> Option<&Arc<T>> {
    // SAFETY: only `find_or_attach` sets data of this name, always an `Arc<T>`, because each type has a name of its own; it is
    // never replaced or removed before the object is finalized, and the caller holds the object as long as what is returned.
    unsafe { object.as_ref().qdata::<Arc<T>>(T::quark()).map(|data| data.as_ref()) }
}

/// The data attached to an object, or new data that is attached now.
pub(super) fn find_or_attach<T: Attached>(
    object: &impl IsA<glib::Object>,
    make: impl FnOnce() -> T,
) -> Arc<T> {
    if let Some(found) = find(object) {
        return Arc::clone(found);
    }
    let made = Arc::new(make());
    // Two threads may have come here: the data of the first one stays.
    static ATTACHING: Mutex<()> = Mutex::new(());
    let _guard = lock(&ATTACHING);
    if let Some(found) = find(object) {
        return Arc::clone(found);
    }
    // SAFETY: nothing is replaced, because nothing was there and only the thread that holds the lock sets anything.
    unsafe { object.as_ref().set_qdata(T::quark(), Arc::clone(&made)) };
    made
}
