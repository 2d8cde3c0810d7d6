//! From a detector's output tensors to boxes in the frame: decode, threshold, top-k, NMS.
//!
//! ```text
//! outputs -> choose() once -> Decoder -> Detector::run() a frame:
//!   best class of each anchor -> threshold, class filter -> decode the box -> frame pixels -> size filter
//!   -> strongest top_k_before -> NMS -> strongest top_k_after, clamped to the frame
//!   -> their keypoints, mask coefficients, rows of masks or rotated boxes
//! ```
//!
//! What holds for every decoder:
//! - An anchor (one row of the model's output) yields its best class only, the first of equals. That is the default
//!   of the YOLO family's own tools (`multi_label=False`). The class filter and a class's own threshold look at
//!   that best class; a filtered-out class is not replaced by the anchor's second best. With [`DetectParams::multi_label`]
//!   every class is looked at, and an anchor may become several candidates, of the same box.
//! - A NaN or +infinity among the scores of an anchor, and any NaN or infinity in the box of a candidate, drops it;
//!   [`Outcome::non_finite`] counts it. -infinity is a legitimate score: a masked class.
//! - Where the model has chosen class and boxes itself, a label that no class has, and a number of boxes that there is
//!   no room for, count likewise.
//! - NMS compares boxes in frame pixels *before* they are clamped to the frame, as `torchvision.ops.nms` would the
//!   network's own boxes, and suppresses where IoU > threshold. Sizes are judged after clamping. With
//!   [`DetectParams::clip_before_nms`] it compares what is left of them in the frame.
//! - Rotated boxes are compared as the model writes them ([`DecoderKind::YoloObb`]); threshold, clamping and sizes are those
//!   of the upright boxes around them.
//! - Equal confidences are ordered by anchor, then by class, so the same tensors always give the same boxes in the same order.
//!
//! [`Detector`] computes on the CPU and is the reference; [`CudaDetector`] gives the same detections on a GPU.

mod anchor_sizes;
mod attached;
mod candidates;
mod choose;
mod cuda;
mod detection;
mod error;
mod families;
mod family;
mod grid;
mod hints;
mod kind;
mod layout;
mod locate;
mod merge;
mod nms;
mod object_maps;
mod offer;
mod params;
mod priors;
mod reader;
mod rotated;
mod rotated_nms;
mod shaped;
mod survey;
#[cfg(test)]
mod tests;
mod text;

use crate::geometry::{Affine, Rect};
use crate::tensor::TensorView;

use candidates::{Candidate, Collector, Gate};
use choose::Read;
use locate::Located;
use nms::Suppressor;
use rotated_nms::RotatedSuppressor;

pub use anchor_sizes::{AnchorFormula, AnchorSizes};
pub use attached::{Attached, Masks};
pub use choose::{Decoder, choose};
pub use cuda::CudaDetector;
pub use detection::{Detection, Outcome, repeated};
pub use error::DetectError;
pub use hints::{Activation, AxisOrder, Background, BoxFormat, Hints, RowFormat, SizeUnit};
pub use kind::{DecoderKind, UnknownDecoder};
pub use merge::{MergeMode, MergeParams, Merged, Overlap, RegionBox};
pub use object_maps::{Extent, ObjectMaps, object_maps};
pub use params::{DetectParams, Nms};
pub use priors::{Priors, VARIANCES};

/// Turns a model's output tensors into detections, frame by frame. Its buffers are kept from frame to frame.
#[derive(Debug)]
pub struct Detector {
    decoder: Decoder,
    params: DetectParams,
    gate: Gate,
    candidates: Vec<Candidate>,
    suppressor: Suppressor,
    rotated_suppressor: RotatedSuppressor,
    attached: Attached,
}

impl Detector {
    /// A detector for the outputs that `decoder` was chosen for.
    ///
    /// # Errors
    /// [`DetectError::Param`] names the first parameter that is out of range, or not there for this decoder,
    /// [`DetectError::Hint`] one that the decoder has no use for.
    pub fn new(decoder: Decoder, params: DetectParams) -> Result<Self, DetectError> {
        params.validate()?;
        decoder.check(&params)?;
        let gate = Gate::new(&params);
        Ok(Self {
            decoder,
            params,
            gate,
            candidates: Vec::new(),
            suppressor: Suppressor::default(),
            rotated_suppressor: RotatedSuppressor::default(),
            attached: Attached::default(),
        })
    }

    /// Replaces `found` by the detections of one frame, by descending confidence.
    ///
    /// `outputs` are the model's outputs in the order in which [`choose`] was given their descriptions, `map` leads
    /// from the input tensor's pixels to the frame's, `frame` is the frame's width and height in pixels.
    ///
    /// # Errors
    /// [`DetectError::Outputs`] or [`DetectError::Shape`] where the tensors are not those the decoder was chosen
    /// for; `found` is then empty.
    pub fn run(
        &mut self,
        outputs: &[TensorView<'_>],
        map: &Affine,
        frame: [usize; 2],
        found: &mut Vec<Detection>,
    ) -> Result<Outcome, DetectError> {
        found.clear();
        self.candidates.clear();
        self.attached.clear();
        let size = frame.map(|side| side as f32);
        let mut collector = Collector::new(&self.gate, map, size, &self.params, &mut self.candidates);
        let read = self.decoder.read(outputs, &mut collector)?;
        let mut outcome = collector.outcome();

        outcome.truncated = candidates::keep_strongest(&mut self.candidates, self.params.top_k_before);
        let compared = self.candidates.len();
        match &read {
            Read::Lines(_) => self.candidates.sort_unstable_by(Candidate::by_rank),
            Read::Boxes(_, Located { extra: Some(extra), angle: Some(_), .. }) => {
                let box_of = |anchor| extra.rotated(outputs, anchor);
                self.rotated_suppressor.run(&mut self.candidates, &self.params, box_of);
            }
            Read::Boxes(..) => self.suppressor.run(&mut self.candidates, &self.params, &self.gate),
        }
        outcome.limited =
            compared > self.params.top_k_after && self.candidates.len() >= self.params.top_k_after;
        self.candidates.truncate(self.params.top_k_after);
        found.extend(self.candidates.iter().map(|c| {
            let [x1, y1, x2, y2] = c.clamped(size);
            Detection { rect: Rect::from_corners(x1, y1, x2, y2), confidence: c.confidence, class: c.class }
        }));
        for candidate in &self.candidates {
            match &read {
                Read::Boxes(layout, located) => {
                    reader::attach(layout, located, outputs, candidate.anchor, map, &mut self.attached);
                }
                Read::Lines(lines) => {
                    let line = lines.get(candidate.anchor).map(|line| text::readable(line.in_frame(map)));
                    self.attached.rotated.extend(line);
                }
            }
        }
        Ok(outcome)
    }

    /// What the detections of the last frame carry besides their boxes.
    pub fn attached(&self) -> &Attached {
        &self.attached
    }
}
