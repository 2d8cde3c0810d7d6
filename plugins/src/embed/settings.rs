//! embed's properties, and the output that follows from them and the sidecar.

use std::sync::LazyLock;

use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use crate::decoding::named::{list, named};
use crate::model::ModelInfo;
use crate::property::{Table, property};
use crate::stats;

/// The properties; what is not set is left to the sidecar.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    output: String,
    normalize: Option<bool>,
}

/// The element's own properties.
pub(super) static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
    Table::new([
        property!(
            Settings,
            output,
            (),
            "Output",
            "Name of the model output with the embeddings. If not set: the sidecar's, else the only output",
        ),
        property!(
            Settings,
            normalize?,
            (),
            true,
            "Normalize",
            "Scale embeddings to length 1, so that their dot product is the cosine similarity. If not set: the sidecar's, else \
             true",
        ),
    ])
    .with([stats::param_spec(
        "; objects (that were given embeddings), non-finite (embeddings with NaN or infinity, which are dropped)",
    )])
});

impl Settings {
    /// Whether vectors are scaled to length 1.
    pub fn normalize(&self, info: &ModelInfo) -> bool {
        self.normalize.or(info.embed.normalize).unwrap_or(true)
    }

    /// The output that holds the embeddings.
    ///
    /// # Errors
    /// No output has the given name, none was given and there are several, or the output has no vectors.
    pub fn output<'a>(&self, outputs: &'a [TensorDesc], info: &ModelInfo) -> Result<&'a TensorDesc, String> {
        let named = named(outputs, "output", &self.output, info.embed.output.as_deref())?;
        let output = match (named, outputs) {
            (Some(named), _) => Ok(named),
            (None, [only]) => Ok(only),
            (None, _) => Err(format!(
                "the model has several outputs, {}: set output to the one with the embeddings",
                list(outputs)
            )),
        }?;
        if is_vector(output) {
            return Ok(output);
        }
        Err(format!(
            "'{output}' holds no embeddings, which are [1,D] in float32 or float16: set output to the one that has a single \
             vector for each picture, or export the model with such an output"
        ))
    }
}

/// Whether there is one vector for each frame; there need not be a dimension for the batch.
fn is_vector(output: &TensorDesc) -> bool {
    let float = matches!(output.ty, TensorType::Float32 | TensorType::Float16);
    let of_one = match output.dims.as_slice() {
        [None | Some(1), rest @ ..] if !rest.is_empty() => rest,
        all => all,
    };
    let long = of_one.iter().filter(|d| **d != Some(1)).count();
    float && !of_one.is_empty() && long <= 1 && !of_one.contains(&Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_vector_a_picture_is_an_embedding() {
        for (text, right) in [
            ("x:float32:1x512", true),
            ("x:float16:?x512x1x1", true),
            ("x:float32:512", true),
            ("x:float32:1x1", true),
            ("x:float32:1x257x768", false),
            ("x:float32:2x512", false),
            ("x:int64:1x512", false),
            ("x:float32:1x0", false),
            ("x:float32:", false),
        ] {
            assert_eq!(is_vector(&text.parse().unwrap()), right, "{text}");
        }
    }
}
