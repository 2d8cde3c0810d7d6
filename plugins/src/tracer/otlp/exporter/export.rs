//! The queue of spans, and the thread that sends them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::super::span::Span;
use super::collector::{Collector, Loss};
use crate::sync::lock;
use crate::tracer::complaint::complain;

/// Spans that wait to be sent at most.
const QUEUE: usize = 4096;

/// Spans in a request at most.
const BATCH: usize = 512;

/// How often spans are sent, and frames looked after.
const EVERY: Duration = Duration::from_secs(1);

/// How often losses are reported.
const TELL_EVERY: Duration = Duration::from_secs(60);

enum Order {
    Send(Box<Span>),
    /// All earlier spans must be sent now; the sender in the order is dropped when they are.
    Flush(SyncSender<()>),
}

/// Takes spans.
#[derive(Debug)]
pub(in crate::tracer::otlp) struct Exporter {
    queue: SyncSender<Order>,
    /// For the thread that is yet to be started.
    work: Mutex<Option<(Receiver<Order>, Collector)>>,
    shared: Arc<Shared>,
}

/// The state that the thread shares with those that offer spans.
#[derive(Debug, Default)]
struct Shared {
    /// Spans that were taken, and neither sent nor lost so far.
    waiting: AtomicU64,
    /// Spans, or frames with all theirs, that were lost.
    lost: AtomicU64,
}

impl Exporter {
    /// An exporter that is not started: spans wait.
    ///
    /// # Errors
    /// A sentence for the user: the URL is not valid.
    pub fn new(url: &str) -> Result<Self, String> {
        let collector = Collector::new(url)?;
        let (queue, orders) = sync_channel(QUEUE);
        Ok(Self { queue, work: Mutex::new(Some((orders, collector))), shared: Arc::default() })
    }

    /// Sends from now on, in a thread that ends with the exporter and does `chore` once a second.
    ///
    /// # Errors
    /// There is no thread.
    pub fn start(&self, chore: impl Fn() + Send + 'static) -> Result<(), String> {
        let Some((orders, collector)) = lock(&self.work).take() else { return Ok(()) };
        let shared = Arc::clone(&self.shared);
        let sender = Sender {
            collector,
            shared,
            spans: Vec::new(),
            reported: None,
            reported_lost: 0,
            why: String::new(),
        };
        std::thread::Builder::new()
            .name("cudainfer:otlp".into())
            .spawn(move || sender.work(&orders, &chore))
            .map(drop)
            .map_err(|e| format!("no spans are sent, because there is no thread for it: {e}"))
    }

    /// Takes a span, or loses it where the queue is full; never waits.
    pub fn offer(&self, span: Span) {
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        if self.queue.try_send(Order::Send(Box::new(span))).is_err() {
            self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
            self.skip();
        }
    }

    /// Counts a loss.
    pub fn skip(&self) {
        self.shared.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Has the waiting spans sent, and waits a bounded time until they are.
    pub fn flush(&self, patience: Duration) {
        if self.shared.waiting.load(Ordering::Relaxed) == 0 {
            return;
        }
        let (done, is_done) = sync_channel(0);
        let ordered = self.queue.try_send(Order::Flush(done));
        let late = match ordered {
            Ok(()) => matches!(is_done.recv_timeout(patience), Err(RecvTimeoutError::Timeout)),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => true,
        };
        if late {
            let waiting = self.shared.waiting.load(Ordering::Relaxed);
            complain(&format!(
                "the pipeline has stopped, and {waiting} spans are not sent yet: the collector at otlp=URL is slow. They are \
                 lost if the process ends now"
            ));
        }
    }

    #[cfg(test)]
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }
}

/// The thread.
struct Sender {
    collector: Collector,
    shared: Arc<Shared>,
    /// The spans that are sent next.
    spans: Vec<Span>,
    /// When losses were last reported, and how many there had been.
    reported: Option<Instant>,
    reported_lost: u64,
    /// The reason for the last loss.
    why: String,
}

impl Sender {
    fn work(mut self, orders: &Receiver<Order>, chore: &dyn Fn()) {
        let mut due = Instant::now() + EVERY;
        loop {
            match orders.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(Order::Send(span)) => {
                    self.spans.push(*span);
                    if self.spans.len() >= BATCH {
                        self.send();
                    }
                }
                Ok(Order::Flush(_done)) => {
                    self.send();
                    self.tell(Duration::ZERO);
                }
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if Instant::now() >= due {
                chore();
                self.send();
                self.tell(TELL_EVERY);
                due = Instant::now() + EVERY;
            }
        }
        self.send();
        self.tell(Duration::ZERO);
    }

    fn send(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        let spans = std::mem::take(&mut self.spans);
        let count = u64::try_from(spans.len()).unwrap_or(u64::MAX);
        if let Err(Loss { spans, why }) = self.collector.send(spans) {
            self.shared.lost.fetch_add(spans, Ordering::Relaxed);
            self.why = why;
        }
        self.shared.waiting.fetch_sub(count, Ordering::Relaxed);
    }

    /// Reports losses that were not reported yet, unless others were reported less than `pause` ago.
    fn tell(&mut self, pause: Duration) {
        let lost = self.shared.lost.load(Ordering::Relaxed);
        if lost == self.reported_lost || self.reported.is_some_and(|at| at.elapsed() < pause) {
            return;
        }
        let why = if self.why.is_empty() { "it is too slow, and the queue is full" } else { &self.why };
        complain(&format!(
            "{} spans of frames were lost, {lost} in all: the collector at {} does not have them, because {why}. The \
             pipeline runs on; start the collector, set otlp=URL to where it is, or set a larger sample=N",
            lost - self.reported_lost,
            self.collector.place(),
        ));
        (self.reported, self.reported_lost) = (Some(Instant::now()), lost);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::span::SpanId;
    use super::*;

    #[test]
    fn spans_that_find_the_queue_full_are_counted_and_nobody_waits() {
        let exporter = Exporter::new("http://127.0.0.1:1").unwrap();
        for number in 0..5000 {
            exporter.offer(Span {
                id: SpanId { trace: 1, span: number + 1 },
                parent: None,
                name: "frame".into(),
                began: 0,
                ended: 0,
                attributes: Vec::new(),
                links: Vec::new(),
            });
        }
        assert_eq!(exporter.lost(), 5000 - 4096);
        exporter.flush(Duration::from_secs(3600));
    }
}
