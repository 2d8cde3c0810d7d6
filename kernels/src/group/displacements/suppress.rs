//! Which roots become instances, on the host for both devices.

use super::decode::{DisplacedPoint, Root};
use super::plan::DisplacementPlan;
use crate::geometry::Affine;
use crate::group::{Keypoint, Pose, select};
use crate::peaks::{Outcome, activate};

/// Parameters of the choice, and the points' scales.
pub(super) struct Suppression<'a> {
    pub plan: &'a DisplacementPlan,
    /// The number of the skeleton's points.
    pub points: usize,
    pub to_frame: &'a Affine,
}

impl Suppression<'_> {
    /// Appends the instances to `poses`, which is empty; `walk` replaces its argument by the points of a root's instance. Adds
    /// to `outcome` how many values counted as 0 in the instances taken, and whether others were left out.
    pub fn suppress(
        &self,
        roots: &mut [Root],
        poses: &mut Vec<Pose>,
        mut walk: impl FnMut(&Root, &mut Vec<DisplacedPoint>),
        outcome: &mut Outcome,
    ) {
        let params = &self.plan.params;
        // Sorted by the raw value, because large logits that differ have the same score.
        roots.sort_unstable_by(|a, b| {
            b.value.total_cmp(&a.value).then(a.channel.cmp(&b.channel)).then(a.cell.cmp(&b.cell))
        });
        let (mut taken, mut parts): (Vec<DisplacedPoint>, Vec<DisplacedPoint>) = Default::default();
        for root in roots.iter() {
            walk(root, &mut parts);
            if parts.get(root.channel).is_none_or(|part| self.near(&taken, root.channel, part)) {
                continue;
            }
            if poses.len() >= params.max_poses {
                outcome.limited = true;
                break;
            }
            outcome.non_finite += parts.iter().map(|part| part.non_finite as usize).sum::<usize>();
            outcome.non_finite += parts.iter().filter(|part| !part.value.is_finite()).count();
            let scores: Vec<f32> = parts.iter().map(|part| self.score(part)).collect();
            let new = (0..parts.len()).filter(|point| !self.near(&taken, *point, &parts[*point]));
            let score = new.map(|point| scores[point]).sum::<f32>() / parts.len() as f32;
            let points = parts.iter().zip(&scores).map(|(part, score)| {
                let (x, y) = self.to_frame.point(part.x, part.y);
                (*score >= params.min_point_score).then_some(Keypoint { x, y, z: None, score: *score })
            });
            poses.push(Pose { score, points: points.collect(), identity: None });
            taken.extend_from_slice(&parts);
        }
        select(poses, params.min_points, params.min_score);
    }

    fn score(&self, part: &DisplacedPoint) -> f32 {
        if part.value.is_finite() { activate(self.plan.peaks.activation, part.value) } else { 0.0 }
    }

    /// Whether the point lies near the same one of an instance that was taken.
    fn near(&self, taken: &[DisplacedPoint], point: usize, part: &DisplacedPoint) -> bool {
        let radius = f64::from(self.plan.params.nms_radius);
        taken.iter().skip(point).step_by(self.points).any(|other| {
            let [dx, dy] = [f64::from(other.x) - f64::from(part.x), f64::from(other.y) - f64::from(part.y)];
            dx * dx + dy * dy <= radius * radius
        })
    }
}
