//! What the page asks for again and again: small pictures, counts, and what can be set.

use std::path::Path;

use cudainfer_serve::config::Config;
use cudainfer_tests::until;
use serde_json::{Value, json};

use crate::service::{Service, ask, configuration, get, send};

/// Width and height of a JPEG, by its frame header.
fn size(jpeg: &[u8]) -> (u16, u16) {
    let header = jpeg.windows(2).position(|pair| pair == b"\xff\xc0").expect("a JPEG has a frame header");
    let number = |at: usize| u16::from_be_bytes([jpeg[header + at], jpeg[header + at + 1]]);
    (number(7), number(5))
}

#[test]
fn a_frame_that_has_not_changed_is_not_sent_again_and_the_next_one_is() {
    let slow =
        "[[source]]\nname = 'slow'\npipeline = 'plain'\nuri = 'test://ball?width=64&height=48&rate=1'\n";
    let service = Service::start(&(configuration("") + slow));
    service.plays("slow");
    let url = format!("{}/v1/streams/slow/live.jpg?width=320", service.url);
    let tag = |answer: &crate::service::Answer| answer.headers["etag"].to_str().unwrap().to_owned();
    let mut first = String::new();
    until("an unchanged frame is answered without a picture", || {
        let answer = get(&url);
        assert_eq!((answer.status, &answer.body[..2]), (200, &b"\xff\xd8"[..]));
        assert_eq!(size(&answer.body), (64, 48), "no picture is larger than its frame");
        first = tag(&answer);
        let again = ask("GET", &url, &[("if-none-match", &first)], None);
        again.status == 304 && again.body.is_empty() && tag(&again) == first
    });
    until("the next frame is another picture", || {
        let next = ask("GET", &url, &[("if-none-match", &first)], None);
        next.status == 200 && tag(&next) != first
    });
}

#[test]
fn pictures_of_several_streams_come_in_one_answer_and_those_that_the_client_has_do_not() {
    let more = "[[source]]\nname = 'slow'\npipeline = 'plain'\nuri = 'test://ball?width=64&height=48&rate=1'\n\
                [[source]]\nname = 'dead'\npipeline = 'plain'\nuri = 'rtsp://127.0.0.1:1/none'\n";
    let service = Service::start(&(configuration("") + more));
    service.plays("slow");
    service.plays("door");
    let pictures = |wanted: &str| {
        let body = get(&format!("{}/v1/live?width=160&pictures={wanted}", service.url)).body;
        let end = body.iter().position(|byte| *byte == b'\n').unwrap();
        let list: Value = serde_json::from_slice(&body[..end]).unwrap();
        let mut at = end + 1;
        let sizes = list.as_array().unwrap().iter().map(|each| {
            let length = usize::try_from(each["size"].as_u64()?).unwrap();
            at += length;
            Some(size(&body[at - length..at]))
        });
        let sizes: Vec<_> = sizes.collect();
        assert_eq!(at, body.len(), "the pictures are all that follows the line");
        (list, sizes)
    };
    let (list, sizes) = pictures("door,nobody,slow,dead");
    assert_eq!(sizes, [Some((160, 120)), None, Some((64, 48)), None]);
    assert_eq!([&list[1]["status"], &list[3]["status"]], [404, 503]);
    assert!(list[3]["error"].as_str().unwrap().contains("'dead' has no frame yet"), "{list}");
    until("the client has the picture", || {
        let tag = pictures("slow").0[0]["tag"].as_str().unwrap().to_owned();
        let (list, sizes) = pictures(&format!("slow:{tag}"));
        sizes == [None] && list[0] == json!({"stream": "slow", "tag": tag})
    });
    let many = vec!["door"; 65].join(",");
    assert_eq!(get(&format!("{}/v1/live?pictures={many}", service.url)).status, 400);
}

#[test]
fn results_and_zones_are_drawn_as_they_are_asked_for_at_the_size_that_is_asked_for() {
    let service = Service::start(&configuration(""));
    service.plays("door");
    let picture = |query: &str| get(&format!("{}/v1/streams/door/live.jpg?{query}", service.url)).body;
    // The test picture is of one colour: what differs was drawn.
    let bare = picture("overlay=false");
    let objects = picture("overlay=true&zones=false");
    let all = picture("overlay=true");
    assert!(bare != objects && objects != all && bare != all);
    assert_eq!(size(&all), (320, 240));
    assert_eq!(size(&picture("width=100")), (160, 120), "widths are rounded up to a multiple of 160");
    assert_eq!(size(&picture("width=1920")), (320, 240), "no picture is larger than its frame");
}

#[test]
fn a_stream_that_draws_its_results_itself_is_not_drawn_on_again() {
    let drawn = "[pipeline.drawn]\nline = 'inferoverlay'\n[[source]]\nname = 'drawn'\npipeline = 'drawn'\n\
                 uri = 'test://red?width=64&height=48&rate=10'\n";
    let service = Service::start(&(configuration("") + drawn));
    service.plays("drawn");
    let url = format!("{}/v1/streams/drawn/live.jpg", service.url);
    assert_eq!(get(&url).body, get(&format!("{url}?overlay=false")).body);
    assert!(service.fleet.draws("drawn") && !service.fleet.draws("door"));
}

#[test]
fn counts_of_all_zones_are_one_answer() {
    let service = Service::start(&configuration(""));
    service.plays("door");
    let mut counts = Value::Null;
    until("an object is counted", || {
        counts = get(&format!("{}/v1/counts", service.url)).json();
        counts["streams"]["door"][0]["entered"].as_u64() > Some(0)
    });
    let zone = &counts["streams"]["door"][0];
    assert_eq!((&zone["zone"], &zone["kind"]), (&json!("all"), &json!("polygon")));
    assert!(zone.get("in").is_none(), "a polygon has no direction");
}

#[test]
fn a_threshold_is_set_while_the_stream_plays_and_read_again_with_its_limits() {
    let service = Service::start(&configuration(""));
    service.plays("door");
    let url = format!("{}/v1/streams/door", service.url);
    let element = |name: &str| {
        let elements = get(&format!("{url}/elements")).json();
        let found =
            elements["elements"].as_array().unwrap().iter().find(|each| each["name"] == name).cloned();
        found.unwrap_or_else(|| panic!("{name} is not in {elements}"))
    };
    let confidence = || {
        let gpunms = element("gpunms");
        gpunms["properties"]
            .as_array()
            .unwrap()
            .iter()
            .find(|each| each["name"] == "confidence")
            .cloned()
            .unwrap()
    };
    let before = confidence();
    assert_eq!(
        (&before["kind"], &before["minimum"], &before["maximum"]),
        (&json!("number"), &json!(0.0), &json!(1.0))
    );
    assert_eq!(before["live"], true);
    let changed = send("PATCH", &url, &json!({"override": {"gpunms.confidence": 0.45}}));
    assert_eq!(changed.json()["applied"], "live", "{changed:?}");
    // Not 0.44999998, which is what a number of 32 bits has.
    assert_eq!(confidence()["value"], 0.45);
    assert!(element("gpunms")["reading"].as_str().is_some_and(|text| !text.is_empty()));
    let names: Vec<Value> = get(&format!("{url}/elements")).json()["elements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|each| each["name"].clone())
        .collect();
    assert_eq!(
        names,
        ["fusedpreproc", "trtinfer", "gpunms", "tracker", "zonecount"],
        "in the order of the line"
    );
}

#[test]
fn the_configuration_is_written_as_it_is_now_and_without_logins() {
    let secret = "[[source]]\nname = 'far'\npipeline = 'plain'\nuri = 'rtsp://me:hunter22@127.0.0.1:1/none?key=hunter33'\n";
    let service = Service::start(&(configuration("") + secret));
    service.plays("door");
    let zones = json!({"units": "fraction", "zones": [{"name": "new", "kind": "line", "points": [[0, 0.5], [1, 0.5]]}]});
    assert_eq!(send("PUT", &format!("{}/v1/streams/door/zones", service.url), &zones).status, 200);
    let answer = get(&format!("{}/v1/configuration.toml", service.url));
    let text = String::from_utf8(answer.body).unwrap();
    assert!(!text.contains("hunter"), "{text}");
    let config = Config::read(&text, Path::new("serve.toml")).unwrap();
    assert_eq!(config.pipelines.keys().collect::<Vec<_>>(), ["count", "plain"]);
    let door = config.sources.iter().find(|source| source.name == "door").unwrap();
    assert_eq!(door.zones[0].name, "new");
    assert_eq!(Some(door), service.fleet.source("door").as_ref());
}
