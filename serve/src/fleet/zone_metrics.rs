//! Metrics of zones: events that were counted, and who is inside now.

use super::counts::{structures, zones};
use crate::history::Counted;
use crate::output::Outputs;
use crate::stream::Built;

/// The most zones and classes of a stream that have a sample of their own.
const MOST: usize = 500;

/// Labels and value of a sample.
pub(super) type Labelled = (String, f64);

/// Events of a stream by zone, kind and class. Those beyond what is counted by itself have empty labels.
pub(super) fn events(stream: &str, outputs: &Outputs) -> Vec<Labelled> {
    let sample = |((zone, kind, class), count): (Counted, u64)| {
        (labels(&[("stream", stream), ("zone", &zone), ("kind", &kind), ("class", &class)]), number(count))
    };
    outputs.history().counts().into_iter().map(sample).collect()
}

/// Objects in each polygon of a stream, by class.
pub(super) fn occupancy(stream: &str, built: &Built) -> Vec<Labelled> {
    let mut samples = Vec::new();
    for element in built.description.counters() {
        for zone in zones(&element) {
            let Ok(name) = zone.get::<String>("name") else { continue };
            for class in structures(&zone, "classes") {
                let (Ok(label), Ok(inside)) = (class.get::<String>("label"), class.get::<u32>("occupancy"))
                else {
                    continue;
                };
                let labels = labels(&[("stream", stream), ("zone", &name), ("class", &label)]);
                samples.push((labels, f64::from(inside)));
            }
        }
    }
    samples.truncate(MOST);
    samples
}

/// Labels in Prometheus' text format, whatever the texts are.
fn labels(labels: &[(&str, &str)]) -> String {
    let label = |(name, text): &(&str, &str)| {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        // Other readers of the page take this for an end of a line.
        format!("{name}=\"{}\"", text.replace('\r', " "))
    };
    labels.iter().map(label).collect::<Vec<_>>().join(",")
}

/// A count as a sample.
#[allow(clippy::cast_precision_loss)] // counts beyond 2^53 are not reached
pub(super) fn number(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_neither_a_label_nor_a_line() {
        let text = labels(&[("zone", "a\"} 1\r\nb\\"), ("class", "ö")]);
        assert_eq!(text, "zone=\"a\\\"} 1 \\nb\\\\\",class=\"ö\"");
    }
}
