//! Where elements find the instance that they share, and which one it is when the model is changed.

use std::sync::{Arc, Weak};

use crate::sync::{Condvar, Mutex, lock, wait};

/// What a slot holds and an element uses: an instance, as far as a change of the model needs to know it.
pub(super) trait Replaceable {
    /// What names the model.
    type Selection: Clone + PartialEq;

    /// What names its model.
    fn selection(&self) -> Self::Selection;

    /// Whether an element gives it frames.
    fn is_used(&self) -> bool;
}

/// Where an element's instance is found: a slot of its own, or one that all elements with the same name for their instance have.
pub(super) struct Slot<I: Replaceable> {
    name: Option<String>,
    inner: Mutex<SlotInner<I>>,
    /// An instance has been opened, or could not be.
    opened: Condvar,
}

struct SlotInner<I: Replaceable> {
    current: Weak<I>,
    /// Models that were replaced while the slot was in use: an element that starts with one of them missed the replacement.
    replaced: Vec<I::Selection>,
    /// Whether an instance is being opened.
    is_opening: bool,
}

impl<I: Replaceable> Slot<I> {
    /// An empty slot, shared by all elements that name it if it has a name.
    pub fn new(name: Option<String>) -> Self {
        let inner = SlotInner { current: Weak::new(), replaced: Vec::new(), is_opening: false };
        Self { name, inner: Mutex::new(inner), opened: Condvar::new() }
    }

    /// The slot's instance if `serves` accepts it, which gets the models that were replaced as well, or else the one that `open`
    /// makes. Elements that come here while one is opened wait for it, and no other threads.
    ///
    /// # Errors
    /// Those of `serves` and `open`.
    pub fn open<E>(
        &self,
        serves: impl FnOnce(&Arc<I>, &[I::Selection]) -> Result<bool, E>,
        open: impl FnOnce() -> Result<Arc<I>, E>,
    ) -> Result<Arc<I>, E> {
        let mut inner = lock(&self.inner);
        while inner.is_opening {
            inner = wait(&self.opened, inner);
        }
        let current = inner.current.upgrade();
        let serves = current.as_ref().map(|current| serves(current, &inner.replaced));
        if let (Some(current), Some(Ok(true))) = (&current, &serves) {
            return Ok(Arc::clone(current));
        }
        inner.is_opening = serves.as_ref().is_none_or(Result::is_ok);
        drop(inner);
        // Outside of the lock: if this was the last reference, dropping it waits for the instance's workers.
        drop(current);
        serves.transpose()?;
        let _guard = OpeningGuard(self);
        let instance = open()?;
        let mut inner = lock(&self.inner);
        inner.current = Arc::downgrade(&instance);
        inner.replaced.clear();
        Ok(instance)
    }

    /// Whether it is the slot of this name; without one, any that has none.
    pub fn has_name(&self, name: Option<&str>) -> bool {
        self.name.as_deref() == name
    }

    /// The name that elements share it by.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The slot's instance. There is none yet while it is being opened; it may also be about to end.
    pub fn current(&self) -> Option<Arc<I>> {
        lock(&self.inner).current.upgrade()
    }

    /// Puts another instance there; all elements that use the slot take it over when they next can. Returns the previous one,
    /// which must be dropped outside of all locks.
    #[must_use]
    pub fn replace(&self, instance: &Arc<I>) -> Option<Arc<I>> {
        let mut inner = lock(&self.inner);
        let incoming = instance.selection();
        let before = inner.current.upgrade();
        if let Some(before) = before.as_ref().map(|before| before.selection())
            && before != incoming
            && !inner.replaced.contains(&before)
        {
            inner.replaced.push(before);
        }
        inner.replaced.retain(|replaced| *replaced != incoming);
        inner.current = Arc::downgrade(instance);
        before
    }

    /// Puts the instance `in_use` there again if `refused` is there and no element uses it: an element that starts gets the one
    /// in use.
    pub fn take_back(&self, refused: &Arc<I>, in_use: &Arc<I>) {
        let is_there = self.current().is_some_and(|current| Arc::ptr_eq(&current, refused));
        if is_there && !refused.is_used() {
            // The caller holds it as well: this is not the last reference.
            drop(self.replace(in_use));
        }
    }
}

/// An instance is being opened until this is dropped, also by a panic.
struct OpeningGuard<'a, I: Replaceable>(&'a Slot<I>);

impl<I: Replaceable> Drop for OpeningGuard<'_, I> {
    fn drop(&mut self) {
        lock(&self.0.inner).is_opening = false;
        self.0.opened.notify_all();
    }
}
