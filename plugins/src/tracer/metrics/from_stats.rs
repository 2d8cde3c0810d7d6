//! The metrics of our own elements, from their property `stats`.

use cudainfer_kernels::device::DEVICE_BYTES;
use gst::prelude::*;

use super::families::Families;
use super::table::{
    ALLOCATIONS, BATCH_LIMIT, BATCH_SIZE, BUSY, COPIED, DEVICE_HELD, DEVICE_SIZE, DEVICE_USED, FALLBACKS,
    FRAMES_DROPPED, GPU, GPU_SAMPLES, HOST, HOST_WAITS, LAUNCHES, QUEUE, RECORDS, RECORDS_DROPPED, RUN,
    STATS, STEP_DOWNS,
};
use crate::tracer::observe::Pipeline;
use crate::tracer::stats::{Stat, stats};

/// Nanoseconds as seconds.
const NS: f64 = 1e-9;

/// Adds those of an element.
pub(super) fn gather(element: &gst::Element, families: &mut Families) {
    let (pipeline, name) = (&Pipeline::of(element).name, element.name());
    let instance = element.find_property("instance").map(|_| element.property::<Option<String>>("instance"));
    let instance = instance.flatten().unwrap_or_default();
    let own: [&str; 2] = [pipeline, &name];
    let factory = element.factory().map(|factory| factory.name().to_string()).unwrap_or_default();
    for (field, stat) in stats(element) {
        match stat {
            Stat::Number(value) if !loss(&factory, &own, &field, value as f64, families) => {
                number(&own, &field, value as f64, families);
            }
            Stat::Number(_) => (),
            Stat::Histogram(value) => {
                let metric = match field.as_str() {
                    "batch-size" => &BATCH_SIZE,
                    "queue-time" => &QUEUE,
                    "run-time" => &RUN,
                    _ => continue,
                };
                families.histogram(metric, &[pipeline, &name, &instance], &value);
            }
        }
    }
}

fn number(own: &[&str; 2], field: &str, value: f64, families: &mut Families) {
    let [pipeline, element] = *own;
    let with = |label| [pipeline, element, label];
    match field {
        // The tracer counts them itself, by stream.
        "frames" => (),
        "launches" => families.add(&LAUNCHES, own, value),
        "host-to-device-bytes" | "device-to-host-bytes" | "device-to-device-bytes" => {
            families.add(&COPIED, &with(field.trim_end_matches("-bytes")), value);
        }
        "host-waits" => families.add(&HOST_WAITS, own, value),
        "allocations" => families.add(&ALLOCATIONS, own, value),
        "fallbacks" => families.add(&FALLBACKS, own, value),
        "gpu-ns" => families.add(&GPU, own, value * NS),
        "gpu-samples" => families.add(&GPU_SAMPLES, own, value),
        "host-ns" => families.add(&HOST, own, value * NS),
        "busy-ns" => families.add(&BUSY, own, value * NS),
        "batch-limit" => families.set(&BATCH_LIMIT, own, value),
        "step-downs" => families.add(&STEP_DOWNS, own, value),
        DEVICE_BYTES => families.set(&DEVICE_HELD, own, value),
        "device-memory-used" => families.set(&DEVICE_USED, own, value),
        "device-memory-total" => families.set(&DEVICE_SIZE, own, value),
        "written" => families.add(&RECORDS, own, value),
        _ => families.add(&STATS, &[pipeline, element, field], value),
    }
}

/// Whether a field counts losses of an element; these are added up. Different elements may have the same name for them.
fn loss(factory: &str, own: &[&str; 2], field: &str, value: f64, families: &mut Families) -> bool {
    let [pipeline, element] = *own;
    match (factory, field) {
        // The tracer counts them itself, by stream.
        ("trtinfer", "dropped") => (),
        ("inferpublish", "dropped") => {
            families.add(&RECORDS_DROPPED, &[pipeline, element, "queue-full"], value)
        }
        ("inferpublish", "failed") => families.add(&RECORDS_DROPPED, &[pipeline, element, "failed"], value),
        (_, "failed") => families.add(&FRAMES_DROPPED, &[pipeline, element, "", "failed"], value),
        _ => return false,
    }
    true
}
