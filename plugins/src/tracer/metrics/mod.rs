//! The metrics that `/metrics` shows, as Prometheus wants them: names with base units, `_total` after counters, labels whose
//! values are bounded. docs/metrics.md has the table of [`ALL`].

mod families;
mod from_series;
mod from_stats;
mod process;
mod table;

use families::Families;
pub use table::{ALL, Metric, MetricKind};

use super::observe::Observer;

/// The answer to `/metrics`.
pub(super) fn text(observer: &Observer) -> String {
    let mut families = Families::default();
    families.set(&table::BUILD, &[env!("CARGO_PKG_VERSION")], 1.0);
    from_series::gather(observer, &mut families);
    for element in observer.registry.elements() {
        from_stats::gather(&element, &mut families);
    }
    process::gather(&mut families);
    families.text()
}
