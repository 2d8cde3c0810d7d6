//! Chooses the decoder with the model's information about itself, except for what the outputs' shapes contradict.

use cudainfer_kernels::detect::{self as kernels, DecoderKind, DetectError};
use cudainfer_kernels::words::Words as _;

use super::settings::Settings;
use crate::caps::ModelOutputs;
use crate::decoding::reading::decoding_origin;
use crate::model::{Group, ModelInfo};

/// A decoder, and the information about the model that is left.
#[derive(Debug)]
pub(super) struct ChosenDecoder {
    pub decoder: kernels::Decoder,
    pub info: ModelInfo,
    /// A sentence about words that were left out, or that are doubtful.
    pub warning: Option<String>,
}

/// The groups that may be left out; first those that explain a contradiction with the least loss. The names of classes come last,
/// because without their number the shapes say less.
const LEFT_OUT: [&[Group]; 7] = [
    &[Group::Decoding],
    &[Group::Keypoints],
    &[Group::Labels],
    &[Group::Decoding, Group::Keypoints],
    &[Group::Decoding, Group::Labels],
    &[Group::Keypoints, Group::Labels],
    &[Group::Decoding, Group::Keypoints, Group::Labels],
];

/// Chooses the decoder. Words of the model's maker that no decoder fits are left out, if another one then fits well.
///
/// # Errors
/// A sentence: nothing fits, or more than one decoder.
pub(super) fn choose(
    settings: &Settings,
    model: &ModelOutputs,
    info: &ModelInfo,
) -> Result<ChosenDecoder, String> {
    // A decoder that the user names has its own format of boxes and scores.
    let info = match settings.named_decoder() {
        Some(kind) if info.output.decoder != Some(kind) => info.without(&[Group::Decoding]),
        _ => info.clone(),
    };
    let attempt = |info: &ModelInfo| {
        kernels::choose(&model.outputs, model.input, settings.decoder(info), &settings.hints(info))
    };
    let unsupported = info.unsupported().filter(|_| settings.named_decoder().is_none());
    let error = match attempt(&info) {
        Ok(decoder) => {
            let warning = unsupported.map(|(origin, layout)| {
                format!(
                    "{origin} names {layout} for the outputs, which no decoder reads; their shapes look like {}'s, so they \
                     are read as that. Set decoder, or decoder in the sidecar, if that is right",
                    decoder.kind()
                )
            });
            return Ok(ChosenDecoder { decoder, info, warning });
        }
        Err(error) => error,
    };
    if let Some((origin, layout)) = unsupported {
        return Err(format!(
            "{} ({origin} names {layout} for them, which no decoder reads)",
            words(&info, &error)
        ));
    }
    for groups in LEFT_OUT {
        if !groups.iter().all(|group| info.declares(*group)) {
            continue;
        }
        let without = info.without(groups);
        let Ok(decoder) = attempt(&without) else { continue };
        if !decoder.is_proven() {
            continue;
        }
        let claims: Vec<_> = groups.iter().map(|group| claim(&info, *group)).collect();
        let classes = decoder.classes().map_or_else(String::new, |count| format!(" with {}", classes(count)));
        let warning = format!(
            "{}, which does not fit the outputs: it is left out. They are read as {}{classes}",
            claims.join(" and "),
            decoder.kind()
        );
        return Ok(ChosenDecoder { decoder, info: without, warning: Some(warning) });
    }
    Err(words(&info, &error))
}

/// The words of the model's maker about a group.
fn claim(info: &ModelInfo, group: Group) -> String {
    let origin = info.origin(group).map(ToString::to_string).unwrap_or_default();
    let output = &info.output;
    match group {
        Group::Labels => format!("{origin} names {}", classes(output.labels.len())),
        Group::Keypoints => {
            let points = output.keypoints.unwrap_or(info.skeleton.points.len());
            format!("{origin} says that objects have {points} keypoints")
        }
        _ => {
            let decoder = output.decoder;
            format!("{origin} says that the decoder is {}", decoder.map_or("another", DecoderKind::word))
        }
    }
}

fn classes(count: usize) -> String {
    if count == 1 { "1 class".into() } else { format!("{count} classes") }
}

fn words(info: &ModelInfo, error: &DetectError) -> String {
    match (info.output.keypoints, info.skeleton.points.len()) {
        (None, points @ 1..)
            if !matches!(
                error,
                DetectError::Keypoints { .. } | DetectError::Classifier { .. } | DetectError::Maps { .. }
            ) =>
        {
            format!(
                "{error} (the sidecar's [skeleton] has {points} points, so as many keypoints are expected)"
            )
        }
        _ => error.to_string(),
    }
}

impl ChosenDecoder {
    /// Adds the usual name of the only class of a decoder that has one, where no source names it.
    pub fn named(self) -> Self {
        match self.decoder.usual_label() {
            Some(label) if self.info.output.labels.is_empty() => {
                Self { info: self.info.with_label(label), ..self }
            }
            _ => self,
        }
    }

    /// In words, as in "decoder yolov8 from the sidecar, 80 classes".
    pub fn reading(&self, settings: &Settings, model: &ModelOutputs) -> String {
        let decoder = &self.decoder;
        let shapes: Vec<_> = model.outputs.iter().map(ToString::to_string).collect();
        let origin = decoding_origin(&self.info, settings.named_decoder().is_some(), &shapes.join(", "));
        let classes = decoder.classes().map_or_else(|| "classes unknown".into(), classes);
        let points = match decoder.keypoints() {
            0 => String::new(),
            points => format!(", {points} keypoints"),
        };
        format!("decoder {}{origin}, {classes}{points}", decoder.kind())
    }
}
