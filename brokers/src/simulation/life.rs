//! One process, from its start to its end or death: it pushes messages while disk and broker have good and bad times.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::disk::SimulatedDisk;
use super::machine::{Broker, Shared, machine};
use super::messages::{message, number};
use crate::client::Access;
use crate::outbox::{Capacity, Drained, Outbox, PushError, Sink, WhenFull, Written};
use crate::report::{Report, Reporter};
use crate::sender::Sender;
use crate::spool::Spool;
use crate::spooled::Spooled;
use crate::threads::{now, since};
use crate::uri::Destination;
use crate::{Counts, Message, world};

/// The longest that anything takes once disk and broker are well: a wait before the next try, and the call before it; and tries of a
/// small disk, a second each.
const WELL: Duration = Duration::from_secs(40);
/// How long a closed outbox may take beyond its patience.
const END: Duration = Duration::from_secs(1);

/// How a process is set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub spool: Option<u64>,
    pub capacity: Capacity,
    pub patience: Duration,
    pub steps: usize,
    /// Whether all is well at the end, so that everything must arrive.
    pub settles: bool,
}

impl Plan {
    pub fn draw(random: &mut fastrand::Rng, spool: Option<u64>, settles: bool) -> Self {
        let when_full =
            *random.choice(&[WhenFull::Wait, WhenFull::DropNewest, WhenFull::DropOldest]).unwrap();
        let capacity = Capacity { messages: random.usize(1..12), when_full };
        Self {
            spool,
            capacity,
            patience: Duration::from_millis(random.u64(..20_000)),
            steps: random.usize(5..60),
            settles,
        }
    }
}

/// Notes what a sink accepts.
struct Noting {
    sink: Box<dyn Sink>,
    machine: Shared,
}

impl Sink for Noting {
    fn write(&mut self, messages: &[Arc<Message>]) -> io::Result<Written> {
        let written = self.sink.write(messages)?;
        assert!(written.accepted <= messages.len() && written.lost <= written.accepted);
        let put_off = written.accepted == 0 && !written.again_in.is_zero();
        machine(&self.machine).files.weather.put_off += u64::from(put_off);
        let kept = &messages[..written.accepted - written.lost];
        let at = world::passed();
        machine(&self.machine).accepted.extend(kept.iter().map(|message| (number(message), at)));
        Ok(written)
    }

    fn idle(&mut self) -> io::Result<Option<Duration>> {
        self.sink.idle()
    }
}

/// A process, its counts and its reports.
pub(super) struct Life {
    pub counts: Arc<Counts>,
    pub reports: Arc<Mutex<Vec<String>>>,
    pub failure: Arc<Mutex<Option<String>>>,
    shared: Shared,
    outbox: Outbox,
    /// Messages that were taken in, and those that were refused because the outbox had failed.
    taken: u64,
    closed: u64,
}

impl Life {
    fn start(shared: &Shared, plan: &Plan) -> Self {
        let (counts, reports) = (Arc::<Counts>::default(), Arc::<Mutex<Vec<String>>>::default());
        let own = Arc::clone(&reports);
        let report: Reporter = Arc::new(move |report| {
            let (Report::Info(text) | Report::Warning(text)) = report;
            own.lock().unwrap().push(text);
        });
        let destination = Arc::new(Destination::parse("unix:/simulated").unwrap());
        let access = Access {
            destination,
            tls: None,
            credentials: None,
            alone: None,
            name: String::new(),
            stored: Arc::default(),
        };
        let own = Arc::clone(shared);
        let sender = Sender::new(access, Box::new(move |_| super::broker::connect(&own)), &counts, &report);
        let sink: Box<dyn Sink> = match plan.spool {
            None => Box::new(sender),
            Some(most_bytes) => {
                let disk = Arc::new(SimulatedDisk(Arc::clone(shared)));
                let spool = Spool::read(disk, None, most_bytes).unwrap();
                Box::new(Spooled::start(spool, sender, &counts, &report).unwrap())
            }
        };
        let sink = Box::new(Noting { sink, machine: Arc::clone(shared) });
        let failure = Arc::<Mutex<Option<String>>>::default();
        let own = Arc::clone(&failure);
        let failed = move |e: io::Error| *own.lock().unwrap() = Some(e.to_string());
        let outbox = Outbox::start(sink, plan.capacity, plan.patience, &counts, failed).unwrap();
        Self { counts, reports, failure, shared: Arc::clone(shared), outbox, taken: 0, closed: 0 }
    }

    fn push(&mut self, next: &mut usize) {
        let message = Arc::new(message(*next));
        *next += 1;
        match self.outbox.push(message) {
            Ok(_) => self.taken += 1,
            Err(PushError::Flushing) => (),
            Err(PushError::Closed) => {
                self.closed += 1;
                assert!(self.failure.lock().unwrap().is_some(), "only a failure ends it");
            }
        }
    }

    /// Something happens to the broker or the disk.
    fn weather(&self, random: &mut fastrand::Rng) {
        let mut machine = machine(&self.shared);
        let until = world::passed() + Duration::from_millis(random.u64(..120_000));
        match random.u8(..6) {
            0 | 1 => machine.broker.down_until = until,
            2 => machine.broker.lossy = random.u8(..64),
            3 => machine.broker.slow = Duration::from_millis(random.u64(..2000)),
            4 => machine.files.weather.full_until = until,
            _ => machine.files.weather.failing_until = until,
        }
    }

    /// From now on all is well.
    fn mend(&self) {
        let mut machine = machine(&self.shared);
        machine.broker = Broker {
            arrived: std::mem::take(&mut machine.broker.arrived),
            refused: std::mem::take(&mut machine.broker.refused),
            ..Broker::default()
        };
        let weather = &mut machine.files.weather;
        (weather.full_until, weather.failing_until) = (Duration::ZERO, Duration::ZERO);
    }

    /// Everything that waits arrives.
    fn settle(&self) {
        self.mend();
        let begun = now();
        while self.counts.waiting.get() > 0 && self.failure.lock().unwrap().is_none() {
            assert!(
                since(begun) <= WELL,
                "{} wait though all is well for {WELL:?}",
                self.counts.waiting.get()
            );
            world::sleep(Duration::from_millis(50));
        }
    }

    /// What was reported is true: an outage before its end, and each outage.
    fn check_reports(&self) {
        let reports = self.reports.lock().unwrap();
        let mut is_out = false;
        for text in reports.iter() {
            is_out |= text.contains("takes no messages");
            if text.contains("takes messages again") {
                assert!(is_out, "there was no outage: {reports:?}");
                is_out = false;
            }
        }
        let has_outage = reports.iter().any(|text| text.contains("takes no messages"));
        assert!(
            has_outage || self.counts.reconnects.get() == 0,
            "an outage that nobody reports: {reports:?}"
        );
    }

    /// All messages are accounted for, and only a broker that refuses the login ends it.
    fn check(&self) {
        let failure = self.failure.lock().unwrap().clone();
        assert!(failure.as_ref().is_none_or(|text| text.contains("login is refused")), "{failure:?}");
        let Counts { written, failed, dropped, .. } = &*self.counts;
        let [written, failed, dropped] = [written, failed, dropped].map(crate::Count::get);
        assert_eq!(written + failed + dropped, self.taken + self.closed, "{:?}", self.counts);
    }
}

/// Runs a process to its end. `next` is the number of the next message.
pub(super) fn live(shared: &Shared, plan: &Plan, next: &mut usize, random: &mut fastrand::Rng) -> Life {
    let mut life = Life::start(shared, plan);
    let mut flushing = false;
    for _ in 0..plan.steps {
        match random.u8(..16) {
            0..=9 => life.push(next),
            10..=11 => {
                let most = if random.u8(..8) == 0 { 60_000 } else { 3000 };
                world::sleep(Duration::from_millis(random.u64(..most)));
            }
            12 => life.weather(random),
            13 => {
                flushing = !flushing;
                life.outbox.set_flushing(flushing);
            }
            14 => match life.outbox.drain() {
                Drained::Done => life.check(),
                Drained::Stalled(left) => assert!(left > 0),
                Drained::Interrupted => assert!(flushing || life.failure.lock().unwrap().is_some()),
            },
            _ => world::sleep(Duration::from_millis(random.u64(..100))),
        }
    }
    life.outbox.set_flushing(false);
    if plan.settles {
        life.settle();
    }
    let begun = now();
    life.outbox.close();
    assert!(since(begun) <= plan.patience + END, "the end took {:?}", since(begun));
    life.check();
    life.check_reports();
    life
}
