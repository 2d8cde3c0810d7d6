//! The messages of a story: the number of each says all that it has.

use crate::Message;

pub(super) fn payload(number: usize) -> Vec<u8> {
    let length = match number % 20 {
        // As large as a spool may be, about, or larger.
        19 => 60_000 + (number / 20 + 1) % 4 * 2000,
        rest => rest * rest * 2,
    };
    format!("{{\"{number}\":\"{}\"}}", "x".repeat(length)).into_bytes()
}

pub(super) fn message(number: usize) -> Message {
    Message { topic: "cams".to_owned(), id: number.to_string(), payload: payload(number) }
}

pub(super) fn number(message: &Message) -> usize {
    message.id.parse().unwrap()
}
