//! Clients of brokers that are not there: messages wait in the spool, whatever a client cannot do.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use cudainfer_tests::scratch;
use cudainfer_torture::{Ran, Scenario, Seam, torture};

use super::pipeline::{FRAMES, Publishing, init};

struct Away {
    name: &'static str,
    /// A URI without its port.
    location: &'static str,
    spool: PathBuf,
    publishing: Option<Publishing>,
}

impl Scenario for Away {
    fn name(&self) -> &'static str {
        self.name
    }

    fn seams(&self) -> &'static [Seam] {
        &[Seam::Thread, Seam::Socket, Seam::Connect]
    }

    fn prepare(&mut self, folder: &Path) {
        init();
        self.spool = folder.join("spool");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        self.publishing = Some(Publishing::new(&format!(
            "videotestsrc num-buffers={FRAMES} ! video/x-raw,width=16,height=16 \
             ! inferpublish name=publish leaky=no location={} spool={} ! fakesink",
            self.location.replace("PORT", &port.to_string()),
            self.spool.display()
        )));
    }

    fn run(&mut self) -> Ran {
        self.publishing.as_mut().unwrap().run()
    }

    fn settle(&mut self) -> Result<(), String> {
        std::fs::remove_dir_all(&self.spool).map_err(|e| e.to_string())?;
        self.publishing.as_mut().unwrap().settle(|_| u64::MAX)
    }
}

fn run(name: &'static str, location: &'static str) {
    torture(Away { name, location, spool: PathBuf::new(), publishing: None }, &scratch("torture-away"));
}

#[test]
fn a_client_of_mqtt_that_has_no_thread_is_tried_again() {
    run("mqtt", "mqtt://127.0.0.1:PORT/records");
}

#[test]
fn a_client_of_kafka_that_has_no_thread_is_tried_again() {
    run("kafka", "kafka://127.0.0.1:PORT/records");
}

#[test]
fn a_client_of_http_that_has_no_thread_is_tried_again() {
    run("http", "http://localhost:PORT/records");
}
