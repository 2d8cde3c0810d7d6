//! deploy/grafana.json, compared with the metrics of the tracer and the service.

use std::collections::HashSet;

use cudainfer_tests::root;
use gstcudainfer::tracer::metrics::{ALL, MetricKind};
use serde_json::Value;

fn panels() -> Vec<Value> {
    let file = std::fs::read(root().join("deploy/grafana.json")).unwrap();
    let dashboard: Value = serde_json::from_slice(&file).unwrap();
    dashboard["panels"].as_array().unwrap().clone()
}

/// Its queries, as Grafana gets them: with variables.
pub(crate) fn queries() -> Vec<String> {
    let file = std::fs::read(root().join("deploy/grafana.json")).unwrap();
    let dashboard: Value = serde_json::from_slice(&file).unwrap();
    let targets = panels().into_iter().flat_map(|panel| panel["targets"].as_array().unwrap().clone());
    let mut queries: Vec<_> = targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect();
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        let query = variable["query"].as_str().unwrap();
        let of = query.strip_prefix("label_values(").and_then(|rest| rest.split(',').next());
        queries.extend(of.map(str::to_owned));
    }
    queries
}

/// The words of a query that are names of metrics.
fn metrics(query: &str) -> Vec<&str> {
    let words = query.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("cudainfer_") || word.starts_with("process_")).collect()
}

#[test]
fn the_dashboard_asks_only_for_metrics_that_there_are() {
    let mut known = HashSet::new();
    for metric in ALL {
        match metric.kind {
            MetricKind::Histogram => {
                known.extend(["bucket", "sum", "count"].map(|part| format!("{}_{part}", metric.name)))
            }
            MetricKind::Counter | MetricKind::Gauge => drop(known.insert(metric.name.to_owned())),
        }
    }
    let queries = queries();
    assert!(queries.len() > 15, "{queries:?}");
    for query in &queries {
        let metrics = metrics(query);
        assert!(!metrics.is_empty(), "{query}");
        for metric in metrics {
            assert!(known.contains(metric), "there is no metric {metric}: {query}");
        }
    }
    // The most important metrics.
    for wanted in [
        "frames_total",
        "frames_dropped_total",
        "latency_seconds_bucket",
        "batch_size_sum",
        "queue_seconds_bucket",
        "run_seconds_bucket",
        "objects_total",
        "tracks",
        "device_memory_used_bytes",
        "fallbacks_total",
    ] {
        assert!(queries.iter().any(|query| query.contains(wanted)), "{wanted} is not shown");
    }
}

#[test]
fn each_panel_has_a_title_a_unit_and_a_place_of_its_own() {
    let panels = panels();
    let places: HashSet<_> =
        panels.iter().map(|panel| (panel["gridPos"]["x"].as_u64(), panel["gridPos"]["y"].as_u64())).collect();
    let ids: HashSet<_> = panels.iter().map(|panel| panel["id"].as_u64()).collect();
    assert_eq!((places.len(), ids.len()), (panels.len(), panels.len()));
    for panel in &panels {
        assert!(panel["title"].as_str().is_some_and(|title| !title.is_empty()), "{panel}");
        assert!(panel["fieldConfig"]["defaults"]["unit"].is_string(), "{panel}");
    }
}
