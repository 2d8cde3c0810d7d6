//! From a recogniser's scores to a line of text.
//!
//! The scores are a tensor `[N, T, C]` of float32 or float16: N pictures of lines, T steps from left to right, C symbols. A
//! recogniser that ends in a recurrent network may give `[T, 1, C]`, of one line; others have the symbols before the steps, `[N, C,
//! T]`, or all steps of a line in one row, `[N, T*C]`. Each step gives its surest symbol, the first of equals. [`TextDecoding`] says which of them are the line:
//!
//! - the best path of connectionist temporal classification (Graves et al. 2006, section 3.2): a symbol that repeats the previous
//!   step's is dropped, and so are blanks: `--HH-EE-L-LL-O-` is HELLO;
//! - slots, as fast-plate-ocr has them: each step is a place of the line, and the pad stands for none;
//! - a sequence, as of PARSeq (Bautista and Atienza 2022): each step is a symbol, until the end.
//!
//! The confidence of the line is the mean over the steps whose symbols are kept, as in PP-OCR's `CTCLabelDecode`. A step whose
//! scores are all NaN or infinite has no symbol.
//!
//! The surest symbol of a step is the surest class of a row of scores, so [`Reader`] and [`CudaReader`] are a
//! [`Classifier`] and a [`CudaClassifier`] of one class over T rows a line, and equal results are guaranteed as there. A GPU
//! sends 40 bytes a step.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::classify::{Class, Classifier, ClassifyError, ClassifyParams, CudaClassifier, Outcome};
use crate::detect::Activation;
use crate::device::{CudaStream, DeviceTensor};
use crate::tensor::{TensorDesc, TensorType, TensorView};

/// How the symbols of the steps become a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextDecoding {
    /// Repetitions are one symbol, and the blank is none.
    Ctc {
        /// Its number.
        blank: u32,
    },
    /// Each step is a place of the line.
    Slots {
        /// The number of the symbol that stands for none.
        pad: u32,
    },
    /// Each step is a symbol, until the end.
    Sequence {
        /// The number of the symbol that ends the line.
        end: u32,
    },
}

impl TextDecoding {
    /// The symbol that is no character.
    pub fn special(self) -> u32 {
        match self {
            Self::Ctc { blank: special } | Self::Slots { pad: special } | Self::Sequence { end: special } => {
                special
            }
        }
    }
}

/// The order of the scores' dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextLayout {
    /// The symbols of a step lie together.
    StepsFirst,
    /// The steps of a symbol lie together.
    SymbolsFirst,
}

crate::words! { TextLayout:
    StepsFirst = "tc", "[1,T,C], or [T,1,C]: the scores of a step lie together";
    SymbolsFirst = "ct", "[1,C,T]: the scores of a character lie together";
}

/// How scores become a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextParams {
    /// What makes the scores of a step probabilities.
    pub activation: Activation,
    /// Which symbols are the line.
    pub decoding: TextDecoding,
    /// The order of the dimensions. [`CudaReader`] reads [`TextLayout::StepsFirst`] alone.
    pub layout: TextLayout,
    /// Symbols of a step, for scores in one row, whose dimensions do not have them; elsewhere it has no effect.
    pub symbols: Option<usize>,
}

/// Scores that no text can be read from.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// An output that is not a row of scores for each step.
    #[error(
        "'{0}' are no scores of characters, which are [1,T,C] or [T,1,C], with layout = \"ct\" [1,C,T], or one row of these where labels \
         say how many characters there are, in float32 or float16: T steps from left to right, C characters. Set output to the one \
         that has them"
    )]
    Scores(String),
    /// One row of scores that is no whole number of steps.
    #[error(
        "'{output}' is no whole number of steps of {symbols} characters: correct the labels, which are the characters"
    )]
    Row {
        /// The output.
        output: String,
        /// The symbols of a step.
        symbols: usize,
    },
    /// A symbol that the output has not.
    #[error(
        "'{output}' has {symbols} characters, of which none has the number {special}: correct blank, pad or eos"
    )]
    Special {
        /// The output.
        output: String,
        /// Its symbols.
        symbols: usize,
        /// The number that stands for no character.
        special: u32,
    },
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
    /// Its symbols, from left to right, all of which are characters.
    pub symbols: Vec<u32>,
    /// The mean confidence of its symbols; 0 where there are none.
    pub confidence: f32,
}

impl Line {
    /// The line of the surest class of each step.
    fn of<'a>(steps: impl IntoIterator<Item = Option<&'a Class>>, decoding: TextDecoding) -> Self {
        let (mut symbols, mut sum, mut before) = (Vec::new(), 0.0, None);
        for step in steps {
            let symbol = step.map(|class| class.index);
            let is_kept = match decoding {
                TextDecoding::Ctc { blank } => symbol != Some(blank) && symbol != before,
                TextDecoding::Slots { pad } => symbol != Some(pad),
                TextDecoding::Sequence { end } if symbol == Some(end) => break,
                TextDecoding::Sequence { .. } => true,
            };
            if let Some(class) = step.filter(|_| is_kept) {
                symbols.push(class.index);
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
    /// With three dimensions.
    output: TensorDesc,
    /// Steps and symbols, as they lie, of scores that come in one row.
    row: Option<[usize; 2]>,
    /// `[T, 1, C]`, where others have the lines first.
    steps_first: bool,
    params: TextParams,
}

impl Announced {
    fn new(output: &TensorDesc, params: TextParams) -> Result<Self, TextError> {
        let float = matches!(output.ty, TensorType::Float32 | TensorType::Float16);
        let row = Self::row(output, params)?;
        let apart = row.map(|[first, second]| {
            let batch = output.dims.first().copied().flatten();
            TensorDesc { dims: vec![batch, Some(first), Some(second)], ..output.clone() }
        });
        let output = apart.as_ref().unwrap_or(output);
        // Where one of two dimensions is 1, the other one has the steps; in `[1, 1, C]` it does not matter.
        let steps_first = match output.dims[..] {
            [_, Some(0), _] | [_, _, Some(0)] => None,
            _ if row.is_some() => Some(false),
            [None | Some(1), ..] if params.layout == TextLayout::SymbolsFirst => Some(false),
            _ if params.layout == TextLayout::SymbolsFirst => None,
            [Some(1), ..] => Some(false),
            [_, Some(1), _] | [Some(2..), None, _] => Some(true),
            [None, ..] => Some(false),
            _ => None,
        };
        let Some(steps_first) = steps_first.filter(|_| float && output.dims.len() == 3) else {
            return Err(TextError::Scores(output.to_string()));
        };
        let announced = Self { output: output.clone(), row, steps_first, params };
        let special = params.decoding.special();
        match announced.symbols() {
            Some(symbols) if usize::try_from(special).is_ok_and(|special| special >= symbols) => {
                Err(TextError::Special { output: output.to_string(), symbols, special })
            }
            _ => Ok(announced),
        }
    }

    /// How the scores in the one row of `output` lie, if it has no other dimensions. Scores of a single step are those of classes.
    fn row(output: &TensorDesc, params: TextParams) -> Result<Option<[usize; 2]>, TextError> {
        let (&[_, Some(scores)], Some(symbols)) = (&output.dims[..], params.symbols) else { return Ok(None) };
        let steps = scores.checked_div(symbols).filter(|steps| *steps > 0 && steps * symbols == scores);
        let steps = steps.ok_or_else(|| TextError::Row { output: output.to_string(), symbols })?;
        let as_they_lie = match params.layout {
            TextLayout::StepsFirst => [steps, symbols],
            TextLayout::SymbolsFirst => [symbols, steps],
        };
        Ok(Some(as_they_lie).filter(|_| steps > 1))
    }

    /// The number of symbols, if the output's description has it.
    fn symbols(&self) -> Option<usize> {
        let place = if self.params.layout == TextLayout::SymbolsFirst { 1 } else { 2 };
        self.output.dims.get(place).copied().flatten()
    }

    /// A step's scores, described for a classifier, and how it reads them.
    fn step(&self) -> (TensorDesc, ClassifyParams) {
        let desc = TensorDesc { dims: vec![None, self.symbols()], ..self.output.clone() };
        let activation = self.params.activation;
        (desc, ClassifyParams { activation, top_k: 1, threshold: f32::NEG_INFINITY })
    }

    /// The lines, steps and symbols of scores that arrived.
    fn dims(&self, name: &str, ty: TensorType, dims: &[usize]) -> Result<[usize; 3], TextError> {
        let Self { output, steps_first, .. } = self;
        let changed = || TextError::Changed {
            got: TensorDesc::fixed(name, ty, dims).to_string(),
            declared: output.to_string(),
        };
        let fits = |got: usize, want: Option<usize>| got > 0 && want.is_none_or(|want| want == got);
        let apart = match (dims, self.row) {
            (&[lines, scores], Some([first, second])) if scores == first * second => {
                Some([lines, first, second])
            }
            (_, Some(_)) => return Err(changed()),
            (_, None) => None,
        };
        let dims = apart.as_ref().map_or(dims, |dims| &dims[..]);
        match (dims, &output.dims[..]) {
            (&[lines, symbols, steps], &[_, c, t])
                if self.params.layout == TextLayout::SymbolsFirst
                    && ty == output.ty
                    && fits(steps, t)
                    && fits(symbols, c) =>
            {
                Ok([lines, steps, symbols])
            }
            (_, _) if self.params.layout == TextLayout::SymbolsFirst => Err(changed()),
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
            _ => Err(changed()),
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
    /// Prepares for `output`, described as that of one line.
    ///
    /// # Errors
    /// An output that is not a row of scores for each step, or lacks the symbol that is no character.
    pub fn new(output: &TensorDesc, params: TextParams) -> Result<Self, TextError> {
        let announced = Announced::new(output, params)?;
        let (step, of_step) = announced.step();
        let steps = Classifier::new(&step, of_step)?;
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
        let size = scores.ty.size();
        let by_step = match announced.params.layout {
            TextLayout::StepsFirst => Cow::Borrowed(scores.bytes()),
            TextLayout::SymbolsFirst => Cow::Owned(transposed(scores.bytes(), [symbols, count], size)),
        };
        for data in by_step.chunks_exact(symbols * size).take(count) {
            let changed = |_| TextError::Scores(announced.output.to_string());
            let step = TensorView::new(scores.name, scores.ty, &[1, symbols], data).map_err(changed)?;
            outcomes.push(steps.run(&step, best)?);
            surest.push(best.first().copied());
        }
        let line = Line::of(surest.iter().map(Option::as_ref), announced.params.decoding);
        Ok((line, outcome_of(outcomes)))
    }
}

/// The first matrix of these dimensions, with its columns as rows; numbers have `size` bytes.
fn transposed(matrix: &[u8], [rows, columns]: [usize; 2], size: usize) -> Vec<u8> {
    let number = |row: usize, column: usize| {
        let first = (row * columns + column) * size;
        matrix.get(first..first + size).unwrap_or_default()
    };
    (0..columns).flat_map(|column| (0..rows).flat_map(move |row| number(row, column)).copied()).collect()
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
    /// Prepares for `output`, described as that of one line.
    ///
    /// # Errors
    /// As [`Reader::new`], also for another layout than [`TextLayout::StepsFirst`], and an error of the driver.
    pub fn new(output: &TensorDesc, params: TextParams, stream: &CudaStream) -> Result<Self, TextError> {
        let announced = Announced::new(output, params)?;
        if params.layout != TextLayout::StepsFirst {
            return Err(TextError::Scores(output.to_string()));
        }
        let (step, of_step) = announced.step();
        let steps = CudaClassifier::new(&step, of_step, stream)?;
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
        let Self { announced, steps, count, best } = self;
        let decoding = announced.params.decoding;
        let outcomes = steps.finish(stream, best)?;
        let lines = best.chunks(*count).zip(outcomes.chunks(*count));
        let line = |(best, outcomes): (&[Vec<Class>], &[Outcome])| {
            (Line::of(best.iter().map(|step| step.first()), decoding), outcome_of(outcomes.iter().copied()))
        };
        Ok(lines.map(line).collect())
    }
}
