//! The server under unwelcome clients. Connections stay open until a test ends, if the server lets them.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use proptest::prelude::*;

use super::connections::MOST_CONNECTIONS;
use super::*;

/// Longer than anything takes here, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

fn server() -> SocketAddr {
    gst::init().unwrap();
    start("127.0.0.1:0", Duration::from_secs(10), Arc::default()).unwrap()
}

fn send(server: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut connection = TcpStream::connect(server).unwrap();
    connection.set_read_timeout(Some(LIMIT)).unwrap();
    // The server may close before it has read everything.
    let _ = connection.write_all(bytes);
    connection
}

/// The answer until the server closes the connection.
fn answer_to(server: SocketAddr, bytes: &[u8]) -> String {
    let mut answer = Vec::new();
    send(server, bytes).read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

#[track_caller]
fn is_healthy(server: SocketAddr) {
    let answer = answer_to(server, b"GET /healthz HTTP/1.0\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.0 200 "), "{answer}");
}

fn is_open(connection: &mut TcpStream) -> bool {
    connection.set_nonblocking(true).unwrap();
    let read = connection.read(&mut [0]);
    connection.set_nonblocking(false).unwrap();
    read.is_err_and(|e| e.kind() == ErrorKind::WouldBlock)
}

#[test]
fn a_request_with_a_body_is_refused_and_its_connection_closed() {
    let server = server();
    for body in [
        "Content-Length: 99999999999\r\n\r\nx",
        "Content-Length: 1\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nf",
    ] {
        for (method, status) in [("GET", 413), ("HEAD", 413), ("POST", 405)] {
            let request = format!("{method} /metrics HTTP/1.1\r\nHost: localhost\r\n{body}");
            let answer = answer_to(server, request.as_bytes());
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
        }
    }
    is_healthy(server);
}

#[test]
fn a_name_of_another_machine_is_refused() {
    let server = server();
    for (host, status) in [("localhost", 200), ("evil.example", 421)] {
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = answer_to(server, request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{host}: {answer}");
    }
}

#[test]
fn of_too_many_connections_those_that_have_not_asked_for_the_longest_time_are_closed() {
    let server = server();
    let mut connections: Vec<_> = (0..MOST_CONNECTIONS)
        .map(|n| {
            let head = b"GET /healthz HTTP/1.1\r\nContent-Length: 9\r\nX-Long: ";
            send(server, &head[..n % head.len()])
        })
        .collect();
    let mut asks = send(server, b"GET /healthz HTTP/1.1\r\n\r\n");
    asks.read_exact(&mut [0]).unwrap();
    for n in 0..2 * MOST_CONNECTIONS {
        connections.push(send(server, b"GET /healthz HTTP/1.1\r\n\r\n"));
        connections.last_mut().unwrap().read_exact(&mut [0]).unwrap();
        if n == MOST_CONNECTIONS / 2 {
            asks.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").unwrap();
        }
    }
    let old = connections.drain(..MOST_CONNECTIONS).filter_map(|mut c| is_open(&mut c).then_some(())).count();
    assert_eq!(old, 0, "of those that never asked");
    is_healthy(server);
}

/// The parts of heads, also in a wrong order.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known: [&[u8]; 16] = [
        b"GET ",
        b"POST ",
        b"/metrics",
        b"http://[::1",
        b" HTTP/1.1\r\n",
        b" HTTP/1.0\r\n",
        b"Host: localhost\r\n",
        b"Host: ",
        b"Content-Length: 99999999999\r\n",
        b"Content-Length: -1\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Expect: 100-continue\r\n",
        b"Connection: keep-alive\r\n",
        b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
        b"\r\n",
        &[b'a'; 20_000],
    ];
    prop_oneof![
        proptest::sample::select(known.map(<[u8]>::to_vec).to_vec()),
        proptest::collection::vec(any::<u8>(), 0..16),
    ]
}

#[test]
fn whatever_a_client_sends_another_one_is_answered() {
    let server = server();
    let connections = std::cell::RefCell::new(Vec::new());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(200));
    let sent = runner.run(&proptest::collection::vec(piece(), 0..12), |pieces| {
        connections.borrow_mut().push(send(server, &pieces.concat()));
        is_healthy(server);
        Ok(())
    });
    sent.unwrap();
}
