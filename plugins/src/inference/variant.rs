//! Which variant of the provider's sessions a model runs as.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Weak};

use super::cache::Choices;
use super::rival::Rival;
use super::{Provider, RunShape};
use crate::sync::lock;

/// The variant in use, and whether a faster one is still to be looked for.
#[derive(Debug)]
pub(super) struct ActiveVariant {
    /// Read while messages are posted, so never held during a measurement.
    pub name: Mutex<&'static str>,
    /// A result that has not been reported to the user yet, in a sentence.
    pub found: Mutex<Option<String>>,
    /// What the cache knows of variants, until the one to stay is known.
    pub choices: Mutex<Option<Choices>>,
    /// Where it runs; read as `name` is.
    provider: Mutex<Provider>,
    /// Another runtime that has not been measured yet.
    pub rival: Mutex<Option<Rival>>,
    /// The fastest variant, where it must be made ready while another one serves.
    pub wanted: Mutex<Option<&'static str>>,
    /// The shapes that a variant must be warm for before it serves.
    pub shapes: Mutex<Vec<Weak<RunShape>>>,
    /// Bytes of device memory that must be free for another session; 0 before the first one is warm.
    needed: AtomicU64,
}

impl ActiveVariant {
    /// The variant that was opened.
    pub fn new(name: &'static str, provider: Provider, choices: Choices) -> Self {
        Self {
            name: Mutex::new(name),
            provider: Mutex::new(provider),
            rival: Mutex::default(),
            found: Mutex::default(),
            choices: Mutex::new(Some(choices)),
            wanted: Mutex::default(),
            shapes: Mutex::default(),
            needed: AtomicU64::new(0),
        }
    }

    /// Where the sessions run.
    pub fn provider(&self) -> Provider {
        *lock(&self.provider)
    }

    /// The sessions run on another provider from now on.
    pub fn serve_on(&self, provider: Provider) {
        *lock(&self.provider) = provider;
    }

    /// Sets what another session needs, if that is known.
    pub fn needs(&self, bytes: Option<u64>) {
        self.needed.fetch_max(bytes.unwrap_or(0), Ordering::Relaxed);
    }

    /// Whether this many free bytes are enough for another session; on the CPU they are.
    pub fn has_room(&self, free: Option<u64>) -> bool {
        free.is_none_or(|free| free >= self.needed.load(Ordering::Relaxed))
    }
}
