//! Streams and a server in this process.

use std::path::Path;
use std::sync::mpsc::channel;

use cudainfer_serve::config::Config;
use cudainfer_serve::control::{Listener, Server};
use cudainfer_serve::fleet::Fleet;
use cudainfer_tests::{model, until};
use serde_json::{Value, json};

/// A detector that finds one object in each frame, a tracker and zones.
pub(crate) fn configuration(server: &str) -> String {
    configuration_of("count", server)
}

/// The same with another name of the pipeline, which is also the name of its model's instance in this process.
pub(crate) fn configuration_of(pipeline: &str, server: &str) -> String {
    format!(
        "[server]\nlisten = '127.0.0.1:0'\n{server}\n\
         [pipeline.{pipeline}]\nline = '''fusedpreproc device=cpu ! trtinfer model={{model}} device=cpu \
         ! gpunms ! tracker ! zonecount units=fraction'''\nset = {{ model = '{}' }}\n\
         [pipeline.plain]\nline = 'identity'\n\
         [[source]]\nname = 'door'\npipeline = '{pipeline}'\nuri = 'test://red?width=320&height=240&rate=15'\n\
         zones = [{{ name = 'all', kind = 'polygon', points = [[0, 0], [1, 0], [1, 1], [0, 1]] }}]\nzone-units = 'fraction'\n",
        model("detector")
    )
}

/// A fleet and its server, which run until this value is dropped.
pub(crate) struct Service {
    pub(crate) fleet: Fleet,
    pub(crate) server: Option<Server>,
    pub(crate) url: String,
}

impl Service {
    pub(crate) fn start(text: &str) -> Self {
        Self::of(|| Config::read(text, Path::new("serve.toml")).unwrap())
    }

    /// The same of a file, which can be read again.
    pub(crate) fn start_file(file: &Path) -> Self {
        Self::of(|| Config::load(file).unwrap())
    }

    fn of(config: impl FnOnce() -> Config) -> Self {
        cudainfer_tests::init();
        let config = config();
        let listener = Listener::open(&config.server).unwrap();
        let fleet = Fleet::start(config, channel().0).unwrap();
        let server = listener.serve(fleet.clone()).unwrap();
        let url = server.url().trim_end_matches('/').to_owned();
        Self { fleet, server: Some(server), url }
    }

    /// Gives the stream `door` zones of these names, each the whole frame: its object enters those that are new.
    #[track_caller]
    pub(crate) fn enter(&self, names: &[&str]) {
        let polygon = |name: &&str| json!({"name": name, "kind": "polygon", "points": [[0, 0], [1, 0], [1, 1], [0, 1]]});
        let zones: Vec<_> = names.iter().map(polygon).collect();
        let zones = json!({"units": "fraction", "zones": zones});
        let answer = send("PUT", &format!("{}/v1/streams/door/zones", self.url), &zones);
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    /// Waits until some more frames of a stream have come.
    #[track_caller]
    pub(crate) fn goes_on(&self, stream: &str) {
        let frames = || get(&format!("{}/v1/streams/{stream}", self.url)).json()["frames"].as_u64().unwrap();
        let before = frames();
        until("frames go on", || frames() > before + 10);
    }

    /// Waits until a stream plays and has a frame.
    pub(crate) fn plays(&self, name: &str) {
        until("the stream plays", || self.fleet.last_sample(name).is_some());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.fleet.drain();
        if let Some(server) = self.server.take() {
            server.stop(std::time::Duration::from_secs(5));
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

/// Sends a request with any method and headers.
pub(crate) fn ask(method: &str, url: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Answer {
    let config = ureq::Agent::config_builder().http_status_as_error(false).allow_non_standard_methods(true);
    let agent: ureq::Agent = config.build().into();
    let mut request = ureq::http::Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut answer = match body {
        Some(body) => agent.run(request.body(body).unwrap()),
        None => agent.run(request.body(()).unwrap()),
    }
    .unwrap_or_else(|e| panic!("{method} {url}: {e}"));
    let headers = answer.headers().clone();
    let kind = headers.get("content-type").map(|v| v.to_str().unwrap().to_owned()).unwrap_or_default();
    Answer { status: answer.status().as_u16(), kind, headers, body: answer.body_mut().read_to_vec().unwrap() }
}

/// Sends a request with a body of JSON.
pub(crate) fn send(method: &str, url: &str, body: &Value) -> Answer {
    ask(method, url, &[("content-type", "application/json")], Some(body.to_string().as_bytes()))
}

/// Sends a GET request.
pub(crate) fn get(url: &str) -> Answer {
    ask("GET", url, &[], None)
}
