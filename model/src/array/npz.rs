//! The arrays in a `.npz`, which is a ZIP archive (PKWARE's APPNOTE 6.3.10): as they are, as numpy.savez writes them, or deflated, as
//! numpy.savez_compressed does.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use flate2::CrcReader;
use flate2::read::DeflateDecoder;

use super::dense::Array;
use super::npy;
use super::part::bytes_at;

/// Bytes of the record at the end of the archive, and of the longest comment after it.
const END: u64 = 22;
const LONGEST_COMMENT: u64 = 65_535;
/// Bytes of the table of contents, at most: 16 MB are a hundred thousand arrays.
const LONGEST_TABLE: u64 = 1 << 24;
/// What a field of 32 bits says of a number that is in the field of 64 bits.
const IN_ZIP64: u64 = 0xffff_ffff;

/// Ways to compress a member.
const STORED: u64 = 0;
const DEFLATED: u64 = 8;
/// Bytes that deflate makes of one, at most (<https://zlib.net/zlib_tech.html>).
const LARGEST_RATIO: u64 = 1032;

/// An array of the archive.
#[derive(Debug)]
pub(super) struct Member {
    /// The name of its file, as `prompts.npy`.
    pub name: String,
    method: u64,
    /// The CRC-32 of its bytes when it is taken out.
    crc: u64,
    /// Bytes in the archive, and when it is taken out.
    packed: u64,
    pub unpacked: u64,
    /// Where its own header begins.
    header: u64,
}

/// The table of contents.
pub(super) fn members(file: &mut File, length: u64) -> Result<Vec<Member>, String> {
    let from = length.saturating_sub(END + LONGEST_COMMENT);
    let tail = bytes_at(file, from, length - from)?;
    let end = tail.windows(4).rposition(|four| four == b"PK\x05\x06").ok_or_else(broken)?;
    let record = tail.get(end..).unwrap_or_default();
    let [size, begin] = [12, 16].map(|at| number(record, at, 4));
    let (size, begin) = (size.ok_or_else(broken)?, begin.ok_or_else(broken)?);
    if size > LONGEST_TABLE || begin.checked_add(size).is_none_or(|end| end > length) {
        return Err(broken());
    }
    let table = bytes_at(file, begin, size)?;
    let mut rest = table.as_slice();
    let mut members = Vec::new();
    while !rest.is_empty() {
        let (member, after) = member(rest).ok_or_else(broken)?;
        members.push(member);
        rest = after;
    }
    Ok(members)
}

/// The first entry of a table, and what follows it.
fn member(table: &[u8]) -> Option<(Member, &[u8])> {
    if !table.starts_with(b"PK\x01\x02") {
        return None;
    }
    let two = |at| number(table, at, 2);
    let [name, extra, comment] = [28, 30, 32].map(|at| two(at).and_then(|n| usize::try_from(n).ok()));
    let (name, extra, comment) = (46 + name?, extra?, comment?);
    let mut wide = zip64(table.get(name..name + extra)?);
    // The fields of 64 bits are there for those numbers only that need them, in this order.
    let mut field = |at| number(table, at, 4).and_then(|n| if n == IN_ZIP64 { wide.next() } else { Some(n) });
    let (unpacked, packed, header) = (field(24)?, field(20)?, field(42)?);
    let text = String::from_utf8_lossy(table.get(46..name)?).into_owned();
    Some((
        Member { name: text, method: two(10)?, crc: number(table, 16, 4)?, packed, unpacked, header },
        table.get(name + extra + comment..)?,
    ))
}

/// The numbers in an entry's field of 64 bits.
fn zip64(mut extra: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let mut found: &[u8] = &[];
    while let (Some(kind), Some(size)) = (number(extra, 0, 2), number(extra, 2, 2)) {
        let end = usize::try_from(size).map_or(usize::MAX, |size| size + 4);
        let Some(data) = extra.get(4..end) else { break };
        if kind == 1 {
            found = data;
        }
        extra = extra.get(end..).unwrap_or_default();
    }
    found.chunks_exact(8).filter_map(|eight| Some(u64::from_le_bytes(eight.try_into().ok()?)))
}

/// Reads a member, which is a `.npy`.
pub(super) fn read(file: &mut File, length: u64, member: &Member) -> Result<Array, String> {
    let Member { name, method, packed, unpacked, header, .. } = member;
    let lies = || {
        format!(
            "its table of contents says {unpacked} bytes of {name}, which the file of {length} bytes does not have at that place. It was \
             cut off or changed: write it again"
        )
    };
    let most = match *method {
        STORED => *packed,
        DEFLATED => packed.saturating_mul(LARGEST_RATIO),
        _ => {
            return Err(format!(
                "its array {name} is compressed by ZIP's method {method}, and may be deflated (method 8) or not compressed. Write the file with \
                 numpy.savez_compressed"
            ));
        }
    };
    if *unpacked > most || header.checked_add(30).is_none_or(|end| end > length) {
        return Err(lies());
    }
    let head = bytes_at(file, *header, 30)?;
    let (Some(before), Some(extra), true) =
        (number(&head, 26, 2), number(&head, 28, 2), head.starts_with(b"PK\x03\x04"))
    else {
        return Err(lies());
    };
    let begin = header + 30 + before + extra;
    if begin.checked_add(*packed).is_none_or(|end| end > length) {
        return Err(lies());
    }
    file.seek(SeekFrom::Start(begin)).map_err(|e| e.to_string())?;
    let packed = file.take(*packed);
    if *method == STORED { checked(packed, member) } else { checked(DeflateDecoder::new(packed), member) }
}

/// The array among a member's bytes when it is taken out, which must be those that were written.
fn checked(from: impl Read, member: &Member) -> Result<Array, String> {
    let mut from = CrcReader::new(from);
    let array = npy::read(&mut from, member.unpacked)?;
    let (found, written) = (u64::from(from.crc().sum()), member.crc);
    if found != written {
        return Err(format!(
            "the bytes of {} have the CRC-32 {found:08x}, and were written with {written:08x}. Write it again",
            member.name
        ));
    }
    Ok(array)
}

/// A number of two or four bytes.
fn number(bytes: &[u8], at: usize, count: usize) -> Option<u64> {
    let mut eight = [0; 8];
    eight.get_mut(..count)?.copy_from_slice(bytes.get(at..at + count)?);
    Some(u64::from_le_bytes(eight))
}

fn broken() -> String {
    "it is no whole archive. Write it again, with numpy.savez".into()
}
