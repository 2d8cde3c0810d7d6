//! What some of an output's numbers are.

use std::path::PathBuf;

use cudainfer_kernels::classify::ValueParams;
use cudainfer_kernels::detect::Activation;
use serde::{Deserialize, Serialize};

use crate::onnx::Ending;
use crate::{SliceMode, word};

/// `[classify.NAME]` with `channels`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Slice {
    /// The first number, and the one after the last, of those of a frame or region, in the order in which they lie in memory.
    pub channels: [usize; 2],
    /// The output that the numbers are in, where the model has several.
    pub output: Option<String>,
    /// `class`, `value` or `expectation`.
    #[serde(with = "word")]
    pub mode: Option<SliceMode>,
    /// `none`, `sigmoid` or `softmax`, the latter over the slice.
    #[serde(with = "word")]
    pub activation: Option<Activation>,
    /// Factor on the values.
    pub scale: Option<f64>,
    /// What is added to the values then.
    pub offset: Option<f64>,
    /// The value of the first bin, and the distance of the bins' values.
    pub bins: Option<[f64; 2]>,
    /// Names of the classes, or of several values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// File beside the sidecar with the same names, one per line.
    pub labels_file: Option<PathBuf>,
}

impl Slice {
    /// What the numbers are; values, where that is not set.
    pub fn mode(&self) -> SliceMode {
        self.mode.unwrap_or(SliceMode::Value)
    }

    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.channels[1].saturating_sub(self.channels[0])
    }

    /// What makes the numbers what they stand for, of an output that ends so in the model's graph; `None` where neither that nor the
    /// sidecar tells whether scores are probabilities.
    pub fn activation(&self, ending: Option<Ending>) -> Option<Activation> {
        let usual = match (self.mode(), ending) {
            (SliceMode::Value, _) | (_, Some(Ending::Softmax | Ending::Sigmoid)) => Some(Activation::None),
            (_, Some(Ending::Logits)) => Some(Activation::Softmax),
            (_, None) => None,
        };
        self.activation.or(usual)
    }

    /// For the kernel, of a slice that is no class.
    pub fn values(&self, activation: Activation) -> ValueParams {
        ValueParams {
            activation,
            bins: self.bins,
            scale: self.scale.unwrap_or(1.0),
            offset: self.offset.unwrap_or(0.0),
        }
    }

    /// The names of the values of the slice that is called `name`: one of bins or of one number has that name, the others are called
    /// after the labels too, or else after their places.
    pub fn value_names(&self, name: &str) -> Vec<String> {
        if self.mode() == SliceMode::Expectation || self.count() == 1 {
            return vec![name.to_owned()];
        }
        let of = |i: usize| self.labels.get(i).cloned().unwrap_or_else(|| i.to_string());
        (0..self.count()).map(|i| format!("{name}.{}", of(i))).collect()
    }

    /// Refuses keys that contradict each other, as far as that is known before the labels are read.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        let [first, end] = self.channels;
        let place = format!("classify.{name}");
        if first >= end {
            return Err(format!(
                "{place}.channels is [{first}, {end}], but the first number is less than the second, which is the number after the last: \
                 [2, 3] is the third number alone"
            ));
        }
        if !self.labels.is_empty() && self.labels_file.is_some() {
            return Err(format!("{place}.labels and {place}.labels-file both name the classes: keep one"));
        }
        let is_finite = |value: Option<f64>| value.is_none_or(f64::is_finite);
        let bins = self.bins.unwrap_or([0.0, 1.0]);
        if !(is_finite(self.scale) && is_finite(self.offset) && bins.iter().all(|bin| bin.is_finite())) {
            return Err(format!("{place}: scale, offset and bins are finite numbers"));
        }
        let has_labels = !self.labels.is_empty() || self.labels_file.is_some();
        match self.mode() {
            SliceMode::Class if self.scale.or(self.offset).is_some() || self.bins.is_some() => Err(format!(
                "{place} is a class, to which scale, offset and bins do not apply: drop them, or set mode = \"value\" or \"expectation\""
            )),
            SliceMode::Class if end - first == 1 => Err(format!(
                "{place} is a class of one number, but a class is one of several: set mode = \"value\", with activation = \"sigmoid\" if \
                 it is a probability's logit"
            )),
            SliceMode::Expectation if self.bins.is_none() => Err(format!(
                "{place}.bins is missing: write the value of the first number's bin and the distance of the bins, as in bins = [0, 1]"
            )),
            SliceMode::Expectation if has_labels => Err(format!(
                "{place} is one value, which is called '{name}': drop labels, or set mode = \"class\""
            )),
            SliceMode::Value if self.bins.is_some() => Err(format!(
                "{place}.bins does not apply to values of their own: set mode = \"expectation\", or drop bins"
            )),
            _ => Ok(()),
        }
    }

    /// Refuses labels that are not as many as there are numbers.
    ///
    /// # Errors
    /// A sentence.
    pub(crate) fn check_labels(&self, name: &str) -> Result<(), String> {
        let (labels, count) = (self.labels.len(), self.count());
        if labels == 0 || labels == count {
            return Ok(());
        }
        Err(format!(
            "there are {labels} labels in [classify.{name}], but its channels are {count}: write one for each, or correct channels"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sidecar;

    fn read(text: &str) -> Result<Slice, String> {
        let sidecar: Sidecar =
            toml::from_str(&format!("[classify.age]\n{text}")).map_err(|e| e.to_string())?;
        sidecar.check()?;
        Ok(sidecar.classify.slices["age"].clone())
    }

    #[test]
    fn a_slice_has_one_number_named_as_it_is_and_several_named_after_labels_or_places() {
        let names = |text: &str| read(text).unwrap().value_names("age");
        assert_eq!(names("channels = [2, 3]"), ["age"]);
        assert_eq!(names("channels = [0, 2]"), ["age.0", "age.1"]);
        assert_eq!(names("channels = [0, 2]\nlabels = [\"low\", \"high\"]"), ["age.low", "age.high"]);
        assert_eq!(names("channels = [0, 101]\nmode = \"expectation\"\nbins = [0, 1]"), ["age"]);
    }

    #[test]
    fn scores_of_an_output_that_ends_in_nothing_known_need_an_activation() {
        let of = |text: &str, ending| read(&format!("channels = [0, 9]\n{text}")).unwrap().activation(ending);
        let bins = "mode = \"expectation\"\nbins = [0, 1]";
        for (text, ending, wanted) in [
            ("", None, Some(Activation::None)),
            ("", Some(Ending::Logits), Some(Activation::None)),
            ("activation = \"sigmoid\"", None, Some(Activation::Sigmoid)),
            ("mode = \"class\"", None, None),
            (bins, None, None),
            (bins, Some(Ending::Logits), Some(Activation::Softmax)),
            (bins, Some(Ending::Softmax), Some(Activation::None)),
            ("mode = \"class\"\nactivation = \"none\"", Some(Ending::Logits), Some(Activation::None)),
        ] {
            assert_eq!(of(text, ending), wanted, "{text} {ending:?}");
        }
    }

    #[test]
    fn keys_that_contradict_each_other_are_refused_in_words() {
        for (text, wrong) in [
            ("channels = [3, 3]", "[3, 3], but the first"),
            ("channels = [3, 2]", "[2, 3] is the third number alone"),
            ("channels = [0, 1, 2]", "in classify.age"),
            ("channels = [0, 2]\nbins = [0, 1]", "set mode = \"expectation\""),
            ("channels = [0, 2]\nmode = \"expectation\"", "classify.age.bins is missing"),
            ("channels = [0, 2]\nmode = \"class\"\nscale = 2.0", "drop them"),
            ("channels = [0, 1]\nmode = \"class\"", "a class of one number"),
            ("channels = [0, 1]\nscale = inf", "finite"),
            ("channels = [0, 1]\nmode = \"classes\"", "'classes' is none of class, value, expectation"),
            ("channels = [0, 1]\ntop-k = 2", "top-k"),
            (
                "channels = [0, 2]\nmode = \"expectation\"\nbins = [0, 1]\nlabels = [\"a\", \"b\"]",
                "is one value",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(wrong), "{text}: {error}");
        }
        let two = Slice { channels: [0, 3], labels: vec!["a".into(), "b".into()], ..Slice::default() };
        let error = two.check_labels("age").unwrap_err();
        assert!(error.contains("2 labels in [classify.age], but its channels are 3"), "{error}");
    }
}
