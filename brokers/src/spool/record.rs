//! A message as bytes: its length, a checksum, its number, and the texts.
//!
//! `length: u32, crc: u32, sequence: u64, topic length: u16, topic, id length: u16, id, payload`; numbers are little-endian, `length` and
//! `crc` (CRC-32 of IEEE 802.3) are of everything after them. The highest bit of `length` is set: records of older versions lack it,
//! and have no sequence.
//!
//! Topics and ids are texts and a payload is JSON, so a message holds no zero bytes, and no record by chance: the next one is found
//! again after damaged bytes, whatever they are.

use std::io;

use crate::Message;

/// Bytes before the part that `length` counts.
const HEAD: usize = 8;
/// Of `length`: the record has a sequence.
const SEQUENCED: u32 = 1 << 31;
/// A longer record is damage.
const LONGEST: usize = 256 << 20;
/// Bytes whose checksums are computed for each byte that is searched, on average: a file made on purpose, in which a long record seems
/// to begin at every byte, does not keep a start busy for days.
const CHECKED: usize = 16;

/// A message, and where its record lies.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub message: Message,
    /// The messages of a spool are numbered from 1; none, where an older version has written it.
    pub sequence: Option<u64>,
    /// Bytes before it that are no record.
    pub skipped: usize,
    /// Bytes of the record itself.
    pub size: usize,
}

/// Appends the message's bytes.
///
/// # Errors
/// The message is too long.
pub(super) fn encode(message: &Message, sequence: u64, to: &mut Vec<u8>) -> io::Result<()> {
    let start = to.len();
    to.extend([0; HEAD]);
    to.extend(sequence.to_le_bytes());
    for text in [&message.topic, &message.id] {
        let length = u16::try_from(text.len()).map_err(|_| too_long())?;
        to.extend(length.to_le_bytes());
        to.extend(text.as_bytes());
    }
    to.extend(&message.payload);
    let body = to.get(start + HEAD..).unwrap_or_default();
    let (crc, length) = (crc32fast::hash(body), body.len());
    let stored = u32::try_from(length).ok().filter(|_| length <= LONGEST).ok_or_else(too_long)?;
    let head = (stored | SEQUENCED).to_le_bytes().into_iter().chain(crc.to_le_bytes());
    for (place, byte) in to.iter_mut().skip(start).zip(head) {
        *place = byte;
    }
    Ok(())
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "a message is too long for the spool")
}

/// The first whole record in `bytes`.
pub(super) fn first(bytes: &[u8]) -> Option<Record> {
    // Enough for the longest that may begin here.
    let mut patience = bytes.len();
    (0..bytes.len()).find_map(|skipped| {
        patience = patience.saturating_add(CHECKED);
        let candidate = Candidate::new(bytes.get(skipped..)?)?;
        patience = patience.checked_sub(candidate.body.len())?;
        let (message, sequence) = candidate.checked()?;
        Some(Record { message, sequence, skipped, size: HEAD + candidate.body.len() })
    })
}

/// How many messages have been lost in `bytes`, which begin with a record that is damaged and have no whole one: at least 1, and as
/// many as their lengths tell where these are as they were.
pub(super) fn lost(mut bytes: &[u8]) -> u64 {
    let mut count = 0;
    while !bytes.is_empty() {
        count += 1;
        let Some((_, body, rest)) = split(bytes) else { break };
        bytes = if body.is_empty() { &[] } else { rest };
    }
    count
}

/// The parts of a record that begins here: its head, its body, and what comes after.
fn split(bytes: &[u8]) -> Option<([u32; 2], &[u8], &[u8])> {
    let (head, following) = bytes.split_first_chunk::<HEAD>()?;
    let [length, crc] =
        [0, 4].map(|at| head.get(at..at + 4).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes));
    let (length, crc) = (length?, crc?);
    let size = usize::try_from(length & !SEQUENCED).ok().filter(|size| *size <= LONGEST)?;
    let (body, rest) = following.split_at_checked(size)?;
    Some(([length, crc], body, rest))
}

/// What may be a record, but for its checksum.
struct Candidate<'a> {
    crc: u32,
    body: &'a [u8],
    sequence: Option<u64>,
    topic: &'a str,
    id: &'a str,
    payload: &'a [u8],
}

impl<'a> Candidate<'a> {
    /// That which begins here. What cannot be one is seen soon, so that the checksums of few other bytes are computed.
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let ([length, crc], body, _) = split(bytes)?;
        let (sequence, texts) = if length & SEQUENCED == 0 {
            (None, body)
        } else {
            let (sequence, texts) = body.split_first_chunk::<8>()?;
            (Some(u64::from_le_bytes(*sequence)), texts)
        };
        let (topic, rest) = text(texts)?;
        let (id, payload) = text(rest)?;
        Some(Self { crc, body, sequence, topic, id, payload })
    }

    /// Its message and its sequence, if its checksum is right.
    fn checked(&self) -> Option<(Message, Option<u64>)> {
        let message = || Message {
            topic: self.topic.to_owned(),
            id: self.id.to_owned(),
            payload: self.payload.to_vec(),
        };
        (crc32fast::hash(self.body) == self.crc).then(|| (message(), self.sequence))
    }
}

/// The text that begins here, and what comes after it.
fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, more) = bytes.split_first_chunk::<2>()?;
    let (bytes, more) = more.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    Some((std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?, more))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A record as versions before sequences wrote it.
    pub fn encode_old(message: &Message, to: &mut Vec<u8>) {
        let mut bytes = Vec::new();
        encode(message, 0, &mut bytes).unwrap();
        let body = &bytes[HEAD + 8..];
        to.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
        to.extend(crc32fast::hash(body).to_le_bytes());
        to.extend(body);
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_any_damage_is_seen() {
        let message = Message { topic: "a/b".into(), id: "7".into(), payload: b"{\"x\":1}".to_vec() };
        let mut bytes = Vec::new();
        encode(&message, 9, &mut bytes).unwrap();
        let size = bytes.len();
        let whole = |skipped| Some(Record { message: message.clone(), sequence: Some(9), skipped, size });
        assert_eq!(first(&bytes), whole(0));
        assert_eq!(first(&[&b"noise\0\0\0\0"[..], &bytes].concat()), whole(9));
        assert_eq!((first(&[]), first(&[0; 100])), (None, None));
        for cut in 1..bytes.len() {
            assert_eq!((first(&bytes[..cut]), lost(&bytes[..cut])), (None, 1), "{cut} bytes");
        }
        for place in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[place] ^= 0x10;
            assert_eq!(first(&bad), None, "byte {place}");
        }
        let mut old = Vec::new();
        encode_old(&message, &mut old);
        assert_eq!(first(&old), Some(Record { message, sequence: None, skipped: 0, size: size - 8 }));
    }

    /// At each of its first 65,536 bytes a record of 16 MiB seems to begin: their checksums are a terabyte.
    #[test]
    fn bytes_in_which_records_seem_to_begin_everywhere_are_searched_soon() {
        let mut bytes = vec![1; 0x0101_0101 + (64 << 10)];
        assert_eq!(first(&bytes), None);
        let message = Message { topic: "a".into(), id: "1".into(), payload: b"{}".to_vec() };
        encode(&message, 3, &mut bytes).unwrap();
        assert_eq!(
            first(&bytes).map(|record| record.message),
            Some(message),
            "the search goes on to the end"
        );
    }

    #[test]
    fn fuzz_spool() {
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "spool").run(|bytes| {
            let mut rest = bytes;
            while let Some(record) = first(rest) {
                assert!(record.size > 0 && record.skipped + record.size <= rest.len());
                rest = &rest[record.skipped + record.size..];
            }
            lost(rest);
        });
    }
}
