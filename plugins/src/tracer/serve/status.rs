//! `/status`: the property `stats` of every element of ours.

use gst::prelude::*;
use serde_json::{Map, Value, json};

use crate::tracer::observe::{Observer, Pipeline};
use crate::tracer::stats::{Stat, stats};

/// A JSON object with the elements of all pipelines.
pub(super) fn text(observer: &Observer) -> String {
    let elements: Vec<_> = observer.registry.elements().iter().map(element).collect();
    let streams: Vec<_> = observer.registry.streams().iter().filter(|stream| !stream.label.is_empty()).map(|stream| {
        json!({"pipeline": stream.pipeline.name, "stream": stream.label, "live": stream.is_live()})
    }).collect();
    format!("{:#}\n", json!({"version": env!("CARGO_PKG_VERSION"), "streams": streams, "elements": elements}))
}

fn element(element: &gst::Element) -> Value {
    let stats: Map<_, _> = stats(element).into_iter().map(|(field, stat)| (field, value(stat))).collect();
    json!({
        "pipeline": Pipeline::of(element).name,
        "name": element.name().as_str(),
        "factory": element.factory().map(|factory| factory.name().to_string()),
        "state": element.current_state().name().as_str(),
        "stats": stats,
    })
}

fn value(stat: Stat) -> Value {
    match stat {
        Stat::Number(number) => number.into(),
        Stat::Histogram(histogram) => {
            json!({"bounds": histogram.bounds, "counts": histogram.counts, "sum": histogram.sum})
        }
    }
}
