//! Events in words, by a model of the test: one that answers well, that hangs, that lies, that floods, that refuses.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base64::prelude::{BASE64_STANDARD, Engine};
use cudainfer_tests::{scratch, until};
use serde_json::{Value, json};

use crate::history::{first_events, live_events};
use crate::service::{Service, configuration, get, send};

const KEY: &str = "sk-a-secret-key";

/// A request that has come.
#[derive(Clone)]
struct Asked {
    head: String,
    body: Value,
    prompt: String,
    picture: Vec<u8>,
}

/// A server that describes.
struct Model {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Model {
    /// Calls `answer` with each prompt, how often it has come before, and the connection.
    fn start(answer: impl Fn(&str, usize, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let (own, answer) = (Arc::clone(&asked), Arc::new(answer));
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let (asked, answer) = (Arc::clone(&own), Arc::clone(&answer));
                std::thread::spawn(move || serve(connection, &asked, &*answer));
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(mut connection: TcpStream, asked: &Mutex<Vec<Asked>>, answer: &dyn Fn(&str, usize, &mut TcpStream)) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let lines = reader.by_ref().lines().map_while(Result::ok);
    let head = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n").to_lowercase();
    let Some(length) = head.lines().find_map(|line| line.strip_prefix("content-length: ")) else { return };
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let parts = &body["messages"][0]["content"];
    let prompt = parts[0]["text"].as_str().unwrap().to_owned();
    let picture =
        parts[1]["image_url"]["url"].as_str().unwrap().strip_prefix("data:image/jpeg;base64,").unwrap();
    let picture = BASE64_STANDARD.decode(picture).unwrap();
    let before = {
        let mut asked = asked.lock().unwrap();
        let before = asked.iter().filter(|each| each.prompt == prompt).count();
        asked.push(Asked { head, body, prompt: prompt.clone(), picture });
        before
    };
    answer(&prompt, before, &mut connection);
}

fn reply(connection: &mut TcpStream, status: u16, headers: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status} x\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // The service does not read on what is too long.
    let _ = connection.write_all(head.as_bytes()).and_then(|()| connection.write_all(body));
}

fn words(connection: &mut TcpStream, content: &Value) {
    let body = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]});
    reply(connection, 200, "content-type: application/json\r\n", body.to_string().as_bytes());
}

/// The configuration of a service whose events a model describes.
fn text(folder: &Path, model: &Model, keys: &str) -> String {
    let text = configuration(&format!("state = '{}'", folder.display()));
    format!("{text}[describe]\nurl = '{}'\nmodel = 'a-model'\n{keys}\n", model.url)
}

fn service(name: &str, model: &Model, keys: &str) -> (PathBuf, Service) {
    let folder = scratch(name);
    let service = Service::start(&text(&folder, model, keys));
    (folder, service)
}

fn events(service: &Service) -> Vec<Value> {
    get(&format!("{}/v1/events?limit=1000", service.url)).json()["events"].as_array().unwrap().clone()
}

/// The words, or why there are none, of the first event in a zone.
fn of_zone(service: &Service, zone: &str) -> Option<Result<String, String>> {
    let event = events(service).into_iter().rev().find(|event| event["zone"] == zone)?;
    let text = |name: &str| event[name].as_str().map(str::to_owned);
    text("description").map(Ok).or(text("description-error").map(Err))
}

/// Has the object enter zones of these names, until each has an event.
fn entered(service: &Service, names: &[&str]) {
    service.plays("door");
    until("the object is in all zones", || {
        let events = events(service);
        let missing = names.iter().any(|name| events.iter().all(|event| event["zone"] != **name));
        if missing {
            service.enter(names);
            service.goes_on("door");
        }
        !missing
    });
}

fn metrics(service: &Service) -> String {
    String::from_utf8(get(&format!("{}/metrics", service.url)).body).unwrap()
}

fn metric(service: &Service, name: &str) -> f64 {
    let text = metrics(service);
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

fn outcome(service: &Service, outcome: &str) -> f64 {
    metric(service, &format!("cudainfer_serve_descriptions_total{{outcome=\"{outcome}\"}}"))
}

fn key_file(name: &str) -> PathBuf {
    let file = scratch(name).join("key");
    std::fs::write(&file, format!("{KEY}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    file
}

#[test]
fn an_event_is_described_by_what_a_model_sees_and_the_key_is_in_the_header_alone() {
    let model = Model::start(|_, _, connection| words(connection, &json!("A red picture.\n")));
    let hook = TcpListener::bind("127.0.0.1:0").unwrap();
    let hook_url = format!("http://{}/hook", hook.local_addr().unwrap());
    let posted = std::thread::spawn(move || {
        let (mut connection, _) = hook.accept().unwrap();
        let mut reader = BufReader::new(connection.try_clone().unwrap());
        let head: Vec<_> =
            reader.by_ref().lines().map_while(Result::ok).take_while(|l| !l.is_empty()).collect();
        let length =
            head.iter().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap()];
        reader.read_exact(&mut body).unwrap();
        reply(&mut connection, 204, "", b"");
        serde_json::from_slice::<Value>(&body).unwrap()
    });
    let key = key_file("describe-key");
    let keys = format!(
        "key-file = '{}'\nprompt = '{{kind}}, {{class}}, {{zone}}, {{stream}}'\nmax-tokens = 99\n\
         [[notify]]\nurl = '{hook_url}'\nkinds = ['description']\npicture = true",
        key.display()
    );
    let (_folder, service) = service("described", &model, &keys);
    until("an event is described", || of_zone(&service, "all").is_some());
    assert_eq!(of_zone(&service, "all"), Some(Ok("A red picture.".to_owned())));
    let asked = &model.asked()[0];
    let event = events(&service).pop().unwrap();
    let class = event["class"].as_str().unwrap();
    assert_eq!(asked.prompt, format!("enter, {class}, all, door"));
    assert_eq!((&asked.body["model"], &asked.body["max_tokens"]), (&json!("a-model"), &json!(99)));
    assert!(asked.head.starts_with("post /v1/chat/completions http/1.1\n"), "{}", asked.head);
    assert!(asked.head.contains(&format!("\nauthorization: bearer {KEY}")), "{}", asked.head);
    assert!(!asked.body.to_string().contains(KEY));
    // The picture is that of the event.
    let shown = get(&format!("{}/{}", service.url, event["snapshot"].as_str().unwrap()));
    assert_eq!(asked.picture, shown.body);

    // Who listens gets an update, and the webhook a message of its own.
    let first = first_events(&service.url, "/v1/events/live?after=0", "", 1);
    assert_eq!(first[0]["data"]["description"], "A red picture.");
    let message = posted.join().unwrap();
    assert_eq!(
        (&message["kind"], &message["of"], &message["zone"], &message["description"], &message["time"]),
        (&json!("description"), &json!("enter"), &json!("all"), &json!("A red picture."), &event["time"])
    );
    assert_eq!(BASE64_STANDARD.decode(message["picture"].as_str().unwrap()).unwrap(), asked.picture);
    assert!(outcome(&service, "answered") >= 1.0 && outcome(&service, "failed") == 0.0);
    assert!(metric(&service, "cudainfer_serve_description_requests_total") >= 1.0);
}

#[test]
fn clients_that_listen_get_the_words_as_an_update() {
    let (ask, asked) = std::sync::mpsc::channel::<()>();
    let asked = Mutex::new(asked);
    let model = Model::start(move |_, _, connection| {
        // Not before a client listens.
        let _ = asked.lock().unwrap().recv();
        words(connection, &json!("late"));
    });
    let (_folder, service) = service("described-live", &model, "");
    until("a picture is asked about", || !model.asked().is_empty());
    let mut live = live_events(&service.url, "/v1/events/live?after=0", "");
    assert_eq!(live.next().unwrap()["data"]["description"], Value::Null);
    drop(ask);
    let described = live.find(|event| event["data"]["description"] == "late").unwrap();
    assert_eq!((&described["event"], &described["id"]), (&json!("update"), &Value::Null));
}

#[test]
fn what_a_model_answers_wrongly_is_named_and_hostile_text_stays_text() {
    let other = Model::start(|_, _, connection| words(connection, &json!("stolen")));
    let elsewhere = format!("location: {}/chat/completions\r\n", other.url);
    let model = Model::start(move |zone, before, connection| match zone {
        "html" => {
            reply(connection, 200, "content-type: text/html\r\n", b"<!DOCTYPE html><title>Welcome</title>")
        }
        "keys" => reply(connection, 200, "", br#"{"id": "x", "choices": []}"#),
        "types" => reply(connection, 200, "", br#"{"choices": [{"message": {"content": 7}}]}"#),
        "empty" => words(connection, &json!(" \n")),
        "nothing" => reply(connection, 200, "", b""),
        "script" => {
            words(connection, &json!("A <script>alert(1)</script>\u{1b}[2J\u{0}\u{202e} dog &amp; \"cat\""))
        }
        "long" => words(connection, &json!("x".repeat(5000))),
        "large" => words(connection, &json!("x".repeat(10_000_000))),
        "endless" => {
            let head = b"HTTP/1.1 200 x\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{\"choices\": [";
            let mut written = connection.write_all(head);
            while written.is_ok() {
                written = connection.write_all(&[b' '; 65536]);
            }
        }
        "broken" => drop(connection.write_all(b"HTTP/1.1 200 x\r\ncontent-length: 100\r\n\r\n{")),
        "no http" => drop(connection.write_all(b"220 smtp.example ESMTP\r\n")),
        "401" => reply(connection, 401, "", format!("{{\"error\": \"wrong key {KEY}\"}}").as_bytes()),
        "403" => reply(connection, 403, "", b""),
        "404" => reply(connection, 404, "", br#"{"error": {"message": "model 'a-model' not found"}}"#),
        "400" => reply(connection, 400, "", format!("{{\"error\": \"I saw {KEY}\"}}").as_bytes()),
        "echo" => words(connection, &json!(format!("Your key is {KEY}."))),
        "redirect" => reply(connection, 307, &elsewhere, b""),
        "busy" if before == 0 => reply(connection, 429, "retry-after: 0\r\n", b""),
        "failing" => reply(connection, 503, "retry-after: 0\r\n", b""),
        "patient" => reply(connection, 429, "retry-after: 86400\r\n", b""),
        _ => words(connection, &json!("well")),
    });
    let key = key_file("lies-key");
    let keys = format!(
        "key-file = '{}'\nprompt = '{{zone}}'\nkinds = ['enter']\nqueue = 100\nparallel = 4\ncharacters = 2000",
        key.display()
    );
    let (_folder, service) = service("lies", &model, &keys);
    let expected: BTreeMap<&str, Result<&str, &str>> = [
        ("html", Err("its answer is no JSON: it begins with '<!DOCTYPE html><title>Welcome</title>'")),
        ("keys", Err("no choices[0].message.content, but choices, id")),
        ("types", Err("content is a number")),
        ("empty", Err("its text is empty")),
        ("nothing", Err("its answer is empty")),
        ("script", Ok("A <script>alert(1)</script>[2J dog &amp; \"cat\"")),
        ("long", Ok("xxx")),
        ("large", Err("its answer is too long")),
        ("endless", Err("its answer is too long")),
        ("broken", Err("cannot be asked")),
        ("no http", Err("cannot be asked")),
        ("401", Err("status 401: it does not take the key in key-file")),
        ("403", Err("status 403")),
        ("404", Err("or no such model: correct url or model ('model 'a-model' not found')")),
        ("400", Err("status 400: it does not take the request ('I saw ***')")),
        ("echo", Ok("Your key is ***.")),
        ("redirect", Err("status 307: it leads elsewhere, and is not followed")),
        ("busy", Ok("well")),
        ("failing", Err("status 503: it has failed, 3 times")),
        ("patient", Err("asks to wait 86400 s")),
    ]
    .into();
    let names: Vec<_> = expected.keys().copied().collect();
    entered(&service, &names);
    for (zone, expected) in expected {
        until("the event has words, or why it has none", || of_zone(&service, zone).is_some());
        let found = of_zone(&service, zone).unwrap();
        let fits = match (&found, expected) {
            (Ok(found), Ok(expected)) if zone != "long" => found == expected,
            (Ok(found), Ok(_)) => found.chars().count() == 2000 && found.ends_with("x…"),
            (Err(found), Err(part)) => found.contains(part) && found.chars().count() < 500,
            _ => false,
        };
        assert!(fits, "{zone}: {found:?}");
        assert!(!format!("{found:?}").contains(KEY), "{zone}: {found:?}");
    }
    let count = |zone: &str| model.asked().iter().filter(|asked| asked.prompt == zone).count();
    assert_eq!(["busy", "failing", "patient", "401", "html"].map(count), [2, 3, 1, 1, 1]);
    assert!(other.asked().is_empty(), "a redirect was followed");
    let answer = get(&format!("{}/v1/events?limit=1000", service.url));
    assert!(
        answer.kind.starts_with("application/json") && !String::from_utf8(answer.body).unwrap().contains(KEY)
    );
    assert!(outcome(&service, "failed") >= 14.0 && outcome(&service, "answered") >= 4.0);
}

#[test]
fn a_model_that_hangs_holds_up_no_stream_and_what_there_is_no_room_for_is_counted() {
    let model = Model::start(|zone, _, _| {
        if zone == "all" {
            std::thread::park();
        }
    });
    // The first request is hanging all the while.
    let keys = "timeout = 3000\nqueue = 2\nprompt = '{zone}'\nkinds = ['enter']";
    let (folder, service) = service("describe-hangs", &model, keys);
    until("a picture is asked about", || !model.asked().is_empty());
    let frames = || get(&format!("{}/v1/streams/door", service.url)).json()["frames"].as_u64().unwrap();
    let before = frames();
    until("frames go on", || frames() > before + 30);
    entered(&service, &["one", "two", "three", "four", "five"]);
    until("what there is no room for is counted", || outcome(&service, "dropped") >= 3.0);
    until("it is with the events", || {
        let why = |zone: &str| of_zone(&service, zone).and_then(Result::err).unwrap_or_default();
        ["one", "two", "three", "four", "five"].iter().filter(|zone| why(zone).contains("(queue)")).count()
            >= 3
    });
    assert_eq!(metric(&service, "cudainfer_serve_descriptions_waiting"), 3.0, "two, and the one that hangs");
    assert_eq!(metric(&service, "cudainfer_serve_description_requests_total"), 1.0);
    assert_eq!(of_zone(&service, "all"), None);
    // What waits when the service ends has a sentence, too.
    drop(service);
    let next = Service::start(&configuration(&format!("state = '{}'", folder.display())));
    let why = |event: &Value| event["description-error"].as_str().unwrap_or_default().to_owned();
    let stopped = events(&next).iter().filter(|event| why(event) == "the service was stopped before").count();
    assert_eq!(stopped, 2);
}

#[test]
fn an_answer_that_does_not_come_in_time_is_a_failure_and_the_next_event_is_described() {
    let model = Model::start(|zone, _, connection| match zone {
        "all" => std::thread::park(),
        // Byte by byte, without an end.
        "slow" => {
            let _ = connection.write_all(b"HTTP/1.1 200 x\r\nconnection: close\r\n\r\n");
            while connection.write_all(b" ").is_ok() {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
        }
        _ => words(connection, &json!("well")),
    });
    let (_folder, service) =
        service("describe-late", &model, "timeout = 5\nprompt = '{zone}'\nkinds = ['enter']");
    until("it is a failure", || of_zone(&service, "all").is_some());
    let why = of_zone(&service, "all").unwrap().unwrap_err();
    assert!(why.contains("did not answer within 5 s (timeout)"), "{why}");
    entered(&service, &["slow", "next"]);
    until("the slow one is a failure", || of_zone(&service, "slow").is_some());
    let why = of_zone(&service, "slow").unwrap().unwrap_err();
    assert!(why.contains("did not answer within 5 s (timeout)"), "{why}");
    until("the next one is described", || of_zone(&service, "next") == Some(Ok("well".to_owned())));
    assert!(outcome(&service, "failed") >= 2.0);
}

#[test]
fn an_event_waits_for_the_best_picture_of_its_track() {
    let model = Model::start(|_, _, connection| words(connection, &json!("the best")));
    let folder = scratch("describe-best");
    let text = text(&folder, &model, "wait = 3000\nkinds = ['enter', 'track']\nprompt = '{kind}'");
    let text = text.replace("zone-units = 'fraction'", "zone-units = 'fraction'\nsnapshots = {}");
    let service = Service::start(&text);
    until("an event has its own picture", || {
        events(&service).iter().any(|event| event["zone"] == "all" && event["snapshot"].is_string())
    });
    assert!(model.asked().is_empty(), "it waits");
    // The track ends with the run of the pipeline.
    send("POST", &format!("{}/v1/streams/door/restart", service.url), &json!({}));
    until("both events are described", || {
        let described = |kind: &str| {
            events(&service).iter().any(|event| event["kind"] == kind && event["description"] == "the best")
        };
        described("enter") && described("track")
    });
    let track = events(&service).into_iter().find(|event| event["kind"] == "track").unwrap();
    let best = get(&format!("{}/{}", service.url, track["snapshot"].as_str().unwrap())).body;
    let asked = model.asked();
    let pictures: BTreeMap<_, _> =
        asked.iter().map(|asked| (asked.prompt.as_str(), &asked.picture)).collect();
    assert_eq!((pictures["enter"], pictures["track"]), (&best, &best));
}

#[test]
fn another_table_takes_effect_when_the_configuration_is_read_again_and_without_one_nothing_is_sent() {
    let [first, second] = ["first", "second"]
        .map(|name| Model::start(move |_, _, connection| words(connection, &json!(format!("the {name}")))));
    let folder = scratch("describe-reload");
    let file = folder.join("serve.toml");
    let described = |model: &Model| text(&folder, model, "");
    let without = described(&first).split("[describe]").next().unwrap().to_owned();
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    write(&without);
    let service = Service::start_file(&file);
    until("an event has its picture", || events(&service).iter().any(|event| event["snapshot"].is_string()));
    assert!(!metrics(&service).contains("cudainfer_serve_description"), "nothing runs");
    for (model, zone, words) in [(&first, "one", "the first"), (&second, "two", "the second")] {
        write(&described(model));
        service.fleet.reload().unwrap();
        entered(&service, &[zone]);
        until("the event is described", || of_zone(&service, zone) == Some(Ok(words.to_owned())));
    }
    // A wrong one changes nothing.
    write(&described(&first).replace("model = 'a-model'", "model = ''"));
    assert!(service.fleet.reload().is_err());
    entered(&service, &["three"]);
    until("the event is described", || of_zone(&service, "three") == Some(Ok("the second".to_owned())));
    write(&without);
    service.fleet.reload().unwrap();
    let before = first.asked().len() + second.asked().len();
    entered(&service, &["four"]);
    until("the event has its picture", || {
        events(&service).iter().any(|event| event["zone"] == "four" && event["snapshot"].is_string())
    });
    assert_eq!(first.asked().len() + second.asked().len(), before);
    assert_eq!((of_zone(&service, "four"), of_zone(&service, "all")), (None, None));
}
