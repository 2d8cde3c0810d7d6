//! The choice of frames that are sampled, and those that are on their way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use super::super::observe::{Pipeline, Stream};
use super::exporter::Exporter;
use super::frame::Frame;

/// Sampled frames that are followed at the same time.
const MOST: usize = 256;

/// After a frame has come to where its stream ends, its way may go on for this long in a slower branch of a tee.
const SETTLED: Duration = Duration::from_secs(1);

/// A frame that has come to no sink, and for which no work was done for this long, was dropped.
const LOST: Duration = Duration::from_secs(30);

/// How long a pipeline that stops waits for its spans to be sent.
const AT_STOP: Duration = Duration::from_secs(3);

/// The sampler.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// The interval between sampled frames of a stream, in frames.
    every: u64,
    exporter: Arc<Exporter>,
    /// Written where a sampled frame begins or ends its way, read by all frames while one is followed.
    frames: RwLock<Vec<Arc<Frame>>>,
    /// How many frames are followed.
    count: AtomicUsize,
}

impl Sampler {
    /// Samples one frame in `every` of each stream, and sends their spans to `url`.
    ///
    /// # Errors
    /// A sentence for the user: the URL is not valid, the plugin was built without OTLP, or there is no thread.
    pub fn start(url: &str, every: u64) -> Result<Arc<Self>, String> {
        let sampler = Arc::new(Self::new(every, Exporter::new(url)?));
        let weak = Arc::downgrade(&sampler);
        let sweep = move || {
            if let Some(sampler) = weak.upgrade() {
                sampler.sweep();
            }
        };
        sampler.exporter.start(sweep)?;
        Ok(sampler)
    }

    pub(super) fn new(every: u64, exporter: Exporter) -> Self {
        Self { every, exporter: Arc::new(exporter), frames: RwLock::default(), count: AtomicUsize::new(0) }
    }

    /// Whether any frame is followed.
    pub fn is_busy(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// A frame with this number of its stream comes to its first element.
    pub fn born(&self, stream: &Arc<Stream>, time: u64, number: u64, now: u64) {
        if self.is_busy() {
            // After a seek the running times begin anew.
            self.close(|frame| frame.is(stream, time));
        }
        if !number.is_multiple_of(self.every) {
            return;
        }
        if self.count.load(Ordering::Acquire) >= MOST {
            self.exporter.skip();
            return;
        }
        let frame = Frame::new(stream, time, number, now, Arc::clone(&self.exporter));
        let mut frames = self.frames.write().unwrap_or_else(PoisonError::into_inner);
        frames.push(Arc::new(frame));
        self.count.store(frames.len(), Ordering::Release);
    }

    /// The sampled frame of this stream and running time.
    pub fn find(&self, stream: &Arc<Stream>, time: u64) -> Option<Arc<Frame>> {
        if !self.is_busy() {
            return None;
        }
        let frames = self.frames.read().unwrap_or_else(PoisonError::into_inner);
        frames.iter().find(|frame| frame.is(stream, time)).cloned()
    }

    /// Ends the way of the frames for which no more work is expected.
    pub(super) fn sweep(&self) {
        self.close(|frame| {
            let patience = if frame.has_arrived() { SETTLED } else { LOST };
            // A frame that is held elsewhere is being worked on.
            Arc::strong_count(frame) == 1 && frame.quiet() > patience
        });
    }

    /// A pipeline has stopped, and all its threads. Waits a bounded time for its spans to be sent.
    pub fn stopped(&self, pipeline: &Arc<Pipeline>) {
        self.close(|frame| Arc::ptr_eq(&frame.pipeline, pipeline));
        self.exporter.flush(AT_STOP);
    }

    fn close(&self, which: impl Fn(&Arc<Frame>) -> bool) {
        let mut frames = self.frames.write().unwrap_or_else(PoisonError::into_inner);
        frames.retain(|frame| {
            let ends = which(frame);
            if ends {
                frame.close();
            }
            !ends
        });
        self.count.store(frames.len(), Ordering::Release);
    }
}

#[cfg(all(test, feature = "otlp"))]
#[allow(clippy::unwrap_used)] // helpers of tests, which clippy does not know as such
mod tests {
    use gst::prelude::*;

    use super::*;

    fn sampler(every: u64) -> (Sampler, Arc<Stream>) {
        gst::init().unwrap();
        let element = gst::ElementFactory::make("identity").build().unwrap();
        let stream = Arc::new(Stream::new(Pipeline::of(element.upcast_ref()), "camera".into()));
        (Sampler::new(every, Exporter::new("http://127.0.0.1:1").unwrap()), stream)
    }

    #[test]
    fn one_frame_in_n_is_followed_and_no_more_than_memory_is_bounded_for() {
        let (sampler, stream) = sampler(3);
        assert!(!sampler.is_busy());
        for number in 0..3 * 300 {
            sampler.born(&stream, 10 * number, number, 0);
            assert_eq!(
                sampler.find(&stream, 10 * number).is_some(),
                number % 3 == 0 && number / 3 < 256,
                "{number}"
            );
        }
        assert_eq!(sampler.exporter.lost(), 300 - 256);
        let (_, other) = self::sampler(1);
        assert!(sampler.find(&other, 0).is_none(), "another stream's");
    }

    #[test]
    fn a_running_time_that_comes_again_is_another_frame() {
        let (sampler, stream) = sampler(2);
        sampler.born(&stream, 5, 0, 0);
        assert!(sampler.find(&stream, 5).is_some());
        sampler.born(&stream, 5, 1, 100);
        assert!(sampler.find(&stream, 5).is_none(), "which is not sampled");
    }

    #[test]
    fn a_frame_that_somebody_has_or_that_moved_just_now_is_followed_on() {
        let (sampler, stream) = sampler(1);
        sampler.born(&stream, 5, 0, 0);
        let held = sampler.find(&stream, 5).unwrap();
        sampler.sweep();
        assert!(sampler.is_busy());
        drop(held);
        sampler.close(|frame| Arc::ptr_eq(&frame.pipeline, &stream.pipeline));
        assert!(!sampler.is_busy());
    }
}

#[cfg(all(test, not(feature = "otlp")))]
mod without_otlp {
    use super::*;

    #[test]
    fn a_plugin_without_the_feature_says_how_to_build_it() {
        assert!(Sampler::start("http://127.0.0.1:4318", 1).unwrap_err().contains("--features otlp"));
    }
}
