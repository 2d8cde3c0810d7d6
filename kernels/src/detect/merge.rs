//! Merging of what was found in several regions of a frame: an object in the overlap of two is found twice, and one that is
//! cut by a region's edge in parts.
//!
//! This is the greedy merging of SAHI (Akyon et al., "Slicing Aided Hyper Inference and Fine-Tuning for Small Object
//! Detection", ICIP 2022; `NMSPostprocess` and `GreedyNMMPostprocess` of its tool, 0.12): boxes are taken by descending
//! confidence, and each takes all weaker ones away that match it, which is an overlap of at least the threshold. With
//! [`MergeMode::Union`], those that match what has become of it so far enlarge it to the box around both.
//!
//! Two deviations: boxes that match enlarge the box in the order of their confidence, where SAHI takes them in no order that
//! it states; and of boxes of equal confidence the one that was given first counts as the stronger.

use super::{DetectError, Detection};
use crate::associate::Oriented;
use crate::geometry::Rect;

/// What becomes of boxes that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeMode {
    /// The most confident one is enlarged to the box around all. Not for rotated boxes.
    Union,
    /// The most confident one stays as it is.
    Suppress,
    /// Nothing: all stay, in the order in which they were given, without limits.
    None,
}

crate::words! { MergeMode:
    Union = "union", "The most confident box becomes the box around all (SAHI's GREEDYNMM)";
    Suppress = "suppress", "The most confident box stays as it is (SAHI's NMS)";
    None = "none", "Nothing is merged";
}

/// How the overlap of two boxes is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// Intersection over the smaller box: 1 where one lies within the other.
    #[default]
    Smaller,
    /// Intersection over union.
    Union,
}

crate::words! { Overlap:
    Smaller = "ios", "Intersection over the smaller box";
    Union = "iou", "Intersection over union";
}

impl Overlap {
    /// 0..=1; 0 where there is none, or a box has no size.
    fn of(self, a: &Oriented, b: &Oriented) -> f64 {
        let area = |rect: &Rect| f64::from(rect.w) * f64::from(rect.h);
        let (common, a, b) = (a.intersection(b), area(&a.rect), area(&b.rect));
        let whole = match self {
            Self::Union => a + b - common,
            Self::Smaller => a.min(b),
        };
        if common > 0.0 && whole > 0.0 { common / whole } else { 0.0 }
    }
}

/// How boxes of several regions are merged.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeParams {
    /// What becomes of boxes that match.
    pub mode: MergeMode,
    /// What is compared with the threshold.
    pub overlap: Overlap,
    /// The overlap from which boxes match, 0..=1.
    pub threshold: f32,
    /// Whether boxes of different classes match.
    pub agnostic: bool,
    /// Most confident boxes that are compared, at least 1.
    pub top_k_before: usize,
    /// Most confident boxes that stay, at least 1.
    pub top_k_after: usize,
}

/// A box of a region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegionBox {
    /// The detection; its box is the one around it if it is rotated. In frame pixels.
    pub detection: Detection,
    /// The box itself, of a decoder of rotated boxes; one whose angle is 0 is the detection's.
    pub rotated: Option<Oriented>,
}

impl RegionBox {
    fn shape(&self) -> Oriented {
        self.rotated
            .filter(|one| one.angle != 0.0)
            .unwrap_or(Oriented { rect: self.detection.rect, angle: 0.0 })
    }
}

/// What is left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Merged {
    /// By descending confidence: which of the boxes, and its box (around it, if it is rotated) after merging.
    pub kept: Vec<(usize, Rect)>,
    /// Boxes that others have taken away.
    pub merged: usize,
    /// Boxes cut by [`MergeParams::top_k_before`].
    pub truncated: usize,
    /// Whether there are as many as [`MergeParams::top_k_after`] allows, and more were left out.
    pub limited: bool,
}

impl MergeParams {
    /// Checks ranges, and whether there is such a mode for such boxes.
    ///
    /// # Errors
    /// [`DetectError::Param`] names the first parameter that is out of range.
    pub fn validate(&self, rotated: bool) -> Result<(), DetectError> {
        let error =
            |name: &str, value: String, wanted| Err(DetectError::Param { name: name.into(), value, wanted });
        if !(0.0..=1.0).contains(&self.threshold) {
            return error("merge-threshold", self.threshold.to_string(), "between 0 and 1");
        }
        if rotated && self.mode == MergeMode::Union {
            return error("merge", "union".into(), "suppress or none for rotated boxes");
        }
        for (name, value) in [("top-k-before", self.top_k_before), ("top-k-after", self.top_k_after)] {
            if value == 0 {
                return error(name, value.to_string(), "at least 1");
            }
        }
        Ok(())
    }

    /// Merges the boxes of a frame's regions.
    pub fn run(&self, boxes: &[RegionBox]) -> Merged {
        if self.mode == MergeMode::None {
            let kept = boxes.iter().map(|one| one.detection.rect).enumerate().collect();
            return Merged { kept, ..Merged::default() };
        }
        let mut ranks: Vec<usize> = (0..boxes.len()).collect();
        // Stable: equals stay in the order in which they were given.
        ranks.sort_by(|a, b| boxes[*b].detection.confidence.total_cmp(&boxes[*a].detection.confidence));
        let truncated = ranks.len().saturating_sub(self.top_k_before);
        ranks.truncate(self.top_k_before);
        let threshold = f64::from(self.threshold);
        let mut gone = vec![false; ranks.len()];
        let mut result = Merged { truncated, ..Merged::default() };
        for (rank, &one) in ranks.iter().enumerate() {
            if gone[rank] {
                continue;
            }
            if result.kept.len() == self.top_k_after {
                result.limited = true;
                break;
            }
            let own = boxes[one].shape();
            let mut rect = boxes[one].detection.rect;
            for (other, gone) in ranks.iter().zip(&mut gone).skip(rank + 1) {
                let other = &boxes[*other];
                let compared =
                    !*gone && (self.agnostic || other.detection.class == boxes[one].detection.class);
                if !compared || self.overlap.of(&own, &other.shape()) < threshold {
                    continue;
                }
                *gone = true;
                result.merged += 1;
                let so_far = Oriented { rect, angle: 0.0 };
                if self.mode == MergeMode::Union && self.overlap.of(&so_far, &other.shape()) >= threshold {
                    rect = around(&rect, &other.detection.rect);
                }
            }
            result.kept.push((one, rect));
        }
        result
    }
}

/// The box around two.
fn around(a: &Rect, b: &Rect) -> Rect {
    Rect::from_corners(a.x.min(b.x), a.y.min(b.y), a.right().max(b.right()), a.bottom().max(b.bottom()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: MergeParams = MergeParams {
        mode: MergeMode::Union,
        overlap: Overlap::Smaller,
        threshold: 0.5,
        agnostic: false,
        top_k_before: 1000,
        top_k_after: 300,
    };

    fn found(x: f32, w: f32, confidence: f32, class: u32) -> RegionBox {
        let rect = Rect { x, y: 10.0, w, h: 10.0 };
        RegionBox { detection: Detection { rect, confidence, class }, rotated: None }
    }

    /// Which are left, and their left and right edges.
    fn run(params: &MergeParams, boxes: &[RegionBox]) -> Vec<(usize, f32, f32)> {
        let merged = params.run(boxes);
        let cut = merged.truncated + merged.merged + merged.kept.len();
        assert!(cut == boxes.len() || merged.kept.len() == params.top_k_after);
        merged.kept.into_iter().map(|(i, rect)| (i, rect.x, rect.right())).collect()
    }

    #[test]
    fn where_nothing_is_merged_all_stay_as_they_were_given() {
        let boxes = [found(20.0, 10.0, 0.6, 0), found(20.0, 40.0, 0.9, 0)];
        let none = MergeParams { mode: MergeMode::None, top_k_before: 1, top_k_after: 1, ..PARAMS };
        let merged = none.run(&boxes);
        let all = boxes.iter().map(|one| one.detection.rect).enumerate().collect();
        assert_eq!(merged, Merged { kept: all, ..Merged::default() });
        assert!(none.validate(true).is_ok());
    }

    #[test]
    fn an_object_that_an_edge_cuts_is_part_of_the_one_that_is_whole() {
        // All of 20 to 60; its part up to an edge at 30; both have 10 in common: IoU 10/40, IoS 10/10.
        let boxes = [found(20.0, 10.0, 0.6, 0), found(20.0, 40.0, 0.9, 0)];
        assert_eq!(run(&PARAMS, &boxes), [(1, 20.0, 60.0)]);
        let by_union = MergeParams { overlap: Overlap::Union, ..PARAMS };
        assert_eq!(run(&by_union, &boxes), [(1, 20.0, 60.0), (0, 20.0, 30.0)]);
        // Equal to the threshold is enough.
        let quarter = MergeParams { threshold: 0.25, mode: MergeMode::Suppress, ..by_union };
        assert_eq!(run(&quarter, &boxes), [(1, 20.0, 60.0)]);
        // Where the part is the surer, suppression leaves the part, and the union is the whole.
        let boxes = [found(20.0, 10.0, 0.9, 0), found(20.0, 40.0, 0.6, 0)];
        assert_eq!(run(&MergeParams { mode: MergeMode::Suppress, ..PARAMS }, &boxes), [(0, 20.0, 30.0)]);
        assert_eq!(run(&PARAMS, &boxes), [(0, 20.0, 60.0)]);
    }

    #[test]
    fn what_matches_the_strongest_alone_goes_and_what_matches_what_it_became_enlarges_it() {
        // b is 60 of a's 100, c 80 of a's 100: both match a. With b, a reaches from 0 to 150; c has 80 of its own 100 in it.
        let (a, b, c) = (found(0.0, 100.0, 0.9, 0), found(40.0, 110.0, 0.8, 0), found(-20.0, 100.0, 0.7, 0));
        assert_eq!(run(&PARAMS, &[a, b, c]), [(0, -20.0, 150.0)]);
        // d matches b (55 of its 60), but not a (5 of its 60), and is not in a's group though it is in a's union.
        let d = found(95.0, 60.0, 0.6, 0);
        assert_eq!(run(&PARAMS, &[a, b, d]), [(0, 0.0, 150.0), (2, 95.0, 155.0)]);
        // Just half of a's 100 are e's, which is enough for both.
        let e = found(50.0, 100.0, 0.5, 0);
        assert_eq!(run(&PARAMS, &[a, e]), [(0, 0.0, 150.0)]);
        // By their unions, f (100 of 190) and g (100 of 170) match a. With f, a reaches from -90 to 100; of that and g, 100 of
        // 260 are common: g goes, but does not enlarge what a has become.
        let (f, g) = (found(-90.0, 190.0, 0.85, 0), found(0.0, 170.0, 0.84, 0));
        let by_union = MergeParams { overlap: Overlap::Union, ..PARAMS };
        assert_eq!(run(&by_union, &[a, f, g]), [(0, -90.0, 100.0)]);
        // A chain of suppression: b goes with a, so it takes nobody with it.
        let suppress = MergeParams { mode: MergeMode::Suppress, ..PARAMS };
        assert_eq!(run(&suppress, &[a, b, d]), [(0, 0.0, 100.0), (2, 95.0, 155.0)]);
    }

    #[test]
    fn classes_match_across_only_if_asked_and_equals_by_order() {
        let boxes = [found(0.0, 10.0, 0.5, 1), found(0.0, 10.0, 0.5, 2), found(1.0, 10.0, 0.5, 1)];
        assert_eq!(run(&PARAMS, &boxes), [(0, 0.0, 11.0), (1, 0.0, 10.0)]);
        assert_eq!(run(&MergeParams { agnostic: true, ..PARAMS }, &boxes), [(0, 0.0, 11.0)]);
    }

    #[test]
    fn no_more_than_the_limits_are_compared_and_kept() {
        let boxes: Vec<_> = (0..10u8).map(|i| found(f32::from(i) * 20.0, 10.0, f32::from(i), 0)).collect();
        let two = MergeParams { top_k_after: 2, ..PARAMS };
        assert_eq!(run(&two, &boxes), [(9, 180.0, 190.0), (8, 160.0, 170.0)]);
        assert!(two.run(&boxes).limited && !two.run(&boxes[..2]).limited);
        let three = MergeParams { top_k_before: 3, ..PARAMS };
        let merged = three.run(&boxes);
        assert_eq!((merged.kept.len(), merged.truncated, merged.merged), (3, 7, 0));
        assert_eq!(PARAMS.run(&[]), Merged::default());
    }

    #[test]
    fn rotated_boxes_match_by_themselves_and_not_by_the_boxes_around_them() {
        // Two ships beside each other, each 4 wide and 40 long, at 45 degrees: 6 apart across, so they do not touch, though
        // the upright boxes around them are 44/sqrt(2) = 31 wide and only 6/sqrt(2) = 4 off to both sides.
        let ship = |x: f32, y: f32, confidence: f32| {
            let rect = Rect { x: x - 20.0, y: y - 2.0, w: 40.0, h: 4.0 };
            let rotated = Oriented { rect, angle: std::f32::consts::FRAC_PI_4 };
            RegionBox {
                detection: Detection { rect: rotated.outline(), confidence, class: 0 },
                rotated: Some(rotated),
            }
        };
        let params = MergeParams { mode: MergeMode::Suppress, ..PARAMS };
        let boxes = [ship(100.0, 100.0, 0.9), ship(104.25, 95.75, 0.8), ship(101.0, 101.0, 0.7)];
        let kept: Vec<_> = params.run(&boxes).kept.into_iter().map(|(i, _)| i).collect();
        // The third is the first, moved along itself by 1.4 of 40.
        assert_eq!(kept, [0, 1]);
        assert!(PARAMS.validate(true).is_err() && params.validate(true).is_ok());
    }

    #[test]
    fn wrong_parameters_are_named() {
        assert!(PARAMS.validate(false).is_ok());
        for (params, name) in [
            (MergeParams { threshold: 1.5, ..PARAMS }, "merge-threshold"),
            (MergeParams { threshold: f32::NAN, ..PARAMS }, "merge-threshold"),
            (MergeParams { top_k_before: 0, ..PARAMS }, "top-k-before"),
            (MergeParams { top_k_after: 0, ..PARAMS }, "top-k-after"),
        ] {
            assert!(params.validate(false).unwrap_err().to_string().contains(name));
        }
    }
}
