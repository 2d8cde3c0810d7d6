//! `/healthz`: whether frames move.

use std::time::Duration;

use serde_json::json;

use crate::time::nanoseconds;
use crate::tracer::observe::Observer;

/// Whether no stream has been without a frame for longer than `stall`, and a JSON object that states this, or which streams have.
/// Streams that have ended, or that do not play, are not expected to have any.
pub(super) fn check(observer: &Observer, stall: Duration) -> (bool, String) {
    let now = observer.now();
    let streams = observer.registry.streams();
    let idle: Vec<_> = streams.iter().filter_map(|stream| Some((stream, stream.idle(now)?))).collect();
    let stalled = idle.iter().filter(|(_, idle)| *idle > nanoseconds(stall));
    let stalled: Vec<_> = stalled
        .map(|(stream, idle)| {
            let seconds = Duration::from_nanos(*idle).as_secs_f64();
            json!({"pipeline": stream.pipeline.name, "stream": stream.label, "seconds": seconds})
        })
        .collect();
    let healthy = stalled.is_empty();
    let status = if healthy { "ok" } else { "stalled" };
    let answer = json!({"status": status, "streams": idle.len(), "stalled": stalled});
    (healthy, format!("{answer}\n"))
}
