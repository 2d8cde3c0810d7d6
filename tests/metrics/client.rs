//! Sends requests to the server, and reads its page.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

/// An answer: its status, head and body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// Sends bytes and returns the answer until the server closes the connection. With `all`, the sending side is closed.
pub(crate) fn send(server: SocketAddr, bytes: &[u8], all: bool) -> Vec<u8> {
    let mut connection = TcpStream::connect(server).unwrap();
    connection.set_read_timeout(Some(cudainfer_tests::LIMIT)).unwrap();
    // The server may close the connection before it has read everything.
    let _ = connection.write_all(bytes);
    if all {
        let _ = connection.shutdown(std::net::Shutdown::Write);
    }
    let mut answer = Vec::new();
    let _ = connection.read_to_end(&mut answer);
    answer
}

/// Requests a page by HTTP 1.0, so that the answer is not chunked.
pub(crate) fn ask(server: SocketAddr, method: &str, path: &str) -> Answer {
    let question = format!("{method} {path} HTTP/1.0\r\n\r\n");
    let answer = String::from_utf8(send(server, question.as_bytes(), false)).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Answer {
        status: status.unwrap_or_else(|| panic!("{head}")),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// The present metrics.
pub(crate) fn page(server: SocketAddr) -> String {
    let answer = ask(server, "GET", "/metrics");
    assert_eq!(answer.status, 200, "{}", answer.head);
    assert!(answer.head.contains("Content-Type: text/plain; version=0.0.4"), "{}", answer.head);
    answer.body
}

/// The present health.
pub(crate) fn health(server: SocketAddr) -> Value {
    let answer = ask(server, "GET", "/healthz");
    let health: Value = serde_json::from_str(&answer.body).unwrap();
    let stalled = !health["stalled"].as_array().unwrap().is_empty();
    assert_eq!(
        (answer.status, health["status"] == "stalled"),
        (if stalled { 503 } else { 200 }, stalled),
        "{health}"
    );
    health
}

/// The streams of a pipeline that are stalled.
pub(crate) fn stalled(server: SocketAddr, pipeline: &str) -> Vec<String> {
    let health = health(server);
    let mine = health["stalled"].as_array().unwrap().iter().filter(|stream| stream["pipeline"] == pipeline);
    mine.map(|stream| stream["stream"].as_str().unwrap().to_owned()).collect()
}

/// The samples of a page that have all of `labels` (each `name="value"`); their other labels are ignored.
pub(crate) fn samples(page: &str, name: &str, labels: &[&str]) -> Vec<f64> {
    let mine = page.lines().filter(|line| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']))
            && labels.iter().all(|label| line.contains(label))
    });
    mine.map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap()).collect()
}

/// The only sample of a page with these labels.
#[track_caller]
pub(crate) fn sample(page: &str, name: &str, labels: &[&str]) -> f64 {
    let found = samples(page, name, labels);
    assert_eq!(found.len(), 1, "{name} {labels:?} in {page}");
    found[0]
}
