//! Debian's brokers, as processes.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::feeding::{id_of, until};
use crate::free_port::free_port;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Mosquitto,
    Redis,
    Nats,
}

pub const ALL: [Kind; 3] = [Kind::Mosquitto, Kind::Redis, Kind::Nats];

/// The broker's options.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// User and password.
    pub login: Option<(String, String)>,
    /// Certificate of the authority, of the broker, and its key; clients need a certificate.
    pub tls: Option<[PathBuf; 3]>,
}

/// A broker that runs, with its data in a folder. Dropping it kills it.
pub struct Broker {
    pub kind: Kind,
    pub port: u16,
    guard: Guard,
    folder: TempDir,
    child: Option<Child>,
}

/// The program, also where a user's PATH has no sbin.
fn program(name: &str) -> Command {
    let found = ["/usr/sbin", "/usr/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.exists());
    Command::new(found.unwrap_or_else(|| panic!("{name} is missing: run scripts/test, which installs it")))
}

impl Broker {
    pub fn new(kind: Kind, guard: Guard) -> Self {
        Self { kind, port: free_port(), guard, folder: tempfile::tempdir().unwrap(), child: None }
    }

    pub fn started(kind: Kind) -> Self {
        let mut broker = Self::new(kind, Guard::default());
        broker.start();
        broker
    }

    /// Where its data lies.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn location(&self) -> String {
        self.location_at(self.port)
    }

    pub fn location_at(&self, port: u16) -> String {
        let secure = if self.guard.tls.is_some() { "s" } else { "" };
        let scheme = match self.kind {
            Kind::Mosquitto => "mqtt",
            Kind::Redis => "redis",
            Kind::Nats => "nats",
        };
        format!("{scheme}{secure}://localhost:{port}/cams.front")
    }

    /// Starts it, or starts it again with the data that it has.
    pub fn start(&mut self) {
        let folder = self.folder.path().to_owned();
        let mut command = match self.kind {
            Kind::Mosquitto => self.mosquitto(&folder),
            Kind::Redis => self.redis(&folder),
            Kind::Nats => self.nats(&folder),
        };
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let child = command
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn();
        self.child = Some(child.unwrap());
        let port = self.port;
        until(&format!("{:?} listens", self.kind), || {
            if let Some(status) = self.child.as_mut().unwrap().try_wait().unwrap() {
                panic!(
                    "{:?} ended: {status}: {}",
                    self.kind,
                    std::fs::read_to_string(folder.join("log")).unwrap()
                );
            }
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
    }

    fn mosquitto(&self, folder: &Path) -> Command {
        let mut text =
            format!("listener {} 127.0.0.1\nmax_queued_messages 0\nset_tcp_nodelay true\n", self.port);
        match &self.guard.login {
            // Its password is wrong for everybody: the hash is of nothing.
            Some(_) => text += "allow_anonymous false\n",
            None => text += "allow_anonymous true\n",
        }
        if let Some([ca, cert, key]) = &self.guard.tls {
            let [ca, cert, key] = [ca, cert, key].map(|path| path.display());
            text += &format!("cafile {ca}\ncertfile {cert}\nkeyfile {key}\nrequire_certificate true\n");
        }
        if rustix::process::getuid().is_root() {
            text += "user root\n";
        }
        std::fs::write(folder.join("mosquitto.conf"), text).unwrap();
        let mut command = program("mosquitto");
        command.args(["-c", "mosquitto.conf"]);
        command
    }

    fn redis(&self, folder: &Path) -> Command {
        let mut command = program("redis-server");
        // With `everysec` it answers up to two seconds before it writes, where the disk is busy; a killed process loses that.
        command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "yes", "--appendfsync", "no"]);
        match &self.guard.tls {
            None => command.args(["--port", &self.port.to_string()]),
            Some([ca, cert, key]) => command
                .args(["--port", "0", "--tls-port", &self.port.to_string(), "--tls-ca-cert-file"])
                .arg(ca)
                .arg("--tls-cert-file")
                .arg(cert)
                .arg("--tls-key-file")
                .arg(key),
        };
        if let Some((user, password)) = &self.guard.login {
            let users = format!("user {user} on >{password} ~* +@all\nuser default off\n");
            std::fs::write(folder.join("users"), users).unwrap();
            command.args(["--aclfile", "users"]);
        }
        command
    }

    fn nats(&self, folder: &Path) -> Command {
        let mut command = program("nats-server");
        command
            .args(["-a", "127.0.0.1", "-p", &self.port.to_string(), "-js", "-sd"])
            .arg(folder.join("jetstream"));
        if let Some([ca, cert, key]) = &self.guard.tls {
            command
                .arg("--tls")
                .arg("--tlscert")
                .arg(cert)
                .arg("--tlskey")
                .arg(key)
                .arg("--tlscacert")
                .arg(ca)
                .arg("--tlsverify");
        }
        if let Some((user, password)) = &self.guard.login {
            command.args(["--user", user, "--pass", password]);
        }
        command
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.as_ref().unwrap().id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    /// Holds it up, with its connections open.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
    }

    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// Kills it at once, with SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Makes a stream for the subject, where the broker wants that.
    pub fn make_stream(&self) {
        if self.kind == Kind::Nats {
            jetstream(self.port, async |context| {
                let config = async_nats::jetstream::stream::Config {
                    name: "cams".into(),
                    subjects: vec!["cams.>".into()],
                    ..Default::default()
                };
                context.create_stream(config).await.unwrap();
            });
        }
    }

    /// Removes that stream with all that it has.
    pub fn remove_stream(&self) {
        jetstream(self.port, async |context| {
            context.delete_stream("cams").await.unwrap();
        });
    }

    /// The ids of what the broker has stored, in its order.
    pub fn stored(&self) -> Vec<String> {
        match self.kind {
            Kind::Redis => {
                let client = redis::Client::open(("127.0.0.1".to_owned(), self.port));
                let mut connection = client.unwrap().get_connection().unwrap();
                let mut range = || -> redis::RedisResult<redis::streams::StreamRangeReply> {
                    redis::cmd("XRANGE").arg("cams.front").arg("-").arg("+").query(&mut connection)
                };
                // One that has just started may still be reading its data.
                let is_loading =
                    |e: &redis::RedisError| e.kind() == redis::ServerErrorKind::BusyLoading.into();
                let mut found = range();
                until("Redis has its data", || {
                    let loading = found.as_ref().is_err_and(is_loading);
                    if loading {
                        found = range();
                    }
                    !loading
                });
                let entries = found.unwrap();
                let text = |value: &redis::Value| redis::from_redis_value_ref::<String>(value).unwrap();
                entries.ids.iter().map(|entry| text(&entry.map["id"])).collect()
            }
            Kind::Nats => jetstream(self.port, async |context| {
                let stream = context.get_stream("cams").await.unwrap();
                let last = stream.get_info().await.unwrap().state.last_sequence;
                let mut ids = Vec::new();
                for place in 1..=last {
                    ids.push(id_of(&stream.get_raw_message(place).await.unwrap().payload));
                }
                ids
            }),
            Kind::Mosquitto => panic!("an MQTT broker stores nothing: subscribe"),
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn jetstream<T>(port: u16, work: impl AsyncFnOnce(async_nats::jetstream::Context) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(format!("nats://127.0.0.1:{port}")).await.unwrap();
        work(async_nats::jetstream::new(client)).await
    })
}

/// Collects the ids of all messages that an MQTT broker at `port` publishes, from when this returns until the broker ends.
pub fn subscribe(port: u16, to: &Arc<Mutex<Vec<String>>>) {
    let mut options = rumqttc::MqttOptions::new(format!("sub{port}"), "127.0.0.1", port);
    options.set_keep_alive(Duration::from_secs(60)).set_max_packet_size(1 << 20, 1 << 20);
    let (client, mut connection) = rumqttc::Client::new(options, 10);
    // Written to the socket before the message is acknowledged; what is sent at least once waits in the broker for those before
    // it, and is lost with a broker that is killed.
    client.subscribe("#", rumqttc::QoS::AtMostOnce).unwrap();
    let (ready, wait) = std::sync::mpsc::channel();
    let to = Arc::clone(to);
    std::thread::spawn(move || {
        let _client = client;
        let take = |event| match event {
            rumqttc::Event::Incoming(rumqttc::Packet::SubAck(_)) => ready.send(()).unwrap(),
            rumqttc::Event::Incoming(rumqttc::Packet::Publish(message)) => {
                to.lock().unwrap().push(id_of(&message.payload));
            }
            _ => (),
        };
        connection.iter().map_while(Result::ok).for_each(&take);
        // What was read together with the end of the connection is not handed out before the end.
        connection.eventloop.state.events.drain(..).for_each(take);
    });
    wait.recv_timeout(crate::feeding::LIMIT).unwrap();
}
