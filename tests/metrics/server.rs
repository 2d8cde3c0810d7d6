//! The server with every kind of bytes that may come to a port.

use std::io::{Read, Write};
use std::net::TcpStream;

use cudainfer_tests::{TestPipeline, until, within};
use gst::prelude::*;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use rustix::net::{AddressFamily, SocketType, connect, socket};

use crate::client::{ask, page, send};
use crate::server;

#[test]
fn pages_that_are_none_and_methods_that_are_not_answered_are_refused() {
    for (method, path, status) in [
        ("GET", "/", 200),
        ("GET", "/metrics?collect[]=x", 200),
        ("GET", "/nowhere", 404),
        ("GET", "/metrics/", 404),
        ("POST", "/metrics", 405),
        ("DELETE", "/status", 405),
    ] {
        let answer = ask(server(), method, path);
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        assert!(!answer.body.is_empty());
    }
    let head = ask(server(), "HEAD", "/metrics");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

#[test]
fn garbage_and_connections_that_say_nothing_leave_the_server_as_it_was() {
    // A request that stays open and is never finished.
    let silent: Vec<_> = (0..50)
        .map(|n| {
            let mut connection = TcpStream::connect(server()).unwrap();
            connection.write_all(&b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Long: "[..n % 40]).unwrap();
            connection
        })
        .collect();
    let long = [b"GET /".as_slice(), &[b'a'; 100_000], b" HTTP/1.0\r\n\r\n"].concat();
    let many = [b"GET / HTTP/1.0\r\n".as_slice(), &b"X: y\r\n".repeat(10_000), b"\r\n"].concat();
    for garbage in [
        b"\r\n\r\n".as_slice(),
        b"\0\0\0\0\0\0\0\0",
        b"GET\r\n\r\n",
        b"GET /metrics HTTP/9.9\r\n\r\n",
        b"GET /metrics HTTP/1.0\r\nContent-Length: -1\r\n\r\n",
        b"GET /metrics HTTP/1.0\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /metrics HTTP/1.0\r\nContent-Length: 1000000\r\n\r\nshort",
        b"\xff\xfe\xfd /metrics HTTP/1.0\r\n\r\n",
        b"GET http://[::1 HTTP/1.0\r\n\r\n",
        b"GET /metrics HTTP/1.0\r\n: nothing\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        &long,
        &many,
    ] {
        let garbage = garbage.to_vec();
        let server = server();
        within(move || send(server, &garbage, true));
        assert!(page(server).contains("cudainfer_build_info"));
    }
    drop(silent);
    assert!(page(server()).contains("cudainfer_build_info"));
}

/// A connection with a small buffer, whose client does not read.
fn deaf() -> TcpStream {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    set_socket_recv_buffer_size(&socket, 4096).unwrap();
    connect(&socket, &server()).unwrap();
    TcpStream::from(socket)
}

#[test]
fn who_does_not_read_an_answer_does_not_hold_up_others() {
    let mut deaf: Vec<_> = (0..4).map(|_| deaf()).collect();
    for connection in &mut deaf {
        // More answers than the sockets' buffers hold.
        let _ = connection.write_all(&b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200));
    }
    let server = server();
    // The first requests may be answered before those of the other connections are stuck.
    within(move || (0..20).for_each(|_| assert!(page(server).contains("cudainfer_build_info"))));
    drop(deaf);
}

#[test]
fn many_ask_at_once_while_frames_flow() {
    server();
    let pipeline = TestPipeline::start("videotestsrc name=camera ! tracker ! fakesink");
    pipeline.set_property("name", "asked");
    // A frame counts when its call has returned.
    until("a frame is counted", || page(server()).contains("cudainfer_frames_total"));
    let askers: Vec<_> = (0..8)
        .map(|n| {
            std::thread::spawn(move || {
                for _ in 0..20 {
                    match n % 3 {
                        0 => assert_eq!(ask(server(), "GET", "/status").status, 200),
                        1 => drop(crate::client::health(server())),
                        _ => assert!(page(server()).contains("cudainfer_frames_total")),
                    }
                }
            })
        })
        .collect();
    within(move || askers.into_iter().for_each(|asker| asker.join().unwrap()));
    pipeline.stop();
}

#[test]
fn a_connection_is_kept_for_the_next_question() {
    let mut connection = TcpStream::connect(server()).unwrap();
    for _ in 0..3 {
        connection.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        let mut byte = [0];
        while !answer.ends_with(b"}\n") {
            connection.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        assert!(String::from_utf8_lossy(&answer).contains("\"status\""), "{answer:?}");
    }
}
