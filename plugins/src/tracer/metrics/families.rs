//! The samples of one scrape, in Prometheus' text format.

use std::collections::BTreeMap;

use prometheus::proto;

use super::table::{ALL, Metric, MetricKind};
use crate::histogram::Snapshot;

/// The samples by metric and the values of its labels. Samples with the same labels (elements of one name in two bins) are added
/// up, because Prometheus refuses a page that has a sample twice.
#[derive(Debug, Default)]
pub(super) struct Families(BTreeMap<&'static str, BTreeMap<Vec<String>, Sample>>);

#[derive(Debug)]
enum Sample {
    Number(f64),
    Histogram(Snapshot),
}

impl Families {
    fn sample(&mut self, metric: &Metric, labels: &[&str], empty: Sample) -> &mut Sample {
        debug_assert_eq!(metric.labels.len(), labels.len(), "{}", metric.name);
        let labels = labels.iter().map(|value| (*value).to_owned()).collect();
        self.0.entry(metric.name).or_default().entry(labels).or_insert(empty)
    }

    /// A counter, or a gauge of things that can be added up.
    pub fn add(&mut self, metric: &Metric, labels: &[&str], value: f64) {
        if let Sample::Number(sum) = self.sample(metric, labels, Sample::Number(0.0)) {
            *sum += value;
        }
    }

    /// A gauge: the last value counts.
    pub fn set(&mut self, metric: &Metric, labels: &[&str], value: f64) {
        *self.sample(metric, labels, Sample::Number(value)) = Sample::Number(value);
    }

    /// A histogram.
    pub fn histogram(&mut self, metric: &Metric, labels: &[&str], value: &Snapshot) {
        let empty = Sample::Histogram(Snapshot::default());
        if let Sample::Histogram(sum) = self.sample(metric, labels, empty) {
            sum.add(value);
        }
    }

    /// The page.
    pub fn text(&self) -> String {
        let family = |metric: &&Metric| Some(family(metric, self.0.get(metric.name)?));
        let families: Vec<_> = ALL.iter().filter_map(family).collect();
        prometheus::TextEncoder::new()
            .encode_to_string(&families)
            .unwrap_or_else(|e| format!("# the metrics cannot be written: {e}\n"))
    }
}

fn family(metric: &Metric, samples: &BTreeMap<Vec<String>, Sample>) -> proto::MetricFamily {
    let mut family = proto::MetricFamily::default();
    family.set_name(metric.name.to_owned());
    family.set_help(metric.help.to_owned());
    family.set_field_type(match metric.kind {
        MetricKind::Counter => proto::MetricType::COUNTER,
        MetricKind::Gauge => proto::MetricType::GAUGE,
        MetricKind::Histogram => proto::MetricType::HISTOGRAM,
    });
    family.set_metric(samples.iter().map(|(labels, sample)| one(metric, labels, sample)).collect());
    family
}

fn one(metric: &Metric, labels: &[String], sample: &Sample) -> proto::Metric {
    // An empty label is left out.
    let pairs = metric.labels.iter().zip(labels).filter(|(_, value)| !value.is_empty());
    let pairs = pairs.map(|(name, value)| {
        let mut pair = proto::LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value(value.clone());
        pair
    });
    let mut shown = proto::Metric::from_label(pairs.collect());
    match (metric.kind, sample) {
        (MetricKind::Counter, Sample::Number(value)) => {
            let mut counter = proto::Counter::default();
            counter.set_value(*value);
            shown.set_counter(counter);
        }
        (_, Sample::Number(value)) => {
            let mut gauge = proto::Gauge::default();
            gauge.set_value(*value);
            shown.set_gauge(gauge);
        }
        (_, Sample::Histogram(value)) => {
            let mut below = 0;
            let buckets = value.bounds.iter().zip(&value.counts).map(|(bound, count)| {
                below += count;
                let mut bucket = proto::Bucket::default();
                bucket.set_upper_bound(*bound);
                bucket.set_cumulative_count(below);
                bucket
            });
            let mut histogram = proto::Histogram::default();
            histogram.set_bucket(buckets.collect());
            histogram.set_sample_count(value.count());
            histogram.set_sample_sum(value.sum);
            shown.set_histogram(histogram);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::super::table::{BATCH_SIZE, FRAMES, TRACKS};
    use super::*;
    use crate::histogram::Histogram;

    #[test]
    fn samples_of_the_same_labels_are_one_and_empty_labels_are_left_out() {
        let mut families = Families::default();
        families.add(&FRAMES, &["p", "a", ""], 3.0);
        families.add(&FRAMES, &["p", "a", ""], 4.0);
        families.add(&FRAMES, &["p", "quote\"\\\n", "s"], 1.0);
        families.set(&TRACKS, &["p", "t", "s"], 2.0);
        families.set(&TRACKS, &["p", "t", "s"], 1.0);
        let sizes = Histogram::of_sizes();
        [1, 3, 500].into_iter().for_each(|size| sizes.add(size));
        families.histogram(&BATCH_SIZE, &["p", "i", ""], &sizes.snapshot());
        families.histogram(&BATCH_SIZE, &["p", "i", ""], &sizes.snapshot());
        let text = families.text();
        for line in [
            "# TYPE cudainfer_frames_total counter",
            "cudainfer_frames_total{pipeline=\"p\",element=\"a\"} 7",
            "cudainfer_frames_total{pipeline=\"p\",element=\"quote\\\"\\\\\\n\",stream=\"s\"} 1",
            "cudainfer_tracks{pipeline=\"p\",element=\"t\",stream=\"s\"} 1",
            "cudainfer_batch_size_bucket{pipeline=\"p\",element=\"i\",le=\"4\"} 4",
            "cudainfer_batch_size_bucket{pipeline=\"p\",element=\"i\",le=\"+Inf\"} 6",
            "cudainfer_batch_size_sum{pipeline=\"p\",element=\"i\"} 1008",
            "cudainfer_batch_size_count{pipeline=\"p\",element=\"i\"} 6",
        ] {
            assert_eq!(text.lines().filter(|found| *found == line).count(), 1, "{line}\n{text}");
        }
        assert!(!text.contains("cudainfer_run_seconds"), "what has no sample is not shown: {text}");
    }

    #[test]
    fn names_are_as_prometheus_wants_them() {
        for metric in ALL {
            let total = metric.name.ends_with("_total");
            assert_eq!(total, metric.kind == MetricKind::Counter, "{}", metric.name);
            assert!(
                metric.name.starts_with("cudainfer_") || metric.name.starts_with("process_"),
                "{}",
                metric.name
            );
            assert!(metric.help.ends_with('.'), "{}", metric.name);
            // Prometheus itself adds these labels to what it scrapes.
            assert!(
                !metric.labels.iter().any(|label| ["instance", "job", "le"].contains(label)),
                "{}",
                metric.name
            );
            assert_eq!(ALL.iter().filter(|other| other.name == metric.name).count(), 1, "{}", metric.name);
        }
    }
}
