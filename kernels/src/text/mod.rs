//! From a recogniser's scores to a line of text: the best path of connectionist temporal classification (Graves et al. 2006,
//! section 3.2).
//!
//! The scores are a tensor `[N, T, C]` of float32 or float16: N pictures of lines, T steps from left to right, C symbols, the
//! first of which is the blank. A recogniser that ends in a recurrent network may give `[T, 1, C]`, of one line. Each step gives
//! its surest symbol, the first of equals. A symbol that repeats the previous step's is dropped, and so are blanks:
//! `--HH-EE-L-LL-O-` is HELLO. The confidence of the line is the mean over the steps whose symbols are kept, as in PP-OCR's
//! `CTCLabelDecode`. A step whose scores are all NaN or infinite is a blank.
//!
//! The surest symbol of a step is the surest class of a row of scores, so [`Reader`] and [`CudaReader`] are a
//! [`Classifier`] and a [`CudaClassifier`] of one class over T rows a line, and equal results are guaranteed as there. A GPU
//! sends 40 bytes a step.

#[cfg(test)]
mod tests;

use crate::classify::{Class, Classifier, ClassifyError, ClassifyParams, CudaClassifier, Outcome};
use crate::detect::Activation;
use crate::device::{CudaStream, DeviceTensor};
use crate::tensor::{TensorDesc, TensorType, TensorView};

/// The symbol that stands for none.
pub const BLANK: u32 = 0;

/// Scores that no text can be read from.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// An output that is not a row of scores for each step.
    #[error(
        "'{0}' are no scores of characters, which are [1,T,C] or [T,1,C] in float32 or float16: T steps from left to right, C \
         characters. Set output to the one that has them"
    )]
    Scores(String),
    /// Scores whose type or dimensions are not the announced ones.
    #[error("the scores came as '{got}', but '{declared}' was announced")]
    Changed {
        /// What came.
        got: String,
        /// What the reader was made for.
        declared: String,
    },
    /// An error of the steps' scores.
    #[error(transparent)]
    Steps(#[from] ClassifyError),
}

/// The text of a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Its symbols, from left to right, none of which is the blank.
    pub symbols: Vec<u32>,
    /// The mean confidence of its symbols; 0 where there are none.
    pub confidence: f32,
}

impl Line {
    /// The line of the surest class of each step.
    fn of<'a>(steps: impl IntoIterator<Item = Option<&'a Class>>) -> Self {
        let (mut symbols, mut sum, mut before) = (Vec::new(), 0.0, BLANK);
        for step in steps {
            let symbol = step.map_or(BLANK, |class| class.index);
            if let Some(class) = step.filter(|_| symbol != BLANK && symbol != before) {
                symbols.push(symbol);
                sum += f64::from(class.confidence);
            }
            before = symbol;
        }
        let confidence = if symbols.is_empty() { 0.0 } else { (sum / symbols.len() as f64) as f32 };
        Self { symbols, confidence }
    }
}

/// The output that a reader was made for.
#[derive(Debug)]
struct Announced {
    output: TensorDesc,
    /// `[T, 1, C]`, where others have the lines first.
    steps_first: bool,
    params: ClassifyParams,
}

impl Announced {
    fn new(output: &TensorDesc, activation: Activation) -> Result<Self, TextError> {
        let float = matches!(output.ty, TensorType::Float32 | TensorType::Float16);
        // Where one of two dimensions is 1, the other one has the steps; in `[1, 1, C]` it does not matter.
        let steps_first = match output.dims[..] {
            [_, Some(0), _] | [_, _, Some(0)] => None,
            [Some(1), ..] => Some(false),
            [_, Some(1), _] | [Some(2..), None, _] => Some(true),
            [None, ..] => Some(false),
            _ => None,
        };
        let Some(steps_first) = steps_first.filter(|_| float && output.dims.len() == 3) else {
            return Err(TextError::Scores(output.to_string()));
        };
        let params = ClassifyParams { activation, top_k: 1, threshold: f32::NEG_INFINITY };
        Ok(Self { output: output.clone(), steps_first, params })
    }

    /// A step's scores, described for a classifier.
    fn step(&self) -> TensorDesc {
        let symbols = self.output.dims.get(2).copied().flatten();
        TensorDesc { dims: vec![None, symbols], ..self.output.clone() }
    }

    /// The lines, steps and symbols of scores that arrived.
    fn dims(&self, name: &str, ty: TensorType, dims: &[usize]) -> Result<[usize; 3], TextError> {
        let Self { output, steps_first, .. } = self;
        let fits = |got: usize, want: Option<usize>| got > 0 && want.is_none_or(|want| want == got);
        match (dims, &output.dims[..]) {
            (&[lines, steps, symbols], &[_, t, c])
                if !steps_first && ty == output.ty && fits(steps, t) && fits(symbols, c) =>
            {
                Ok([lines, steps, symbols])
            }
            (&[steps, 1, symbols], &[t, _, c])
                if *steps_first && ty == output.ty && fits(steps, t) && fits(symbols, c) =>
            {
                Ok([1, steps, symbols])
            }
            _ => Err(TextError::Changed {
                got: TensorDesc::fixed(name, ty, dims).to_string(),
                declared: output.to_string(),
            }),
        }
    }
}

/// The outcome of a line: that of the first step, with the NaN and infinities of all.
fn outcome_of(steps: impl IntoIterator<Item = Outcome>) -> Outcome {
    let joined = steps
        .into_iter()
        .reduce(|first, other| Outcome { non_finite: first.non_finite + other.non_finite, ..first });
    joined.unwrap_or_default()
}

/// Reads one output of a model, a line at a time.
#[derive(Debug)]
pub struct Reader {
    announced: Announced,
    steps: Classifier,
    best: Vec<Class>,
}

impl Reader {
    /// Prepares for `output`, described as that of one line; `activation` makes the scores of a step probabilities.
    ///
    /// # Errors
    /// An output that is not a row of scores for each step.
    pub fn new(output: &TensorDesc, activation: Activation) -> Result<Self, TextError> {
        let announced = Announced::new(output, activation)?;
        let steps = Classifier::new(&announced.step(), announced.params)?;
        Ok(Self { announced, steps, best: Vec::new() })
    }

    /// The first line of `scores`, and the outcome of its scores: that of the first step, with the NaN and infinities of all.
    ///
    /// # Errors
    /// Scores whose type or dimensions are not the announced ones.
    pub fn run(&mut self, scores: &TensorView<'_>) -> Result<(Line, Outcome), TextError> {
        let Self { announced, steps, best } = self;
        let [_, count, symbols] = announced.dims(scores.name, scores.ty, &scores.dims)?;
        let mut surest = Vec::with_capacity(count);
        let mut outcomes = Vec::with_capacity(count);
        for data in scores.bytes().chunks_exact(symbols * scores.ty.size()).take(count) {
            let changed = |_| TextError::Scores(announced.output.to_string());
            let step = TensorView::new(scores.name, scores.ty, &[1, symbols], data).map_err(changed)?;
            outcomes.push(steps.run(&step, best)?);
            surest.push(best.first().copied());
        }
        Ok((Line::of(surest.iter().map(Option::as_ref)), outcome_of(outcomes)))
    }
}

/// [`Reader`] on the GPU, for all lines of a batch at once. One batch is in flight at a time.
#[derive(Debug)]
pub struct CudaReader {
    announced: Announced,
    steps: CudaClassifier,
    /// Steps of each line in flight.
    count: usize,
    best: Vec<Vec<Class>>,
}

impl CudaReader {
    /// Prepares for `output`, described as that of one line; `activation` makes the scores of a step probabilities.
    ///
    /// # Errors
    /// As [`Reader::new`], and an error of the driver.
    pub fn new(output: &TensorDesc, activation: Activation, stream: &CudaStream) -> Result<Self, TextError> {
        let announced = Announced::new(output, activation)?;
        let steps = CudaClassifier::new(&announced.step(), announced.params, stream)?;
        Ok(Self { announced, steps, count: 1, best: Vec::new() })
    }

    /// Enqueues the reading of the first `lines` lines of `scores`; [`CudaReader::finish`] returns them. A batch that
    /// was started before and not finished is dropped. Allocates only for more steps than ever before.
    ///
    /// # Errors
    /// As [`Reader::run`], and an error of the driver.
    pub fn start(
        &mut self,
        stream: &CudaStream,
        scores: &DeviceTensor<'_>,
        lines: usize,
    ) -> Result<(), TextError> {
        let Self { announced, steps, count, .. } = self;
        let [all, steps_each, symbols] = announced.dims(scores.name, scores.ty, &scores.dims)?;
        *count = steps_each;
        let changed = |_| TextError::Scores(announced.output.to_string());
        let rows = DeviceTensor::new(scores.name, scores.ty, &[all * steps_each, symbols], scores.slice());
        Ok(steps.start(stream, &rows.map_err(changed)?, lines * steps_each)?)
    }

    /// Waits once for the batch that was started last, and returns its lines, each as [`Reader::run`] does.
    ///
    /// # Errors
    /// An error of the driver, also for faults of earlier work.
    pub fn finish(&mut self, stream: &CudaStream) -> Result<Vec<(Line, Outcome)>, TextError> {
        let Self { steps, count, best, .. } = self;
        let outcomes = steps.finish(stream, best)?;
        let lines = best.chunks(*count).zip(outcomes.chunks(*count));
        let line = |(best, outcomes): (&[Vec<Class>], &[Outcome])| {
            (Line::of(best.iter().map(|step| step.first())), outcome_of(outcomes.iter().copied()))
        };
        Ok(lines.map(line).collect())
    }
}
