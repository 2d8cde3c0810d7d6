//! The caps that elements have refused. A pad sends its caps again with each frame until they are accepted, so an element is
//! asked, and fails, more than once for one reason; and an element upstream sees the failure without knowing whether it was
//! reported.

use std::sync::Mutex;
use std::time::Instant;

use gst::glib;
use gst::prelude::*;

use crate::sync::lock;

struct Refusal {
    element: glib::WeakRef<gst::Element>,
    /// The event with the caps.
    event: Option<gst::Seqnum>,
    why: String,
    at: Instant,
}

static REFUSALS: Mutex<Vec<Refusal>> = Mutex::new(Vec::new());

/// Remembers that `element` refuses the caps that it is getting; false if it has refused the same event for the same reason.
pub(crate) fn is_new(element: &gst::Element, why: &str) -> bool {
    // The pad that sends the event has stored it already; the one that gets it has not.
    let sender = element.static_pad("sink").and_then(|sink| sink.peer());
    let event = sender.and_then(|pad| pad.sticky_event::<gst::event::Caps>(0)).map(|event| event.seqnum());
    let mut refusals = lock(&REFUSALS);
    refusals.retain(|refusal| refusal.element.upgrade().is_some());
    let known = refusals.iter_mut().find(|refusal| refusal.element.upgrade().as_ref() == Some(element));
    let at = Instant::now();
    match known {
        Some(known) => {
            let same = event.is_some() && known.event == event && known.why == why;
            (known.event, known.at) = (event, at);
            why.clone_into(&mut known.why);
            !same
        }
        None => {
            refusals.push(Refusal { element: element.downgrade(), event, why: why.to_owned(), at });
            true
        }
    }
}

/// Whether an element of the pipeline that `element` is in has refused its caps since then, and posted why.
pub(crate) fn any_since(element: &gst::Element, since: Instant) -> bool {
    let all: Vec<_> = {
        let refusals = lock(&REFUSALS);
        refusals.iter().filter(|refusal| refusal.at >= since).filter_map(|r| r.element.upgrade()).collect()
    };
    let own = root(element.upcast_ref());
    all.iter().any(|other| root(other.upcast_ref()) == own)
}

/// The pipeline that an object is in.
pub(crate) fn root(object: &gst::Object) -> gst::Object {
    let mut root = object.clone();
    while let Some(parent) = root.parent() {
        root = parent;
    }
    root
}
