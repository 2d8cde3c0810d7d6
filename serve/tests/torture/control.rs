//! The HTTP server.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use cudainfer_serve::config::Config;
use cudainfer_serve::control::Listener;
use cudainfer_serve::fleet::Fleet;
use cudainfer_tests::scratch;
use cudainfer_torture::{Ran, Scenario, Seam, torture};

use super::logged::new_lines;

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// What is asked for in a run, each on a connection of its own.
const PATHS: [&str; 3] = ["/livez", "/v1/streams", "/"];

/// A client whose own calls do not fail: its thread was started before any that is made to.
struct Client {
    addresses: Sender<(SocketAddr, &'static str)>,
    answers: Receiver<Result<(), String>>,
}

impl Client {
    fn start() -> Self {
        let ((addresses, asked), (tell, answers)) = (channel::<(SocketAddr, &str)>(), channel());
        std::thread::spawn(move || {
            asked.iter().try_for_each(|(address, path)| {
                tell.send(get(address, path).map_err(|e| format!("{path}: {e}")))
            })
        });
        Self { addresses, answers }
    }

    fn get(&self, address: SocketAddr, path: &'static str) -> Result<(), String> {
        self.addresses.send((address, path)).unwrap();
        self.answers.recv().unwrap()
    }
}

fn get(address: SocketAddr, path: &str) -> Result<(), std::io::Error> {
    let mut connection = TcpStream::connect(address)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    write!(connection, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer)?;
    let good = answer.starts_with(b"HTTP/1.1 200 ");
    let text = String::from_utf8_lossy(&answer).lines().next().unwrap_or("nothing").to_owned();
    if good { Ok(()) } else { Err(std::io::Error::other(text)) }
}

struct Control {
    client: Client,
}

impl Scenario for Control {
    fn name(&self) -> &'static str {
        "control"
    }

    /// No threads: tokio keeps the descriptors of a runtime forever that had none for blocking work, and the process has one server.
    fn seams(&self) -> &'static [Seam] {
        &[Seam::Socket, Seam::Accept]
    }

    fn prepare(&mut self, _: &Path) {
        cudainfer_tests::init();
        new_lines();
    }

    fn run(&mut self) -> Ran {
        let mut ran = Ran::default();
        let text = "[server]\nlisten = \"127.0.0.1:0\"\n[restart]\nfirst = 0.1\nlongest = 0.2\n\
                    [pipeline.plain]\nline = \"identity\"\n\
                    [[source]]\nname = \"stays\"\nuri = \"test://ball?width=64&height=48&rate=50\"\npipeline = \"plain\"\n";
        let config = Config::read(text, Path::new("serve.toml")).unwrap_or_else(|wrong| panic!("{wrong}"));
        let listener = match Listener::open(&config.server) {
            Ok(listener) => listener,
            Err(why) => {
                ran.errors.push(why.to_string());
                return ran;
            }
        };
        let fleet = match Fleet::start(config, channel().0) {
            Ok(fleet) => fleet,
            Err(wrong) => {
                ran.errors.push(wrong.to_string());
                ran.remarks.append(&mut new_lines());
                return ran;
            }
        };
        match listener.serve(fleet.clone()) {
            Ok(server) => {
                let answers: Vec<_> = PATHS.map(|path| self.client.get(server.address(), path)).into();
                ran.complete = answers.iter().all(Result::is_ok);
                ran.remarks.extend(answers.into_iter().filter_map(Result::err));
                fleet.drain();
                server.stop(Duration::from_secs(5));
            }
            Err(why) => {
                ran.errors.push(why.to_string());
                fleet.drain();
            }
        }
        drop(fleet);
        ran.remarks.append(&mut new_lines());
        ran
    }

    fn settle(&mut self) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn requests_are_answered_in_spite_of_a_fault_or_the_log_names_it() {
    torture(Control { client: Client::start() }, &scratch("torture-control"));
}
