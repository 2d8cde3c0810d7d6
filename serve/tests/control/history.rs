//! What happened, by HTTP: events of zones without any other output, live events, and counts.

use std::io::{BufRead, BufReader};

use cudainfer_tests::{scratch, until};
use serde_json::{Value, json};

use crate::service::{Service, configuration, get};

/// A stream of events, each with its field `id`, `event` and `data`.
pub(crate) fn live_events(url: &str, path: &str, token: &str) -> impl Iterator<Item = Value> {
    let agent: ureq::Agent = ureq::Agent::config_builder().build().into();
    let request = agent.get(format!("{url}{path}")).header("authorization", format!("Bearer {token}"));
    let answer = request.call().unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let mut lines = BufReader::new(answer.into_body().into_reader()).lines();
    std::iter::from_fn(move || {
        loop {
            let fields = lines.by_ref().map(Result::unwrap).take_while(|line| !line.is_empty());
            let fields: Vec<_> = fields.filter(|line| !line.starts_with(':')).collect();
            let field =
                |name: &str| fields.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            if let Some(event) = field("event") {
                let data: Value = serde_json::from_str(field("data").unwrap()).unwrap();
                let id = field("id").map(|id| id.parse::<i64>().unwrap());
                return Some(json!({"event": event, "id": id, "data": data}));
            }
        }
    })
}

/// The first ones.
pub(crate) fn first_events(url: &str, path: &str, token: &str, count: usize) -> Vec<Value> {
    live_events(url, path, token).take(count).collect()
}

/// The first ones that are not about an event that was there before.
fn first_new(url: &str, path: &str, count: usize) -> Vec<Value> {
    live_events(url, path, "").filter(|event| event["event"] != "update").take(count).collect()
}

fn kept(name: &str) -> (std::path::PathBuf, Service) {
    let folder = scratch(name);
    let service = Service::start(&configuration(&format!("state = '{}'", folder.display())));
    service.plays("door");
    (folder, service)
}

#[test]
fn events_of_zones_are_listed_without_any_output_and_counted_by_the_minute() {
    let (_folder, service) = kept("events");
    let page = || get(&format!("{}/v1/events?zone=all", service.url)).json();
    until("an event is listed", || page()["events"][0].is_object());
    let event = &page()["events"][0];
    assert_eq!((&event["kind"], &event["stream"]), (&json!("enter"), &json!("door")));
    // The picture of its frame, although the source has no snapshots: the object's place with a margin.
    until("it has a picture", || page()["events"][0]["snapshot"].is_string());
    let address = page()["events"][0]["snapshot"].as_str().unwrap().to_owned();
    assert!(address.starts_with("v1/streams/door/events/"), "{address}");
    let picture = get(&format!("{}/{address}", service.url));
    assert_eq!((picture.kind.as_str(), &picture.body[..2]), ("image/jpeg", &b"\xff\xd8"[..]));
    let counts = get(&format!("{}/v1/streams/door", service.url)).json()["outputs"]["event-pictures"].clone();
    assert!(counts["written"].as_u64() >= Some(1) && counts["last-error"].is_null(), "{counts}");
    assert!(event["class"].is_string() && event["track"].is_u64(), "{event}");
    let confidence = event["confidence"].as_f64().unwrap();
    assert!(confidence > 0.0 && confidence <= 1.0, "{event}");

    let series = || get(&format!("{}/v1/history", service.url)).json();
    until("frames are counted", || {
        let frames = &series()["streams"]["door"]["frames"];
        frames.as_array().is_some_and(|frames| frames.iter().any(|frames| frames.as_i64() > Some(0)))
    });
    let series = series();
    let counts = &series["counts"][0];
    assert_eq!((&counts["zone"], &counts["kind"]), (&json!("all"), &json!("enter")));
    let sum: i64 = counts["counts"].as_array().unwrap().iter().filter_map(|count| count.as_i64()).sum();
    assert!(sum >= 1, "{series}");

    let metrics = get(&format!("{}/metrics", service.url));
    let metrics = String::from_utf8(metrics.body).unwrap();
    let class = event["class"].as_str().unwrap();
    let labels = format!("{{stream=\"door\",zone=\"all\",kind=\"enter\",class=\"{class}\"}} ");
    assert!(metrics.contains(&format!("cudainfer_serve_zone_events_total{labels}")), "{metrics}");
    let inside = format!("cudainfer_serve_zone_occupancy{{stream=\"door\",zone=\"all\",class=\"{class}\"}} ");
    assert!(metrics.contains(&inside), "{metrics}");

    let known = |name: &str| {
        series["process"][name].as_array().unwrap().iter().any(|value| value.as_f64() > Some(0.0))
    };
    assert!(known("cpu") && known("memory"), "{series}");
}

#[test]
fn a_client_gets_what_comes_and_after_a_pause_what_it_has_missed() {
    let (_folder, service) = kept("live");
    let listening = {
        let url = service.url.clone();
        std::thread::spawn(move || first_new(&url, "/v1/events/live?after=0&stream=door", 3))
    };
    for name in ["one", "two", "three"] {
        until("an event is listed", || {
            get(&format!("{}/v1/events?zone={name}", service.url)).json()["events"][0].is_object() || {
                service.enter(&[name]);
                std::thread::sleep(std::time::Duration::from_millis(200));
                false
            }
        });
    }
    let events = listening.join().unwrap();
    let ids: Vec<_> = events.iter().map(|event| event["id"].as_i64().unwrap()).collect();
    assert!(ids.is_sorted() && ids[0] == 1, "{events:?}");
    assert!(events.iter().all(|event| event["data"]["id"] == event["id"] && event["event"] == "event"));
    let resumed = first_events(&service.url, &format!("/v1/events/live?after={}", ids[1]), "", 1);
    assert_eq!(resumed[0]["data"]["id"], events[2]["data"]["id"]);
}

#[test]
fn hostile_names_stay_data() {
    let (_folder, service) = kept("hostile-events");
    let zone = "') DROP TABLE events -- \"></script><b>\u{202e}";
    let first = || get(&format!("{}/v1/events?zone=all", service.url)).json()["events"][0].is_object();
    until("the first event is listed", first);
    until("an event is listed", || {
        service.enter(&[zone]);
        std::thread::sleep(std::time::Duration::from_millis(200));
        let events = get(&format!("{}/v1/events?kind=enter", service.url)).json()["events"].clone();
        events[0]["zone"] == zone
    });
    let events = first_new(&service.url, "/v1/events/live?after=0", 2);
    assert!(events.iter().all(|event| event["event"] == "event"), "{events:?}");
    assert!(events.iter().any(|event| event["data"]["zone"] == zone), "{events:?}");
}
