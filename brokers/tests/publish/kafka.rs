//! Kafka: a cluster that librdkafka mocks, in a Python process, with a gate before it for TLS and logins.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use cudainfer_brokers::{Counts, Options, TlsFiles, broker};
use rustix::process::{Pid, Signal, kill_process};

use crate::access::{Certificates, certificates, login};
use crate::feeding::{Feed, assert_all_in_order, options, spooled, until};

struct Cluster {
    child: Child,
    says: BufReader<ChildStdout>,
    address: String,
}

impl Cluster {
    /// With a gate of these options, where there are any.
    fn start(gate: &[&str]) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let python =
            std::env::var_os("CUDAINFER_TEST_PYTHON").map_or(root.join(".venv/bin/python"), PathBuf::from);
        let mut child = Command::new(python)
            .arg(root.join("brokers/tests/publish/kafka_cluster.py"))
            .args(gate)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("scripts/test makes .venv");
        let mut says = BufReader::new(child.stdout.take().unwrap());
        let mut address = String::new();
        says.read_line(&mut address).unwrap();
        assert!(address.contains(':'), "confluent-kafka is missing: run scripts/test, which installs it");
        Self { child, says, address: address.trim().to_owned() }
    }

    fn ask(&mut self, question: &str) -> serde_json::Value {
        writeln!(self.child.stdin.as_mut().unwrap(), "{question}").unwrap();
        let mut line = String::new();
        self.says.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn stored(&mut self, partition: usize) -> Vec<String> {
        serde_json::from_value(self.ask(&format!("stored cams {partition}"))).unwrap()
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_message_reaches_one_partition_in_order_though_the_cluster_stops() {
    let mut cluster = Cluster::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let mut feed = Feed::start(&spooled(
        &format!("kafka://{}/cams?partition=2", cluster.address),
        folder.path(),
        1 << 20,
    ));
    feed.feed(400);
    cluster.signal(Signal::STOP);
    feed.feed(800);
    cluster.signal(Signal::CONT);
    feed.feed(1000);
    feed.settle();
    assert_all_in_order(cluster.stored(2), 1000, "partition 2");
    assert!(cluster.stored(0).is_empty());
}

#[test]
fn a_partition_that_there_is_not_is_said() {
    let cluster = Cluster::start(&[]);
    let mut feed = Feed::start(&options(&format!("kafka://{}/cams?partition=99", cluster.address)));
    assert_eq!(feed.offer(10), 0);
    until("the reason", || feed.has_said("partition 99"));
}

#[test]
fn each_kind_of_login_that_librdkafka_gets_in_with_lets_messages_through_and_a_wrong_password_none() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = Cluster::start(&["--login", "me", "secret7"]);
    let location = |sasl: &str| format!("kafka://{}/cams?partition=1{sasl}", cluster.address);
    let kinds = [
        ("PLAIN", location("")),
        ("SCRAM-SHA-256", location("&sasl=scram-sha-256")),
        ("SCRAM-SHA-512", location("&sasl=scram-sha-512")),
    ];
    let mut expected = Vec::new();
    for (mechanism, location) in kinds {
        // The gate is our own: another client tells whether it is right.
        assert_eq!(cluster.ask(&format!("login {mechanism} me secret7")), true, "{mechanism}");
        assert_eq!(cluster.ask(&format!("login {mechanism} me wrong-one")), false, "{mechanism}");
        let with =
            |password| Options { credentials: Some(login(folder.path(), password)), ..options(&location) };
        let mut refused = Feed::start(&with("wrong-one"));
        let said = format!("{} {:?}", refused.refusal(), refused.said.lock().unwrap());
        assert!(said.contains("refuses the login") && !said.contains("wrong-one"), "{said}");
        let mut feed = Feed::start(&with("secret7"));
        feed.feed(100);
        feed.settle();
        expected.extend((0..100).map(|number| format!("m{number}")));
        assert_eq!(cluster.stored(1), expected, "{mechanism}");
    }
}

#[test]
fn a_cluster_over_tls_takes_messages_only_with_the_right_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let [right, wrong] = ["right", "wrong"].map(|name| certificates(folder.path(), name));
    let files = [&right.ca, &right.cert, &right.key].map(|file| file.to_str().unwrap());
    let mut cluster = Cluster::start(&[&["--tls"], &files[..], &["--login", "me", "secret7"]].concat());
    assert_eq!(cluster.ask("login SCRAM-SHA-512 me secret7"), true, "the gate is wrong");
    let how = |ca: &Certificates, own: &Certificates| Options {
        tls: TlsFiles { ca: Some(ca.ca.clone()), cert: Some(own.cert.clone()), key: Some(own.key.clone()) },
        credentials: Some(login(folder.path(), "secret7")),
        ..options(&format!("kafkas://{}/cams?sasl=scram-sha-512", cluster.address))
    };
    let said = Feed::start(&how(&wrong, &right)).refusal();
    assert!(said.contains("UnknownIssuer"), "{said}");
    // What the cluster says of our certificate is its own business.
    Feed::start(&how(&right, &wrong)).refusal();
    let mut feed = Feed::start(&how(&right, &right));
    feed.feed(100);
    feed.settle();
    assert_all_in_order(cluster.stored(0), 100, "partition 0");
}

#[test]
fn a_way_to_log_in_without_a_login_is_said() {
    let how = options("kafka://127.0.0.1:1/cams?sasl=scram-sha-256");
    let said = broker(&how, &Arc::<Counts>::default(), |_| ()).err().unwrap().to_string();
    assert!(said.contains("no user and password") && said.contains("Set credentials"), "{said}");
}

#[test]
fn a_cluster_that_takes_other_kinds_of_logins_says_which_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::start(&["--login", "me", "secret7", "--mechanism", "SCRAM-SHA-256"]);
    let credentials = Some(login(folder.path(), "secret7"));
    let how = Options { credentials, ..options(&format!("kafka://{}/cams", cluster.address)) };
    let said = Feed::start(&how).refusal();
    assert!(said.contains("?sasl=scram-sha-256") && !said.contains("secret7"), "{said}");
}
