//! How peaks are found and grouped: values of properties and of sidecars.

use cudainfer_kernels::group::PafConvention;
use cudainfer_kernels::peaks;

use crate::property::Words;

/// What the model's outputs hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferKeypointEncoding")]
#[allow(missing_docs)]
pub enum Encoding {
    #[default]
    #[enum_value(name = "As in the sidecar, else decided by the outputs' names and shapes", nick = "auto")]
    Auto,
    #[enum_value(name = "Confidence maps", nick = "maps")]
    Maps,
    #[enum_value(name = "Scores along x and along y of each point (SimCC: RTMPose, DWPose)", nick = "simcc")]
    Simcc,
    #[enum_value(name = "Coordinates of the points of one object (MoveNet, regression)", nick = "points")]
    Points,
    #[enum_value(
        name = "Coordinates of the points of several objects, with boxes (MoveNet MultiPose)",
        nick = "instances"
    )]
    Instances,
}

impl Words for Encoding {}

/// The number of peaks of each channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferPeakMode")]
#[allow(missing_docs)]
pub enum Mode {
    #[default]
    #[enum_value(name = "As in the sidecar, else local", nick = "auto")]
    Auto,
    #[enum_value(name = "One peak for each channel: the highest", nick = "global")]
    Global,
    #[enum_value(name = "Every local maximum above the threshold", nick = "local")]
    Local,
}

impl Words for Mode {}

impl Mode {
    pub(crate) fn kernel(self) -> Option<peaks::Mode> {
        match self {
            Self::Auto => None,
            Self::Global => Some(peaks::Mode::Global),
            Self::Local => Some(peaks::Mode::Local),
        }
    }
}

/// How the position of a peak between cells is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferRefinement")]
#[allow(missing_docs)]
pub enum Refinement {
    #[default]
    #[enum_value(name = "As in the sidecar, else quadratic", nick = "auto")]
    Auto,
    #[enum_value(name = "None: the position of the cell", nick = "none")]
    None,
    #[enum_value(name = "Parabola through three cells on each axis", nick = "quadratic")]
    Quadratic,
    #[enum_value(name = "Centre of mass of 5x5 cells", nick = "integral")]
    Integral,
    #[enum_value(name = "A quarter of a cell towards the greater neighbour (mmpose, HRNet)", nick = "shift")]
    Shift,
    #[enum_value(name = "Taylor expansion of the blurred map's logarithm (DarkPose)", nick = "dark")]
    Dark,
    #[enum_value(name = "The same for unbiased data processing (UDP: ViTPose)", nick = "dark-udp")]
    DarkUdp,
}

impl Words for Refinement {}

impl Refinement {
    pub(crate) fn kernel(self) -> Option<peaks::Refinement> {
        match self {
            Self::Auto => None,
            Self::None => Some(peaks::Refinement::None),
            Self::Quadratic => Some(peaks::Refinement::Quadratic),
            Self::Integral => Some(peaks::Refinement::Integral),
            Self::Shift => Some(peaks::Refinement::Shift),
            Self::Dark => Some(peaks::Refinement::Dark),
            Self::DarkUdp => Some(peaks::Refinement::DarkUdp),
        }
    }
}

/// What turns the maps into probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferPeakActivation")]
#[allow(missing_docs)]
pub enum Activation {
    #[default]
    #[enum_value(name = "As in the sidecar, else none", nick = "auto")]
    Auto,
    #[enum_value(name = "None: the model has applied it", nick = "none")]
    None,
    #[enum_value(name = "Sigmoid: the maps are logits", nick = "sigmoid")]
    Sigmoid,
}

impl Words for Activation {}

impl Activation {
    pub(crate) fn kernel(self) -> Option<peaks::Activation> {
        match self {
            Self::Auto => None,
            Self::None => Some(peaks::Activation::None),
            Self::Sigmoid => Some(peaks::Activation::Sigmoid),
        }
    }
}

/// The position of the maps' cells on the network's input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferGrid")]
#[allow(missing_docs)]
pub enum Grid {
    #[default]
    #[enum_value(name = "As in the sidecar, else decided by the sizes of map and input", nick = "auto")]
    Auto,
    #[enum_value(
        name = "Cells tile the input: cell i is centred at (i + 0.5) * stride",
        nick = "cell-centers"
    )]
    CellCenters,
    #[enum_value(
        name = "The first and the last cell lie on the input's first and last pixel (PoseNet)",
        nick = "corners"
    )]
    Corners,
    #[enum_value(
        name = "The same for maps whose sizes divide the input's: unbiased data processing (UDP: ViTPose, HRNet)",
        nick = "udp"
    )]
    Udp,
    #[enum_value(name = "Cell i lies on pixel i * stride (SLEAP, mmpose, HRNet, SimCC)", nick = "strided")]
    Strided,
}

impl Words for Grid {}

impl Grid {
    pub(crate) fn kernel(self) -> Option<peaks::Grid> {
        match self {
            Self::Auto => None,
            Self::CellCenters => Some(peaks::Grid::CellCentres),
            Self::Corners => Some(peaks::Grid::Corners),
            Self::Udp => Some(peaks::Grid::Udp),
            Self::Strided => Some(peaks::Grid::Strided),
        }
    }
}

/// How keypoints are grouped into objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferGrouping")]
#[allow(missing_docs)]
pub enum Grouping {
    #[default]
    #[enum_value(name = "As in the sidecar, else frame", nick = "auto")]
    Auto,
    #[enum_value(name = "All points of a frame or region are one object", nick = "frame")]
    Frame,
    #[enum_value(name = "Each point is an object", nick = "each")]
    Each,
    #[enum_value(name = "Part affinity fields (SLEAP bottom-up, OpenPose)", nick = "paf")]
    Paf,
    #[enum_value(name = "Offsets and displacements (PoseNet)", nick = "displacements")]
    Displacements,
}

impl Words for Grouping {}

/// The convention of part affinity fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferPafLayout")]
#[allow(missing_docs)]
pub enum PafLayout {
    #[default]
    #[enum_value(name = "As in the sidecar, else sleap", nick = "auto")]
    Auto,
    #[enum_value(name = "SLEAP: separate fields, optimal assignment of each edge", nick = "sleap")]
    Sleap,
    #[enum_value(name = "OpenPose: with background map, greedy assignment", nick = "openpose")]
    OpenPose,
}

impl Words for PafLayout {}

impl PafLayout {
    pub(crate) fn kernel(self) -> Option<PafConvention> {
        match self {
            Self::Auto => None,
            Self::Sleap => Some(PafConvention::Sleap),
            Self::OpenPose => Some(PafConvention::OpenPose),
        }
    }
}
