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
    (0..bytes.len()).find_map(|skipped| {
        let (message, sequence, size) = decode(bytes.get(skipped..)?)?;
        Some(Record { message, sequence, skipped, size })
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

/// The record that begins here: its message, its sequence and its size.
fn decode(bytes: &[u8]) -> Option<(Message, Option<u64>, usize)> {
    let ([length, crc], body, _) = split(bytes)?;
    let (sequence, texts) = if length & SEQUENCED == 0 {
        (None, body)
    } else {
        let (sequence, texts) = body.split_first_chunk::<8>()?;
        (Some(u64::from_le_bytes(*sequence)), texts)
    };
    // What cannot be one is seen soon, so that the checksums of few other bytes are computed.
    let message = message(texts)?;
    (crc32fast::hash(body) == crc).then_some((message, sequence, HEAD + body.len()))
}

fn message(bytes: &[u8]) -> Option<Message> {
    let mut rest = bytes;
    let mut text = || {
        let (length, more) = rest.split_first_chunk::<2>()?;
        let (bytes, more) = more.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        rest = more;
        std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
    };
    let (topic, id) = (text()?, text()?);
    Some(Message { topic: topic.to_owned(), id: id.to_owned(), payload: rest.to_vec() })
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
