//! All that outlives a process: the disk and the broker; and when the process is killed, or the power fails.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::files::Files;
use crate::world;

pub(super) type Shared = Arc<Mutex<Machine>>;

pub(super) fn machine(shared: &Shared) -> MutexGuard<'_, Machine> {
    shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A machine with its disk, the broker that it sends to, and what the process knows.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub files: Files,
    pub broker: Broker,
    pub random: fastrand::Rng,
    /// The messages that were accepted, in their order, and when in this life.
    pub accepted: Vec<(usize, Duration)>,
    /// After how many operations of the disk or the broker the process dies.
    pub dies_after: u64,
    /// The machine as it was then, and when. The process goes on after that, but what it does does not count.
    pub dead: Option<(Box<Machine>, Duration)>,
}

/// What a broker has, and how it behaves.
#[derive(Clone, Debug, Default)]
pub(super) struct Broker {
    /// Messages in the order in which they came, all times that they came.
    pub arrived: Vec<usize>,
    pub refused: BTreeSet<usize>,
    /// Denies the login.
    pub denies: bool,
    pub down_until: Duration,
    /// How many of 256 messages lose the connection.
    pub lossy: u8,
    /// How long an answer takes at most.
    pub slow: Duration,
}

impl Machine {
    /// A machine with an empty disk, whose processes live on.
    pub fn new(random: fastrand::Rng) -> Shared {
        Arc::new(Mutex::new(Self {
            files: Files::default(),
            broker: Broker::default(),
            random,
            accepted: Vec::new(),
            dies_after: 0,
            dead: None,
        }))
    }

    /// Does something that changes the disk or the broker. If the process dies just then, only `part` of it happens.
    pub fn operate(&mut self, part: impl FnOnce(&mut Files, &mut fastrand::Rng)) {
        let left = self.dies_after;
        self.dies_after = left.saturating_sub(1);
        if left == 1 {
            let mut dead = Box::new(Self { dead: None, ..self.clone() });
            part(&mut dead.files, &mut dead.random);
            self.dead = Some((dead, world::passed()));
        }
    }
}
