//! Up to where all messages of a spool are acknowledged: its file `acknowledged`.

use std::io;

use super::disk::DiskFile;
use super::segment::size;

/// Up to which message all are acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The segment of the last one.
    pub segment: u64,
    /// Where its record ends there.
    pub offset: u64,
    /// Its sequence; 0 before the first, and where it has none.
    pub sequence: u64,
}

/// Bytes of the numbers, and of those that older versions wrote, which had no sequences.
const NUMBERS: usize = 24;
const OLD_NUMBERS: usize = 16;

/// What the file says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    Place(Place),
    /// There is nothing in it yet.
    Empty,
    Damaged,
}

/// `segment: u64, offset: u64, sequence: u64, crc: u32` of these.
///
/// # Errors
/// Those of reading.
pub(super) fn read(file: &dyn DiskFile) -> io::Result<Read> {
    let bytes = file.read(0, size(NUMBERS + 4 + 1))?;
    let numbers = match bytes.len().saturating_sub(4) {
        0 if bytes.is_empty() => return Ok(Read::Empty),
        count @ (NUMBERS | OLD_NUMBERS) => count,
        _ => return Ok(Read::Damaged),
    };
    let (numbers, crc) = bytes.split_at(numbers);
    if crc32fast::hash(numbers).to_le_bytes() != crc {
        return Ok(Read::Damaged);
    }
    let mut numbers = numbers.as_chunks::<8>().0.iter().map(|eight| u64::from_le_bytes(*eight));
    let mut next = || numbers.next().unwrap_or_default();
    Ok(Read::Place(Place { segment: next(), offset: next(), sequence: next() }))
}

/// # Errors
/// Those of writing.
pub(super) fn write(file: &dyn DiskFile, place: Place) -> io::Result<()> {
    let Place { segment, offset, sequence } = place;
    let mut bytes: Vec<u8> = [segment, offset, sequence].into_iter().flat_map(u64::to_le_bytes).collect();
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    file.write(&bytes, 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written_in_both_versions_and_any_damage_is_seen() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(read(&file).unwrap(), Read::Empty);
        let mut old: Vec<u8> = [3u64, 4].into_iter().flat_map(u64::to_le_bytes).collect();
        old.extend(crc32fast::hash(&old).to_le_bytes());
        file.write_all_at(&old, 0).unwrap();
        assert_eq!(read(&file).unwrap(), Read::Place(Place { segment: 3, offset: 4, sequence: 0 }));
        let place = Place { segment: 5, offset: 6, sequence: 7 };
        write(&file, place).unwrap();
        assert_eq!(read(&file).unwrap(), Read::Place(place));
        for at in 0..28 {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ 1], at).unwrap();
            assert_eq!(read(&file).unwrap(), Read::Damaged, "byte {at}");
            file.write_all_at(&byte, at).unwrap();
        }
        file.set_len(27).unwrap();
        assert_eq!(read(&file).unwrap(), Read::Damaged);
        file.set_len(29).unwrap();
        assert_eq!(read(&file).unwrap(), Read::Damaged);
    }
}
