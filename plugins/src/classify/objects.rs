//! From the scores to classes on the frame.

use cudainfer_kernels::classify::{Class, Classifier, CudaClassifier, Params};
use cudainfer_kernels::device::{CudaStream, DeviceTensor};
use cudainfer_kernels::geometry::{Rect, Row};
use cudainfer_kernels::sanity::{Expected, Survey};
use cudainfer_kernels::tensor::{TensorDesc, TensorView};

use crate::decoding::{Counts, Decode, RowDecoder, Rows, Side};
use crate::meta::object::{ClassificationParam, Finding, Object, attach, objects};
use crate::meta::tensor::{Failure, TensorSet};
use crate::model::ModelInfo;

/// Gives frames, or the objects of their regions, the best classes.
pub(super) struct Classes {
    rows: Rows<Scores>,
    frame: [usize; 2],
    info: ModelInfo,
}

impl Classes {
    /// `scores` are the output that holds them, as the caps announce it; frames have this width and height.
    ///
    /// # Errors
    /// A sentence: an output that is no row of scores, or parameters that cannot be met.
    pub fn new(
        scores: TensorDesc,
        params: Params,
        info: ModelInfo,
        frame: [usize; 2],
    ) -> Result<Self, String> {
        let key = format!("{scores:?} {params:?}");
        let reads = vec![scores.clone()];
        Ok(Self { rows: Rows::new(Scores { announced: scores, params }, key, reads, frame)?, frame, info })
    }
}

impl Decode for Classes {
    fn decode(
        &mut self,
        sets: &[TensorSet],
        frame: &mut gst::BufferRef,
        side: &Side,
        counts: &mut Counts,
    ) -> Result<(), String> {
        let Self { rows, frame: size, info } = self;
        rows.find_each(sets, side, |set, (classes, non_finite)| {
            counts.add("non-finite", non_finite);
            // The others may be anything.
            classes.iter().take(1).for_each(|best| counts.see(best.confidence));
            counts.add("objects", usize::from(put(&classes, info, *size, set.object, frame)));
            Ok(())
        })
    }

    fn expected(&self) -> Option<Expected> {
        Some(self.rows.expected())
    }

    fn survey(&self, set: &TensorSet) -> Option<Survey> {
        self.rows.survey(set)
    }
}

/// Puts classes on the object of that number, or on one that is as large as the frame; false where there are none, or the object is
/// gone.
fn put(
    classes: &[Class],
    info: &ModelInfo,
    size: [usize; 2],
    object: Option<i32>,
    frame: &mut gst::BufferRef,
) -> bool {
    let Some(best) = classes.first() else { return false };
    let param = ClassificationParam {
        labels: classes.iter().map(|class| info.label(class.index)).collect(),
        label_ids: classes.iter().map(|class| class.index).collect(),
        confidence: classes.iter().map(|class| class.confidence.into()).collect(),
    };
    if let Some(object) = object {
        return attach(frame, object, &Finding::Classification(param));
    }
    let [w, h] = size.map(|side| side as f32);
    let whole = Object {
        id: i32::try_from(objects(frame).len()).unwrap_or(i32::MAX),
        label: info.label(best.index),
        classification: Some(param),
        ..Object::default()
    };
    whole.put(frame, &Rect { x: 0.0, y: 0.0, w, h });
    true
}

/// The kernels.
struct Scores {
    announced: TensorDesc,
    params: Params,
}

impl RowDecoder for Scores {
    type Cpu = Box<Classifier>;
    type Gpu = Box<CudaClassifier>;
    /// The classes, and how many of the scores are not finite.
    type Found = (Vec<Class>, usize);

    fn cpu(&self) -> Result<Self::Cpu, Failure> {
        Ok(Box::new(Classifier::new(&self.announced, self.params)?))
    }

    fn gpu(&self, stream: &CudaStream) -> Result<Self::Gpu, Failure> {
        Ok(Box::new(CudaClassifier::new(&self.announced, self.params, stream)?))
    }

    fn run(
        classifier: &mut Self::Cpu,
        tensors: &[TensorView<'_>],
        _row: &Row,
    ) -> Result<Self::Found, Failure> {
        let [scores, ..] = tensors else { return Err("there are no scores".into()) };
        let mut classes = Vec::new();
        let non_finite = classifier.run(scores, &mut classes)?;
        Ok((classes, non_finite))
    }

    fn start(
        classifier: &mut Self::Gpu,
        stream: &CudaStream,
        tensors: &[DeviceTensor<'_>],
        rows: &[Row],
    ) -> Result<(), Failure> {
        let [scores, ..] = tensors else { return Err("there are no scores".into()) };
        Ok(classifier.start(stream, scores, rows.len())?)
    }

    fn finish(classifier: &mut Self::Gpu, stream: &CudaStream) -> Result<Vec<Self::Found>, Failure> {
        let mut found = Vec::new();
        let non_finite = classifier.finish(stream, &mut found)?;
        Ok(found.into_iter().zip(non_finite).collect())
    }

    fn expected(&self) -> Expected {
        self.params.expected(&self.announced)
    }

    fn survey(&self, tensors: &[TensorView<'_>]) -> Option<Survey> {
        let scores = tensors.first()?.to_f32();
        Some(Survey::of_rows([scores.iter().copied()]))
    }
}
