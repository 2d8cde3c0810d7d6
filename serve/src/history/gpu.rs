//! The GPU's load, by NVIDIA's management library where the driver has brought it.

use nvml_wrapper::Nvml;

/// Reads the load of the machine's GPUs.
#[derive(Debug)]
pub(super) struct GpuLoad(Option<Nvml>);

impl GpuLoad {
    /// Opens the library, if it is there.
    pub fn new() -> Self {
        Self(Nvml::init().ok())
    }

    /// The load of the busiest GPU, 0 to 1; none where it cannot be read.
    pub fn busiest(&self) -> Option<f64> {
        let nvml = self.0.as_ref()?;
        let load = |index| nvml.device_by_index(index).and_then(|device| device.utilization_rates()).ok();
        let loads = (0..nvml.device_count().ok()?).filter_map(load);
        loads.map(|load| f64::from(load.gpu.min(100)) / 100.0).max_by(f64::total_cmp)
    }
}
