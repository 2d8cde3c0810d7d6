//! Progress of work that takes long: a model that loads, an engine that is built.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use gst::prelude::*;

/// Shorter work is not reported; longer work is reported at this interval.
const EVERY: Duration = Duration::from_secs(1);
/// The messages' code.
const CODE: &str = "model";

/// How far work is, with a text for the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Begun (and a second old), going on, through, failed.
    pub stage: gst::ProgressType,
    /// What is being done, and for how long.
    pub text: String,
}

impl Progress {
    /// Posts it as an element's message.
    pub fn post(&self, element: &gst::Element) {
        let text = format!("{}: {}", element.name(), self.text);
        let message = gst::message::Progress::builder(self.stage, CODE, &text).src(element).build();
        // Refused only where nobody listens to the bus.
        let _ = element.post_message(message);
    }
}

/// Does `job`, in this thread. If that takes longer than a second, `report` is called every second from another thread, and at
/// the end; the texts begin with `what`: `loading nanodet.onnx for cpu`.
///
/// # Errors
/// The errors of `job`.
pub fn watched<T, E>(
    what: &str,
    report: &(dyn Fn(Progress) + Sync),
    job: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let began = Instant::now();
    // The other thread ends when the job's end of the channel is dropped, also where the job panics.
    let tick = |wait: &Receiver<()>| {
        (wait.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout)).then(|| began.elapsed())
    };
    watched_by(&tick, &|| began.elapsed(), what, report, job)
}

/// As [`watched`], by another clock: `tick` waits until a report is due and returns how old the job is then, or nothing once the
/// channel is closed; `age` returns how old it is.
fn watched_by<T, E>(
    tick: &(dyn Fn(&Receiver<()>) -> Option<Duration> + Sync),
    age: &dyn Fn() -> Duration,
    what: &str,
    report: &(dyn Fn(Progress) + Sync),
    job: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let say = &|stage, words: String| report(Progress { stage, text: format!("{what}{words}") });
    let (working, wait) = channel::<()>();
    std::thread::scope(|scope| {
        let tick = move || {
            let mut stage = gst::ProgressType::Start;
            while let Some(age) = tick(&wait) {
                say(stage, format!(", {} s", age.as_secs()));
                stage = gst::ProgressType::Continue;
            }
            stage == gst::ProgressType::Continue
        };
        // Where there is no thread for it, the job is done all the same, without reports.
        let ticker = std::thread::Builder::new().name("trtinfer:ticker".into()).spawn_scoped(scope, tick);
        if let Err(e) = &ticker {
            gst::warning!(gst::CAT_RUST, "{what}: there is no thread to tell of it: {e}");
        }
        let working = working;
        let done = job();
        drop(working);
        if ticker.is_ok_and(|ticker| ticker.join().unwrap_or(false)) {
            let seconds = age().as_secs_f64();
            match done {
                Ok(_) => say(gst::ProgressType::Complete, format!(" took {seconds:.1} s")),
                Err(_) => say(gst::ProgressType::Error, format!(" failed after {seconds:.1} s")),
            }
        }
        done
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// The reports about a job that takes `seconds` seconds.
    fn reports(seconds: f64, result: Result<u8, ()>) -> Vec<Progress> {
        gst::init().unwrap();
        let reported = Mutex::new(Vec::new());
        let ticks = AtomicU64::new(0);
        let (through, wait) = channel();
        let (through, wait) = (Mutex::new(Some(through)), Mutex::new(wait));
        // A second goes by at each tick; the job is through at the last one.
        let tick = |job: &Receiver<()>| {
            let next = ticks.load(Ordering::SeqCst) + 1;
            if next as f64 <= seconds {
                ticks.store(next, Ordering::SeqCst);
                return Some(Duration::from_secs(next));
            }
            through.lock().unwrap().take();
            assert!(job.recv().is_err(), "nothing is ever sent");
            None
        };
        let age = || Duration::from_secs_f64(seconds);
        let done = watched_by(&tick, &age, "loading a.onnx", &|p| reported.lock().unwrap().push(p), || {
            let _: Result<(), _> = wait.lock().unwrap().recv();
            result
        });
        assert_eq!(done, result);
        reported.into_inner().unwrap()
    }

    #[test]
    fn a_slow_job_is_reported_at_its_begin_every_second_and_at_its_end_and_a_quick_one_not_at_all() {
        use gst::ProgressType::{Complete, Continue, Error, Start};
        let stages = |reports: &[Progress]| reports.iter().map(|p| p.stage).collect::<Vec<_>>();
        let slow = reports(3.5, Ok(1));
        assert_eq!(stages(&slow), [Start, Continue, Continue, Complete]);
        assert_eq!(
            [0, 1, 2].map(|n| slow[n].text.as_str()),
            [1, 2, 3].map(|n| format!("loading a.onnx, {n} s"))
        );
        assert_eq!(slow[3].text, "loading a.onnx took 3.5 s");
        let failing = reports(1.5, Err(()));
        assert_eq!(stages(&failing), [Start, Error]);
        assert_eq!(failing[1].text, "loading a.onnx failed after 1.5 s");
        assert_eq!(reports(0.0, Ok(1)), []);
    }

    #[test]
    fn a_job_that_panics_ends_the_ticker() {
        let panicked = std::panic::catch_unwind(|| watched::<(), ()>("", &|_| (), || panic!("on purpose")));
        assert!(panicked.is_err());
    }

    #[test]
    fn a_message_names_its_element() {
        gst::init().unwrap();
        let pipeline = gst::Pipeline::with_name("line");
        let text = "building a.onnx for tensorrt, 12 s".to_owned();
        Progress { stage: gst::ProgressType::Continue, text }.post(pipeline.upcast_ref());
        let message = pipeline.bus().unwrap().pop_filtered(&[gst::MessageType::Progress]).unwrap();
        let gst::MessageView::Progress(progress) = message.view() else { panic!("{message:?}") };
        let (stage, code, text) = progress.get();
        assert!(stage == gst::ProgressType::Continue && code == "model", "{message:?}");
        assert_eq!(text, "line: building a.onnx for tensorrt, 12 s");
    }
}
