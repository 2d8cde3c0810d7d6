//! gpunms' properties, and the kernel's parameters that follow from them, the sidecar and the defaults.

use std::sync::LazyLock;

use cudainfer_kernels::detect::{
    self as kernels, DecoderKind, DetectParams, Hints, MergeMode, MergeParams, Nms, Overlap,
};

use super::limits::Limits;
use crate::caps::ModelOutputs;
use crate::class_name;
use crate::meta::analytics::{self, Metadata};
use crate::model::{Anchors, ModelInfo, NmsMode, Priors};
use crate::property::{Table, property};
use crate::stats;

/// The properties; what is not set is left to the sidecar.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    decoder: Option<DecoderKind>,
    nms: Option<NmsMode>,
    confidence: Option<f32>,
    iou: Option<f32>,
    class_confidence: String,
    class_iou: String,
    classes: String,
    multi_label: Option<bool>,
    clip_before_nms: Option<bool>,
    sigma: Option<f32>,
    top_k_before: Option<u32>,
    top_k_after: Option<u32>,
    min_width: f32,
    min_height: f32,
    map_threshold: Option<f32>,
    unclip_ratio: Option<f32>,
    merge: Option<MergeMode>,
    merge_overlap: Overlap,
    merge_threshold: Option<f32>,
    pub metadata: Metadata,
}

/// The element's own properties.
pub(super) static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
    let defaults = DetectParams::default();
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Table::new([
        property!(Settings, decoder, (), "DecoderKind", "Format of the detector's outputs"),
        property!(Settings, nms, (), "NMS", "How overlapping boxes are suppressed"),
        property!(
            Settings,
            confidence?,
            0.0..=1.0,
            defaults.confidence,
            "Confidence threshold",
            "Minimum confidence of a box. If not set: the sidecar's, else the default, which is 0.6 for decoder=db",
        ).playing(),
        property!(
            Settings,
            iou?,
            0.0..=1.0,
            defaults.iou,
            "IoU threshold",
            "Maximum overlap (intersection over union) of two boxes; above it, the weaker box is suppressed. If not set: the \
             sidecar's, else the default",
        ).playing(),
        property!(
            Settings,
            class_confidence,
            (),
            "Class confidence",
            "Minimum confidence for single classes, as in person=0.5,car=0.3; overrides confidence",
        ).playing(),
        property!(
            Settings,
            class_iou,
            (),
            "Class IoU",
            "Maximum overlap for single classes, as in person=0.5,car=0.3; overrides iou, only with nms=class-wise",
        ).playing(),
        property!(
            Settings,
            classes,
            (),
            "Classes",
            "Classes to keep, by name or number, as in person,car. If not set: all",
        ).playing(),
        property!(
            Settings,
            multi_label?,
            (),
            false,
            "Multi-label",
            "Whether every class of an anchor above the threshold is a candidate, not only the best. If not set: the sidecar's, \
             else the decoder's, which is true for queries without softmax",
        ),
        property!(
            Settings,
            clip_before_nms?,
            (),
            false,
            "Clip before NMS",
            "Whether boxes are clamped to the frame before the suppression compares them, not after it. If not set: the \
             sidecar's, else the default",
        ),
        property!(
            Settings,
            sigma?,
            f32::MIN_POSITIVE..=100.0,
            SIGMA,
            "Sigma",
            "Width of the Gaussian for nms=soft-gaussian",
        ).playing(),
        property!(
            Settings,
            top_k_before?,
            1..=1_000_000,
            count(defaults.top_k_before),
            "Top k before NMS",
            "Maximum number of candidates that enter the suppression, the most confident first. A WARNING reports a frame with more",
        ),
        property!(
            Settings,
            top_k_after?,
            1..=1_000_000,
            count(defaults.top_k_after),
            "Top k after NMS",
            "Maximum number of boxes that are kept in a frame, the most confident first. If not set: the default, or the \
             number of queries without softmax",
        ).playing(),
        property!(Settings, min_width, 0.0..=1e6, "Minimum width", "Minimum width of a box in frame pixels").playing(),
        property!(
            Settings,
            map_threshold?,
            0.0..=1.0,
            0.3,
            "Map threshold",
            "Minimum value of the pixels of text, for decoder=db. If not set: the sidecar's, else the default",
        ).playing(),
        property!(
            Settings,
            unclip_ratio?,
            0.0..=10.0,
            1.5,
            "Unclip ratio",
            "How much a line of text is widened on all sides, times its area by its perimeter, for decoder=db. If not set: the \
             sidecar's, else the default",
        ).playing(),
        property!(Settings, min_height, 0.0..=1e6, "Minimum height", "Minimum height of a box in frame pixels").playing(),
        property!(
            Settings,
            merge,
            (),
            "Merge",
            "Downstream of fusedpreproc roi=tiles and list: what becomes of boxes of several regions that match, after the \
             suppression within each",
        ),
        property!(
            Settings,
            merge_overlap,
            (),
            "Overlap for merging",
            "Downstream of fusedpreproc roi=tiles and list: which overlap of two boxes is compared with merge-threshold",
        ),
        property!(
            Settings,
            merge_threshold?,
            0.0..=1.0,
            MERGE_THRESHOLD,
            "Merge threshold",
            "Downstream of fusedpreproc roi=tiles and list: overlap from which two boxes match. They need the same class, \
             unless nms is class-agnostic",
        ).playing(),
        property!(Settings, metadata, (), "Metadata", analytics::BLURB),
    ])
    .with([stats::param_spec(
        "; objects, candidates (above the threshold), non-finite (dropped because of NaN, infinity or a label that no class has), truncated (candidates \
         cut by top-k-before), limited (frames and regions with as many boxes as top-k-after allows, where others may have been left \
         out), merged (boxes of regions that were merged into others)",
    )])
});

/// Overlap from which boxes of several regions match: SAHI's.
const MERGE_THRESHOLD: f32 = 0.5;

/// Labels that an error lists.
const MOST_LABELS: usize = 10;

/// Width of the Gaussian of soft-NMS: the value of Bodla et al. 2017.
const SIGMA: f32 = 0.5;

impl Settings {
    /// The decoder that was asked for, if any.
    pub fn decoder(&self, info: &ModelInfo) -> Option<DecoderKind> {
        self.decoder.or(info.output.decoder)
    }

    /// The decoder that the property names.
    pub fn named_decoder(&self) -> Option<DecoderKind> {
        self.decoder
    }

    /// What else is known of the outputs.
    pub fn hints(&self, info: &ModelInfo) -> Hints {
        let defaults = Hints::default();
        let output = &info.output;
        let points = Some(info.skeleton.points.len()).filter(|n| *n > 0);
        Hints {
            classes: (!output.labels.is_empty()).then_some(output.labels.len()),
            strides: output.strides.clone().unwrap_or(defaults.strides),
            box_format: output.box_format,
            normalized: output.normalized,
            activation: output.activation,
            background: output.background,
            row_format: output.row_format,
            keypoints: output.keypoints.or(points),
            size_unit: output.size_unit,
            axis_order: output.axis_order,
            map_threshold: self.map_threshold.or(output.map_threshold),
            unclip_ratio: self.unclip_ratio.or(output.unclip_ratio),
            priors: info.priors.as_ref().map(Priors::kernel),
            anchors: info.anchors.as_ref().and_then(Anchors::kernel),
        }
    }

    /// How overlapping boxes are suppressed, as the property or the sidecar has it.
    pub fn nms(&self, info: &ModelInfo) -> Option<NmsMode> {
        self.nms.or(info.output.nms)
    }

    /// A sentence, where overlaps are suppressed though the outputs look as if the model had already done that.
    pub fn suppression_doubt(
        &self,
        info: &ModelInfo,
        decoder: &kernels::Decoder,
        model: &ModelOutputs,
    ) -> Option<String> {
        let [width, height] = model.input;
        (decoder.keeps_anchors() && self.nms(info).is_none()).then(|| {
            format!(
                "the model gives a box for each of its anchors at {width}x{height}, so it has suppressed nothing, although its rows \
                 look like final boxes: overlaps are suppressed here. Set nms=class-wise if that is right, nms=none if not"
            )
        })
    }

    /// The thresholds and limits for this decoder.
    ///
    /// # Errors
    /// A sentence about a class that the model does not have or text that is no number.
    pub fn params(&self, info: &ModelInfo, decoder: &kernels::Decoder) -> Result<DetectParams, String> {
        let defaults = DetectParams::default();
        let nms = self.nms(info);
        let sigma = self.sigma.unwrap_or(SIGMA);
        let count = |set: Option<u32>, default| set.and_then(|n| usize::try_from(n).ok()).unwrap_or(default);
        Ok(DetectParams {
            confidence: self
                .confidence
                .or(info.output.confidence)
                .or(decoder.kind().usual_confidence())
                .unwrap_or(defaults.confidence),
            class_confidence: thresholds("class-confidence", &self.class_confidence, info)?,
            iou: self.iou.or(info.output.iou).unwrap_or(defaults.iou),
            class_iou: thresholds("class-iou", &self.class_iou, info)?,
            nms: match nms {
                None => decoder.usual_nms(),
                Some(NmsMode::ClassWise) => Nms::ClassWise,
                Some(NmsMode::Agnostic) => Nms::Agnostic,
                Some(NmsMode::SoftLinear) => Nms::SoftLinear,
                Some(NmsMode::SoftGaussian) => Nms::SoftGaussian { sigma },
                Some(NmsMode::None) => Nms::None,
            },
            top_k_before: count(self.top_k_before, defaults.top_k_before),
            top_k_after: count(self.top_k_after, decoder.usual_top_k_after()),
            classes: list(&self.classes)
                .map(|name| class("classes", name, info))
                .collect::<Result<_, _>>()?,
            multi_label: self
                .multi_label
                .or(info.output.multi_label)
                .unwrap_or_else(|| decoder.usual_multi_label()),
            clip_before_nms: self
                .clip_before_nms
                .or(info.output.clip_before_nms)
                .unwrap_or(defaults.clip_before_nms),
            min_size: [self.min_width, self.min_height],
        })
    }

    /// The limits on a frame's boxes.
    pub fn limits(&self, params: &DetectParams) -> Limits {
        let DetectParams { top_k_before, top_k_after, .. } = *params;
        Limits { top_k_before, top_k_after, is_after_set: self.top_k_after.is_some() }
    }

    /// How boxes of several regions are merged; `params` are those of each region.
    ///
    /// # Errors
    /// A sentence: rotated boxes cannot be merged so.
    pub fn merging(&self, decoder: &kernels::Decoder, params: &DetectParams) -> Result<MergeParams, String> {
        let usual = if decoder.is_rotated() { MergeMode::Suppress } else { MergeMode::Union };
        let merging = MergeParams {
            mode: self.merge.unwrap_or(usual),
            overlap: self.merge_overlap,
            threshold: self.merge_threshold.unwrap_or(MERGE_THRESHOLD),
            agnostic: params.nms == Nms::Agnostic,
            top_k_before: params.top_k_before,
            top_k_after: params.top_k_after,
        };
        merging.validate(decoder.is_rotated()).map_err(|e| e.to_string())?;
        Ok(merging)
    }
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// `person=0.5,car=0.3`
fn thresholds(property: &str, text: &str, info: &ModelInfo) -> Result<Vec<(u32, f32)>, String> {
    list(text)
        .map(|part| {
            let (name, value) = part.split_once('=').ok_or_else(|| {
                format!("{property}: '{part}' is not CLASS=THRESHOLD, as in person=0.5,car=0.3")
            })?;
            let value: f32 =
                value.trim().parse().map_err(|_| format!("{property}: '{value}' is not a number"))?;
            Ok((class(property, name.trim(), info)?, value))
        })
        .collect()
}

/// A class by its name, or by its number.
fn class(property: &str, name: &str, info: &ModelInfo) -> Result<u32, String> {
    let labels = &info.output.labels;
    class_name::number(name, labels).ok_or_else(|| {
        if labels.is_empty() {
            format!("{property}: the model's labels are not known, so write the class's number instead of '{name}', or give trtinfer labels=FILE")
        } else {
            let shown = labels.len().min(MOST_LABELS);
            let more = if shown < labels.len() { ", …" } else { "" };
            let names = labels[..shown].join(", ");
            format!("{property}: the model has no class '{name}'; it has {names}{more} ({} in all)", labels.len())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoder(outputs: &[&str], kind: DecoderKind) -> kernels::Decoder {
        let outputs: Vec<_> = outputs.iter().map(|text| text.parse().unwrap()).collect();
        kernels::choose(&outputs, [640, 640], Some(kind), &Hints { classes: Some(80), ..Hints::default() })
            .unwrap()
    }

    #[test]
    fn what_is_not_set_is_what_the_decoders_library_does() {
        let boxes = "pred_boxes:float32:1x200x4";
        let of = |settings: &Settings, info: &ModelInfo, outputs: &[&str], kind| {
            let params = settings.params(info, &decoder(outputs, kind)).unwrap();
            (params.nms, params.multi_label, params.top_k_after)
        };
        let (info, settings) = (ModelInfo::default(), Settings::default());
        let yolo = of(&settings, &info, &["o:float32:1x84x8400"], DecoderKind::Yolov8);
        assert_eq!(yolo, (Nms::ClassWise, false, 300));
        let detr = of(&settings, &info, &["logits:float32:1x200x81", boxes], DecoderKind::Queries);
        assert_eq!(detr, (Nms::None, false, 300));
        let logits = ["logits:float32:1x200x80", boxes];
        assert_eq!(of(&settings, &info, &logits, DecoderKind::Queries), (Nms::None, true, 200));
        let settings = Settings {
            multi_label: Some(false),
            top_k_after: Some(100),
            nms: Some(NmsMode::ClassWise),
            ..settings
        };
        assert_eq!(of(&settings, &info, &logits, DecoderKind::Queries), (Nms::ClassWise, false, 100));
    }

    #[test]
    fn classes_are_found_by_number_where_labels_are_unknown_and_named_in_the_error() {
        let info = ModelInfo::default();
        let decoder = decoder(&["o:float32:1x84x8400"], DecoderKind::Yolov8);
        let settings =
            Settings { classes: "2, 7".into(), class_confidence: "2=0.5".into(), ..Settings::default() };
        let params = settings.params(&info, &decoder).unwrap();
        assert_eq!(params.classes, [2, 7]);
        assert_eq!(params.class_confidence, [(2, 0.5)]);
        for (field, text) in
            [("classes", "person"), ("class-confidence", "2:0.5"), ("class-confidence", "2=much")]
        {
            let settings = if field == "classes" {
                Settings { classes: text.into(), ..Settings::default() }
            } else {
                Settings { class_confidence: text.into(), ..Settings::default() }
            };
            let error = settings.params(&info, &decoder).unwrap_err();
            assert!(error.starts_with(field), "{error}");
        }
    }

    #[test]
    fn fuzz_thresholds() {
        let info = ModelInfo::default();
        cudainfer_fuzzing::Target::new(env!("CARGO_MANIFEST_DIR"), "thresholds")
            .with_ratio(100) // an error repeats what it is about, in a sentence
            .run_text(move |text| drop(thresholds("class-iou", text, &info)));
    }
}
