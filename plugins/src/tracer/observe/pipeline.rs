//! The pipeline, or other topmost object, that an element is in.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use gst::glib;
use gst::prelude::*;

use super::attached::{Attached, find_or_attach};

/// The state of a pipeline; attached to it.
#[derive(Debug)]
pub(crate) struct Pipeline {
    /// Its name.
    pub name: String,
    element: glib::WeakRef<gst::Element>,
    /// When it last changed its state, in ns of the hooks' time.
    changed: AtomicU64,
}

impl Attached for Pipeline {
    fn quark() -> glib::Quark {
        static QUARK: LazyLock<glib::Quark> =
            LazyLock::new(|| glib::Quark::from_str("cudainfer-traced-pipeline"));
        *QUARK
    }
}

impl Pipeline {
    /// That of an element.
    pub fn of(element: &gst::Element) -> Arc<Self> {
        let mut top = element.clone();
        while let Some(parent) = top.parent().and_downcast::<gst::Element>() {
            top = parent;
        }
        find_or_attach(&top, || Self {
            name: top.name().into(),
            element: top.downgrade(),
            changed: AtomicU64::new(0),
        })
    }

    /// Its state changes.
    pub fn changed(&self, now: u64) {
        self.changed.store(now, Ordering::Relaxed);
    }

    /// Since when it plays, or tries to; `None` while it should not play.
    pub fn plays_since(&self) -> Option<u64> {
        let plays = |element: gst::Element| {
            let (current, pending) = (element.current_state(), element.pending_state());
            let target = if pending == gst::State::VoidPending { current } else { pending };
            target == gst::State::Playing
        };
        self.element.upgrade().is_some_and(plays).then(|| self.changed.load(Ordering::Relaxed))
    }
}
