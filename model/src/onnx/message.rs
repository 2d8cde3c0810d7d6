//! Protocol buffer messages in files: fields are read one by one, and skipped without reading what is in them.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use cudainfer_files as files;

use super::{LONGEST_ENTRY, MODEL_GRAPH};

/// Maximum number of fields of a file that are looked at: ten times as many as those of a model with 100,000 nodes.
const MOST_FIELDS: u64 = 1 << 24;

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

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
    let mut reader = Reader { file: BufReader::new(file), position: 0, fields_left: MOST_FIELDS };
    read(&mut Message { file: &mut reader, end })
}

/// A file that is read forwards. It knows its position: asking the system for it at every field would take minutes.
pub(super) struct Reader {
    file: BufReader<File>,
    position: u64,
    fields_left: u64,
}

impl Reader {
    /// How much of the file was read or skipped.
    pub fn position(&self) -> u64 {
        self.position
    }
}

impl Read for Reader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(bytes)?;
        self.position = self.position.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(read)
    }
}

/// A protocol buffer message in a file, read up to a position.
pub(super) struct Message<'a> {
    pub file: &'a mut Reader,
    pub end: u64,
}

/// The value of a field.
pub(super) enum Value {
    Number(u64),
    /// Bytes, text or a message, up to this position; it is read or skipped by the caller.
    Message(u64),
}

impl Message<'_> {
    /// Whether `is_it` holds for a message in this field of a model's graph; what follows that message is not read.
    pub fn graph_has(
        &mut self,
        wanted: u64,
        is_it: impl Fn(&mut Message<'_>) -> io::Result<bool>,
    ) -> io::Result<bool> {
        while let Some((field, value)) = self.next()? {
            let Value::Message(end) = value else { continue };
            if field == MODEL_GRAPH {
                let mut graph = Message { file: self.file, end };
                while let Some((field, value)) = graph.next()? {
                    let Value::Message(end) = value else { continue };
                    if field == wanted && is_it(&mut Message { file: graph.file, end })? {
                        return Ok(true);
                    }
                    graph.skip_to(end)?;
                }
            }
            self.skip_to(end)?;
        }
        Ok(false)
    }

    /// The next field's number and value.
    pub fn next(&mut self) -> io::Result<Option<(u64, Value)>> {
        if self.file.position() >= self.end {
            return Ok(None);
        }
        let left = self.file.fields_left.checked_sub(1);
        self.file.fields_left = left.ok_or_else(|| invalid("it has too many fields"))?;
        let key = self.number()?;
        if key >> 3 == 0 {
            return Err(invalid("a field has the number 0, which protocol buffers do not have"));
        }
        let value = match key & 7 {
            0 => Value::Number(self.number()?),
            1 => Value::Message(self.file.position().saturating_add(8)),
            2 => {
                let bytes = self.number()?;
                Value::Message(self.file.position().saturating_add(bytes))
            }
            5 => Value::Message(self.file.position().saturating_add(4)),
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
                let length = end.saturating_sub(self.file.position());
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
        let far = i64::try_from(position).unwrap_or(i64::MAX)
            - i64::try_from(self.file.position).unwrap_or(i64::MAX);
        // The bytes in the buffer stay there.
        self.file.file.seek_relative(far)?;
        self.file.position = position;
        Ok(())
    }

    /// All of the message as text; `None` if it is longer than `most` bytes, or not UTF-8.
    pub fn text(&mut self, most: u64) -> io::Result<Option<String>> {
        let length = self.end.saturating_sub(self.file.position());
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::samples::written;
    use super::super::{external_files, has_float16_weights, is_quantised, metadata, output_endings, scopes};
    use super::*;

    #[test]
    fn a_file_of_zeros_is_refused_for_its_first_byte() {
        let path = written("zeros", &[]);
        File::options().write(true).open(&path).unwrap().set_len(200 << 20).unwrap();
        let read = read_file(&path, |model| {
            let refused = model.next().map(|field| field.is_some());
            Ok((refused.unwrap_err().to_string(), model.file.position()))
        });
        assert_eq!(external_files(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
        std::fs::remove_file(&path).unwrap();
        let (why, position) = read.unwrap();
        assert!(why.contains("number 0"), "{why}");
        assert_eq!(position, 1);
    }

    /// Reads all fields, messages within messages; returns how many there were.
    fn walk(message: &mut Message<'_>, depth: usize) -> io::Result<u64> {
        let (mut fields, mut before) = (0, message.file.position());
        while let Some((_, value)) = message.next()? {
            fields += 1;
            assert!(message.file.position() > before, "a field takes at least a byte");
            if let Value::Message(end) = value {
                assert!(end <= message.end);
                if depth > 0 {
                    let inner = walk(&mut Message { file: message.file, end }, depth - 1);
                    fields += inner.unwrap_or_default();
                }
                message.skip_to(end)?;
            }
            before = message.file.position();
        }
        Ok(fields)
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_once(bytes in proptest::collection::vec(prop_oneof![any::<u8>(), 0u8..64], 0..512)) {
            let path = written("any", &bytes);
            let read = read_file(&path, |model| {
                // Each level reads the bytes of its fields once more at most.
                let fields = walk(model, 3).unwrap_or_default();
                Ok((fields, model.file.position()))
            });
            let (_, _, _) = (metadata(&path), output_endings(&path), scopes(&path));
            let (_, _, _) = (external_files(&path), has_float16_weights(&path), is_quantised(&path));
            std::fs::remove_file(&path).unwrap();
            let (fields, position) = read.unwrap();
            let length = u64::try_from(bytes.len()).unwrap();
            prop_assert!(fields <= 4 * length && position <= length);
        }

        #[test]
        fn the_position_is_the_files(bytes in proptest::collection::vec(1u8..64, 1..256)) {
            use std::io::Seek as _;
            let path = written("position", &bytes);
            let positions = read_file(&path, |model| {
                let _ = walk(model, 2);
                Ok((model.file.position(), model.file.file.stream_position()?))
            });
            std::fs::remove_file(&path).unwrap();
            let (ours, theirs) = positions.unwrap();
            prop_assert_eq!(ours, theirs);
        }
    }
}
