//! Where an element keeps what its property `constants` gives.

use std::sync::{Arc, Mutex};

use super::constants::check;
use super::given::Given;
use crate::inference::{Engine, RunShape};
use crate::sync::lock;

/// What is given, and whether frames have it yet.
#[derive(Debug, Default)]
pub(super) struct GivenConstants(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    now: Accepted,
    /// What the latest frames have, as long as `now` is new.
    before: Accepted,
    /// The next frame is the first one with it.
    is_new: bool,
    /// Keeps the shape that the model was warmed up for.
    _warm: Option<Arc<RunShape>>,
}

/// A value of the property, and what was read of it.
#[derive(Clone, Debug, Default)]
struct Accepted {
    given: Option<Arc<Given>>,
    structure: Option<gst::Structure>,
}

impl GivenConstants {
    /// What is given to this model; nothing where it is for another one.
    pub fn of(&self, engine: &Engine) -> Option<Arc<Given>> {
        self.any().filter(|given| check(given, engine).is_ok())
    }

    /// What is given, whatever model it is for.
    pub fn any(&self) -> Option<Arc<Given>> {
        lock(&self.0).now.given.clone()
    }

    /// The property's value that was accepted last.
    pub fn structure(&self) -> Option<gst::Structure> {
        lock(&self.0).now.structure.clone()
    }

    /// From the next frame on, this is given. `warm` is the shape that its frames will have, if that is known.
    pub fn set(
        &self,
        given: Option<Arc<Given>>,
        structure: Option<gst::Structure>,
        warm: Option<Arc<RunShape>>,
    ) {
        let mut inner = lock(&self.0);
        let last = std::mem::replace(&mut inner.now, Accepted { given, structure });
        if !inner.is_new {
            inner.before = last;
        }
        (inner.is_new, inner._warm) = (true, warm);
    }

    /// What was set is not taken after all: what the latest frames have is given again.
    pub fn revert(&self) {
        let mut inner = lock(&self.0);
        inner.now = inner.before.clone();
    }

    /// Nothing is given any more.
    pub fn forget(&self) {
        *lock(&self.0) = Inner::default();
    }

    /// Whether the next frame is the first one with what is given; true once.
    pub fn take_new(&self) -> bool {
        std::mem::take(&mut lock(&self.0).is_new)
    }
}
