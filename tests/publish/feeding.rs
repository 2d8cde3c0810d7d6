//! What stands for the pipeline's queue: offers messages in order until they are accepted.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cudainfer_brokers::{Counts, Delivery, Message, Options, Report, TlsFiles};

/// No test waits longer for anything.
pub const LIMIT: Duration = Duration::from_secs(120);
const CALL: Duration = Duration::from_millis(100);
/// Messages that the queue offers at once.
const WINDOW: usize = 64;

pub fn message(number: usize) -> Message {
    Message {
        topic: String::new(),
        id: format!("m{number}"),
        payload: format!("{{\"id\":\"m{number}\",\"text\":\"{}\"}}", "x".repeat(200)).into_bytes(),
    }
}

/// Waits until `done` holds.
#[track_caller]
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < end, "{what}: not within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The numbers of ids, each where it comes first: a message may come twice.
pub fn first_of_each(ids: impl IntoIterator<Item = String>) -> Vec<usize> {
    let mut seen = std::collections::HashSet::new();
    let number = |id: String| id.strip_prefix('m').unwrap().parse::<usize>().unwrap();
    ids.into_iter().map(number).filter(|number| seen.insert(*number)).collect()
}

/// Fails unless these ids are those of the first `count` messages, in order; one may come again.
#[track_caller]
pub fn assert_all_in_order(ids: impl IntoIterator<Item = String>, count: usize, which: &str) {
    let numbers = first_of_each(ids);
    let wrong = (0..).zip(&numbers).find(|(place, number)| place != *number);
    assert!(
        wrong.is_none() && numbers.len() == count,
        "{which}: {} of {count}, first (expected, found) {wrong:?}",
        numbers.len()
    );
}

/// The id in a message's JSON.
pub fn id_of(payload: &[u8]) -> String {
    serde_json::from_slice::<serde_json::Value>(payload).unwrap()["id"].as_str().unwrap().to_owned()
}

pub fn options(location: &str) -> Options {
    Options { location: location.to_owned(), tls: TlsFiles::default(), credentials: None, spool: None }
}

pub fn spooled(location: &str, folder: &Path, most_bytes: u64) -> Options {
    Options { spool: Some((folder.to_owned(), most_bytes)), ..options(location) }
}

/// A delivery with what it says and counts.
pub struct Feed {
    pub delivery: Delivery,
    pub counts: Arc<Counts>,
    pub said: Arc<Mutex<Vec<String>>>,
    accepted: usize,
}

impl Feed {
    #[track_caller]
    pub fn start(options: &Options) -> Self {
        let (counts, said) = (Arc::<Counts>::default(), Arc::<Mutex<Vec<String>>>::default());
        let own = Arc::clone(&said);
        let report = move |report| {
            let (Report::Info(text) | Report::Warning(text)) = report;
            own.lock().unwrap().push(text);
        };
        let delivery = Delivery::start(options, &counts, report).unwrap();
        Self { delivery, counts, said, accepted: 0 }
    }

    /// Offers the messages up to `end` until all of them have been accepted.
    #[track_caller]
    pub fn feed(&mut self, end: usize) {
        let limit = Instant::now() + LIMIT;
        while self.accepted < end {
            self.offer(end).unwrap();
            assert!(
                Instant::now() < limit,
                "{} of {end} accepted: {:?}",
                self.accepted,
                self.said.lock().unwrap()
            );
        }
    }

    /// Offers once what is left up to `end`. Returns how many have been accepted now.
    pub fn offer(&mut self, end: usize) -> std::io::Result<usize> {
        let window: Vec<_> = (self.accepted..end.min(self.accepted + WINDOW)).map(message).collect();
        let now = self.delivery.offer(&window, CALL)?;
        self.accepted += now;
        Ok(now)
    }

    pub fn accepted(&self) -> usize {
        self.accepted
    }

    /// Why nothing is ever accepted.
    #[track_caller]
    pub fn refusal(&mut self) -> String {
        let limit = Instant::now() + LIMIT;
        loop {
            match self.offer(WINDOW) {
                Err(e) => return e.to_string(),
                Ok(accepted) => assert_eq!(accepted, 0),
            }
            assert!(Instant::now() < limit, "{:?}", self.said.lock().unwrap());
        }
    }

    /// Waits until the broker has acknowledged all.
    #[track_caller]
    pub fn settle(&self) {
        until("all acknowledged", || self.counts.waiting.get() == 0);
    }
}
