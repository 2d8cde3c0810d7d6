use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::Duration;

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;

use super::calls::{self, Call, Cpu};
use super::chrome::{self, Trace};
use super::complaint::complain;
use super::metrics;
use super::observe::{DropReason, Observer};
use super::options::{Metrics, Options};
use super::otlp::Sampler;
use super::report::{Report, memory_used};
use super::serve;
use super::spans;
use super::table::{End, Table};
use crate::log::TRACER as CAT;
use crate::nvtx;
use crate::sync::lock;
use crate::time::nanoseconds;

/// Whether it is the element that runs networks.
fn infers(element: &gst::Element) -> bool {
    element.factory().is_some_and(|factory| factory.name() == "trtinfer")
}

#[derive(Default)]
pub struct CudaInferTracer {
    /// Whether a table is made at a pipeline's end, and the measurements for it.
    accounts: AtomicBool,
    table: Mutex<Table>,
    json: Mutex<Option<String>>,
    trace: Mutex<Option<Trace>>,
    /// Where metrics were asked for.
    observer: OnceLock<Arc<Observer>>,
}

impl CudaInferTracer {
    /// Before an element's chain function; `buffer` is the first of its `buffers`.
    fn enter(&self, began: u64, pad: &gst::Pad, buffers: u64, buffer: Option<&gst::BufferRef>) {
        spans::align(began);
        let arrival = self.observer.get().and_then(|observer| observer.arrive(began, pad, buffer));
        let (series, sampled) = arrival.map_or((None, None), |arrival| {
            (Some(arrival.series), arrival.frame.map(|frame| (frame, arrival.end)))
        });
        let address = pad.as_ptr().addr();
        calls::enter(Call {
            pad: address,
            buffers,
            pts: buffer.and_then(gst::BufferRef::pts),
            began,
            downstream: 0,
            cpu: self.accounts.load(Ordering::Relaxed).then(Cpu::start),
            series,
            open: sampled.map(|(frame, end)| calls::open(frame, address, end)),
            _range: nvtx::attached().then(|| pad.parent_element()).flatten().and_then(|e| nvtx::range(&e)),
        });
    }

    /// After it.
    fn leave(&self, now: u64, pad: &gst::Pad) {
        let Some(ended) = calls::leave(now) else { return };
        let call = &ended.call;
        if let Some(series) = call.series.as_ref().filter(|_| call.buffers > 0) {
            series.handled(call.buffers, ended.own);
            if let Some(open) = &call.open {
                open.close(&series.element, call.began, now, ended.own);
            }
        }
        if !self.accounts.load(Ordering::Relaxed) {
            return;
        }
        // Proxy pads inside ghost pads have no element, and those of bins only hand on; the calls that they make have been
        // counted.
        let element = pad.parent_element().filter(|element| !element.is::<gst::Bin>());
        let Some(element) = element else { return };
        let frame = lock(&self.table).add(&element, call.began, call.buffers, ended.own_cpu);
        if call.buffers > 0 {
            self.trace(|trace| {
                spans::take().iter().try_for_each(|span| trace.add_span(span))?;
                if infers(&element)
                    && trace.memory_is_due(now)
                    && let Some(used) = memory_used(&element)
                {
                    trace.add_memory(&element.name(), now, used)?;
                }
                trace.add(&chrome::Call {
                    element: &element.name(),
                    began: call.began,
                    took: now.saturating_sub(call.began),
                    cpu: nanoseconds(ended.cpu),
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
            spans::end();
            complain(&format!("'{path}' cannot be written: {e}"));
        }
    }

    /// The observer, which follows everything from now on.
    fn observe(&self) -> &Arc<Observer> {
        self.observer.get_or_init(|| {
            self.watch_links();
            Arc::default()
        })
    }

    /// Registers the hooks from which the observer learns what it needs between frames.
    fn watch_links(&self) {
        self.register_hook(TracerHook::PadPushEventPre);
        self.register_hook(TracerHook::PadLinkPost);
    }

    /// Begins to count, and to answer requests.
    fn serve(&self, address: &str, stall: Duration) {
        let observer = Arc::<Observer>::default();
        match serve::start(address, stall, Arc::clone(&observer)) {
            Ok(bound) => {
                gst::info!(CAT, imp = self, "metrics are at http://{bound}/metrics");
                let _ = self.observer.set(observer);
                self.watch_links();
            }
            Err(e) => complain(&format!(
                "there are no metrics, because nothing can listen at '{address}': {e}. Set metrics=ADDRESS:PORT, such as \
                 metrics=127.0.0.1:9464, to a port that no other process has; with port 0 the system chooses one"
            )),
        }
    }

    /// Begins to follow one frame in `every`.
    fn sample(&self, url: &str, every: u64) {
        match Sampler::start(url, every) {
            Ok(sampler) => drop(self.observe().sampler.set(sampler)),
            Err(e) => complain(&e),
        }
    }

    fn report(&self, now: u64, pipeline: &gst::Element, end: End) {
        if !self.accounts.load(Ordering::Relaxed) {
            return;
        }
        self.trace(Trace::flush);
        // Outside of the lock: other threads that need it may hold what the elements' properties wait for.
        let closed = lock(&self.table).close(pipeline, now, end);
        let Some(report) = closed.map(|closed| Report::new(&closed, end)) else { return };
        eprint!("{}", report.text());
        if let Some(path) = lock(&self.json).as_deref() {
            let written = serde_json::to_string_pretty(&report)
                .map_err(std::io::Error::from)
                .and_then(|json| std::fs::write(path, json));
            if let Err(e) = written {
                complain(&format!("'{path}' cannot be written: {e}"));
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
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<[glib::ParamSpec; 1]> = LazyLock::new(|| {
            [glib::ParamSpecString::builder("page")
                .nick("Page")
                .blurb("What /metrics answers, in Prometheus' text format, where the tracer counts (its option metrics). Otherwise NULL")
                .read_only()
                .build()]
        });
        &*PROPERTIES
    }

    fn property(&self, _id: usize, _pspec: &glib::ParamSpec) -> glib::Value {
        // Only one is registered.
        self.observer.get().map(|observer| metrics::text(observer)).to_value()
    }

    fn constructed(&self) {
        // A second tracer would count its part of each call as the first one's.
        static ONE: AtomicBool = AtomicBool::new(false);
        self.parent_constructed();
        if ONE.swap(true, Ordering::Relaxed) {
            complain(
                "the tracer works once: give it all options together, as in cudainfertracer(json=A,trace=B)",
            );
            return;
        }
        let params = self.obj().property::<Option<String>>("params").unwrap_or_default();
        let (options, wrong) = Options::read(&params);
        wrong.iter().for_each(|what| complain(what));
        self.accounts.store(options.table(), Ordering::Relaxed);
        if let Some(path) = &options.trace {
            *lock(&self.trace) = Some(Trace::new(path));
            spans::begin();
        }
        *lock(&self.json) = options.json;
        match &options.metrics {
            Some(Metrics::Application) => drop(self.observe()),
            Some(Metrics::Address(address)) => self.serve(address, options.stall),
            None => (),
        }
        if let Some(url) = &options.otlp {
            self.sample(url, options.sample);
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
        self.enter(ts, pad, 1, Some(buffer.as_ref()));
    }

    fn pad_chain_post(&self, ts: u64, pad: &gst::Pad, _result: Result<gst::FlowSuccess, gst::FlowError>) {
        self.leave(ts, pad);
    }

    fn pad_chain_list_pre(&self, ts: u64, pad: &gst::Pad, list: &gst::BufferList) {
        let buffers = u64::try_from(list.len()).unwrap_or(u64::MAX);
        self.enter(ts, pad, buffers, list.get(0));
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
            gst::MessageType::Qos => {
                let from = message.src().and_then(|src| src.downcast_ref::<gst::Element>());
                if let (Some(observer), Some(from)) = (self.observer.get(), from) {
                    observer.dropped(from, if infers(from) { DropReason::Leaky } else { DropReason::Late });
                }
            }
            _ => (),
        }
    }

    fn pad_push_event_pre(&self, ts: u64, pad: &gst::Pad, event: &gst::Event) {
        if let Some(observer) = self.observer.get() {
            observer.event(ts, pad, event);
        }
    }

    fn pad_link_post(
        &self,
        _ts: u64,
        _src: &gst::Pad,
        sink: &gst::Pad,
        _result: Result<gst::PadLinkSuccess, gst::PadLinkError>,
    ) {
        if let Some(observer) = self.observer.get() {
            observer.linked(sink);
        }
    }

    fn element_change_state_pre(&self, ts: u64, element: &gst::Element, change: gst::StateChange) {
        if let Some(observer) = self.observer.get() {
            observer.state(ts, element, change);
        }
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
            if let Some(observer) = self.observer.get() {
                observer.stopped(element);
            }
        }
    }
}
