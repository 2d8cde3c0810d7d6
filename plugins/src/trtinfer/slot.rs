//! Where elements find the instance that they share, and what becomes of it when the model is changed.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, Weak};

use super::instance::Instance;
use super::model_selection::ModelSelection;
use super::setup::Setup;
use crate::inference::Progress;
use crate::sync::lock;

/// Where an element's instance is found: its own slot, or one that others who name the same instance have, too.
#[derive(Default)]
pub(super) struct InstanceSlot {
    name: Option<String>,
    inner: Mutex<SlotInner>,
}

#[derive(Default)]
struct SlotInner {
    current: Weak<Instance>,
    /// Models that others have replaced while the slot was in use: an element that starts with one of them has not heard of that yet.
    replaced: Vec<ModelSelection>,
}

/// Why an element does not get an instance.
#[derive(Debug)]
pub(super) enum NoInstance {
    /// Others use one that was opened with something else, for as long as they do.
    InUse(String),
    /// The model cannot be loaded.
    Unloadable(String),
}

static SLOTS: LazyLock<Mutex<HashMap<String, Weak<InstanceSlot>>>> = LazyLock::new(Mutex::default);

impl InstanceSlot {
    /// The slot of this name, or a new one that is nobody else's.
    pub fn of(name: Option<&str>) -> Arc<Self> {
        let Some(name) = name else { return Arc::default() };
        let mut slots = lock(&SLOTS);
        slots.retain(|_, slot| slot.strong_count() > 0);
        if let Some(slot) = slots.get(name).and_then(Weak::upgrade) {
            return slot;
        }
        let slot = Arc::new(Self { name: Some(name.to_owned()), inner: Mutex::default() });
        slots.insert(name.to_owned(), Arc::downgrade(&slot));
        slot
    }

    /// The instance that is there, or one that is opened now. Where the model was replaced for all who share the instance, who
    /// starts with an earlier one gets that which is in use.
    ///
    /// # Errors
    /// See [`NoInstance`].
    pub fn open(
        &self,
        setup: Setup,
        near: Option<u32>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Arc<Instance>, NoInstance> {
        // Held while the model loads: who comes meanwhile waits for it.
        let mut inner = lock(&self.inner);
        if let Some(instance) = inner.current.upgrade() {
            let wanted = ModelSelection::by_setup(&setup);
            let in_use = ModelSelection::by_setup(&instance.setup);
            let setup =
                if inner.replaced.contains(&wanted) { in_use.put_into(&setup) } else { setup.clone() };
            match (&self.name, setup.difference(&instance.setup)) {
                (_, None) => return Ok(instance),
                (Some(name), Some((what, ours, theirs))) => {
                    return Err(NoInstance::InUse(format!(
                        "instance={name} is in use with {what}={theirs}, but this element has {what}={ours}. Elements with the \
                         same instance need the same properties: set {what}={theirs}, or name another instance"
                    )));
                }
                (None, Some(_)) => (),
            }
        }
        let instance =
            Instance::open(setup, near, progress).map_err(|e| NoInstance::Unloadable(e.to_string()))?;
        *inner = SlotInner { current: Arc::downgrade(&instance), replaced: Vec::new() };
        Ok(instance)
    }

    /// Whether it is the slot of this name; without one, any that has none.
    pub fn has_name(&self, name: Option<&str>) -> bool {
        self.name.as_deref() == name
    }

    /// Whether others may have it.
    pub fn is_shared(&self) -> bool {
        self.name.is_some()
    }

    /// What is there, unless it is being loaded.
    pub fn now(&self) -> Option<Arc<Instance>> {
        self.inner.try_lock().ok()?.current.upgrade()
    }

    /// What is there now.
    pub fn current(&self) -> Option<Arc<Instance>> {
        lock(&self.inner).current.upgrade()
    }

    /// Puts another one there; all who use the slot take it when they next can.
    pub fn replace(&self, instance: &Arc<Instance>) {
        let mut inner = lock(&self.inner);
        let incoming = ModelSelection::by_setup(&instance.setup);
        if let Some(before) = inner.current.upgrade() {
            let before = ModelSelection::by_setup(&before.setup);
            if before != incoming && !inner.replaced.contains(&before) {
                inner.replaced.push(before);
            }
        }
        inner.replaced.retain(|replaced| *replaced != incoming);
        inner.current = Arc::downgrade(instance);
    }

    /// Puts the one `before` there again if `refused` is there and nobody has taken it over: who starts gets what is in use.
    pub fn take_back(&self, refused: &Arc<Instance>, before: &Arc<Instance>) {
        let is_there = self.current().is_some_and(|current| Arc::ptr_eq(&current, refused));
        if is_there && refused.batcher.clients() == 0 {
            self.replace(before);
        }
    }
}
