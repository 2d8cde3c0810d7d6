//! Announcing the element's latency to the pipeline.

use std::sync::atomic::Ordering;
use std::time::Duration;

use gst::prelude::*;
use gst::subclass::prelude::*;

use super::imp::TrtInfer;
use super::latency::{Change, duration};
use super::log::CAT;
use crate::sync::lock;

impl TrtInfer {
    /// Announces what this element adds to the pipeline's latency with these caps.
    pub(super) fn update_latency(&self, incoming: &gst::CapsRef) {
        let Some(running) = self.running() else { return };
        let run_ns = running.instance.run_ns.load(Ordering::Relaxed);
        self.known_run_ns.store(run_ns, Ordering::Relaxed);
        let run = Duration::from_nanos(run_ns);
        let known = running.instance.setup.timeout + 2 * run;
        let change = lock(&self.latency).know(known, duration(incoming, running.limit()));
        if change == Change::Model {
            self.tally.delays.forget();
        }
        if change != Change::Nothing {
            // A live pipeline has asked before there were caps.
            self.post_latency();
        }
    }

    /// Announces another latency if frames of a live stream have lately taken longer than was announced, or much shorter.
    pub(super) fn announce_latency(&self) {
        if !self.live.load(Ordering::Relaxed) {
            return;
        }
        // Another variant of the session serves now.
        let run_ns = self.running().map(|running| running.instance.run_ns.load(Ordering::Relaxed));
        if run_ns != Some(self.known_run_ns.load(Ordering::Relaxed))
            && let Some(caps) = self.sink.current_caps()
        {
            self.update_latency(&caps);
        }
        let Some(slowest) = self.tally.delays.take_window() else { return };
        if lock(&self.latency).measure(slowest) {
            gst::debug!(CAT, imp = self, "frames take {slowest:?} at most now");
            self.post_latency();
        }
    }

    fn post_latency(&self) {
        self.post_message(gst::message::Latency::builder().src(&*self.obj()).build());
    }
}
