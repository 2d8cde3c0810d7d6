use std::path::Path;

use super::*;

fn message(number: usize) -> Message {
    Message {
        topic: "cams".into(),
        id: number.to_string(),
        payload: format!("{{\"frame\":{number}}}").into_bytes(),
    }
}

fn messages(numbers: std::ops::Range<usize>) -> Vec<Message> {
    numbers.map(message).collect()
}

/// Takes out all messages, `at_once` at a time, and returns their ids.
fn take_all(spool: &mut Spool, at_once: usize) -> Vec<usize> {
    let mut ids = Vec::new();
    loop {
        let some = spool.first(at_once, 1 << 20).unwrap();
        if some.is_empty() {
            return ids;
        }
        spool.acknowledge(some.len()).unwrap();
        ids.extend(some.iter().map(|message| message.id.parse::<usize>().unwrap()));
    }
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION))
        .collect();
    found.sort();
    found
}

#[test]
fn messages_come_out_in_order_across_segments_and_restarts_and_their_files_go() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 64 << 10).unwrap();
    assert_eq!(spool.append(&messages(0..1000)).unwrap(), 1000);
    assert!(spool.append(&messages(1000..1200)).unwrap() == 200 && segments(folder.path()).len() > 1);
    let mut seen = Vec::new();
    for _ in 0..10 {
        let some = spool.first(7, 1 << 20).unwrap();
        spool.acknowledge(5).unwrap();
        seen.extend(some[..5].iter().map(|message| message.id.parse::<usize>().unwrap()));
    }
    assert_eq!((seen.len(), spool.waiting()), (50, 1150));
    // As a process that is killed leaves it.
    drop(spool);
    let mut spool = Spool::open(folder.path(), 64 << 10).unwrap();
    assert_eq!((spool.waiting(), spool.damaged()), (1150, 0));
    assert_eq!(spool.append(&messages(1200..1300)).unwrap(), 100);
    seen.extend(take_all(&mut spool, 64));
    assert_eq!(seen, (0..1300).collect::<Vec<_>>());
    assert_eq!(spool.waiting(), 0);
    drop(spool);
    let mut spool = Spool::open(folder.path(), 64 << 10).unwrap();
    assert_eq!((spool.waiting(), segments(folder.path()).len()), (0, 0), "nothing comes twice");
    spool.append(&messages(0..3)).unwrap();
    assert_eq!(take_all(&mut spool, 2), [0, 1, 2]);
}

#[test]
fn writing_and_reading_in_turns_is_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 4 << 10).unwrap();
    let (mut next, mut seen) = (0, Vec::new());
    for round in 0..200 {
        let count = round % 11;
        next += spool.append(&messages(next..next + count)).unwrap();
        let some = spool.first(round % 7 + 1, 100).unwrap();
        spool.acknowledge(some.len()).unwrap();
        seen.extend(some.iter().map(|message| message.id.parse::<usize>().unwrap()));
    }
    seen.extend(take_all(&mut spool, 3));
    assert_eq!(seen, (0..next).collect::<Vec<_>>());
}

#[test]
fn a_full_spool_takes_no_more_until_messages_are_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 4 << 10).unwrap();
    let mut taken = 0;
    loop {
        let now = spool.append(&messages(taken..taken + 10)).unwrap();
        taken += now;
        if now < 10 {
            break;
        }
    }
    let bytes: u64 = segments(folder.path()).iter().map(|path| path.metadata().unwrap().len()).sum();
    assert!(bytes <= 4 << 10 && taken > 50, "{taken} messages in {bytes} bytes");
    assert_eq!(spool.append(&messages(taken..taken + 1)).unwrap(), 0);
    assert_eq!(take_all(&mut spool, 10), (0..taken).collect::<Vec<_>>());
    assert_eq!(spool.append(&messages(taken..taken + 10)).unwrap(), 10);
    assert_eq!(take_all(&mut spool, 10), (taken..taken + 10).collect::<Vec<_>>());
}

#[test]
fn a_record_that_was_cut_off_is_counted_once_and_the_others_come() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    spool.append(&messages(0..10)).unwrap();
    drop(spool);
    let segment = segments(folder.path()).pop().unwrap();
    let length = segment.metadata().unwrap().len();
    OpenOptions::new().write(true).open(&segment).unwrap().set_len(length - 3).unwrap();
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    assert_eq!((spool.waiting(), spool.damaged()), (9, 1));
    spool.append(&messages(10..12)).unwrap();
    drop(spool);
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    assert_eq!(spool.damaged(), 0);
    assert_eq!(take_all(&mut spool, 64), [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11]);
}

#[test]
fn without_its_place_a_spool_sends_again_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    spool.append(&messages(0..10)).unwrap();
    spool.first(4, 1 << 20).unwrap();
    spool.acknowledge(4).unwrap();
    drop(spool);
    std::fs::write(folder.path().join("acknowledged"), "damaged by something").unwrap();
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    assert_eq!(take_all(&mut spool, 64), (0..10).collect::<Vec<_>>());
}

#[test]
fn a_folder_belongs_to_one_and_must_be_writable() {
    let folder = tempfile::tempdir().unwrap();
    let first = Spool::open(folder.path(), 1 << 20).unwrap();
    let said = Spool::open(folder.path(), 1 << 20).unwrap_err().to_string();
    assert!(said.contains("in use by another process"), "{said}");
    drop(first);
    assert!(Spool::open(folder.path(), 1 << 20).is_ok());
    for bad in ["/dev/null/spool", "/proc/spool"] {
        let said = Spool::open(Path::new(bad), 1 << 20).unwrap_err().to_string();
        assert!(said.contains(bad) && said.contains("cannot be used"), "{said}");
    }
}
