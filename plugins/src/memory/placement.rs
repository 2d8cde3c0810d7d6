//! Where one element works, through its states.

use std::sync::{Arc, Mutex};

use super::{Place, Session};
use crate::{notice, sync::lock};
use cudainfer_kernels::device::Counters;

/// An element's [`Place`]: decided once for each time out of NULL, and forgotten in NULL.
#[derive(Debug, Default)]
pub struct Placement {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    place: Place,
    /// Whether it is the CPU although the user left it open.
    fell_back: bool,
    /// The CUDA context that the application or a bin last gave the element.
    offered: Option<gst::Context>,
}

impl Placement {
    /// NULL->READY: decides by the `device` property, tells the neighbours which context is used, and warns on the bus
    /// if that is none although one was looked for.
    ///
    /// # Errors
    /// As [`Place::decide`].
    pub fn open(
        &self,
        element: &gst::Element,
        device: &str,
        counters: &Arc<Counters>,
    ) -> Result<(), gst::ErrorMessage> {
        let place = self.place();
        let (place, reason) = match place {
            Place::Open => self.decide(element, device, counters)?,
            decided => (decided, None),
        };
        {
            let mut state = lock(&self.state);
            state.place = place.clone();
            state.fell_back = reason.is_some();
        }
        // Messages run handlers, which may call us back: no lock is held here.
        if let Place::Gpu(session) = place {
            session.announce(element);
        }
        if let Some(reason) = reason {
            counters.fallbacks.add(1);
            notice::running_on_cpu(element, &reason);
        }
        Ok(())
    }

    /// READY->PAUSED: counts from zero; a fallback to the CPU is still one.
    pub fn start(&self, counters: &Counters) {
        counters.reset();
        counters.fallbacks.add(u64::from(lock(&self.state).fell_back));
    }

    /// READY->NULL.
    pub fn close(&self) {
        let place = std::mem::take(&mut lock(&self.state).place);
        // Outside of the lock: the last one to let go of the GPU waits for it.
        drop(place);
    }

    /// What was decided.
    pub fn place(&self) -> Place {
        lock(&self.state).place.clone()
    }

    /// The element's `set_context`.
    pub fn offer(&self, context: &gst::Context) {
        if Session::is_offer(context) {
            lock(&self.state).offered = Some(context.clone());
        }
    }

    /// Answers a neighbour's query for a CUDA context; returns whether `query` was one that could be answered. Upstream
    /// elements reach READY after us but downstream ones before, so this may have to decide early; what is wrong is
    /// then said at NULL->READY.
    pub fn answer(
        &self,
        element: &gst::Element,
        device: &str,
        counters: &Arc<Counters>,
        query: &mut gst::QueryRef,
    ) -> bool {
        if !matches!(query.view(), gst::QueryView::Context(_)) {
            return false;
        }
        let session = match self.place() {
            Place::Gpu(session) => session,
            Place::Host => return false,
            Place::Open => match self.decide(element, device, counters) {
                Ok((Place::Gpu(session), _)) => {
                    let mut state = lock(&self.state);
                    if let Place::Open = state.place {
                        state.place = Place::Gpu(session.clone());
                    }
                    session
                }
                _ => return false,
            },
        };
        session.answer(element, query)
    }

    fn decide(
        &self,
        element: &gst::Element,
        device: &str,
        counters: &Arc<Counters>,
    ) -> Result<(Place, Option<String>), gst::ErrorMessage> {
        let offered = lock(&self.state).offered.clone();
        Place::decide(device, element, offered.as_ref(), counters)
    }
}
