//! From properties, sidecar and defaults to the tensor that is read, and how.

use cudainfer_kernels::maps::{MapError, MapParams, MapReader, Range, Shape, shape};
use cudainfer_kernels::preproc::{ChannelOrder, Layout};
use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use crate::caps::ModelOutputs;
use crate::decoding::named::{list, named};
use crate::model::onnx::Ending;
use crate::model::{Group, MapRange, ModelInfo, Origin, OriginKind, origins_reading};
use crate::property::Words;

/// What is done with the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMapOutput")]
#[allow(missing_docs)]
pub enum Output {
    #[default]
    #[enum_value(name = "Metadata on the frame", nick = "meta")]
    Meta,
    #[enum_value(
        name = "GRAY16_LE frames in system memory replace the frame, with the same metadata",
        nick = "gray16"
    )]
    Gray16,
    #[enum_value(
        name = "RGB frames in system memory replace the frame: the picture that a network with three channels makes, or the colours of \
                vectors of two",
        nick = "rgb"
    )]
    Rgb,
}

impl Words for Output {}

/// The size of the frames that replace the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMapSize")]
#[allow(missing_docs)]
pub enum Size {
    #[default]
    #[enum_value(name = "frame for output=gray16, model for output=rgb", nick = "auto")]
    Auto,
    #[enum_value(name = "Size of the frame, interpolated bilinearly", nick = "frame")]
    Frame,
    #[enum_value(
        name = "One pixel for each of the model's values, without a letterbox's bars; objects and masks do not go on",
        nick = "model"
    )]
    Model,
}

impl Words for Size {}

/// The properties; what is not set is left to the sidecar.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub tensor: String,
    pub score: String,
    pub counts: String,
    pub layout: Option<Layout>,
    pub output: Output,
    pub size: Size,
    pub range: Option<MapRange>,
    pub range_min: Option<f64>,
    pub range_max: Option<f64>,
    pub mean: Vec<f64>,
    pub std: Vec<f64>,
    pub order: Option<ChannelOrder>,
}

/// How a model's outputs are read.
#[derive(Clone, Debug)]
pub(super) struct TensorMapPlan {
    /// The output with the map or picture.
    pub tensor: TensorDesc,
    pub shape: Shape,
    pub params: MapParams,
    /// The output with the frame's score.
    pub score: Option<String>,
    /// What the map's sum is a number of.
    pub counts: Option<String>,
    /// Width and height of the network's input.
    pub input: [usize; 2],
    /// The source of the range, as in " from the sidecar"; empty if it is not used.
    pub range_origin: String,
}

impl Settings {
    /// Whether frames have the size of the model's output.
    pub fn is_model_sized(&self) -> bool {
        match (self.output, self.size) {
            (Output::Meta, _) | (Output::Gray16, Size::Auto) | (_, Size::Frame) => false,
            (Output::Rgb, Size::Auto) | (_, Size::Model) => true,
        }
    }

    /// How to read the outputs of `model`.
    ///
    /// # Errors
    /// A sentence: which output or parameter does not fit.
    pub fn plan(&self, model: &ModelOutputs, info: &ModelInfo) -> Result<TensorMapPlan, String> {
        let layout = self.layout.or(info.map.layout);
        let tensor = self.tensor(&model.outputs, info, layout)?.clone();
        let shape = self.shape(&tensor, layout).map_err(|e| self.with_hint(&tensor, &e.to_string()))?;
        let channels = shape.channels;
        let (range, range_origin) = self.range(&tensor, channels, info)?;
        let picture = self.output == Output::Rgb && channels == 3;
        let by_channel = |own: &[f64], sidecar: &Option<Vec<f32>>, name: &str, usual: f32| {
            let own: Vec<f32> = own.iter().map(|v| *v as f32).collect();
            let values = if own.is_empty() { sidecar.clone().unwrap_or_default() } else { own };
            let values = if picture { values } else { Vec::new() };
            match values[..] {
                [] => Ok([usual; 3]),
                [one] => Ok([one; 3]),
                [a, b, c] => Ok([a, b, c]),
                _ => Err(format!(
                    "{name} has {} values: set one, or one for each of three channels",
                    values.len()
                )),
            }
        };
        let order = self.order.or(info.map.channels).or(info.input.channels);
        let params = MapParams {
            layout,
            channels,
            range,
            mean: by_channel(&self.mean, &info.map.mean, "mean", 0.0)?,
            std: by_channel(&self.std, &info.map.std, "std", 1.0)?,
            order: order.unwrap_or(ChannelOrder::Rgb),
        };
        // Wrong parameters are reported now, not with the first frame.
        MapReader::new(&tensor, params).map_err(|e| e.to_string())?;
        let score = self.score(&model.outputs, info, &tensor)?;
        let own = Some(self.counts.clone()).filter(|counts| !counts.is_empty());
        let counts = own.or_else(|| info.map.counts.clone()).filter(|_| shape.channels == 1);
        Ok(TensorMapPlan { tensor, shape, params, score, counts, input: model.input, range_origin })
    }

    /// Numbers of a cell that can be read, those that are preferred first.
    fn channels(&self) -> &'static [usize] {
        match self.output {
            Output::Meta => &[1, 2, 3],
            Output::Gray16 => &[1],
            Output::Rgb => &[3, 2],
        }
    }

    /// The shape as which `tensor` is read.
    fn shape(&self, tensor: &TensorDesc, layout: Option<Layout>) -> Result<Shape, MapError> {
        let [preferred, others @ ..] = self.channels() else { return shape(tensor, 1, layout) };
        shape(tensor, *preferred, layout)
            .or_else(|why| others.iter().find_map(|n| shape(tensor, *n, layout).ok()).ok_or(why))
    }

    /// The output that holds the map or picture.
    fn tensor<'a>(
        &self,
        outputs: &'a [TensorDesc],
        info: &ModelInfo,
        layout: Option<Layout>,
    ) -> Result<&'a TensorDesc, String> {
        if let Some(named) = named(outputs, "tensor", &self.tensor, info.map.output.as_deref())? {
            return Ok(named);
        }
        let with = |channels: &usize| -> Vec<&TensorDesc> {
            outputs.iter().filter(|d| shape(d, *channels, layout).is_ok()).collect()
        };
        let fitting = self.channels().iter().map(with).find(|fitting| !fitting.is_empty());
        let what = if self.output == Output::Rgb { "picture" } else { "map" };
        match (fitting.as_deref(), outputs) {
            (Some(&[only]), _) | (None, [only]) => Ok(only),
            (None, _) => Err(self.with_hint(
                &outputs[0],
                &format!(
                    "none of the model's outputs, {}, is a {what}. Set tensor to the one to read",
                    list(outputs)
                ),
            )),
            _ => Err(format!(
                "several of the model's outputs, {}, could be the {what}. Set tensor to one of them",
                list(outputs)
            )),
        }
    }

    /// The sentence, with one more if the output is a map where a picture is wanted, or the other way round.
    fn with_hint(&self, tensor: &TensorDesc, sentence: &str) -> String {
        let hint = match self.output {
            Output::Rgb if shape(tensor, 1, None).is_ok() => ". Of a map, make video with output=gray16",
            Output::Gray16 if shape(tensor, 3, None).is_ok() => ". Of a picture, make video with output=rgb",
            _ => "",
        };
        format!("{sentence}{hint}")
    }

    /// The output that holds the frame's score, if there is one.
    fn score(
        &self,
        outputs: &[TensorDesc],
        info: &ModelInfo,
        map: &TensorDesc,
    ) -> Result<Option<String>, String> {
        let is_score = |d: &TensorDesc| {
            let float = matches!(d.ty, TensorType::Float32 | TensorType::Float16);
            float && d.name != map.name && d.dims.iter().all(|dim| *dim == Some(1))
        };
        if let Some(found) = named(outputs, "score", &self.score, info.map.score.as_deref())? {
            return if is_score(found) {
                Ok(Some(found.name.clone()))
            } else {
                Err(format!(
                    "'{found}' is no score, which is one number in float32 or float16. Set score to another output, or leave it out"
                ))
            };
        }
        let mut scores = outputs.iter().filter(|d| is_score(d));
        Ok(match (scores.next(), scores.next()) {
            (Some(only), None) => Some(only.name.clone()),
            _ => None,
        })
    }

    /// Which length of vectors has the wheel's own colour, and where that is set.
    fn lengths(&self, info: &ModelInfo) -> (Range, String) {
        let own =
            self.range_max.map(|most| (most as f32, format!(" from {}", Origin::of(OriginKind::Property))));
        let sidecar = info.map.range_max.map(|most| (most, origins_reading(info, &[Group::Maps])));
        let fixed = own.or(sidecar).filter(|_| self.range.or(info.map.range) != Some(MapRange::Frame));
        fixed.map_or((Range::Frame, String::new()), |(most, origin)| (Range::Fixed(0.0, most), origin))
    }

    /// Which values become which samples, and where that is set.
    fn range(
        &self,
        tensor: &TensorDesc,
        channels: usize,
        info: &ModelInfo,
    ) -> Result<(Range, String), String> {
        let rgb = self.output == Output::Rgb;
        if self.output == Output::Meta {
            return Ok((Range::Frame, String::new()));
        }
        if channels == 2 {
            return Ok(self.lengths(info));
        }
        let by_property = || format!(" from {}", Origin::of(OriginKind::Property));
        let by_words = || origins_reading(info, &[Group::Maps]);
        let own = self.range_min.is_some() || self.range_max.is_some();
        let (range, origin): (_, &dyn Fn() -> String) = match self.range {
            Some(set) => (set, &by_property),
            None if own => (MapRange::Fixed, &by_property),
            None => (info.map.range.unwrap_or(MapRange::Fixed), &by_words),
        };
        if range == MapRange::Frame && rgb {
            return Err("range=frame is for maps. For output=rgb set range-min and range-max to the values that become 0 and 255".into());
        }
        if range == MapRange::Frame {
            return Ok((Range::Frame, origin()));
        }
        let sidecar = |value: Option<f32>| value.map(f64::from);
        let min = self.range_min.or(sidecar(info.map.range_min));
        let max = self.range_max.or(sidecar(info.map.range_max));
        match (min, max) {
            (Some(min), Some(max)) => {
                let origin = if own { by_property() } else { by_words() };
                Ok((Range::Fixed(min as f32, max as f32), origin))
            }
            (None, None) if tensor.ty == TensorType::UInt8 => {
                Ok((Range::Fixed(0.0, 255.0), ", assumed from the type uint8".into()))
            }
            (None, None) => match info.ending(&tensor.name) {
                Some(ending @ (Ending::Sigmoid | Ending::Softmax)) => {
                    let origin = format!(", assumed from the {ending:?} at the model's end");
                    Ok((Range::Fixed(0.0, 1.0), origin))
                }
                _ => Err(format!(
                    "nobody says which values '{tensor}' has. Set range-min and range-max to the values that become 0 and {}{}",
                    if rgb { "255, as 0 and 1" } else { "65535" },
                    if rgb { "" } else { ", or range=frame for those of each frame" }
                )),
            },
            _ => Err("only one of range-min and range-max is set. Set both, or none".into()),
        }
    }
}
