//! Effects of requests: zones count at once, and the metrics have both pages.

use std::io::{Read, Write};
use std::net::TcpStream;

use cudainfer_tests::{LIMIT, until};
use serde_json::json;

use crate::service::{Service, ask, configuration, get, send};

#[test]
fn zones_that_are_put_count_while_the_stream_plays() {
    let service = Service::start(&configuration(""));
    service.plays("door");
    let url = format!("{}/v1/streams/door", service.url);
    let zones = json!({"units": "fraction", "zones": [{"name": "new", "kind": "polygon", "points": [[0, 0], [1, 0], [1, 1], [0, 1]]}]});
    let answer = send("PUT", &format!("{url}/zones"), &zones);
    assert_eq!(answer.json()["change"]["applied"], "live", "{answer:?}");
    until("an object is counted in the new zone", || counted(&service, "new") > 0);
    assert!(get(&url).json()["restarts"].as_object().unwrap().is_empty(), "nothing was started anew");
}

#[test]
fn models_are_those_of_the_configuration_and_of_the_folder_with_what_is_known_of_them() {
    let own = cudainfer_tests::model("detector");
    let folder = cudainfer_tests::scratch("models");
    std::fs::copy(&own, folder.join("a.onnx")).unwrap();
    std::fs::write(folder.join("a.toml"), "").unwrap();
    std::fs::write(folder.join("notes.txt"), "").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.join("outside.onnx")).unwrap();
    std::os::unix::fs::symlink(&own, folder.join("elsewhere.onnx")).unwrap();
    let service = Service::start(&configuration(&format!("models = '{}'", folder.display())));
    service.plays("door");
    let listed = get(&format!("{}/v1/models", service.url)).json();
    assert_eq!(listed["more"], false);
    let [first, second] = &listed["models"].as_array().unwrap()[..] else { panic!("{listed:#}") };
    let (named, below) = if first["named"] == true { (first, second) } else { (second, first) };
    let size = std::fs::metadata(&own).unwrap().len();
    assert_eq!(
        (&named["model"], &named["size"], &named["streams"]),
        (&json!(own), &json!(size), &json!(["door"]))
    );
    assert!(named["reading"].as_str().is_some_and(|reading| !reading.is_empty()), "{named:#}");
    let expected = json!({
        "model": folder.join("a.onnx"), "size": size, "sidecar": true, "named": false, "reading": null, "streams": [],
    });
    assert_eq!(*below, expected);
}

/// How many objects have entered a zone, by zonecount's property.
pub(crate) fn counted(service: &Service, zone: &str) -> u64 {
    use gst::prelude::*;
    let Some(built) = service.fleet.built("door") else { return 0 };
    let Some(element) = built.description.element("zonecount") else { return 0 };
    let counts = element.property::<gst::Structure>("counts");
    let zones = counts.get::<gst::Array>("zones").unwrap();
    let found = zones
        .iter()
        .map(|z| z.get::<gst::Structure>().unwrap())
        .find(|z| z.get::<String>("name").unwrap() == zone);
    found.map_or(0, |zone| {
        ["entered", "in", "out", "occupancy"]
            .iter()
            .filter_map(|f| zone.get::<u64>(*f).ok().or_else(|| zone.get::<u32>(*f).ok().map(u64::from)))
            .sum()
    })
}

#[test]
fn every_answer_forbids_caches_and_foreign_content() {
    let service = Service::start(&configuration(""));
    for path in ["/", "/v1/streams", "/nothing", "/page/app.js"] {
        let headers = get(&format!("{}{path}", service.url)).headers;
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        assert_eq!(headers["cache-control"], "no-store");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["cross-origin-resource-policy"], "same-origin");
    }
}

#[test]
fn a_name_that_leads_here_from_the_net_is_refused_without_a_token() {
    let service = Service::start(&configuration(""));
    let answer = ask("GET", &format!("{}/v1/streams", service.url), &[("host", "evil.example")], None);
    assert_eq!(answer.status, 403, "{answer:?}");
    assert!(answer.error().contains("evil.example"));
}

#[test]
fn frames_of_a_format_that_no_network_takes_are_shown_too() {
    let folder = cudainfer_tests::scratch("formats");
    let odd = "[pipeline.odd]\nline = 'capsfilter caps=video/x-raw,format=ARGB64'\n\
               [[source]]\nname = 'odd'\npipeline = 'odd'\nhls = true\nuri = 'test://ball?width=64&height=48&rate=10'\n";
    let service = Service::start(&(configuration(&format!("state = '{}'", folder.display())) + odd));
    service.plays("odd");
    let url = format!("{}/v1/streams/odd", service.url);
    for overlay in [true, false] {
        let answer = get(&format!("{url}/snapshot.jpg?overlay={overlay}"));
        assert_eq!((answer.status, answer.kind.as_str()), (200, "image/jpeg"), "{answer:?}");
    }
    until("HLS has a segment", || get(&format!("{url}/hls/index.m3u8")).status == 200);
}

#[test]
fn a_client_that_is_still_sending_gets_its_answer() {
    let service = Service::start(&configuration(""));
    let host = service.url.strip_prefix("http://").unwrap();
    for (path, origin, size, status) in [
        ("/v1/streams", host, 2_000_000, "413"),
        ("/v1/streams", "evil.example", 1_000_000, "403"),
        ("/nothing", host, 200_000, "404"),
        ("/livez", host, 200_000, "405"),
    ] {
        let mut client = TcpStream::connect(host).unwrap();
        client.set_read_timeout(Some(LIMIT)).unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\norigin: http://{origin}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {size}\r\n\r\n"
        );
        client.write_all(head.as_bytes()).unwrap();
        for _ in 0..size / 1000 {
            client.write_all(&[b' '; 1000]).unwrap_or_else(|e| panic!("{path} {status}: {e}"));
        }
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
}

#[test]
fn what_a_client_may_not_set_is_refused_and_changes_nothing() {
    let folder = cudainfer_tests::scratch("refused");
    let (files, fifo) = (folder.join("files"), folder.join("files/fifo"));
    std::fs::create_dir(&files).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let server = format!("files = '{}'\nmost-streams = 2", files.display());
    let service = Service::start(&configuration(&server));
    service.plays("door");
    let url = format!("{}/v1/streams", service.url);
    let target = folder.join("written");
    for patch in [
        json!({"override": {"trtinfer.onnxruntime": "/tmp/evil.so"}}),
        json!({"override": {"trtinfer.labels": "/etc/passwd"}}),
        json!({"override": {"trtinfer.model": "/etc/passwd"}}),
        json!({"set": {"model": "/etc/passwd"}}),
        json!({"set": {"model": format!("x ! filesink location={}", target.display())}}),
        json!({"zones-file": "/etc/passwd", "zones": null}),
        json!({"uri": "file:///etc/passwd"}),
        json!({"uri": format!("file://{}", fifo.display())}),
        json!({"uri": format!("file://{}/../secret", files.display())}),
        json!({"uri": "test://ball?width=16384&height=16384"}),
        json!({"uri": "test://ball\0"}),
        json!({"source": {"num-buffers": 1}}),
    ] {
        let answer = send("PATCH", &format!("{url}/door"), &patch);
        assert_eq!(answer.status, 400, "{patch}: {answer:?}");
        let sentences = ["client", "no regular file below", "has a NUL in it"];
        assert!(sentences.iter().any(|part| answer.error().contains(part)), "{patch}: {}", answer.error());
    }
    let model =
        send("PUT", &format!("{}/v1/pipelines/count/model", service.url), &json!({"model": "/etc/passwd"}));
    assert!(model.status == 400 && model.error().contains("no model that a client may choose"), "{model:?}");
    let long =
        send("POST", &url, &json!({"name": "a".repeat(60_000), "uri": "test://ball", "pipeline": "plain"}));
    assert!(long.status == 400 && long.body.len() < 400, "{long:?}");
    for (name, status) in [("second", 201), ("third", 409)] {
        let one = json!({"name": name, "uri": "test://ball?width=64&height=64&rate=5", "pipeline": "plain"});
        assert_eq!(send("POST", &url, &one).status, status, "{name}");
    }
    assert!(!target.exists());
    assert!(
        get(&format!("{url}/door")).json()["restarts"].as_object().unwrap().is_empty(),
        "nothing was started again"
    );
}

#[test]
fn no_answer_has_a_password_in_it() {
    let passwords = [
        "pl4inSecret",
        "with/slashSecret",
        "with?markSecret",
        "with spaceSecret",
        "with#hashSecret",
        "with@atSecret",
    ];
    let source = |(number, password): (usize, &&str)| {
        format!(
            "[[source]]\nname = 'camera{number}'\npipeline = 'plain'\nuri = 'rtsp://admin:{password}@127.0.0.1:1/{number}'\n"
        )
    };
    let query = "[[source]]\nname = 'query'\npipeline = 'plain'\nuri = 'http://127.0.0.1:1/a.m3u8?user=a&password=querySecret'\n\
                 [[source]]\nname = 'login'\npipeline = 'plain'\nuri = 'rtsp://127.0.0.1:1/a'\n\
                 source = { user-id = 'idSecret', user-pw = 'pwSecret' }\n";
    let sources: String = passwords.iter().enumerate().map(source).collect();
    let service = Service::start(&(configuration("") + &sources + query));
    let streams =
        || get(&format!("{}/v1/streams", service.url)).json()["streams"].as_array().unwrap().clone();
    until("all have failed to connect", || {
        streams().iter().all(|stream| stream["name"] == "door" || stream["last-error"].is_string())
    });
    let mut answers: Vec<String> =
        ["/status", "/v1/streams", "/v1/pipelines", "/metrics", "/v1/streams/camera1", "/v1/streams/query"]
            .iter()
            .map(|path| String::from_utf8(get(&format!("{}{path}", service.url)).body).unwrap())
            .collect();
    for password in passwords {
        let wrong =
            json!({"name": "new", "uri": format!("rtmp://admin:{password}@camera/1"), "pipeline": "plain"});
        let answer = send("POST", &format!("{}/v1/streams", service.url), &wrong);
        assert_eq!(answer.status, 400);
        answers.push(answer.error());
    }
    for answer in &answers {
        assert!(!answer.contains("Secret"), "{answer}");
    }
}

#[test]
fn links_among_recordings_are_neither_listed_nor_served() {
    let state = cudainfer_tests::scratch("links");
    let secret = state.join("secret");
    std::fs::write(&secret, "secret").unwrap();
    for folder in ["kept/recordings/door", "hls/door"] {
        std::fs::create_dir_all(state.join(folder)).unwrap();
        std::os::unix::fs::symlink(&secret, state.join(folder).join("link.mp4")).unwrap();
        std::fs::write(state.join(folder).join("real.mp4"), "real").unwrap();
    }
    let service = Service::start(&configuration(&format!("state = '{}'", state.display())));
    let url = format!("{}/v1/streams/door", service.url);
    for folder in ["recordings", "hls"] {
        let real = get(&format!("{url}/{folder}/real.mp4"));
        assert_eq!(
            (real.status, real.kind.as_str(), real.body.as_slice()),
            (200, "video/mp4", &b"real"[..]),
            "{folder}"
        );
        assert_eq!(get(&format!("{url}/{folder}/link.mp4")).status, 404, "{folder}");
    }
    let listed = get(&format!("{url}/recordings")).json();
    assert_eq!(listed["recordings"].as_array().map(Vec::len), Some(1), "{listed}");
}

#[test]
fn the_ground_is_put_with_the_zones_and_speeds_need_it() {
    use gst::prelude::*;
    let service = Service::start(&configuration(""));
    service.plays("door");
    let url = format!("{}/v1/streams/door/zones", service.url);
    let zone = json!({"name": "road", "kind": "polygon", "points": [[0, 0], [1, 0], [1, 1], [0, 1]], "min-speed": 0.5, "inertia": 3});
    let points = json!([[0.4, 0.3], [0.6, 0.3], [1.0, 1.0], [0.0, 1.0]]);
    let body = |ground: serde_json::Value| json!({"units": "fraction", "zones": [zone], "ground": ground});

    let ground = json!({"points": points, "metres": [7.0, 40.0], "anchor": "center"});
    let answer = send("PUT", &url, &body(ground.clone())).json();
    assert_eq!((&answer["change"]["applied"], &answer["ground"]), (&json!("live"), &ground), "{answer}");
    assert_eq!(get(&url).json()["ground"], ground);
    let is_set = || {
        let element = service.fleet.built("door")?.description.element("zonecount")?;
        element.property::<Option<String>>("zones")
    };
    let text = is_set().unwrap();
    assert!(
        text.starts_with("ground=plane:0.4,0.3,0.6,0.3,1,1,0,1:metres=7,40:anchor=center;road="),
        "{text}"
    );

    // The ground is replaced as a whole, and goes with a request that names none.
    let places = json!({"points": points, "metres": [[0.0, 0.0], [7.0, 0.0], [7.0, 40.0], [0.0, 40.0]]});
    assert_eq!(send("PUT", &url, &body(places.clone())).status, 200);
    assert_eq!(get(&url).json()["ground"], places);

    let three = json!([[0.4, 0.3], [0.6, 0.3], [1.0, 1.0]]);
    let crossed = json!([[0.4, 0.3], [1.0, 1.0], [0.6, 0.3], [0.0, 1.0]]);
    let flat = json!([[0.4, 0.3], [0.6, 0.3], [0.8, 0.3], [0.0, 1.0]]);
    for (wrong, parts) in [
        (json!({"zones": [zone], "units": "fraction"}), ["min-speed", "[ground]"]),
        (body(json!({"points": three, "metres": [7, 40]})), ["3 points", "expected 4"]),
        (body(json!({"points": points, "metres": [7, 0]})), ["[ground]", "0"]),
        (body(json!({"points": points, "metres": 7})), ["metres", "[7, 30]"]),
        (body(json!({"points": points})), ["metres", "missing"]),
        (body(json!({"points": crossed, "metres": [7, 40]})), ["[ground]", "order"]),
        (body(json!({"points": flat, "metres": [7, 40]})), ["[ground]", "line"]),
        (body(json!({"points": points, "metres": [7, 40], "anchor": "foot"})), ["'foot'", "anchor"]),
        (
            json!({"units": "pixels", "zones": [], "ground": {"points": points, "metres": [7, 40]}}),
            ["the ground", "pixel"],
        ),
    ] {
        let answer = send("PUT", &url, &wrong);
        assert_eq!(answer.status, 400, "{wrong}: {answer:?}");
        let sentence = answer.error();
        for part in parts {
            assert!(sentence.contains(part), "{wrong}: {part} is not in: {sentence}");
        }
        assert_eq!(get(&url).json()["ground"], places, "{wrong} has changed something");
    }
    // The ground alone is enough for places; without it the zones' speeds have to go as well.
    assert_eq!(send("PUT", &url, &json!({"units": "fraction", "zones": [], "ground": places})).status, 200);
    let slow = json!({"name": "road", "kind": "polygon", "points": [[0, 0], [1, 0], [1, 1], [0, 1]]});
    assert_eq!(send("PUT", &url, &json!({"units": "fraction", "zones": [slow]})).status, 200);
    assert_eq!(get(&url).json().get("ground"), None);
}
