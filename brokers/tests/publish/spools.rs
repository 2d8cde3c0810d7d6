//! What is on the disk when a process ends, however it does.

use std::path::Path;
use std::process::Command;

use crate::brokers::{Broker, Kind};
use crate::feeding::{Feed, assert_all_in_order, first_of_each, spooled, until};

const FOLDER: &str = "CUDAINFER_TEST_SPOOL";
const LOCATION: &str = "CUDAINFER_TEST_LOCATION";

/// The process that is killed; the test below starts it.
#[test]
#[ignore = "another test starts it"]
fn fills_a_spool_until_it_is_killed() {
    let (folder, location) = (std::env::var(FOLDER).unwrap(), std::env::var(LOCATION).unwrap());
    let mut feed = Feed::start(&spooled(&location, Path::new(&folder), 64 << 20));
    for end in 1.. {
        feed.feed(end);
        if end % 50 == 0 {
            std::fs::write(Path::new(&folder).join("written"), feed.accepted().to_string()).unwrap();
        }
    }
}

#[test]
fn what_a_killed_process_has_spooled_the_next_one_sends() {
    let mut broker = Broker::new(Kind::Redis, Default::default());
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "spools::fills_a_spool_until_it_is_killed", "--ignored"])
        .env(FOLDER, folder.path())
        .env(LOCATION, broker.location())
        .spawn()
        .unwrap();
    let written = || {
        std::fs::read_to_string(folder.path().join("written"))
            .ok()
            .and_then(|text| text.parse::<usize>().ok())
    };
    // The child may be killed while it writes the file anew: the number that was seen counts.
    let seen = std::cell::Cell::new(0);
    until("some messages", || {
        seen.set(written().unwrap_or_else(|| seen.get()));
        seen.get() >= 500
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let written = written().unwrap_or_default().max(seen.get());
    broker.start();
    let feed = Feed::start(&spooled(&broker.location(), folder.path(), 64 << 20));
    feed.settle();
    let stored = broker.stored();
    let count = first_of_each(stored.clone()).len();
    assert!(count >= written, "{count} of {written}");
    assert_all_in_order(stored, count, "spooled");
}

#[test]
fn a_full_spool_takes_no_more_and_sends_what_it_has() {
    let mut broker = Broker::new(Kind::Redis, Default::default());
    let folder = tempfile::tempdir().unwrap();
    let mut feed = Feed::start(&spooled(&broker.location(), folder.path(), 64 << 10));
    while feed.offer(10_000) > 0 {}
    let full = feed.accepted();
    assert!(full > 100 && feed.offer(10_000) == 0);
    let bytes: u64 =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < 65 << 10, "{bytes}");
    broker.start();
    feed.feed(full + 300);
    feed.settle();
    assert_all_in_order(broker.stored(), full + 300, "full");
}

#[test]
fn a_spool_that_cannot_be_written_is_reported_with_the_reason_and_so_is_that_it_can_be_again() {
    let broker = Broker::started(Kind::Redis);
    let folder = tempfile::tempdir().unwrap();
    let mut feed = Feed::start(&spooled(&broker.location(), folder.path(), 1 << 20));
    // Each try takes the next number.
    for number in 1..=6 {
        std::fs::create_dir(folder.path().join(format!("{number:020}.spool"))).unwrap();
    }
    feed.feed(20);
    feed.settle();
    assert_all_in_order(broker.stored(), 20, "stored late");
    let said = feed.said.lock().unwrap();
    let place = |part: &str| {
        let of = |text: &String| text.starts_with("the spool") && text.contains(part);
        said.iter().position(of).unwrap_or_else(|| panic!("nothing is said of '{part}': {said:?}"))
    };
    assert!(place("cannot be written: File exists") < place("can be written again"), "{said:?}");
}

#[test]
fn an_end_lets_the_broker_take_what_is_in_the_spool_and_frees_it() {
    let broker = Broker::started(Kind::Redis);
    let folder = tempfile::tempdir().unwrap();
    let how = spooled(&broker.location(), folder.path(), 1 << 20);
    let mut feed = Feed::start(&how);
    feed.feed(1);
    feed.settle();
    feed.feed(1000);
    drop(feed);
    assert_all_in_order(broker.stored(), 1000, "at the end");
    assert_eq!(Feed::start(&how).counts.waiting.get(), 0);
}
