use std::cell::RefCell;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use rustix::time::{ClockId, clock_gettime};

use super::table::Table;
use crate::sync::lock;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("cudainfer-tracer", gst::DebugColorFlags::empty(), Some("CPU time by element"))
});

/// A chain function that is running.
struct Call {
    started: Duration,
    /// What the elements behind took of it.
    behind: Duration,
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
}

impl CudaInferTracer {
    fn enter(&self) {
        CALLS.with_borrow_mut(|calls| calls.push(Call { started: now(), behind: Duration::ZERO }));
    }

    fn leave(&self, pad: &gst::Pad) {
        let own = CALLS.with_borrow_mut(|calls| {
            let call = calls.pop()?;
            let whole = now().saturating_sub(call.started);
            if let Some(before) = calls.last_mut() {
                before.behind += whole;
            }
            Some(whole.saturating_sub(call.behind))
        });
        // Proxy pads inside ghost pads have no element; what they call has been counted.
        if let (Some(own), Some(element)) = (own, pad.parent_element()) {
            lock(&self.table).add(&element, own);
        }
    }

    fn report(&self, pipeline: &gst::Element) {
        let report = lock(&self.table).close(pipeline);
        eprint!("{}", report.text());
        if let Some(path) = lock(&self.json).as_deref() {
            let written = serde_json::to_string_pretty(&report)
                .map_err(std::io::Error::from)
                .and_then(|json| std::fs::write(path, json));
            if let Err(e) = written {
                gst::error!(CAT, imp = self, "'{path}' cannot be written: {e}");
                eprintln!("cudainfer: '{path}' cannot be written: {e}");
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
        self.parent_constructed();
        if let Some(params) = self.obj().property::<Option<String>>("params") {
            for param in params.split(',') {
                match param.split_once('=') {
                    Some(("json", path)) => *lock(&self.json) = Some(path.to_owned()),
                    _ => eprintln!("cudainfer: the tracer knows json=FILE, not '{param}'"),
                }
            }
        }
        self.register_hook(TracerHook::PadChainPre);
        self.register_hook(TracerHook::PadChainPost);
        self.register_hook(TracerHook::ElementPostMessagePre);
    }
}

impl GstObjectImpl for CudaInferTracer {}

impl TracerImpl for CudaInferTracer {
    fn pad_chain_pre(&self, _ts: u64, _pad: &gst::Pad, _buffer: &gst::Buffer) {
        self.enter();
    }

    fn pad_chain_post(&self, _ts: u64, pad: &gst::Pad, _result: Result<gst::FlowSuccess, gst::FlowError>) {
        self.leave(pad);
    }

    fn element_post_message_pre(&self, _ts: u64, element: &gst::Element, message: &gst::Message) {
        let ends = message.type_() == gst::MessageType::Eos && element.parent().is_none();
        if ends && message.src() == Some(element.upcast_ref()) {
            self.report(element);
        }
    }
}
