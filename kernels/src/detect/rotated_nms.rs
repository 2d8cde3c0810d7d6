//! Suppression of rotated boxes, as Ultralytics suppresses them.
//!
//! The overlap is the probabilistic IoU (Llerena et al., "Gaussian Bounding Boxes and Probabilistic Intersection-over-Union
//! for Object Detection", 2021): boxes are normal distributions, and it is 1 less their Hellinger distance. It does not
//! change under affine maps, so boxes are compared as the model writes them, in tensor pixels.
//!
//! A box goes where *any* stronger one overlaps it by at least the threshold, also one that goes itself (Fast NMS, Bolya et
//! al., "YOLACT", 2019, section 3.3): unlike greedy NMS, and at a threshold that is reached, not passed.

use super::candidates::Candidate;
use super::rotated::{Gaussian, Rotated, distance_of};
use super::{DetectParams, Nms};

/// Suppresses; its buffers are kept from frame to frame.
#[derive(Debug, Default)]
pub(super) struct RotatedSuppressor {
    /// By rank.
    gaussians: Vec<Gaussian>,
    gone: Vec<bool>,
}

impl RotatedSuppressor {
    /// Leaves what survives, strongest first. `box_of` gives an anchor's box. `params.nms` is one of those that
    /// [`DetectParams::validate_for`] lets pass.
    pub fn run(
        &mut self,
        candidates: &mut Vec<Candidate>,
        params: &DetectParams,
        box_of: impl Fn(usize) -> Option<Rotated>,
    ) {
        candidates.sort_unstable_by(Candidate::by_rank);
        if params.nms == Nms::None {
            return;
        }
        self.gaussians.clear();
        let gaussian = |c: &Candidate| box_of(c.anchor).map(|b| b.gaussian()).unwrap_or_default();
        self.gaussians.extend(candidates.iter().map(gaussian));
        let across = params.nms == Nms::Agnostic;
        let mut limits = LastLimit::default();
        self.gone.clear();
        self.gone.extend(candidates.iter().zip(&self.gaussians).enumerate().map(|(rank, (one, mine))| {
            let limit = limits.get(if across { params.iou } else { params.iou_of(one.class) });
            let mut stronger = candidates[..rank].iter().zip(&self.gaussians);
            stronger
                .any(|(other, theirs)| (across || other.class == one.class) && theirs.suppresses(mine, limit))
        }));
        let mut gone = self.gone.iter();
        candidates.retain(|_| gone.next() == Some(&false));
    }
}

/// The last threshold, and what it comes to: there are few, and each takes a logarithm.
#[derive(Debug, Default)]
struct LastLimit(Option<(f32, f64)>);

impl LastLimit {
    fn get(&mut self, overlap: f32) -> f64 {
        match self.0 {
            Some((last, limit)) if last == overlap => limit,
            _ => {
                let limit = distance_of(overlap);
                self.0 = Some((overlap, limit));
                limit
            }
        }
    }
}
