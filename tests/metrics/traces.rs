//! Spans of sampled frames, as a collector gets them, and servers that are no collectors.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use cudainfer_tests::{free_port, model, scratch};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::processes::launch;

/// What a collector does with a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answers {
    /// Accepts it.
    Well,
    /// Accepts all spans but two.
    Refusing,
    Status(u16),
    /// Answers with something that is no HTTP.
    Garbage,
    /// Answers with a web page, with status 200.
    Page,
    /// Does not answer.
    Never,
    /// Closes the connection.
    Closing,
}

/// The head and the body of each request.
type Requests = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// A collector, and the requests that it has got.
struct Collector {
    address: SocketAddr,
    requests: Requests,
}

/// A connection, encrypted or not.
trait Connection: Read + Write + Send {}
impl<T: Read + Write + Send> Connection for T {}

impl Collector {
    fn start(answers: Answers) -> Self {
        Self::with(answers, |stream| Box::new(stream))
    }

    /// A collector that reads and writes through what `wrap` makes of a connection.
    fn with(answers: Answers, wrap: impl Fn(TcpStream) -> Box<dyn Connection> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::<Mutex<Vec<_>>>::default();
        let got = requests.clone();
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for connection in listener.incoming() {
                let mut connection = wrap(connection.unwrap());
                match answers {
                    Answers::Never => {
                        open.push(connection);
                        continue;
                    }
                    Answers::Closing => continue,
                    _ => (),
                }
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && connection.read_exact(&mut byte).is_ok() {
                    head.push(byte[0]);
                }
                let head = String::from_utf8(head).unwrap();
                let length = head
                    .to_lowercase()
                    .split_once("content-length: ")
                    .map_or(0, |(_, rest)| rest.split("\r\n").next().unwrap().parse().unwrap());
                let mut body = vec![0; length];
                connection.read_exact(&mut body).unwrap();
                got.lock().unwrap().push((head, body));
                let with = |status: u16, body: &[u8]| {
                    let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n", body.len());
                    [head.as_bytes(), body].concat()
                };
                let answer = match answers {
                    Answers::Status(status) => with(status, b"no"),
                    Answers::Garbage => b"\x16\x03\x01 what?\r\n\r\n".to_vec(),
                    Answers::Page => with(200, b"<html>Welcome</html>"),
                    Answers::Refusing => {
                        let partial_success = Some(ExportTracePartialSuccess {
                            rejected_spans: 2,
                            error_message: "too\nmany".into(),
                        });
                        with(200, &ExportTraceServiceResponse { partial_success }.encode_to_vec())
                    }
                    _ => with(200, b""),
                };
                let _ = connection.write_all(&answer);
            }
        });
        Self { address, requests }
    }

    /// All spans that it has got.
    fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        for (head, body) in self.requests.lock().unwrap().iter() {
            assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
            assert!(head.to_lowercase().contains("content-type: application/x-protobuf"), "{head}");
            let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
            for resource in request.resource_spans {
                let attributes = resource.resource.unwrap().attributes;
                assert_eq!(text(&attributes, "service.name"), "tested");
                for scope in resource.scope_spans {
                    assert_eq!(scope.scope.unwrap().name, "cudainfer");
                    spans.extend(scope.spans);
                }
            }
        }
        spans
    }
}

fn value<'a>(attributes: &'a [KeyValue], key: &str) -> &'a Value {
    let found = attributes.iter().find(|attribute| attribute.key == key);
    let found = found.unwrap_or_else(|| panic!("no {key} in {attributes:?}"));
    found.value.as_ref().unwrap().value.as_ref().unwrap()
}

fn text(attributes: &[KeyValue], key: &str) -> String {
    let Value::StringValue(text) = value(attributes, key) else { panic!("{key} in {attributes:?}") };
    text.clone()
}

fn integer(span: &Span, key: &str) -> i64 {
    let Value::IntValue(number) = value(&span.attributes, key) else { panic!("{key} in {span:?}") };
    *number
}

fn float(span: &Span, key: &str) -> f64 {
    let Value::DoubleValue(number) = value(&span.attributes, key) else { panic!("{key} in {span:?}") };
    *number
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos().try_into().unwrap()
}

/// The spans of each trace by their names: none occurs twice.
fn traces(spans: Vec<Span>) -> BTreeMap<Vec<u8>, BTreeMap<String, Span>> {
    let ids: BTreeSet<_> = spans.iter().map(|span| span.span_id.clone()).collect();
    assert_eq!(ids.len(), spans.len(), "ids occur once");
    let mut traces = BTreeMap::<_, BTreeMap<_, _>>::new();
    for span in spans {
        assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
        let trace = traces.entry(span.trace_id.clone()).or_default();
        let name = span.name.clone();
        assert!(trace.insert(name.clone(), span).is_none(), "{name} twice");
    }
    traces
}

#[test]
fn a_sampled_frame_is_a_trace_from_its_first_element_to_the_sink() {
    let collector = Collector::start(Answers::Well);
    let description = format!(
        "videotestsrc name=camera num-buffers=8 pattern=red ! video/x-raw,framerate=10/1 ! fusedpreproc name=pre device=cpu \
         ! trtinfer name=infer model={} device=cpu batch-size=4 batch-timeout=3600000000000 max-in-flight=8 ! gpunms name=nms \
         ! queue name=queue ! tracker name=track ! fakesink name=sink async=false",
        model("detector-batch")
    );
    let before = now();
    let output = launch(&format!("otlp=http://{},sample=2", collector.address), &description)
        .env("OTEL_SERVICE_NAME", "tested")
        .env_remove("GST_DEBUG")
        .output()
        .unwrap();
    let after = now();
    assert!(output.status.success() && cudainfer_tests::complaints(&output).is_empty(), "{output:?}");

    let traces = traces(collector.spans());
    let mut numbers = BTreeSet::new();
    let mut runs = BTreeMap::<_, Vec<_>>::new();
    for trace in traces.values() {
        let root = &trace["frame"];
        assert!(root.parent_span_id.is_empty());
        assert_eq!(text(&root.attributes, "cudainfer.stream"), "camera");
        assert_eq!(value(&root.attributes, "cudainfer.frame.arrived"), &Value::BoolValue(true));
        let number = integer(root, "cudainfer.frame.number");
        let time = float(root, "cudainfer.frame.running_time");
        assert!((time - number as f64 / 10.0).abs() < 1e-6, "{time}");
        numbers.insert(number);

        let wanted = [
            ("pre", Some("capsfilter0")),
            ("infer", Some("pre")),
            ("infer run", None),
            ("nms", None),
            ("queue", Some("nms")),
            ("track", None),
            ("sink", Some("track")),
            ("capsfilter0", None),
        ];
        let names: BTreeSet<_> = trace.keys().map(String::as_str).collect();
        assert_eq!(names, wanted.iter().map(|(name, _)| *name).chain(["frame"]).collect());
        for (name, parent) in wanted {
            let (span, parent) = (&trace[name], &trace[parent.unwrap_or("frame")]);
            assert_eq!(span.parent_span_id, parent.span_id, "{name} in {}", parent.name);
            assert!(span.start_time_unix_nano < span.end_time_unix_nano, "{span:?}");
            let inside = parent.start_time_unix_nano..=parent.end_time_unix_nano;
            assert!(inside.contains(&span.start_time_unix_nano), "{span:?} in {parent:?}");
            assert!(inside.contains(&span.end_time_unix_nano), "{span:?} in {parent:?}");
            if name != "infer run" {
                let took = (span.end_time_unix_nano - span.start_time_unix_nano) as f64 / 1e9;
                let own = float(span, "cudainfer.own_seconds");
                assert!(own > 0.0 && own <= took + 1e-9, "{own} of {took}");
            }
        }
        assert_eq!(root.start_time_unix_nano, trace["capsfilter0"].start_time_unix_nano);
        assert_eq!(Some(root.end_time_unix_nano), trace.values().map(|span| span.end_time_unix_nano).max());
        assert!(before <= root.start_time_unix_nano && root.end_time_unix_nano <= after);
        let ends = |name: &str| trace[name].end_time_unix_nano;
        assert!(ends("infer run") <= trace["nms"].start_time_unix_nano, "its results are decoded after it");

        let run = &trace["infer run"];
        assert_eq!(integer(run, "cudainfer.run.frames"), 4);
        runs.entry(integer(run, "cudainfer.run.number")).or_default().push((root, run));
    }
    assert_eq!(numbers, BTreeSet::from([0, 2, 4, 6]), "one frame in two");
    assert_eq!(runs.len(), 2, "two batches");
    for shared in runs.values() {
        let [(a, in_a), (b, in_b)] = shared.as_slice() else {
            panic!("two of each batch are sampled: {shared:?}")
        };
        for (run, other) in [(in_a, b), (in_b, a)] {
            let [link] = run.links.as_slice() else { panic!("{run:?}") };
            assert_eq!((&link.trace_id, &link.span_id), (&other.trace_id, &other.span_id));
        }
        assert_eq!(in_a.start_time_unix_nano.abs_diff(in_b.start_time_unix_nano) / 1_000_000_000, 0);
    }
}

#[test]
fn a_frame_that_two_branches_get_has_the_calls_of_both() {
    let collector = Collector::start(Answers::Well);
    let description = "videotestsrc num-buffers=3 ! tee name=tee ! queue name=a ! fakesink name=sink-a \
                tee. ! queue name=b ! fakesink name=sink-b";
    let output = launch(&format!("otlp=http://{},sample=1", collector.address), description)
        .env("OTEL_SERVICE_NAME", "tested")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let traces = traces(collector.spans());
    assert_eq!(traces.len(), 3);
    for trace in traces.values() {
        let names: Vec<_> = trace.keys().map(String::as_str).collect();
        assert_eq!(names, ["a", "b", "frame", "sink-a", "sink-b", "tee"]);
        for (name, parent) in [("a", "tee"), ("b", "tee"), ("sink-a", "frame"), ("sink-b", "frame")] {
            assert_eq!(trace[name].parent_span_id, trace[parent].span_id, "{name}");
        }
        // The frame ends with its last call, whichever branch that is in.
        let last =
            trace.iter().filter(|(name, _)| *name != "frame").map(|(_, span)| span.end_time_unix_nano).max();
        assert_eq!(Some(trace["frame"].end_time_unix_nano), last);
    }
}

#[test]
fn a_collector_that_is_absent_slow_or_broken_costs_no_frame_and_is_reported() {
    let absent = SocketAddr::from(([127, 0, 0, 1], free_port()));
    for (answers, why) in [
        (None, "Connection refused"),
        (Some(Answers::Status(500)), "HTTP status 500"),
        (Some(Answers::Status(302)), "HTTP status 302"),
        (Some(Answers::Page), "not OTLP"),
        (Some(Answers::Garbage), "because"),
        (Some(Answers::Closing), "because"),
        (Some(Answers::Never), "not sent yet"),
        (Some(Answers::Refusing), "toomany"),
    ] {
        let address = answers.map_or(absent, |answers| Collector::start(answers).address);
        let json = scratch("json").join("a.json").display().to_string();
        let options = format!("otlp=http://me:secret@{address},sample=1,json={json}");
        let description =
            "videotestsrc num-buffers=2000 ! video/x-raw,width=16,height=16 ! identity ! queue ! fakesink";
        let output = launch(&options, description).env_remove("GST_DEBUG").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{answers:?}: {said}");
        let report: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
        assert_eq!(report["frames"], 2000, "{answers:?}");
        let warnings: Vec<_> = said.lines().filter(|line| line.starts_with("cudainfer: WARNING")).collect();
        assert!(warnings.iter().any(|line| line.contains(why)), "{answers:?}: {said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[test]
fn what_is_no_url_or_no_number_is_a_sentence_and_the_pipeline_runs() {
    for (options, why) in [
        ("otlp=nonsense", "does not begin with http://"),
        ("otlp=ftp://127.0.0.1:4318", "does not begin with http://"),
        ("otlp=http://", "is no URL"),
        ("otlp=", "is no URL"),
        ("sample=0,metrics=127.0.0.1:0", "sample=0 is no number of frames above 0"),
    ] {
        let output = launch(options, "videotestsrc num-buffers=3 ! fakesink")
            .env_remove("GST_DEBUG")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let warnings: Vec<_> = said.lines().filter(|line| line.starts_with("cudainfer: WARNING")).collect();
        assert!(warnings.len() == 1 && warnings[0].contains(why), "{options}: {said}");
    }
}

/// A collector with TLS, and the file of its certificate.
fn encrypted() -> (Collector, PathBuf) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let file = scratch("certificate").join("collector.pem");
    std::fs::write(&file, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let wrap = move |stream| -> Box<dyn Connection> {
        Box::new(StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream))
    };
    (Collector::with(Answers::Well, wrap), file)
}

#[test]
fn spans_go_over_https_to_a_collector_whose_certificate_is_trusted_and_to_no_other() {
    for trusted in [true, false] {
        let (collector, file) = encrypted();
        let (_, other) = encrypted();
        let options = format!("otlp=https://localhost:{},sample=1", collector.address.port());
        let output = launch(&options, "videotestsrc num-buffers=3 ! fakesink")
            .env("OTEL_SERVICE_NAME", "tested")
            .env("OTEL_EXPORTER_OTLP_CERTIFICATE", if trusted { file } else { other })
            .env_remove("GST_DEBUG")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        if trusted {
            assert!(said.is_empty(), "{said}");
            assert_eq!(traces(collector.spans()).len(), 3);
        } else {
            assert!(
                said.contains("invalid peer certificate") && said.contains("https://localhost:"),
                "{said}"
            );
            assert!(collector.requests.lock().unwrap().iter().all(|(head, _)| head.is_empty()));
        }
    }
}
