//! From a classifier's scores to its best classes.
//!
//! The scores are a tensor `[N, C]` (further dimensions of 1 are allowed, as in `[N, C, 1, 1]`) of float32 or float16: N
//! frames or regions, C classes. Of each row the [`ClassifyParams::top_k`] classes of the highest scores are kept, or all, lower
//! classes first where scores are equal. Their confidence is the score itself, its sigmoid, or its share in the softmax of
//! the row. Scores of NaN or infinity are counted, never chosen, and no part of the softmax.
//!
//! [`Classifier`] and [`CudaClassifier`] choose the same classes in the same order, because both compare the scores
//! themselves. Confidences are computed from the chosen scores by the same code, in f64; only the softmax's sum is added up in
//! another order and by another exp, a difference of 1e-13: after rounding to float32 at most the last bit differs.

mod cuda;
mod key;
mod params;
#[cfg(test)]
mod tests;
mod values;

pub use cuda::CudaClassifier;
pub use params::{Class, ClassifyParams, Outcome};
pub use values::ValueParams;

use self::key::{classes_of, key_of, score_of};
use self::params::FEW;
use crate::detect::Activation;
use crate::device::DeviceError;
use crate::tensor::{TensorDesc, TensorType, TensorView};

/// Parameters or scores that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClassifyError {
    /// An output that is no row of scores.
    #[error(
        "'{0}' are no scores of classes, which are [1,C] in float32 or float16. Set output to the one that has them. For a model \
         with boxes, points or masks, put gpunms, peakfind or segmask in place of classify; for one that reads text, [1,T,C], set \
         mode=text"
    )]
    Scores(String),
    /// A threshold that nothing can be compared with.
    #[error("the threshold is not a number; give a finite one")]
    Threshold,
    /// Scores whose type or dimensions are not the announced ones.
    #[error("the scores came as '{got}', but '{declared}' was announced")]
    Changed {
        /// What came.
        got: String,
        /// What the classifier was made for.
        declared: String,
    },
    /// Fewer rows than were asked for.
    #[error("'{got}' has no scores of {wanted} rows")]
    Rows {
        /// What came.
        got: String,
        /// The rows.
        wanted: usize,
    },
    /// The GPU refused.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// The output that a classifier was made for.
#[derive(Debug)]
struct Announced {
    output: TensorDesc,
    params: ClassifyParams,
}

impl Announced {
    fn new(output: &TensorDesc, params: ClassifyParams) -> Result<Self, ClassifyError> {
        if params.threshold.is_nan() {
            return Err(ClassifyError::Threshold);
        }
        let float = matches!(output.ty, TensorType::Float32 | TensorType::Float16);
        let row = match output.dims.as_slice() {
            [None | Some(1), rest @ ..] if !rest.is_empty() && !rest.contains(&Some(0)) => {
                rest.iter().filter(|d| **d != Some(1)).count() <= 1
            }
            _ => false,
        };
        if !(float && row) {
            return Err(ClassifyError::Scores(output.to_string()));
        }
        Ok(Self { output: output.clone(), params })
    }

    /// The number of classes of scores that arrived, of which the first dimension must be `rows` or more.
    fn classes(
        &self,
        name: &str,
        ty: TensorType,
        dims: &[usize],
        rows: usize,
    ) -> Result<usize, ClassifyError> {
        let got = || TensorDesc::fixed(name, ty, dims).to_string();
        let Self { output, .. } = self;
        let same = ty == output.ty && dims.len() == output.dims.len();
        let [n, rest @ ..] = dims else {
            return Err(ClassifyError::Changed { got: got(), declared: output.to_string() });
        };
        let fits = |(got, want): (&usize, &Option<usize>)| want.is_none_or(|want| want == *got) && *got > 0;
        if !same || !rest.iter().zip(&output.dims[1..]).all(fits) {
            return Err(ClassifyError::Changed { got: got(), declared: output.to_string() });
        }
        if *n < rows {
            return Err(ClassifyError::Rows { got: got(), wanted: rows });
        }
        Ok(rest.iter().product())
    }
}

/// Reads one output of a model, a row of scores at a time.
#[derive(Debug)]
pub struct Classifier {
    announced: Announced,
    keys: Vec<u64>,
}

impl Classifier {
    /// Prepares for `output`, described as that of one row.
    ///
    /// # Errors
    /// An output that is no row of scores; parameters that cannot be met.
    pub fn new(output: &TensorDesc, params: ClassifyParams) -> Result<Self, ClassifyError> {
        let announced = Announced::new(output, params)?;
        Ok(Self { announced, keys: Vec::new() })
    }

    /// Replaces `classes` by those of the first row of `scores`, the surest first; returns what the scores are like.
    ///
    /// # Errors
    /// Scores whose type or dimensions are not the announced ones.
    pub fn run(
        &mut self,
        scores: &TensorView<'_>,
        classes: &mut Vec<Class>,
    ) -> Result<Outcome, ClassifyError> {
        classes.clear();
        let Self { announced, keys } = self;
        let count = announced.classes(scores.name, scores.ty, &scores.dims, 1)?;
        let values = scores.to_f32();
        let row = values.get(..count).unwrap_or_default();
        let kept = announced.params.kept(count);
        keys.clear();
        let mut outcome = Outcome::default();
        for (score, class) in row.iter().zip(0..) {
            let Some(key) = key_of(*score, class) else {
                outcome.non_finite += 1;
                continue;
            };
            outcome.outside += usize::from(!(0.0..=1.0).contains(score));
            outcome.total += f64::from(*score);
            if kept > FEW {
                keys.push(key);
                continue;
            }
            if keys.len() == kept && keys.last().is_some_and(|least| key < *least) {
                continue;
            }
            keys.insert(keys.partition_point(|better| *better > key), key);
            keys.truncate(kept);
        }
        if kept > FEW {
            if kept < keys.len() {
                keys.select_nth_unstable_by(kept, |a, b| b.cmp(a));
                keys.truncate(kept);
            }
            keys.sort_unstable_by(|a, b| b.cmp(a));
        }
        let best = keys.first().map_or(0.0, |key| f64::from(score_of(*key)));
        let sum = match announced.params.activation {
            Activation::Softmax => {
                row.iter().filter(|v| v.is_finite()).map(|v| (f64::from(*v) - best).exp()).sum()
            }
            _ => 0.0,
        };
        classes_of(keys, sum, &announced.params, classes);
        Ok(outcome)
    }
}
