//! The cost of publishing: frames per second with each destination of inferpublish, in turns with the same pipeline without it.
//! `scripts/bench --publishing` runs it and makes a table of what it prints; alone it is
//!
//!     cargo bench -p cudainfer-benches --bench publishing [-- ROUNDS [SECONDS]]
//!
//! The pipeline is detection and tracking of the demo's video on the CPU, as fast as it goes, for as many frames that a run takes
//! about SECONDS. Brokers are Debian's mosquitto, redis-server and nats-server, and librdkafka's mock of a Kafka cluster, started
//! here, on loopback; a line names each that is missing. Each run prints one line of JSON. Leave the machine alone while it runs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use cudainfer_tests::{TestPipeline, fetched, root, scratch, until};
use gst::prelude::*;
use serde_json::json;

/// Destinations between two runs without one.
const BETWEEN: usize = 3;

fn main() {
    let numbers: Vec<f64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let rounds = numbers.first().map_or(3, |number| *number as usize);
    let seconds = numbers.get(1).copied().unwrap_or(5.0);
    let folder = scratch("publishing");
    let mut brokers = Brokers(Vec::new());
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
                brokers.0.push(child);
                destinations.push((name.to_owned(), format!("location={scheme}://127.0.0.1:{port}/cams")));
            }
            None => eprintln!("{name}: no {program} here"),
        }
    }
    match cluster() {
        Some((child, address)) => {
            brokers.0.push(child);
            destinations.push(("kafka".to_owned(), format!("location=kafka://{address}/cams")));
        }
        None => eprintln!("kafka: .venv has no confluent-kafka: scripts/setup brokers installs it"),
    }
    for (name, location) in destinations.clone().into_iter().skip(1) {
        let spool = folder.join(format!("spool-{name}"));
        destinations.push((format!("{name}, spool"), format!("{location} spool={}", spool.display())));
    }
    // The first run warms up, and shows how fast this machine is.
    let speed = run("", 50)["fps"].as_f64().unwrap();
    let frames = ((speed * seconds) as usize).clamp(30, 700);
    let setup = json!({"frames": frames, "build": if cfg!(debug_assertions) { "debug" } else { "release" }});
    println!("{setup}");
    for round in 0..rounds {
        for (place, (name, location)) in destinations.iter().enumerate() {
            if place % BETWEEN == 0 {
                print(round, "none", run("", frames));
            }
            print(round, name, run(&format!("! inferpublish name=publish {location}"), frames));
        }
        print(round, "none", run("", frames));
    }
}

/// Prints the results of a run.
fn print(round: usize, destination: &str, mut result: serde_json::Value) {
    result["round"] = round.into();
    result["destination"] = destination.into();
    println!("{result}");
}

/// Brokers that are killed when the benchmark ends, whatever becomes of it.
struct Brokers(Vec<Child>);

impl Drop for Brokers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// CPU time of this process so far, of all threads, in seconds.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The fields after the name in brackets, which may have anything in it.
    let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: f64 = [11, 12].map(|field| fields[field].parse::<f64>().unwrap()).iter().sum();
    ticks / 100.0
}

/// Frames per second from the first frame to the last, CPU time of a frame in ms, and the counts of the records.
fn run(publish: &str, frames: usize) -> serde_json::Value {
    let pipeline = TestPipeline::new(&format!(
        "filesrc location={} ! decodebin ! identity eos-after={} ! videoconvert ! fusedpreproc ! trtinfer model={} ! gpunms \
         ! tracker {publish} ! fakesink name=out sync=false",
        fetched("video/vtest.avi"),
        frames + 1,
        fetched("models/nanodet.onnx")
    ));
    let times = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&times);
    pipeline.watch("out", move |_, _| own.lock().unwrap().push((Instant::now(), cpu())));
    pipeline.set_state(gst::State::Playing).unwrap();
    pipeline.wait().succeeds();
    let times = std::mem::take(&mut *times.lock().unwrap());
    let ((first, first_cpu), (last, last_cpu)) = (times[0], times[times.len() - 1]);
    let intervals = (times.len() - 1) as f64;
    let mut result = json!({
        "fps": intervals / last.duration_since(first).as_secs_f64(),
        "cpu_ms": 1000.0 * (last_cpu - first_cpu) / intervals,
    });
    if let Some(publish) = pipeline.by_name("publish") {
        let count = |field: &str| publish.property::<gst::Structure>("stats").get::<u64>(field).unwrap();
        if publish.property::<String>("location").contains(':') {
            until("all acknowledged", || {
                count("waiting") == 0 && count("acknowledged") + count("dropped") >= count("frames")
            });
        }
        for field in ["frames", "written", "acknowledged", "dropped", "failed"] {
            result[field] = count(field).into();
        }
    }
    pipeline.stop();
    result
}

/// A Kafka cluster, and its address.
fn cluster() -> Option<(Child, String)> {
    let mut child = Command::new(root().join(".venv/bin/python"))
        .arg(root().join("brokers/tests/publish/kafka_cluster.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut address = String::new();
    BufReader::new(child.stdout.take()?).read_line(&mut address).ok()?;
    if !address.contains(':') {
        let _ = child.wait();
        return None;
    }
    Some((child, address.trim().to_owned()))
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
