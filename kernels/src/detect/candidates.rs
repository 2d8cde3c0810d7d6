//! The thresholds that a decoder applies, and the candidates that it keeps.

use std::cmp::Ordering;

use crate::geometry::Affine;

use super::rotated::Rotated;
use super::{DetectParams, Outcome};

/// An anchor that passed the threshold, with its box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    /// Its place in the model's output.
    pub anchor: usize,
    /// Its class: the anchor's best, or one of several.
    pub class: u32,
    /// That class's confidence.
    pub confidence: f32,
    /// x1, y1, x2, y2 in frame pixels, clamped to the frame only with [`DetectParams::clip_before_nms`].
    pub corners: [f32; 4],
}

impl Candidate {
    /// Strongest first, equals by anchor and class: a total order, so results never depend on how sorting works.
    pub fn by_rank(&self, other: &Self) -> Ordering {
        let place = |c: &Self| (c.anchor, c.class);
        other.confidence.total_cmp(&self.confidence).then(place(self).cmp(&place(other)))
    }

    /// The corners, clamped to a frame of this width and height.
    pub fn clamped(&self, [width, height]: [f32; 2]) -> [f32; 4] {
        let [x1, y1, x2, y2] = self.corners;
        [x1.clamp(0.0, width), y1.clamp(0.0, height), x2.clamp(0.0, width), y2.clamp(0.0, height)]
    }
}

/// Keeps the `k` strongest, in no order; returns how many were cut.
pub(super) fn keep_strongest(candidates: &mut Vec<Candidate>, k: usize) -> usize {
    let cut = candidates.len().saturating_sub(k);
    if cut > 0 {
        candidates.select_nth_unstable_by(k, Candidate::by_rank);
        candidates.truncate(k);
    }
    cut
}

/// Confidence thresholds and the class filter in one.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    /// Threshold of classes that are not among `exceptions`; infinite where a filter leaves them out.
    other: f32,
    /// Thresholds of single classes, by class.
    exceptions: Vec<(u32, f32)>,
    /// The lowest of all.
    lowest: f32,
}

impl Gate {
    /// Lets everything pass.
    pub fn open() -> Self {
        Self { other: f32::NEG_INFINITY, exceptions: Vec::new(), lowest: f32::NEG_INFINITY }
    }

    /// From valid parameters.
    pub fn new(params: &DetectParams) -> Self {
        let mut exceptions = params.class_confidence.clone();
        let mut other = params.confidence;
        if !params.classes.is_empty() {
            exceptions.retain(|(class, _)| params.classes.contains(class));
            for &class in &params.classes {
                if !exceptions.iter().any(|(c, _)| *c == class) {
                    exceptions.push((class, params.confidence));
                }
            }
            other = f32::INFINITY;
        }
        exceptions.sort_unstable_by_key(|(class, _)| *class);
        let lowest = exceptions.iter().map(|(_, t)| *t).fold(other, f32::min);
        Self { other, exceptions, lowest }
    }

    /// Thresholds of single classes by ascending class, that of all others, and the lowest of all.
    pub fn parts(&self) -> (&[(u32, f32)], f32, f32) {
        (&self.exceptions, self.other, self.lowest)
    }

    /// The threshold of `class`.
    pub fn threshold(&self, class: u32) -> f32 {
        match self.exceptions.binary_search_by_key(&class, |(c, _)| *c) {
            Ok(i) => self.exceptions[i].1,
            Err(_) => self.other,
        }
    }
}

/// `f32::min` without its care for NaN, which costs the vectoriser dear; there are no NaN here.
pub(super) fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// As [`smaller`].
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The upright box around a box of the tensor, in the frame: left, top, right, bottom, as [`Affine::rect`] means it. A box
/// whose corners are the wrong way round comes out without a size, a broken one not finite.
fn in_frame(map: &Affine, [x1, y1, x2, y2]: [f32; 4]) -> [f32; 4] {
    let ((left, top), (right, bottom)) = (map.point(x1, y1), map.point(x2, y2));
    if map.skew == [0.0; 2] {
        return [left, top, right, bottom];
    }
    if !(x2 > x1 && y2 > y1) {
        let broken = left + top + right + bottom;
        return if broken.is_finite() { [left, top, left, top] } else { [broken; 4] };
    }
    let (a, b) = (map.point(x2, y1), map.point(x1, y2));
    let lowest = |c: f32, d: f32, e: f32, f: f32| smaller(smaller(c, d), smaller(e, f));
    let highest = |c: f32, d: f32, e: f32, f: f32| larger(larger(c, d), larger(e, f));
    [
        lowest(left, right, a.0, b.0),
        lowest(top, bottom, a.1, b.1),
        highest(left, right, a.0, b.0),
        highest(top, bottom, a.1, b.1),
    ]
}

/// Takes a decoder's candidates: maps them into the frame and drops the unusable.
#[derive(Debug)]
pub(super) struct Collector<'a> {
    gate: &'a Gate,
    map: &'a Affine,
    frame: [f32; 2],
    min_size: [f32; 2],
    multi_label: bool,
    clip_before_nms: bool,
    /// Whether boxes without a size, and those outside of the frame, are kept, too.
    of_any_size: bool,
    kept: &'a mut Vec<Candidate>,
    outcome: Outcome,
}

impl<'a> Collector<'a> {
    /// Collects into `kept`.
    pub fn new(
        gate: &'a Gate,
        map: &'a Affine,
        frame: [f32; 2],
        params: &DetectParams,
        kept: &'a mut Vec<Candidate>,
    ) -> Self {
        let DetectParams { min_size, multi_label, clip_before_nms, .. } = *params;
        Self {
            gate,
            map,
            frame,
            min_size,
            multi_label,
            clip_before_nms,
            of_any_size: false,
            kept,
            outcome: Outcome::default(),
        }
    }

    /// The same, with all boxes that are finite.
    pub fn of_any_size(self) -> Self {
        Self { of_any_size: true, ..self }
    }

    /// No class's threshold is lower: an anchor below it can be skipped.
    pub fn lowest(&self) -> f32 {
        self.gate.lowest
    }

    /// Whether all classes of an anchor are wanted that pass, and not only the best.
    pub fn multi_label(&self) -> bool {
        self.multi_label
    }

    /// Whether a box of this class and confidence is wanted.
    pub fn wants(&self, class: u32, confidence: f32) -> bool {
        confidence >= self.gate.threshold(class)
    }

    /// Counts an anchor with a score that is not finite.
    pub fn drop_non_finite(&mut self) {
        self.outcome.non_finite += 1;
    }

    /// Takes a candidate that is [wanted](Self::wants); `corners` are x1, y1, x2, y2 in tensor pixels.
    pub fn take(&mut self, anchor: usize, class: u32, confidence: f32, corners: [f32; 4]) {
        self.keep(anchor, class, confidence, in_frame(self.map, corners));
    }

    /// The same of a box that is rotated; what is kept of it is the upright box around it.
    pub fn take_rotated(&mut self, anchor: usize, class: u32, confidence: f32, rotated: &Rotated) {
        self.keep(anchor, class, confidence, rotated.hull(self.map));
    }

    /// `corners` are in frame pixels.
    fn keep(&mut self, anchor: usize, class: u32, confidence: f32, corners: [f32; 4]) {
        let [left, top, right, bottom] = corners;
        // A size that overflows is as useless as a corner that does.
        if ![left, top, right - left, bottom - top].iter().all(|v| v.is_finite()) {
            self.outcome.non_finite += 1;
            return;
        }
        self.outcome.candidates += 1;
        let candidate = Candidate { anchor, class, confidence, corners };
        let clamped = candidate.clamped(self.frame);
        let [x1, y1, x2, y2] = clamped;
        let (w, h) = (x2 - x1, y2 - y1);
        if self.of_any_size || w > 0.0 && h > 0.0 && w >= self.min_size[0] && h >= self.min_size[1] {
            let corners = if self.clip_before_nms { clamped } else { corners };
            self.kept.push(Candidate { corners, ..candidate });
        }
    }

    /// What was counted.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }
}
