use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use rustix::time::{ClockId, clock_gettime};

use super::chrome::{self, Trace};
use super::report::Report;
use super::table::{End, Table};
use crate::nvtx;
use crate::sync::lock;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("cudainfer-tracer", gst::DebugColorFlags::empty(), Some("CPU time by element"))
});

/// A chain function that is running.
struct Call {
    /// The pad's address.
    pad: usize,
    buffers: u64,
    pts: Option<gst::ClockTime>,
    /// ns since GStreamer was started.
    began: u64,
    started: Duration,
    /// What the elements behind took of it.
    behind: Duration,
    _range: Option<nvtx::Range>,
}

thread_local! {
    static CALLS: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
}

/// CPU time of this thread.
fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanos) =
        (u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0));
    Duration::new(seconds, nanos)
}

#[derive(Default)]
pub struct CudaInferTracer {
    table: Mutex<Table>,
    json: Mutex<Option<String>>,
    trace: Mutex<Option<Trace>>,
}

impl CudaInferTracer {
    /// Before an element's chain function.
    fn enter(&self, began: u64, pad: &gst::Pad, buffers: u64, pts: Option<gst::ClockTime>) {
        let call = Call {
            pad: pad.as_ptr().addr(),
            buffers,
            pts,
            began,
            _range: pad.parent_element().and_then(|element| nvtx::range(&element)),
            started: now(),
            behind: Duration::ZERO,
        };
        CALLS.with_borrow_mut(|calls| calls.push(call));
    }

    /// After it.
    fn leave(&self, ended: u64, pad: &gst::Pad) {
        let ended_call = CALLS.with_borrow_mut(|calls| {
            let call = calls.pop()?;
            let whole = now().saturating_sub(call.started);
            if let Some(before) = calls.last_mut() {
                before.behind += whole;
                // An element without a function for lists gets the buffers of one by one, inside of it.
                if before.pad == call.pad {
                    before.buffers = 0;
                }
            }
            let own = whole.saturating_sub(call.behind);
            Some((call, own))
        });
        // Proxy pads inside ghost pads have no element, and those of bins hand on only; what they call has been counted.
        let element = pad.parent_element().filter(|element| !element.is::<gst::Bin>());
        let (Some((call, own)), Some(element)) = (ended_call, element) else { return };
        let frame = lock(&self.table).add(&element, call.began, call.buffers, own);
        if call.buffers > 0 {
            self.trace(|trace| {
                trace.add(&chrome::Call {
                    element: &element.name(),
                    began: call.began,
                    took: ended.saturating_sub(call.began),
                    frame,
                    buffers: call.buffers,
                    pts: call.pts.map(gst::ClockTime::nseconds),
                })
            });
        }
    }

    /// Does something with the trace, if there is one; the first failure ends it.
    fn trace(&self, work: impl FnOnce(&mut Trace) -> std::io::Result<()>) {
        let mut place = lock(&self.trace);
        if let Some(Err(e)) = place.as_mut().map(work) {
            let path = place.take().map(|trace| trace.path().to_owned()).unwrap_or_default();
            self.complain(&format!("'{path}' cannot be written: {e}"));
        }
    }

    /// Prints what is wrong with the tracer: it has no bus to post it on.
    fn complain(&self, what: &str) {
        gst::error!(CAT, imp = self, "{what}");
        eprintln!("cudainfer: {what}");
    }

    fn report(&self, now: u64, pipeline: &gst::Element, end: End) {
        self.trace(Trace::flush);
        // Not under the lock: other threads that need it may hold what the elements' properties wait for.
        let closed = lock(&self.table).close(pipeline, now, end);
        let Some(report) = closed.map(|closed| Report::new(&closed, end)) else { return };
        eprint!("{}", report.text());
        if let Some(path) = lock(&self.json).as_deref() {
            let written = serde_json::to_string_pretty(&report)
                .map_err(std::io::Error::from)
                .and_then(|json| std::fs::write(path, json));
            if let Err(e) = written {
                self.complain(&format!("'{path}' cannot be written: {e}"));
            }
        }
    }
}

#[glib::object_subclass]
impl ObjectSubclass for CudaInferTracer {
    const NAME: &'static str = "GstCudaInferTracer";
    type Type = super::CudaInferTracer;
    type ParentType = gst::Tracer;
}

impl ObjectImpl for CudaInferTracer {
    fn constructed(&self) {
        // A second one would take its part of each call for the first one's.
        static ONE: AtomicBool = AtomicBool::new(false);
        self.parent_constructed();
        if ONE.swap(true, Ordering::Relaxed) {
            self.complain(
                "the tracer works once: give it both options together, as in cudainfer(json=A,trace=B)",
            );
            return;
        }
        let params = self.obj().property::<Option<String>>("params").unwrap_or_default();
        for param in params.split(',').map(str::trim).filter(|param| !param.is_empty()) {
            match param.split_once('=') {
                Some(("json", path)) => *lock(&self.json) = Some(path.to_owned()),
                Some(("trace", path)) => *lock(&self.trace) = Some(Trace::new(path)),
                _ => self.complain(&format!("the tracer knows json=FILE and trace=FILE, not '{param}'")),
            }
        }
        for hook in [
            TracerHook::PadChainPre,
            TracerHook::PadChainPost,
            TracerHook::PadChainListPre,
            TracerHook::PadChainListPost,
            TracerHook::ElementPostMessagePre,
            TracerHook::ElementChangeStatePre,
            TracerHook::ElementChangeStatePost,
        ] {
            self.register_hook(hook);
        }
    }
}

impl GstObjectImpl for CudaInferTracer {}

impl TracerImpl for CudaInferTracer {
    fn pad_chain_pre(&self, ts: u64, pad: &gst::Pad, buffer: &gst::Buffer) {
        self.enter(ts, pad, 1, buffer.pts());
    }

    fn pad_chain_post(&self, ts: u64, pad: &gst::Pad, _result: Result<gst::FlowSuccess, gst::FlowError>) {
        self.leave(ts, pad);
    }

    fn pad_chain_list_pre(&self, ts: u64, pad: &gst::Pad, list: &gst::BufferList) {
        let buffers = u64::try_from(list.len()).unwrap_or(u64::MAX);
        self.enter(ts, pad, buffers, list.get(0).and_then(|buffer| buffer.pts()));
    }

    fn pad_chain_list_post(&self, ts: u64, pad: &gst::Pad, _: Result<gst::FlowSuccess, gst::FlowError>) {
        self.leave(ts, pad);
    }

    fn element_post_message_pre(&self, ts: u64, element: &gst::Element, message: &gst::Message) {
        if element.parent().is_some() {
            return;
        }
        match message.type_() {
            gst::MessageType::Eos if message.src() == Some(element.upcast_ref()) => {
                self.report(ts, element, End::Eos);
            }
            gst::MessageType::Error => self.report(ts, element, End::Error),
            _ => (),
        }
    }

    fn element_change_state_pre(&self, _ts: u64, element: &gst::Element, change: gst::StateChange) {
        if change == gst::StateChange::ReadyToPaused && element.parent().is_none() {
            lock(&self.table).start(element);
        }
    }

    fn element_change_state_post(
        &self,
        ts: u64,
        element: &gst::Element,
        change: gst::StateChange,
        _result: Result<gst::StateChangeSuccess, gst::StateChangeError>,
    ) {
        // All threads have ended by now. A pipeline that did not get to PAUSED goes from READY to NULL at once.
        let down = matches!(change, gst::StateChange::PausedToReady | gst::StateChange::ReadyToNull);
        if down && element.parent().is_none() {
            self.report(ts, element, End::Stopped);
        }
    }
}
