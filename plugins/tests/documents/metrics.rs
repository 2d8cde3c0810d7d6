//! docs/metrics.md has a table of all metrics, which stands between markers and is made from the code.

use gstcudainfer::tracer::metrics::{ALL, MetricKind};

use crate::{page, properties};

const MARKERS: [&str; 2] = ["<!-- metrics -->", "<!-- /metrics -->"];

fn table() -> String {
    let mut text = format!(
        "{}\n{}\n\n| metric | type | labels | what it tells |\n|---|---|---|---|\n",
        MARKERS[0],
        properties::NOTE
    );
    for metric in ALL {
        let kind = match metric.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let labels: Vec<_> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        text += &format!("| `{}` | {kind} | {} | {} |\n", metric.name, labels.join(", "), metric.help);
    }
    text + "\n" + MARKERS[1]
}

#[test]
fn the_page_of_metrics_has_all_that_there_are() {
    properties::compare("docs/metrics.md", MARKERS, &table());
}

#[test]
fn the_scrape_configuration_is_the_one_that_is_tested() {
    let page = page("docs/metrics.md");
    assert!(page.contains("job_name: cudainfer"), "the dashboard selects by it");
    let dashboard = std::fs::read_to_string(crate::root().join("deploy/grafana.json")).unwrap();
    assert!(dashboard.contains("job=\\\"cudainfer\\\""));
}
