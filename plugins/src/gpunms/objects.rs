//! From the outputs to objects on the frame.

use cudainfer_kernels::detect::{
    Attached, CudaDetector, Decoder, DetectError, DetectParams, Detection, Detector, Masks, MergeParams,
    Outcome, repeated,
};
use cudainfer_kernels::device::{CudaStream, DeviceTensor};
use cudainfer_kernels::geometry::{Affine, RowFrame};
use cudainfer_kernels::sanity::{Expected, Survey};
use cudainfer_kernels::tensor::{TensorDesc, TensorView};
use gst::prelude::*;

use super::limits::Limits;
use super::masks;
use super::points::Points;
use super::regions::{Merger, Pieces};
use crate::decoding::{Counts, Decode, RowDecoder, Rows, Side};
use crate::log::GPUNMS as CAT;
use crate::meta::object::{DetectionParam, Object, next_ids, objects};
use crate::meta::tensor::{Failure, Tensor, TensorSet};
use crate::model::ModelInfo;

/// Makes the objects of frames.
pub(super) struct Objects {
    rows: Rows<Detections>,
    info: ModelInfo,
    points: Points,
    /// The objects' masks, if elements downstream get their tensors.
    masks: Option<Masks>,
    /// Those of the last frame.
    added: Vec<Tensor>,
    merger: Merger,
    limits: Limits,
}

/// The content of a row of the outputs.
#[derive(Clone, Debug)]
pub(super) struct Found {
    detections: Vec<Detection>,
    attached: Attached,
    outcome: Outcome,
}

impl Objects {
    /// Of the model's `outputs` and frames of this width and height. `masks` are those whose tensors elements downstream get,
    /// `merging` says how the boxes of several regions are merged.
    ///
    /// # Errors
    /// A sentence: parameters that do not fit.
    pub fn new(
        detections: Detections,
        outputs: &[TensorDesc],
        info: ModelInfo,
        frame: [usize; 2],
        masks: Option<Masks>,
        merging: MergeParams,
        limits: Limits,
    ) -> Result<Self, String> {
        let Detections { decoder, params, .. } = &detections;
        let key = format!("{decoder:?} {params:?}");
        let points = Points::new(&info, decoder.keypoints());
        let keypoints = decoder.keypoints();
        let merger = Merger { params: merging, min_size: params.min_size, frame, keypoints, limits };
        // The decoder was chosen for all outputs; frames may have tensors of another gpunms besides.
        let rows = Rows::new(detections, &key, outputs.to_vec(), frame)?;
        Ok(Self { rows, info, points, masks, added: Vec::new(), merger, limits })
    }
}

impl Decode for Objects {
    fn decode(
        &mut self,
        sets: &[TensorSet],
        frame: &mut gst::BufferRef,
        side: &Side,
        counts: &mut Counts,
    ) -> Result<(), String> {
        let Self { rows, info, points, masks, added, merger, limits } = self;
        let mut pieces = Pieces::default();
        let is_unique = rows.expected().is_some_and(|expected| expected.unique);
        rows.find_each(sets, side, |set, found| {
            for detection in &found.detections {
                counts.see(detection.confidence);
                counts.see_class(detection.class);
            }
            if are_tiny(&found.detections, &set.to_frame) {
                counts.see_tiny_boxes();
            }
            let keypoints = found.attached.keypoints.iter();
            // Those that are no numbers are all 0.
            let known = keypoints.filter(|point| **point != [0.0; 3]).map(|[x, y, _]| [*x, *y]);
            counts.see_points(set, known);
            if is_unique && counts.is_watched() {
                counts.see_repeated(repeated(&found.detections));
            }
            counts.add("candidates", found.outcome.candidates);
            counts.add("non-finite", found.outcome.non_finite);
            limits.report(&found.outcome, counts);
            if let Some(region) = set.region {
                merger.add(&mut pieces, set, region, &found.detections, &found.attached);
                return Ok(());
            }
            counts.add("objects", found.detections.len());
            let ids = put(&found.detections, &found.attached, set.object, info, points, frame);
            *added = masks.map(|masks| masks::tensors(masks, &found.attached, &ids)).unwrap_or_default();
            Ok(())
        })?;
        if !pieces.is_empty() {
            let (detections, attached) = merger.finish(&pieces, counts);
            counts.add("objects", detections.len());
            put(&detections, &attached, None, info, points, frame);
        }
        gst::log!(CAT, "{} objects in the frame at {}", objects(frame).len(), frame.pts().display());
        Ok(())
    }

    fn added(&mut self) -> Vec<Tensor> {
        std::mem::take(&mut self.added)
    }

    fn expected(&self) -> Option<Expected> {
        self.rows.expected()
    }

    fn survey(&self, set: &TensorSet) -> Option<Survey> {
        self.rows.survey(set)
    }
}

/// Whether there are boxes, and none has two pixels of the network's input.
fn are_tiny(found: &[Detection], to_frame: &Affine) -> bool {
    let [x, y] = to_frame.scale.map(|scale| 2.0 * scale.abs() as f32);
    !found.is_empty() && found.iter().all(|detection| detection.rect.w <= x && detection.rect.h <= y)
}

/// Puts the results on the frame, as new objects, and returns their ids; `parent` is the object in whose region they were found.
fn put(
    detections: &[Detection],
    attached: &Attached,
    parent: Option<i32>,
    info: &ModelInfo,
    points: &Points,
    frame: &mut gst::BufferRef,
) -> Vec<i32> {
    let new = next_ids(&objects(frame));
    let mut ids = Vec::with_capacity(detections.len());
    let mut keypoints = attached.keypoints.chunks_exact(points.count().max(1));
    let mut rotated = attached.rotated.iter();
    for (id, detection) in new.zip(detections) {
        // A box that is not rotated is an upright box as any other, and clamped to the frame.
        let own = rotated.next().filter(|one| one.angle != 0.0);
        let object = Object {
            id,
            label: info.label(detection.class),
            parent,
            detection: Some(DetectionParam {
                rect: own.map_or(detection.rect, |one| one.rect),
                confidence: detection.confidence,
                label_id: detection.class,
            }),
            angle: own.map_or(0.0, |one| one.angle),
            keypoints: keypoints.next().map(|keypoints| points.param(keypoints)),
            ..Object::default()
        };
        object.put(frame, &detection.rect);
        ids.push(object.id);
    }
    ids
}

/// The kernels.
pub(super) struct Detections {
    pub decoder: Decoder,
    pub params: DetectParams,
    /// What the outputs should be.
    pub expected: Expected,
    /// Width and height of the network's input.
    pub input: [usize; 2],
}

impl RowDecoder for Detections {
    type Cpu = Box<Detector>;
    type Gpu = Box<CudaDetector>;
    type Found = Found;

    fn is_on_gpu(&self) -> bool {
        self.decoder.kind().is_on_gpu()
    }

    fn cpu(&self) -> Result<Self::Cpu, Failure> {
        Ok(Box::new(Detector::new(self.decoder.clone(), self.params.clone())?))
    }

    fn gpu(&self, stream: &CudaStream) -> Result<Self::Gpu, Failure> {
        Ok(Box::new(CudaDetector::new(self.decoder.clone(), self.params.clone(), stream)?))
    }

    fn run(detector: &mut Self::Cpu, tensors: &[TensorView<'_>], row: &RowFrame) -> Result<Found, Failure> {
        let mut detections = Vec::new();
        let outcome = detector.run(tensors, &row.to_frame, row.frame, &mut detections)?;
        Ok(Found { detections, attached: detector.attached().clone(), outcome })
    }

    fn start(
        detector: &mut Self::Gpu,
        stream: &CudaStream,
        tensors: &[DeviceTensor<'_>],
        rows: &[RowFrame],
    ) -> Result<(), Failure> {
        Ok(detector.start(stream, tensors, rows)?)
    }

    fn has_room_now(failure: &Failure) -> bool {
        failure.downcast_ref() == Some(&DetectError::NoRoom)
    }

    fn finish(detector: &mut Self::Gpu, stream: &CudaStream) -> Result<Vec<Found>, Failure> {
        let mut found = Vec::new();
        let outcomes = detector.finish(stream, &mut found)?;
        let rows = found.into_iter().zip(detector.attached().iter().cloned()).zip(outcomes);
        Ok(rows.map(|((detections, attached), outcome)| Found { detections, attached, outcome }).collect())
    }

    fn expected(&self) -> Option<Expected> {
        Some(self.expected)
    }

    fn survey(&self, tensors: &[TensorView<'_>]) -> Option<Survey> {
        self.decoder.survey(tensors, &self.params, self.input).ok()
    }
}
