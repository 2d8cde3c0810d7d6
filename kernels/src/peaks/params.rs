//! Parameters of the search.

use crate::preproc::Layout;
use crate::sanity::{self, Expected};

/// How far outside of 0..1 the values of maps may be: networks that are trained on them do not bound them, and part
/// affinity fields in the same tensor are -1..1.
const SLACK: f32 = 1.5;

/// Which maxima of a channel are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One peak a channel: its greatest cell, if it reaches the threshold. For one animal or person a frame.
    Global,
    /// Every 3x3 maximum that reaches the threshold, at most [`PeakParams::top_k`] a channel.
    Local,
}

crate::words! { Mode:
    Global = "global", "One peak for each channel: the highest";
    Local = "local", "Every local maximum above the threshold";
}

/// How a peak is placed between the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refinement {
    /// The cell's own place.
    None,
    /// On each axis the vertex of the parabola through the cell and its two neighbours, at most half a cell away. An
    /// axis where a neighbour is missing (the map's edge) or not finite is not refined.
    Quadratic,
    /// The mean place of the 5x5 neighbourhood, weighted by the values: the "integral" refinement of SLEAP (Pereira et
    /// al., Nature Methods 2022). Cells outside the map and values that are not finite have no weight; where the
    /// weights do not sum up to more than 0 there is no refinement. For maps without negative values, which logits are not.
    Integral,
    /// A quarter of a cell towards the greater of the two neighbours on each axis: what mmpose and HRNet do by default. An
    /// axis where a neighbour is missing or not finite is not refined. (They leave out the second cell from the left and from
    /// the top, too, which is a slip.)
    Shift,
    /// "Distribution-Aware Coordinate Representation for Human Pose Estimation" (Zhang et al., CVPR 2020): the map is blurred
    /// ([`PeakParams::blur`]), and the peak is where the Taylor expansion of its logarithm around the cell has its maximum, with
    /// derivatives over two cells. There is no refinement nearer than two cells to the map's edge, and none where the
    /// expansion has no maximum, is almost flat, or the value is not above 0; the offset is 2 cells at most, where the original
    /// has no bound.
    Dark,
    /// The same as "The Devil Is in the Details: Delving Into Unbiased Data Processing for Human Pose Estimation" (Huang et
    /// al., CVPR 2020) and mmpose do it for maps of that method: with derivatives over one cell, of values from 0.001 to 50,
    /// and with the cells at the edge continued beyond it.
    DarkUdp,
    /// By another output of the network, which has an offset for each cell of each map, times [`PeakParams::offset_scale`]:
    /// location refinement of DeepLabCut (Mathis et al., Nature Neuroscience 2018; Insafutdinov et al., ECCV 2016).
    Offsets,
}

crate::words! { Refinement:
    None = "none", "None: the position of the cell";
    Quadratic = "quadratic", "Parabola through three cells on each axis";
    Integral = "integral", "Centre of mass of 5x5 cells";
    Shift = "shift", "A quarter of a cell towards the greater neighbour (mmpose, HRNet)";
    Dark = "dark", "Taylor expansion of the blurred map's logarithm (DarkPose)";
    DarkUdp = "dark-udp", "The same for unbiased data processing (UDP: ViTPose)";
    Offsets = "offsets", "By the output with an offset for each cell (DeepLabCut's location refinement)";
}

/// The least and the greatest [`PeakParams::blur`].
pub const BLUR: std::ops::RangeInclusive<usize> = 3..=31;

/// The least and the greatest [`PeakParams::sigma`].
pub const BLUR_SIGMA: std::ops::RangeInclusive<f32> = 0.1..=16.0;

/// The least and the greatest [`PeakParams::stride`].
pub const STRIDE: std::ops::RangeInclusive<f32> = 0.1..=1024.0;

/// How a map continues beyond its edge for a blur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// 0: mmpose's codecs.
    Zero,
    /// The map mirrored at its edge, which is repeated: `c b a | a b c d`. SciPy's `gaussian_filter`, which transformers uses.
    Reflect,
}

crate::words! { Border:
    Zero = "zero", "0 beyond the edge";
    Reflect = "reflect", "The map mirrored at its edge";
}

/// What turns the map's values into scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// The map holds scores.
    None,
    /// The map holds logits: `1 / (1 + exp(-v))`.
    Sigmoid,
}

crate::words! { Activation:
    None = "none", "None: the model has applied it";
    Sigmoid = "sigmoid", "Sigmoid: the maps are logits";
}

/// Where the cells of a map, `w` wide, lie in the input tensor, `W` wide (and `h`, `H` likewise). Coordinates are
/// continuous: tensor pixel `p` has its centre at `p + 0.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// Cell `i` is the tile of `W / w` pixels that it covers: its centre is at `(i + 0.5) * W / w`. Most networks.
    CellCentres,
    /// The first and last cells are the first and last pixels: cell `i` is pixel `i * (W - 1) / (w - 1)`, at that plus
    /// 0.5. Networks that align corners; PoseNet's 385 pixels and 25 cells. A single cell lies in the middle.
    Corners,
    /// As [`Grid::Corners`], for maps whose sizes are even fractions of the input's, so that the distance of cells is no whole
    /// number of pixels: unbiased data processing (UDP; Huang et al., CVPR 2020), whose unit of length is the size less 1. HRNet
    /// with UDP and ViTPose.
    Udp,
    /// Cell `i` is pixel `i * W / w`, at that plus 0.5: maps drawn by sampling at every n-th pixel, as SLEAP does.
    Strided,
    /// Cell `i` is pixel `(i + 0.5) * W / w`, at that plus 0.5: half a pixel from [`Grid::CellCentres`], because DeepLabCut, which
    /// places cells so, counts from the first pixel's centre.
    StridedHalf,
}

crate::words! { Grid:
    CellCentres = "cell-centers", "Cells tile the input: cell i is centred at (i + 0.5) * stride";
    Corners = "corners", "The first and the last cell lie on the input's first and last pixel (PoseNet)";
    Udp = "udp", "The same for maps whose sizes divide the input's: unbiased data processing (UDP: ViTPose, HRNet)";
    Strided = "strided", "Cell i lies on pixel i * stride (SLEAP, mmpose, HRNet, SimCC)";
    StridedHalf = "strided-half", "Cell i lies on pixel (i + 0.5) * stride (DeepLabCut)";
}

/// Parameters of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeakParams {
    /// Which maxima.
    pub mode: Mode,
    /// The least score of a peak, in activated units.
    pub threshold: f32,
    /// How they are refined.
    pub refinement: Refinement,
    /// What the map's values are.
    pub activation: Activation,
    /// The map's order of dimensions. `None`: the one whose height and width are an even reduction of the input
    /// tensor's, by the same factor on both axes; an error where that is neither or both.
    pub layout: Option<Layout>,
    /// Where its cells lie. `None`: [`Grid::CellCentres`] where the cells tile the input evenly, else
    /// [`Grid::Corners`] where they do so from first to last pixel, else [`Grid::CellCentres`].
    pub grid: Option<Grid>,
    /// Tensor pixels from cell to cell, in [`STRIDE`]. `None`: the input's size divided by the map's. For networks that pad
    /// their input themselves, so that the map covers more than the input. Not with [`Grid::Corners`] and [`Grid::Udp`], which
    /// follow from the sizes.
    pub stride: Option<f32>,
    /// Width of the Gaussian that [`Refinement::Dark`] and [`Refinement::DarkUdp`] blur with, in cells: an odd number in
    /// [`BLUR`]; 11 for maps that were drawn with a standard deviation of 2.
    pub blur: usize,
    /// That Gaussian's standard deviation in cells, in [`BLUR_SIGMA`]. `None`: OpenCV's for a kernel of that width,
    /// `0.3 * ((blur - 1) / 2 - 1) + 0.8`.
    pub sigma: Option<f32>,
    /// How the map continues beyond its edge for that blur.
    pub border: Border,
    /// What the numbers of [`Refinement::Offsets`] are multiplied by for pixels of the input tensor.
    pub offset_scale: f32,
    /// How many peaks a channel keeps in [`Mode::Local`], the strongest.
    pub top_k: usize,
    /// How many channels are searched, from the first on; `None` is all. For tensors with further channels besides the maps;
    /// their values that are not finite are counted all the same.
    pub channels: Option<usize>,
}

impl Default for PeakParams {
    fn default() -> Self {
        Self {
            mode: Mode::Local,
            threshold: 0.3,
            refinement: Refinement::Quadratic,
            activation: Activation::None,
            layout: None,
            grid: None,
            stride: None,
            blur: 11,
            sigma: None,
            border: Border::Zero,
            offset_scale: 1.0,
            top_k: 100,
            channels: None,
        }
    }
}

impl From<Activation> for sanity::Activation {
    fn from(activation: Activation) -> Self {
        match activation {
            Activation::None => Self::None,
            Activation::Sigmoid => Self::Sigmoid,
        }
    }
}

impl PeakParams {
    /// What the values of the maps should be.
    pub fn expected(&self) -> Expected {
        let activation = self.activation.into();
        // A threshold outside of 0..1 shows that scores have another unit.
        let fraction = (0.0..=1.0).contains(&self.threshold);
        Expected {
            activation,
            raw: true,
            slack: fraction.then_some(SLACK),
            twice: Expected::of_probabilities(activation, 1, None),
            threshold: Some(self.threshold),
            final_scores: false,
            normalized: None,
            unique: false,
            labels: None,
        }
    }
}
