//! Kafka: a cluster that librdkafka mocks, in a Python process.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::feeding::{Feed, first_of_each, options, spooled, until};

/// Prints the address of its cluster; for each line that it reads it prints the ids of what has arrived, in order.
const CLUSTER: &str = r#"
import sys, json, confluent_kafka as kafka
producer = kafka.Producer({"test.mock.num.brokers": 1, "log_level": 0})
broker = next(iter(producer.list_topics(timeout=30).brokers.values()))
address = f"{broker.host}:{broker.port}"
print(address, flush=True)
for line in sys.stdin:
    consumer = kafka.Consumer({"bootstrap.servers": address, "group.id": "test"})
    partition = kafka.TopicPartition("cams", int(line), 0)
    _, end = consumer.get_watermark_offsets(partition, timeout=30)
    consumer.assign([partition])
    ids = []
    while len(ids) < end:
        message = consumer.poll(30)
        ids.append(dict(message.headers())["id"].decode())
        assert json.loads(message.value())["id"] == ids[-1]
    consumer.close()
    print(json.dumps(ids), flush=True)
"#;

struct Cluster {
    child: Child,
    says: BufReader<ChildStdout>,
    address: String,
}

impl Cluster {
    fn start() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let python =
            std::env::var_os("CUDAINFER_TEST_PYTHON").map_or(root.join(".venv/bin/python"), PathBuf::from);
        let mut child = Command::new(python)
            .args(["-c", CLUSTER])
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

    fn stored(&mut self, partition: usize) -> Vec<String> {
        writeln!(self.child.stdin.as_mut().unwrap(), "{partition}").unwrap();
        let mut line = String::new();
        self.says.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
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
    let mut cluster = Cluster::start();
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
    assert_eq!(first_of_each(cluster.stored(2)), (0..1000).collect::<Vec<_>>());
    assert!(cluster.stored(0).is_empty());
}

#[test]
fn a_partition_that_there_is_not_is_said() {
    let cluster = Cluster::start();
    let mut feed = Feed::start(&options(&format!("kafka://{}/cams?partition=99", cluster.address)));
    assert_eq!(feed.offer(10).unwrap(), 0);
    until("the reason", || feed.said.lock().unwrap().iter().any(|said| said.contains("partition 99")));
}
