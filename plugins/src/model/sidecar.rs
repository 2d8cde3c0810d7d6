//! The model's sidecar: a TOML file beside it with what the ONNX file does not tell. `docs/model-sidecar.md` describes it
//! for users.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cudainfer_kernels::detect::{self, Activation, AxisOrder, Background, BoxFormat, RowFormat, SizeUnit};
use cudainfer_kernels::peaks::{BLUR, BLUR_SIGMA, Border};
use cudainfer_kernels::preproc::MIN_CROP_RATIO;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::enums::detection::{Decoder, Formula, NmsMode};
use super::enums::tensor::{ChannelOrder, Interpolation, Layout, Resize, RoiCrop};
use super::enums::{classes, maps, masks, peaks};
use super::{ModelError, Skeleton, sidecar_path, toml_error};
use crate::files;
use crate::nick::{read as nick, write as write_nick};

/// The whole file. All keys are optional.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sidecar {
    /// How the image input is filled.
    pub input: Input,
    /// What the outputs are.
    pub output: Output,
    /// The boxes that a detector's boxes are counted from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priors: Option<Priors>,
    /// The sizes that the boxes of raw heads are multiples of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchors: Option<Anchors>,
    /// How confidence maps are read.
    pub peaks: Peaks,
    /// The names of the keypoints and the edges between them.
    pub skeleton: Skeleton,
    /// How a classifier's scores are read.
    #[serde(deserialize_with = "classify")]
    pub classify: Classify,
    /// How embeddings are read.
    pub embed: Embed,
    /// How masks are made.
    pub segment: Segment,
    /// How maps of numbers and pictures are read.
    pub map: Map,
    /// Values of inputs other than the image.
    pub constants: BTreeMap<String, ConstantValue>,
    /// What the user should know of the model's files, a sentence each: which of them are empty.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// `[input]`
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Input {
    /// Name of the image input, if several inputs could be it.
    pub name: Option<String>,
    /// Size, where the model leaves it open.
    pub width: Option<u32>,
    /// Size, where the model leaves it open.
    pub height: Option<u32>,
    /// `nchw` or `nhwc`, if the shape does not tell.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub layout: Option<Layout>,
    /// `rgb` or `bgr`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub channels: Option<ChannelOrder>,
    /// Factor on the pixel value (0..255).
    pub scale: Option<f32>,
    /// Value subtracted after scaling: one value, or one per channel in the tensor's channel order.
    pub mean: Option<Vec<f32>>,
    /// Divisor applied after that: one value, or one per channel.
    pub std: Option<Vec<f32>>,
    /// `letterbox`, `letterbox-top-left`, `stretch` or `center-crop`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub resize: Option<Resize>,
    /// Size of the tensor as a fraction of what the frame is resized to before it is cropped.
    pub crop_ratio: Option<f64>,
    /// `bilinear`, `nearest`, `area`, `pil-bilinear` or `pil-bicubic`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
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
    /// `box`, `mmpose`, `mmpose-udp` or `pixels`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub roi_crop: Option<RoiCrop>,
}

/// `[output]`
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Output {
    /// Format of the detector's outputs.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub decoder: Option<Decoder>,
    /// Names of the classes or of the keypoints.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// File beside the sidecar with the same names, one per line.
    pub labels_file: Option<PathBuf>,
    /// Confidence threshold.
    pub confidence: Option<f32>,
    /// IoU threshold.
    pub iou: Option<f32>,
    /// How overlapping boxes are suppressed.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub nms: Option<NmsMode>,
    /// Whether every class of an anchor that passes becomes a box, not only the best.
    pub multi_label: Option<bool>,
    /// Whether boxes are clamped to the frame before overlapping ones are suppressed.
    pub clip_before_nms: Option<bool>,
    /// Strides of the grids, in the order in which the model writes them.
    pub strides: Option<Vec<usize>>,
    /// Format of the boxes, instead of the decoder's own.
    #[serde(deserialize_with = "box_format", serialize_with = "write_box_format")]
    pub box_format: Option<BoxFormat>,
    /// Whether these boxes are fractions of the input, 0 to 1.
    pub normalized: Option<bool>,
    /// What turns the scores into probabilities.
    #[serde(deserialize_with = "activation", serialize_with = "write_activation")]
    pub activation: Option<Activation>,
    /// Which class is the background.
    #[serde(deserialize_with = "background", serialize_with = "write_background")]
    pub background: Option<Background>,
    /// Order of the columns of final boxes, for the end-to-end decoder.
    #[serde(deserialize_with = "row_format", serialize_with = "write_row_format")]
    pub row_format: Option<RowFormat>,
    /// Number of keypoints of an object, if boxes have keypoints.
    pub keypoints: Option<usize>,
    /// Unit of a heat map's sizes.
    #[serde(deserialize_with = "size_unit", serialize_with = "write_size_unit")]
    pub size_unit: Option<SizeUnit>,
    /// First axis of a heat map's sizes, offsets and landmarks.
    #[serde(deserialize_with = "axis_order", serialize_with = "write_axis_order")]
    pub axis_order: Option<AxisOrder>,
    /// Cells of a map of text above it are text.
    pub map_threshold: Option<f32>,
    /// How much a line of text is widened, by its area and perimeter.
    pub unclip_ratio: Option<f32>,
}

/// `[priors]`: lists of one for each stride.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Priors {
    /// Sides of squares in tensor pixels.
    pub min_sizes: Vec<Vec<f32>>,
    /// One for each minimum size: a square of the root of both follows that of the minimum.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub max_sizes: Vec<Vec<f32>>,
    /// Aspect ratios other than 1, of which each gives a wide and a high box.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aspect_ratios: Vec<Vec<f32>>,
    /// Factors on the offsets of the centre, and on the logarithms of the size.
    pub variances: Option<[f32; 2]>,
    /// Whether centre and size are clamped to the tensor.
    pub clip: Option<bool>,
}

impl Priors {
    /// For the decoder.
    pub fn kernel(&self) -> detect::Priors {
        detect::Priors {
            min_sizes: self.min_sizes.clone(),
            max_sizes: self.max_sizes.clone(),
            aspect_ratios: self.aspect_ratios.clone(),
            variances: self.variances.unwrap_or(detect::VARIANCES),
            clip: self.clip.unwrap_or(false),
        }
    }
}

/// `[anchors]`: lists of one for each stride.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Anchors {
    /// Width and height of one anchor after the other, in tensor pixels.
    pub sizes: Vec<Vec<f32>>,
    /// `yolov3`, `yolov5` or `new-coords`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub formula: Option<Formula>,
    /// How far centres reach beyond their cell, for each stride, with the formulas `yolov3` and `new-coords`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scale_xy: Vec<f32>,
}

impl Anchors {
    /// For the decoder; none without a formula, which a sidecar must have.
    pub fn kernel(&self) -> Option<detect::AnchorSizes> {
        let formula = self.formula?.kernel();
        Some(detect::AnchorSizes { sizes: self.sizes.clone(), formula, scale_xy: self.scale_xy.clone() })
    }

    fn check(&self) -> Result<(), String> {
        if self.sizes.is_empty() {
            return Err("anchors.sizes is missing: write a list for each stride with width and height of one anchor after the \
                        other in pixels, as in [[10, 13, 16, 30, 33, 23], [30, 61, 62, 45, 59, 119], [116, 90, 156, 198, 373, 326]]"
                .into());
        }
        if self.formula.is_none() {
            return Err("anchors.formula is missing: write \"yolov3\" for YOLOv3 and v4, \"yolov5\" for YOLOv5 and v7, \"new-coords\" for \
                        Scaled-YOLOv4 of Darknet".into());
        }
        Ok(())
    }
}

/// `[peaks]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Peaks {
    /// `maps`, `simcc`, `points` or `instances`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub encoding: Option<peaks::Encoding>,
    /// The output that holds the confidence maps, or the coordinates.
    pub output: Option<String>,
    /// The output of SimCC that holds the scores along x.
    pub simcc_x: Option<String>,
    /// The output of SimCC that holds the scores along y.
    pub simcc_y: Option<String>,
    /// Whether coordinates are in 0..1 of the input instead of its pixels.
    pub normalized: Option<bool>,
    /// Which coordinate comes first: `xy` or `yx`.
    #[serde(deserialize_with = "axis_order", serialize_with = "write_axis_order")]
    pub axis_order: Option<AxisOrder>,
    /// `global` or `local`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub mode: Option<peaks::Mode>,
    /// `none`, `quadratic`, `integral`, `shift`, `dark` or `dark-udp`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub refinement: Option<peaks::Refinement>,
    /// Width in cells of the Gaussian of `dark` and `dark-udp`.
    pub blur_kernel: Option<usize>,
    /// Its standard deviation in cells.
    pub blur_sigma: Option<f32>,
    /// What it meets beyond the map's edge.
    #[serde(deserialize_with = "border", serialize_with = "write_border")]
    pub blur_border: Option<Border>,
    /// `none` or `sigmoid`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub activation: Option<peaks::Activation>,
    /// `nchw` or `nhwc`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub layout: Option<Layout>,
    /// Position of the maps' cells on the input.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub grid: Option<peaks::Grid>,
    /// Minimum value of a peak.
    pub threshold: Option<f32>,
    /// `frame`, `each`, `paf` or `displacements`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub grouping: Option<peaks::Grouping>,
    /// Label of an instance.
    pub label: Option<String>,
    /// The output that holds the part affinity fields.
    pub pafs: Option<String>,
    /// `sleap` or `openpose`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
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
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Classify {
    /// The output that holds the scores.
    pub output: Option<String>,
    /// `classes` or `text`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub mode: Option<classes::Mode>,
    /// `none`, `sigmoid` or `softmax`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub activation: Option<classes::Activation>,
    /// Maximum number of classes; 0 for all.
    pub top_k: Option<u32>,
    /// Minimum confidence of a class.
    pub threshold: Option<f32>,
    /// `[classify.NAME]`: how the output of that name is read, where it differs.
    #[serde(skip_deserializing, flatten)]
    pub heads: BTreeMap<String, Head>,
}

/// `[classify.NAME]`
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Head {
    /// Names of the output's classes.
    pub labels: Vec<String>,
    /// File beside the sidecar with the same names, one per line.
    pub labels_file: Option<PathBuf>,
    /// `classes` or `text`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub mode: Option<classes::Mode>,
    /// `none`, `sigmoid` or `softmax`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub activation: Option<classes::Activation>,
    /// Maximum number of classes; 0 for all.
    pub top_k: Option<u32>,
    /// Minimum confidence of a class.
    pub threshold: Option<f32>,
}

/// `[embed]`
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Embed {
    /// The output that holds the embeddings.
    pub output: Option<String>,
    /// Whether they are scaled to length 1.
    pub normalize: Option<bool>,
}

/// `[segment]`
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Segment {
    /// Name of the output with the logits, or with the prototypes or maps for masks of objects.
    pub output: Option<String>,
    /// `argmax`, `threshold`, `soft` or `instances`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub mode: Option<masks::Mode>,
    /// `none`, `sigmoid` or `softmax`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub activation: Option<masks::Activation>,
    /// `nchw` or `nhwc`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub layout: Option<Layout>,
    /// Minimum value inside the mask.
    pub threshold: Option<f32>,
    /// Whether the masks of objects are interpolated to the frame's pixels before they are compared.
    pub upsample: Option<bool>,
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

/// `[map]`
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Map {
    /// The output that holds the map or picture.
    pub output: Option<String>,
    /// The output with one number for the frame.
    pub score: Option<String>,
    /// `nchw` or `nhwc`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub layout: Option<Layout>,
    /// `fixed` or `frame`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub range: Option<maps::Range>,
    /// The value that becomes 0.
    pub range_min: Option<f32>,
    /// The value that becomes the greatest sample.
    pub range_max: Option<f32>,
    /// Of a picture, added after `std`: one value, or one per channel in the tensor's channel order.
    pub mean: Option<Vec<f32>>,
    /// Of a picture, factor on the values: one value, or one per channel.
    pub std: Option<Vec<f32>>,
    /// Of a picture: `rgb` or `bgr`.
    #[serde(deserialize_with = "nick", serialize_with = "write_nick")]
    pub channels: Option<ChannelOrder>,
}

/// The value of an input other than the image.
#[derive(Clone, Debug, Deserialize, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeOf {
    /// The input tensor's height and width.
    InputHeightWidth,
    /// The input tensor's width and height.
    InputWidthHeight,
    /// The frame's height and width.
    FrameHeightWidth,
}

/// What the sidecar calls the values of an enum of the kernels.
type Table<T> = &'static [(&'static str, T)];

const BOX_FORMATS: Table<BoxFormat> = &[
    ("center-size", BoxFormat::CenterSize),
    ("corners", BoxFormat::Corners),
    ("corners-yx", BoxFormat::CornersYx),
    ("top-left-size", BoxFormat::TopLeftSize),
];
const ACTIVATIONS: Table<Activation> =
    &[("none", Activation::None), ("sigmoid", Activation::Sigmoid), ("softmax", Activation::Softmax)];
const BACKGROUNDS: Table<Background> =
    &[("none", Background::None), ("first", Background::First), ("last", Background::Last)];
const ROW_FORMATS: &[(&str, RowFormat)] = &[
    ("box-score-class", RowFormat::BoxScoreClass),
    ("class-score-box", RowFormat::ClassScoreBox),
    ("batch-box-class-score", RowFormat::BatchBoxClassScore),
];
const SIZE_UNITS: Table<SizeUnit> =
    &[("cells", SizeUnit::Cells), ("pixels", SizeUnit::Pixels), ("log-cells", SizeUnit::LogCells)];
const AXIS_ORDERS: Table<AxisOrder> = &[("xy", AxisOrder::Xy), ("yx", AxisOrder::Yx)];
const BORDERS: Table<Border> = &[("zero", Border::Zero), ("reflect", Border::Reflect)];

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

fn write_one_of<S: Serializer, T: Copy + PartialEq>(
    value: &Option<T>,
    table: &[(&str, T)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let name = value.and_then(|value| table.iter().find(|(_, known)| *known == value));
    name.map(|(name, _)| *name).serialize(serializer)
}

/// The keys of `[classify]`, and the tables in it, which are named after outputs.
fn classify<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Classify, D::Error> {
    let table = toml::Table::deserialize(deserializer)?;
    let (heads, own): (toml::Table, toml::Table) = table.into_iter().partition(|(_, value)| value.is_table());
    let mut read: Classify = toml::Value::Table(own).try_into().map_err(de::Error::custom)?;
    for (name, head) in heads {
        let head: Head =
            head.try_into().map_err(|e| de::Error::custom(format!("in classify.{name}: {e}")))?;
        read.heads.insert(name, head);
    }
    Ok(read)
}

fn box_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BoxFormat>, D::Error> {
    one_of(deserializer, BOX_FORMATS)
}

fn write_box_format<S: Serializer>(value: &Option<BoxFormat>, serializer: S) -> Result<S::Ok, S::Error> {
    write_one_of(value, BOX_FORMATS, serializer)
}

fn activation<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Activation>, D::Error> {
    one_of(deserializer, ACTIVATIONS)
}

fn write_activation<S: Serializer>(value: &Option<Activation>, serializer: S) -> Result<S::Ok, S::Error> {
    write_one_of(value, ACTIVATIONS, serializer)
}

fn background<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Background>, D::Error> {
    one_of(deserializer, BACKGROUNDS)
}

fn write_background<S: Serializer>(value: &Option<Background>, serializer: S) -> Result<S::Ok, S::Error> {
    write_one_of(value, BACKGROUNDS, serializer)
}

fn row_format<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RowFormat>, D::Error> {
    one_of(deserializer, ROW_FORMATS)
}

fn write_row_format<S: Serializer>(value: &Option<RowFormat>, serializer: S) -> Result<S::Ok, S::Error> {
    write_one_of(value, ROW_FORMATS, serializer)
}

fn size_unit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SizeUnit>, D::Error> {
    one_of(deserializer, SIZE_UNITS)
}

fn write_size_unit<S: Serializer>(value: &Option<SizeUnit>, serializer: S) -> Result<S::Ok, S::Error> {
    write_one_of(value, SIZE_UNITS, serializer)
}

fn axis_order<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<AxisOrder>, D::Error> {
    one_of(deserializer, AXIS_ORDERS)
}

fn write_axis_order<S: Serializer>(value: &Option<AxisOrder>, serializer: S) -> Result<S::Ok, S::Error> {
    write_one_of(value, AXIS_ORDERS, serializer)
}

fn border<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Border>, D::Error> {
    one_of(deserializer, BORDERS)
}

fn write_border<S: Serializer>(value: &Option<Border>, serializer: S) -> Result<S::Ok, S::Error> {
    write_one_of(value, BORDERS, serializer)
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
        let mut sidecar: Self = toml::from_str(&text)
            .map_err(|e| ModelError::Sidecar(path.clone(), toml_error::sentence(&text, &e)))?;
        sidecar.check().map_err(|why| ModelError::Sidecar(path.clone(), why))?;
        if text.trim().is_empty() {
            sidecar.warnings.push(format!(
                "the sidecar '{}' is empty, so the model is used as if it had none. Write the keys into it that \
                 docs/model-sidecar.md describes, or remove it",
                path.display()
            ));
        }
        Ok(sidecar)
    }

    /// The file that says the same: only the sections and keys that are set.
    pub(super) fn to_toml(&self) -> String {
        let mut words = self.clone();
        if words.output.labels_file.is_some() {
            // They were read from there.
            words.output.labels.clear();
        }
        for head in words.classify.heads.values_mut().filter(|head| head.labels_file.is_some()) {
            head.labels.clear();
        }
        let Ok(mut table) = toml::Table::try_from(&words) else { return String::new() };
        if words.skeleton == Skeleton::default() {
            table.remove("skeleton");
        }
        let mut text = String::new();
        // In the order in which the documentation has them.
        for section in [
            "input",
            "output",
            "priors",
            "anchors",
            "peaks",
            "skeleton",
            "classify",
            "embed",
            "segment",
            "map",
            "constants",
        ] {
            let Some(toml::Value::Table(keys)) = table.get(section).filter(|keys| !is_empty(keys)) else {
                continue;
            };
            let shortened =
                |value: &toml::Value| if section == "constants" { value.clone() } else { short(value) };
            let separator = if text.is_empty() { "" } else { "\n" };
            text += &format!("{separator}[{section}]\n");
            text.extend(keys.iter().map(|(key, value)| format!("{} = {}\n", quoted(key), shortened(value))));
        }
        text
    }

    fn check(&self) -> Result<(), String> {
        for (name, values) in [("mean", &self.input.mean), ("std", &self.input.std)] {
            if values.as_ref().is_some_and(|v| v.len() != 1 && v.len() != 3) {
                return Err(format!("input.{name} must have one value, or one for each of three channels"));
            }
        }
        let large =
            |values: &Option<Vec<f32>>| values.as_ref().is_some_and(|v| v.iter().any(|v| v.abs() > 16.0));
        if self.input.scale.is_none() && (large(&self.input.mean) || large(&self.input.std)) {
            return Err(
                "input.mean and input.std are values of 0..255, but pixels are scaled to 0..1 first: add scale = 1.0 to [input], or \
                 scale = 0.00392157 if they are right as they are"
                    .into(),
            );
        }
        for (name, value) in [("input.width", self.input.width), ("input.height", self.input.height)] {
            if value == Some(0) {
                return Err(format!("{name} must be at least 1 pixel"));
            }
        }
        if let Some(ratio) = self.input.crop_ratio {
            if !(MIN_CROP_RATIO..=1.0).contains(&ratio) {
                return Err(format!(
                    "input.crop-ratio is {ratio}, but lies between {MIN_CROP_RATIO} and 1; 0.875 is 224 pixels of 256"
                ));
            }
            if self.input.resize != Some(Resize::CenterCrop) {
                return Err(
                    "input.crop-ratio needs a crop: add resize = \"center-crop\", or drop crop-ratio".into(),
                );
            }
        }
        if self.input.roi_padding.is_some_and(|factor| !(0.01..=100.0).contains(&factor)) {
            return Err("input.roi-padding must be between 0.01 and 100; 1 is the object's box".into());
        }
        for (name, value) in [("output.confidence", self.output.confidence), ("output.iou", self.output.iou)]
        {
            if value.is_some_and(|v| !(0.0..=1.0).contains(&v)) {
                return Err(format!("{name} must be between 0 and 1"));
            }
        }
        self.anchors.as_ref().map_or(Ok(()), Anchors::check)?;
        if self.peaks.blur_kernel.is_some_and(|n| !BLUR.contains(&n) || n.is_multiple_of(2)) {
            return Err("peaks.blur-kernel is an odd number of cells from 3 to 31".into());
        }
        if self.peaks.blur_sigma.is_some_and(|sigma| !BLUR_SIGMA.contains(&sigma)) {
            return Err("peaks.blur-sigma is a number of cells from 0.1 to 16".into());
        }
        let mut heads = self.classify.heads.iter();
        if let Some((name, _)) = heads.find(|(_, h)| !h.labels.is_empty() && h.labels_file.is_some()) {
            return Err(format!(
                "classify.{name}.labels and classify.{name}.labels-file both name the classes: keep one"
            ));
        }
        for (name, values) in [("mean", &self.map.mean), ("std", &self.map.std)] {
            if values.as_ref().is_some_and(|v| v.len() != 1 && v.len() != 3) {
                return Err(format!("map.{name} must have one value, or one for each of three channels"));
            }
        }
        if self
            .map
            .range_min
            .zip(self.map.range_max)
            .is_some_and(|(min, max)| min.partial_cmp(&max) != Some(Ordering::Less))
        {
            return Err("map.range-min must be less than map.range-max".into());
        }
        if self.map.range_min.is_some() != self.map.range_max.is_some() {
            return Err("map.range-min and map.range-max belong together: set both, or none".into());
        }
        if self.map.channels == Some(ChannelOrder::Gray) {
            return Err("map.channels is the order of three channels: set rgb or bgr".into());
        }
        if self.segment.background.is_some_and(|v| !(-1..=255).contains(&v)) {
            return Err("segment.background must be the number of a class, or -1 for none".into());
        }
        if !self.output.labels.is_empty() && self.output.labels_file.is_some() {
            return Err("output.labels and output.labels-file both name the classes: keep one".into());
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
        let (is, number) = match labels.len() {
            1 => ("is", "1 label".to_owned()),
            count => ("are", format!("{count} labels")),
        };
        Err(match different {
            Some((label, point)) => {
                format!("the labels call a point '{label}' that the skeleton calls '{point}'")
            }
            None => format!("there {is} {number} for a skeleton of {} points", points.len()),
        } + ": remove the labels, because the skeleton names its points")
    }
}

/// Numbers with as many digits as float32 needs.
fn short(value: &toml::Value) -> toml::Value {
    match value {
        #[allow(clippy::cast_possible_truncation)] // They are float32 where they are used.
        toml::Value::Float(number) => (*number as f32).to_string().parse().unwrap_or(*number).into(),
        toml::Value::Array(list) => list.iter().map(short).collect::<Vec<_>>().into(),
        other => other.clone(),
    }
}

fn is_empty(section: &toml::Value) -> bool {
    section.as_table().is_none_or(toml::Table::is_empty)
}

/// A key as TOML writes it.
fn quoted(key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    if bare { key.to_owned() } else { toml::Value::from(key).to_string() }
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
    fn a_sidecar_is_written_as_it_was_read() {
        let text = "[input]\nchannels = \"bgr\"\nheight = 480\nmean = [0.1, 0.2, 0.3]\nscale = 0.003921569\n\n\
                    [output]\nactivation = \"sigmoid\"\naxis-order = \"yx\"\nbackground = \"last\"\nbox-format = \"corners\"\n\
                    decoder = \"boxes-scores\"\nlabels = [\"it's \\\"x\\\"\", \"b\"]\nsize-unit = \"log-cells\"\n\n\
                    [priors]\naspect-ratios = [[2.0], []]\nclip = true\nmin-sizes = [[16.0, 32.0], [64.5]]\nvariances = [0.1, 0.2]\n\n\
                    [anchors]\nformula = \"yolov3\"\nscale-xy = [1.2]\nsizes = [[12.0, 16.5]]\n\n\
                    [peaks]\nblur-border = \"reflect\"\nblur-sigma = 0.8\ngrouping = \"paf\"\n\n[skeleton]\nedges = [[0, 1]]\npoints = [\"a\", \"b\"]\n\n\
                    [classify]\nactivation = \"none\"\n\n[segment]\nbackground = -1\n\n[map]\nchannels = \"bgr\"\nrange = \"fixed\"\nrange-max = 10.5\nrange-min = 0.0\n\n[constants]\n\"a.b\" = [0.3]\n\
                    size = \"frame-height-width\"\n";
        let once = toml::from_str::<Sidecar>(text).unwrap().to_toml();
        let twice = toml::from_str::<Sidecar>(&once).unwrap().to_toml();
        assert_eq!(once, twice);
        // The same values, whatever the order of the keys and the quotes.
        let values = |text: &str| toml::from_str::<toml::Table>(text).unwrap();
        assert_eq!(values(&once), values(text));
        assert_eq!(Sidecar::default().to_toml(), "");
    }

    #[test]
    fn tables_in_classify_are_outputs_even_where_they_are_called_as_a_key() {
        let text = "[classify]\ntop-k = 3\n[classify.colour]\nlabels = [\"red\"]\nactivation = \"sigmoid\"\n[classify.output]\ntop-k = 0";
        let classify = toml::from_str::<Sidecar>(text).unwrap().classify;
        assert_eq!((classify.top_k, classify.output), (Some(3), None));
        assert_eq!(classify.heads.keys().collect::<Vec<_>>(), ["colour", "output"]);
        let colour = &classify.heads["colour"];
        assert_eq!(
            (colour.labels.as_slice(), colour.activation),
            (&["red".to_owned()][..], Some(classes::Activation::Sigmoid))
        );
        assert_eq!(classify.heads["output"].top_k, Some(0));
        for (text, wrong) in [
            ("[classify]\ntopk = 3", "topk"),
            ("[classify.colour]\nlabel = [\"red\"]", "in classify.colour"),
            ("[classify]\nactivation = \"tanh\"", "tanh"),
        ] {
            let error = toml::from_str::<Sidecar>(text).unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
        let both = "[classify.colour]\nlabels = [\"red\"]\nlabels-file = \"colours.txt\"";
        let error = toml::from_str::<Sidecar>(both).unwrap().check().unwrap_err();
        assert!(error.starts_with("classify.colour.labels and"), "{error}");
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
        assert!(error.contains("there is 1 label for a skeleton of 2 points"), "{error}");
        // Classes of boxes that have points.
        assert_eq!(checked("[\"mouse\"]", "decoder = \"yolov8\""), Ok(()));
    }
}
