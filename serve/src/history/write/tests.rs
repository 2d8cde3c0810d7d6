//! What is written and read again, into a database of its own.

use rusqlite::Connection;

use super::super::entry::{ProcessSample, StreamSample};
use super::super::read::{EventFilter, Reader, SeriesFilter};
use super::super::{prune, store};
use super::*;

const SECOND: i64 = 1_000_000_000;
const MB: u64 = 1 << 20;

struct Kept {
    folder: tempfile::TempDir,
    connection: Connection,
    recent: Recent,
}

impl Kept {
    fn new(most_bytes: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let connection = store::open(&store::path_in(folder.path()).unwrap(), most_bytes).unwrap();
        Self { folder, connection, recent: Recent::default() }
    }

    fn write(&mut self, entries: &[Entry]) -> Vec<LiveEvent> {
        write(&self.connection, &mut self.recent, entries).unwrap()
    }

    fn reader(&self) -> Reader {
        Reader::open(&store::path_in(self.folder.path()).unwrap()).unwrap()
    }

    /// A file that is there, so that events still name it.
    fn file(&self, kind: &str, name: &str) -> String {
        let folder = self.folder.path().join("kept").join(kind).join("door");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), "").unwrap();
        name.to_owned()
    }
}

/// An event of track 7 in run 1, at a second of the stream and of the clock.
fn entry(second: i64, zone: &str, kind: &str) -> Entry {
    let event = ZoneEvent {
        zone: zone.into(),
        kind: kind.into(),
        class: Some("person".into()),
        track: Some(7),
        confidence: Some(0.5),
        place: None,
    };
    Entry::Zone { stream: "door".into(), at: at(1, second), number: second, event }
}

fn at(run: i64, second: i64) -> Moment {
    Moment { time: second * 1000, run, pts: Some(second * SECOND) }
}

fn all() -> EventFilter {
    EventFilter { limit: 100, ..EventFilter::default() }
}

#[test]
fn events_are_filtered_and_come_in_pages_the_newest_first() {
    let mut kept = Kept::new(8 * MB);
    kept.write(&(1..=5).map(|second| entry(second, "gate", "enter")).collect::<Vec<_>>());
    kept.write(&[entry(6, "yard", "leave")]);
    let reader = kept.reader();
    let ids = |filter: EventFilter| {
        let found = reader.events(&filter).unwrap();
        (found.events.iter().map(|event| event.id).collect::<Vec<_>>(), found.next)
    };
    assert_eq!(ids(all()), (vec![6, 5, 4, 3, 2, 1], None));
    assert_eq!(ids(EventFilter { limit: 4, ..all() }), (vec![6, 5, 4, 3], Some(3)));
    assert_eq!(ids(EventFilter { limit: 4, before: Some(3), ..all() }), (vec![2, 1], None));
    assert_eq!(ids(EventFilter { from: Some(2000), to: Some(4000), ..all() }), (vec![3, 2], None));
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(ids(EventFilter { zone: some("yard"), ..all() }), (vec![6], None));
    assert_eq!(ids(EventFilter { kind: some("enter"), limit: 1, ..all() }), (vec![5], Some(5)));
    assert_eq!(
        ids(EventFilter { class: some("person"), stream: some("door"), to: Some(2000), ..all() }),
        (vec![1], None)
    );
    assert_eq!(ids(EventFilter { stream: some("elsewhere"), ..all() }), (vec![], None));
    let after =
        |id| reader.events_after(id, None, 2).unwrap().iter().map(|event| event.id).collect::<Vec<_>>();
    assert_eq!((after(4), after(0), after(6)), (vec![5, 6], vec![5, 6], vec![]));
}

#[test]
fn texts_of_clients_and_models_are_data() {
    let mut kept = Kept::new(8 * MB);
    let hostile = "'); DROP TABLE events; --\"\r\ndata: x\0<script>\u{202e}";
    kept.write(&[entry(1, hostile, "enter"), entry(2, &"ö".repeat(100_000), "enter")]);
    let reader = kept.reader();
    let filter = EventFilter { zone: Some(hostile.into()), ..all() };
    let found = reader.events(&filter).unwrap().events;
    assert_eq!((found.len(), found[0].zone.as_deref()), (1, Some(hostile)));
    assert_eq!(reader.events(&EventFilter { zone: Some("' OR 1=1 --".into()), ..all() }).unwrap().events, []);
    let long = &reader.events(&all()).unwrap().events[0];
    assert_eq!(long.zone.as_ref().unwrap().chars().count(), 200);
    let json = serde_json::to_string(&found[0]).unwrap();
    assert!(!json.contains(['\r', '\n', '\0']), "{json}");
}

#[test]
fn a_recording_is_that_of_the_events_in_it_whichever_comes_first() {
    let mut kept = Kept::new(8 * MB);
    let file = kept.file("recordings", "one.mp4");
    kept.write(&[
        entry(9, "gate", "enter"),
        entry(12, "gate", "leave"),
        Entry::Zone { stream: "door".into(), at: at(2, 13), number: 0, event: ZoneEvent::default() },
        Entry::Zone { stream: "yard".into(), at: at(1, 13), number: 0, event: ZoneEvent::default() },
    ]);
    let covered = Covered { file, run: 1, pts: [10 * SECOND, 20 * SECOND], time: [10_000, 21_000] };
    let announced = kept.write(&[Entry::Recording { stream: "door".into(), covered }]);
    let [LiveEvent::Update(update)] = &announced[..] else { panic!("{announced:?}") };
    assert_eq!((update.id, update.offset), (2, Some(2.0)));
    kept.write(&[entry(15, "gate", "enter"), entry(21, "gate", "enter")]);
    // The same time of the stream an hour later: the file was played again.
    let again = Entry::Zone {
        stream: "door".into(),
        at: Moment { time: 3_600_000, ..at(1, 15) },
        number: 0,
        event: ZoneEvent::default(),
    };
    kept.write(&[again]);
    let events = kept.reader().events(&all()).unwrap().events;
    let offsets: Vec<_> = events.iter().rev().map(|event| event.offset).collect();
    assert_eq!(offsets, [None, Some(2.0), None, None, Some(5.0), None, None]);
    assert_eq!(events[5].recording.as_deref(), Some("v1/streams/door/recordings/one.mp4"));
    std::fs::remove_file(kept.folder.path().join("kept/recordings/door/one.mp4")).unwrap();
    let events = kept.reader().events(&all()).unwrap().events;
    assert!(events.iter().all(|event| event.recording.is_none() && event.offset.is_none()));
}

#[test]
fn a_picture_is_that_of_all_events_of_its_track() {
    let mut kept = Kept::new(8 * MB);
    let file = kept.file("snapshots", "one.jpg");
    let picture = TrackPicture { file, class: "person".into(), track: 7, confidence: 0.75 };
    kept.write(&[
        entry(1, "gate", "enter"),
        Entry::Zone {
            stream: "door".into(),
            at: at(2, 1),
            number: 0,
            event: ZoneEvent { track: Some(7), ..ZoneEvent::default() },
        },
    ]);
    let announced = kept.write(&[
        Entry::Track { stream: "door".into(), at: at(1, 2), number: 0, picture },
        entry(3, "gate", "leave"),
    ]);
    let [LiveEvent::New(track), LiveEvent::Update(update), LiveEvent::New(late)] = &announced[..] else {
        panic!("{announced:?}")
    };
    let address = Some("v1/streams/door/snapshots/one.jpg");
    assert_eq!(
        (track.kind.as_str(), track.snapshot.as_deref(), track.confidence),
        ("track", address, Some(0.75))
    );
    assert_eq!((update.id, update.snapshot.as_deref()), (1, address));
    assert_eq!(late.snapshot.as_deref(), address);
    let events = kept.reader().events(&all()).unwrap().events;
    let of_other_run = events.iter().find(|event| event.id == 2).unwrap();
    assert_eq!(of_other_run.snapshot, None);
}

#[test]
fn an_event_has_the_picture_of_its_own_frame_until_there_is_that_of_its_track_and_again_when_that_is_removed()
{
    let mut kept = Kept::new(8 * MB);
    let (own, best) = (kept.file("events", "own.jpg"), kept.file("snapshots", "best.jpg"));
    kept.write(&[entry(1, "gate", "enter"), entry(2, "gate", "leave")]);
    let mark = EventMark { time: 1000, number: 1 };
    let announced = kept.write(&[
        Entry::Picture { mark, file: own.clone() },
        // Neither of these is an event's.
        Entry::Picture { mark: EventMark { number: 3, ..mark }, file: own.clone() },
        Entry::Picture { mark: EventMark { time: 2000, ..mark }, file: own },
    ]);
    let [LiveEvent::Update(update)] = &announced[..] else { panic!("{announced:?}") };
    let [own, best_of_track] =
        ["v1/streams/door/events/own.jpg", "v1/streams/door/snapshots/best.jpg"].map(Some);
    assert_eq!((update.id, update.snapshot.as_deref()), (1, own));
    let first = |kept: &Kept| kept.reader().events(&all()).unwrap().events.pop().unwrap().snapshot;
    assert_eq!(first(&kept).as_deref(), own);
    let picture = TrackPicture { file: best, class: "person".into(), track: 7, confidence: 0.75 };
    kept.write(&[Entry::Track { stream: "door".into(), at: at(1, 3), number: 9, picture }]);
    assert_eq!(first(&kept).as_deref(), best_of_track);
    std::fs::remove_file(kept.folder.path().join("kept/snapshots/door/best.jpg")).unwrap();
    assert_eq!(first(&kept).as_deref(), own);
    std::fs::remove_file(kept.folder.path().join("kept/events/door/own.jpg")).unwrap();
    assert_eq!(first(&kept), None);
}

#[test]
fn an_event_gets_its_words_or_why_there_are_none() {
    let mut kept = Kept::new(8 * MB);
    kept.write(&[entry(1, "gate", "enter"), entry(2, "gate", "leave")]);
    let describe = |number, text: Result<&str, &str>| Entry::Description {
        mark: EventMark { time: number * 1000, number },
        text: text.map(str::to_owned).map_err(str::to_owned),
    };
    let announced = kept.write(&[describe(1, Ok("a <b>dog</b>")), describe(2, Err("it does not answer"))]);
    assert_eq!(announced.len(), 2);
    let events = kept.reader().events(&all()).unwrap().events;
    let words: Vec<_> = events
        .iter()
        .map(|event| (event.description.as_deref(), event.description_error.as_deref()))
        .collect();
    assert_eq!(words, [(None, Some("it does not answer")), (Some("a <b>dog</b>"), None)]);
    // An answer that has come after all takes the place of the error.
    kept.write(&[describe(2, Ok("a cat"))]);
    let newest = &kept.reader().events(&all()).unwrap().events[0];
    assert_eq!((newest.description.as_deref(), newest.description_error.as_deref()), (Some("a cat"), None));
}

#[test]
fn minutes_are_summed_to_steps_and_what_is_not_known_is_null() {
    let mut kept = Kept::new(8 * MB);
    let sample = |minute, frames, lag, gpu| {
        let stream = StreamSample { stream: "door".into(), frames, dropped: 1, lag };
        let process = ProcessSample { cpu: 10.0, elapsed: 5.0, memory: Some(frames), gpu };
        Entry::Sample(Box::new(Sample { minute, streams: vec![stream], process }))
    };
    kept.write(&[
        sample(10, 75, Some(0.25), None),
        sample(10, 70, None, Some(0.5)),
        sample(11, 60, Some(0.5), Some(1.0)),
        sample(20, 50, None, None),
        entry(10 * 60, "gate", "enter"),
        entry(11 * 60 + 59, "gate", "enter"),
        entry(20 * 60, "gate", "enter"),
    ]);
    let reader = kept.reader();
    let series = reader.series(&SeriesFilter { from: 10, to: 25, step: 5, stream: None }).unwrap();
    assert_eq!((series.times, series.step), (3, 300));
    assert_eq!(
        (series.from.as_str(), series.to.as_str()),
        ("1970-01-01T00:10:00.000Z", "1970-01-01T00:25:00.000Z")
    );
    let door = &series.streams["door"];
    assert_eq!(door.frames, [Some(205), None, Some(50)]);
    assert_eq!(door.dropped, [Some(3), None, Some(1)]);
    assert_eq!(door.lag, [Some(0.5), None, None]);
    assert_eq!(series.counts.len(), 1);
    assert_eq!(
        (series.counts[0].class.as_deref(), &series.counts[0].counts[..]),
        (Some("person"), &[Some(2), None, Some(1)][..])
    );
    assert_eq!(series.process.elapsed, [Some(15.0), None, Some(5.0)]);
    assert_eq!(series.process.cpu, [Some(2.0), None, Some(2.0)]);
    assert_eq!(series.process.memory, [Some(75), None, Some(50)]);
    assert_eq!(series.process.gpu, [Some(0.75), None, None]);
    let minutes = SeriesFilter { from: 10, to: 12, step: 1, stream: Some("door".into()) };
    assert_eq!(reader.series(&minutes).unwrap().streams["door"].lag, [Some(0.25), Some(0.5)]);
    // The service ran, and this stream was not there.
    let process = ProcessSample { cpu: 1.0, elapsed: 5.0, memory: None, gpu: None };
    kept.write(&[Entry::Sample(Box::new(Sample { minute: 16, streams: Vec::new(), process }))]);
    let series = reader.series(&SeriesFilter { from: 10, to: 25, step: 5, stream: None }).unwrap();
    assert_eq!(series.streams["door"].frames, [Some(205), Some(0), Some(50)]);
    assert_eq!(series.counts[0].counts, [Some(2), Some(0), Some(1)]);
    let other = SeriesFilter { stream: Some("yard".into()), ..minutes };
    let other = reader.series(&other).unwrap();
    assert!(other.streams.is_empty() && other.counts.is_empty());
}

#[test]
fn the_oldest_goes_when_the_database_is_full() {
    let most = 4 * MB;
    let mut kept = Kept::new(most);
    let zone = "z".repeat(200);
    let mut written = 0;
    for _ in 0..60 {
        let bytes = prune::prune(&kept.connection, most).unwrap();
        assert!(bytes <= most - most / 8, "{bytes}");
        let entries: Vec<_> = (written..written + 500).map(|second| entry(second, &zone, "enter")).collect();
        kept.write(&entries);
        written += 500;
    }
    let size = std::fs::metadata(store::path_in(kept.folder.path()).unwrap()).unwrap().len();
    assert!(size <= most, "{size}");
    let reader = kept.reader();
    let newest = reader.events(&EventFilter { limit: 1, ..all() }).unwrap().events;
    assert_eq!(newest[0].id, written);
    let oldest: i64 = kept.connection.query_row("SELECT min(id) FROM events", (), |row| row.get(0)).unwrap();
    let count: i64 = kept.connection.query_row("SELECT count(*) FROM events", (), |row| row.get(0)).unwrap();
    assert!(oldest > 1 && oldest + count == written + 1, "a gap: {oldest} {count}");
    assert!(count > 1000, "far too much was removed: {count}");
}
