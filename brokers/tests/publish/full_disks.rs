//! The disk of the spool, or of the broker, is full.

use crate::brokers::{Broker, Kind};
use crate::feeding::{Feed, assert_all_in_order, options, spooled, until};
use crate::namespaces::{Own, enlarge, mount, run_in_own};

/// Kilobytes of a disk that is soon full.
const SMALL: u32 = 1024;
const LARGE: u32 = 64 << 10;
/// More than a small disk has room for.
const MOST: usize = 20_000;

#[test]
fn a_spool_on_a_full_disk_reports_it_and_loses_nothing() {
    run_in_own(Own::Mounts, "full_disks::a_spool_with_a_disk_of_its_own");
}

#[test]
#[ignore = "another test starts it"]
fn a_spool_with_a_disk_of_its_own() {
    let mut broker = Broker::new(Kind::Redis, Default::default());
    let folder = tempfile::tempdir().unwrap();
    mount(folder.path(), SMALL);
    let mut feed = Feed::start(&spooled(&broker.location(), folder.path(), 1 << 30));
    while feed.offer(MOST) > 0 {}
    let full = feed.accepted();
    assert!(full > 100 && full < MOST, "{full}");
    until("a WARNING", || feed.has_said("the spool cannot be written: No space left on device"));
    broker.start();
    feed.feed(full + 500);
    feed.settle();
    assert!(feed.has_said("the spool can be written again"), "{:?}", feed.said);
    assert_all_in_order(broker.stored(), full + 500, "after a full disk");
}

#[test]
fn what_redis_and_nats_cannot_store_waits_until_they_can() {
    run_in_own(Own::Mounts, "full_disks::brokers_with_disks_of_their_own");
}

#[test]
#[ignore = "another test starts it"]
fn brokers_with_disks_of_their_own() {
    for kind in [Kind::Redis, Kind::Nats] {
        let mut broker = Broker::new(kind, Default::default());
        mount(broker.folder(), SMALL);
        broker.start();
        broker.make_stream();
        let mut feed = Feed::start(&options(&broker.location()));
        // A server that is at its limit may take a few more now and then.
        let mut idle = 0;
        while idle < 20 {
            idle = if feed.offer(MOST) > 0 { 0 } else { idle + 1 };
        }
        let full = feed.accepted();
        assert!(full > 100 && full < MOST, "{kind:?}: {full}");
        until("a WARNING", || feed.has_said("takes no messages"));
        enlarge(broker.folder(), LARGE);
        if kind == Kind::Nats {
            // It has measured its disk when it started.
            broker.kill();
            broker.start();
        }
        feed.feed(full + 300);
        feed.settle();
        // What it has acknowledged while its disk was full is on the disk by now.
        broker.kill();
        broker.start();
        assert_all_in_order(broker.stored(), full + 300, &format!("{kind:?} after a full disk"));
    }
}

#[test]
fn messages_wait_for_a_stream_of_nats_that_is_gone_and_are_not_published_without_it() {
    let mut broker = Broker::started(Kind::Nats);
    broker.make_stream();
    let mut feed = Feed::start(&options(&broker.location()));
    feed.feed(100);
    feed.settle();
    broker.remove_stream();
    // The next connection knows nothing of the stream.
    broker.kill();
    broker.start();
    feed.offer(200);
    until("a WARNING", || feed.has_said("the subject has no stream any more"));
    assert_eq!(feed.counts.acknowledged.get(), 100, "nothing is acknowledged that nobody keeps");
    broker.make_stream();
    feed.feed(200);
    feed.settle();
    let rest: Vec<_> = crate::feeding::first_of_each(broker.stored());
    assert_eq!(rest, (100..200).collect::<Vec<_>>());
}
