//! Events that are looked at later, because their pad is locked when the hook tells of them.
//!
//! GStreamer 1.26 calls the hook `pad-push-event-pre` with the lock of the pad held, so asking that pad for its peer or its name
//! waits for ever (seen with 1.26.2; 1.22 and 1.24.2 do not). The event is kept in its thread until the thread comes to another
//! pad: that pad's events and frames are of what follows.

use std::cell::RefCell;
use std::sync::LazyLock;

use gst::glib::WeakRef;
use gst::prelude::*;

/// Whether pads are locked when they tell of their events.
static LOCKED: LazyLock<bool> = LazyLock::new(|| gst::version() >= (1, 25, 0, 0));

thread_local! {
    static EVENTS: RefCell<Vec<(WeakRef<gst::Pad>, gst::Event)>> = const { RefCell::new(Vec::new()) };
}

/// The events that can be looked at now that `pad` pushes one: that one, where pads are not locked, else those of other pads.
pub(super) fn pushed(pad: &gst::Pad, event: &gst::Event) -> Vec<(gst::Pad, gst::Event)> {
    if *LOCKED { keep(pad, event) } else { vec![(pad.clone(), event.clone())] }
}

fn keep(pad: &gst::Pad, event: &gst::Event) -> Vec<(gst::Pad, gst::Event)> {
    let others = take(Some(pad));
    EVENTS.with_borrow_mut(|events| events.push((pad.downgrade(), event.clone())));
    others
}

/// The events of this thread that were kept, in their order, but for those of a pad that may be locked.
pub(super) fn take(locked: Option<&gst::Pad>) -> Vec<(gst::Pad, gst::Event)> {
    // Nothing is kept in nearly all calls.
    if EVENTS.with_borrow(Vec::is_empty) {
        return Vec::new();
    }
    let events = EVENTS.take();
    let (mut ready, mut kept) = (Vec::new(), Vec::new());
    for (pad, event) in events {
        match pad.upgrade() {
            Some(upgraded) if locked == Some(&upgraded) => kept.push((pad, event)),
            Some(upgraded) => ready.push((upgraded, event)),
            None => (),
        }
    }
    EVENTS.set(kept);
    ready
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_wait_while_their_own_pad_may_be_locked() {
        gst::init().unwrap();
        let [a, b] = [(); 2].map(|()| gst::Pad::new(gst::PadDirection::Src));
        let events = ["one", "two", "three"].map(gst::event::StreamStart::new);
        assert!(keep(&a, &events[0]).is_empty());
        assert!(keep(&a, &events[1]).is_empty(), "of the same pad");
        let of = |pad: &gst::Pad, events: &[gst::Event]| {
            events.iter().map(|e| (pad.clone(), e.as_ptr())).collect::<Vec<_>>()
        };
        let seen = |taken: Vec<(gst::Pad, gst::Event)>| {
            taken.into_iter().map(|(pad, e)| (pad, e.as_ptr())).collect::<Vec<_>>()
        };
        assert_eq!(seen(keep(&b, &events[2])), of(&a, &events[..2]));
        assert_eq!(seen(take(None)), of(&b, &events[2..]));
        assert!(take(None).is_empty());
        keep(&a, &events[0]);
        drop(a);
        assert!(take(None).is_empty(), "a pad that is gone");
    }
}
