//! A stream: it begins with a STREAM_START event at a source or a demuxer.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use gst::glib;

use super::attached::{Attached, find, find_or_attach};
use super::births::Births;
use super::pipeline::Pipeline;
use crate::log::TRACER as CAT;
use crate::sync::lock;

/// Frames come.
const LIVE: u8 = 0;
/// It has ended by EOS.
const ENDED: u8 = 1;
/// Its pad is gone, or its pipeline was stopped: it is shown no more.
const GONE: u8 = 2;

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Where it is.
    pub pipeline: Arc<Pipeline>,
    /// Its name for users: the element that it comes from, and which of its streams it is.
    pub label: String,
    pub(super) births: Births,
    state: AtomicU8,
    /// How often it has begun: the end of an earlier one does not end the one that goes on under its name.
    starts: AtomicU64,
    /// Whether another stream was made of it, as demuxers and compositors do.
    pub(super) has_children: AtomicBool,
    /// Whether it may stand still: it was made of streams whose frames have a time, as muxers and compositors do, and those are
    /// looked at; or it is RTCP, which comes every few seconds.
    pub(super) may_stand_still: AtomicBool,
    /// When it began, when its last frame came anywhere, and to where it ends, in ns of the hooks' time; 0 before that.
    began: AtomicU64,
    last: AtomicU64,
    last_at_end: AtomicU64,
}

impl Stream {
    /// A stream that has not begun.
    pub(in crate::tracer) fn new(pipeline: Arc<Pipeline>, label: String) -> Self {
        Self {
            pipeline,
            label,
            births: Births::default(),
            state: AtomicU8::new(LIVE),
            starts: AtomicU64::new(0),
            has_children: AtomicBool::new(false),
            may_stand_still: AtomicBool::new(false),
            began: AtomicU64::new(0),
            last: AtomicU64::new(0),
            last_at_end: AtomicU64::new(0),
        }
    }

    /// It begins at this source pad.
    pub(super) fn begin(self: &Arc<Self>, now: u64, pad: &gst::Pad) {
        let start = self.starts.fetch_add(1, Ordering::Relaxed) + 1;
        gst::debug!(CAT, obj = pad, "stream '{}' begins here", self.label);
        self.go_on(now);
        let token = Token { stream: Arc::clone(self), start };
        let before = find_or_attach(pad, Origin::default);
        let old = lock(&before.0).replace(token);
        drop(old);
    }

    /// It begins, or goes on after its end.
    pub(super) fn go_on(&self, now: u64) {
        gst::debug!(CAT, "stream '{}' is live", self.label);
        self.began.store(now, Ordering::Relaxed);
        self.state.store(LIVE, Ordering::Relaxed);
    }

    /// Its end has left the pad where it began.
    pub(super) fn end(&self) {
        gst::debug!(CAT, "stream '{}' ends", self.label);
        let _ = self.state.compare_exchange(LIVE, ENDED, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// It is shown no more.
    pub(super) fn go(&self) {
        gst::debug!(CAT, "stream '{}' is gone", self.label);
        self.state.store(GONE, Ordering::Relaxed);
    }

    /// Whether frames may still come.
    pub fn is_live(&self) -> bool {
        self.state.load(Ordering::Relaxed) == LIVE
    }

    /// Whether it is shown no more.
    pub fn is_gone(&self) -> bool {
        self.state.load(Ordering::Relaxed) == GONE
    }

    /// A frame has come.
    pub(super) fn see(&self, now: u64, end: bool) {
        self.last.store(now, Ordering::Relaxed);
        if end {
            self.last_at_end.store(now, Ordering::Relaxed);
        }
    }

    /// For how long no frame has come to where the stream ends (a sink, a muxer, a compositor), in ns, although its pipeline
    /// plays. Where none has come so far, to any element.
    pub fn idle(&self, now: u64) -> Option<u64> {
        let at = |time: &AtomicU64| time.load(Ordering::Relaxed);
        let is = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        // The bytes upstream of a demuxer come in bursts, as do those downstream of a muxer.
        let bytes = (is(&self.has_children) && !self.births.any()) || is(&self.may_stand_still);
        if !self.is_live() || bytes || self.label.is_empty() {
            return None;
        }
        let (anywhere, at_end) = (at(&self.last), at(&self.last_at_end));
        let last = if at_end > 0 { at_end } else { anywhere };
        let since = last.max(at(&self.began)).max(self.pipeline.plays_since()?);
        Some(now.saturating_sub(since))
    }
}

/// Attached to the source pad where streams begin.
#[derive(Debug, Default)]
struct Origin(Mutex<Option<Token>>);

impl Attached for Origin {
    fn quark() -> glib::Quark {
        static QUARK: LazyLock<glib::Quark> =
            LazyLock::new(|| glib::Quark::from_str("cudainfer-traced-origin"));
        *QUARK
    }
}

/// As long as it exists, the pad on which the stream began does.
#[derive(Debug)]
struct Token {
    stream: Arc<Stream>,
    start: u64,
}

impl Drop for Token {
    fn drop(&mut self) {
        if self.stream.starts.load(Ordering::Relaxed) == self.start {
            self.stream.go();
        }
    }
}

/// Calls `tell` with the stream that began on a pad, if one did.
pub(super) fn origin(pad: &gst::Pad, tell: impl FnOnce(&Stream)) {
    if let Some(origin) = find::<Origin>(pad)
        && let Some(token) = &*lock(&origin.0)
    {
        tell(&token.stream);
    }
}

/// Whether a stream began on a pad.
pub(super) fn is_origin(pad: &gst::Pad, stream: &Arc<Stream>) -> bool {
    let mut is = false;
    if let Some(origin) = find::<Origin>(pad) {
        is = lock(&origin.0).as_ref().is_some_and(|token| Arc::ptr_eq(&token.stream, stream));
    }
    is
}
