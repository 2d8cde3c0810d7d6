use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Mutex;

use rustix::fs::{CWD, Mode, OFlags, mkfifoat};

use super::*;
use crate::sync::lock;

fn message(payload: Vec<u8>) -> Arc<Message> {
    Arc::new(Message { topic: String::new(), id: String::new(), payload })
}

pub(super) fn records(of: &[&str]) -> Vec<Arc<Message>> {
    of.iter().map(|text| message(text.as_bytes().to_vec())).collect()
}

/// A sink, what it counts, and what it warns of.
struct Set {
    sink: FileSink,
    counts: Arc<FileCounts>,
    warnings: Arc<Mutex<Vec<String>>>,
}

fn set(path: &Path, options: FileOptions) -> Set {
    let (counts, warnings) = (Arc::new(FileCounts::default()), Arc::new(Mutex::new(Vec::new())));
    let said = Arc::clone(&warnings);
    let warn = Box::new(move |text: &str| lock(&said).push(text.to_owned()));
    Set { sink: FileSink::new(path, options, &counts, warn), counts, warnings }
}

fn opened(path: &Path, options: FileOptions) -> Set {
    let mut set = set(path, options);
    assert!(set.sink.open().unwrap());
    set
}

impl Set {
    fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.warnings))
    }
}

fn fifo(folder: &Path) -> PathBuf {
    let path = folder.join("fifo");
    mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
    path
}

fn reader(path: &Path) -> std::fs::File {
    OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path).unwrap()
}

#[test]
fn a_file_that_is_written_already_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let mut first = opened(&path, FileOptions::default());
    first.sink.write(&records(&["1"])).unwrap();
    for append in [false, true] {
        let mut second = set(&path, FileOptions { append, ..FileOptions::default() });
        let error = second.sink.open().unwrap_err();
        assert!(error.to_string().contains("another inferpublish writes it already"), "{error}");
    }
    first.sink.write(&records(&["2"])).unwrap();
    drop(first);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n2\n");
    opened(&path, FileOptions { append: true, ..FileOptions::default() });
}

#[test]
fn a_file_is_written_anew_a_record_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    std::fs::write(&path, "what was there before, which is longer").unwrap();
    let mut set = opened(&path, FileOptions::default());
    assert_eq!(set.sink.write(&records(&["one", "two"])).unwrap(), Written::accepted(2));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n", "at once, without a flush");
    assert_eq!(set.warnings(), [""; 0]);
}

#[test]
fn appended_records_follow_those_that_are_there_on_lines_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    for (before, torn) in [(None, 0), (Some(""), 0), (Some("one\n"), 0), (Some("one\ntw"), 1), (Some("o"), 1)]
    {
        let _ = std::fs::remove_file(&path);
        if let Some(text) = before {
            std::fs::write(&path, text).unwrap();
        }
        let mut set = opened(&path, FileOptions { append: true, ..FileOptions::default() });
        assert_eq!(set.sink.write(&records(&["three"])).unwrap(), Written::accepted(1));
        let repaired = if torn == 1 { "\n" } else { "" };
        let wanted = format!("{}{repaired}three\n", before.unwrap_or_default());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), wanted);
        assert_eq!((set.counts.torn.get(), set.warnings().len()), (torn, usize::try_from(torn).unwrap()));
    }
}

#[test]
fn an_array_is_whole_after_each_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let mut set = opened(&path, FileOptions { layout: Layout::Array, ..FileOptions::default() });
    let array = || serde_json::from_slice::<Vec<u32>>(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(array(), [0u32; 0]);
    assert_eq!(set.sink.write(&records(&["1"])).unwrap(), Written::accepted(1));
    assert_eq!(array(), [1]);
    assert_eq!(set.sink.write(&records(&["2", "3,\n4"])).unwrap(), Written::accepted(2));
    assert_eq!(array(), [1, 2, 3, 4]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "[\n1,\n2,\n3,\n4\n]\n");
}

#[test]
fn files_that_are_full_are_numbered_and_every_record_is_whole_in_one_of_them() {
    let folder = tempfile::tempdir().unwrap();
    for layout in [Layout::Lines, Layout::Array] {
        let path = folder.path().join(format!("{layout:?}.json"));
        let limits = Limits { size: 40, ..Limits::default() };
        let mut set = opened(&path, FileOptions { layout, limits, ..FileOptions::default() });
        // One is larger than a file may be.
        let all: Vec<_> = (10..40)
            .map(|n| if n == 20 { format!("\"{}\"", "x".repeat(99)) } else { n.to_string() })
            .collect();
        let messages: Vec<_> = all.iter().map(|text| message(text.clone().into_bytes())).collect();
        let mut rest = &messages[..];
        while !rest.is_empty() {
            let accepted = set.sink.write(rest).unwrap().accepted;
            assert!(accepted > 0);
            rest = &rest[accepted..];
        }
        drop(set.sink);
        let mut files: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| file.to_string_lossy().contains(&format!("{layout:?}")));
        files.sort_by_key(|file| (file == &path, file.clone()));
        assert_eq!(files.len() as u64, set.counts.rotated.get() + 1);
        assert!(files.len() >= 4, "{files:?}");
        let mut found = Vec::new();
        for file in &files {
            let text = std::fs::read_to_string(file).unwrap();
            assert!(text.len() <= 40 + layout.tail().len() || text.contains("xxx"), "{text}");
            match layout {
                Layout::Lines => found.extend(text.lines().map(str::to_owned)),
                Layout::Array => {
                    let values: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
                    found.extend(values.iter().map(ToString::to_string));
                }
            }
        }
        assert_eq!(found, all);
    }
}

#[test]
fn a_full_disk_is_said_and_counted_or_ends_the_stream() {
    let full = Path::new("/dev/full");
    let mut set = opened(full, FileOptions::default());
    for _ in 0..2 {
        let written = set.sink.write(&records(&["one", "two"])).unwrap();
        assert_eq!(written, Written { lost: 2, ..Written::accepted(2) });
    }
    let [warning] = &set.warnings()[..] else { panic!("one a minute") };
    assert!(warning.starts_with("'/dev/full' is full (No space left on device"), "{warning}");
    assert!(
        warning.contains("2 records are lost, 2 in all") && warning.contains("disk-full=stop"),
        "{warning}"
    );
    let mut set = opened(full, FileOptions { disk_full: DiskFull::Stop, ..FileOptions::default() });
    assert_eq!(set.sink.write(&records(&["one"])).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(set.warnings(), [""; 0]);
}

#[test]
fn records_are_gathered_for_a_second_unless_there_are_many() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let mut set = opened(&path, FileOptions { flush: Flush::Second, ..FileOptions::default() });
    let many: Vec<_> = (0..BATCH).map(|_| message(b"x".to_vec())).collect();
    assert!(set.sink.gathers_messages());
    assert_eq!(set.sink.write(&many).unwrap(), Written::accepted(BATCH));
    let mut refused = 0;
    loop {
        let Written { accepted, again_in, .. } = set.sink.write(&many[..2]).unwrap();
        if accepted > 0 {
            break;
        }
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 2 * BATCH as u64);
        assert!(again_in > Duration::ZERO && again_in <= CALL_LIMIT, "{again_in:?}");
        std::thread::sleep(again_in);
        refused += 1;
    }
    assert!(refused > 0);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 2 * BATCH as u64 + 4);
}

#[test]
fn a_fifo_is_opened_when_its_reader_is_there_and_never_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let path = fifo(folder.path());
    let Set { mut sink, .. } = set(&path, FileOptions::default());
    assert!(!sink.open().unwrap(), "there is no reader");
    let mut reader = reader(&path);
    assert!(sink.open().unwrap());
    // More than a pipe holds, in records of which none fits as a whole at the end.
    let all: Vec<_> = (0..40u8).map(|i| message(vec![b'a' + i % 26; 5000])).collect();
    let (mut accepted, mut read) = (0, Vec::new());
    let mut full = false;
    while accepted < all.len() {
        let now = sink.write(&all[accepted..]).unwrap().accepted;
        accepted += now;
        if now == 0 {
            full = true;
            let mut some = vec![0; 60_000];
            let n = reader.read(&mut some).unwrap();
            read.extend_from_slice(&some[..n]);
        }
    }
    assert!(full, "the pipe held it all, which proves nothing");
    drop(sink);
    reader.read_to_end(&mut read).unwrap();
    let lines: Vec<&[u8]> = read.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, all.iter().map(|message| message.payload.as_slice()).collect::<Vec<_>>());
}

#[test]
fn what_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = |path: &Path, options| set(path, options).sink.open().unwrap_err();
    assert_eq!(error(Path::new("/nowhere/out.jsonl"), FileOptions::default()).kind(), ErrorKind::NotFound);
    assert_eq!(error(folder.path(), FileOptions::default()).kind(), ErrorKind::IsADirectory);
    let path = fifo(folder.path());
    let limits = Limits { size: 9, ..Limits::default() };
    for (options, named) in [
        (FileOptions { limits, ..FileOptions::default() }, "max-size"),
        (FileOptions { layout: Layout::Array, ..FileOptions::default() }, "format=coco"),
    ] {
        let text = error(&path, options).to_string();
        assert!(text.contains(named) && text.contains("regular files"), "{text}");
    }
    let reader = reader(&path);
    let mut set = opened(&path, FileOptions::default());
    drop(reader);
    assert_eq!(set.sink.write(&records(&["one"])).unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[test]
fn a_fifo_that_takes_a_files_place_before_it_is_opened_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    // After it was seen to be a regular file, and before it is opened.
    mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
    assert!(RegularFile::open(&path, &FileOptions::default()).is_err());
    let _reader = reader(&path);
    let error = RegularFile::open(&path, &FileOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}
