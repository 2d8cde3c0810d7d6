//! What a NATS server sends: operations, each a line, some with a message after it.

use serde_json::Value;

use crate::client::contract::Failure;
use crate::client::wire::MOST_BYTES;

/// One of them.
#[derive(Debug)]
pub(super) enum Operation {
    Info(Value),
    Ping,
    Pong,
    /// A message for a subject, which has a status where nobody answers.
    Message {
        subject: String,
        status: Option<String>,
        payload: Vec<u8>,
    },
    Other,
}

/// The operation that the bytes begin with, and how many of them it has; none where more must come first.
///
/// # Errors
/// The bytes break the protocol, or the server refuses something.
pub(super) fn first(bytes: &[u8]) -> Result<Option<(Operation, usize)>, Failure> {
    let broken = || Failure::Lost("it breaks NATS's protocol".to_owned());
    let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") else {
        return if bytes.len() > MOST_BYTES { Err(broken()) } else { Ok(None) };
    };
    let (line, after) = bytes.split_at_checked(end).ok_or_else(broken)?;
    let line = String::from_utf8_lossy(line);
    let (verb, rest) = line.split_once([' ', '\t']).unwrap_or((&line, ""));
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    // From the last word: one before it may be missing.
    let number = |from_last: usize| words.iter().rev().nth(from_last)?.parse::<usize>().ok();
    let simple = |operation| Ok(Some((operation, end + 2)));
    let (head, total) = match verb.to_ascii_uppercase().as_str() {
        "MSG" if words.len() >= 3 => (Some(0), number(0)),
        "HMSG" if words.len() >= 4 => (number(1), number(0)),
        "INFO" => return simple(Operation::Info(serde_json::from_str(rest).map_err(|_| broken())?)),
        "PING" => return simple(Operation::Ping),
        "PONG" => return simple(Operation::Pong),
        "+OK" => return simple(Operation::Other),
        "-ERR" => return Err(refusal(rest.trim_matches(['\'', ' ']))),
        _ => return Err(broken()),
    };
    let (head, total) =
        head.zip(total).filter(|(head, total)| head <= total && *total <= MOST_BYTES).ok_or_else(broken)?;
    let Some(body) = after.get(2..2 + total).filter(|_| after.len() >= 2 + total + 2) else {
        return Ok(None);
    };
    let (head, payload) = body.split_at_checked(head).ok_or_else(broken)?;
    let head = String::from_utf8_lossy(head);
    let status = head.lines().next().unwrap_or_default().split_ascii_whitespace().nth(1).map(str::to_owned);
    let subject = words.first().map_or_else(String::new, |subject| (*subject).to_owned());
    Ok(Some((Operation::Message { subject, status, payload: payload.to_vec() }, end + 2 + total + 2)))
}

/// What an error of the server means.
pub(super) fn refusal(said: &str) -> Failure {
    let lower = said.to_ascii_lowercase();
    let has = |part: &str| lower.contains(part);
    if has("authorization violation") || has("authentication") || has("user authentication expired") {
        Failure::Denied("it refuses the login".to_owned())
    } else if has("permissions violation") {
        Failure::Denied(format!("it does not allow this: {said}"))
    } else {
        Failure::Lost(said.chars().take(200).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The operations of these bytes and how many bytes are left, as far as they can be understood.
    fn all(mut bytes: &[u8]) -> (Vec<Operation>, usize) {
        let mut operations = Vec::new();
        while let Ok(Some((operation, taken))) = first(bytes) {
            assert!(taken > 0);
            operations.push(operation);
            bytes = &bytes[taken..];
        }
        (operations, bytes.len())
    }

    #[test]
    fn operations_are_read_one_after_the_other_and_only_when_they_are_whole() {
        let sent = b"INFO {\"max_payload\":7}\r\nping\r\n+OK\r\nHMSG _INBOX.1 1 16 18\r\nNATS/1.0 503\r\n\r\nab\r\nMSG s 1 3\r\na\r\n\r\nPO";
        let (operations, left) = all(sent);
        assert_eq!(left, 2, "the rest of a PONG");
        let [Operation::Info(info), Operation::Ping, Operation::Other, answer, plain] = &operations[..]
        else {
            panic!("{operations:?}")
        };
        assert_eq!(info["max_payload"], 7);
        let Operation::Message { subject, status, payload } = answer else { panic!("{answer:?}") };
        assert_eq!(
            (subject.as_str(), status.as_deref(), payload.as_slice()),
            ("_INBOX.1", Some("503"), &b"ab"[..])
        );
        let Operation::Message { status: None, payload, .. } = plain else { panic!("{plain:?}") };
        assert_eq!(payload, b"a\r\n");
        for cut in 0..sent.len() {
            let (fewer, _) = all(&sent[..cut]);
            assert!(fewer.len() <= operations.len(), "{cut} bytes");
        }
    }

    #[test]
    fn what_breaks_the_protocol_is_refused_and_never_waited_for() {
        let large = format!("MSG s 1 {}\r\n", MOST_BYTES + 1);
        for sent in [
            "HELLO\r\n",
            "MSG\r\n",
            "MSG s 1 -1\r\n",
            "HMSG s 1 3\r\n",
            "HMSG s 1 4 3\r\n",
            "INFO {\r\n",
            &large,
        ] {
            assert!(matches!(first(sent.as_bytes()), Err(Failure::Lost(_))), "{sent}");
        }
        let endless = vec![b'x'; MOST_BYTES + 1];
        assert!(matches!(first(&endless), Err(Failure::Lost(_))));
    }

    #[test]
    fn fuzz_nats_operations() {
        // A value of JSON takes 32 bytes where the text has two, in a vector that grows by doubling.
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "nats_operations")
            .with_ratio(100)
            .run(|bytes| drop(all(bytes)));
    }
}
