//! The detections of all regions of a frame together.

use cudainfer_kernels::detect::{Attached, Detection, MergeParams, RegionBox};
use cudainfer_kernels::geometry::Rect;

use super::limits::Limits;
use crate::decoding::Counts;
use crate::meta::tensor::{Region, TensorSet};

/// Merges them.
pub(super) struct Merger {
    pub params: MergeParams,
    /// The least width and height of a box in frame pixels.
    pub min_size: [f32; 2],
    /// Width and height of the frame.
    pub frame: [usize; 2],
    /// Keypoints of each detection.
    pub keypoints: usize,
    pub limits: Limits,
}

/// The detections of the regions so far, in the order of the regions.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    boxes: Vec<RegionBox>,
    /// Of each box, if there are any.
    keypoints: Vec<[f32; 3]>,
}

impl Pieces {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }
}

impl Merger {
    /// Adds the detections of a region: those whose centre lies in `region`, clamped to what the tensor showed of the frame.
    pub fn add(
        &self,
        pieces: &mut Pieces,
        set: &TensorSet,
        region: Region,
        detections: &[Detection],
        attached: &Attached,
    ) {
        let [width, height] = set.input.map(|side| side as f32);
        let [frame_w, frame_h] = self.frame.map(|side| side as f32);
        let shown =
            set.to_frame.rect(&Rect { x: 0.0, y: 0.0, w: width, h: height }).clamped(frame_w, frame_h);
        let shown = if region.isolated { shown.common(&region.rect) } else { shown };
        for (i, detection) in detections.iter().enumerate() {
            let rect = detection.rect.common(&shown);
            let big =
                rect.w > 0.0 && rect.h > 0.0 && rect.w >= self.min_size[0] && rect.h >= self.min_size[1];
            if !big || !holds_centre(&region.rect, &rect) {
                continue;
            }
            let rotated = attached.rotated.get(i).copied();
            pieces.boxes.push(RegionBox { detection: Detection { rect, ..*detection }, rotated });
            let points = i * self.keypoints..(i + 1) * self.keypoints;
            pieces.keypoints.extend_from_slice(attached.keypoints.get(points).unwrap_or_default());
        }
    }

    /// What is done with the detections of a frame's regions.
    pub fn finish(&self, pieces: &Pieces, counts: &mut Counts) -> (Vec<Detection>, Attached) {
        let Pieces { boxes, keypoints } = pieces;
        let result = self.params.run(boxes);
        counts.add("merged", result.merged);
        self.limits.report_merged(&result, counts);
        let (mut detections, mut attached) = (Vec::new(), Attached::default());
        for (i, rect) in result.kept {
            let Some(one) = boxes.get(i) else { continue };
            detections.push(Detection { rect, ..one.detection });
            let points = i * self.keypoints..(i + 1) * self.keypoints;
            attached.keypoints.extend_from_slice(keypoints.get(points).unwrap_or_default());
            attached.rotated.extend(one.rotated);
        }
        (detections, attached)
    }
}

fn holds_centre(region: &Rect, rect: &Rect) -> bool {
    let (x, y) = (rect.x + rect.w / 2.0, rect.y + rect.h / 2.0);
    (region.x..=region.right()).contains(&x) && (region.y..=region.bottom()).contains(&y)
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::associate::Oriented;
    use cudainfer_kernels::detect::{MergeMode, Overlap};
    use cudainfer_kernels::geometry::Affine;

    use super::*;

    const FRAME: [usize; 2] = [200, 100];

    fn rect(x: f32, y: f32, w: f32, h: f32) -> Rect {
        Rect { x, y, w, h }
    }

    fn merger(mode: MergeMode) -> Merger {
        let (top_k_before, top_k_after) = (1000, 300);
        let limits = Limits { top_k_before, top_k_after, is_after_set: false };
        let overlap = Overlap::Smaller;
        let params =
            MergeParams { mode, overlap, threshold: 0.5, agnostic: false, top_k_before, top_k_after };
        Merger { params, min_size: [0.0; 2], frame: FRAME, keypoints: 1, limits }
    }

    /// A tensor of 50x50 that shows `shown` of the frame.
    fn set(shown: Rect) -> TensorSet {
        let scale = [f64::from(shown.w) / 50.0, f64::from(shown.h) / 50.0];
        TensorSet {
            tensors: vec![],
            input: [50, 50],
            to_frame: Affine::upright(scale, [shown.x.into(), shown.y.into()]),
            batch: None,
            object: None,
            region: None,
            held: false,
        }
    }

    /// Each with a keypoint whose x is the confidence.
    fn found(boxes: &[(Rect, f32)]) -> (Vec<Detection>, Attached) {
        let detection =
            |(rect, confidence): &(Rect, f32)| Detection { rect: *rect, confidence: *confidence, class: 0 };
        let keypoints = boxes.iter().map(|(_, confidence)| [*confidence, 0.0, 1.0]).collect();
        (boxes.iter().map(detection).collect(), Attached { keypoints, ..Attached::default() })
    }

    fn add(
        merger: &Merger,
        pieces: &mut Pieces,
        shown: Rect,
        region: Rect,
        (detections, attached): &(Vec<Detection>, Attached),
    ) {
        let region = Region { rect: region, isolated: false };
        merger.add(pieces, &set(shown), region, detections, attached);
    }

    fn counts() -> Counts {
        Counts::new(&["merged", "truncated"])
    }

    #[test]
    fn boxes_are_clamped_to_what_the_tensor_shows_and_belong_to_the_region_that_has_their_centre() {
        let merger = merger(MergeMode::None);
        let mut pieces = Pieces::default();
        // A region of 40x20 that a square tensor shows with its surroundings: 10 pixels above and below.
        let region = rect(20.0, 30.0, 40.0, 20.0);
        let boxes = [
            // Beyond the right edge of the visible part.
            (rect(50.0, 35.0, 30.0, 10.0), 0.9),
            // Above the region, but its centre is in it: all of it was visible.
            (rect(30.0, 25.0, 10.0, 12.0), 0.8),
            // Its centre is above the region.
            (rect(30.0, 22.0, 10.0, 10.0), 0.7),
            // Not visible at all.
            (rect(70.0, 35.0, 10.0, 10.0), 0.6),
        ];
        add(&merger, &mut pieces, rect(20.0, 20.0, 40.0, 40.0), region, &found(&boxes));
        let (detections, attached) = merger.finish(&pieces, &mut counts());
        let rects: Vec<_> = detections.iter().map(|d| d.rect).collect();
        assert_eq!(rects, [rect(50.0, 35.0, 10.0, 10.0), boxes[1].0]);
        assert_eq!(attached.keypoints, [[0.9, 0.0, 1.0], [0.8, 0.0, 1.0]]);
        // One that is too small once it is clamped is dropped.
        let merger = Merger { min_size: [11.0, 0.0], ..merger };
        let mut pieces = Pieces::default();
        add(&merger, &mut pieces, rect(20.0, 20.0, 40.0, 40.0), region, &found(&boxes[..1]));
        assert!(merger.finish(&pieces, &mut counts()).0.is_empty());
        // Where a letterbox has bars, nothing was visible above and below.
        let merger = Merger { min_size: [0.0; 2], ..merger };
        let mut pieces = Pieces::default();
        let (detections, attached) = found(&boxes[1..]);
        let isolated = Region { rect: region, isolated: true };
        merger.add(&mut pieces, &set(rect(20.0, 20.0, 40.0, 40.0)), isolated, &detections, &attached);
        let rects: Vec<_> = merger.finish(&pieces, &mut counts()).0.iter().map(|d| d.rect).collect();
        assert_eq!(rects, [rect(30.0, 30.0, 10.0, 7.0), rect(30.0, 30.0, 10.0, 2.0)]);
    }

    #[test]
    fn what_two_regions_have_found_is_one_object_with_the_points_of_the_surer_one() {
        let merger = merger(MergeMode::Union);
        let mut pieces = Pieces::default();
        let (left, right) = (rect(0.0, 0.0, 50.0, 50.0), rect(40.0, 0.0, 50.0, 50.0));
        // All of it on the right; on the left up to the edge, and another one.
        let boxes = [(rect(5.0, 5.0, 10.0, 10.0), 0.4), (rect(42.0, 10.0, 30.0, 10.0), 0.6)];
        add(&merger, &mut pieces, left, left, &found(&boxes));
        add(&merger, &mut pieces, right, right, &found(&[(rect(42.0, 10.0, 28.0, 10.0), 0.9)]));
        let mut counts = counts();
        let (detections, attached) = merger.finish(&pieces, &mut counts);
        let facts: Vec<_> = detections.iter().map(|d| (d.rect, d.confidence)).collect();
        assert_eq!(facts, [(rect(42.0, 10.0, 28.0, 10.0), 0.9), (rect(5.0, 5.0, 10.0, 10.0), 0.4)]);
        assert_eq!(attached.keypoints, [[0.9, 0.0, 1.0], [0.4, 0.0, 1.0]]);
        assert_eq!(counts.iter().collect::<Vec<_>>(), [("merged", 1), ("truncated", 0)]);
    }

    #[test]
    fn rotated_boxes_stay_with_their_detections() {
        let merger = Merger { keypoints: 0, ..merger(MergeMode::Suppress) };
        let mut pieces = Pieces::default();
        let region = rect(0.0, 0.0, 50.0, 50.0);
        let upright = Oriented { rect: rect(5.0, 5.0, 10.0, 10.0), angle: 0.0 };
        let turned = Oriented { rect: rect(20.0, 28.0, 20.0, 4.0), angle: 1.0 };
        let mut one = found(&[(upright.rect, 0.5), (turned.outline(), 0.7)]);
        one.1 = Attached { rotated: vec![upright, turned], ..Attached::default() };
        add(&merger, &mut pieces, region, region, &one);
        let (detections, attached) = merger.finish(&pieces, &mut counts());
        assert_eq!(detections.iter().map(|d| d.confidence).collect::<Vec<_>>(), [0.7, 0.5]);
        assert_eq!(attached.rotated, [turned, upright]);
    }
}
