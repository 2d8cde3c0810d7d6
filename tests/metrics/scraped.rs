//! A real Prometheus that scrapes the server, asked by its own HTTP API.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use cudainfer_tests::{TestPipeline, free_port, root, scratch, until};
use gst::prelude::*;
use serde_json::Value;

use crate::client::send;
use crate::{dashboard, server};

/// A program of Debian's package prometheus: on the PATH, or where scripts/test puts it. Without it, a test is skipped, unless
/// everything must be tested.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let fetched = root().join(".cache/prometheus");
    let found = std::env::split_paths(&path)
        .chain([fetched])
        .map(|folder| folder.join(name))
        .find(|file| file.is_file());
    if found.is_none() {
        assert!(
            std::env::var_os("CUDAINFER_TEST_ALL").is_none(),
            "{name} is not installed: run scripts/test, which fetches it"
        );
        eprintln!("skipped: {name} is not installed (Debian's package prometheus; scripts/test fetches it)");
    }
    found
}

/// A Prometheus that scrapes the server of this process; stopped when dropped.
struct Prometheus {
    process: Child,
    address: SocketAddr,
}

impl Prometheus {
    fn start() -> Option<Self> {
        let program = program("prometheus")?;
        let folder = scratch("prometheus");
        let config = folder.join("prometheus.yml");
        // As docs/metrics.md has it, but more often.
        let text = format!(
            "scrape_configs:\n  - job_name: cudainfer\n    scrape_interval: 1s\n    scrape_timeout: 1s\n    \
             static_configs:\n      - targets: ['{}']\n",
            server()
        );
        std::fs::write(&config, text).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let process = Command::new(program)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .args(["--log.level=error", "--storage.tsdb.retention.time=1h"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Some(Self { process, address })
    }

    /// The values of a query; `None` while Prometheus does not answer.
    fn query(&self, query: &str) -> Option<Result<Vec<f64>, Value>> {
        let escaped: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        std::net::TcpStream::connect(self.address).ok()?;
        let request = format!("GET /api/v1/query?query={escaped} HTTP/1.0\r\n\r\n");
        let answer = String::from_utf8(send(self.address, request.as_bytes(), false)).unwrap();
        let answer: Value = serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()?;
        if answer["status"] != "success" {
            return Some(Err(answer));
        }
        let results = answer["data"]["result"].as_array().unwrap().iter();
        Some(Ok(results.filter_map(|result| result["value"][1].as_str()?.parse().ok()).collect()))
    }

    /// Waits until a query has a value that fits.
    fn until(&self, query: &str, mut wanted: impl FnMut(f64) -> bool) {
        until(
            query,
            || matches!(self.query(query), Some(Ok(values)) if values.iter().any(|value| wanted(*value))),
        );
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn prometheus_scrapes_a_running_pipeline_and_understands_every_query_of_the_dashboard() {
    let Some(prometheus) = Prometheus::start() else { return };
    let pipeline = TestPipeline::new(
        "videotestsrc name=camera is-live=true ! tracker name=track ! queue ! fakesink name=sink",
    );
    pipeline.set_property("name", "scraped");
    let _ = pipeline.set_state(gst::State::Playing);
    let sink = "{pipeline=\"scraped\",element=\"sink\",stream=\"camera\"}";
    prometheus.until("up{job=\"cudainfer\"}", |up| up == 1.0);
    prometheus.until(&format!("cudainfer_frames_total{sink}"), |frames| frames > 5.0);
    prometheus.until(&format!("rate(cudainfer_frames_total{sink}[5s])"), |rate| rate > 0.0);
    let quantile = format!("histogram_quantile(0.95, rate(cudainfer_latency_seconds_bucket{sink}[5s]))");
    prometheus.until(&quantile, |latency| latency > 0.0 && latency < 10.0);
    prometheus.until("cudainfer_streams{pipeline=\"scraped\",state=\"live\"}", |streams| streams == 1.0);
    for query in dashboard::queries() {
        let query = query.replace("$__rate_interval", "5s").replace("$pipeline", ".*");
        match prometheus.query(&query) {
            Some(Ok(_)) => (),
            other => panic!("{query}: {other:?}"),
        }
    }
    // A stream that has ended is stale at once, and not shown as if it went on.
    pipeline.stop();
    until(
        "the stream is gone",
        || matches!(prometheus.query(&format!("cudainfer_frames_total{sink}")), Some(Ok(values)) if values.is_empty()),
    );
}
