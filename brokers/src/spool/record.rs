//! A message as bytes: its length, a checksum, and the texts.
//!
//! `length: u32, crc: u32, topic length: u16, topic, id length: u16, id, payload`; numbers are little-endian, `length` and `crc`
//! (CRC-32 of IEEE 802.3) are of everything behind them.

use std::io::{self, Read};

use crate::Message;

/// Bytes before the part that `length` counts.
const HEAD: usize = 8;
/// A longer record is damage.
const LONGEST: usize = 256 << 20;

/// What comes next in a segment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A message, and how many bytes it takes.
    Record(Message, u64),
    /// Nothing.
    End,
    /// Bytes that are no whole record.
    Damaged,
}

/// Appends the message's bytes.
///
/// # Errors
/// The message is too long.
pub(super) fn encode(message: &Message, to: &mut Vec<u8>) -> io::Result<()> {
    let start = to.len();
    to.extend([0; HEAD]);
    for text in [&message.topic, &message.id] {
        let length = u16::try_from(text.len()).map_err(|_| too_long())?;
        to.extend(length.to_le_bytes());
        to.extend(text.as_bytes());
    }
    to.extend(&message.payload);
    let body = to.get(start + HEAD..).unwrap_or_default();
    let (crc, length) = (crc32fast::hash(body), body.len());
    let stored = u32::try_from(length).ok().filter(|_| length <= LONGEST).ok_or_else(too_long)?;
    for (place, byte) in
        to.iter_mut().skip(start).zip(stored.to_le_bytes().into_iter().chain(crc.to_le_bytes()))
    {
        *place = byte;
    }
    Ok(())
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "a message is too long for the spool")
}

/// Reads what comes next.
///
/// # Errors
/// Those of reading; the end of the file is none.
pub(super) fn decode(from: &mut impl Read) -> io::Result<Next> {
    let mut head = Vec::with_capacity(HEAD);
    from.by_ref().take(8).read_to_end(&mut head)?;
    if head.is_empty() {
        return Ok(Next::End);
    }
    let number =
        |at: usize| head.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
    let (Some(length), Some(crc)) = (number(0), number(4)) else { return Ok(Next::Damaged) };
    let Some(length) = usize::try_from(length).ok().filter(|length| *length <= LONGEST) else {
        return Ok(Next::Damaged);
    };
    let mut body = Vec::new();
    from.by_ref().take(u64::try_from(length).unwrap_or(u64::MAX)).read_to_end(&mut body)?;
    if body.len() < length || crc32fast::hash(&body) != crc {
        return Ok(Next::Damaged);
    }
    let size = u64::try_from(HEAD + length).unwrap_or(u64::MAX);
    Ok(message(&body).map_or(Next::Damaged, |message| Next::Record(message, size)))
}

fn message(body: &[u8]) -> Option<Message> {
    let mut rest = body;
    let mut text = || {
        let (length, more) = rest.split_first_chunk::<2>()?;
        let (bytes, more) = more.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        rest = more;
        String::from_utf8(bytes.to_vec()).ok()
    };
    let (topic, id) = (text()?, text()?);
    Some(Message { topic, id, payload: rest.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_any_damage_is_seen() {
        let message = Message { topic: "a/b".into(), id: "7".into(), payload: b"{\"x\":1}".to_vec() };
        let mut bytes = Vec::new();
        encode(&message, &mut bytes).unwrap();
        let size = bytes.len() as u64;
        assert_eq!(decode(&mut bytes.as_slice()).unwrap(), Next::Record(message, size));
        assert_eq!(decode(&mut &[][..]).unwrap(), Next::End);
        for cut in 1..bytes.len() {
            assert_eq!(decode(&mut &bytes[..cut]).unwrap(), Next::Damaged, "{cut} bytes");
        }
        for place in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[place] ^= 0x10;
            assert_eq!(decode(&mut bad.as_slice()).unwrap(), Next::Damaged, "byte {place}");
        }
    }
}
