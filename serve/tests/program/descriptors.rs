//! A process that gets no more file descriptors: it answers, its streams go on, and streams that could not begin begin later.

use std::fs::read_dir;
use std::io::{Read, Write};
use std::net::TcpStream;

use cudainfer_tests::LIMIT;
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};

use crate::service::Service;

const TEXT: &str = "[server]\nlisten = \"127.0.0.1:0\"\n[restart]\nfirst = 0.1\nlongest = 0.1\n\
                    [pipeline.plain]\nline = \"identity\"\n\
                    [[source]]\nname = \"plays\"\nuri = \"test://ball?width=64&height=48\"\npipeline = \"plain\"\n";

/// Sends a request on a connection that stays open. Returns the connection and the begin of the answer.
fn ask(address: &str, request: &str, body: &str) -> (TcpStream, String) {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(LIMIT)).unwrap();
    let size = body.len();
    write!(connection, "{request} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {size}\r\n\r\n{body}")
        .unwrap();
    let mut answer = [0; 4096];
    let count = connection.read(&mut answer).unwrap();
    (connection, String::from_utf8_lossy(&answer[..count]).into_owned())
}

/// Sets how many file descriptors a process may have.
fn set_limit(process: Pid, most: u64) {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    prlimit(Some(process), Resource::Nofile, Rlimit { current: Some(most), maximum }).unwrap();
}

#[test]
fn without_descriptors_http_is_answered_and_a_stream_waits_until_there_are_some() {
    let mut service = Service::start(TEXT);
    service.logs("'plays': playing", 1);
    let line = service.logs("control and page are at http://", 1);
    let address = line.split_once("http://").unwrap().1.trim_end_matches('/').to_owned();
    let idle: Vec<_> = (0..16).map(|_| ask(&address, "GET /livez", "")).collect();
    assert!(idle.iter().all(|(_, answer)| answer.starts_with("HTTP/1.1 200 ")));
    let process = service.pid();
    let open = read_dir(format!("/proc/{}/fd", process.as_raw_nonzero())).unwrap().count();
    set_limit(process, u64::try_from(open).unwrap());
    let source = r#"{"name": "comes", "uri": "test://ball?width=64&height=48", "pipeline": "plain"}"#;
    let (_, added) = ask(&address, "POST /v1/streams", source);
    assert!(added.starts_with("HTTP/1.1 201 "), "{added}");
    service.logs("'comes': waiting", 1);
    service.logs("file descriptors left: expected more than", 1);
    for _ in 0..8 {
        let (_, answer) = ask(&address, "GET /livez", "");
        assert!(answer.starts_with("HTTP/1.1 200 "), "an idle connection gives way: {answer}");
    }
    set_limit(process, 1024);
    service.logs("'comes': playing", 1);
    assert_eq!(service.count("'plays': waiting"), 0, "a stream that plays goes on");
    service.signal(Signal::TERM);
    assert_eq!(service.ends().code(), Some(0));
}
