//! What an exporter wrote about its model.

use std::collections::BTreeMap;
use std::path::Path;

use super::LONGEST_ENTRY;
use super::message::{Message, Value, read_file};

// Field numbers of onnx.proto.
const MODEL_PRODUCER: u64 = 2;
const MODEL_METADATA: u64 = 14;

/// Maximum number of entries of metadata that are looked at.
const MOST_ENTRIES: usize = 256;

/// Maximum length in bytes of an entry's value, and of all values together: the names of the 21841 classes of ImageNet-21k take
/// half of it.
const LONGEST_METADATA: u64 = 1 << 20;

/// What the exporter wrote about the model: text of its own choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metadata {
    /// The program that made the file.
    pub producer: String,
    /// Keys and values, each key once: the first counts.
    pub entries: BTreeMap<String, String>,
    /// Whether entries were left out: too many, too long, or not UTF-8.
    pub incomplete: bool,
}

impl Metadata {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.entries.get(key).map(String::as_str)
    }
}

/// The metadata of a model; empty, and incomplete, where the file cannot be read as ONNX: the library that runs it has a better
/// error for that.
pub(crate) fn metadata(path: &Path) -> Metadata {
    let mut found = Metadata::default();
    let read = read_file(path, |model| {
        let mut left = LONGEST_METADATA;
        while let Some((field, value)) = model.next()? {
            let Value::Message(end) = value else { continue };
            let mut inner = Message { file: model.file, end };
            match field {
                MODEL_PRODUCER => found.producer = inner.text(LONGEST_ENTRY)?.unwrap_or_default(),
                MODEL_METADATA if found.entries.len() >= MOST_ENTRIES => found.incomplete = true,
                MODEL_METADATA => match inner.entry(left)? {
                    Some((key, value)) => {
                        left = left.saturating_sub(u64::try_from(key.len() + value.len()).unwrap_or(left));
                        found.entries.entry(key).or_insert(value);
                    }
                    None => found.incomplete = true,
                },
                _ => (),
            }
            model.skip_to(end)?;
        }
        Ok(())
    });
    found.incomplete |= read.is_err();
    found
}

#[cfg(test)]
mod tests {
    use super::super::samples::{field, written};
    use super::*;

    /// A field with a length of several bytes.
    fn long_field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut field = vec![number << 3 | 2];
        let mut length = bytes.len();
        while length > 0x7f {
            field.push(u8::try_from(length & 0x7f | 0x80).unwrap());
            length >>= 7;
        }
        field.push(u8::try_from(length).unwrap());
        [&field[..], bytes].concat()
    }

    fn entry(key: &[u8], value: &[u8]) -> Vec<u8> {
        long_field(14, &[long_field(1, key), long_field(2, value)].concat())
    }

    fn metadata_of(name: &str, bytes: &[u8]) -> Metadata {
        let path = written(name, bytes);
        let read = metadata(&path);
        std::fs::remove_file(path).unwrap();
        read
    }

    #[test]
    fn metadata_is_read_before_and_after_the_graph_and_the_first_of_a_key_counts() {
        let graph = long_field(7, &field(2, b"graph"));
        let model = [
            vec![1 << 3, 8],
            field(2, b"pytorch"),
            entry(b"task", b"detect"),
            graph,
            entry(b"names", "{0: 'grün'}".as_bytes()),
            entry(b"task", b"pose"),
            entry(b"empty", b""),
        ]
        .concat();
        let read = metadata_of("metadata", &model);
        assert_eq!((read.producer.as_str(), read.incomplete), ("pytorch", false));
        assert_eq!(
            [read.get("task"), read.get("names"), read.get("empty"), read.get("none")],
            [Some("detect"), Some("{0: 'grün'}"), Some(""), None]
        );
    }

    #[test]
    fn hostile_metadata_is_left_out_and_what_is_before_it_kept() {
        let long = vec![b'a'; usize::try_from(LONGEST_METADATA).unwrap() + 1];
        let half = vec![b'a'; usize::try_from(LONGEST_METADATA / 2).unwrap()];
        let many: Vec<u8> = (0..1000).flat_map(|i| entry(format!("k{i}").as_bytes(), b"v")).collect();
        let task = entry(b"task", b"detect");
        for (name, hostile) in [
            ("long", entry(b"names", &long)),
            ("long-key", entry(&long, b"names")),
            ("not-utf8", entry(b"names", &[0xff, 0xfe])),
            ("key-not-utf8", entry(&[0xff], b"names")),
            ("many", many),
            ("sum", [entry(b"a", &half), entry(b"b", &half), entry(b"c", &half)].concat()),
            // A length that goes beyond the message, and beyond the file.
            ("beyond", long_field(14, &[1 << 3 | 2, 100, b'a'])),
            ("endless", vec![14 << 3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
            ("unknown-type", vec![14 << 3 | 7]),
            ("cut", entry(b"names", b"a long value")[..8].to_vec()),
        ] {
            let read = metadata_of(name, &[task.clone(), hostile].concat());
            assert!(read.incomplete, "{name}");
            assert_eq!(read.get("task"), Some("detect"), "{name}");
            assert!(read.entries.len() <= MOST_ENTRIES, "{name}");
            let bytes: usize = read.entries.iter().map(|(key, value)| key.len() + value.len()).sum();
            assert!(bytes <= usize::try_from(LONGEST_METADATA).unwrap(), "{name}");
        }
        assert_eq!(metadata(Path::new("/nonexistent")), Metadata { incomplete: true, ..Metadata::default() });
    }
}
