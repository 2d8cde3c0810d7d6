//! Suppression of overlapping boxes: greedy and soft, within classes and across.

use std::ops::Range;

use super::candidates::{Candidate, Gate, larger, smaller};
use super::{DetectParams, Nms};

/// One group of candidates, strongest first, one array a value so that the inner loop vectorises.
#[derive(Debug, Default)]
pub(super) struct Suppressor {
    left: Vec<f32>,
    top: Vec<f32>,
    right: Vec<f32>,
    bottom: Vec<f32>,
    area: Vec<f32>,
    confidence: Vec<f32>,
    /// Non-zero: suppressed or (soft) already chosen. As wide as a float, for the vectoriser.
    gone: Vec<u32>,
    /// What soft-NMS has chosen of the group.
    chosen: Vec<Candidate>,
}

impl Suppressor {
    /// Leaves what survives, strongest first. At most `params.top_k_after` of each group.
    pub fn run(&mut self, candidates: &mut Vec<Candidate>, params: &DetectParams, gate: &Gate) {
        match params.nms {
            Nms::None => {}
            Nms::Agnostic => {
                candidates.sort_unstable_by(Candidate::by_rank);
                let all = 0..candidates.len();
                let kept = self.greedy(candidates, all, 0, params.iou, params.top_k_after);
                candidates.truncate(kept);
            }
            Nms::ClassWise | Nms::SoftLinear | Nms::SoftGaussian { .. } => {
                candidates.sort_unstable_by(|a, b| a.class.cmp(&b.class).then(a.by_rank(b)));
                let (mut start, mut kept) = (0, 0);
                while let Some(first) = candidates.get(start) {
                    let class = first.class;
                    let end = start + candidates[start..].partition_point(|c| c.class == class);
                    kept = match params.nms {
                        Nms::SoftLinear => {
                            let linear = |iou: f32| if iou > params.iou { 1.0 - iou } else { 1.0 };
                            self.soft(candidates, start..end, kept, gate.threshold(class), params, linear)
                        }
                        Nms::SoftGaussian { sigma } => {
                            let gaussian = |iou: f32| (-iou * iou / sigma).exp();
                            self.soft(candidates, start..end, kept, gate.threshold(class), params, gaussian)
                        }
                        _ => {
                            let iou = params.iou_of(class);
                            self.greedy(candidates, start..end, kept, iou, params.top_k_after)
                        }
                    };
                    start = end;
                }
                candidates.truncate(kept);
            }
        }
        candidates.sort_unstable_by(Candidate::by_rank);
    }

    fn load(&mut self, group: &[Candidate]) {
        let arrays = [&mut self.left, &mut self.top, &mut self.right, &mut self.bottom];
        for (corner, array) in arrays.into_iter().enumerate() {
            array.clear();
            array.extend(group.iter().map(|c| c.corners[corner]));
        }
        self.area.clear();
        self.area.extend(group.iter().map(|c| {
            let [x1, y1, x2, y2] = c.corners;
            (x2 - x1) * (y2 - y1)
        }));
        self.confidence.clear();
        self.confidence.extend(group.iter().map(|c| c.confidence));
        self.gone.clear();
        self.gone.resize(group.len(), 0);
    }

    /// Greedy NMS of `group`, sorted; the survivors go to `candidates[to..]`. Returns where they end.
    /// `to` never passes the group's start, so nothing unread is overwritten.
    fn greedy(
        &mut self,
        candidates: &mut [Candidate],
        group: Range<usize>,
        mut to: usize,
        threshold: f32,
        limit: usize,
    ) -> usize {
        let (start, last) = (group.start, to.saturating_add(limit));
        self.load(&candidates[group.clone()]);
        for i in 0..group.len() {
            if self.gone[i] != 0 {
                continue;
            }
            candidates[to] = candidates[start + i];
            to += 1;
            if to == last {
                break;
            }
            self.mark(i, threshold);
        }
        to
    }

    /// Marks what box `i` suppresses among the weaker ones.
    fn mark(&mut self, i: usize, threshold: f32) {
        let (x1, y1, x2, y2) = (self.left[i], self.top[i], self.right[i], self.bottom[i]);
        let area = self.area[i];
        let weaker = self.gone.len() - (i + 1);
        // Slices of one length, so that the loop below has no bounds to check.
        let (left, top) = (&self.left[i + 1..][..weaker], &self.top[i + 1..][..weaker]);
        let (right, bottom) = (&self.right[i + 1..][..weaker], &self.bottom[i + 1..][..weaker]);
        let areas = &self.area[i + 1..][..weaker];
        let gone = &mut self.gone[i + 1..][..weaker];
        for j in 0..weaker {
            let w = smaller(x2, right[j]) - larger(x1, left[j]);
            let h = smaller(y2, bottom[j]) - larger(y1, top[j]);
            let inter = larger(w, 0.0) * larger(h, 0.0);
            let iou = inter / (area + areas[j] - inter);
            gone[j] |= u32::from(iou > threshold);
        }
    }

    /// Soft-NMS of `group`, sorted: the strongest left is chosen, the others decay by their overlap with it, until
    /// all are below `threshold`. Later choices are never stronger, so stopping there loses nothing.
    fn soft(
        &mut self,
        candidates: &mut [Candidate],
        group: Range<usize>,
        to: usize,
        threshold: f32,
        params: &DetectParams,
        decay: impl Fn(f32) -> f32,
    ) -> usize {
        let (start, last) = (group.start, to.saturating_add(params.top_k_after));
        self.load(&candidates[group.clone()]);
        // Unlike greedy's, soft choices may come out of order, so they cannot be moved down one by one.
        self.chosen.clear();
        while to + self.chosen.len() < last {
            let mut best: Option<(usize, f32)> = None;
            for (i, (&confidence, &gone)) in self.confidence.iter().zip(&self.gone).enumerate() {
                if gone == 0 && best.is_none_or(|(_, b)| confidence > b) {
                    best = Some((i, confidence));
                }
            }
            let Some((i, confidence)) = best.filter(|(_, b)| *b >= threshold) else { break };
            self.gone[i] = 1;
            self.chosen.push(Candidate { confidence, ..candidates[start + i] });
            for j in 0..group.len() {
                let inter = self.intersection(i, j);
                if inter > 0.0 && self.gone[j] == 0 {
                    let iou = inter / (self.area[i] + self.area[j] - inter);
                    self.confidence[j] *= decay(iou);
                }
            }
        }
        let end = to + self.chosen.len();
        candidates[to..end].copy_from_slice(&self.chosen);
        end
    }

    fn intersection(&self, i: usize, j: usize) -> f32 {
        let w = smaller(self.right[i], self.right[j]) - larger(self.left[i], self.left[j]);
        let h = smaller(self.bottom[i], self.bottom[j]) - larger(self.top[i], self.top[j]);
        larger(w, 0.0) * larger(h, 0.0)
    }
}
