//! An outbox with a broker, as inferpublish has it, and what is asked of both.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use cudainfer_brokers::{Capacity, Counts, Message, Options, Outbox, Report, TlsFiles, WhenFull, broker};

/// No test waits longer for anything.
pub const LIMIT: Duration = Duration::from_secs(120);
/// How long [`Feed::offer`] waits for something to be accepted.
const CALL: Duration = Duration::from_millis(100);
/// How long a closed outbox waits for a broker.
const PATIENCE: Duration = Duration::from_secs(10);
/// Messages that wait, at most.
pub const WINDOW: usize = 64;

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

/// An outbox with what it reports and counts.
pub struct Feed {
    outbox: Outbox,
    pub counts: Arc<Counts>,
    pub said: Arc<Mutex<Vec<String>>>,
    failure: Arc<OnceLock<String>>,
    pushed: usize,
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
        let sink = broker(options, &counts, report).unwrap();
        let failure = Arc::<OnceLock<String>>::default();
        let own = Arc::clone(&failure);
        let capacity = Capacity { messages: WINDOW, when_full: WhenFull::Wait };
        let on_failure = move |e: std::io::Error| own.set(e.to_string()).unwrap();
        let outbox = Outbox::start(sink, capacity, PATIENCE, &counts, on_failure).unwrap();
        Self { outbox, counts, said, failure, pushed: 0 }
    }

    /// Whether this was reported, or is a part of what was.
    pub fn has_said(&self, part: &str) -> bool {
        self.said.lock().unwrap().iter().any(|said| said.contains(part))
    }

    /// Brings one message, which waits for room.
    #[track_caller]
    pub fn push(&mut self, message: Message) {
        self.outbox.push(Arc::new(message)).unwrap();
        self.pushed += 1;
    }

    /// Brings the messages up to `end` and waits until all of them have been accepted.
    #[track_caller]
    pub fn feed(&mut self, end: usize) {
        let limit = Instant::now() + LIMIT;
        while self.accepted() < end {
            self.offer(end);
            assert!(
                Instant::now() < limit && self.failure.get().is_none(),
                "{} of {end} accepted: {:?}, {:?}",
                self.accepted(),
                self.failure.get(),
                self.said.lock().unwrap()
            );
        }
    }

    /// Brings what is left up to `end`, as far as there is room, and waits a little for something to be accepted. Returns how
    /// many have been accepted now.
    pub fn offer(&mut self, end: usize) -> usize {
        let (before, until) = (self.accepted(), Instant::now() + CALL);
        while self.pushed < end.min(before + WINDOW) {
            self.push(message(self.pushed));
        }
        while self.accepted() == before && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.accepted() - before
    }

    pub fn accepted(&self) -> usize {
        usize::try_from(self.counts.written.get()).unwrap()
    }

    /// Why nothing is ever accepted.
    #[track_caller]
    pub fn refusal(&mut self) -> String {
        // With a spool the refusal comes with the next message.
        let _ = self.outbox.push(Arc::new(message(0)));
        until("a refusal", || self.failure.get().is_some());
        assert_eq!(self.accepted(), 0);
        self.failure.get().unwrap().clone()
    }

    /// Waits until the broker has acknowledged all.
    #[track_caller]
    pub fn settle(&self) {
        until("all acknowledged", || self.counts.waiting.get() == 0);
    }
}

impl Drop for Feed {
    /// Gives a spool back before the next one opens it.
    fn drop(&mut self) {
        if self.counts.spooled.get() > 0 {
            self.outbox.close();
        }
    }
}
