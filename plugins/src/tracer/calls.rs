//! The chain functions that are running in a thread: each inside the one that pushed to it.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::observe::Series;
use super::otlp::{Frame, OpenCall};
use crate::nvtx;

/// A chain function that is running.
pub(super) struct Call {
    /// The pad's address.
    pub pad: usize,
    pub buffers: u64,
    /// The timestamp of the first of them.
    pub pts: Option<gst::ClockTime>,
    /// ns since GStreamer was started.
    pub began: u64,
    /// The part of it that the elements downstream took, in ns by the clock.
    pub downstream: u64,
    /// The same in CPU time, where that is taken.
    pub cpu: Option<Cpu>,
    /// The counts that it belongs to, if there are any.
    pub series: Option<Arc<Series>>,
    /// For a sampled frame.
    pub open: Option<OpenCall>,
    pub _range: Option<nvtx::Range>,
}

/// CPU time of the thread.
pub(super) struct Cpu {
    started: Duration,
    downstream: Duration,
}

impl Cpu {
    /// CPU time from now on.
    pub fn start() -> Self {
        Self { started: thread_time(), downstream: Duration::ZERO }
    }
}

/// A call that has ended, and its time without the elements downstream.
pub(super) struct Ended {
    pub call: Call,
    /// ns by the clock.
    pub own: u64,
    /// CPU time with the elements downstream, where that was taken.
    pub cpu: Duration,
    /// The same without them.
    pub own_cpu: Duration,
}

thread_local! {
    static CALLS: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanos) =
        (u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0));
    Duration::new(seconds, nanos)
}

/// A call begins.
pub(super) fn enter(call: Call) {
    CALLS.with_borrow_mut(|calls| calls.push(call));
}

/// The innermost call has ended.
pub(super) fn leave(now: u64) -> Option<Ended> {
    CALLS.with_borrow_mut(|calls| {
        let call = calls.pop()?;
        let whole = now.saturating_sub(call.began);
        let whole_cpu = call.cpu.as_ref().map(|cpu| thread_time().saturating_sub(cpu.started));
        if let Some(before) = calls.last_mut() {
            before.downstream += whole;
            if let (Some(cpu), Some(whole)) = (&mut before.cpu, whole_cpu) {
                cpu.downstream += whole;
            }
            // An element without a function for lists gets a list's buffers one by one, inside of the list's call.
            if before.pad == call.pad {
                before.buffers = 0;
            }
        }
        let own = whole.saturating_sub(call.downstream);
        let downstream = call.cpu.as_ref().map_or(Duration::ZERO, |cpu| cpu.downstream);
        let own_cpu = whole_cpu.map_or(Duration::ZERO, |whole| whole.saturating_sub(downstream));
        Some(Ended { call, own, cpu: whole_cpu.unwrap_or_default(), own_cpu })
    })
}

/// The counts that the innermost call belongs to.
pub(super) fn series() -> Option<Arc<Series>> {
    CALLS.with_borrow(|calls| calls.last()?.series.clone())
}

/// The call of a chain function at `pad` with a sampled frame. Its caller is the innermost call with the same frame: a list's
/// function at the same pad, which hands its buffers on one by one, does not count as one.
pub(super) fn open(frame: Arc<Frame>, pad: usize, end: bool) -> OpenCall {
    CALLS.with_borrow(|calls| {
        let callers = calls.iter().rev().filter(|call| call.pad != pad).filter_map(|call| call.open.as_ref());
        let caller = callers.into_iter().find(|caller| Arc::ptr_eq(caller.frame(), &frame));
        OpenCall::new(frame, caller, end)
    })
}

/// The sampled frame that the innermost call has, if it has one.
pub(crate) fn sampled() -> Option<Arc<Frame>> {
    CALLS.with_borrow(|calls| Some(Arc::clone(calls.last()?.open.as_ref()?.frame())))
}
