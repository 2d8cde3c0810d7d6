//! How scores of classes and embeddings are read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cudainfer_kernels::detect;
use cudainfer_kernels::text::TextLayout;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Slice, tables};
use crate::{ClassMode, word};

/// `[classify]`
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Classify {
    /// The output that holds the scores.
    pub output: Option<String>,
    /// `classes`, `text`, `slots`, `sequence` or `values`.
    #[serde(with = "word")]
    pub mode: Option<ClassMode>,
    /// `none`, `sigmoid` or `softmax`.
    #[serde(with = "word")]
    pub activation: Option<detect::Activation>,
    /// Maximum number of classes; 0 for all.
    pub top_k: Option<u32>,
    /// Minimum confidence of a class.
    pub threshold: Option<f32>,
    /// Number of the symbol that stands for no character, with `mode = "text"`.
    pub blank: Option<u32>,
    /// Number of the symbol that stands for no character, with `mode = "slots"`.
    pub pad: Option<u32>,
    /// Number of the symbol that ends the line, with `mode = "sequence"`.
    pub eos: Option<u32>,
    /// `tc` or `ct`, of text.
    #[serde(with = "word")]
    pub layout: Option<TextLayout>,
    /// `[classify.NAME]`: how the output of that name is read, where it differs.
    #[serde(skip_deserializing, flatten)]
    pub heads: BTreeMap<String, Head>,
    /// `[classify.NAME]` with `channels`: what some of an output's numbers are.
    #[serde(skip_deserializing, flatten)]
    pub slices: BTreeMap<String, Slice>,
}

/// `[classify.NAME]`
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Head {
    /// Names of the output's classes.
    pub labels: Vec<String>,
    /// File beside the sidecar with the same names, one per line.
    pub labels_file: Option<PathBuf>,
    /// `classes`, `text`, `slots`, `sequence` or `values`.
    #[serde(with = "word")]
    pub mode: Option<ClassMode>,
    /// `none`, `sigmoid` or `softmax`.
    #[serde(with = "word")]
    pub activation: Option<detect::Activation>,
    /// Maximum number of classes; 0 for all.
    pub top_k: Option<u32>,
    /// Minimum confidence of a class.
    pub threshold: Option<f32>,
    /// Number of the symbol that stands for no character, with `mode = "text"`.
    pub blank: Option<u32>,
    /// Number of the symbol that stands for no character, with `mode = "slots"`.
    pub pad: Option<u32>,
    /// Number of the symbol that ends the line, with `mode = "sequence"`.
    pub eos: Option<u32>,
    /// `tc` or `ct`, of text.
    #[serde(with = "word")]
    pub layout: Option<TextLayout>,
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

/// The keys of `[classify]`, and the tables in it, which are named after outputs, or, with `channels`, by whoever writes them.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Classify, D::Error> {
    let (mut read, tables): (Classify, _) = tables::split(deserializer)?;
    for (name, table) in tables {
        if table.get("channels").is_some() {
            read.slices.insert(name.clone(), tables::read("classify", &name, table)?);
        } else {
            read.heads.insert(name.clone(), tables::read("classify", &name, table)?);
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sidecar;

    #[test]
    fn tables_in_classify_are_outputs_even_where_they_are_called_as_a_key() {
        let text = "[classify]\ntop-k = 3\n[classify.colour]\nlabels = [\"red\"]\nactivation = \"sigmoid\"\n[classify.output]\ntop-k = 0";
        let classify = toml::from_str::<Sidecar>(text).unwrap().classify;
        assert_eq!((classify.top_k, classify.output), (Some(3), None));
        assert_eq!(classify.heads.keys().collect::<Vec<_>>(), ["colour", "output"]);
        let colour = &classify.heads["colour"];
        assert_eq!(
            (colour.labels.as_slice(), colour.activation),
            (&["red".to_owned()][..], Some(detect::Activation::Sigmoid))
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
}
