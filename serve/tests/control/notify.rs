//! Webhooks that get events: one that takes them, one that refuses at first, one that hangs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use base64::prelude::{BASE64_STANDARD, Engine};
use cudainfer_tests::{scratch, until};
use serde_json::Value;

use crate::service::{Service, configuration, get};

/// A request that has come.
struct Posted {
    head: String,
    body: Value,
}

/// A webhook.
struct Hook {
    url: String,
    posted: Arc<Mutex<Vec<Posted>>>,
    /// Whether requests get no answer; their connections are closed when it does not hang any more.
    hangs: Arc<AtomicBool>,
}

impl Hook {
    /// A webhook that answers its first requests with these statuses, one after the other, and then 204.
    fn start(first: &'static [u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let posted = Arc::<Mutex<Vec<Posted>>>::default();
        let hangs = Arc::<AtomicBool>::default();
        let (own, silent) = (Arc::clone(&posted), Arc::clone(&hangs));
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let (posted, hangs) = (Arc::clone(&own), Arc::clone(&silent));
                std::thread::spawn(move || serve(connection, &posted, first, &hangs));
            }
        });
        Self { url, posted, hangs }
    }

    fn count(&self) -> usize {
        self.posted.lock().unwrap().len()
    }
}

/// Answers the requests of a connection.
fn serve(connection: TcpStream, posted: &Mutex<Vec<Posted>>, first: &[u16], hangs: &AtomicBool) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut connection = connection;
    loop {
        let lines = reader.by_ref().lines().map_while(Result::ok);
        let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let head = head.join("\n").to_lowercase();
        let Some(length) = head.lines().find_map(|line| line.strip_prefix("content-length: ")) else {
            return;
        };
        let mut body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        let number = {
            let mut posted = posted.lock().unwrap();
            posted.push(Posted { head, body: serde_json::from_slice(&body).unwrap() });
            posted.len() - 1
        };
        if hangs.load(Ordering::Relaxed) {
            while hangs.load(Ordering::Relaxed) {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            return;
        }
        let status = first.get(number).copied().unwrap_or(204);
        write!(connection, "HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n").unwrap();
    }
}

fn service(name: &str, hook: &Hook, keys: &str) -> (std::path::PathBuf, Service) {
    let folder = scratch(name);
    let text = configuration(&format!("state = '{}'", folder.display()));
    let text = format!("{text}[[notify]]\nurl = '{}'\n{keys}\n", hook.url);
    let service = Service::start(&text);
    (folder, service)
}

/// The number of a metric.
fn metric(service: &Service, name: &str) -> f64 {
    let text = String::from_utf8(get(&format!("{}/metrics", service.url)).body).unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"));
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

const ACKNOWLEDGED: &str = "cudainfer_serve_notifications_total{notify=\"1\",outcome=\"acknowledged\"}";
const WAITING: &str = "cudainfer_serve_notifications_waiting{notify=\"1\"}";

#[test]
fn an_event_is_posted_with_its_picture_and_the_token() {
    let tokens = scratch("notify-token");
    let file = tokens.join("token");
    std::fs::write(&file, "a-token\n").unwrap();
    let hook = Hook::start(&[]);
    let keys = format!("token-file = '{}'\npicture = true\nkinds = ['enter']", file.display());
    let (_folder, service) = service("notify", &hook, &keys);
    until("an event is posted", || hook.count() > 0);
    {
        let posted = hook.posted.lock().unwrap();
        let Posted { head, body } = &posted[0];
        let has = |line: &str| head.lines().any(|found| found == line);
        assert!(head.starts_with("post /hook http/1.1\n"), "{head}");
        assert!(has("authorization: bearer a-token") && has("content-type: application/json"), "{head}");
        assert_eq!(
            (&body["stream"], &body["kind"], &body["zone"]),
            (&"door".into(), &"enter".into(), &"all".into())
        );
        let picture = BASE64_STANDARD.decode(body["picture"].as_str().unwrap()).unwrap();
        assert_eq!(&picture[..2], b"\xff\xd8", "JPEG's first bytes");
        assert!(body["id"].is_string() && body["time"].is_string() && body["track"].is_u64(), "{body}");
    }
    until("it is counted", || metric(&service, ACKNOWLEDGED) >= 1.0);
}

#[test]
fn an_event_comes_again_until_it_is_acknowledged() {
    let hook = Hook::start(&[503, 500]);
    let (folder, service) = service("notify-again", &hook, "");
    until("it is acknowledged", || metric(&service, ACKNOWLEDGED) >= 1.0);
    let posted = hook.posted.lock().unwrap();
    assert!(posted.len() >= 3, "{}", posted.len());
    let ids: Vec<_> = posted.iter().take(3).map(|posted| &posted.body["id"]).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(posted[0].body["picture"], Value::Null);
    assert!(std::fs::read_dir(folder.join("notify")).unwrap().count() == 1, "the spool");
}

#[test]
fn a_webhook_that_hangs_holds_up_no_stream_and_gets_its_events_after_the_next_start() {
    let hook = Hook::start(&[]);
    hook.hangs.store(true, Ordering::Relaxed);
    let (folder, hanging) = service("notify-hangs", &hook, "picture = true");
    until("an event is posted", || hook.count() > 0);
    hanging.goes_on("door");
    assert!(metric(&hanging, WAITING) >= 1.0 && metric(&hanging, ACKNOWLEDGED) == 0.0);
    let first = hook.posted.lock().unwrap()[0].body["id"].clone();
    drop(hanging);

    hook.hangs.store(false, Ordering::Relaxed);
    hook.posted.lock().unwrap().clear();
    // Without events of its own.
    let text = configuration(&format!("state = '{}'", folder.display()));
    let next = Service::start(&format!("{text}[[notify]]\nurl = '{}'\nkinds = ['speed']\n", hook.url));
    // On a busy machine the thread of the first one, which shares this process, may still be there and send it.
    until("it is posted again", || hook.count() > 0);
    assert_eq!(hook.posted.lock().unwrap()[0].body["id"], first);
    until("nothing waits", || metric(&next, WAITING) == 0.0);
}

/// Puts a new zone around the object, which enters it.
fn make_event(service: &Service) {
    service.enter(&[&format!("z{}", fastrand::u32(..))]);
    service.goes_on("door");
}

#[test]
fn a_webhook_that_has_taken_events_and_then_refuses_its_client_gets_the_same_event_until_it_takes_it() {
    let hook = Hook::start(&[204, 401, 403, 404]);
    let (_folder, service) = service("notify-refuses-later", &hook, "");
    until("two are acknowledged", || {
        make_event(&service);
        metric(&service, ACKNOWLEDGED) >= 2.0
    });
    let posted = hook.posted.lock().unwrap();
    let ids: Vec<_> = posted.iter().take(5).map(|posted| posted.body["id"].as_str().unwrap()).collect();
    assert_ne!(ids[0], ids[1]);
    assert!(ids[1..].iter().all(|id| *id == ids[1]), "{ids:?}");
    drop(posted);
    assert_eq!(
        metric(&service, "cudainfer_serve_notifications_total{notify=\"1\",outcome=\"refused\"}"),
        0.0
    );
}

#[test]
fn the_first_event_that_a_webhook_refuses_with_401_403_or_404_waits_for_the_next_start_and_later_ones_are_counted_as_lost()
 {
    for status in [&[401][..], &[403], &[404]] {
        let hook = Hook::start(status);
        let (folder, refused) = service("notify-refuses", &hook, "");
        until("an event is posted", || hook.count() > 0);
        until("a later event is lost", || {
            make_event(&refused);
            metric(&refused, "cudainfer_serve_notifications_total{notify=\"1\",outcome=\"lost\"}") >= 1.0
        });
        assert_eq!(hook.count(), 1, "{status:?}: it is left alone for a minute");
        assert_eq!(metric(&refused, ACKNOWLEDGED), 0.0);
        let first = hook.posted.lock().unwrap()[0].body["id"].clone();
        drop(refused);

        let text = configuration(&format!("state = '{}'", folder.display()));
        let next = Service::start(&format!("{text}[[notify]]\nurl = '{}'\nkinds = ['speed']\n", hook.url));
        until("it is acknowledged", || metric(&next, ACKNOWLEDGED) >= 1.0);
        assert_eq!(hook.posted.lock().unwrap()[1].body["id"], first, "{status:?}");
    }
}
