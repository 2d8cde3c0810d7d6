//! The identifiers by which GStreamer's own elements know tensors.

use std::collections::BTreeMap;

use cudainfer_kernels::detect::DecoderKind;
use cudainfer_kernels::tensor::{TensorDesc, TensorType};
use serde::{Deserialize, Serialize};

/// The outputs of TensorFlow's Object Detection API, and their identifiers in GStreamer 1.28 and in 1.26.
const SSD: [(&str, &str, &str); 4] = [
    ("detection_boxes", "ssd-mobilenet-v1-variant-1-out-boxes", "Gst.Model.ObjectDetector.Boxes"),
    ("detection_classes", "ssd-mobilenet-v1-variant-1-out-classes", "Gst.Model.ObjectDetector.Classes"),
    ("detection_scores", "ssd-mobilenet-v1-variant-1-out-scores", "Gst.Model.ObjectDetector.Scores"),
    ("num_detections", "generic-variant-1-out-count", "Gst.Model.ObjectDetector.NumDetections"),
];
const SSD_GROUP: &str = "ssd-mobilenet-v1-variant-1-out";

/// `[tensors]`: the names under which a model's outputs go to GStreamer's decoders. Those that are in common use are in the
/// registry at `github.com/collabora/tensor-id-registry`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TensorIds {
    /// The name of all outputs together; without it, caps do not announce them.
    pub group: Option<String>,
    /// The identifier of an output, by its name in the model; without one, it is that name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ids: BTreeMap<String, String>,
    /// The outputs, by their names in the model, that decoders look for as column-major.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub col_major: Vec<String>,
}

impl TensorIds {
    /// The identifier of an output.
    pub fn id<'a>(&'a self, output: &'a str) -> &'a str {
        self.ids.get(output).map_or(output, String::as_str)
    }

    /// The name in the model of the output with this identifier, as far as that is known; the identifier otherwise.
    pub fn output<'a>(&'a self, id: &'a str) -> &'a str {
        let named = self.ids.iter().find(|(_, known)| *known == id).map(|(output, _)| output.as_str());
        let common =
            || SSD.iter().find(|(_, new, old)| [*new, *old].contains(&id)).map(|(output, ..)| *output);
        named.or_else(common).unwrap_or(id)
    }

    /// Whether decoders look for an output as column-major.
    pub fn is_col_major(&self, output: &str) -> bool {
        self.col_major.iter().any(|name| name == output)
    }

    /// Whether caps can hold this word.
    pub fn is_word(word: &str) -> bool {
        let begins = word.starts_with(|c: char| c.is_ascii_alphabetic());
        begins && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+/:".contains(c))
    }

    /// The same with the identifiers that decoders of GStreamer 1.26 know.
    pub fn of_1_26(mut self) -> Self {
        for id in self.ids.values_mut() {
            if let Some((.., old)) = SSD.iter().find(|(_, new, _)| new == id) {
                (*old).clone_into(id);
            }
        }
        self
    }

    /// Checks that caps can hold the words.
    pub(super) fn check(&self) -> Result<(), String> {
        let words = self.group.iter().chain(self.ids.values());
        words.into_iter().find(|word| !Self::is_word(word)).map_or(Ok(()), |word| {
            Err(format!("tensors: '{word}' is not an identifier: write letters, digits, '-', '_' and '.', a letter first"))
        })
    }

    /// What follows from the outputs where neither the sidecar nor a .modelinfo names a group: those of the layouts that GStreamer
    /// 1.28 has decoders for.
    pub fn derived(decoder: Option<DecoderKind>, outputs: &[TensorDesc]) -> Option<Self> {
        const YOLO: &str = "yolo-v8-out";
        if let ([output], Some(DecoderKind::Yolov8)) = (outputs, decoder)
            && (output.ty, output.dims.len()) == (TensorType::Float32, 3)
        {
            let ids = BTreeMap::from([(output.name.clone(), YOLO.to_owned())]);
            return Some(Self { group: Some(YOLO.into()), ids, col_major: vec![output.name.clone()] });
        }
        let is_output =
            |name: &str| outputs.iter().any(|output| output.name == name && output.ty == TensorType::Float32);
        let all = outputs.len() == SSD.len() && SSD.iter().all(|(name, ..)| is_output(name));
        all.then(|| {
            let ids = SSD.into_iter().map(|(name, new, _)| (name.to_owned(), new.to_owned())).collect();
            Self { group: Some(SSD_GROUP.into()), ids, col_major: vec![] }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(text: &[&str]) -> Vec<TensorDesc> {
        text.iter().map(|desc| desc.parse().unwrap()).collect()
    }

    #[test]
    fn an_output_without_an_identifier_is_called_as_in_the_model() {
        let ids: TensorIds =
            toml::from_str("group = \"g\"\nids = { a = \"x-y.1\" }\ncol-major = [\"b\"]").unwrap();
        assert_eq!((ids.id("a"), ids.id("b")), ("x-y.1", "b"));
        assert_eq!((ids.is_col_major("a"), ids.is_col_major("b")), (false, true));
        assert_eq!(ids.check(), Ok(()));
    }

    #[test]
    fn words_that_caps_cannot_hold_are_refused() {
        for wrong in ["", "two words", "1st", "a\"b", "a,b", "a]"] {
            let ids = TensorIds { group: Some(wrong.into()), ..TensorIds::default() };
            assert!(ids.check().unwrap_err().contains(&format!("'{wrong}' is not an identifier")), "{wrong}");
        }
    }

    #[test]
    fn only_layouts_with_a_decoder_of_gstreamers_have_identifiers_of_their_own() {
        let yolo = outputs(&["output0:float32:1x84x8400"]);
        let ids = TensorIds::derived(Some(DecoderKind::Yolov8), &yolo).unwrap();
        assert_eq!(
            (ids.group.as_deref(), ids.id("output0"), ids.is_col_major("output0")),
            (Some("yolo-v8-out"), "yolo-v8-out", true)
        );
        assert_eq!(TensorIds::derived(None, &yolo), None);
        let two = outputs(&["output0:float32:1x116x8400", "output1:float32:1x32x160x160"]);
        assert_eq!(TensorIds::derived(Some(DecoderKind::Yolov8), &two), None);
        let ssd = outputs(&[
            "num_detections:float32:1",
            "detection_boxes:float32:1x?x4",
            "detection_scores:float32:1x?",
            "detection_classes:float32:1x?",
        ]);
        let ids = TensorIds::derived(None, &ssd).unwrap();
        assert_eq!(ids.id("detection_boxes"), "ssd-mobilenet-v1-variant-1-out-boxes");
        assert_eq!(ids.id("num_detections"), "generic-variant-1-out-count");
        let old = ids.clone().of_1_26();
        assert_eq!(old.id("num_detections"), "Gst.Model.ObjectDetector.NumDetections");
        for id in [ids.id("detection_boxes"), old.id("detection_boxes")] {
            assert_eq!(TensorIds::default().output(id), "detection_boxes");
        }
        assert_eq!(TensorIds::derived(None, &ssd[..3]), None);
    }
}
