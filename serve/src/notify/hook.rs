//! One webhook: its thread, and its outbox.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cudainfer_brokers::{Capacity, Counts, Destination, Message, Outbox, Report, Webhook, WhenFull, webhook};

use super::notice::Notice;
use crate::config::NotifySettings;
use crate::log;
use crate::unpoisoned::lock;

/// Events that wait for the thread that makes their messages.
const WAITING: usize = 256;
/// Messages that wait in memory; with a spool, they are on the disk soon.
const MESSAGES: usize = 1000;
/// How long what waits is sent at the end.
const END: Duration = Duration::from_secs(2);
/// After this time, a webhook that has refused this service for good is tried again, and the same warning is logged again.
const AGAIN: Duration = Duration::from_secs(60);

/// What became of a webhook's events since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookCounts {
    /// Its place in the configuration, from 1.
    pub place: usize,
    /// Those that it has acknowledged.
    pub acknowledged: u64,
    /// Those that wait.
    pub waiting: u64,
    /// Those that it takes under no circumstances.
    pub refused: u64,
    /// Those that were lost, because they were too many.
    pub lost: u64,
    /// Those that were sent without their picture.
    pub without_picture: u64,
}

#[derive(Debug, Default)]
struct Tally {
    lost: AtomicU64,
    without_picture: AtomicU64,
}

/// A webhook.
#[derive(Debug)]
pub(super) struct Hook {
    place: usize,
    pub settings: NotifySettings,
    /// How many frames wait for their pictures.
    pub held: Arc<AtomicUsize>,
    notices: Mutex<Option<SyncSender<Notice>>>,
    counts: Arc<Counts>,
    tally: Arc<Tally>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Hook {
    /// Starts its thread, which opens the spool. What is wrong with it is logged.
    pub fn start(place: usize, settings: NotifySettings, spool: Option<PathBuf>) -> Self {
        let (notices, waiting) = sync_channel(WAITING);
        let (counts, tally) = (Arc::<Counts>::default(), Arc::<Tally>::default());
        let sender = Sender {
            place,
            options: Webhook {
                url: settings.url.clone(),
                ca: settings.tls_ca.clone(),
                token: None,
                spool: spool.map(|folder| (folder, settings.spool_size.0)),
            },
            settings: settings.clone(),
            counts: Arc::clone(&counts),
            tally: Arc::clone(&tally),
            outbox: None,
            tried: None,
            warned: None,
            // No event of another process has the same id.
            process: format!("{:016x}", fastrand::u64(..)),
            number: 0,
        };
        let thread =
            std::thread::Builder::new().name("notify".to_owned()).spawn(move || sender.work(&waiting));
        let thread = thread
            .inspect_err(|e| {
                log::warning(format_args!("[[notify]] {place}: nothing is sent, for want of a thread: {e}"))
            })
            .ok();
        let notices = Mutex::new(thread.is_some().then_some(notices));
        Self { place, settings, held: Arc::default(), notices, counts, tally, thread: Mutex::new(thread) }
    }

    /// Hands an event over. Never waits.
    pub fn push(&self, notice: Notice) {
        let Some(notices) = lock(&self.notices).clone() else { return };
        if notices.try_send(notice).is_err() {
            self.tally.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn counts(&self) -> HookCounts {
        let Counts { acknowledged, waiting, refused, failed, dropped, damaged, .. } = &*self.counts;
        HookCounts {
            place: self.place,
            acknowledged: acknowledged.get(),
            waiting: waiting.get(),
            refused: refused.get(),
            lost: self.tally.lost.load(Ordering::Relaxed) + failed.get() + dropped.get() + damaged.get(),
            without_picture: self.tally.without_picture.load(Ordering::Relaxed),
        }
    }

    /// Begins its end.
    pub fn stop(&self) {
        *lock(&self.notices) = None;
    }

    /// Waits for its end, but not for a webhook that hangs.
    pub fn join(&self) {
        let Some(thread) = lock(&self.thread).take() else { return };
        let until = Instant::now() + 2 * END;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The state of the thread.
struct Sender {
    place: usize,
    options: Webhook,
    settings: NotifySettings,
    counts: Arc<Counts>,
    tally: Arc<Tally>,
    outbox: Option<Outbox>,
    /// When the outbox was last opened.
    tried: Option<Instant>,
    /// When pictures that cannot be made were last logged.
    warned: Option<Instant>,
    process: String,
    number: u64,
}

impl Sender {
    fn work(mut self, notices: &Receiver<Notice>) {
        self.open();
        loop {
            match notices.recv_timeout(AGAIN) {
                Ok(notice) => self.send(notice),
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.open();
        }
        if let Some(outbox) = &self.outbox {
            let lost = outbox.close();
            if lost > 0 {
                log::warning(format_args!(
                    "[[notify]] {}: {lost} events could not be sent, and are lost",
                    self.place
                ));
            }
        }
    }

    fn send(&mut self, notice: Notice) {
        self.number += 1;
        let id = format!("{}-{}", self.process, self.number);
        let lacks = self.settings.picture && notice.lacks_picture();
        let (payload, wrong) = notice.message(&id);
        if lacks || wrong.is_some() {
            self.tally.without_picture.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(why) = wrong.filter(|_| self.warned.is_none_or(|at| at.elapsed() >= AGAIN)) {
            self.warned = Some(Instant::now());
            log::warning(format_args!(
                "[[notify]] {}: an event is sent without its picture: {why}",
                self.place
            ));
        }
        let message = Arc::new(Message { topic: String::new(), id, payload });
        let Some(outbox) = &self.outbox else {
            self.tally.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        // It counts what it drops or refuses.
        if outbox.push(message).is_err() {
            self.outbox = None;
        }
    }

    /// Opens the outbox, if there is none and it was not tried just now.
    fn open(&mut self) {
        if self.outbox.is_some() || self.tried.is_some_and(|at| at.elapsed() < AGAIN) {
            return;
        }
        self.tried = Some(Instant::now());
        match self.opened() {
            Ok(outbox) => self.outbox = Some(outbox),
            Err(why) => log::warning(format_args!(
                "[[notify]] {}: no event is sent, which is tried again in {} s: {why}",
                self.place,
                AGAIN.as_secs()
            )),
        }
    }

    fn opened(&mut self) -> Result<Outbox, String> {
        // Another token may be in the file by now.
        self.options.token = self.settings.token()?;
        let place = self.place;
        let destination = Destination::parse(&self.options.url).map_err(|e| e.to_string())?.shown_by_host();
        let report = move |report: Report| match report {
            Report::Info(text) => log::info(format_args!("[[notify]] {place}: {text}")),
            Report::Warning(text) => log::warning(format_args!("[[notify]] {place}: {text}")),
        };
        let sink = webhook(&self.options, &self.counts, report).map_err(|e| e.to_string())?;
        let capacity = Capacity { messages: MESSAGES, when_full: WhenFull::DropNewest };
        let failed = move |e: std::io::Error| {
            log::warning(format_args!(
                "[[notify]] {place}: the webhook at {destination} refuses events: {e}. Correct url, or the token in token-file; it is tried again when \
                 there is an event, at most once in {} s",
                AGAIN.as_secs()
            ));
        };
        Outbox::start(sink, capacity, END, &self.counts, failed).map_err(|e| e.to_string())
    }
}
