//! From a recogniser's scores to the text of an object.

use cudainfer_kernels::classify::Outcome;
use cudainfer_kernels::device::{CudaStream, DeviceTensor};
use cudainfer_kernels::geometry::RowFrame;
use cudainfer_kernels::tensor::TensorView;
use cudainfer_kernels::text::{CudaReader, Line, Reader};

use super::activation::Undecided;
use super::objects::{ClassifierParams, put};
use crate::decoding::{Counts, Decode, RowDecoder, Rows, Side};
use crate::meta::object::{ClassificationParam, Finding};
use crate::meta::tensor::{Failure, TensorSet};
use crate::notice::Remark;

/// The characters of a recogniser's scores.
#[derive(Clone, Debug)]
pub(super) struct Alphabet {
    labels: Vec<String>,
    /// The first symbol that has a label.
    first: usize,
}

impl Alphabet {
    /// For scores of `symbols` symbols, the first of which is the blank. The labels are all of them, or all but the blank, or, as
    /// PP-OCR's dictionaries, all but the blank and a space at the end.
    ///
    /// # Errors
    /// A sentence: the number of labels is none of these.
    pub fn new(labels: &[String], symbols: Option<usize>, output: &str) -> Result<Self, String> {
        let Some(symbols) = symbols else {
            return Err(format!(
                "the number of characters in '{output}' is not known before the first frame. Export the model with a fixed last \
                 dimension"
            ));
        };
        if labels.is_empty() {
            return Err(format!(
                "'{output}' has scores of {symbols} characters, but nobody says which. Give trtinfer labels=FILE with the model's \
                 dictionary, one character on each line, or name the file in the sidecar"
            ));
        }
        let missing = symbols.checked_sub(labels.len()).filter(|missing| *missing <= 2);
        let Some(missing) = missing else {
            let few = symbols.saturating_sub(2);
            return Err(format!(
                "there are {} labels, but '{output}' has scores of {symbols} characters. A dictionary has {few} lines (without the \
                 blank before them and the space after them), {} (without the blank) or {symbols}. Give trtinfer labels=FILE \
                 with the dictionary that the model was made with",
                labels.len(),
                symbols.saturating_sub(1),
            ));
        };
        Ok(Self { labels: labels.to_vec(), first: missing.min(1) })
    }

    /// The text of these symbols. A label without letters is a space, which readers of files take away.
    pub fn text(&self, symbols: &[u32]) -> String {
        let character = |symbol: &u32| {
            let place = usize::try_from(*symbol).ok()?.checked_sub(self.first)?;
            self.labels.get(place).map(String::as_str).filter(|label| !label.is_empty())
        };
        symbols.iter().map(|symbol| character(symbol).unwrap_or(" ")).collect()
    }
}

/// Gives frames, or the objects of their regions, the text that is read there.
pub(super) struct Texts {
    rows: Rows<Scores>,
    setup: ClassifierParams,
    alphabet: Alphabet,
    /// The activation is decided by the first scores.
    undecided: Option<Undecided>,
    remark: Option<Remark>,
}

fn rows(setup: &ClassifierParams) -> Result<Rows<Scores>, String> {
    let decoder = Scores { setup: (setup.scores.clone(), setup.params.activation) };
    let key = format!("text {:?}", decoder.setup);
    Rows::new(decoder, &key, vec![setup.scores.clone()], setup.frame)
}

impl Texts {
    /// With `undecided`, the parameters' activation holds until the first scores.
    ///
    /// # Errors
    /// A sentence: an output that is not a row of scores for each step.
    pub fn new(
        mut setup: ClassifierParams,
        alphabet: Alphabet,
        undecided: Option<Undecided>,
    ) -> Result<Self, String> {
        let known = undecided.as_ref().and_then(Undecided::known);
        setup.params.activation = known.unwrap_or(setup.params.activation);
        let undecided = undecided.filter(|_| known.is_none());
        Ok(Self { rows: rows(&setup)?, setup, alphabet, undecided, remark: None })
    }

    /// The line of a row and statistics of its scores. The first row decides the activation.
    fn find(&mut self, set: &TensorSet, side: &Side) -> Result<(Line, Outcome), String> {
        let found = self.rows.find(set, side)?;
        let Some(undecided) = self.undecided.take() else { return Ok(found) };
        let (activation, remark) = undecided.decide(&found.1);
        self.remark = remark;
        if activation == self.setup.params.activation {
            return Ok(found);
        }
        self.setup.params.activation = activation;
        self.rows = rows(&self.setup)?;
        self.rows.find(set, side)
    }
}

impl Decode for Texts {
    fn decode(
        &mut self,
        sets: &[TensorSet],
        frame: &mut gst::BufferRef,
        side: &Side,
        counts: &mut Counts,
    ) -> Result<(), String> {
        for set in sets {
            let (line, outcome) = self.find(set, side)?;
            counts.add("non-finite", outcome.non_finite);
            if line.symbols.is_empty() || line.confidence < self.setup.params.threshold {
                continue;
            }
            let read = ClassificationParam {
                model: self.setup.model.clone(),
                output: self.setup.scores.name.clone(),
                labels: vec![self.alphabet.text(&line.symbols)],
                // A text is none of the model's classes.
                label_ids: vec![0],
                confidence: vec![line.confidence.into()],
            };
            counts.add(
                "objects",
                usize::from(put(Finding::Classification(read), set, self.setup.frame, frame)),
            );
        }
        if self.setup.hands_on {
            TensorSet::put(sets, frame);
        }
        Ok(())
    }

    fn remark(&mut self) -> Option<Remark> {
        self.remark.take()
    }
}

/// The kernels.
struct Scores {
    setup: (cudainfer_kernels::tensor::TensorDesc, cudainfer_kernels::detect::Activation),
}

impl RowDecoder for Scores {
    type Cpu = Box<Reader>;
    type Gpu = Box<CudaReader>;
    /// The line, and statistics of its scores.
    type Found = (Line, Outcome);

    fn cpu(&self) -> Result<Self::Cpu, Failure> {
        let (announced, activation) = &self.setup;
        Ok(Box::new(Reader::new(announced, *activation)?))
    }

    fn gpu(&self, stream: &CudaStream) -> Result<Self::Gpu, Failure> {
        let (announced, activation) = &self.setup;
        Ok(Box::new(CudaReader::new(announced, *activation, stream)?))
    }

    fn run(
        reader: &mut Self::Cpu,
        tensors: &[TensorView<'_>],
        _row: &RowFrame,
    ) -> Result<Self::Found, Failure> {
        let [scores, ..] = tensors else { return Err("there are no scores".into()) };
        Ok(reader.run(scores)?)
    }

    fn start(
        reader: &mut Self::Gpu,
        stream: &CudaStream,
        tensors: &[DeviceTensor<'_>],
        rows: &[RowFrame],
    ) -> Result<(), Failure> {
        let [scores, ..] = tensors else { return Err("there are no scores".into()) };
        Ok(reader.start(stream, scores, rows.len())?)
    }

    fn finish(reader: &mut Self::Gpu, stream: &CudaStream) -> Result<Vec<Self::Found>, Failure> {
        Ok(reader.finish(stream)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dictionary_is_that_of_ppocr_or_has_the_space_or_has_the_blank_too() {
        let labels = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for names in [&["A", "B"][..], &["A", "B", ""], &["blank", "A", "B", ""]] {
            let alphabet = Alphabet::new(&labels(names), Some(4), "text").unwrap();
            assert_eq!(alphabet.text(&[1, 3, 2, 2]), "A BB", "{names:?}");
        }
        for (names, count) in [(&["A"][..], "there are 1 labels"), (&["A"; 5], "there are 5 labels")] {
            let error = Alphabet::new(&labels(names), Some(4), "text").unwrap_err();
            assert!(
                error.starts_with(count) && error.contains("'text' has scores of 4 characters"),
                "{error}"
            );
        }
        let error = Alphabet::new(&[], Some(4), "text").unwrap_err();
        assert!(error.contains("nobody says which"), "{error}");
        assert!(Alphabet::new(&labels(&["A"]), None, "text").unwrap_err().contains("not known"));
    }
}
