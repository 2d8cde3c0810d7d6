//! Keeping the database within its limit: the oldest goes first.

use rusqlite::Connection;

/// Which part of each table goes at a time.
const PART: i64 = 16;
/// The most parts that go at a time: what is still too large then goes with the next entries.
const MOST_PARTS: usize = 16;

/// For each table: how many rows there are, and the removal of all before the row of that number.
const TABLES: [(&str, &str); 4] = [
    (
        "SELECT count(*) FROM events",
        "DELETE FROM events WHERE id < (SELECT id FROM events ORDER BY id LIMIT 1 OFFSET ?1)",
    ),
    (
        "SELECT count(*) FROM counts",
        "DELETE FROM counts WHERE minute <= (SELECT minute FROM counts ORDER BY minute LIMIT 1 OFFSET ?1) \
         AND minute < (SELECT max(minute) FROM counts)",
    ),
    (
        "SELECT count(*) FROM streams",
        "DELETE FROM streams WHERE minute <= (SELECT minute FROM streams ORDER BY minute LIMIT 1 OFFSET ?1) \
         AND minute < (SELECT max(minute) FROM streams)",
    ),
    (
        "SELECT count(*) FROM process",
        "DELETE FROM process WHERE minute < (SELECT minute FROM process ORDER BY minute LIMIT 1 OFFSET ?1)",
    ),
];

/// Removes the oldest while the database is nearly as large as it may be. Returns its bytes.
///
/// # Errors
/// Those of SQLite.
pub(super) fn prune(connection: &Connection, most_bytes: u64) -> rusqlite::Result<u64> {
    let limit = most_bytes - most_bytes / 8;
    let mut bytes = size(connection)?;
    for _ in 0..MOST_PARTS {
        if bytes <= limit {
            break;
        }
        let transaction = connection.unchecked_transaction()?;
        for (count, remove) in TABLES {
            let rows: i64 = transaction.query_row(count, (), |row| row.get(0))?;
            transaction.execute(remove, [(rows / PART).max(1)])?;
        }
        transaction.commit()?;
        // Each row of the answer is a page that was given back.
        let mut vacuum = connection.prepare("PRAGMA incremental_vacuum")?;
        let mut pages = vacuum.query(())?;
        while pages.next()?.is_some() {}
        bytes = size(connection)?;
    }
    Ok(bytes)
}

fn size(connection: &Connection) -> rusqlite::Result<u64> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    Ok(number("page_count")?.saturating_mul(number("page_size")?).try_into().unwrap_or(0))
}
