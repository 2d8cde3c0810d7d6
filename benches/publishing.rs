//! What publishing costs: frames per second with each destination, beside the same pipeline without inferpublish, in turns:
//!
//!     cargo bench -p cudainfer-tests --bench publishing [-- ROUNDS [FRAMES]]
//!
//! The pipeline is detection and tracking of the demo's video on the CPU, as fast as it goes. Brokers are Debian's mosquitto,
//! redis-server and nats-server, started here, on loopback; a line says where one is missing. One line a destination: the median
//! of the ratios to the run before it without inferpublish, the slowest and fastest ratio, and what became of the records. Leave
//! the machine alone while it runs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use cudainfer_tests::{Line, fetched, scratch, until};
use gst::prelude::*;

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (rounds, frames) = (numbers.first().copied().unwrap_or(5), numbers.get(1).copied().unwrap_or(300));
    let folder = scratch("publishing");
    let mut brokers = Vec::new();
    let mut destinations = vec![
        ("file".to_owned(), format!("location={}", folder.join("out.jsonl").display())),
        ("unix".to_owned(), format!("location=unix:{}", socket(&folder).display())),
        ("http".to_owned(), format!("location=http://127.0.0.1:{}/", webhook())),
    ];
    for (name, scheme, program) in
        [("mqtt", "mqtt", "mosquitto"), ("redis", "redis", "redis-server"), ("nats", "nats", "nats-server")]
    {
        match broker(program, &folder) {
            Some((child, port)) => {
                brokers.push(child);
                destinations.push((name.to_owned(), format!("location={scheme}://127.0.0.1:{port}/cams")));
            }
            None => println!("{name}: no {program} here"),
        }
    }
    for (name, location) in destinations.clone().into_iter().skip(1) {
        let spool = folder.join(format!("spool-{name}"));
        destinations.push((format!("{name}, spool"), format!("{location} spool={}", spool.display())));
    }
    println!(
        "{rounds} rounds of {frames} frames, {} build, {} cores",
        if cfg!(debug_assertions) { "debug" } else { "release" },
        std::thread::available_parallelism().unwrap()
    );
    run("", frames);
    for (name, location) in &destinations {
        let mut ratios = Vec::new();
        let (mut without, mut with) = (Vec::new(), Vec::new());
        let mut records = String::new();
        for _ in 0..rounds {
            let (bare, _) = run("", frames);
            let (published, became) = run(&format!("! inferpublish name=publish {location}"), frames);
            ratios.push(published / bare);
            without.push(bare);
            with.push(published);
            records = became;
        }
        for values in [&mut ratios, &mut without, &mut with] {
            values.sort_by(f64::total_cmp);
        }
        let middle = |values: &[f64]| values[values.len() / 2];
        println!(
            "{name}: {:.1} % ({:.1} to {:.1}), {:.1} frames/s without, {:.1} with; {records}",
            100.0 * middle(&ratios),
            100.0 * ratios[0],
            100.0 * ratios[ratios.len() - 1],
            middle(&without),
            middle(&with)
        );
    }
    for mut child in brokers {
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Frames per second from the first frame to the last, and the counts of the records.
fn run(publish: &str, frames: usize) -> (f64, String) {
    let line = Line::new(&format!(
        "filesrc location={} ! decodebin ! identity eos-after={} ! videoconvert ! fusedpreproc ! trtinfer model={} ! gpunms \
         ! tracker {publish} ! fakesink name=out sync=false",
        fetched("video/vtest.avi"),
        frames + 1,
        fetched("models/nanodet.onnx")
    ));
    let times = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&times);
    line.watch("out", move |_, _| own.lock().unwrap().push(Instant::now()));
    line.pipeline.set_state(gst::State::Playing).unwrap();
    line.wait().succeeds();
    let times = std::mem::take(&mut *times.lock().unwrap());
    let seconds = times[times.len() - 1].duration_since(times[0]).as_secs_f64();
    let mut became = String::new();
    if let Some(publish) = line.pipeline.by_name("publish") {
        let count = |field: &str| publish.property::<gst::Structure>("stats").get::<u64>(field).unwrap();
        if publish.property::<String>("location").contains(':') {
            until("all acknowledged", || {
                count("waiting") == 0 && count("acknowledged") + count("dropped") >= count("frames")
            });
        }
        let fields = ["frames", "written", "acknowledged", "dropped", "failed"];
        became = fields.map(|field| format!("{} {field}", count(field))).join(", ");
    }
    line.stop();
    ((times.len() - 1) as f64 / seconds, became)
}

/// A broker on a port of its own.
fn broker(program: &str, folder: &Path) -> Option<(Child, u16)> {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let path = ["/usr/sbin", "/usr/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(program))
        .find(|path| path.exists())?;
    let mut command = Command::new(path);
    match program {
        "mosquitto" => command.args(["-p", &port.to_string()]),
        "redis-server" => command.args(["--bind", "127.0.0.1", "--save", "", "--port", &port.to_string()]),
        _ => command
            .args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"])
            .arg(folder.join("jetstream")),
    };
    let child = command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    until(program, || TcpStream::connect(("127.0.0.1", port)).is_ok());
    Some((child, port))
}

/// A Unix socket that is read.
fn socket(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
        }
    });
    path
}

/// A webhook that takes everything.
fn webhook() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let (mut seen, mut bytes) = (Vec::new(), [0; 65_536]);
                while let Ok(count @ 1..) = stream.read(&mut bytes) {
                    seen.extend(&bytes[..count]);
                    while let Some(end) = whole_request(&seen) {
                        seen.drain(..end);
                        stream.write_all(b"HTTP/1.1 204 Taken\r\n\r\n").unwrap();
                    }
                }
            });
        }
    });
    port
}

/// Where the first request ends, if all of it is there.
fn whole_request(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length =
        text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok())?;
    (bytes.len() >= head + length).then_some(head + length)
}
