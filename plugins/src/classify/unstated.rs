//! Outputs of which nobody says that they hold the scores of classes. An age, an angle or the corners of a box have the shape of
//! scores, too, and a softmax would make a sure class of any of them.

use cudainfer_kernels::tensor::TensorDesc;

use super::settings::Settings;
use crate::model::ModelInfo;
use crate::model::onnx::Ending;

/// Up to this many numbers are refused, because models that measure something give as many. Hardly any gives more, except for
/// classifiers and embeddings.
const FEW: usize = 20;

/// Whether a property, the sidecar, labels or the end of the model's graph says that the output of this name has scores.
pub(super) fn are_scores_stated(settings: &Settings, output: &str, info: &ModelInfo) -> bool {
    settings.mode(output, info).is_some()
        || settings.activation(output, info).is_some()
        || !info.labels_of(output).is_empty()
        || matches!(info.ending(output), Some(Ending::Softmax | Ending::Sigmoid))
}

/// Refuses an output of a few numbers of which nothing is stated.
///
/// # Errors
/// A sentence.
pub(super) fn refuse_few(output: &TensorDesc, numbers: Option<usize>) -> Result<(), String> {
    let Some(numbers) = numbers.filter(|numbers| *numbers <= FEW) else { return Ok(()) };
    let plural = if numbers == 1 { "" } else { "s" };
    Err(format!(
        "'{output}' has {numbers} number{plural}, and nothing says that these are scores of classes, as labels or a softmax at the \
         model's end would. If they are, set mode=classes, or give trtinfer labels=FILE. If they are other numbers, such as an age \
         or angles, name them in the model's sidecar: [classify.NAME] with channels"
    ))
}

/// What is assumed of more numbers, for a WARNING.
pub(super) fn assumption(output: &str, numbers: Option<usize>) -> String {
    let numbers = numbers.map_or_else(|| "the numbers".into(), |numbers| format!("the {numbers} numbers"));
    format!(
        "nothing says that {numbers} in '{output}' are scores of classes, as labels or a softmax at the model's end would. They are \
         taken for logits, and a softmax is applied. Set mode=classes if that is right, or give trtinfer labels=FILE"
    )
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::detect::Activation;

    use super::*;
    use crate::model::ClassMode;

    #[test]
    fn a_property_alone_states_that_there_are_scores_and_nothing_does_without_any() {
        let info = ModelInfo::default();
        let settings = Settings::default();
        assert!(!are_scores_stated(&settings, "age", &info));
        let modes = Settings { mode: Some(ClassMode::Classes), ..Settings::default() };
        let activations = Settings { activation: Some(Activation::None), ..Settings::default() };
        for settings in [modes, activations] {
            assert!(are_scores_stated(&settings, "age", &info), "{settings:?}");
        }
        // How many classes are kept says nothing about what they are.
        let counts = Settings { top_k: Some(3), threshold: Some(0.5), ..Settings::default() };
        assert!(!are_scores_stated(&counts, "age", &info));
    }

    #[test]
    fn few_numbers_are_refused_in_three_sentences_and_more_are_not() {
        for dims in ["1x1", "1x3", "1x20", "1x5x1x1"] {
            let output: TensorDesc = format!("age:float32:{dims}").parse().unwrap();
            let numbers = output.dims.iter().copied().product();
            let error = refuse_few(&output, numbers).unwrap_err();
            assert!(error.contains(&output.to_string()) && error.contains("mode=classes"), "{error}");
            assert!(error.matches(". ").count() < 3, "{error}");
        }
        let many: TensorDesc = "scores:float32:1x1000".parse().unwrap();
        assert_eq!((refuse_few(&many, Some(1000)), refuse_few(&many, None)), (Ok(()), Ok(())));
    }
}
