//! Which instance an element uses, and how another takes its place while frames flow: a state machine with one lock, without
//! GStreamer.
//!
//! ```text
//! request  ->  take_request (the loader's thread)  ->  offer  ->  next  ->  take
//!                                                                       ->  wait_for_tensors, ask
//!                                                                       ->  refuse
//! ```
//!
//! Methods that release an instance return it: dropping the last reference waits for its workers, which no lock may do.

use std::any::Any;
use std::sync::Arc;

use super::slot::{Replaceable, Slot};
use crate::sync::{Mutex, lock};

/// Frames that may still come with the tensors of the instance in use after others were asked for: more than a queue holds.
pub(super) const PATIENCE: usize = 256;

/// The instance in use, the one that replaces it, and the thread `T` that loads other models.
pub(super) struct ModelSwitch<I: Replaceable, T> {
    inner: Mutex<SwitchInner<I, T>>,
}

struct SwitchInner<I: Replaceable, T> {
    /// Where the instance is found, and the one in use: from READY on.
    slot: Option<Arc<Slot<I>>>,
    in_use: Option<Arc<I>>,
    next: Next<I>,
    loader: Loader<T>,
}

/// The instance that replaces the one in use.
struct Next<I> {
    instance: Option<Arc<I>>,
    /// Keeps the shape that the instance was warmed up for.
    _warm: Option<Arc<dyn Any + Send + Sync>>,
    stage: Stage,
    /// Whose tensors the elements upstream were asked for last. Their tensors may still come when the next instance is another one.
    asked: Option<Arc<I>>,
    /// Another element put the instance into the slot.
    is_foreign: bool,
}

/// How far a replacement is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// It takes over with the next frame, if that has the tensors it needs.
    #[default]
    Offered,
    /// The elements upstream were asked for its tensors, that many frames ago.
    Asked(usize),
    /// It is not tried again.
    Refused,
}

impl<I> Default for Next<I> {
    fn default() -> Self {
        Self { instance: None, _warm: None, stage: Stage::default(), asked: None, is_foreign: false }
    }
}

/// What the loader's thread has to do. Models are loaded one after the other; of those requested meanwhile, only the last one is.
struct Loader<T> {
    /// Requests are taken: there is an instance in use, beside which another is loaded.
    is_open: bool,
    work: Work,
    /// Counts the element's stops: what was begun before a stop is dropped after it.
    stops: u64,
    /// The latest thread. It is waited for before the element is in NULL.
    thread: Option<T>,
}

/// What the loader's thread is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Work {
    /// No thread takes requests.
    #[default]
    Idle,
    /// The thread runs, and takes the next request if there is one.
    Busy { is_requested: bool },
}

/// A model that the loader's thread has begun to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    stops: u64,
}

/// How long frames have come without the tensors that the next instance needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// The elements upstream have not been asked for them.
    Ask,
    /// They have, a short time ago.
    Wait,
    /// They have, more than [`PATIENCE`] frames ago.
    Over,
}

/// The result of a replacement.
pub(super) struct Taken<I: Replaceable> {
    /// The model that the instance replaces, where another element changed it: the element's properties follow.
    pub followed: Option<I::Selection>,
    /// Instances that are not needed any more; to be dropped outside of all locks.
    pub released: Released<I>,
}

/// Instances that were released. Dropping the last reference to one waits for its workers.
pub(super) struct Released<I>([Option<Arc<I>>; 4]);

impl<I: Replaceable, T> Default for ModelSwitch<I, T> {
    fn default() -> Self {
        let loader = Loader { is_open: false, work: Work::Idle, stops: 0, thread: None };
        Self { inner: Mutex::new(SwitchInner { slot: None, in_use: None, next: Next::default(), loader }) }
    }
}

impl<I: Replaceable, T> ModelSwitch<I, T> {
    /// The element has opened this instance, which is in this slot.
    pub fn open(&self, slot: Arc<Slot<I>>, instance: Arc<I>) {
        let mut inner = lock(&self.inner);
        inner.slot = Some(slot);
        inner.in_use = Some(instance);
    }

    /// The element releases its instance. The loader must have ended.
    pub fn close(&self) -> Released<I> {
        let mut inner = lock(&self.inner);
        let next = std::mem::take(&mut inner.next);
        inner.slot = None;
        Released([inner.in_use.take(), next.instance, next.asked, None])
    }

    /// The instance in use.
    pub fn in_use(&self) -> Option<Arc<I>> {
        lock(&self.inner).in_use.clone()
    }

    /// Where the instance is found.
    pub fn slot(&self) -> Option<Arc<Slot<I>>> {
        lock(&self.inner).slot.clone()
    }

    /// Models that are requested from now on are loaded beside the one in use.
    pub fn begin(&self) {
        lock(&self.inner).loader.is_open = true;
    }

    /// From now on the next start decides which model is in use: what loads now is not offered any more.
    pub fn stop(&self) {
        let loader = &mut lock(&self.inner).loader;
        loader.is_open = false;
        if let Work::Busy { is_requested } = &mut loader.work {
            *is_requested = false;
        }
        loader.stops += 1;
    }

    /// Has a model loaded. Starts a thread by `spawn` unless one runs, which then takes the request when it has done what it does;
    /// the thread has to call [`ModelSwitch::take_request`] until there is none. `join` waits for one that takes no more requests.
    ///
    /// # Errors
    /// Those of `spawn`.
    pub fn request<E>(&self, spawn: impl FnOnce() -> Result<T, E>, join: impl FnOnce(T)) -> Result<(), E> {
        let loader = &mut lock(&self.inner).loader;
        if !loader.is_open {
            return Ok(());
        }
        if let Work::Busy { is_requested } = &mut loader.work {
            *is_requested = true;
            return Ok(());
        }
        if let Some(ended) = loader.thread.take() {
            join(ended);
        }
        loader.thread = Some(spawn()?);
        loader.work = Work::Busy { is_requested: true };
        Ok(())
    }

    /// The request that the loader's thread takes; `None` where there is none and the thread has to end.
    pub fn take_request(&self) -> Option<Load> {
        let loader = &mut lock(&self.inner).loader;
        if loader.work == (Work::Busy { is_requested: true }) {
            loader.work = Work::Busy { is_requested: false };
            return Some(Load { stops: loader.stops });
        }
        loader.work = Work::Idle;
        None
    }

    /// Whether the element was not stopped since this load began.
    pub fn is_current(&self, load: Load) -> bool {
        lock(&self.inner).loader.stops == load.stops
    }

    /// Whether what is being loaded is still wanted.
    pub fn is_wanted(&self, load: Load) -> bool {
        lock(&self.inner).loader.wants(load)
    }

    /// The loader's thread, to be waited for.
    pub fn take_thread(&self) -> Option<T> {
        lock(&self.inner).loader.thread.take()
    }

    /// Offers an instance that was loaded, warmed up for what `warm` keeps: [`ModelSwitch::next`] returns it, if it is still wanted.
    pub fn offer(
        &self,
        load: Load,
        instance: &Arc<I>,
        warm: Option<Arc<dyn Any + Send + Sync>>,
    ) -> Released<I> {
        let mut inner = lock(&self.inner);
        // In one step with the look at the stops: a stop finds the instance where it looks for it.
        if !inner.loader.wants(load) {
            return Released::default();
        }
        let next = Next { instance: Some(Arc::clone(instance)), _warm: warm, ..Next::default() };
        inner.replace_next(next, instance)
    }

    /// The instance in use stays: nothing replaces it.
    pub fn keep(&self, in_use: &Arc<I>) -> Released<I> {
        lock(&self.inner).replace_next(Next::default(), in_use)
    }

    /// The instance that replaces the one in use with the next frame, if there is one. The slot may have got it from another
    /// element that uses the slot.
    pub fn next(&self) -> Option<Arc<I>> {
        let mut inner = lock(&self.inner);
        let current = inner.slot.as_ref()?.current()?;
        if inner.in_use.as_ref().is_some_and(|in_use| Arc::ptr_eq(in_use, &current)) {
            return None;
        }
        let mut released = Released::default();
        if inner.next.instance.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &current)) {
            let next = Next { instance: Some(Arc::clone(&current)), is_foreign: true, ..Next::default() };
            released = inner.set_next(next);
        }
        let is_refused = inner.next.stage == Stage::Refused;
        drop(inner);
        drop(released);
        (!is_refused).then_some(current)
    }

    /// A frame has come without the tensors that the next instance needs.
    pub fn wait_for_tensors(&self) -> Patience {
        let mut inner = lock(&self.inner);
        let (stage, patience) = match inner.next.stage {
            Stage::Asked(PATIENCE) => (Stage::Asked(PATIENCE), Patience::Over),
            Stage::Asked(frames) => (Stage::Asked(frames + 1), Patience::Wait),
            Stage::Offered => (Stage::Asked(0), Patience::Ask),
            Stage::Refused => (Stage::Refused, Patience::Wait),
        };
        inner.next.stage = stage;
        patience
    }

    /// The elements upstream are asked for the tensors of this instance.
    pub fn ask(&self, next: &Arc<I>) -> Released<I> {
        let before = lock(&self.inner).next.asked.replace(Arc::clone(next));
        Released([before, None, None, None])
    }

    /// The instance whose tensors the elements upstream were asked for last.
    pub fn asked(&self) -> Option<Arc<I>> {
        lock(&self.inner).next.asked.clone()
    }

    /// The instance `taken` is in use from now on.
    pub fn take(&self, taken: &Arc<I>) -> Taken<I> {
        let mut inner = lock(&self.inner);
        let before = inner.in_use.replace(Arc::clone(taken));
        let asked = inner.next.asked.take();
        let wanted = inner.slot.as_ref().and_then(|slot| slot.current());
        if wanted.as_ref().is_some_and(|wanted| !Arc::ptr_eq(wanted, taken)) {
            // The frames have tensors for `taken` only. The slot's instance follows, which may be the previous one.
            if inner.next.stage != Stage::Refused {
                inner.next.stage = Stage::Offered;
            }
            let unneeded = match &inner.next.instance {
                Some(_) => before,
                None => {
                    inner.next.instance = before;
                    None
                }
            };
            return Taken { followed: None, released: Released([unneeded, asked, wanted, None]) };
        }
        let next = std::mem::take(&mut inner.next);
        let followed = before.as_ref().filter(|_| next.is_foreign).map(|before| before.selection());
        Taken { followed, released: Released([before, asked, wanted, next.instance]) }
    }

    /// The next instance is not tried again. If this element offered `refused`, the slot has the instance in use again.
    pub fn refuse(&self, refused: Option<&Arc<I>>) {
        let mut inner = lock(&self.inner);
        inner.next.stage = Stage::Refused;
        if let (Some(slot), Some(in_use), Some(refused), false) =
            (&inner.slot, &inner.in_use, refused, inner.next.is_foreign)
        {
            slot.take_back(refused, in_use);
        }
    }
}

impl<I: Replaceable, T> SwitchInner<I, T> {
    /// The slot gets `wanted`, which replaces the next instance.
    fn replace_next(&mut self, next: Next<I>, wanted: &Arc<I>) -> Released<I> {
        let before = self.slot.as_ref().and_then(|slot| slot.replace(wanted));
        let Released([instance, ..]) = self.set_next(next);
        Released([instance, before, None, None])
    }

    fn set_next(&mut self, next: Next<I>) -> Released<I> {
        let asked = self.next.asked.take();
        let before = std::mem::replace(&mut self.next, Next { asked, ..next });
        Released([before.instance, None, None, None])
    }
}

impl<T> Loader<T> {
    fn wants(&self, load: Load) -> bool {
        self.stops == load.stops && self.work == (Work::Busy { is_requested: false })
    }
}

impl<I> Default for Released<I> {
    fn default() -> Self {
        Self([None, None, None, None])
    }
}

#[cfg(test)]
#[path = "switch/tests.rs"] // so that it is found from tests/interleavings, too
mod tests;
