//! classify's properties, and what follows from them, the sidecar and the defaults: the kernel's parameters, and the tensor
//! that holds the scores.

use std::sync::LazyLock;

use cudainfer_kernels::classify::ClassifyParams;
use cudainfer_kernels::detect::Activation;
use cudainfer_kernels::tensor::TensorDesc;
use cudainfer_kernels::text::{TextDecoding, TextLayout};
use cudainfer_kernels::words::Words as _;

use crate::decoding::named::{list, named, tables_name_outputs};
use crate::meta::analytics::{self, Metadata};
use crate::model::{ClassMode, ModelInfo};
use crate::property::{Table, property};
use crate::stats;

/// The properties; what is not set is left to the sidecar.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub output: String,
    pub mode: Option<ClassMode>,
    pub activation: Option<Activation>,
    pub top_k: Option<u32>,
    pub threshold: Option<f32>,
    pub metadata: Metadata,
}

/// The element's own properties.
pub(super) static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
    let top_k = ClassifyParams::default().top_k;
    let count = |n: usize| u32::try_from(n).unwrap_or(1);
    Table::new([
        property!(
            Settings,
            output,
            (),
            "Output",
            "Name of the model output with the class scores. If not set: the sidecar's, else the only output",
        ),
        property!(Settings, mode, (), "Mode", "What the scores are of"),
        property!(Settings, activation, (), "Activation", "What turns the scores into probabilities"),
        property!(
            Settings,
            top_k?,
            0..=u32::MAX,
            count(top_k),
            "Top k",
            format!(
                "Maximum number of classes for each object, the best first; 0 for all. If not set: the sidecar's, else {top_k}"
            ),
        ),
        property!(
            Settings,
            threshold?,
            -1e6..=1e6,
            0.0,
            "Threshold",
            "Minimum confidence of a class or of a line of text, after the activation. If not set: the sidecar's, else there is none",
        ),
        property!(Settings, metadata, (), "Metadata", analytics::BLURB),
    ])
    .with([stats::param_spec("; objects (that were given classes, values or text), non-finite (scores that are NaN or infinity), held (results of earlier frames, that objects carry which the model has not looked at)")])
});

impl Settings {
    /// The kernel's parameters for the output of this name. The activation is the default where none is set.
    pub fn params(&self, output: &str, info: &ModelInfo) -> ClassifyParams {
        let defaults = ClassifyParams::default();
        let classify = &info.classify;
        let head = classify.heads.get(output);
        let top_k = self.top_k.or(head.and_then(|head| head.top_k)).or(classify.top_k);
        let threshold = self.threshold.or(head.and_then(|head| head.threshold)).or(classify.threshold);
        ClassifyParams {
            activation: self.activation(output, info).unwrap_or(defaults.activation),
            top_k: top_k.and_then(|n| usize::try_from(n).ok()).unwrap_or(defaults.top_k),
            threshold: threshold.unwrap_or(defaults.threshold),
        }
    }

    /// What the property or the sidecar says the output of this name has.
    pub fn mode(&self, output: &str, info: &ModelInfo) -> Option<ClassMode> {
        let head = info.classify.heads.get(output).and_then(|head| head.mode);
        let is_of = |named: Option<&String>| named.is_none_or(|named| named == output);
        let mut slices = info.classify.slices.values();
        let sliced = slices.any(|slice| is_of(slice.output.as_ref().or(info.classify.output.as_ref())));
        self.mode.or(head).or(info.classify.mode).or(sliced.then_some(ClassMode::Values))
    }

    /// How the symbols of the output of this name become a line; `None` where they are no text.
    ///
    /// # Errors
    /// A sentence: the sidecar lacks the number of a symbol that the mode needs, or has one that it has no use for.
    pub fn text(&self, output: &str, info: &ModelInfo) -> Result<Option<(TextDecoding, TextLayout)>, String> {
        let classify = &info.classify;
        let head = classify.heads.get(output);
        let mode = self.mode(output, info).unwrap_or(ClassMode::Classes);
        let blank = head.and_then(|head| head.blank).or(classify.blank);
        let pad = head.and_then(|head| head.pad).or(classify.pad);
        let eos = head.and_then(|head| head.eos).or(classify.eos);
        let layout = head.and_then(|head| head.layout).or(classify.layout);
        for (key, is_set, of) in [
            ("blank", blank.is_some(), ClassMode::Text),
            ("pad", pad.is_some(), ClassMode::Slots),
            ("eos", eos.is_some(), ClassMode::Sequence),
        ] {
            if is_set && mode != of {
                return Err(format!(
                    "{key} in [classify] of the model's sidecar applies to mode={} alone, but mode is {}: drop {key}, or set that mode",
                    of.word(),
                    mode.word()
                ));
            }
        }
        let missing = |meaning: &str, example: &str| {
            format!(
                "mode is {}, but nothing says which symbol {meaning}. Write its number into [classify] of the model's sidecar, \
                 counted from 0, as in {example}",
                mode.word()
            )
        };
        let decoding = match mode {
            ClassMode::Text => TextDecoding::Ctc { blank: blank.unwrap_or(0) },
            ClassMode::Slots => TextDecoding::Slots {
                pad: pad.ok_or_else(|| missing("stands for no character", "pad = 36"))?,
            },
            ClassMode::Sequence => {
                TextDecoding::Sequence { end: eos.ok_or_else(|| missing("ends the line", "eos = 0"))? }
            }
            ClassMode::Classes | ClassMode::Values => return Ok(None),
        };
        Ok(Some((decoding, layout.unwrap_or(TextLayout::StepsFirst))))
    }

    /// The activation that the property or the sidecar names for the output of this name.
    pub fn activation(&self, output: &str, info: &ModelInfo) -> Option<Activation> {
        let head = info.classify.heads.get(output).and_then(|head| head.activation);
        self.activation.or(head).or(info.classify.activation)
    }

    /// The index of the output that holds the scores.
    ///
    /// # Errors
    /// No output has the given name, or none was given and there are several.
    pub fn output(&self, outputs: &[TensorDesc], info: &ModelInfo) -> Result<usize, String> {
        let place = |name: &str| outputs.iter().position(|d| d.name == name);
        tables_name_outputs(outputs, "classify", info.classify.heads.keys())?;
        let named = named(outputs, "output", &self.output, info.classify.output.as_deref())?;
        match (named.and_then(|named| place(&named.name)), outputs) {
            (Some(place), _) => Ok(place),
            (None, [_]) => Ok(0),
            (None, _) => Err(format!(
                "the model has several outputs, {}. Set output to the one with the class scores, and use a classify for each one \
                 that has some",
                list(outputs)
            )),
        }
    }
}
