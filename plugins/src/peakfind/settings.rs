//! From properties, sidecar and defaults to the search's parameters; grouping.rs has the others.

use cudainfer_kernels::peaks::Params;

use crate::model::ModelInfo;
use crate::model::enums::peaks::{Activation, Grid, Grouping, Mode, PafLayout, Refinement};
use crate::model::enums::tensor::Layout;

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
    pub grouping: Grouping,
    pub pafs: String,
    pub paf_layout: PafLayout,
    pub min_line_score: Option<f32>,
    pub min_points: Option<u32>,
    pub min_score: Option<f32>,
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
            channels: None,
        }
    }

    /// The property, if it is set.
    pub fn pafs(&self) -> Option<&str> {
        Some(self.pafs.as_str()).filter(|name| !name.is_empty())
    }

    /// The property, if it is set.
    pub fn min_points(&self) -> Option<usize> {
        self.min_points.and_then(|n| usize::try_from(n).ok())
    }
}
