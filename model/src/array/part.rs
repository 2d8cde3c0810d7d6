//! Parts of a file, and of what is packed in it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// The next `count` bytes.
pub(super) fn bytes(from: &mut impl Read, count: u64) -> Result<Vec<u8>, String> {
    let mut read = Vec::new();
    let room = usize::try_from(count).ok().filter(|room| read.try_reserve_exact(*room).is_ok());
    room.ok_or_else(|| format!("there is not enough memory for its {count} bytes"))?;
    from.take(count).read_to_end(&mut read).map_err(|e| format!("it cannot be read: {e}. Write it again"))?;
    if read.len() as u64 != count {
        return Err("it ends before its array does. Write it again".into());
    }
    Ok(read)
}

/// The same from this place on, of a file that has been found to have them.
pub(super) fn bytes_at(file: &mut File, begin: u64, count: u64) -> Result<Vec<u8>, String> {
    file.seek(SeekFrom::Start(begin)).map_err(|e| e.to_string())?;
    bytes(file, count)
}
