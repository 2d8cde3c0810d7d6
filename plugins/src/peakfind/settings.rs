//! From properties, sidecar and defaults to the kernel's parameters, and to the tensor that holds the maps.

use cudainfer_kernels::peaks::Params;
use cudainfer_kernels::tensor::TensorDesc;

use super::enums::{Activation, Grid, Mode, Refinement};
use crate::engine::ModelInfo;
use crate::fusedpreproc::Layout;

/// The properties; what is not set is left to the sidecar.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub output: String,
    pub mode: Mode,
    pub refinement: Refinement,
    pub activation: Activation,
    pub layout: Layout,
    pub grid: Grid,
    pub threshold: Option<f32>,
    pub max_peaks: Option<u32>,
}

impl Settings {
    /// The kernel's parameters.
    pub fn params(&self, info: &ModelInfo) -> Params {
        let defaults = Params::default();
        let peaks = &info.peaks;
        Params {
            mode: self.mode.kernel().or(peaks.mode.and_then(Mode::kernel)).unwrap_or(defaults.mode),
            refinement: self
                .refinement
                .kernel()
                .or(peaks.refinement.and_then(Refinement::kernel))
                .unwrap_or(defaults.refinement),
            activation: self
                .activation
                .kernel()
                .or(peaks.activation.and_then(Activation::kernel))
                .unwrap_or(defaults.activation),
            layout: self.layout.kernel().or(peaks.layout.and_then(Layout::kernel)),
            grid: self.grid.kernel().or(peaks.grid.and_then(Grid::kernel)),
            threshold: self.threshold.or(peaks.threshold).unwrap_or(defaults.threshold),
            top_k: self.max_peaks.and_then(|n| usize::try_from(n).ok()).unwrap_or(defaults.top_k),
        }
    }

    /// The index of the output that holds the maps.
    ///
    /// # Errors
    /// None has the name that was given, or none was given and there are several.
    pub fn output(&self, outputs: &[TensorDesc], info: &ModelInfo) -> Result<usize, String> {
        let list = || outputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let named = Some(self.output.as_str()).filter(|n| !n.is_empty()).or(info.peaks.output.as_deref());
        match (named, outputs) {
            (Some(name), _) => outputs
                .iter()
                .position(|d| d.name == name)
                .ok_or_else(|| format!("the model has no output '{name}'; it has {}", list())),
            (None, [_]) => Ok(0),
            (None, _) => Err(format!(
                "the model has several outputs, {}: name the one with the confidence maps by the property output",
                list()
            )),
        }
    }
}
