//! Cameras: gst-rtsp-server in processes of their own, each with a relay before it that can fail as a network does.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cudainfer_tests::free_port;
use rustix::process::{Pid, Signal, kill_process};

/// What the relay does with the bytes from the camera.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
pub(crate) enum Network {
    /// Passes them on.
    Works,
    /// Keeps connections open, and passes nothing on.
    Cut,
    /// Writes noise in their place.
    Garbage,
}

/// A camera.
pub(crate) struct Camera {
    process: Child,
    port: u16,
    relay: u16,
    network: Arc<AtomicU8>,
    connections: Arc<Mutex<Vec<TcpStream>>>,
}

impl Camera {
    pub(crate) fn start() -> Self {
        let port = free_port();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = listener.local_addr().unwrap().port();
        let network = Arc::new(AtomicU8::new(Network::Works as u8));
        let connections = Arc::<Mutex<Vec<TcpStream>>>::default();
        let (own, open) = (Arc::clone(&network), Arc::clone(&connections));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // If there is no camera, the client's connection ends.
                let Ok(camera) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                open.lock().unwrap().extend([client.try_clone().unwrap(), camera.try_clone().unwrap()]);
                let (to_camera, from_client) = (camera.try_clone().unwrap(), client.try_clone().unwrap());
                let always = Arc::new(AtomicU8::new(Network::Works as u8));
                std::thread::spawn(move || copy(from_client, to_camera, &always));
                let network = Arc::clone(&own);
                std::thread::spawn(move || copy(camera, client, &network));
            }
        });
        Self { process: spawn(port), port, relay, network, connections }
    }

    /// The address of the relay, by which the service reaches it.
    pub(crate) fn uri(&self) -> String {
        format!("rtsp://127.0.0.1:{}/video", self.relay)
    }

    /// The port from which the service gets its packets.
    pub(crate) fn relay_port(&self) -> u16 {
        self.relay
    }

    pub(crate) fn set_network(&self, network: Network) {
        self.network.store(network as u8, Ordering::Relaxed);
    }

    /// Ends it at once, as a loss of power does.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts it again on the same port.
    pub(crate) fn start_again(&mut self) {
        self.process = spawn(self.port);
    }

    /// Sends it SIGSTOP or SIGCONT.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }
}

impl Drop for Camera {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        for connection in self.connections.lock().unwrap().drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

/// Starts the program with the system's Python, which has GStreamer's bindings; returns when it listens.
fn spawn(port: u16) -> Child {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cameras/camera.py");
    let mut process = Command::new("/usr/bin/python3")
        .arg(program)
        .arg(port.to_string())
        .env_remove("GST_TRACERS")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(
        line, "ready\n",
        "the camera does not start: run scripts/setup, which installs gir1.2-gst-rtsp-server-1.0"
    );
    process
}

fn copy(mut from: TcpStream, mut to: TcpStream, network: &AtomicU8) {
    let mut bytes = vec![0; 1 << 16];
    let mut noise: u8 = 1;
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let state = network.load(Ordering::Relaxed);
        if state == Network::Cut as u8 {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        }
        if state == Network::Garbage as u8 {
            for byte in &mut bytes[..count] {
                noise = noise.wrapping_mul(77).wrapping_add(13);
                *byte ^= noise;
            }
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
