//! The model's sidecar: a TOML file beside it with what the ONNX file does not tell. `docs/model-sidecar.md` describes it
//! for users.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cudainfer_kernels::detect::{Activation, AxisOrder, Background, BoxFormat, RowFormat, SizeUnit};
use serde::{Deserialize, Deserializer, de};

use super::enums::detection::{Decoder, NmsMode};
use super::enums::tensor::{ChannelOrder, Interpolation, Layout, Resize};
use super::enums::{classes, masks, peaks};
use super::{ModelError, Skeleton, sidecar_path};
use crate::files;
use crate::nick::read as nick;

/// The whole file. All keys are optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sidecar {
    /// How the image input is filled.
    pub input: Input,
    /// What the outputs are.
    pub output: Output,
    /// How confidence maps are read.
    pub peaks: Peaks,
    /// The names of the keypoints and the edges between them.
    pub skeleton: Skeleton,
    /// How a classifier's scores are read.
    pub classify: Classify,
    /// How masks are made.
    pub segment: Segment,
    /// Values of inputs other than the image.
    pub constants: BTreeMap<String, ConstantValue>,
}

/// `[input]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Input {
    /// Name of the image input, if several inputs could be it.
    pub name: Option<String>,
    /// Size, where the model leaves it open.
    pub width: Option<u32>,
    /// Size, where the model leaves it open.
    pub height: Option<u32>,
    /// `nchw` or `nhwc`, if the shape does not tell.
    #[serde(deserialize_with = "nick")]
    pub layout: Option<Layout>,
    /// `rgb` or `bgr`.
    #[serde(deserialize_with = "nick")]
    pub channels: Option<ChannelOrder>,
    /// Factor on the pixel value (0..255).
    pub scale: Option<f32>,
    /// Value subtracted after scaling: one value, or one per channel in the tensor's channel order.
    pub mean: Option<Vec<f32>>,
    /// Divisor applied after that: one value, or one per channel.
    pub std: Option<Vec<f32>>,
    /// `letterbox`, `stretch` or `center-crop`.
    #[serde(deserialize_with = "nick")]
    pub resize: Option<Resize>,
    /// `bilinear`, `nearest` or `area`.
    #[serde(deserialize_with = "nick")]
    pub interpolation: Option<Interpolation>,
    /// Pixel value of the letterbox bars.
    pub padding: Option<u8>,
    /// Real value of one step of an integer input.
    pub quant_scale: Option<f32>,
    /// Integer that represents 0.
    pub zero_point: Option<i32>,
    /// Factor on the width and height of objects' regions.
    pub roi_padding: Option<f32>,
    /// Number of frame pixels along the tensor's longer side in objects' regions; 0 uses the object's box.
    pub roi_size: Option<u32>,
}

/// `[output]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Output {
    /// Format of the detector's outputs.
    #[serde(deserialize_with = "nick")]
    pub decoder: Option<Decoder>,
    /// Names of the classes or of the keypoints.
    pub labels: Vec<String>,
    /// File beside the sidecar with the same names, one per line.
    pub labels_file: Option<PathBuf>,
    /// Confidence threshold.
    pub confidence: Option<f32>,
    /// IoU threshold.
    pub iou: Option<f32>,
    /// How overlapping boxes are suppressed.
    #[serde(deserialize_with = "nick")]
    pub nms: Option<NmsMode>,
    /// Whether every class of an anchor that passes becomes a box, not only the best.
    pub multi_label: Option<bool>,
    /// Strides of the grids, in the order in which the model writes them.
    pub strides: Option<Vec<usize>>,
    /// Format of the boxes, for the boxes-scores decoder.
    #[serde(deserialize_with = "box_format")]
    pub box_format: Option<BoxFormat>,
    /// Whether these boxes are fractions of the input, 0 to 1.
    pub normalized: Option<bool>,
    /// What turns the scores into probabilities.
    #[serde(deserialize_with = "activation")]
    pub activation: Option<Activation>,
    /// Which class is the background.
    #[serde(deserialize_with = "background")]
    pub background: Option<Background>,
    /// Order of the columns of final boxes, for the end-to-end decoder.
    #[serde(deserialize_with = "row_format")]
    pub row_format: Option<RowFormat>,
    /// Number of keypoints of an object, if boxes have keypoints.
    pub keypoints: Option<usize>,
    /// Unit of a heat map's sizes.
    #[serde(deserialize_with = "size_unit")]
    pub size_unit: Option<SizeUnit>,
    /// First axis of a heat map's sizes, offsets and landmarks.
    #[serde(deserialize_with = "axis_order")]
    pub axis_order: Option<AxisOrder>,
}

/// `[peaks]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Peaks {
    /// The output that holds the confidence maps.
    pub output: Option<String>,
    /// `global` or `local`.
    #[serde(deserialize_with = "nick")]
    pub mode: Option<peaks::Mode>,
    /// `none`, `quadratic` or `integral`.
    #[serde(deserialize_with = "nick")]
    pub refinement: Option<peaks::Refinement>,
    /// `none` or `sigmoid`.
    #[serde(deserialize_with = "nick")]
    pub activation: Option<peaks::Activation>,
    /// `nchw` or `nhwc`.
    #[serde(deserialize_with = "nick")]
    pub layout: Option<Layout>,
    /// Position of the maps' cells on the input.
    #[serde(deserialize_with = "nick")]
    pub grid: Option<peaks::Grid>,
    /// Minimum value of a peak.
    pub threshold: Option<f32>,
    /// `frame`, `each`, `paf` or `displacements`.
    #[serde(deserialize_with = "nick")]
    pub grouping: Option<peaks::Grouping>,
    /// Label of an instance.
    pub label: Option<String>,
    /// The output that holds the part affinity fields.
    pub pafs: Option<String>,
    /// `sleap` or `openpose`.
    #[serde(deserialize_with = "nick")]
    pub paf_layout: Option<peaks::PafLayout>,
    /// Channel of each edge's x.
    pub paf_channels: Option<Vec<usize>>,
    /// Number of samples on a line.
    pub samples: Option<usize>,
    /// Maximum length of a line without a penalty, as a fraction of the input.
    pub max_length: Option<f32>,
    /// Weight of that penalty.
    pub length_weight: Option<f32>,
    /// Minimum score of a line.
    pub min_line_score: Option<f32>,
    /// Value above which a sample is high.
    pub min_sample: Option<f32>,
    /// Fraction of a line's samples that must be high.
    pub min_share: Option<f32>,
    /// The output that holds PoseNet's offsets.
    pub offsets: Option<String>,
    /// The output that holds the displacements from parent to child.
    pub forward: Option<String>,
    /// The output that holds those from child to parent.
    pub backward: Option<String>,
    /// Radius in tensor pixels around a point of an instance in which a point of another one is a duplicate.
    pub nms_radius: Option<f32>,
    /// Maximum number of instances in a frame.
    pub max_poses: Option<usize>,
    /// Minimum score of a point.
    pub min_point_score: Option<f32>,
    /// Minimum number of points of an instance.
    pub min_points: Option<usize>,
    /// Minimum score of an instance.
    pub min_score: Option<f32>,
}

/// `[classify]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Classify {
    /// The output that holds the scores.
    pub output: Option<String>,
    /// `none`, `sigmoid` or `softmax`.
    #[serde(deserialize_with = "nick")]
    pub activation: Option<classes::Activation>,
    /// Maximum number of classes.
    pub top_k: Option<u32>,
    /// Minimum confidence of a class.
    pub threshold: Option<f32>,
}

/// `[segment]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Segment {
    /// Name of the output with the logits, or with the prototypes for masks of objects.
    pub output: Option<String>,
    /// `argmax`, `threshold`, `soft` or `instances`.
    #[serde(deserialize_with = "nick")]
    pub mode: Option<masks::Mode>,
    /// `none`, `sigmoid` or `softmax`.
    #[serde(deserialize_with = "nick")]
    pub activation: Option<masks::Activation>,
    /// `nchw` or `nhwc`.
    #[serde(deserialize_with = "nick")]
    pub layout: Option<Layout>,
    /// Minimum value inside the mask.
    pub threshold: Option<f32>,
    /// The channel of `threshold` and `soft`.
    pub channel: Option<u32>,
    /// Background class of `argmax`, -1 for none.
    pub background: Option<i32>,
    /// Weight of the previous frames in temporal smoothing.
    pub smoothing: Option<f32>,
    /// Radius of the opening, in cells.
    pub opening: Option<u32>,
    /// Radius of the closing, in cells.
    pub closing: Option<u32>,
    /// Minimum size of a connected area in cells.
    pub min_area: Option<u32>,
}

/// The value of an input other than the image.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a constant is a list of numbers, \"input-height-width\", \"input-width-height\" or \"frame-height-width\""
)]
pub enum ConstantValue {
    /// Numbers, row-major, in the input's own type.
    Numbers(Vec<f64>),
    /// `input-height-width`, `input-width-height` or `frame-height-width`: two numbers of the input tensor or of the frame.
    Size(SizeOf),
}

/// A size that is known only while frames flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeOf {
    /// The input tensor's height and width.
    InputHeightWidth,
    /// The input tensor's width and height.
    InputWidthHeight,
    /// The frame's height and width.
    FrameHeightWidth,
}

fn one_of<'de, D: Deserializer<'de>, T: Copy>(
    deserializer: D,
    table: &[(&str, T)],
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(deserializer)?;
    table.iter().find(|(name, _)| *name == text).map(|(_, value)| Some(*value)).ok_or_else(|| {
        let names: Vec<_> = table.iter().map(|(name, _)| *name).collect();
        de::Error::custom(format!("'{text}' is none of {}", names.join(", ")))
    })
}

fn box_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BoxFormat>, D::Error> {
    one_of(
        deserializer,
        &[
            ("center-size", BoxFormat::CenterSize),
            ("corners", BoxFormat::Corners),
            ("corners-yx", BoxFormat::CornersYx),
            ("top-left-size", BoxFormat::TopLeftSize),
        ],
    )
}

fn activation<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Activation>, D::Error> {
    let table =
        [("none", Activation::None), ("sigmoid", Activation::Sigmoid), ("softmax", Activation::Softmax)];
    one_of(deserializer, &table)
}

fn background<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Background>, D::Error> {
    one_of(
        deserializer,
        &[("none", Background::None), ("first", Background::First), ("last", Background::Last)],
    )
}

fn row_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RowFormat>, D::Error> {
    let table = [
        ("box-score-class", RowFormat::BoxScoreClass),
        ("class-score-box", RowFormat::ClassScoreBox),
        ("batch-box-class-score", RowFormat::BatchBoxClassScore),
    ];
    one_of(deserializer, &table)
}

fn size_unit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SizeUnit>, D::Error> {
    let table = [("cells", SizeUnit::Cells), ("pixels", SizeUnit::Pixels), ("log-cells", SizeUnit::LogCells)];
    one_of(deserializer, &table)
}

fn axis_order<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<AxisOrder>, D::Error> {
    one_of(deserializer, &[("xy", AxisOrder::Xy), ("yx", AxisOrder::Yx)])
}

impl Sidecar {
    /// The sidecar of a model; an empty one if there is no file.
    ///
    /// # Errors
    /// [`ModelError::Sidecar`] names the wrong line; [`ModelError::File`] is for a file that cannot be read.
    pub fn beside(model: &Path) -> Result<Self, ModelError> {
        let path = sidecar_path(model);
        let text = match files::text(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(e) => return Err(ModelError::File("sidecar", path, e.to_string())),
        };
        let sidecar: Self = toml::from_str(&text)
            .map_err(|e| ModelError::Sidecar(path.clone(), e.to_string().trim().into()))?;
        sidecar.check().map_err(|why| ModelError::Sidecar(path, why))?;
        Ok(sidecar)
    }

    fn check(&self) -> Result<(), String> {
        for (name, values) in [("mean", &self.input.mean), ("std", &self.input.std)] {
            if values.as_ref().is_some_and(|v| v.len() != 1 && v.len() != 3) {
                return Err(format!("input.{name} has one value, or one for each of three channels"));
            }
        }
        let large =
            |values: &Option<Vec<f32>>| values.as_ref().is_some_and(|v| v.iter().any(|v| v.abs() > 16.0));
        if self.input.scale.is_none() && (large(&self.input.mean) || large(&self.input.std)) {
            return Err(
                "input.mean and input.std look like units of 0..255, but pixels are scaled to 0..1 first: \
                        add scale = 1.0 (or write scale = 0.00392157 if they are right as they are)"
                    .into(),
            );
        }
        for (name, value) in [("input.width", self.input.width), ("input.height", self.input.height)] {
            if value == Some(0) {
                return Err(format!("{name} is at least 1 pixel"));
            }
        }
        if self.input.roi_padding.is_some_and(|factor| !(0.01..=100.0).contains(&factor)) {
            return Err("input.roi-padding lies between 0.01 and 100; 1 is the object's box".into());
        }
        for (name, value) in [("output.confidence", self.output.confidence), ("output.iou", self.output.iou)]
        {
            if value.is_some_and(|v| !(0.0..=1.0).contains(&v)) {
                return Err(format!("{name} lies between 0 and 1"));
            }
        }
        if self.classify.top_k.is_some_and(|n| !(1..=16).contains(&n)) {
            return Err("classify.top-k lies between 1 and 16".into());
        }
        if self.segment.background.is_some_and(|v| !(-1..=255).contains(&v)) {
            return Err("segment.background is the number of a class, or -1 for none".into());
        }
        if !self.output.labels.is_empty() && self.output.labels_file.is_some() {
            return Err("output.labels and output.labels-file are two ways to say the same: keep one".into());
        }
        Ok(())
    }

    /// Whether labels and skeleton agree, when the labels have been read. Labels name classes where the model gives boxes,
    /// else points.
    pub(super) fn check_names(&self) -> Result<(), String> {
        let (labels, points) = (&self.output.labels, &self.skeleton.points);
        let name_points = self.peaks != Peaks::default() && self.output.decoder.is_none();
        if !name_points || labels.is_empty() || points.is_empty() || labels == points {
            return Ok(());
        }
        let different = labels.iter().zip(points).find(|(label, point)| label != point);
        Err(match different {
            Some((label, point)) => {
                format!("the labels call a point '{label}' that the skeleton calls '{point}'")
            }
            None => format!("there are {} labels for a skeleton of {} points", labels.len(), points.len()),
        } + ": leave the labels out, the skeleton's points are names enough")
    }
}

/// Labels from a file, one per line; blank lines at the end are ignored.
///
/// # Errors
/// [`ModelError::File`].
pub fn labels(path: &Path) -> Result<Vec<String>, ModelError> {
    let text = files::text(path).map_err(|e| ModelError::File("labels", path.to_owned(), e.to_string()))?;
    Ok(text.trim_end().lines().map(|line| line.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_in_units_of_pixels_need_a_scale() {
        let checked = |text: &str| toml::from_str::<Sidecar>(text).unwrap().check();
        let error = checked("[input]\nmean = [103.53, 116.28, 123.675]").unwrap_err();
        assert!(error.contains("scale = 1.0"), "{error}");
        assert_eq!(checked("[input]\nscale = 1.0\nstd = [57.4, 57.1, 58.4]"), Ok(()));
        assert_eq!(checked("[input]\nmean = [0.485, 0.456, 0.406]"), Ok(()));
    }

    #[test]
    fn labels_of_points_agree_with_the_skeleton() {
        let checked = |labels: &str, section: &str| {
            let skeleton = "[skeleton]\npoints = [\"head\", \"tail\"]";
            let text = format!("[output]\nlabels = {labels}\n{section}\n{skeleton}");
            toml::from_str::<Sidecar>(&text).unwrap().check_names()
        };
        let peaks = "[peaks]\nthreshold = 0.2";
        assert_eq!(checked("[\"head\", \"tail\"]", peaks), Ok(()));
        assert_eq!(checked("[]", peaks), Ok(()));
        let error = checked("[\"tail\", \"head\"]", peaks).unwrap_err();
        assert!(error.contains("call a point 'tail' that the skeleton calls 'head'"), "{error}");
        let error = checked("[\"head\"]", peaks).unwrap_err();
        assert!(error.contains("1 labels for a skeleton of 2 points"), "{error}");
        // Classes of boxes that have points.
        assert_eq!(checked("[\"mouse\"]", "decoder = \"yolov8\""), Ok(()));
    }
}
