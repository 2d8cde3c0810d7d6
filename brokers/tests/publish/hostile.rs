//! Servers that send forever, or let a client in and then break the protocol.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::feeding::{Feed, LIMIT, message, options};

/// More than all sockets' buffers on the way and what a client may hold.
const MOST: usize = 64 << 20;

/// Reads what has come of a question; whether it ends here does not matter.
fn question(client: &mut TcpStream) {
    let _ = client.read(&mut [0; 1 << 16]);
}

/// Sends `answer`, and then `more` again and again. Returns how many bytes the client has let it send.
fn flood(client: &mut TcpStream, answer: &[u8], more: &[u8]) -> usize {
    let more = more.repeat((1 << 16) / more.len());
    let mut sent = client.write(answer).unwrap_or(0);
    client.set_write_timeout(Some(LIMIT)).unwrap();
    while sent < MOST {
        match client.write(&more) {
            Ok(count) => sent += count,
            Err(e) if e.kind() == ErrorKind::Interrupted => (),
            Err(_) => break,
        }
    }
    sent
}

const INFO: &[u8] =
    b"INFO {\"server_id\":\"x\",\"version\":\"2.10.0\",\"headers\":true,\"max_payload\":1048576}\r\n";

/// As a NATS server that lets everybody in.
fn let_in(client: &mut TcpStream) {
    client.write_all(INFO).unwrap();
    let mut said = Vec::new();
    let mut byte = [0];
    while !said.ends_with(b"PING\r\n") && client.read(&mut byte).is_ok_and(|read| read > 0) {
        said.push(byte[0]);
    }
    let _ = client.write_all(b"PONG\r\n");
}

// Kafka's client reads long answers to their end, but keeps nothing of them.
#[test]
fn a_server_that_sends_for_ever_takes_no_memory() {
    type Server = fn(&mut TcpStream) -> usize;
    let servers: [(&str, &str, Server); 7] = [
        ("redis", "an array without an end", |client| {
            question(client);
            flood(client, b"*1000000000\r\n", b":1\r\n")
        }),
        ("redis", "a long text", |client| {
            question(client);
            flood(client, b"$1000000000\r\n", b"0")
        }),
        ("redis", "arrays in arrays", |client| {
            question(client);
            flood(client, b"", b"*1\r\n")
        }),
        ("nats", "a line without an end", |client| flood(client, b"INFO {\"server_id\":\"", b"x")),
        ("nats", "a long message", |client| {
            let_in(client);
            question(client);
            flood(client, b"MSG x 1 1000000000\r\n", b"0")
        }),
        ("mqtt", "a long packet", |client| {
            question(client);
            client.write_all(&[0x20, 2, 0, 0]).unwrap();
            question(client);
            flood(client, &[0x30, 0xff, 0xff, 0xff, 0x7f], b"0")
        }),
        ("http", "a long body", |client| {
            question(client);
            flood(client, b"HTTP/1.1 503 No\r\nContent-Length: 100000000000\r\n\r\n", b"0")
        }),
    ];
    let servers = servers.map(|(scheme, what, server)| {
        std::thread::spawn(move || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let uri = format!("{scheme}://{}/x", listener.local_addr().unwrap());
            let mut feed = Feed::start(&options(&uri));
            feed.push(message(0));
            let sent = server(&mut listener.accept().unwrap().0);
            assert!(sent < MOST, "{scheme}, {what}: it has let {sent} bytes come");
        })
    });
    servers.into_iter().for_each(|server| server.join().unwrap());
}

#[test]
fn a_server_that_breaks_the_protocol_is_asked_again_less_and_less_often() {
    type Server = fn(&mut TcpStream);
    let servers: [(&str, Server); 2] = [
        ("nats", |client| {
            let_in(client);
            let _ = client.write_all(b"nonsense\r\n");
        }),
        ("redis", |client| {
            question(client);
            let _ = client.write_all(b"nonsense\r\n");
        }),
    ];
    for (scheme, server) in servers {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("{scheme}://{}/x", listener.local_addr().unwrap());
        let mut feed = Feed::start(&options(&uri));
        feed.push(message(0));
        let mut first = None;
        for _ in 0..5 {
            server(&mut listener.accept().unwrap().0);
            first.get_or_insert_with(Instant::now);
        }
        // At least half of 0.1, 0.2, 0.4 and 0.8 s.
        let took = first.unwrap().elapsed();
        assert!(took >= Duration::from_millis(700), "{scheme}: five connections in {took:?}");
    }
}
