//! The model's sidecar: a TOML file beside it with what the ONNX file does not state. `docs/model-sidecar.md` describes it for
//! users.

mod check;
mod classify;
mod clip;
mod constants;
mod frames;
mod input;
mod labels;
mod maps;
mod output;
mod padding;
mod peaks;
mod prompts;
mod region;
mod slice;
mod state;
mod tables;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use cudainfer_files as files;
use serde::{Deserialize, Serialize};

use super::{ModelError, Skeleton, TensorIds, TomlError, sidecar_path};

pub use classify::{Classify, Embed, Head};
pub use clip::Clip;
pub use constants::{ArrayFile, ConstantValue, Fill, SizeOf};
pub use frames::Frames;
pub use input::{Input, MAX_SIZE};
pub use labels::labels;
pub use maps::{Map, Segment};
pub use output::{Anchors, Output, Priors};
pub use peaks::Peaks;
pub use prompts::Prompts;
pub use region::PointRegion;
pub use slice::Slice;
pub use state::{State, States};

/// How far a model may look back, in frames.
pub(crate) const MOST_FRAMES_BEFORE: i64 = 4096;

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
    #[serde(deserialize_with = "classify::read")]
    pub classify: Classify,
    /// How embeddings are read.
    pub embed: Embed,
    /// How masks are made.
    #[serde(deserialize_with = "maps::read")]
    pub segment: Segment,
    /// How maps of numbers and pictures are read.
    pub map: Map,
    /// The names of the outputs for GStreamer's own elements.
    pub tensors: TensorIds,
    /// Values of inputs other than the image.
    pub constants: BTreeMap<String, ConstantValue>,
    /// Outputs that are inputs of the same stream's next run.
    pub state: States,
    /// The frames that the model sees besides the current one.
    pub frames: Frames,
    /// How an input takes the frames of a clip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<Clip>,
    /// What the model is asked for, of another model's tensors.
    pub prompts: Prompts,
    /// The region of an object that was found upstream with points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<PointRegion>,
    /// The region of an object whose points were found in the last frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub track: Option<PointRegion>,
    /// Warnings for the user about the model's files, a sentence each: which of them are empty.
    #[serde(skip)]
    pub warnings: Vec<String>,
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
            .map_err(|e| ModelError::Sidecar(path.clone(), TomlError::of(&text, &e).to_string()))?;
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
}

#[cfg(test)]
mod tests {
    use cudainfer_fuzzing::{CaseFile, Target};

    use super::*;

    #[test]
    fn fuzz_sidecar() {
        let file = CaseFile::new("model.toml");
        // Each `[constants.A]` has a value with the fields of all kinds.
        Target::new(env!("CARGO_MANIFEST_DIR"), "sidecar").with_ratio(200).run(move |bytes| {
            if let Ok(sidecar) = Sidecar::beside(&file.with(bytes).with_extension("onnx")) {
                let _ = sidecar.check_names();
            }
        });
    }
}
