//! More connections than there may be, of misbehaving clients: another client is answered all the same.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use cudainfer_serve::resources;
use cudainfer_tests::{LIMIT, scratch, until};

use crate::certificates::certificates;
use crate::service::{Service, configuration, get};

/// More connections than the server keeps of one address.
const MANY: usize = 200;

/// The most connections that the server keeps of one address.
const MOST_OF_ONE_ADDRESS: usize = 128;

/// More than the buffers of a connection hold.
const BUFFERED: u64 = 32 << 20;

const STREAMS: &[u8] = b"GET /v1/streams HTTP/1.1\r\nhost: localhost\r\n\r\n";

fn start(server: &str) -> Service {
    // This process has both ends of all connections, also those of tests that run at the same time.
    resources::raise_limit();
    Service::start(&configuration(server))
}

pub(crate) fn connect(url: &str) -> TcpStream {
    let stream = TcpStream::connect(url.split_once("://").unwrap().1).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

/// Connects and sends bytes. The server may have closed the connection meanwhile.
fn send(url: &str, bytes: &[u8]) -> TcpStream {
    let mut connection = connect(url);
    let _ = connection.write_all(bytes);
    connection
}

/// Whether a connection without bytes to read is open.
fn is_open(connection: &TcpStream) -> bool {
    connection.set_nonblocking(true).unwrap();
    let read = (&mut &*connection).read(&mut [0]);
    connection.set_nonblocking(false).unwrap();
    read.is_err_and(|e| e.kind() == ErrorKind::WouldBlock)
}

/// The head of the answer.
fn head(connection: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        connection.read_exact(&mut byte).unwrap();
        head.extend_from_slice(&byte);
    }
    String::from_utf8(head).unwrap()
}

#[track_caller]
fn only_the_youngest_stay(mut connections: Vec<TcpStream>) {
    let young = connections.split_off(MANY - MOST_OF_ONE_ADDRESS);
    until("the oldest are closed", || !connections.iter().any(is_open));
    drop(young);
}

#[test]
fn idle_connections_and_those_with_half_a_head_give_way_to_others() {
    let service = start("");
    let asked = |_| {
        let mut connection = send(&service.url, b"HEAD /livez HTTP/1.1\r\nhost: localhost\r\n\r\n");
        assert!(head(&mut connection).starts_with("HTTP/1.1 200 "));
        connection
    };
    let floods: [&dyn Fn(usize) -> TcpStream; 4] = [
        &|_| connect(&service.url),
        &|n| send(&service.url, &STREAMS[..1 + n % (STREAMS.len() - 1)]),
        &|_| {
            send(
                &service.url,
                b"POST /v1/streams HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\n{",
            )
        },
        &asked,
    ];
    for flood in floods {
        let connections: Vec<_> = (0..MANY).map(flood).collect();
        for path in ["/livez", "/v1/streams"] {
            assert_eq!(get(&format!("{}{path}", service.url)).status, 200);
        }
        only_the_youngest_stay(connections);
    }
}

#[test]
fn connections_in_the_handshake_give_way_to_others() {
    let folder = scratch("handshakes");
    certificates(&folder);
    let file = |name: &str| folder.join(name).display().to_string();
    let service = start(&format!("tls-cert = '{}'\ntls-key = '{}'", file("server.pem"), file("server.key")));
    let connections: Vec<_> = (0..MANY).map(|_| send(&service.url, b"\x16\x03\x01")).collect();
    let url = format!("{}/livez", service.url);
    assert_eq!(crate::secured::curl(&folder, &url, &[]), "{\"status\":\"ok\"} 200");
    only_the_youngest_stay(connections);
}

/// A service with a recording of `size` bytes, and its path.
fn with_a_recording(name: &str, size: u64) -> (Service, String) {
    let state = scratch(name);
    let folder = state.join("kept/recordings/door");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::File::create(folder.join("long.mp4")).unwrap().set_len(size).unwrap();
    (start(&format!("state = '{}'", state.display())), "/v1/streams/door/recordings/long.mp4".to_owned())
}

#[test]
fn an_answer_that_is_read_slowly_comes_whole_beside_a_flood() {
    let (service, path) = with_a_recording("slow", BUFFERED);
    let mut slow = send(&service.url, format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes());
    assert!(head(&mut slow).contains(&format!("content-length: {BUFFERED}\r\n")));
    let connections: Vec<_> = (0..2 * MANY).map(|_| connect(&service.url)).collect();
    assert_eq!(get(&format!("{}/livez", service.url)).status, 200);
    drop(connections);
    let mut rest = slow.take(BUFFERED);
    assert_eq!(std::io::copy(&mut rest, &mut std::io::sink()).unwrap(), BUFFERED);
}

#[test]
fn clients_that_never_read_hold_some_requests_and_no_health() {
    let (service, path) = with_a_recording("unread", 1 << 30);
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let unread = |_| send(&service.url, request.as_bytes());
    // A request counts once the server has read it. Only then does its connection outlast those that come after it.
    let mut first = unread(0);
    assert!(head(&mut first).starts_with("HTTP/1.1 200 "));
    let others: Vec<_> = (1..MANY).map(unread).collect();
    let streams = format!("{}/v1/streams", service.url);
    assert_eq!(get(&format!("{}/livez", service.url)).status, 200);
    until("as many requests are under way as there may be", || get(&streams).status == 503);
    assert!(get(&streams).error().contains("too many requests are under way"));
    let more = std::io::copy(&mut (&first).take(BUFFERED), &mut std::io::sink()).unwrap();
    assert_eq!(more, BUFFERED, "the first is being answered");
    assert_eq!(get(&format!("{}/livez", service.url)).status, 200);
    drop((first, others));
    until("the requests of those that have gone have ended", || get(&streams).status == 200);
}
