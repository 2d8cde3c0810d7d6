//! The result of `activation=auto`: a second softmax over probabilities would make all of them nearly equal.
//!
//! The model's graph decides, where it is known how the output ends. Else the first scores that arrive do, once for a model
//! and output, so that a confidence does not change its meaning from frame to frame.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cudainfer_kernels::classify::Outcome;
use cudainfer_kernels::detect::Activation;

use super::unstated::assumption;
use crate::model::onnx::Ending;
use crate::notice::Remark;
use crate::sync::lock;

/// The activation, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ActivationChoice {
    /// A property or the sidecar sets it.
    Set(Activation),
    /// The graph shows it.
    Known(Activation, &'static str),
    /// The first scores will decide.
    Open,
}

impl ActivationChoice {
    /// `set` is the value of a property or the sidecar; `ending` is how the output ends in the model's graph, and `classes` how
    /// many it has, as far as these are known.
    pub fn of(set: Option<Activation>, ending: Option<Ending>, classes: Option<usize>) -> Self {
        match (set, ending) {
            (Some(set), _) => Self::Set(set),
            (None, Some(Ending::Softmax)) => Self::Known(Activation::None, "the model ends in a softmax"),
            (None, Some(Ending::Sigmoid)) => Self::Known(Activation::None, "the model ends in a sigmoid"),
            (None, Some(Ending::Logits)) if classes == Some(1) => {
                Self::Known(Activation::Sigmoid, "the model gives the logit of one class")
            }
            (None, Some(Ending::Logits)) => Self::Known(Activation::Softmax, "the model gives logits"),
            (None, None) => Self::Open,
        }
    }
}

/// The decisions by first scores, by model and output; shared by the decoders of an element.
pub(super) type Decided = Arc<Mutex<BTreeMap<String, Activation>>>;

/// A decision that the first scores make.
pub(super) struct Undecided {
    output: String,
    classes: Option<usize>,
    is_stated: bool,
    key: String,
    decided: Decided,
}

impl Undecided {
    /// For an output of a model, as caps name it, with `classes` classes; `is_stated` says whether anybody says that it has scores.
    pub fn new(
        model: &str,
        output: &str,
        classes: Option<usize>,
        is_stated: bool,
        decided: &Decided,
    ) -> Self {
        let key = format!("{model} {output}");
        Self { output: output.to_owned(), classes, is_stated, key, decided: Arc::clone(decided) }
    }

    /// The decision by earlier scores.
    pub fn known(&self) -> Option<Activation> {
        lock(&self.decided).get(&self.key).copied()
    }

    /// The activation from now on, after the first scores, and a remark for the user.
    pub fn decide(&self, first: &Outcome) -> (Activation, Option<Remark>) {
        let (activation, remark) = assume(&self.output, self.classes, self.is_stated, first);
        lock(&self.decided).insert(self.key.clone(), activation);
        (activation, remark)
    }
}

fn assume(
    output: &str,
    classes: Option<usize>,
    is_stated: bool,
    first: &Outcome,
) -> (Activation, Option<Remark>) {
    let one = classes == Some(1);
    if first.is_distribution() && !one {
        let remark = format!(
            "the first scores in '{output}' are from 0 to 1 and add up to 1, so they are taken for probabilities, and \
             activation=auto applies no softmax. Set activation=none if that is right, else softmax"
        );
        return (Activation::None, Some(Remark::Info(remark)));
    }
    let (activation, name) =
        if one { (Activation::Sigmoid, "a sigmoid") } else { (Activation::Softmax, "a softmax") };
    // Scores that are all 0 show nothing.
    let doubt = (first.in_unit() && first.total > 0.0).then(|| {
        format!(
            "the first scores in '{output}' are all from 0 to 1, as probabilities are, but activation=auto applies {name}, \
             which makes probabilities nearly equal. Set activation=none if they are probabilities, else the activation that \
             they need"
        )
    });
    let doubt = doubt.or_else(|| (!is_stated).then(|| assumption(output, classes)));
    (activation, doubt.map(Remark::Warning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_before_the_graph_and_the_graph_before_the_first_scores() {
        use Activation::{None as No, Sigmoid, Softmax};
        for (set, ending, classes, wanted) in [
            (Some(Softmax), Some(Ending::Softmax), None, Some(Softmax)),
            (Some(No), Some(Ending::Logits), None, Some(No)),
            (None, Some(Ending::Softmax), Some(10), Some(No)),
            (None, Some(Ending::Sigmoid), Some(10), Some(No)),
            (None, Some(Ending::Logits), Some(10), Some(Softmax)),
            (None, Some(Ending::Logits), Some(1), Some(Sigmoid)),
            (None, None, Some(10), None),
        ] {
            let got = match ActivationChoice::of(set, ending, classes) {
                ActivationChoice::Set(activation) | ActivationChoice::Known(activation, _) => {
                    Some(activation)
                }
                ActivationChoice::Open => None,
            };
            assert_eq!(got, wanted, "{set:?} {ending:?} {classes:?}");
        }
    }

    #[test]
    fn the_first_scores_decide_once_for_a_model_and_output() {
        let decided = Decided::default();
        let first = |model: &str| Undecided::new(model, "scores", Some(3), true, &decided);
        let probabilities = Outcome { non_finite: 0, outside: 0, total: 1.0 };
        let logits = Outcome { non_finite: 0, outside: 2, total: 1.0 };
        assert_eq!(first("a#1").known(), None);
        let (activation, remark) = first("a#1").decide(&probabilities);
        assert!(activation == Activation::None && matches!(remark, Some(Remark::Info(_))));
        assert_eq!(first("b#1").decide(&logits), (Activation::Softmax, None));
        assert_eq!(first("a#1").known(), Some(Activation::None));
        assert_eq!(first("b#1").known(), Some(Activation::Softmax));
        assert_eq!(first("a#2").known(), None, "another loading of the model");
    }

    #[test]
    fn scores_that_may_be_probabilities_are_warned_about() {
        let scores = |total| Outcome { non_finite: 0, outside: 0, total };
        let (activation, remark) = assume("x", Some(3), true, &scores(1.7));
        assert!(activation == Activation::Softmax && matches!(remark, Some(Remark::Warning(_))));
        assert_eq!(assume("x", Some(3), true, &scores(0.0)), (Activation::Softmax, None));
        // One probability is no distribution over classes.
        let (activation, remark) = assume("x", Some(1), true, &scores(1.0));
        assert!(activation == Activation::Sigmoid && matches!(remark, Some(Remark::Warning(_))));
        // Of logits that nobody calls so, the user hears what is assumed.
        let logits = Outcome { non_finite: 0, outside: 40, total: 90.0 };
        assert_eq!(assume("x", Some(512), true, &logits), (Activation::Softmax, None));
        let (activation, remark) = assume("x", Some(512), false, &logits);
        assert!(activation == Activation::Softmax && matches!(remark, Some(Remark::Warning(_))));
        assert!(matches!(assume("x", Some(512), false, &scores(1.0)).1, Some(Remark::Info(_))));
        let logit = Outcome { non_finite: 0, outside: 1, total: -3.0 };
        assert_eq!(assume("x", Some(1), true, &logit), (Activation::Sigmoid, None));
    }
}
