//! How peaks are found, as properties and sidecars name it.

use cudainfer_kernels::group::PafConvention;
use cudainfer_kernels::peaks;

/// How many peaks a channel has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferPeakMode")]
#[allow(missing_docs)]
pub enum Mode {
    #[default]
    #[enum_value(name = "As the sidecar says, else local", nick = "auto")]
    Auto,
    #[enum_value(name = "The highest peak of each channel", nick = "global")]
    Global,
    #[enum_value(name = "Every local maximum above the threshold", nick = "local")]
    Local,
}

impl Mode {
    pub(crate) fn kernel(self) -> Option<peaks::Mode> {
        match self {
            Self::Auto => None,
            Self::Global => Some(peaks::Mode::Global),
            Self::Local => Some(peaks::Mode::Local),
        }
    }
}

/// How a peak is placed between cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferRefinement")]
#[allow(missing_docs)]
pub enum Refinement {
    #[default]
    #[enum_value(name = "As the sidecar says, else quadratic", nick = "auto")]
    Auto,
    #[enum_value(name = "The cell itself", nick = "none")]
    None,
    #[enum_value(name = "A parabola through three cells on each axis", nick = "quadratic")]
    Quadratic,
    #[enum_value(name = "The expectation over five by five cells", nick = "integral")]
    Integral,
}

impl Refinement {
    pub(crate) fn kernel(self) -> Option<peaks::Refinement> {
        match self {
            Self::Auto => None,
            Self::None => Some(peaks::Refinement::None),
            Self::Quadratic => Some(peaks::Refinement::Quadratic),
            Self::Integral => Some(peaks::Refinement::Integral),
        }
    }
}

/// What makes the maps probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferPeakActivation")]
#[allow(missing_docs)]
pub enum Activation {
    #[default]
    #[enum_value(name = "As the sidecar says, else none", nick = "auto")]
    Auto,
    #[enum_value(name = "Nothing: the model has done it", nick = "none")]
    None,
    #[enum_value(name = "The maps are logits: a sigmoid", nick = "sigmoid")]
    Sigmoid,
}

impl Activation {
    pub(crate) fn kernel(self) -> Option<peaks::Activation> {
        match self {
            Self::Auto => None,
            Self::None => Some(peaks::Activation::None),
            Self::Sigmoid => Some(peaks::Activation::Sigmoid),
        }
    }
}

/// How the maps' cells lie on the network's input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferGrid")]
#[allow(missing_docs)]
pub enum Grid {
    #[default]
    #[enum_value(name = "As the sidecar says, else by the sizes of map and input", nick = "auto")]
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
    #[enum_value(name = "Cell i lies on pixel i * stride (SLEAP)", nick = "strided")]
    Strided,
}

impl Grid {
    pub(crate) fn kernel(self) -> Option<peaks::Grid> {
        match self {
            Self::Auto => None,
            Self::CellCenters => Some(peaks::Grid::CellCentres),
            Self::Corners => Some(peaks::Grid::Corners),
            Self::Strided => Some(peaks::Grid::Strided),
        }
    }
}

/// Which points belong to the same object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferGrouping")]
#[allow(missing_docs)]
pub enum Grouping {
    #[default]
    #[enum_value(name = "As the sidecar says, else frame", nick = "auto")]
    Auto,
    #[enum_value(name = "All points of a frame, or of a region of it, are one object's", nick = "frame")]
    Frame,
    #[enum_value(name = "Each point is an object of its own", nick = "each")]
    Each,
    #[enum_value(name = "By part affinity fields (SLEAP bottom-up, OpenPose)", nick = "paf")]
    Paf,
    #[enum_value(name = "By offsets and displacements (PoseNet)", nick = "displacements")]
    Displacements,
}

/// Whose part affinity fields they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferPafLayout")]
#[allow(missing_docs)]
pub enum PafLayout {
    #[default]
    #[enum_value(name = "As the sidecar says, else sleap", nick = "auto")]
    Auto,
    #[enum_value(name = "SLEAP's: fields of their own, the best assignment of each edge", nick = "sleap")]
    Sleap,
    #[enum_value(name = "OpenPose's: with background, the best line first", nick = "openpose")]
    OpenPose,
}

impl PafLayout {
    pub(crate) fn kernel(self) -> Option<PafConvention> {
        match self {
            Self::Auto => None,
            Self::Sleap => Some(PafConvention::Sleap),
            Self::OpenPose => Some(PafConvention::OpenPose),
        }
    }
}
