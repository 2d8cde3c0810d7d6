//! Live sources: what comes faster than the line takes it is dropped before the line, the oldest frames first.
//!
//! Frames of a live source wait in a short queue. It drops the oldest when it is full, and a frame leaves it when as few are in
//! the line, and in the trtinfers that it shares with others, as come out within `max-latency` (window.rs); it is dropped if it
//! would still be later at the end while a newer one waits. So memory and latency stay bounded whatever the line does, and each
//! stream of an instance has its share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cudainfer_launch::elements;
use gst::ClockTime;
use gst::glib;
use gst::prelude::*;

use super::lateness::{Lateness, Run};
use super::window::Share;
use super::{Description, StreamSpec};
use crate::config::SourceKind;

/// The most frames that wait before the line.
const WAITING: u32 = 3;

impl StreamSpec {
    /// Whether its frames come at the times at which they are due.
    pub(super) fn is_live(&self) -> bool {
        match self.kind {
            SourceKind::Rtsp | SourceKind::V4l2 { .. } => true,
            SourceKind::Test(_) | SourceKind::File | SourceKind::Http => self.source.live.unwrap_or(true),
        }
    }

    /// The longest time from the source to the end of the line; none where nothing is dropped.
    pub(super) fn max_latency(&self) -> Option<ClockTime> {
        let latency = ClockTime::from_seconds_f64(self.source.max_latency.unwrap_or(1.0));
        (self.is_live() && latency > ClockTime::ZERO).then_some(latency)
    }
}

/// The elements before the line of a stream; none if its source is read as fast as possible.
///
/// # Errors
/// A plugin of GStreamer is missing.
pub(super) fn before_the_line(
    spec: &StreamSpec,
    pipeline: &gst::Pipeline,
) -> Result<Vec<gst::Element>, String> {
    let mut chain = Vec::new();
    // Frames of a camera come when they are due; a file would be read as fast as possible.
    if spec.is_live() && matches!(spec.kind, SourceKind::File | SourceKind::Http) {
        let pace = elements::make("clocksync", "pace")?;
        if let Some(pad) = pace.static_pad("src") {
            begin_with_first_frame(&pad, pipeline);
        }
        chain.push(pace);
    }
    if let Some(latency) = spec.max_latency() {
        let queue = elements::make("queue", "newest")?;
        queue.set_property_from_str("leaky", "downstream");
        queue.set_property("max-size-buffers", WAITING);
        queue.set_property("max-size-bytes", 0_u32);
        queue.set_property("max-size-time", latency.nseconds() / 2);
        chain.push(queue);
    }
    Ok(chain)
}

/// Has the pipeline's time begin with the first frame: what was needed to find and decode it is no lag. A file that begins
/// again has a first frame again.
fn begin_with_first_frame(pad: &gst::Pad, pipeline: &gst::Pipeline) {
    let (begun, pipeline) = (AtomicBool::new(false), pipeline.downgrade());
    let kinds =
        gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM | gst::PadProbeType::EVENT_FLUSH;
    pad.add_probe(kinds, move |pad, info| {
        match &info.data {
            Some(gst::PadProbeData::Buffer(frame)) if !begun.swap(true, Ordering::Relaxed) => {
                let late = times(pad, frame).map(|(_, age)| ClockTime::from_nseconds(age));
                let late = late.filter(|late| !late.is_zero());
                if let Some(((late, pipeline), base)) =
                    late.zip(pipeline.upgrade()).and_then(|both| both.1.base_time().map(|base| (both, base)))
                {
                    pipeline.set_base_time(base + late);
                }
            }
            Some(gst::PadProbeData::Event(event)) if event.type_() == gst::EventType::FlushStop => {
                begun.store(false, Ordering::Relaxed);
            }
            _ => (),
        }
        gst::PadProbeReturn::Ok
    });
}

/// The places that a run's frames have in windows: of its line, and of the instances of trtinfer that it uses.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(Arc<[Share]>);

impl Places {
    /// Gives all back for good, although the pipeline may not stop.
    pub fn close(&self) {
        self.0.iter().for_each(Share::close);
    }
}

/// Has `lateness` count what comes before the line of a live stream and what is dropped there, and how late frames are at the pad
/// where the line ends.
pub(super) fn watch(
    spec: &StreamSpec,
    description: &Description,
    queue: Option<&gst::Element>,
    end: &gst::Pad,
    lateness: &Arc<Lateness>,
) -> Places {
    let run = lateness.begin();
    let networks = description.networks();
    let shares: Arc<[Share]> = spec.max_latency().map_or_else(Arc::default, |latency| {
        let of_networks =
            (!networks.is_empty()).then(|| Share::of_instances(&description.instances, latency.nseconds()));
        std::iter::once(Share::of_line(latency.nseconds())).chain(of_networks).collect()
    });
    let places = Places(Arc::clone(&shares));
    if !spec.is_live() {
        return places;
    }
    let (counted, left) = (run.clone(), Arc::clone(&shares));
    each_frame(end, move |_, times| {
        counted.ends(times.map(|(_, age)| age));
        if let (Some((due, age)), [line, networks @ ..]) = (times, &*left) {
            line.leave(due, age);
            networks.iter().for_each(|networks| networks.are_past(due));
        }
    });
    let (Some(queue), Some(latency)) = (queue, spec.max_latency()) else { return places };
    if let Some(pad) = networks.last().and_then(|network| network.static_pad("src")) {
        let left = Arc::clone(&shares);
        each_frame(&pad, move |_, times| {
            if let (Some((due, age)), Some(networks)) = (times, left.get(1)) {
                networks.leave(due, age);
            }
        });
    }
    choose(queue, networks.first(), latency, shares, run);
    places
}

/// Has frames of the queue wait for their places, with the priority of the line's network, drops those that would be too late, and
/// has `run` count them.
fn choose(
    queue: &gst::Element,
    network: Option<&gst::Element>,
    latency: ClockTime,
    shares: Arc<[Share]>,
    run: Run,
) {
    let (Some(sink), Some(src)) = (queue.static_pad("sink"), queue.static_pad("src")) else { return };
    let counted = run.clone();
    each_frame(&sink, move |frame, _| counted.comes(frame.pts(), WAITING as usize));
    let (queue, network) = (queue.downgrade(), network.map(ObjectExt::downgrade));
    let kinds =
        gst::PadProbeType::BUFFER | gst::PadProbeType::EVENT_DOWNSTREAM | gst::PadProbeType::EVENT_FLUSH;
    src.add_probe(kinds, move |pad, info| {
        match &info.data {
            Some(gst::PadProbeData::Buffer(frame)) => {
                let network = network.as_ref().and_then(glib::WeakRef::upgrade);
                let priority = network.map_or(0, |network| network.property("priority"));
                let runs = || !pad.pad_flags().contains(gst::PadFlags::FLUSHING);
                let each = |waited, share: &Share| Some(share.wait(priority, runs)? || waited);
                let Some(waited) = shares.iter().try_fold(false, each) else {
                    shares.iter().for_each(Share::give_back);
                    return gst::PadProbeReturn::Ok;
                };
                let Some(queue) = queue.upgrade() else { return gst::PadProbeReturn::Ok };
                let newer = queue.property::<u32>("current-level-buffers") > 0;
                let times = times(pad, frame);
                let age = times.map(|(_, age)| age);
                if !run.leaves(frame.pts(), age, newer, waited, latency.nseconds()) {
                    return gst::PadProbeReturn::Drop;
                }
                shares.iter().for_each(|share| share.enter(times));
            }
            // The line may be busy with it for long, as trtinfer with another size.
            Some(gst::PadProbeData::Event(event)) if event.type_() == gst::EventType::Caps => {
                shares.iter().for_each(Share::give_back);
            }
            Some(gst::PadProbeData::Event(event)) if event.type_() == gst::EventType::FlushStop => {
                run.flush();
                shares.iter().for_each(Share::flush);
            }
            _ => (),
        }
        gst::PadProbeReturn::Ok
    });
}

/// Calls `seen` with each frame that passes a pad, and its `times`.
fn each_frame(pad: &gst::Pad, seen: impl Fn(&gst::BufferRef, Option<(u64, u64)>) + Send + Sync + 'static) {
    pad.add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
        if let Some(gst::PadProbeData::Buffer(frame)) = &info.data {
            seen(frame, times(pad, frame));
        }
        gst::PadProbeReturn::Ok
    });
}

/// The running time at which a frame is due, and how long ago that was for its pad's element, in ns.
fn times(pad: &gst::Pad, frame: &gst::BufferRef) -> Option<(u64, u64)> {
    let now = pad.parent_element()?.current_running_time()?;
    let segment = pad.sticky_event::<gst::event::Segment>(0)?;
    let due = segment.segment().downcast_ref::<ClockTime>()?.to_running_time(frame.pts()?)?;
    Some((due.nseconds(), now.saturating_sub(due).nseconds()))
}
