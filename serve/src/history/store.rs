//! The database: its tables, and what is done with one that cannot be used.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::log;

/// Its file in the folder `state`.
const FILE: &str = "history.sqlite";
/// The file of one that was damaged; an earlier one is replaced.
const DAMAGED: &str = "history-damaged.sqlite";
/// What SQLite adds to a database's name for its log and the log's index.
const BESIDE: [&str; 2] = ["-wal", "-shm"];

/// The version of the tables.
pub(super) const VERSION: i32 = 2;

/// How long a statement waits for another connection; readers never wait for the writer.
const BUSY: Duration = Duration::from_secs(5);

/// Of the pages that are being written, in KiB: what is written is appended. SQLite's own limit is 2,000, which fills in hours.
const CACHE_KIB: u32 = 512;

/// Bytes to which the database's log of changes is cut when it has been emptied.
const JOURNAL: u32 = 4 << 20;

const TABLES: &str = "
CREATE TABLE events(
  id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, stream TEXT NOT NULL, kind TEXT NOT NULL, zone TEXT, class TEXT,
  track INTEGER, confidence REAL, snapshot TEXT, recording TEXT, offset REAL, run INTEGER NOT NULL, pts INTEGER,
  number INTEGER, picture TEXT, description TEXT, description_error TEXT);
CREATE INDEX events_by_time ON events(time);
CREATE INDEX events_by_stream ON events(stream, id);
CREATE INDEX events_by_track ON events(stream, run, track) WHERE track IS NOT NULL;
CREATE INDEX events_of_tracks ON events(stream, run, track) WHERE kind = 'track';
CREATE TABLE counts(
  minute INTEGER NOT NULL, stream TEXT NOT NULL, zone TEXT NOT NULL, kind TEXT NOT NULL, class TEXT NOT NULL,
  count INTEGER NOT NULL, PRIMARY KEY(minute, stream, zone, kind, class)) WITHOUT ROWID;
CREATE TABLE streams(
  minute INTEGER NOT NULL, stream TEXT NOT NULL, frames INTEGER NOT NULL, dropped INTEGER NOT NULL, lag REAL,
  PRIMARY KEY(minute, stream)) WITHOUT ROWID;
CREATE TABLE process(
  minute INTEGER PRIMARY KEY, cpu REAL NOT NULL, elapsed REAL NOT NULL, memory INTEGER, gpu REAL NOT NULL,
  gpu_samples INTEGER NOT NULL);
";

/// What version 2 has more than version 1: the pictures of events' own frames, and descriptions.
const SINCE_1: &str = "
ALTER TABLE events ADD COLUMN number INTEGER;
ALTER TABLE events ADD COLUMN picture TEXT;
ALTER TABLE events ADD COLUMN description TEXT;
ALTER TABLE events ADD COLUMN description_error TEXT;
";

/// Why the database cannot be used.
#[derive(Debug)]
pub(super) enum StoreError {
    /// It was written by a newer version of this program.
    Newer(i32),
    /// It is damaged, or is no database of this program.
    Damaged(String),
    /// The system refuses something.
    Other(rusqlite::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(error.to_string()),
            _ => Self::Other(error),
        }
    }
}

/// The database's path, without links on the way, which SQLite is then made to refuse.
///
/// # Errors
/// A sentence: the folder cannot be found.
pub(super) fn path_in(state: &Path) -> Result<PathBuf, String> {
    let folder =
        state.canonicalize().map_err(|e| format!("the folder '{}' cannot be used: {e}", state.display()))?;
    Ok(folder.join(FILE))
}

/// Opens it for reading.
pub(super) fn open_to_read(file: &Path) -> rusqlite::Result<Connection> {
    open_as(file, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

fn open_as(file: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(file, access | flags)?;
    connection.busy_timeout(BUSY)?;
    Ok(connection)
}

/// Opens it for writing, and makes it where there is none.
///
/// # Errors
/// See [`StoreError`].
pub(super) fn open(file: &Path, most_bytes: u64) -> Result<Connection, StoreError> {
    // Of the file itself, so that nothing is written to it.
    if let Some(version) = version_in(file).filter(|version| *version > VERSION) {
        return Err(StoreError::Newer(version));
    }
    let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let connection = open_as(file, access)?;
    match connection.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0))? {
        0 => create(&connection)?,
        1 => connection.execute_batch(&format!("BEGIN; {SINCE_1} PRAGMA user_version={VERSION}; COMMIT;"))?,
        VERSION => (),
        newer => return Err(StoreError::Newer(newer)),
    }
    let page = connection.pragma_query_value(None, "page_size", |row| row.get::<_, i64>(0))?.max(512);
    let pages = (i64::try_from(most_bytes).unwrap_or(i64::MAX) / page).clamp(64, 1 << 30);
    // One that is larger, because the limit was, shrinks when it is next written to.
    connection.execute_batch(&format!(
        "PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit={JOURNAL}; PRAGMA max_page_count={pages}; \
         PRAGMA cache_size=-{CACHE_KIB};"
    ))?;
    Ok(connection)
}

fn create(connection: &Connection) -> Result<(), StoreError> {
    let tables =
        connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get::<_, i64>(0))?;
    if tables > 0 {
        return Err(StoreError::Damaged("it has tables of another program".to_owned()));
    }
    // Before there are tables.
    connection.execute_batch("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;")?;
    connection.execute_batch(&format!("BEGIN; {TABLES} PRAGMA user_version={VERSION}; COMMIT;"))?;
    Ok(())
}

/// Reads all of it, which may take seconds.
///
/// # Errors
/// It is damaged.
pub(super) fn check(connection: &Connection) -> Result<(), StoreError> {
    let found = connection.query_row("PRAGMA quick_check(1)", (), |row| row.get::<_, String>(0))?;
    if found == "ok" { Ok(()) } else { Err(StoreError::Damaged(found)) }
}

/// The version that a file's first page has; none of what is no database.
fn version_in(file: &Path) -> Option<i32> {
    let mut head = [0; 64];
    // Neither a link nor a FIFO, which would hold the start.
    cudainfer_files::open_unlinked(file).ok()?.read_exact(&mut head).ok()?;
    let (name, version) = (head.get(..16)?, head.get(60..64)?);
    (name == b"SQLite format 3\0").then_some(i32::from_be_bytes(version.try_into().ok()?))
}

/// Gives a damaged database another name, so that a new one can take its place.
///
/// # Errors
/// A sentence: it cannot be renamed.
pub(super) fn set_aside(file: &Path, why: &str) -> Result<(), String> {
    let aside = file.with_file_name(DAMAGED);
    let beside = |path: &Path, ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    for ending in BESIDE {
        // A database of which one of these is missing is opened all the same.
        let _ = std::fs::remove_file(beside(&aside, ending));
        let _ = std::fs::rename(beside(file, ending), beside(&aside, ending));
    }
    std::fs::rename(file, &aside).map_err(|e| {
        format!(
            "the history '{}' is damaged ({why}), and cannot be set aside: {e}. Remove it",
            file.display()
        )
    })?;
    log::warning(format_args!(
        "the history '{}' was damaged ({why}): it is now '{}', and a new one begins",
        file.display(),
        aside.display()
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(folder.path()).unwrap();
        (folder, path)
    }

    #[test]
    fn one_of_a_newer_version_is_left_as_it_is() {
        let (_folder, path) = file();
        let connection = open(&path, 1 << 20).unwrap();
        connection.pragma_update(None, "user_version", VERSION + 1).unwrap();
        drop(connection);
        let before = std::fs::read(&path).unwrap();
        assert!(matches!(open(&path, 1 << 20), Err(StoreError::Newer(version)) if version == VERSION + 1));
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn one_of_version_1_keeps_its_events_and_gets_the_columns_of_this_one() {
        const VERSION_1: &str = "
            CREATE TABLE events(
              id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, stream TEXT NOT NULL, kind TEXT NOT NULL, zone TEXT, class TEXT,
              track INTEGER, confidence REAL, snapshot TEXT, recording TEXT, offset REAL, run INTEGER NOT NULL, pts INTEGER);
            INSERT INTO events(id, time, stream, kind, run) VALUES (41, 1000, 'door', 'enter', 1);";
        let (_folder, path) = file();
        let old = Connection::open(&path).unwrap();
        let others = TABLES.split_once("CREATE INDEX").unwrap().1;
        old.execute_batch("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;").unwrap();
        old.execute_batch(&format!("{VERSION_1} CREATE INDEX{others} PRAGMA user_version=1;")).unwrap();
        drop(old);
        let schema = |connection: &Connection| {
            let mut columns = connection.prepare("SELECT name FROM pragma_table_info('events')").unwrap();
            let names = columns.query_map((), |row| row.get::<_, String>(0)).unwrap();
            names.map(Result::unwrap).collect::<Vec<_>>()
        };
        // Opened a second time, nothing is left to be done.
        for _ in 0..2 {
            let migrated = open(&path, 1 << 20).unwrap();
            check(&migrated).unwrap();
            let version = migrated.pragma_query_value(None, "user_version", |row| row.get::<_, i32>(0));
            assert_eq!(version.unwrap(), VERSION);
            let new = open(&path.with_file_name("new.sqlite"), 1 << 20).unwrap();
            assert_eq!(schema(&migrated), schema(&new));
            let kept: (i64, String, Option<String>) = migrated
                .query_row("SELECT id, kind, picture FROM events", (), |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })
                .unwrap();
            assert_eq!(kept, (41, "enter".to_owned(), None));
        }
    }

    #[test]
    fn a_migration_that_fails_leaves_the_database_as_it_was() {
        let (_folder, path) = file();
        let old = Connection::open(&path).unwrap();
        // One of the columns is there already: a statement in the middle fails.
        old.execute_batch("CREATE TABLE events(id INTEGER, picture TEXT); PRAGMA user_version=1;").unwrap();
        drop(old);
        let before = std::fs::read(&path).unwrap();
        assert!(matches!(open(&path, 1 << 20), Err(StoreError::Other(_))));
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let (folder, path) = file();
        let outside = tempfile::tempdir().unwrap();
        let victim = outside.path().join("victim");
        std::fs::write(&victim, "").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        assert!(matches!(open(&path, 1 << 20), Err(StoreError::Other(_))));
        assert_eq!(std::fs::read(&victim).unwrap(), b"");
        drop(folder);
    }

    #[test]
    fn what_is_no_database_is_damaged() {
        let (_folder, path) = file();
        std::fs::write(&path, [b'x'; 8192]).unwrap();
        assert!(matches!(open(&path, 1 << 20), Err(StoreError::Damaged(_))));
        set_aside(&path, "for this test").unwrap();
        assert_eq!(std::fs::read(path.with_file_name(DAMAGED)).unwrap(), [b'x'; 8192]);
        drop(open(&path, 1 << 20).unwrap());
        let other = Connection::open(path.with_file_name("other.sqlite")).unwrap();
        other.execute_batch("CREATE TABLE t(x)").unwrap();
        drop(other);
        let of_another = open(&path.with_file_name("other.sqlite"), 1 << 20);
        assert!(matches!(of_another, Err(StoreError::Damaged(why)) if why.contains("another program")));
    }
}
