//! The GPU's load, by NVIDIA's management library where the driver has brought it.

use std::sync::LazyLock;

use nvml_wrapper::Nvml;

/// The library, for as long as the process runs: whenever it is unloaded, one of its descriptors stays open (driver 580).
static LIBRARY: LazyLock<Option<Nvml>> = LazyLock::new(|| Nvml::init().ok());

/// The load of the machine's busiest GPU, 0 to 1; none where it cannot be read.
pub(super) fn load_of_busiest() -> Option<f64> {
    let nvml = LIBRARY.as_ref()?;
    let load = |index| nvml.device_by_index(index).and_then(|device| device.utilization_rates()).ok();
    let loads = (0..nvml.device_count().ok()?).filter_map(load);
    loads.map(|load| f64::from(load.gpu.min(100)) / 100.0).max_by(f64::total_cmp)
}
