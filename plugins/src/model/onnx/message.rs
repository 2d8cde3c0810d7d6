//! Protocol buffer messages in files: fields are read one by one, and skipped without reading what is in them.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::Path;

use cudainfer_files as files;

use super::LONGEST_ENTRY;

/// Reads a file as one message.
///
/// # Errors
/// The file cannot be read, or `read` fails.
pub(super) fn read_file<T>(
    path: &Path,
    read: impl FnOnce(&mut Message<'_>) -> io::Result<T>,
) -> io::Result<T> {
    let file = files::open(path)?;
    let end = file.metadata()?.len();
    read(&mut Message { file: &mut BufReader::new(file), end })
}

/// A protocol buffer message in a file, read up to a position.
pub(super) struct Message<'a> {
    pub file: &'a mut BufReader<File>,
    pub end: u64,
}

/// The value of a field.
pub(super) enum Value {
    Number(u64),
    /// Bytes, text or a message, up to this position; it is read or skipped by the caller.
    Message(u64),
}

impl Message<'_> {
    /// The next field's number and value.
    pub fn next(&mut self) -> io::Result<Option<(u64, Value)>> {
        if self.file.stream_position()? >= self.end {
            return Ok(None);
        }
        let key = self.number()?;
        let value = match key & 7 {
            0 => Value::Number(self.number()?),
            1 => Value::Message(self.file.stream_position()? + 8),
            2 => {
                let bytes = self.number()?;
                Value::Message(self.file.stream_position()?.saturating_add(bytes))
            }
            5 => Value::Message(self.file.stream_position()? + 4),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        match value {
            Value::Message(end) if end > self.end => Err(io::ErrorKind::InvalidData.into()),
            value => Ok(Some((key >> 3, value))),
        }
    }

    /// The texts in these fields; other fields are skipped.
    pub fn strings<const N: usize>(&mut self, fields: [u64; N]) -> io::Result<[Vec<String>; N]> {
        let mut found = [const { Vec::new() }; N];
        while let Some((field, value)) = self.next()? {
            let Value::Message(end) = value else { continue };
            let of = fields.iter().position(|known| *known == field).and_then(|at| found.get_mut(at));
            if let Some(texts) = of {
                let length = end.saturating_sub(self.file.stream_position()?);
                if length > LONGEST_ENTRY {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                let mut bytes = Vec::new();
                Read::take(&mut *self.file, length).read_to_end(&mut bytes)?;
                texts.push(String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData)?);
            }
            self.skip_to(end)?;
        }
        Ok(found)
    }

    pub fn skip_to(&mut self, position: u64) -> io::Result<()> {
        let now = self.file.stream_position()?;
        let far = i64::try_from(position).unwrap_or(i64::MAX) - i64::try_from(now).unwrap_or(i64::MAX);
        // What is buffered stays buffered.
        self.file.seek_relative(far)
    }

    /// All of the message as text; `None` if it is longer than `most` bytes, or not UTF-8.
    pub fn text(&mut self, most: u64) -> io::Result<Option<String>> {
        let length = self.end.saturating_sub(self.file.stream_position()?);
        if length > most {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        Read::take(&mut *self.file, length).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).ok() != Some(length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(String::from_utf8(bytes).ok())
    }

    /// The message as a key and its value; `None` if one of them is too long, or not UTF-8.
    pub fn entry(&mut self, most: u64) -> io::Result<Option<(String, String)>> {
        let (mut key, mut text) = (Some(String::new()), Some(String::new()));
        while let Some((field, value)) = self.next()? {
            let Value::Message(end) = value else { continue };
            let mut inner = Message { file: self.file, end };
            match field {
                1 => key = inner.text(LONGEST_ENTRY.min(most))?,
                2 => text = inner.text(most)?,
                _ => (),
            }
            self.skip_to(end)?;
        }
        Ok(key.zip(text).filter(|(key, text)| u64::try_from(key.len() + text.len()).is_ok_and(|n| n <= most)))
    }

    /// A number of up to ten bytes with seven bits each, the lowest first.
    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            self.file.read_exact(&mut byte)?;
            number |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }
}
