//! Work that the tracer's hooks do not see, for the trace: runs of networks in their workers, and work on the GPU.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use cudainfer_kernels::device::{DeviceSpan, Timeline, draw_timeline};
use glib::prelude::*;
use gst::prelude::*;

use super::chrome::{Lane, Span};
use crate::sync::lock;
use crate::time::nanoseconds;

/// Whether a trace is written.
static ON: AtomicBool = AtomicBool::new(false);
/// Spans that are not written yet: the next call of a chain function takes them.
static SPANS: Mutex<Vec<Span>> = Mutex::new(Vec::new());
/// An instant, and the ns since GStreamer was started that it stands for.
static EPOCH: OnceLock<(Instant, u64)> = OnceLock::new();

thread_local! {
    /// The element that this thread works for.
    static WORKER: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// A trace begins.
pub(super) fn begin() {
    draw_timeline(Timeline { name: || WORKER.with_borrow(Clone::clone), report: worked });
    ON.store(true, Ordering::Relaxed);
}

/// The trace cannot be written any more: nothing is kept for it from now on.
pub(super) fn end() {
    ON.store(false, Ordering::Relaxed);
    drop(take());
}

/// What a hook says the time is, in ns since GStreamer was started: the first one counts.
pub(super) fn align(now: u64) {
    if ON.load(Ordering::Relaxed) {
        EPOCH.get_or_init(|| (Instant::now(), now));
    }
}

/// Whether a trace is being written.
fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// This thread works for `element` until the returned guard is dropped; none without a trace.
pub(crate) fn working(element: &impl IsA<gst::Element>) -> Option<Working> {
    is_on().then(|| {
        let name = Arc::from(element.upcast_ref::<gst::Element>().name().as_str());
        Working { before: WORKER.replace(Some(name)) }
    })
}

/// The same for an element that the thread does not hold; none where it is gone.
pub(crate) fn working_of<E: IsA<gst::Element>>(element: &glib::WeakRef<E>) -> Option<Working> {
    is_on().then(|| element.upgrade()).flatten().and_then(|element| working(&element))
}

/// The spans since the last call.
pub(super) fn take() -> Vec<Span> {
    std::mem::take(&mut *lock(&SPANS))
}

/// The element that this thread works for, until this is dropped.
#[derive(Debug)]
pub(crate) struct Working {
    before: Option<Arc<str>>,
}

impl Drop for Working {
    fn drop(&mut self) {
        WORKER.replace(self.before.take());
    }
}

/// ns since GStreamer was started.
fn time(at: Instant) -> Option<u64> {
    let (instant, ns) = EPOCH.get()?;
    Some(match at.checked_duration_since(*instant) {
        Some(later) => ns.saturating_add(nanoseconds(later)),
        None => ns.saturating_sub(nanoseconds(instant.saturating_duration_since(at))),
    })
}

fn add(name: Arc<str>, lane: Lane, began: Instant, took: Duration, frames: Option<u64>) {
    let Some(began) = time(began).filter(|_| is_on()) else { return };
    lock(&SPANS).push(Span { name, lane, began, took: nanoseconds(took), frames });
}

/// This thread ran the network of the element that it works for.
pub(crate) fn ran(began: Instant, took: Duration, frames: u64) {
    if let Some(name) = is_on().then(|| WORKER.with_borrow(Clone::clone)).flatten() {
        add(name, Lane::Thread(super::chrome::thread()), began, took, Some(frames));
    }
}

/// A stream of the GPU worked.
fn worked(span: DeviceSpan) {
    add(span.name, Lane::Stream(span.stream), span.began, span.took, None);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_recorded_with_the_element_that_its_thread_works_for_and_none_without() {
        gst::init().unwrap();
        begin();
        align(5_000_000_000);
        let element = gst::ElementFactory::make("identity").name("infer").build().unwrap();
        let (began, ms) = (Instant::now(), Duration::from_millis);
        ran(began, ms(1), 3);
        assert!(take().is_empty());
        {
            let _working = working(&element);
            ran(began, ms(2), 4);
            assert!(
                (Timeline { name: || WORKER.with_borrow(Clone::clone), report: worked }.name)().is_some()
            );
        }
        worked(DeviceSpan { stream: 7, name: "preproc".into(), began, took: ms(1) });
        let spans = take();
        let [run, gpu] = &spans[..] else { panic!("{spans:?}") };
        assert_eq!((&*run.name, run.took, run.frames), ("infer", 2_000_000, Some(4)));
        assert!(
            matches!(run.lane, Lane::Thread(_)) && run.began >= 5_000_000_000 && run.began < 60_000_000_000
        );
        assert_eq!((&*gpu.name, gpu.frames), ("preproc", None));
        assert!(matches!(gpu.lane, Lane::Stream(7)));
        assert!(WORKER.with_borrow(Option::is_none));
        // No trace takes them any more.
        ran(began, ms(1), 1);
        end();
        worked(DeviceSpan { stream: 7, name: "preproc".into(), began, took: ms(1) });
        assert!(take().is_empty() && working(&element).is_none());
    }
}
