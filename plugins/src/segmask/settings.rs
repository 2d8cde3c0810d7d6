//! From properties, sidecar and defaults to the tensor that is read and what is made of it.

use std::fmt;

use cudainfer_kernels::detect::Extent;
use cudainfer_kernels::preproc::Layout;
use cudainfer_kernels::segment::{
    Activation, ClassQueries, Classes, InstanceMasks, ObjectQueries, Prototypes, SegmentParams, Segmenter,
};
use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use cudainfer_kernels::words::Words as _;

use crate::caps::ModelOutputs;
use crate::decoding::named::{list, named, tables_name_outputs};
use crate::decoding::reading::resolve_labels;
use crate::meta::analytics::Metadata;
use crate::meta::mask::{BOX_ROWS, COEFFICIENTS, MaskKind, ROWS};
use crate::model::onnx::Ending;
use crate::model::{Group, MaskMode, MaskRange, ModelInfo};
use crate::property::Words;

/// The size of the mask in the metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMaskSize")]
#[allow(missing_docs)]
pub enum Size {
    #[default]
    #[enum_value(name = "Size of the model's output", nick = "model")]
    Model,
    #[enum_value(name = "Size of the frame", nick = "frame")]
    Frame,
}

impl Words for Size {}

/// What is done with the mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMaskOutput")]
#[allow(missing_docs)]
pub enum Output {
    #[default]
    #[enum_value(name = "Metadata on the frame", nick = "meta")]
    Meta,
    #[enum_value(name = "Alpha channel of RGBA or BGRA frames", nick = "alpha")]
    Alpha,
    #[enum_value(name = "GRAY8 frames in system memory replace the frame", nick = "gray")]
    Gray,
    #[enum_value(
        name = "The corners around two fisheye pictures side by side, in red, where DeoVR and HereSphere read it",
        nick = "deovr"
    )]
    DeoVr,
}

impl Output {
    /// Whether the mask is painted on the frame.
    pub fn paints(self) -> bool {
        matches!(self, Self::Alpha | Self::DeoVr)
    }
}

impl Words for Output {}

/// How the edges of a soft mask are improved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMaskRefinement")]
#[allow(missing_docs)]
pub enum Refine {
    #[default]
    #[enum_value(name = "They stay as the model gives them", nick = "none")]
    None,
    #[enum_value(name = "The guided filter moves them to the edges of the picture", nick = "guided")]
    Guided,
}

impl Words for Refine {}

/// The colours of frames whose alpha channel the mask becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, glib::Enum)]
#[enum_type(name = "GstCudaInferMaskForeground")]
#[allow(missing_docs)]
pub enum Foreground {
    #[default]
    #[enum_value(name = "Those of the frame", nick = "frame")]
    Frame,
    #[enum_value(name = "Those of the foreground, estimated at soft edges; on the CPU", nick = "estimated")]
    Estimated,
}

impl Words for Foreground {}

/// The properties; what is not set is left to the sidecar.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub tensor: String,
    pub classes: String,
    pub scores: String,
    pub mode: Option<MaskMode>,
    pub activation: Option<Activation>,
    pub range: Option<MaskRange>,
    pub layout: Option<Layout>,
    pub threshold: Option<f32>,
    pub channel: Option<u32>,
    pub smoothing: Option<f32>,
    pub opening: Option<u32>,
    pub closing: Option<u32>,
    pub min_area: Option<u32>,
    pub upsample: Option<bool>,
    pub size: Size,
    pub output: Output,
    pub refine: Refine,
    pub refine_radius: Option<u32>,
    pub refine_epsilon: Option<f32>,
    pub feather_in: u32,
    pub feather_out: u32,
    pub floor: f32,
    pub foreground: Foreground,
    pub metadata: Metadata,
}

/// The radius of the guided filter in cells of the model's mask, and what is added to the variance of luma, which goes from 0 to 1. Of
/// radii from 1 to 4 this one leaves the least halo around a person in front of a bright window; chosen by eye, on one video.
pub(super) const GUIDED: (u32, f32) = (1, 1e-4);

/// The value from which on a channel counts as seen, unless the property or the sidecar has another one.
pub(super) const THRESHOLD: f32 = 0.5;

/// The score from which on a query is an object, unless the sidecar has another one.
const CONFIDENCE: f32 = 0.5;

/// The outputs of MaskFormer, Mask2Former and OneFormer, as transformers calls them: the classes of queries, and their masks.
const QUERIES: [&str; 2] = ["class_queries_logits", "masks_queries_logits"];

/// The outputs of the decoders of SAM and its descendants: a prompt's masks, of the size in which the model makes them, and how well
/// each is guessed to fit.
const PROMPTED_MASKS: [&str; 3] = ["low_res_masks", "masks", "output_masks"];
const PROMPTED_SCORES: &str = "iou_predictions";

/// The masks that SAM's decoder makes of a prompt.
const SAM_MAPS: usize = 4;

/// Classes that a mask's byte tells apart.
const MOST_CLASSES: usize = 256;

/// What becomes of the soft mask of a whole frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Improvement {
    /// The guided filter's radius in cells of the model's mask, and its epsilon.
    pub guided: Option<(u32, f32)>,
    /// The feather inwards and outwards, in pixels of the frame.
    pub feather: [u32; 2],
    /// Less than this becomes 0.
    pub floor: f32,
}

/// What to do with a model's outputs.
#[derive(Clone, Debug)]
pub(super) struct SegMaskPlan {
    /// The tensor with the logits or the prototypes.
    pub tensor: TensorDesc,
    /// What makes that tensor of the model's outputs, with the names of those, if it is none of them.
    pub queries: Option<(ClassQueries, [String; 2])>,
    /// Width and height of the network's input.
    pub input: [usize; 2],
    pub work: Work,
    /// A doubt about the setting, with which work goes on all the same.
    pub warning: Option<String>,
}

impl SegMaskPlan {
    /// Whether the tensor's cells are the input's pixels, reduced by the same factor in width and height, as those of masks are.
    /// Rows of boxes hardly ever are.
    pub fn is_map(&self) -> bool {
        let [width, height] = self.input;
        let reduced = |w: usize, h: usize| {
            let spans = |cells: usize, pixels: usize| {
                cells > 1 && pixels >= cells && (pixels - 1).is_multiple_of(cells - 1)
            };
            let tiled = width.is_multiple_of(w) && height.is_multiple_of(h) && width / w == height / h;
            tiled || spans(w, width) && spans(h, height) && (width - 1) / (w - 1) == (height - 1) / (h - 1)
        };
        match self.tensor.dims[..] {
            [.., Some(a @ 1..), Some(b @ 1..), Some(c @ 1..)] => reduced(c, b) || reduced(b, a),
            [Some(h @ 1..), Some(w @ 1..)] => reduced(w, h),
            _ => false,
        }
    }
}

/// The ways to masks.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// One for the whole frame.
    Whole {
        params: SegmentParams,
        kind: MaskKind,
        /// The value for each of the mask's bytes where the frame becomes the mask.
        gray: Vec<u8>,
    },
    /// One for each object, of the tensors of the frame.
    Instances(Each),
    /// One for each object that queries find, with the names of the outputs with their classes and masks.
    Queries(Each, Box<ObjectQueries>, [String; 2]),
    /// One for each object, of tensors of its own.
    Objects(Each, Choice),
}

/// Which of an object's maps is its mask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The one of this number.
    Map(usize),
    /// The one with the highest score in the output of this name.
    Best(String),
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Map(map) => write!(f, "each the map number {map} of its own"),
            Self::Best(scores) => write!(f, "each the best of its own maps by {scores}"),
        }
    }
}

/// What the masks of single objects are made of, and whether that is interpolated to the frame's pixels before it is compared.
#[derive(Clone, Copy, Debug)]
pub(super) enum Each {
    /// Sums of prototypes.
    Prototypes { layout: Option<Layout>, upsample: bool },
    /// A map for each query or box.
    Maps { extent: Extent, activation: Activation, threshold: f32, upsample: bool },
}

/// The information from gpunms about its objects' masks.
enum Handed<'a> {
    /// Coefficients for prototypes.
    Coefficients(&'a TensorDesc),
    /// Which map is whose, and what maps cover.
    Rows(Extent),
}

impl<'a> Handed<'a> {
    fn among(tensors: &'a [TensorDesc]) -> Option<Self> {
        tensors.iter().find_map(|tensor| match tensor.name.as_str() {
            COEFFICIENTS => Some(Self::Coefficients(tensor)),
            ROWS => Some(Self::Rows(Extent::Input)),
            BOX_ROWS => Some(Self::Rows(Extent::Box)),
            _ => None,
        })
    }
}

impl Settings {
    /// What becomes of the soft mask of a whole frame, if anything.
    pub fn improvement(&self) -> Option<Improvement> {
        let (radius, epsilon) = GUIDED;
        let guided = (self.refine == Refine::Guided)
            .then(|| (self.refine_radius.unwrap_or(radius), self.refine_epsilon.unwrap_or(epsilon)));
        let improvement =
            Improvement { guided, feather: [self.feather_in, self.feather_out], floor: self.floor };
        (improvement != Improvement::default()).then_some(improvement)
    }

    /// What to do with the outputs of `model`, of which each object has its own with `of_objects`.
    ///
    /// # Errors
    /// A sentence: which output, parameter or neighbour does not fit.
    pub fn plan(
        &self,
        model: &ModelOutputs,
        info: &ModelInfo,
        of_objects: bool,
    ) -> Result<SegMaskPlan, String> {
        tables_name_outputs(&model.outputs, "segment", info.segment.masks.keys())?;
        if of_objects {
            return self.of_each(model, info);
        }
        let mode = self.mode.or(info.segment.mode);
        let queries = self.queries(&model.outputs, info)?.filter(|_| model.masks.is_empty());
        if let (Some((_, names)), Some(MaskMode::Instances)) = (&queries, mode) {
            return self.of_queries(model, names, info);
        }
        if let Some((queries, names)) = queries {
            let (tensor, layout) = (queries.scores(), Some(Layout::Nchw));
            let info = info.of_masks(&names[1]);
            let (work, warning) = self.whole(&tensor, model.input, layout, mode, &info, -1)?;
            let queries = Some((queries, names));
            return Ok(SegMaskPlan { tensor, queries, input: model.input, work, warning });
        }
        // The output that gpunms names is the one of its objects' masks.
        let of_objects = model.masks.first().filter(|_| mode.is_none_or(|mode| mode == MaskMode::Instances));
        let tensor = self.tensor(&model.outputs, of_objects, info)?.clone();
        let info = &info.of_masks(&tensor.name);
        let (mode, input) = (self.mode.or(info.segment.mode), model.input);
        let layout = self.layout.or(info.segment.layout);
        if mode == Some(MaskMode::Instances) || of_objects.is_some_and(|values| *values == tensor) {
            let handed = Handed::among(&model.masks).ok_or_else(|| {
                format!(
                    "mode=instances needs gpunms before this element, and a model whose objects have masks: no tensor \
                     '{COEFFICIENTS}', '{ROWS}' or '{BOX_ROWS}' arrives, only {}",
                    list(&model.outputs)
                )
            })?;
            let each = self.each(&tensor, &handed, input, layout, info)?;
            return Ok(SegMaskPlan {
                tensor,
                queries: None,
                input,
                work: Work::Instances(each),
                warning: None,
            });
        }
        if self.upsample == Some(true) {
            return Err("upsample is for the masks of single objects: leave it out, or set size=frame for a mask of the whole \
                        frame at its size"
                .into());
        }
        let (work, warning) = self.whole(&tensor, input, layout, mode, info, 0)?;
        Ok(SegMaskPlan { tensor, queries: None, input, work, warning })
    }

    /// What to do with queries that have classes and masks where each is an object of its own. Nobody but this element knows of these.
    fn of_queries(
        &self,
        model: &ModelOutputs,
        names: &[String; 2],
        info: &ModelInfo,
    ) -> Result<SegMaskPlan, String> {
        self.check_each()?;
        let find = |name: &String| {
            let found = model.outputs.iter().find(|output| output.name == *name);
            found.ok_or_else(|| format!("the model has no output '{name}'"))
        };
        let (classes, masks) = (find(&names[0])?, find(&names[1])?);
        let confidence = info.output.confidence.unwrap_or(CONFIDENCE);
        let objects = ObjectQueries::new(classes, masks, confidence).map_err(|e| e.to_string())?;
        let of_masks = info.of_masks(&masks.name);
        let each = self.maps(masks, model.input, Extent::Input, Activation::Sigmoid, &of_masks)?;
        Ok(SegMaskPlan {
            tensor: masks.clone(),
            queries: None,
            input: model.input,
            work: Work::Queries(each, Box::new(objects), names.clone()),
            warning: None,
        })
    }

    /// What makes the scores of classes of a model whose queries have classes and masks, with the names of its two outputs; `None`
    /// for other models.
    fn queries(
        &self,
        outputs: &[TensorDesc],
        info: &ModelInfo,
    ) -> Result<Option<(ClassQueries, [String; 2])>, String> {
        let sidecar = &info.segment;
        let known = |name: &str| outputs.iter().find(|output| output.name == name);
        let set = named(outputs, "classes", &self.classes, sidecar.classes.as_deref())?;
        let masks = named(outputs, "tensor", &self.tensor, sidecar.output.as_deref())?.or(known(QUERIES[1]));
        let are_known = masks.is_some_and(|masks| masks.name == QUERIES[1]);
        let Some(classes) = set.or(known(QUERIES[0]).filter(|_| are_known)) else { return Ok(None) };
        let masks = masks.or(outputs.iter().find(|output| output.dims.len() == 4)).ok_or_else(|| {
            format!("none of the model's outputs, {}, has masks of queries. Set tensor", list(outputs))
        })?;
        let made = ClassQueries::new(classes, masks).map_err(|e| e.to_string())?;
        Ok(Some((made, [classes.name.clone(), masks.name.clone()])))
    }

    /// What to do with outputs of which each object has its own.
    fn of_each(&self, model: &ModelOutputs, info: &ModelInfo) -> Result<SegMaskPlan, String> {
        let (outputs, input) = (&model.outputs, model.input);
        let known = |name: &str| outputs.iter().find(|output| output.name == name);
        let is_prompted = known(PROMPTED_SCORES).is_some();
        // Of the size in which the model makes them, else as it has scaled them.
        let masks = PROMPTED_MASKS.iter().find_map(|name| known(name)).filter(|_| is_prompted);
        let tensor = match masks.filter(|_| self.tensor.is_empty() && info.segment.output.is_none()) {
            Some(known) => known,
            None => self.tensor(outputs, None, info)?,
        };
        let info = &info.of_masks(&tensor.name);
        if let Some(mode) = self.mode.or(info.segment.mode).filter(|mode| *mode != MaskMode::Instances) {
            return Err(format!(
                "each object has a mask of its own here, but mode is {}: leave it out, or, for a mask of the whole frame, leave out \
                 fusedpreproc's roi",
                mode.word()
            ));
        }
        let maps = match tensor.dims[..] {
            [ref before @ .., maps, height, width] if before.iter().all(|dim| *dim == Some(1)) => {
                TensorDesc { dims: vec![Some(1), maps, height, width], ..tensor.clone() }
            }
            _ => {
                return Err(format!(
                    "'{tensor}' has no maps of one object, [1,N,h,w]. Set tensor to the output with the masks, one of {}",
                    list(outputs)
                ));
            }
        };
        self.check_each()?;
        let usual = if is_prompted { Activation::Sigmoid } else { SegmentParams::default().activation };
        let each = self.maps(&maps, input, Extent::Input, usual, info)?;
        let set = named(outputs, "scores", &self.scores, info.segment.scores.as_deref())?;
        let count = maps.dims[1].unwrap_or(0);
        let channel = self.channel.or(info.segment.channel);
        let choice = match (channel, set.or(known(PROMPTED_SCORES)), count) {
            (Some(channel), ..) => {
                let map = usize::try_from(channel).unwrap_or(usize::MAX);
                if map >= count {
                    return Err(format!("channel is {map}, but '{tensor}' has {count} maps, counted from 0"));
                }
                Choice::Map(map)
            }
            (None, _, 1) => Choice::Map(0),
            // SAM's first one is for prompts that leave no doubt, as boxes do; the others are for those that do.
            (None, Some(scores), SAM_MAPS) if set.is_none() && scores.name == PROMPTED_SCORES => {
                Choice::Map(0)
            }
            (None, Some(scores), _) => Choice::Best(scores.name.clone()),
            (None, None, _) => {
                return Err(format!(
                    "'{tensor}' has {count} maps for an object: set scores to the output that has a score for each, or channel to the number \
                     of the one that is the mask"
                ));
            }
        };
        Ok(SegMaskPlan {
            tensor: maps,
            queries: None,
            input,
            work: Work::Objects(each, choice),
            warning: None,
        })
    }

    /// How the masks of single objects are made of `tensor`.
    fn each(
        &self,
        tensor: &TensorDesc,
        handed: &Handed<'_>,
        input: [usize; 2],
        layout: Option<Layout>,
        info: &ModelInfo,
    ) -> Result<Each, String> {
        self.check_each()?;
        let upsample = self.upsample.or(info.segment.upsample).unwrap_or(false);
        let coefficients = match *handed {
            Handed::Coefficients(coefficients) => coefficients,
            Handed::Rows(extent) => {
                // Queries' masks are logits, Mask R-CNN's are not.
                let usual = match extent {
                    Extent::Input => Activation::Sigmoid,
                    Extent::Box => Activation::None,
                };
                return self.maps(tensor, input, extent, usual, info);
            }
        };
        let each = Prototypes::new(tensor, input, layout).map_err(|e| e.to_string())?.coefficients();
        if coefficients.dims.last() != Some(&Some(each)) {
            return Err(format!(
                "'{tensor}' has {each} prototypes, but the objects come with '{coefficients}': set tensor to the output that \
                 holds their prototypes"
            ));
        }
        Ok(Each::Prototypes { layout, upsample })
    }

    /// How the masks of single objects are made of maps, whose activation is the usual one where nothing states it.
    fn maps(
        &self,
        maps: &TensorDesc,
        input: [usize; 2],
        extent: Extent,
        usual: Activation,
        info: &ModelInfo,
    ) -> Result<Each, String> {
        let sidecar = &info.segment;
        // The model's own graph is the best source.
        let known = info.ending(&maps.name).map(|ending| match ending {
            Ending::Logits => Activation::Sigmoid,
            Ending::Sigmoid | Ending::Softmax => Activation::None,
        });
        let activation = self.activation.or(sidecar.activation).or(known).unwrap_or(usual);
        let threshold = self.threshold.or(sidecar.threshold).unwrap_or(THRESHOLD);
        let upsample = self.upsample.or(sidecar.upsample).unwrap_or(false);
        InstanceMasks::of_maps(maps, input, extent, activation, threshold).map_err(|e| e.to_string())?;
        Ok(Each::Maps { extent, activation, threshold, upsample })
    }

    /// Refuses what masks of single objects cannot be.
    fn check_each(&self) -> Result<(), String> {
        if self.output == Output::Meta && self.size == Size::Model && self.improvement().is_none() {
            return Ok(());
        }
        Err("the masks of single objects are metadata at the model's size, or, with upsample=true, at the frame's: leave out output, \
             size, refine, feather-in, feather-out and floor, or set mode=argmax or mode=threshold for a mask of the whole frame"
            .into())
    }

    fn whole(
        &self,
        tensor: &TensorDesc,
        input: [usize; 2],
        layout: Option<Layout>,
        mode: Option<MaskMode>,
        info: &ModelInfo,
        usual_background: i32,
    ) -> Result<(Work, Option<String>), String> {
        let sidecar = &info.segment;
        let in_words = |e: cudainfer_kernels::segment::SegmentError| e.to_string();
        // The model has chosen the classes itself.
        let class_map = !matches!(tensor.ty, TensorType::Float32 | TensorType::Float16);
        let channels = Segmenter::new(
            tensor,
            input,
            SegmentParams { layout, soft: !class_map, ..SegmentParams::default() },
        );
        let channels = channels.map_err(in_words)?.channels();
        let mode = match mode {
            Some(mode) => mode,
            None if channels == 1 && !class_map => MaskMode::Threshold,
            None => MaskMode::Argmax,
        };
        // The user has not asked for hard edges, and soft ones are what compositing needs.
        let composited = self.mode.is_none() && (self.output != Output::Meta || self.improvement().is_some());
        let mode = if mode == MaskMode::Threshold && composited { MaskMode::Soft } else { mode };
        let channel = match (self.channel.or(sidecar.channel), mode, channels) {
            (Some(channel), ..) => usize::try_from(channel).unwrap_or(usize::MAX),
            (None, MaskMode::Argmax, _) | (None, _, 1) => 0,
            (None, _, 2) => 1,
            (None, ..) => {
                return Err(format!(
                    "'{tensor}' has {channels} channels: set channel to the one that is the mask, or mode=argmax"
                ));
            }
        };
        let defaults = SegmentParams::default();
        let params = SegmentParams {
            classes: match mode {
                MaskMode::Argmax => Classes::Argmax,
                _ => Classes::Threshold(self.threshold.or(sidecar.threshold).unwrap_or(THRESHOLD)),
            },
            channel,
            activation: self.activation.or(sidecar.activation).unwrap_or(defaults.activation),
            layout,
            smoothing: self.smoothing.or(sidecar.smoothing).unwrap_or(defaults.smoothing),
            opening: self.opening.or(sidecar.opening).unwrap_or(defaults.opening),
            closing: self.closing.or(sidecar.closing).unwrap_or(defaults.closing),
            min_area: self.min_area.or(sidecar.min_area).unwrap_or(defaults.min_area),
            soft: mode == MaskMode::Soft,
            stretched: self.range.or(sidecar.range) == Some(MaskRange::Frame),
        };
        if self.foreground == Foreground::Estimated && self.output != Output::Alpha {
            return Err("foreground=estimated changes the colours of frames whose alpha channel is the mask: set output=alpha, or \
                        foreground=frame"
                .into());
        }
        let wants_soft = self.improvement().is_some()
            || self.output == Output::DeoVr
            || self.foreground == Foreground::Estimated;
        if !params.soft && wants_soft {
            return Err("refine, feather-in, feather-out, floor, foreground and output=deovr are for soft masks, but the mask has classes: set \
                        mode=soft, and channel to the one that is the mask"
                .into());
        }
        // Wrong parameters are reported now, not with the first frame.
        Segmenter::new(tensor, input, params).map_err(in_words)?;

        // Of one channel, the labels may be those of its absence and its presence.
        let pair = channels == 1 && info.output.labels.len() == 2;
        let (info, contradicted) =
            if pair { (info.clone(), None) } else { resolve_labels(info, Some(channels)) };
        let labels = &info.output.labels;
        // How many classes the numbers may be of is not known without names.
        let channels = match labels.len() {
            _ if !class_map => channels,
            0 => MOST_CLASSES,
            named => named.min(MOST_CLASSES),
        };
        let number = u32::try_from(channel).unwrap_or(u32::MAX);
        let name = if pair { labels[1].clone() } else { info.label(number) };
        let fits = pair || labels.is_empty() || labels.len() == channels;
        let sentence = (!fits).then(|| {
            let place = if sidecar.labels.is_empty() { "output" } else { "segment" };
            format!(
                "{} has {} labels, but '{tensor}' has {channels} classes: names may be those of other classes; \
                 correct labels in the sidecar's [{place}]",
                info.origin(Group::Labels).map_or_else(|| "the sidecar".into(), ToString::to_string),
                labels.len()
            )
        });
        let warning = contradicted.or(sentence);
        let all = |channels| (0..channels).map(|class| info.label(class)).collect();
        let (kind, gray) = match mode {
            MaskMode::Soft => (MaskKind::Alpha { label: name }, (0..=255).collect()),
            MaskMode::Argmax => {
                let background = u8::try_from(sidecar.background.unwrap_or(usual_background)).ok();
                let step = 255 / (channels.max(2) - 1);
                let gray = (0..256).map(|class| u8::try_from(class * step).unwrap_or(255)).collect();
                (MaskKind::Classes { labels: all(u32::try_from(channels).unwrap_or(0)), background }, gray)
            }
            _ => {
                let absent = if pair { labels[0].clone() } else { "background".into() };
                let gray = (0..256).map(|value| if value == 0 { 0 } else { 255 }).collect();
                (MaskKind::Classes { labels: vec![absent, name], background: Some(0) }, gray)
            }
        };
        Ok((Work::Whole { params, kind, gray }, warning))
    }

    /// The output that holds the logits or the prototypes.
    fn tensor<'a>(
        &self,
        outputs: &'a [TensorDesc],
        of_objects: Option<&'a TensorDesc>,
        info: &ModelInfo,
    ) -> Result<&'a TensorDesc, String> {
        let named = named(outputs, "tensor", &self.tensor, info.segment.output.as_deref())?;
        match (named.or(of_objects), outputs) {
            (Some(known), _) | (None, [known]) => Ok(known),
            _ => Err(format!(
                "the model has several outputs, {}. Set tensor to the one with the masks",
                list(outputs)
            )),
        }
    }
}
