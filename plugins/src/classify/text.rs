//! From a recogniser's scores to the text of an object.

use cudainfer_kernels::classify::Outcome;
use cudainfer_kernels::device::{CudaStream, DeviceTensor};
use cudainfer_kernels::geometry::RowFrame;
use cudainfer_kernels::tensor::{TensorDesc, TensorView};
use cudainfer_kernels::text::{CudaReader, Line, Reader, TextDecoding, TextLayout, TextParams};

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
    symbols: usize,
    /// The symbol that has no label, because it is no character.
    unlabelled: Option<u32>,
}

impl Alphabet {
    /// For scores of `symbols` symbols. The labels are all of them, or all but the one that is no character, or, as PP-OCR's
    /// dictionaries, all but the blank before them and a space at the end.
    ///
    /// # Errors
    /// A sentence: the number of labels is none of these.
    pub fn new(
        labels: &[String],
        symbols: Option<usize>,
        decoding: TextDecoding,
        output: &str,
    ) -> Result<Self, String> {
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
        let (most_missing, name) = match decoding {
            TextDecoding::Ctc { blank: 0 } => (2, "blank"),
            TextDecoding::Ctc { .. } => (1, "blank"),
            TextDecoding::Slots { .. } => (1, "pad"),
            TextDecoding::Sequence { .. } => (1, "end"),
        };
        let missing = symbols.checked_sub(labels.len()).filter(|missing| *missing <= most_missing);
        let Some(missing) = missing else {
            let with_space = if most_missing == 2 {
                format!(
                    "{} lines (without the blank before them and the space after them), ",
                    symbols.saturating_sub(2)
                )
            } else {
                String::new()
            };
            return Err(format!(
                "there are {} labels, but '{output}' has scores of {symbols} characters. A dictionary has {with_space}{} (without the \
                 {name}) or {symbols}. Give trtinfer labels=FILE with the dictionary that the model was made with",
                labels.len(),
                symbols.saturating_sub(1),
            ));
        };
        Ok(Self { labels: labels.to_vec(), symbols, unlabelled: (missing > 0).then(|| decoding.special()) })
    }

    /// The text of these symbols. A label without letters is a space, which readers of files take away.
    pub fn text(&self, symbols: &[u32]) -> String {
        let character = |symbol: &u32| {
            let is_after = self.unlabelled.is_some_and(|unlabelled| *symbol > unlabelled);
            let place = usize::try_from(*symbol).ok()?.checked_sub(usize::from(is_after))?;
            self.labels.get(place).map(String::as_str).filter(|label| !label.is_empty())
        };
        symbols.iter().map(|symbol| character(symbol).unwrap_or(" ")).collect()
    }
}

/// The number of symbols of an output in this layout, if its description has it, or the labels of scores in one row.
pub(super) fn symbols_of(
    scores: &TensorDesc,
    (decoding, layout): (TextDecoding, TextLayout),
    labels: &[String],
) -> Option<usize> {
    match (&scores.dims[..], layout) {
        (&[_, Some(in_row)], _) => symbols_in_row(in_row, decoding, labels.len()),
        (dims, TextLayout::StepsFirst) => dims.last().copied().flatten(),
        (dims, TextLayout::SymbolsFirst) => dims.get(1).copied().flatten(),
    }
}

/// Symbols of each step of `in_row` scores of which `labels` have labels. Where more than one number is possible, there is no answer.
fn symbols_in_row(in_row: usize, decoding: TextDecoding, labels: usize) -> Option<usize> {
    if labels == 0 {
        return None;
    }
    let has_all = usize::try_from(decoding.special()).is_ok_and(|special| special < labels);
    let most = labels + if matches!(decoding, TextDecoding::Ctc { blank: 0 }) { 2 } else { 1 };
    // Of a single step, they are scores of classes.
    let fits = |symbols: &usize| in_row > *symbols && in_row.is_multiple_of(*symbols);
    let mut fitting = (labels + usize::from(!has_all)..=most).filter(fits);
    match (fitting.next(), fitting.next()) {
        (Some(symbols), None) => Some(symbols),
        // The reader's error has both numbers.
        (None, _) => Some(labels + 1).filter(|symbols| in_row > *symbols),
        (Some(_), Some(_)) => None,
    }
}

/// Gives frames, or the objects of their regions, the text that is read there.
pub(super) struct Texts {
    rows: Rows<Scores>,
    setup: ClassifierParams,
    text: (TextDecoding, TextLayout),
    alphabet: Alphabet,
    /// The activation is decided by the first scores.
    undecided: Option<Undecided>,
    remark: Option<Remark>,
}

fn rows(
    setup: &ClassifierParams,
    (decoding, layout): (TextDecoding, TextLayout),
    symbols: Option<usize>,
) -> Result<Rows<Scores>, String> {
    let params = TextParams { activation: setup.params.activation, decoding, layout, symbols };
    let decoder = Scores { announced: setup.scores.clone(), params };
    let key = format!("text {:?} {params:?}", decoder.announced);
    Rows::new(decoder, &key, vec![setup.scores.clone()], setup.frame)
}

impl Texts {
    /// With `undecided`, the parameters' activation holds until the first scores.
    ///
    /// # Errors
    /// A sentence: an output that is not a row of scores for each step.
    pub fn new(
        mut setup: ClassifierParams,
        text: (TextDecoding, TextLayout),
        alphabet: Alphabet,
        undecided: Option<Undecided>,
    ) -> Result<Self, String> {
        let known = undecided.as_ref().and_then(Undecided::known);
        setup.params.activation = known.unwrap_or(setup.params.activation);
        let undecided = undecided.filter(|_| known.is_none());
        let rows = rows(&setup, text, Some(alphabet.symbols))?;
        Ok(Self { rows, setup, text, alphabet, undecided, remark: None })
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
        self.rows = rows(&self.setup, self.text, Some(self.alphabet.symbols))?;
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
                held: set.held,
            };
            counts.add(
                "objects",
                usize::from(put(Finding::Classification(read), set, self.setup.frame, frame)),
            );
        }
        Ok(())
    }

    fn remark(&mut self) -> Option<Remark> {
        self.remark.take()
    }
}

/// The kernels.
struct Scores {
    announced: TensorDesc,
    params: TextParams,
}

impl RowDecoder for Scores {
    type Cpu = Box<Reader>;
    type Gpu = Box<CudaReader>;
    /// The line, and statistics of its scores.
    type Found = (Line, Outcome);

    fn is_on_gpu(&self) -> bool {
        self.params.layout == TextLayout::StepsFirst
    }

    fn cpu(&self) -> Result<Self::Cpu, Failure> {
        Ok(Box::new(Reader::new(&self.announced, self.params)?))
    }

    fn gpu(&self, stream: &CudaStream) -> Result<Self::Gpu, Failure> {
        Ok(Box::new(CudaReader::new(&self.announced, self.params, stream)?))
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
    fn labels_say_how_many_symbols_a_row_has() {
        let slots = |pad| TextDecoding::Slots { pad };
        assert_eq!(symbols_in_row(9 * 37, slots(36), 36), Some(37), "fast-plate-ocr's, without the pad");
        assert_eq!(symbols_in_row(9 * 37, slots(36), 37), Some(37), "with it");
        assert_eq!(symbols_in_row(9 * 37, slots(0), 36), Some(37), "the pad may be any symbol");
        assert_eq!(symbols_in_row(9 * 98, CTC, 96), Some(98), "the blank and the space");
        assert_eq!(symbols_in_row(36 * 37, slots(0), 36), None);
        assert_eq!(
            symbols_in_row(36 * 37, slots(36), 36),
            Some(37),
            "36 symbols have none with the number 36"
        );
        assert_eq!(symbols_in_row(9 * 37 + 1, slots(36), 36), Some(37), "which the reader refuses");
        assert_eq!(symbols_in_row(9 * 37, slots(36), 0), None);
    }

    const CTC: TextDecoding = TextDecoding::Ctc { blank: 0 };

    #[test]
    fn the_symbol_that_is_no_character_may_have_a_label_or_none_wherever_it_is() {
        let labels = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let slots = TextDecoding::Slots { pad: 3 };
        for names in [&["A", "B", "1"][..], &["A", "B", "1", "_"]] {
            let alphabet = Alphabet::new(&labels(names), Some(4), slots, "text").unwrap();
            assert_eq!(alphabet.text(&[0, 1, 2, 2]), "AB11", "{names:?}");
        }
        let sequence = TextDecoding::Sequence { end: 1 };
        for names in [&["A", "B", "1"][..], &["A", "end", "B", "1"]] {
            let alphabet = Alphabet::new(&labels(names), Some(4), sequence, "text").unwrap();
            assert_eq!(alphabet.text(&[0, 2, 3, 3]), "AB11", "{names:?}");
        }
        let error = Alphabet::new(&labels(&["A", "B"]), Some(4), slots, "text").unwrap_err();
        assert!(error.contains("A dictionary has 3 (without the pad) or 4"), "{error}");
    }

    #[test]
    fn a_dictionary_is_that_of_ppocr_or_has_the_space_or_has_the_blank_too() {
        let labels = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        for names in [&["A", "B"][..], &["A", "B", ""], &["blank", "A", "B", ""]] {
            let alphabet = Alphabet::new(&labels(names), Some(4), CTC, "text").unwrap();
            assert_eq!(alphabet.text(&[1, 3, 2, 2]), "A BB", "{names:?}");
        }
        for (names, count) in [(&["A"][..], "there are 1 labels"), (&["A"; 5], "there are 5 labels")] {
            let error = Alphabet::new(&labels(names), Some(4), CTC, "text").unwrap_err();
            assert!(
                error.starts_with(count) && error.contains("'text' has scores of 4 characters"),
                "{error}"
            );
        }
        let error = Alphabet::new(&[], Some(4), CTC, "text").unwrap_err();
        assert!(error.contains("nobody says which"), "{error}");
        assert!(Alphabet::new(&labels(&["A"]), None, CTC, "text").unwrap_err().contains("not known"));
    }
}
