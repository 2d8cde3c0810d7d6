//! All videos of this process, several at a time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::exit::Exit;
use crate::progress::{Display, Totals};
use crate::videos::Video;
use crate::work::{Common, Outcome};

/// How long to wait before a video that another process has in work is looked at again.
const AGAIN: Duration = Duration::from_millis(200);

/// How often the progress is shown.
const SHOWN: Duration = Duration::from_millis(100);

/// The most warnings that are shown, each once.
const MOST_WARNINGS: usize = 100;

/// What the main thread waits for.
#[derive(Debug)]
enum Event {
    /// What came of a video.
    Outcome(Video, Outcome),
    /// A worker has nothing to do any more.
    Idle,
}

/// Frames of a video that is running, and how many are expected.
type Running = BTreeMap<String, (u64, Option<u64>)>;

/// Videos that other processes have in work.
#[derive(Debug, Default)]
struct Elsewhere {
    videos: VecDeque<Video>,
    /// Their names, and those of others that were among them.
    known: BTreeSet<String>,
}

/// What the workers share.
#[derive(Debug)]
struct Shared {
    common: Common,
    waiting: Mutex<VecDeque<Video>>,
    elsewhere: Mutex<Elsewhere>,
    running: Mutex<Running>,
    abandoned: AtomicUsize,
    jobs: usize,
}

/// Does all videos, `jobs` at a time, until `asked` is set.
pub fn run(
    common: Common,
    videos: Vec<Video>,
    jobs: usize,
    asked: &AtomicBool,
    display: &mut Display,
) -> Exit {
    let mut totals = Totals::new(videos.len());
    let shared = Arc::new(Shared {
        common,
        waiting: Mutex::new(videos.into()),
        elsewhere: Mutex::default(),
        running: Mutex::default(),
        abandoned: AtomicUsize::new(0),
        jobs,
    });
    let (events, received) = channel();
    let mut workers = 0;
    for number in 0..jobs {
        let (shared, events) = (Arc::clone(&shared), events.clone());
        let worker =
            std::thread::Builder::new().name(format!("worker {number}")).spawn(move || shared.work(&events));
        match worker {
            Ok(_) => workers += 1,
            Err(e) => {
                display.line(&format!("a thread cannot be started, so fewer videos run at a time: {e}"))
            }
        }
    }
    let (mut fatal, mut failed) = (if workers == 0 { Some(Exit::Sick) } else { None }, Vec::new());
    let (mut interrupted, mut warned) = (false, BTreeSet::new());
    while workers > 0 {
        if !interrupted && asked.load(Ordering::Relaxed) {
            display.line("ending: what is not complete is dropped");
            interrupted = true;
            shared.common.terms.interrupt.store(true, Ordering::Relaxed);
        }
        match received.recv_timeout(SHOWN) {
            Ok(Event::Idle) => workers -= 1,
            Ok(Event::Outcome(video, outcome)) => {
                totals.add(&outcome);
                match outcome {
                    Outcome::Complete { frames, per_second, warnings } => {
                        for warning in warnings {
                            // Elements of different pipelines have different numbers in their names.
                            let sentence =
                                warning.split_once(": ").map_or(warning.as_str(), |(_, sentence)| sentence);
                            if warned.len() < MOST_WARNINGS && warned.insert(sentence.to_owned()) {
                                display.line(&format!("{} and maybe others: {warning}", video.name));
                            }
                        }
                        display.detail(&format!("{}: {frames} frames, {per_second:.0} frames/s", video.name));
                    }
                    Outcome::Failed(sentence) => {
                        display.line(&format!("{} failed: {sentence}", video.name));
                        failed.push((video, sentence));
                    }
                    Outcome::Fatal(exit, sentence) => {
                        display.line(&format!("{}: {sentence}. All other videos stop", video.name));
                        fatal.get_or_insert(exit);
                        shared.common.terms.interrupt.store(true, Ordering::Relaxed);
                    }
                    Outcome::Elsewhere => display.line(&format!(
                        "{} is in work by another process, and looked at again at the end",
                        video.name
                    )),
                    Outcome::Already | Outcome::Interrupted => (),
                }
            }
            Err(RecvTimeoutError::Timeout) => (),
            Err(RecvTimeoutError::Disconnected) => break,
        }
        totals.running(lock(&shared.running).values());
        display.show(&totals);
    }
    display.close();
    for (video, sentence) in &failed {
        display.line(&format!("failed: {} ({}): {sentence}", video.name, video.shown()));
    }
    display.line(&totals.closing_line());
    match fatal {
        Some(exit) => exit,
        None if interrupted && !totals.all() => Exit::Interrupted,
        None if !failed.is_empty() => Exit::BadInput,
        None => Exit::Done,
    }
}

impl Shared {
    /// Does one video after the other until there are none, or the program must end.
    fn work(&self, events: &Sender<Event>) {
        while let Some(video) = self.next() {
            let report = |frames, expected| {
                lock(&self.running).insert(video.name.clone(), (frames, expected));
            };
            let (mut outcome, abandoned) = self.common.work(&video, report);
            lock(&self.running).remove(&video.name);
            if abandoned && self.abandoned.fetch_add(1, Ordering::Relaxed) + 1 >= self.jobs.max(2) {
                let text = "too many pipelines do not stop, and their threads go on";
                outcome = Outcome::Fatal(Exit::Sick, text.into());
            }
            if outcome == Outcome::Elsewhere {
                let mut elsewhere = lock(&self.elsewhere);
                if elsewhere.known.insert(video.name.clone()) {
                    let _ = events.send(Event::Outcome(video.clone(), outcome));
                }
                elsewhere.videos.push_back(video);
                continue;
            }
            // Nobody receives it when the program ends.
            let _ = events.send(Event::Outcome(video, outcome));
        }
        let _ = events.send(Event::Idle);
    }

    fn next(&self) -> Option<Video> {
        if self.ends() {
            return None;
        }
        if let Some(video) = lock(&self.waiting).pop_front() {
            return Some(video);
        }
        // What others have in work is done at last: by them, or here if they end without it.
        let video = lock(&self.elsewhere).videos.pop_front()?;
        std::thread::sleep(AGAIN);
        (!self.ends()).then_some(video)
    }

    fn ends(&self) -> bool {
        self.common.terms.interrupt.load(Ordering::Relaxed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
