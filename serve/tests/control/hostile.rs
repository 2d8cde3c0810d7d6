//! Requests that no client should send, in any order: another client is answered all the same.

use std::io::{Read, Write};
use std::net::TcpStream;

use cudainfer_serve::resources;
use proptest::prelude::*;

use crate::flood::connect;
use crate::service::Service;

/// A part of a request, or bytes that are no such part.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known: [&[u8]; 28] = [
        b"GET ",
        b"POST ",
        b"PUT /v1/pipelines/plain/model",
        b"PATCH /v1/streams/door",
        b"/v1/streams",
        b"/v1/streams/door/snapshot.jpg?width=99999999999",
        b"/v1/streams/%ff%00/recordings/..%2f..%2fetc",
        b"http://[::1",
        b" HTTP/1.1\r\n",
        b" HTTP/1.0\r\n",
        b" HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"Host: localhost\r\n",
        b"Host: ",
        b"Origin: null\r\n",
        b"Content-Type: application/json\r\n",
        b"Content-Length: 99999999999\r\n",
        b"Content-Length: -1\r\n",
        b"Content-Length: 2\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Expect: 100-continue\r\n",
        b"Range: bytes=18446744073709551615-,0-0,-1\r\n",
        b"Authorization: Bearer \xff\r\n",
        b"Connection: close\r\n",
        b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
        b"\r\n",
        b"ffffffffffffffff\r\n{}\r\n0\r\n\r\n",
        b"{\"name\": \"\\ud800\", \"uri\": [[[[",
        &[b'a'; 70_000],
    ];
    prop_oneof![
        4 => proptest::sample::select(known.map(<[u8]>::to_vec).to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..16),
    ]
}

#[track_caller]
fn is_answered(url: &str) {
    let mut connection = connect(url);
    connection.write_all(b"GET /healthz HTTP/1.0\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200 "), "{answer}");
}

#[test]
fn whatever_a_client_sends_another_one_is_answered() {
    resources::raise_limit();
    let service = Service::start("[server]\nlisten = '127.0.0.1:0'\n[pipeline.plain]\nline = 'identity'\n");
    // The connections stay open until the server closes them.
    let connections = std::cell::RefCell::new(Vec::<TcpStream>::new());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(300));
    let sent = runner.run(&proptest::collection::vec(piece(), 0..16), |pieces| {
        let mut connection = connect(&service.url);
        // The server may close before it has read everything.
        let _ = connection.write_all(&pieces.concat());
        connections.borrow_mut().push(connection);
        is_answered(&service.url);
        Ok(())
    });
    sent.unwrap();
}
