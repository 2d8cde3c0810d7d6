//! openapi.json, compared with the server: every path, method and status that it names exists, every answer fits its schema, and
//! it names every path of the server.

use std::collections::BTreeSet;

use cudainfer_serve::control::{OPENAPI, paths};
use cudainfer_tests::model;
use serde_json::{Value, json};

use crate::fake_camera::{FakeCamera, PASSWORD, USER};
use crate::service::{Answer, Service, ask, configuration_of};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// A pipeline of this test only, because its model changes, and that of the other tests must not.
const PIPELINE: &str = "documented";
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Answers that a test cannot cause at will: for a stream that has not started yet, a picture that fails, a service that is
/// stopping, a model that changes while another one does, a database that cannot be read for a moment, sources that hang, and live video
/// that is not installed or fails.
const NOT_PROVOKED: [&str; 16] = [
    "post /v1/discover 409",
    "post /v1/discover 503",
    "post /v1/discover/profiles 503",
    "get /v1/events 503",
    "get /v1/events/live 503",
    "get /v1/history 503",
    "post /v1/streams/{name}/record 503",
    "get /v1/streams/{name}/snapshot.jpg 500",
    "get /v1/streams/{name}/live.jpg 500",
    "post /v1/test-picture 500",
    "post /v1/test-picture 503",
    "post /v1/test-picture 504",
    "post /v1/streams 503",
    "put /v1/pipelines/{name}/model 503",
    "post /v1/streams/{name}/whep 500",
    "post /v1/streams/{name}/whep 501",
];

/// What a client offers that decodes VP8.
const OFFER: &str = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\n\
    a=recvonly\r\na=rtcp-mux\r\na=setup:actpass\r\na=ice-ufrag:abcd\r\na=ice-pwd:abcdefghijklmnopqrstuv\r\n\
    a=fingerprint:sha-256 19:E2:1C:3B:4B:9F:81:E6:B8:5C:F4:A5:A8:D8:73:04:BB:05:2F:70:9F:04:A9:0E:05:E9:26:33:E8:70:88:A2\r\n\
    a=rtpmap:96 VP8/90000\r\n";

/// The description, and the answers of it that were seen.
struct Description {
    document: Value,
    seen: BTreeSet<String>,
    url: String,
}

impl Description {
    /// Sends a request with the token, and compares the answer with the description.
    fn ask(&mut self, method: &str, path: &str, actual: &str, body: Option<&Value>) -> Answer {
        let headers = [
            ("authorization", "Bearer 0123456789abcdef0123456789abcdef"),
            ("content-type", "application/json"),
        ];
        let text = body.map(Value::to_string);
        let headers = if body.is_some() { &headers[..] } else { &headers[..1] };
        let answer = ask(
            &method.to_uppercase(),
            &format!("{}{actual}", self.url),
            headers,
            text.as_deref().map(str::as_bytes),
        );
        self.compare(method, path, &answer);
        answer
    }

    fn compare(&mut self, method: &str, path: &str, answer: &Answer) {
        let what = format!("{method} {path} {}", answer.status);
        let described = &self.document["paths"][path][method]["responses"][answer.status.to_string()];
        assert!(described.is_object(), "{what} is not documented: {}", String::from_utf8_lossy(&answer.body));
        self.seen.insert(what.clone());
        let Some(content) = described["content"].as_object() else {
            assert!(answer.body.is_empty(), "{what}: a body that is not documented");
            return;
        };
        let kind = answer.kind.split(';').next().unwrap();
        assert!(content.contains_key(kind), "{what}: {kind} is not documented");
        if kind == "application/json" {
            let mut schema = content[kind]["schema"].clone();
            schema["components"] = self.document["components"].clone();
            let validator = jsonschema::validator_for(&schema).unwrap();
            let body = answer.json();
            let wrong: Vec<String> =
                validator.iter_errors(&body).map(|e| format!("{}: {e}", e.instance_path())).collect();
            assert!(wrong.is_empty(), "{what}: {wrong:#?} in {body:#}");
        }
    }
}

/// The path with a name in place of `{name}`.
fn actual(path: &str) -> String {
    let name = if path.contains("pipelines") { PIPELINE } else { "door" };
    path.replace("{name}", name).replace("{file}", "none").replace("{session}", "none")
}

#[test]
fn what_is_documented_is_answered_as_it_is_documented() {
    let folder = cudainfer_tests::scratch("documented");
    std::fs::write(folder.join("token"), TOKEN).unwrap();
    let camera = FakeCamera::good("127.0.0.1", "urn:uuid:1", "Gate");
    let token = format!(
        "token-file = '{0}/token'\nstate = '{0}'\nfiles = '{0}'\nmodels = '{1}'\n{2}",
        folder.display(),
        std::env::temp_dir().display(),
        FakeCamera::key(&[&camera])
    );
    let service = Service::start(&configuration_of(PIPELINE, &token));
    service.plays("door");
    let document: Value = serde_json::from_str(OPENAPI).unwrap();
    let mut api = Description { document: document.clone(), seen: BTreeSet::new(), url: service.url.clone() };

    let named: BTreeSet<&str> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(named, paths().into_iter().collect(), "paths of openapi.json and of the server");
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in METHODS {
            let url = format!("{}{}", service.url, actual(path));
            let Some(operation) = operations.get(method) else {
                let answer =
                    ask(&method.to_uppercase(), &url, &[("authorization", &format!("Bearer {TOKEN}"))], None);
                assert_eq!(answer.status, 405, "{method} {path} is answered, but not documented");
                continue;
            };
            refusals(&mut api, method, path, operation, &url);
        }
    }
    streams(&mut api);
    files(&mut api, &folder);
    history(&mut api);
    models(&mut api);
    let has_video = live_video(&mut api);
    for path in [
        "/",
        "/v1/openapi.json",
        "/status",
        "/metrics",
        "/v1/pipelines",
        "/v1/models",
        "/v1/counts",
        "/v1/configuration.toml",
        "/livez",
    ] {
        api.ask("get", path, path, None);
    }
    for (file, status) in
        [("app.js", 200), ("style.css", 200), ("index.html", 404), ("..%2Fopenapi.json", 404)]
    {
        assert_eq!(api.ask("get", "/page/{file}", &format!("/page/{file}"), None).status, status, "{file}");
    }
    test_pictures(&mut api);
    cameras(&mut api);
    for path in ["/readyz", "/healthz"] {
        assert_eq!(api.ask("get", path, path, None).status, 200);
        let broken = json!({"name": "broken", "uri": "rtsp://127.0.0.1:1/none", "pipeline": "plain"});
        api.ask("post", "/v1/streams", "/v1/streams", Some(&broken));
        if path == "/healthz" {
            api.ask("delete", "/v1/streams/{name}", "/v1/streams/door", None);
        }
        assert_eq!(api.ask("get", path, path, None).status, 503, "{path}");
        api.ask("delete", "/v1/streams/{name}", "/v1/streams/broken", None);
    }

    let mut all = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in METHODS {
            for status in operations[method]["responses"].as_object().into_iter().flat_map(|r| r.keys()) {
                all.insert(format!("{method} {path} {status}"));
            }
        }
    }
    let unseen: Vec<_> = all
        .iter()
        .filter(|what| !api.seen.contains(*what) && !NOT_PROVOKED.contains(&what.as_str()))
        .filter(|what| has_video || !what.contains("/whep"))
        .collect();
    assert!(unseen.is_empty(), "documented, but never answered: {unseen:#?}");
}

/// Requests that every operation refuses: without a token, from another site's page, with a body that is no JSON.
fn refusals(api: &mut Description, method: &str, path: &str, operation: &Value, url: &str) {
    let bearer = format!("Bearer {TOKEN}");
    let token = ("authorization", bearer.as_str());
    let upper = method.to_uppercase();
    let open = operation["security"] == json!([]);
    let is_sdp = !operation["requestBody"]["content"]["application/sdp"].is_null();
    let json = ("content-type", if is_sdp { "application/sdp" } else { "application/json" });
    let mut refuse = |status: u16, headers: &[(&str, &str)], body: Option<&[u8]>| {
        let answer = ask(&upper, url, headers, body);
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        api.compare(method, path, &answer);
    };
    let body = operation.get("requestBody").map(|_| &b"{}"[..]);
    if !open {
        refuse(401, &[json], body);
        refuse(401, &[json, ("authorization", "Bearer 0123456789abcdef0123456789abcdeg")], body);
    }
    refuse(403, &[json, token, ("origin", "https://evil.example")], body);
    if body.is_some() {
        refuse(415, &[token], body);
        refuse(413, &[token, json], Some(&vec![b' '; 300 * 1024]));
        refuse(400, &[token, json], Some(b"{"));
        refuse(400, &[token, json], Some(b"[]"));
    }
}

fn streams(api: &mut Description) {
    let (all, one) = ("/v1/streams", "/v1/streams/{name}");
    let added =
        json!({"name": "second", "uri": "test://ball?width=64&height=64&rate=5", "pipeline": "plain"});
    assert_eq!(api.ask("post", all, all, Some(&added)).json()["kept"], true);
    assert_eq!(api.ask("post", all, all, Some(&added)).status, 409);
    let wrong = json!({"name": "third", "uri": "test://ball", "piplin": "plain"});
    assert!(api.ask("post", all, all, Some(&wrong)).error().contains("'pipeline' is probably meant"));
    let listed = api.ask("get", all, all, None).json();
    assert_eq!(listed["streams"].as_array().unwrap().len(), 2);
    assert_eq!(api.ask("get", one, "/v1/streams/second", None).json()["name"], "second");
    assert_eq!(
        api.ask("patch", one, "/v1/streams/second", Some(&json!({"live": false}))).json()["applied"],
        "restart"
    );
    assert_eq!(api.ask("post", "/v1/streams/{name}/restart", "/v1/streams/second/restart", None).status, 200);

    let zones = "/v1/streams/{name}/zones";
    let here = "/v1/streams/door/zones";
    assert_eq!(api.ask("get", zones, here, None).json()["units"], "fraction");
    let line = json!({"units": "fraction", "zones": [{"name": "l", "kind": "line", "points": [[0.0, 0.5], [1.0, 0.5]]}]});
    assert_eq!(api.ask("put", zones, here, Some(&line)).json()["change"]["applied"], "live");
    let strange = json!({"units": "fraction", "zones": [{"name": "l", "kind": "line", "points": [[0.0, 0.5], [1.0, 0.5]], "colour": 1}]});
    assert_eq!(api.ask("put", zones, here, Some(&strange)).status, 400);

    let picture = "/v1/streams/{name}/snapshot.jpg";
    let jpeg = api.ask("get", picture, "/v1/streams/door/snapshot.jpg?width=160&overlay=false", None);
    assert_eq!(&jpeg.body[..2], b"\xff\xd8", "JPEG's first bytes");
    assert_eq!(api.ask("get", picture, "/v1/streams/door/snapshot.jpg?width=1", None).status, 400);
    assert!(
        api.ask("get", picture, "/v1/streams/door/snapshot.jpg?widht=100", None).error().contains("widht")
    );
    let live = "/v1/streams/{name}/live.jpg";
    let jpeg = api.ask("get", live, "/v1/streams/door/live.jpg?width=160&overlay=true&zones=false", None);
    assert_eq!(&jpeg.body[..2], b"\xff\xd8", "JPEG's first bytes");
    assert_eq!(api.ask("get", live, "/v1/streams/door/live.jpg?width=1921", None).status, 400);
    cudainfer_tests::until("a frame has not changed", || {
        let tag = api.ask("get", live, "/v1/streams/door/live.jpg", None).headers["etag"]
            .to_str()
            .unwrap()
            .to_owned();
        let headers = [("authorization", &*format!("Bearer {TOKEN}")), ("if-none-match", &*tag)];
        let again = ask("GET", &format!("{}/v1/streams/door/live.jpg", api.url), &headers, None);
        api.compare("get", live, &again);
        again.status == 304
    });
    let many = api.ask("get", "/v1/live", "/v1/live?pictures=door,nobody&width=160", None);
    let list = many.body.split(|byte| *byte == b'\n').next().unwrap();
    let list: Value = serde_json::from_slice(list).unwrap();
    assert_eq!((&list[0]["stream"], &list[1]["status"]), (&json!("door"), &json!(404)), "{list}");
    assert_eq!(api.ask("get", "/v1/live", "/v1/live?pictures=door&width=1921", None).status, 400);
    let elements = "/v1/streams/{name}/elements";
    assert_eq!(api.ask("get", elements, "/v1/streams/door/elements", None).status, 200);
    let dead = json!({"name": "dead", "uri": "rtsp://127.0.0.1:1/none", "pipeline": "plain"});
    assert_eq!(api.ask("post", all, all, Some(&dead)).status, 201);
    assert_eq!(api.ask("get", picture, "/v1/streams/dead/snapshot.jpg", None).status, 503);
    assert_eq!(api.ask("get", live, "/v1/streams/dead/live.jpg", None).status, 503);
    for name in ["dead", "second"] {
        assert_eq!(api.ask("delete", one, &format!("/v1/streams/{name}"), None).status, 204);
    }

    for (method, path, body) in [
        ("get", one, None),
        ("patch", one, Some(json!({}))),
        ("delete", one, None),
        ("post", "/v1/streams/{name}/restart", None),
        ("get", zones, None),
        ("put", zones, Some(json!({"zones": []}))),
        ("get", picture, None),
        ("get", live, None),
        ("get", elements, None),
    ] {
        let answer = api.ask(method, path, &path.replace("{name}", "nobody"), body.as_ref());
        assert_eq!(answer.status, 404, "{method} {path}");
        assert!(answer.error().contains("nobody"), "{}", answer.error());
    }

    // DeepStream's messages.
    let message = |change: &str| json!({"key": "sensor", "value": {"camera_id": "ds", "camera_url": "test://ball", "change": change}, "headers": {"source": "vst"}});
    let (add, remove) = ("/api/v1/stream/add", "/api/v1/stream/remove");
    assert_eq!(
        api.ask("post", add, "/api/v1/stream/add?pipeline=plain", Some(&message("camera_add"))).json()["reason"],
        "STREAM_ADD_SUCCESS"
    );
    assert_eq!(
        api.ask("post", add, "/api/v1/stream/add?pipeline=plain", Some(&message("camera_add"))).status,
        409
    );
    assert_eq!(api.ask("post", add, add, Some(&message("camera_remove"))).status, 400);
    assert_eq!(
        api.ask("post", remove, remove, Some(&message("camera_remove"))).json()["reason"],
        "STREAM_REMOVE_SUCCESS"
    );
    assert_eq!(api.ask("post", remove, remove, Some(&message("camera_remove"))).status, 404);
}

/// Live video, if it is possible here; returns whether it is.
fn live_video(api: &mut Description) -> bool {
    let list = api.ask("get", "/v1/streams", "/v1/streams", None).json();
    if list["webrtc"]["missing"].is_string() {
        assert!(
            std::env::var_os("CUDAINFER_TEST_ALL").is_none(),
            "{list}: for_tests=yes scripts/setup installs it"
        );
        return false;
    }
    let (path, one) = ("/v1/streams/{name}/whep", "/v1/streams/{name}/whep/{session}");
    let ask = |api: &mut Description, stream: &str, offer: &str| {
        let headers = [("authorization", &*format!("Bearer {TOKEN}")), ("content-type", "application/sdp")];
        let url = format!("{}/v1/streams/{stream}/whep", api.url);
        let answer = ask("POST", &url, &headers, Some(offer.as_bytes()));
        api.compare("post", path, &answer);
        answer
    };
    let dead = json!({"name": "dead", "uri": "rtsp://127.0.0.1:1/none", "pipeline": "plain"});
    assert_eq!(api.ask("post", "/v1/streams", "/v1/streams", Some(&dead)).status, 201);
    for (stream, offer, status) in [
        ("dead", OFFER, 503),
        ("nobody", OFFER, 404),
        ("door", &OFFER.replace("VP8", "AV1"), 406),
        ("door", &OFFER.replace("m=video", "m=audio"), 400),
    ] {
        let answer = ask(api, stream, offer);
        assert_eq!(answer.status, status, "{stream}: {answer:?}");
    }
    assert_eq!(api.ask("delete", "/v1/streams/{name}", "/v1/streams/dead", None).status, 204);
    let answer = ask(api, "door", OFFER);
    assert_eq!(answer.status, 201, "{answer:?}");
    let here = format!("/v1/streams/door/{}", answer.headers["location"].to_str().unwrap());
    assert_eq!(api.ask("delete", one, &here, None).status, 204);
    assert_eq!(api.ask("delete", one, &here, None).status, 404);
    true
}

fn test_pictures(api: &mut Description) {
    let path = "/v1/test-picture";
    let first = api.ask("post", path, path, Some(&json!({"uri": "test://ball?width=64&height=48&rate=5"})));
    assert_eq!(&first.body[..2], b"\xff\xd8", "JPEG's first bytes");
    let none = api.ask("post", path, path, Some(&json!({"uri": "rtsp://me:secret@127.0.0.1:1/none"})));
    assert_eq!(none.status, 409);
    let why = none.error();
    assert!(!why.contains("secret") && why.contains("127.0.0.1:1/none': connection refused"), "{why}");
    for (uri, source) in [
        ("file:///etc/hostname", json!({})),
        ("v4l2:///dev/null", json!({})),
        ("test://ball", json!({"num-buffers": 1})),
        ("tset://ball", json!({})),
    ] {
        let refused = api.ask("post", path, path, Some(&json!({"uri": uri, "source": source})));
        assert_eq!(refused.status, 400, "{uri}: {refused:?}");
    }
    let strange = api.ask("post", path, path, Some(&json!({"uri": "test://ball", "pipeline": "plain"})));
    assert!(strange.error().contains("pipeline"), "{}", strange.error());
}

fn cameras(api: &mut Description) {
    let (search, videos) = ("/v1/discover", "/v1/discover/profiles");
    let found = api.ask("post", search, search, None).json();
    let xaddr = &found["cameras"][0]["xaddr"];
    for (xaddr, password, status) in
        [(xaddr, PASSWORD, 200), (xaddr, "another", 409), (&json!("http://127.0.0.1:1/"), PASSWORD, 404)]
    {
        let body = json!({"xaddr": xaddr, "user": USER, "password": password});
        assert_eq!(api.ask("post", videos, videos, Some(&body)).status, status, "{body}");
    }
}

fn files(api: &mut Description, folder: &std::path::Path) {
    let video = folder.join("video.mp4");
    let line = format!(
        "videotestsrc num-buffers=100 ! video/x-raw,format=I420,width=64,height=64,framerate=20/1 ! x264enc key-int-max=5 ! h264parse \
         ! mp4mux ! filesink location=\"{}\"",
        video.display()
    );
    cudainfer_tests::run(&line).succeeds();
    let filmed = json!({
        "name": "filmed", "uri": format!("file://{}", video.display()), "loop": true, "pipeline": "plain", "hls": true,
        "record": {"pre": 0.1, "post": 0.2},
    });
    assert_eq!(api.ask("post", "/v1/streams", "/v1/streams", Some(&filmed)).status, 201);
    let (record, list) = ("/v1/streams/{name}/record", "/v1/streams/{name}/recordings");
    assert_eq!(api.ask("post", record, "/v1/streams/door/record", None).status, 409);
    let here = "/v1/streams/filmed/recordings";
    cudainfer_tests::until("a recording begins", || {
        api.ask("post", record, "/v1/streams/filmed/record", None).status == 202
    });
    let mut recordings = json!([]);
    cudainfer_tests::until("a recording is complete", || {
        recordings = api.ask("get", list, here, None).json()["recordings"].clone();
        recordings[0].is_object()
    });
    let (file, size) = (recordings[0]["file"].as_str().unwrap(), recordings[0]["size"].as_u64().unwrap());
    let one = "/v1/streams/{name}/recordings/{file}";
    let sent = api.ask("get", one, &format!("{here}/{file}"), None);
    assert_eq!((sent.status, sent.body.len() as u64, sent.kind.as_str()), (200, size, "video/mp4"));
    let hls = "/v1/streams/{name}/hls/{file}";
    cudainfer_tests::until("HLS has a segment", || {
        let playlist = api.ask("get", hls, "/v1/streams/filmed/hls/index.m3u8", None);
        playlist.status == 200 && String::from_utf8_lossy(&playlist.body).contains(".ts")
    });
    // Files that are not the stream's own are refused.
    for file in ["none", "..%2F..%2Fstreams.json", ".hidden"] {
        assert_eq!(
            api.ask("get", hls, &format!("/v1/streams/filmed/hls/{file}"), None).status,
            404,
            "{file}"
        );
        assert_eq!(api.ask("get", one, &format!("{here}/{file}"), None).status, 404, "{file}");
    }
    for (method, path) in [("post", record), ("get", list)] {
        let path = (path, path.replace("{name}", "nobody"));
        assert_eq!(api.ask(method, path.0, &path.1, None).status, 404);
    }
    assert_eq!(api.ask("delete", "/v1/streams/{name}", "/v1/streams/filmed", None).status, 204);
}

fn models(api: &mut Description) {
    let (path, here) = ("/v1/pipelines/{name}/model", "/v1/pipelines/documented/model");
    let other = cudainfer_tests::scratch("model").join("other.onnx");
    std::fs::copy(model("detector"), &other).unwrap();
    let sidecar = std::path::Path::new(&model("detector")).with_extension("toml");
    if sidecar.is_file() {
        std::fs::copy(sidecar, other.with_extension("toml")).unwrap();
    }
    let changed = api.ask("put", path, here, Some(&json!({"model": other})));
    assert_eq!(changed.json()["streams"], json!(["door"]));
    assert_eq!(api.ask("put", path, here, Some(&json!({"model": "/nowhere.onnx"}))).status, 400);
    let text = cudainfer_tests::scratch("model").join("text.onnx");
    std::fs::write(&text, "no model").unwrap();
    let refused = api.ask("put", path, here, Some(&json!({"model": text})));
    assert_eq!(refused.status, 409, "{refused:?}");
    assert_eq!(
        api.ask("put", path, "/v1/pipelines/nobody/model", Some(&json!({"model": other}))).status,
        404
    );
}

fn history(api: &mut Description) {
    let (events, live, series) = ("/v1/events", "/v1/events/live", "/v1/history");
    let (pictures, picture) = ("/v1/streams/{name}/snapshots", "/v1/streams/{name}/snapshots/{file}");
    let own = "/v1/streams/{name}/events/{file}";
    cudainfer_tests::until("an event is listed", || {
        let page =
            api.ask("get", events, "/v1/events?stream=door&limit=1&from=2020-01-01T00:00:00Z&zone=", None);
        page.json()["events"][0].is_object()
    });
    let mut address = String::new();
    cudainfer_tests::until("an event has the picture of its frame", || {
        let page = api.ask("get", events, "/v1/events?stream=door&kind=enter", None).json();
        let found = page["events"].as_array().unwrap().iter().find_map(|event| event["snapshot"].as_str());
        address = found.unwrap_or_default().to_owned();
        address.starts_with("v1/streams/door/events/")
    });
    let sent = api.ask("get", own, &format!("/{address}"), None);
    assert_eq!((sent.status, &sent.body[..2], sent.kind.as_str()), (200, &b"\xff\xd8"[..], "image/jpeg"));
    assert_eq!(api.ask("get", own, "/v1/streams/door/events/..%2F..%2F..%2Fstreams.json", None).status, 404);
    api.ask("get", series, "/v1/history?step=60", None);
    for (path, query) in [(events, "limit=0"), (events, "colour=1"), (live, "after=x"), (series, "step=1")] {
        assert_eq!(api.ask("get", path, &format!("{path}?{query}"), None).status, 400, "{path}?{query}");
    }
    let first = crate::history::first_events(&api.url, "/v1/events/live?after=0", TOKEN, 1);
    assert_eq!(first[0]["event"], "event", "{first:?}");
    api.seen.insert(format!("get {live} 200"));

    let kept = json!({"name": "pictured", "uri": "test://red?width=320&height=240&rate=15", "pipeline": PIPELINE,
        "zone-units": "fraction",
        "zones": [{"name": "all", "kind": "polygon", "points": [[0, 0], [1, 0], [1, 1], [0, 1]]}],
        "snapshots": {"patience": 0.1}});
    let added = api.ask("post", "/v1/streams", "/v1/streams", Some(&kept));
    assert_eq!(added.status, 201, "{}", String::from_utf8_lossy(&added.body));
    let here = "/v1/streams/pictured/snapshots";
    assert!(api.ask("get", pictures, here, None).json()["snapshots"].is_array());
    let mut listed = json!([]);
    cudainfer_tests::until("a picture is listed", || {
        // The track ends with the run of the pipeline.
        api.ask("post", "/v1/streams/{name}/restart", "/v1/streams/pictured/restart", None);
        std::thread::sleep(std::time::Duration::from_millis(500));
        listed = api.ask("get", pictures, here, None).json()["snapshots"].clone();
        listed[0].is_object()
    });
    let file = listed[0]["file"].as_str().unwrap();
    cudainfer_tests::until("the picture is among the events", || {
        let page = api.ask("get", events, "/v1/events?stream=pictured&kind=track", None).json();
        let found = page["events"].as_array().unwrap();
        found.iter().any(|event| event["snapshot"] == format!("v1/streams/pictured/snapshots/{file}"))
    });
    let sent = api.ask("get", picture, &format!("{here}/{file}"), None);
    assert_eq!((sent.status, &sent.body[..2]), (200, &b"\xff\xd8"[..]));
    for file in ["none", "..%2F..%2F..%2Fstreams.json"] {
        assert_eq!(api.ask("get", picture, &format!("{here}/{file}"), None).status, 404, "{file}");
    }
    assert_eq!(api.ask("get", pictures, "/v1/streams/nobody/snapshots", None).status, 404);
    assert_eq!(api.ask("delete", "/v1/streams/{name}", "/v1/streams/pictured", None).status, 204);

    let without = Service::start(
        "[server]\nlisten = '127.0.0.1:0'\n[pipeline.plain]\nline = 'identity'\n\
         [[source]]\nname = 'door'\nuri = 'test://ball'\n",
    );
    let url = std::mem::replace(&mut api.url, without.url.clone());
    for path in [events, live, series, pictures, picture, own] {
        let refused = api.ask("get", path, &actual(path), None);
        assert_eq!(refused.status, 409, "{path}");
        assert!(refused.error().contains("set state in [server]"), "{}", refused.error());
    }
    api.url = url;
}
