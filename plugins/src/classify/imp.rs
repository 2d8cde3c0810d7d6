use std::sync::{Arc, Mutex};

use cudainfer_kernels::tensor::TensorDesc;
use cudainfer_kernels::text::{Reader, TextParams};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::BaseTransformMode;
use gst_base::subclass::prelude::*;

use super::activation::{ActivationChoice, Decided, Undecided};
use super::held::{Answers, Held};
use super::objects::{Classes, ClassifierParams};
use super::settings::{PROPERTIES, Settings};
use super::text::{Alphabet, Texts, symbols_of};
use super::unstated::{are_scores_stated, assumption, refuse_few};
use super::values::{Values, slices_of};
use crate::caps;
use crate::decoding::reading::resolve_labels;
use crate::decoding::{self, Decode, DecodingElement, DecodingElementImpl, Incoming, Reading, hand_on};
use crate::element::described;
use crate::log::CLASSIFY as CAT;
use crate::meta::analytics::{Contents, Forms};
use crate::model::onnx::Ending;
use crate::model::{ClassMode, ModelInfo};
use crate::streams::{self, Streams};
use crate::sync::lock;

#[derive(Default)]
pub struct Classify {
    settings: Mutex<Settings>,
    /// The results of `activation=auto` since READY to PAUSED.
    decided: Decided,
    /// What holds until the model looks at an object again.
    held: Arc<Mutex<Streams<Answers>>>,
}

impl Classify {
    /// What decodes these tensors.
    fn decoder(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String> {
        let (outputs, info) = (&incoming.model.outputs, incoming.info);
        let settings = lock(&self.settings).clone();
        let scores = outputs[settings.output(outputs, info)?].clone();
        let output = scores.name.clone();
        let mode = settings.mode(&output, info).unwrap_or(ClassMode::Classes);
        let text = settings.text(&output, info)?;
        let classes = if let Some(text) = text {
            symbols_of(&scores, text, info.labels_of(&output))
        } else {
            let classes = scores.dims.iter().copied().product::<Option<usize>>();
            // The dimensions of one frame, whatever the model says about the batch.
            classes.or_else(|| scores.dims.get(1..)?.iter().copied().product())
        };
        if mode == ClassMode::Values {
            return self.prepare_values(&settings, scores, incoming);
        }
        // A dictionary may leave out some characters.
        let resolved = text.is_none().then(|| resolve_labels(info, classes).0);
        let info = resolved.as_ref().unwrap_or(info);
        let mut params = settings.params(&output, info);
        let named = caps::loaded_model(incoming.caps);
        let named = named.unwrap_or_default();
        let is_stated = are_scores_stated(&settings, &output, info);
        let undecided =
            match ActivationChoice::of(settings.activation(&output, info), info.ending(&output), classes) {
                ActivationChoice::Set(activation) => {
                    params.activation = activation;
                    None
                }
                ActivationChoice::Known(activation, why) => {
                    gst::info!(CAT, imp = self, "activation of '{output}' is {activation:?}, because {why}");
                    params.activation = activation;
                    None
                }
                ActivationChoice::Open => {
                    Some(Undecided::new(&named, &output, classes, is_stated, &self.decided))
                }
            };
        let setup = ClassifierParams {
            scores,
            params,
            info: info.clone(),
            model: caps::model_name(&named).to_owned(),
            frame: caps::frame_size(incoming.caps),
        };
        if let Some((decoding, layout)) = text {
            // Scores of another shape are refused before their dictionary is.
            let params =
                TextParams { activation: setup.params.activation, decoding, layout, symbols: classes };
            Reader::new(&setup.scores, params).map_err(|e| e.to_string())?;
            let alphabet = Alphabet::new(info.labels_of(&output), classes, decoding, &output)?;
            return Ok(Box::new(Texts::new(setup, (decoding, layout), alphabet, undecided)?));
        }
        let announced = setup.scores.clone();
        let made = Box::new(Classes::new(setup, undecided)?);
        if !is_stated {
            refuse_few(&announced, classes)?;
        }
        if incoming.outgoing.is_some() {
            self.check_labels(&output, classes, info);
        }
        Ok(made)
    }

    /// The decoder of an output of which the sidecar says what its numbers are.
    fn prepare_values(
        &self,
        settings: &Settings,
        output: TensorDesc,
        incoming: &Incoming<'_>,
    ) -> Result<Box<dyn Decode>, String> {
        settings.metadata.forms(Contents::Values)?;
        let slices = slices_of(&incoming.model.outputs, &output.name, incoming.info)?;
        let setup = ClassifierParams {
            params: settings.params(&output.name, incoming.info),
            scores: output,
            info: incoming.info.clone(),
            model: caps::model_name(&caps::loaded_model(incoming.caps).unwrap_or_default()).to_owned(),
            frame: caps::frame_size(incoming.caps),
        };
        Ok(Box::new(Values::new(setup, &slices)?))
    }

    /// Warns of labels that are not as many as the classes.
    fn check_labels(&self, output: &str, classes: Option<usize>, info: &ModelInfo) {
        let labels = info.labels_of(output).len();
        let Some(classes) = classes.filter(|classes| labels > 0 && *classes != labels) else { return };
        let own = info.classify.heads.get(output).is_some_and(|head| !head.labels.is_empty());
        let table = if own { format!("classify.{output}") } else { "output".to_owned() };
        gst::element_imp_warning!(
            self,
            gst::StreamError::Decode,
            (
                "{}: the sidecar has {labels} labels in [{table}], but '{output}' has {classes} classes: names may be those of \
                 other classes. Correct them, or give labels in [classify.{output}]",
                self.obj().name()
            )
        );
    }
}

#[glib::object_subclass]
impl ObjectSubclass for Classify {
    const NAME: &'static str = "GstCudaInferClassify";
    type Type = super::Classify;
    type ParentType = DecodingElement;
}

impl ObjectImpl for Classify {
    decoding::properties!(PROPERTIES);
}

impl GstObjectImpl for Classify {}

impl ElementImpl for Classify {
    described! {
        "Best classes",
        "Filter/Analyzer/Video",
        "Finds the best classes of the frame or of its objects in a classifier's scores",
        sink: caps::sink_template(),
        src: hand_on::src_template(),
    }
}

impl BaseTransformImpl for Classify {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        lock(&self.decided).clear();
        *lock(&self.held) = Streams::default();
        self.parent_stop()
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        if streams::concerns(&event) {
            lock(&self.held).see(&event);
        }
        self.parent_sink_event(event)
    }
}

impl DecodingElementImpl for Classify {
    const COUNTS: &'static [&'static str] = &["objects", "non-finite", "held"];
    const HANDS_ON: bool = true;
    const NON_FINITE: &'static str = "of this frame's scores";
    const SECTION: &'static str = "[classify]";
    const ACTIVATION: &'static str = "softmax";

    fn category() -> gst::DebugCategory {
        *CAT
    }

    fn forms(&self) -> Result<Forms, String> {
        lock(&self.settings).metadata.forms(Contents::Objects)
    }

    fn prepare(&self, incoming: &Incoming<'_>) -> Result<Box<dyn Decode>, String> {
        let decoder = self.decoder(incoming)?;
        let interval = incoming.caps.structure(0).and_then(|s| s.get::<i32>(caps::ROI_INTERVAL).ok());
        Ok(match interval.and_then(|interval| u64::try_from(interval).ok()) {
            Some(interval) => Box::new(Held::new(decoder, interval, Arc::clone(&self.held))),
            None => decoder,
        })
    }

    fn reading(&self, incoming: &Incoming<'_>) -> Reading {
        let (outputs, info) = (&incoming.model.outputs, incoming.info);
        let output = lock(&self.settings).output(outputs, info).ok();
        let scores = output.and_then(|index| outputs.get(index));
        let mode = scores.and_then(|scores| lock(&self.settings).mode(&scores.name, info));
        let text = scores.and_then(|scores| lock(&self.settings).text(&scores.name, info).ok().flatten());
        if let Some((scores, text)) = scores.zip(text) {
            let count = symbols_of(scores, text, info.labels_of(&scores.name));
            let what = count.map_or_else(|| "text".into(), |count| format!("text of {count} characters"));
            return Reading::of(incoming, info, &what);
        }
        if let Some(scores) = scores.filter(|_| mode == Some(ClassMode::Values)) {
            let slices = slices_of(outputs, &scores.name, info).unwrap_or_default();
            let names: Vec<_> = slices.iter().map(|(name, _)| *name).collect();
            return Reading::of(incoming, info, &format!("values {}", names.join(", ")));
        }
        let count = scores.and_then(classes);
        let (info, warning) = resolve_labels(info, count);
        let what = count.map_or_else(|| "scores of classes".into(), |count| format!("{count} classes"));
        // Where the graph's end is not known, the first scores may show that they are probabilities.
        let assumed = scores.map(|scores| scores.name.as_str()).filter(|output| {
            info.ending(output) == Some(Ending::Logits)
                && !are_scores_stated(&lock(&self.settings), output, &info)
        });
        let assumed = assumed.map(|output| assumption(output, count));
        let warnings = warning.into_iter().chain(assumed).collect();
        Reading { warnings, ..Reading::of(incoming, &info, &what) }
    }
}

/// Number of classes that these scores are of.
fn classes(scores: &TensorDesc) -> Option<usize> {
    scores.dims.iter().try_fold(1, |product: usize, dim| product.checked_mul((*dim)?))
}
