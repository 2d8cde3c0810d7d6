use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::segment::number;
use super::*;

fn message(number: usize) -> Arc<Message> {
    Arc::new(Message {
        topic: "cams".into(),
        id: number.to_string(),
        payload: format!("{{\"frame\":{number}}}").into_bytes(),
    })
}

fn messages(numbers: std::ops::Range<usize>) -> Vec<Arc<Message>> {
    numbers.map(message).collect()
}

/// Appends messages; returns how many had room.
fn append(spool: &mut Spool, messages: &[Arc<Message>]) -> usize {
    match spool.append(messages).unwrap() {
        Appended::Stored(count) => count,
        Appended::Full => 0,
        Appended::TooLong => panic!("larger than the spool"),
    }
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
        .filter(|path| number(path.file_name().unwrap().to_str().unwrap()).is_some())
        .collect();
    found.sort();
    found
}

#[test]
fn messages_come_out_in_order_across_segments_and_restarts_and_their_files_go() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 64 << 10).unwrap();
    assert_eq!(append(&mut spool, &messages(0..1000)), 1000);
    assert!(append(&mut spool, &messages(1000..1200)) == 200 && segments(folder.path()).len() > 1);
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
    assert_eq!((spool.waiting(), spool.lost()), (1150, 0));
    assert_eq!(append(&mut spool, &messages(1200..1300)), 100);
    seen.extend(take_all(&mut spool, 64));
    assert_eq!(seen, (0..1300).collect::<Vec<_>>());
    assert_eq!(spool.waiting(), 0);
    drop(spool);
    let mut spool = Spool::open(folder.path(), 64 << 10).unwrap();
    assert_eq!((spool.waiting(), segments(folder.path()).len()), (0, 0), "nothing comes twice");
    append(&mut spool, &messages(0..3));
    assert_eq!(take_all(&mut spool, 2), [0, 1, 2]);
}

#[test]
fn writing_and_reading_in_turns_is_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 4 << 10).unwrap();
    let (mut next, mut seen) = (0, Vec::new());
    for round in 0..200 {
        let count = round % 11;
        next += append(&mut spool, &messages(next..next + count));
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
        let now = append(&mut spool, &messages(taken..taken + 10));
        taken += now;
        if now < 10 {
            break;
        }
    }
    let bytes: u64 = segments(folder.path()).iter().map(|path| path.metadata().unwrap().len()).sum();
    assert!(bytes <= 4 << 10 && taken > 50, "{taken} messages in {bytes} bytes");
    assert_eq!(append(&mut spool, &messages(taken..taken + 1)), 0);
    assert_eq!(take_all(&mut spool, 10), (0..taken).collect::<Vec<_>>());
    assert_eq!(append(&mut spool, &messages(taken..taken + 10)), 10);
    assert_eq!(take_all(&mut spool, 10), (taken..taken + 10).collect::<Vec<_>>());
}

/// A message whose record takes about that many bytes.
fn large(number: usize, bytes: usize) -> Arc<Message> {
    Arc::new(Message { payload: vec![b'x'; bytes], ..(*message(number)).clone() })
}

#[test]
fn a_message_that_never_has_room_holds_up_no_other_and_one_that_fills_the_spool_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 4 << 10).unwrap();
    let long = large(1, 5000);
    assert_eq!(spool.append(&[message(0), Arc::clone(&long), message(2)]).unwrap(), Appended::Stored(1));
    assert_eq!(spool.append(&[long, message(2)]).unwrap(), Appended::TooLong);
    let topic = "x".repeat(70_000);
    let named = Arc::new(Message { topic, ..(*message(2)).clone() });
    assert_eq!(spool.append(&[named]).unwrap(), Appended::TooLong, "topics have 16 bits for their length");
    // Small segments are kept when all of their messages are acknowledged, but not where they leave no room for others.
    let whole = large(3, 4060);
    assert_eq!(spool.append(&[Arc::clone(&whole)]).unwrap(), Appended::Full);
    assert_eq!(take_all(&mut spool, 1), [0]);
    assert_eq!(segments(folder.path()).len(), 1);
    assert_eq!(spool.append(&[whole]).unwrap(), Appended::Stored(1));
    assert_eq!(take_all(&mut spool, 1), [3]);
}

#[test]
fn what_a_power_cut_would_take_is_flushed_unless_it_is_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    assert!(!spool.has_unsynced());
    append(&mut spool, &messages(0..3));
    assert!(spool.has_unsynced());
    spool.take_unsynced().unwrap().sync().unwrap();
    assert!(!spool.has_unsynced());
    append(&mut spool, &messages(3..5));
    drop(spool);
    // A killed process has left them to the system.
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    assert!(spool.has_unsynced());
    assert_eq!(take_all(&mut spool, 5).len(), 5);
    assert!(spool.take_unsynced().is_none() && !spool.has_unsynced(), "the broker has them");
}

#[test]
fn a_record_that_was_cut_off_is_counted_once_and_the_others_come() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    append(&mut spool, &messages(0..10));
    drop(spool);
    let segment = segments(folder.path()).pop().unwrap();
    let length = segment.metadata().unwrap().len();
    OpenOptions::new().write(true).open(&segment).unwrap().set_len(length - 3).unwrap();
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    assert_eq!((spool.waiting(), spool.lost()), (9, 1));
    append(&mut spool, &messages(10..12));
    drop(spool);
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    assert_eq!(spool.lost(), 0);
    assert_eq!(take_all(&mut spool, 64), [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11]);
}

#[test]
fn without_its_place_a_spool_sends_again_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    append(&mut spool, &messages(0..10));
    spool.first(4, 1 << 20).unwrap();
    spool.acknowledge(4).unwrap();
    drop(spool);
    std::fs::write(folder.path().join("acknowledged"), "damaged by something").unwrap();
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    assert!(spool.warnings()[0].contains("all 10 messages that it has are sent"), "{:?}", spool.warnings());
    assert_eq!(take_all(&mut spool, 64), (0..10).collect::<Vec<_>>());
}

#[test]
fn a_folder_belongs_to_one_and_must_be_writable() {
    let folder = tempfile::tempdir().unwrap();
    let first = Spool::open(folder.path(), 1 << 20).unwrap();
    let said = Spool::open(folder.path(), 1 << 20).unwrap_err().to_string();
    assert!(said.contains("in use by another part of this process"), "{said}");
    drop(first);
    assert!(Spool::open(folder.path(), 1 << 20).is_ok());
    for bad in ["/dev/null/spool", "/proc/spool"] {
        let said = Spool::open(Path::new(bad), 1 << 20).unwrap_err().to_string();
        assert!(said.contains(bad) && said.contains("cannot be used"), "{said}");
    }
}

/// A spool with `count` messages in segments of about 4 KiB, of which the first `acknowledged` have arrived.
fn filled(folder: &Path, count: usize, acknowledged: usize) {
    let mut spool = Spool::open(folder, 16 << 10).unwrap();
    for number in 0..count {
        assert_eq!(append(&mut spool, &[message(number)]), 1);
    }
    spool.first(acknowledged, 1 << 20).unwrap();
    spool.acknowledge(acknowledged).unwrap();
}

/// Where the records of a segment begin and end, with their ids.
fn records(segment: &[u8]) -> Vec<(std::ops::Range<usize>, usize)> {
    let (mut at, mut found) = (0, Vec::new());
    while let Some(record) = record::first(&segment[at..]) {
        found.push((at..at + record.size, record.message.id.parse().unwrap()));
        at += record.size;
    }
    found
}

fn write_place(folder: &Path, place: Place) {
    let file = OpenOptions::new().write(true).open(folder.join(ACKNOWLEDGED)).unwrap();
    place::write(&file, place).unwrap();
}

#[test]
fn a_flipped_bit_costs_one_message_of_a_segment() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    append(&mut spool, &messages(0..3000));
    drop(spool);
    let segment = segments(folder.path()).remove(0);
    let mut bytes = std::fs::read(&segment).unwrap();
    let at = records(&bytes)[10].0.start + 3;
    bytes[at] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    assert_eq!((spool.waiting(), spool.lost()), (2999, 1));
    assert!(
        spool.warnings()[0].contains("those that are lost, of which there are 1"),
        "{:?}",
        spool.warnings()
    );
    assert_eq!(take_all(&mut spool, 64), (0..10).chain(11..3000).collect::<Vec<_>>());
}

#[test]
fn a_place_that_is_not_there_yet_is_doubted_and_all_that_is_kept_is_sent() {
    for place in [
        Place { segment: 1, offset: 20, sequence: 11 },
        Place { segment: u64::MAX, offset: u64::MAX, sequence: u64::MAX },
    ] {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path(), 10, 4);
        write_place(folder.path(), place);
        let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
        assert!(
            spool.warnings()[0].contains("all 10 messages that it has are sent"),
            "{:?}",
            spool.warnings()
        );
        assert_eq!((spool.waiting(), spool.lost()), (10, 0));
        append(&mut spool, &messages(10..12));
        drop(spool);
        // It is said once.
        let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
        assert_eq!(spool.warnings(), [""; 0]);
        assert_eq!(take_all(&mut spool, 5), (0..12).collect::<Vec<_>>());
    }
}

#[test]
fn a_spool_of_an_older_version_goes_on() {
    for (offset, first, doubted) in [(0, 0, 0), (2, 2, 0), (10, 10, 0), (7, 0, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let (mut bytes, mut ends) = (Vec::new(), vec![0]);
        for number in 0..10 {
            record::tests::encode_old(&message(number), &mut bytes);
            ends.push(bytes.len());
        }
        std::fs::write(folder.path().join(name(3)), &bytes).unwrap();
        let offset = if doubted == 1 { 7 } else { ends[offset] };
        let mut place: Vec<u8> = [3, offset as u64].into_iter().flat_map(u64::to_le_bytes).collect();
        place.extend(crc32fast::hash(&place).to_le_bytes());
        std::fs::write(folder.path().join(ACKNOWLEDGED), place).unwrap();
        let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
        assert_eq!((spool.lost(), spool.warnings().len()), (0, doubted), "{offset}");
        append(&mut spool, &messages(10..15));
        let some = spool.first(12 - first, 1 << 20).unwrap();
        assert_eq!(some, messages(first..12));
        spool.acknowledge(1).unwrap();
        drop(spool);
        let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
        assert_eq!(take_all(&mut spool, 4), (first + 1..15).collect::<Vec<_>>(), "{offset}");
    }
}

#[test]
fn what_others_have_put_into_the_folder_is_neither_followed_nor_removed_nor_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    std::fs::write(&target, "precious").unwrap();
    let path = |name: &str| folder.path().join(name);
    for planted in [name(1), name(7)] {
        std::os::unix::fs::symlink(&target, path(&planted)).unwrap();
    }
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, path(&name(8)), fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    let similar = ["7.spool", "+0000000000000000001.spool", "18446744073709551615.spool", "notes.spool"];
    similar.iter().for_each(|name| std::fs::write(path(name), "theirs").unwrap());
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    let [warning] = spool.warnings() else { panic!("{:?}", spool.warnings()) };
    assert!(warning.contains(&name(7)) && warning.contains("a link"), "{warning}");
    // Also one that comes while it is in use.
    std::os::unix::fs::symlink(&target, path(&name(9))).unwrap();
    assert!(spool.append(&messages(0..3)).is_err());
    append(&mut spool, &messages(0..3));
    assert_eq!(take_all(&mut spool, 2), [0, 1, 2]);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
    similar.iter().for_each(|name| assert_eq!(std::fs::read_to_string(path(name)).unwrap(), "theirs"));
    drop(spool);
    for file in [ACKNOWLEDGED, "lock"] {
        std::fs::remove_file(path(file)).unwrap();
        std::os::unix::fs::symlink(&target, path(file)).unwrap();
        let said = Spool::open(folder.path(), 1 << 20).unwrap_err().to_string();
        assert!(said.contains(file) && said.contains("a link"), "{said}");
        std::fs::remove_file(path(file)).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
}

#[test]
fn what_the_disk_loses_while_the_spool_is_in_use_is_counted_and_the_rest_comes() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), 300, 0);
    let mut spool = Spool::open(folder.path(), 16 << 10).unwrap();
    let paths = segments(folder.path());
    let bytes = std::fs::read(&paths[1]).unwrap();
    let lost = records(&bytes).into_iter().skip(5).map(|(_, id)| id).collect::<Vec<_>>();
    OpenOptions::new()
        .write(true)
        .open(&paths[1])
        .unwrap()
        .set_len(records(&bytes)[5].0.start as u64 + 3)
        .unwrap();
    let expected: Vec<_> = (0..300).filter(|id| !lost.contains(id)).collect();
    assert_eq!(take_all(&mut spool, 64), expected);
    assert_eq!((spool.waiting(), spool.lost()), (0, lost.len() as u64));
}

/// What happens to a segment's file.
#[derive(Clone, Debug)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
    Zero(prop::sample::Index, usize),
    /// Two segments are renamed to each other's names.
    Swap(prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        4 => (at(), 0..8u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        1 => at().prop_map(Damage::Cut),
        2 => (at(), prop::collection::vec(any::<u8>(), 1..40)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        2 => (at(), 1..200usize).prop_map(|(at, count)| Damage::Zero(at, count)),
        1 => at().prop_map(Damage::Swap),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damage_costs_no_messages_but_those_that_it_touches_and_they_are_counted(
        acknowledged in 0..100usize,
        damages in prop::collection::vec((any::<prop::sample::Index>(), damage()), 1..5),
    ) {
        const COUNT: usize = 250;
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path(), COUNT, acknowledged);
        let mut touched = std::collections::BTreeSet::new();
        for (which, damage) in damages {
            let paths = segments(folder.path());
            let path = which.get(&paths);
            let mut bytes = std::fs::read(path).unwrap();
            // Records that are damaged already are not found, and touched already.
            let mut touch = |range: std::ops::Range<usize>| {
                let mut at = 0;
                while let Some(record) = record::first(&bytes[at..]) {
                    let (start, end) = (at + record.skipped, at + record.skipped + record.size);
                    if start < range.end && range.start < end {
                        touched.insert(record.message.id.parse::<usize>().unwrap());
                    }
                    at = end;
                }
            };
            match damage {
                _ if bytes.is_empty() => (),
                Damage::Flip(at, bit) => {
                    let at = at.index(bytes.len());
                    touch(at..at + 1);
                    bytes[at] ^= 1 << bit;
                }
                Damage::Cut(at) => {
                    // An empty file is as one that was removed.
                    let at = at.index(bytes.len()).max(1);
                    touch(at..bytes.len());
                    bytes.truncate(at);
                }
                Damage::Insert(at, more) => {
                    let at = at.index(bytes.len());
                    touch(at..at + 1);
                    bytes.splice(at..at, more);
                }
                Damage::Zero(at, count) => {
                    let at = at.index(bytes.len());
                    let end = (at + count).min(bytes.len());
                    touch(at..end);
                    bytes[at..end].fill(0);
                }
                Damage::Swap(with) => {
                    let other = with.get(&paths);
                    let theirs = std::fs::read(other).unwrap();
                    std::fs::write(other, &bytes).unwrap();
                    bytes = theirs;
                }
            }
            std::fs::write(path, bytes).unwrap();
        }
        let mut spool = Spool::open(folder.path(), 16 << 10).unwrap();
        let (said, doubted) = (spool.lost(), spool.warnings().iter().any(|text| text.contains("acknowledgements")));
        let came: std::collections::BTreeSet<_> = take_all(&mut spool, 64).into_iter().collect();
        let missing: Vec<_> = (acknowledged..COUNT).filter(|id| !came.contains(id)).collect();
        prop_assert!(missing.iter().all(|id| touched.contains(id)), "{missing:?} of {touched:?}");
        prop_assert_eq!(spool.lost(), said);
        prop_assert_eq!(spool.waiting(), 0);
        // What was numbered after the last one that is there can only be guessed.
        if came.contains(&(COUNT - 1)) && !doubted {
            prop_assert!((missing.len() as u64..=missing.len() as u64 + 1).contains(&said), "{} of {:?}", said, missing);
        }
        drop(spool);
        prop_assert_eq!(Spool::open(folder.path(), 16 << 10).unwrap().waiting(), 0);
    }

    #[test]
    fn whatever_the_file_of_acknowledgements_holds_nothing_is_lost(bytes in prop::collection::vec(any::<u8>(), 0..60), sealed: bool) {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path(), 100, 30);
        let mut bytes = bytes;
        if sealed && bytes.len() >= 24 {
            // Its checksum is right, and its numbers are in the future.
            bytes.truncate(24);
            bytes[23] |= 1;
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        }
        std::fs::write(folder.path().join(ACKNOWLEDGED), bytes).unwrap();
        let mut spool = Spool::open(folder.path(), 16 << 10).unwrap();
        let came = take_all(&mut spool, 64);
        prop_assert!(came.ends_with(&(30..100).collect::<Vec<_>>()), "{came:?}");
        prop_assert_eq!(spool.lost(), 0);
    }
}
