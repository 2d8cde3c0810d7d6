//! Runs without a pipeline: most play at once until they are stopped, some fail or end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, Weak};

use super::failure::Failure;
use super::run::{Order, Run, RunReport, Runs};
use super::{Reason, StreamSpec};
use crate::unpoisoned::lock;

/// What is known of them all.
#[derive(Debug, Default)]
pub(crate) struct MadeUp {
    /// The last run of each stream: as long as it can be upgraded, it is there.
    last: Mutex<HashMap<usize, Weak<()>>>,
    /// Whether a stream ever had two at once.
    two_at_once: AtomicBool,
    started: AtomicU64,
}

impl MadeUp {
    /// The runs, for streams.
    pub(crate) fn runs(self: &Arc<Self>) -> Runs {
        let own = Arc::clone(self);
        Runs(Arc::new(move |spec, number, shared, _, report| {
            let alive = Arc::new(());
            let before = lock(&own.last).insert(Arc::as_ptr(&shared).addr(), Arc::downgrade(&alive));
            let is_second = before.is_some_and(|before| before.strong_count() > 0);
            own.two_at_once.fetch_or(is_second, Ordering::Relaxed);
            own.started.fetch_add(1, Ordering::Relaxed);
            start(spec, number, alive, move |what| report(what))
        }))
    }

    /// Whether a stream ever had two at once.
    pub(crate) fn two_at_once(&self) -> bool {
        self.two_at_once.load(Ordering::Relaxed)
    }

    /// How many there were.
    pub(crate) fn started(&self) -> u64 {
        self.started.load(Ordering::Relaxed)
    }
}

fn start(spec: &StreamSpec, number: u64, alive: Arc<()>, report: impl Fn(RunReport) + Send + 'static) -> Run {
    let (orders, receiver) = channel();
    let run = Run {
        number,
        frames: Arc::new(AtomicU64::new(1)),
        source: spec.source.clone(),
        orders,
        alive: Arc::downgrade(&alive),
    };
    let fate = fastrand::u8(..8);
    let work = move || {
        match fate {
            0 => report(RunReport::Failed(Failure {
                reason: Reason::Connection,
                permanent: false,
                text: "made up".into(),
            })),
            1 => report(RunReport::End(true)),
            _ => (),
        }
        loop {
            match receiver.recv() {
                Ok(Order::Drain) => report(RunReport::End(true)),
                Ok(Order::Stop) | Err(_) => break,
                Ok(_) => (),
            }
        }
        drop(alive);
        report(RunReport::Down);
    };
    std::thread::Builder::new().name("made-up".into()).spawn(work).unwrap();
    run
}
