//! Outbox, spool and sender on a simulated clock, disk and broker: the same code as in the product, step by step as a seed says.
//!
//! A story is that of a machine and of the processes that run there one after another. They push messages while the broker goes away,
//! loses acknowledgements or is slow, and the disk is full, slow or fails; they end, are killed, or the power fails, in the middle
//! of whatever the disk or the broker does. What must hold is in [`verify`] and in `life`.

mod broker;
mod disk;
mod files;
mod life;
mod machine;
mod messages;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cudainfer_fuzzing::{Tally, simulate};

use self::disk::SimulatedDisk;
use self::life::{Life, Plan, live};
use self::machine::{Machine, Shared, machine};
use self::messages::message;
use crate::spool::{Appended, Spool};
use crate::spooled::SYNC;
use crate::world::World;

/// Seeds of `cargo test`.
const SEEDS: u64 = 400;
/// Bytes that a spool may have: about as many as the largest message; or more than its disk.
const SPOOLS: [u64; 2] = [64 << 10, 1 << 20];
/// Bytes of that disk.
const ROOM: std::ops::Range<usize> = 67_000..80_000;

/// What one knows of the processes before.
#[derive(Default)]
struct Known {
    /// Messages that were accepted and that nothing can have lost.
    kept: BTreeSet<usize>,
    /// Whether the spool may be damaged.
    may_be_damaged: bool,
}

/// How a process came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Regular,
    Killed,
    PowerCut,
}

/// What holds of every process, and of the machine when it is over.
fn verify(shared: &Shared, known: &mut Known, plan: &Plan, life: &Life, end: End, died: Duration) {
    let machine = machine(shared);
    let accepted: Vec<usize> = machine.accepted.iter().map(|(number, _)| *number).collect();
    assert!(accepted.is_sorted_by(|a, b| a < b), "messages are accepted in order: {accepted:?}");
    let mut seen = BTreeSet::new();
    let first: Vec<usize> =
        machine.broker.arrived.iter().copied().filter(|number| seen.insert(*number)).collect();
    assert!(first.is_sorted_by(|a, b| a < b), "messages arrive in order: {first:?}");
    let arrived = |number: &usize| seen.contains(number) || machine.broker.refused.contains(number);
    if plan.spool.is_none() {
        let lost: Vec<_> = accepted.iter().filter(|number| !arrived(number)).collect();
        assert!(lost.is_empty(), "acknowledged, but not there: {lost:?}");
        return;
    }
    let weather = &machine.files.weather;
    if weather.put_off > 0 && end == End::Regular {
        let reports = life.reports.lock().unwrap();
        assert!(reports.iter().any(|text| text.contains("the spool cannot be written")), "{reports:?}");
    }
    // A flush is begun once a second, and takes its time, as that before it may.
    let flushed = SYNC + 2 * weather.slow;
    match end {
        End::PowerCut if died <= flushed || weather.has_failed => known.kept.clear(),
        _ => (),
    }
    let safe = |at: Duration| end != End::PowerCut || (!weather.has_failed && at + flushed < died);
    known.kept.extend(machine.accepted.iter().filter(|(_, at)| safe(*at)).map(|(number, _)| *number));
    if plan.settles && end == End::Regular && life.failure.lock().unwrap().is_none() {
        let lost: Vec<_> = known.kept.iter().filter(|number| !arrived(number)).collect();
        assert!(lost.is_empty(), "acknowledged, but lost: {lost:?}");
    }
    let most_bytes = plan.spool.and_then(|most| usize::try_from(most).ok()).unwrap_or_default();
    let has_failed = weather.has_failed || weather.failed_writes > 0;
    if !known.may_be_damaged {
        assert_eq!(life.counts.damaged.get(), 0, "nothing has damaged the spool");
        if end == End::Regular && !has_failed {
            assert!(machine.files.used() <= most_bytes, "{} bytes", machine.files.used());
        }
    }
    // A gap is counted by each process that finds it, until all of the messages around it are acknowledged.
    known.may_be_damaged &= life.counts.waiting.get() > 0;
    known.may_be_damaged |= end != End::Regular || has_failed;
}

/// The number of messages that the next process finds is the one that the last one counted.
fn verify_count(shared: &Shared, life: &Life, most_bytes: Option<u64>) {
    let disk = Arc::new(SimulatedDisk(Arc::clone(shared)));
    let spool = Spool::read(disk, None, most_bytes.unwrap_or_default()).unwrap();
    assert_eq!(spool.waiting(), life.counts.waiting.get(), "messages that wait");
}

fn story(seed: u64) -> Tally {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut tally = Tally::new();
    let spool = (random.u8(..4) > 0).then(|| SPOOLS[random.usize(..2)]);
    let room = (spool == Some(SPOOLS[1])).then(|| random.usize(ROOM));
    let shared = Machine::new(random.fork());
    let (mut known, mut next) = (Known::default(), 0);
    let lives = if spool.is_some() { random.u8(1..=4) } else { 1 };
    for left in (0..lives).rev() {
        let settles = left == 0 || random.bool();
        let plan = Plan::draw(&mut random, spool, settles);
        {
            let mut machine = machine(&shared);
            machine.accepted.clear();
            machine.dies_after = if left == 0 { 0 } else { random.u64(..300) };
            machine.files.weather = Default::default();
            machine.files.weather.room = room;
            machine.files.weather.slow = Duration::from_millis(random.u64(..500));
            machine.broker.down_until = Duration::ZERO;
            machine.broker.denies = (left > 0 || spool.is_none()) && random.u8(..16) == 0;
        }
        let (seed, mut own) = (random.u64(..), random.fork());
        let (life, time) = World::run(seed, || live(&shared, &plan, &mut next, &mut own));
        let dead = machine(&shared).dead.take();
        let (end, died) = match dead {
            None => (End::Regular, time),
            Some((dead, died)) => {
                *machine(&shared) = *dead;
                (if random.bool() { End::PowerCut } else { End::Killed }, died)
            }
        };
        verify(&shared, &mut known, &plan, &life, end, died);
        let mut machine = machine(&shared);
        let weather = std::mem::take(&mut machine.files.weather);
        if end == End::PowerCut {
            let mut random = random.fork();
            machine.files.cut_power(&mut random);
        }
        let failed = weather.has_failed || weather.failed_writes > 0;
        machine.dies_after = 0;
        drop(machine);
        if end == End::Regular && plan.spool.is_some() && !failed {
            verify_count(&shared, &life, plan.spool);
        }
        for (what, count) in [
            ("processes", 1),
            ("killed", u64::from(end == End::Killed)),
            ("power-cuts", u64::from(end == End::PowerCut)),
            ("denied", u64::from(life.failure.lock().unwrap().is_some())),
            ("failing-disks", u64::from(failed)),
            ("reconnects", life.counts.reconnects.get()),
            ("damaged", life.counts.damaged.get()),
            ("dropped", life.counts.dropped.get()),
            ("simulated-seconds", died.as_secs()),
        ] {
            *tally.entry(what).or_default() += count;
        }
    }
    let machine = machine(&shared);
    for (what, count) in [
        ("pushed", next),
        ("arrived", machine.broker.arrived.len()),
        ("refused", machine.broker.refused.len()),
    ] {
        *tally.entry(what).or_default() += u64::try_from(count).unwrap();
    }
    tally
}

#[test]
fn nothing_that_was_acknowledged_is_lost_or_out_of_order_whatever_disk_broker_and_power_do() {
    let tally = simulate("delivery", SEEDS, story);
    if tally["processes"] > 500 {
        let missing: Vec<_> = tally.iter().filter(|(_, count)| **count == 0).collect();
        assert!(missing.is_empty(), "the simulation has none of these: {missing:?}");
    }
}

/// Else none of them would ever be sent, though each of them has room after the one before it has arrived.
#[test]
fn of_messages_that_a_full_disk_has_no_room_for_together_it_gets_one_after_the_other() {
    World::run(0, || {
        let shared = Machine::new(fastrand::Rng::with_seed(0));
        let messages = [39, 59].map(|number| Arc::new(message(number)));
        machine(&shared).files.weather.room = Some(messages[1].payload.len() + 100);
        let disk = Arc::new(SimulatedDisk(Arc::clone(&shared)));
        let mut spool = Spool::read(disk, None, SPOOLS[1]).unwrap();
        for wait in [&messages[..], &messages[1..]] {
            assert_eq!(spool.append(wait).unwrap(), Appended::Stored(1));
            assert_eq!(spool.first(9, usize::MAX).unwrap(), [Arc::clone(&wait[0])]);
            // The place is kept although the disk is full: its file has had it before.
            spool.acknowledge(1).unwrap();
        }
    });
}
