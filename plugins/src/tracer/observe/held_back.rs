//! Events that are read later, because their pad is locked when the hook reports them.
//!
//! GStreamer calls the hook `pad-push-event-pre` before it takes the pad's lock, and since 1.25 a second time when it sends the
//! pad's sticky events: up to 1.26.1 with the lock held (a35bf1e384, mended in 371100c743), so that asking the pad for its peer
//! or its name waits forever. So the lock is tried. An event that comes while it is held and that was not read before is kept in
//! its thread until the thread comes to another pad: only that pad's events and frames depend on it.

use std::cell::{Cell, RefCell};

use gst::glib;
use gst::glib::WeakRef;
use gst::prelude::*;

thread_local! {
    static EVENTS: RefCell<Vec<(WeakRef<gst::Pad>, gst::Event)>> = const { RefCell::new(Vec::new()) };
    /// The last event that was read when its pad pushed it: the addresses of the pad and the event, which are only compared.
    static LAST: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// The events that can be read now that `pad` pushes one: that one, unless its pad is locked, and those of other pads that were
/// kept.
pub(super) fn pushed(pad: &gst::Pad, event: &gst::Event) -> Vec<(gst::Pad, gst::Event)> {
    let this = (pad.as_ptr().addr(), event.as_ptr().addr());
    if is_locked(pad) {
        let others = take(Some(pad));
        if LAST.get() != this {
            EVENTS.with_borrow_mut(|events| events.push((pad.downgrade(), event.clone())));
        }
        others
    } else {
        LAST.set(this);
        let mut all = take(None);
        all.push((pad.clone(), event.clone()));
        all
    }
}

/// Whether a pad's lock is held, by this thread or another.
fn is_locked(pad: &gst::Pad) -> bool {
    let object: *mut gst::ffi::GstObject = pad.upcast_ref::<gst::Object>().as_ptr();
    // SAFETY: the pad is alive, and its lock is a mutex that is part of it; it is unlocked only after it was locked here.
    unsafe {
        let mutex = &raw mut (*object).lock;
        let free = glib::ffi::g_mutex_trylock(mutex) != glib::ffi::GFALSE;
        if free {
            glib::ffi::g_mutex_unlock(mutex);
        }
        !free
    }
}

/// The kept events of this thread, in their order, except for those of a pad that may be locked.
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

    type Seen = Vec<(gst::Pad, *const gst::ffi::GstEvent)>;

    fn of(pad: &gst::Pad, events: &[gst::Event]) -> Seen {
        events.iter().map(|e| (pad.clone(), e.as_ptr())).collect()
    }

    fn seen(taken: Vec<(gst::Pad, gst::Event)>) -> Seen {
        taken.into_iter().map(|(pad, e)| (pad, e.as_ptr())).collect()
    }

    fn pads_and_events() -> ([gst::Pad; 2], [gst::Event; 3]) {
        gst::init().unwrap();
        let pads = [(); 2].map(|()| gst::Pad::new(gst::PadDirection::Src));
        (pads, ["one", "two", "three"].map(gst::event::StreamStart::new))
    }

    /// How GStreamer 1.25 to 1.26.1 sends a pad's sticky events.
    fn pushed_locked(pad: &gst::Pad, event: &gst::Event) -> Vec<(gst::Pad, gst::Event)> {
        let _lock = pad.object_lock();
        pushed(pad, event)
    }

    #[test]
    fn events_wait_while_their_own_pad_is_locked() {
        let ([a, b], events) = pads_and_events();
        assert!(pushed_locked(&a, &events[0]).is_empty());
        assert!(pushed_locked(&a, &events[1]).is_empty(), "of the same pad");
        assert_eq!(seen(pushed_locked(&b, &events[2])), of(&a, &events[..2]));
        assert_eq!(seen(take(None)), of(&b, &events[2..]));
        assert!(take(None).is_empty());
        pushed_locked(&a, &events[0]);
        drop(a);
        assert!(take(None).is_empty(), "a pad that is gone");
    }

    #[test]
    fn an_event_whose_pad_is_not_locked_is_looked_at_at_once_and_only_once() {
        let ([a, b], events) = pads_and_events();
        assert_eq!(seen(pushed(&a, &events[0])), of(&a, &events[..1]));
        assert!(pushed_locked(&a, &events[0]).is_empty());
        assert!(take(None).is_empty(), "it was looked at");
        assert!(pushed_locked(&a, &events[1]).is_empty());
        let after = [of(&a, &events[1..2]), of(&b, &events[2..])].concat();
        assert_eq!(seen(pushed(&b, &events[2])), after, "what was kept comes first");
    }
}
