//! The slots of instances: one for each name that `instance` may have, and how an instance is opened in one.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, Weak};

use super::instance::Instance;
use super::setup::{ModelSelection, Setup};
use super::slot::{Replaceable, Slot};
use crate::inference::Progress;
use crate::sync::lock;

/// Where an element finds its instance.
pub(super) type InstanceSlot = Slot<Instance>;

/// Why an element does not get an instance.
#[derive(Debug)]
pub(super) enum NoInstance {
    /// Others use one that was opened with something else, for as long as they do.
    InUse(String),
    /// The model cannot be loaded.
    Unloadable(String),
}

static SLOTS: LazyLock<Mutex<HashMap<String, Weak<InstanceSlot>>>> = LazyLock::new(Mutex::default);

impl Replaceable for Instance {
    type Selection = ModelSelection;

    fn selection(&self) -> ModelSelection {
        self.setup.selection()
    }

    fn is_used(&self) -> bool {
        self.batcher.clients() > 0
    }
}

/// The slot of this name, or a new one that no other element uses.
pub(super) fn named(name: Option<&str>) -> Arc<InstanceSlot> {
    let Some(name) = name else { return Arc::new(Slot::new(None)) };
    let mut slots = lock(&SLOTS);
    slots.retain(|_, slot| slot.strong_count() > 0);
    if let Some(slot) = slots.get(name).and_then(Weak::upgrade) {
        return slot;
    }
    let slot = Arc::new(Slot::new(Some(name.to_owned())));
    slots.insert(name.to_owned(), Arc::downgrade(&slot));
    slot
}

/// The instance in the slot, or one that is opened now. Where the model was replaced for all that share the instance, an element
/// that starts with an earlier model gets the current one.
///
/// # Errors
/// See [`NoInstance`].
pub(super) fn open(
    slot: &InstanceSlot,
    setup: &Setup,
    near: Option<u32>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Arc<Instance>, NoInstance> {
    let serves = |instance: &Arc<Instance>, replaced: &[ModelSelection]| {
        let was_replaced = replaced.contains(&setup.selection());
        let wanted = if was_replaced { instance.selection().put_into(setup) } else { setup.clone() };
        match (slot.name(), wanted.difference(&instance.setup)) {
            (_, None) => Ok(true),
            (Some(name), Some((what, ours, theirs))) => Err(NoInstance::InUse(format!(
                "instance={name} is in use with {what}={theirs}, but this element has {what}={ours}. Elements with the \
                 same instance need the same properties: set {what}={theirs}, or name another instance"
            ))),
            (None, Some(_)) => Ok(false),
        }
    };
    slot.open(serves, || {
        Instance::open(setup.clone(), near, progress).map_err(|e| NoInstance::Unloadable(e.to_string()))
    })
}
