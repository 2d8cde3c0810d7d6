//! From the scores to classes on the frame.

use cudainfer_kernels::classify::{Class, Classifier, ClassifyParams, CudaClassifier, Outcome};
use cudainfer_kernels::device::{CudaStream, DeviceTensor};
use cudainfer_kernels::geometry::RowFrame;
use cudainfer_kernels::sanity::{Expected, Survey};
use cudainfer_kernels::tensor::{TensorDesc, TensorView};

use super::activation::Undecided;
use crate::decoding::{Counts, Decode, RowDecoder, Rows, Side};
use crate::meta::object::{ClassificationParam, Finding, attach, attach_to_region};
use crate::meta::tensor::{Failure, TensorSet};
use crate::model::ModelInfo;
use crate::notice::Remark;

/// Gives frames, or the objects of their regions, the best classes.
pub(super) struct Classes {
    rows: Rows<Scores>,
    setup: ClassifierParams,
    /// The activation is decided by the first scores.
    undecided: Option<Undecided>,
    remark: Option<Remark>,
    /// Whether the user has been warned that the activation is a guess.
    guessed: bool,
}

/// The parameters of a decoder.
pub(super) struct ClassifierParams {
    /// The output that holds the scores, as the caps announce it.
    pub scores: TensorDesc,
    pub params: ClassifyParams,
    pub info: ModelInfo,
    /// The model's name.
    pub model: String,
    /// The frame's width and height.
    pub frame: [usize; 2],
}

impl ClassifierParams {
    fn rows(&self) -> Result<Rows<Scores>, String> {
        let Self { scores, params, frame, .. } = self;
        let decoder = Scores { announced: scores.clone(), params: *params };
        Rows::new(decoder, &format!("{scores:?} {params:?}"), vec![scores.clone()], *frame)
    }
}

impl Classes {
    /// With `undecided`, the parameters' activation holds until the first scores.
    ///
    /// # Errors
    /// A sentence: an output that is no row of scores, or parameters that do not fit.
    pub fn new(mut setup: ClassifierParams, undecided: Option<Undecided>) -> Result<Self, String> {
        let known = undecided.as_ref().and_then(Undecided::known);
        setup.params.activation = known.unwrap_or(setup.params.activation);
        let undecided = undecided.filter(|_| known.is_none());
        Ok(Self { rows: setup.rows()?, setup, undecided, remark: None, guessed: false })
    }

    /// The classes of a row and statistics of its scores. The first row decides the activation.
    fn find(&mut self, set: &TensorSet, side: &Side) -> Result<(Vec<Class>, Outcome), String> {
        let found = self.rows.find(set, side)?;
        let Some(undecided) = self.undecided.take() else { return Ok(found) };
        let (activation, remark) = undecided.decide(&found.1);
        self.guessed = matches!(remark, Some(Remark::Warning(_)));
        self.remark = remark;
        if activation == self.setup.params.activation {
            return Ok(found);
        }
        self.setup.params.activation = activation;
        self.rows = self.setup.rows()?;
        self.rows.find(set, side)
    }

    /// Puts classes on the tensors' object, or on one that is as large as their region or the frame; false where there are
    /// none, or the object is gone.
    fn put_classes(&self, classes: &[Class], set: &TensorSet, frame: &mut gst::BufferRef) -> bool {
        let ClassifierParams { scores, info, model, frame: size, .. } = &self.setup;
        if classes.is_empty() {
            return false;
        }
        let label = |class: &Class| info.label_of(&scores.name, class.index);
        let found = ClassificationParam {
            model: model.clone(),
            output: scores.name.clone(),
            labels: classes.iter().map(label).collect(),
            label_ids: classes.iter().map(|class| class.index).collect(),
            confidence: classes.iter().map(|class| class.confidence.into()).collect(),
            held: set.held,
        };
        put(Finding::Classification(found), set, *size, frame)
    }
}

/// Puts the result on the tensors' object, or on one that is as large as their region or the frame, of this width and height, and
/// is called as the best class; false where the object is gone.
pub(super) fn put(found: Finding, set: &TensorSet, size: [usize; 2], frame: &mut gst::BufferRef) -> bool {
    let Some(object) = set.object else {
        let best = match &found {
            Finding::Classification(classes) => classes.labels.first().cloned(),
            _ => None,
        };
        let label = best.unwrap_or_else(|| set.outline_label().to_owned());
        attach_to_region(frame, &set.outline(size), &label, found);
        return true;
    };
    attach(frame, object, &found)
}

impl Decode for Classes {
    fn decode(
        &mut self,
        sets: &[TensorSet],
        frame: &mut gst::BufferRef,
        side: &Side,
        counts: &mut Counts,
    ) -> Result<(), String> {
        for set in sets {
            let (classes, outcome) = self.find(set, side)?;
            counts.add("non-finite", outcome.non_finite);
            // The other labels may be anything.
            classes.iter().take(1).for_each(|best| counts.see(best.confidence));
            counts.add("objects", usize::from(self.put_classes(&classes, set, frame)));
        }
        Ok(())
    }

    fn remark(&mut self) -> Option<Remark> {
        self.remark.take()
    }

    fn expected(&self) -> Option<Expected> {
        let expected = self.rows.expected()?;
        Some(Expected { twice: expected.twice.filter(|_| !self.guessed), ..expected })
    }

    fn survey(&self, set: &TensorSet) -> Option<Survey> {
        self.rows.survey(set)
    }
}

/// The kernels.
struct Scores {
    announced: TensorDesc,
    params: ClassifyParams,
}

impl RowDecoder for Scores {
    type Cpu = Box<Classifier>;
    type Gpu = Box<CudaClassifier>;
    /// The classes, and statistics of the scores.
    type Found = (Vec<Class>, Outcome);

    fn cpu(&self) -> Result<Self::Cpu, Failure> {
        Ok(Box::new(Classifier::new(&self.announced, self.params)?))
    }

    fn gpu(&self, stream: &CudaStream) -> Result<Self::Gpu, Failure> {
        Ok(Box::new(CudaClassifier::new(&self.announced, self.params, stream)?))
    }

    fn run(
        classifier: &mut Self::Cpu,
        tensors: &[TensorView<'_>],
        _row: &RowFrame,
    ) -> Result<Self::Found, Failure> {
        let [scores, ..] = tensors else { return Err("there are no scores".into()) };
        let mut classes = Vec::new();
        let outcome = classifier.run(scores, &mut classes)?;
        Ok((classes, outcome))
    }

    fn start(
        classifier: &mut Self::Gpu,
        stream: &CudaStream,
        tensors: &[DeviceTensor<'_>],
        rows: &[RowFrame],
    ) -> Result<(), Failure> {
        let [scores, ..] = tensors else { return Err("there are no scores".into()) };
        Ok(classifier.start(stream, scores, rows.len())?)
    }

    fn finish(classifier: &mut Self::Gpu, stream: &CudaStream) -> Result<Vec<Self::Found>, Failure> {
        let mut found = Vec::new();
        let outcomes = classifier.finish(stream, &mut found)?;
        Ok(found.into_iter().zip(outcomes).collect())
    }

    fn expected(&self) -> Option<Expected> {
        Some(self.params.expected(&self.announced))
    }

    fn survey(&self, tensors: &[TensorView<'_>]) -> Option<Survey> {
        let scores = tensors.first()?.to_f32();
        Some(Survey::of_rows([scores.iter().copied()]))
    }
}
