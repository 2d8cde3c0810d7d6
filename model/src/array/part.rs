//! Parts of a file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// This many bytes of a file, which has been found to have them.
pub(super) fn bytes(file: &mut File, begin: u64, count: u64) -> Result<Vec<u8>, String> {
    let mut read = Vec::new();
    let room = usize::try_from(count).ok().filter(|room| read.try_reserve_exact(*room).is_ok());
    room.ok_or_else(|| format!("there is not enough memory for its {count} bytes"))?;
    file.seek(SeekFrom::Start(begin)).map_err(|e| e.to_string())?;
    file.take(count).read_to_end(&mut read).map_err(|e| e.to_string())?;
    if read.len() as u64 != count {
        return Err("it was cut off while it was read. Write it again".into());
    }
    Ok(read)
}
