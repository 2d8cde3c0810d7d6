//! The history as a whole: what is wrong with its database, its disk or its queue.

use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use crate::config::{RetentionSettings, Size};
use crate::retention::Retention;

const PATIENCE: Duration = Duration::from_secs(120);

struct Opened {
    history: History,
    /// Keeps the room on the disk up to date.
    _retention: Retention,
}

fn open(state: &Path, min_free: u64) -> Opened {
    let settings = RetentionSettings { min_free: Size(min_free), ..RetentionSettings::default() };
    let retention = Retention::start(state.join("kept"), settings).unwrap();
    let server = ServerSettings { state: Some(state.to_owned()), ..ServerSettings::default() };
    Opened { history: History::start(&server, Some(retention.room())), _retention: retention }
}

fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Notes an event as a stream does.
fn note(history: &History, zone: &str) {
    let notes = history.notes().unwrap();
    let event = ZoneEvent { zone: zone.to_owned(), kind: "enter".to_owned(), ..ZoneEvent::default() };
    notes.note(entry::Entry::Zone { stream: "door".into(), at: entry::Moment::default(), number: 0, event });
}

fn zones(history: &History) -> Vec<String> {
    let filter = EventFilter { limit: 1000, ..EventFilter::default() };
    let events = history.reader().unwrap().events(&filter).unwrap().events;
    events.into_iter().filter_map(|event| event.zone).collect()
}

fn aside(state: &Path) -> bool {
    state.join("history-damaged.sqlite").is_file()
}

#[test]
fn what_was_noted_is_there_at_the_next_start_and_ids_go_on() {
    let state = tempfile::tempdir().unwrap();
    for zone in ["one", "two"] {
        let opened = open(state.path(), 0);
        let mut live = opened.history.live().unwrap();
        note(&opened.history, zone);
        opened.history.close();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let heard = runtime.block_on(async { (live.next().await, live.next().await) });
        let (Some(LiveEvent::New(event)), None) = heard else { panic!("{heard:?}") };
        assert_eq!(event.zone.as_deref(), Some(zone));
        // Nothing is noted after the end, and nothing waits.
        note(&opened.history, "late");
    }
    assert_eq!(zones(&open(state.path(), 0).history), ["two", "one"]);
    assert!(!aside(state.path()));
}

#[test]
fn a_client_that_does_not_read_loses_events_and_is_shown_how_many() {
    let state = tempfile::tempdir().unwrap();
    let opened = open(state.path(), 0);
    let mut slow = opened.history.live().unwrap();
    for number in 0..1000 {
        note(&opened.history, &number.to_string());
    }
    wait("all are written", || opened.history.status().unwrap().written == 1000);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let heard = runtime.block_on(slow.next());
    assert_eq!(heard, Some(LiveEvent::Lost(1000 - 256)));
    let Some(LiveEvent::New(next)) = runtime.block_on(slow.next()) else { panic!("there are more") };
    assert_eq!(next.zone.as_deref(), Some("744"));
}

#[test]
fn a_damaged_database_is_set_aside_and_a_new_one_begins() {
    let state = tempfile::tempdir().unwrap();
    std::fs::write(state.path().join("history.sqlite"), "no database").unwrap();
    let opened = open(state.path(), 0);
    for number in 0..2000 {
        note(&opened.history, &format!("{number} {}", "z".repeat(150)));
    }
    opened.history.close();
    assert!(aside(state.path()) && opened.history.status().unwrap().written == 2000);

    // Pages in the middle, with the first one as it was.
    let path = state.path().join("history.sqlite");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[8192..middle].fill(0xa5);
    std::fs::write(&path, &bytes).unwrap();
    std::fs::remove_file(state.path().join("history-damaged.sqlite")).unwrap();
    let opened = open(state.path(), 0);
    note(&opened.history, "after");
    wait("the event is written", || opened.history.status().unwrap().written == 1);
    assert!(aside(state.path()));
    assert_eq!(zones(&opened.history), ["after"]);
}

#[test]
fn one_of_a_newer_version_stays_and_there_is_no_history() {
    let state = tempfile::tempdir().unwrap();
    drop(open(state.path(), 0));
    let path = state.path().join("history.sqlite");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 7).unwrap();
    drop(connection);
    let before = std::fs::read(&path).unwrap();
    let opened = open(state.path(), 0);
    let Err(NoHistory::Off(why)) = opened.history.reader() else { panic!("it has been opened") };
    assert!(why.contains("version 7"), "{why}");
    assert!(opened.history.live().is_err() && opened.history.status().is_none());
    // Streams report as ever.
    assert_eq!(opened.history.of("door").results(&gst::Buffer::new()), []);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert!(!aside(state.path()));
}

#[test]
fn a_full_disk_loses_history_and_nobody_waits_for_a_slow_one() {
    gst::init().unwrap();
    let state = tempfile::tempdir().unwrap();
    let full = open(state.path(), u64::MAX);
    note(&full.history, "lost");
    wait("the loss is counted", || full.history.status().unwrap().lost == 1);
    assert!(full.history.status().unwrap().last_error.unwrap().contains("min-free"));
    drop(full);

    let slow = open(state.path(), 0);
    // The writer waits for this for seconds.
    let other = rusqlite::Connection::open(state.path().join("history.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for number in 0..20_000 {
        note(&slow.history, &number.to_string());
    }
    let lost = slow.history.status().unwrap().lost;
    assert!(lost > 0, "the queue has no end");
    other.execute_batch("ROLLBACK").unwrap();
    wait("the rest is written or lost", || {
        let HistoryStatus { written, lost, .. } = slow.history.status().unwrap();
        written + lost == 20_000
    });
}

#[test]
fn it_can_be_switched_off_and_needs_a_folder() {
    let state = tempfile::tempdir().unwrap();
    let retention = Retention::start(state.path().join("kept"), RetentionSettings::default()).unwrap();
    let server =
        ServerSettings { state: Some(state.path().to_owned()), history: false, ..ServerSettings::default() };
    for (history, part) in [
        (History::start(&server, Some(retention.room())), "history = false"),
        (History::start(&ServerSettings::default(), None), "set state in [server]"),
    ] {
        let Err(NoHistory::Off(why)) = history.reader() else { panic!("there is one") };
        assert!(why.contains(part), "{why}");
    }
    assert!(!state.path().join("history.sqlite").exists());
}
