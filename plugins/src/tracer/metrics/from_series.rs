//! The metrics of streams, from what the hooks have counted.

use super::families::Families;
use super::table::{FRAMES, FRAMES_DROPPED, LATENCY, OBJECTS, PROCESSING, STREAMS, TRACKS};
use crate::tracer::observe::{DropReason, Observer, Series};

/// Adds them.
pub(super) fn gather(observer: &Observer, families: &mut Families) {
    // Frames without the start of a stream belong to none.
    for stream in observer.registry.streams().iter().filter(|stream| !stream.label.is_empty()) {
        let state = if stream.is_live() { "live" } else { "ended" };
        families.add(&STREAMS, &[&stream.pipeline.name, state], 1.0);
    }
    for series in observer.registry.all_series() {
        add(&series, families);
    }
}

fn add(series: &Series, families: &mut Families) {
    let labels: [&str; 3] = [&series.stream.pipeline.name, &series.element, &series.stream.label];
    let [pipeline, element, stream] = labels;
    if series.frames() > 0 {
        families.add(&FRAMES, &labels, series.frames() as f64);
        families.histogram(&PROCESSING, &labels, &series.processing.snapshot());
    }
    if let Some(latency) = series.latency() {
        families.histogram(&LATENCY, &labels, &latency.snapshot());
    }
    for reason in DropReason::ALL {
        let dropped = series.dropped(reason);
        if dropped > 0 {
            families.add(&FRAMES_DROPPED, &[pipeline, element, stream, reason.name()], dropped as f64);
        }
    }
    for (class, objects) in series.objects() {
        families.add(&OBJECTS, &[pipeline, element, stream, &class], objects as f64);
    }
    if let Some(tracks) = series.tracks() {
        families.add(&TRACKS, &labels, tracks as f64);
    }
}
