//! Objects of which the model says who they are.

use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::group::Identity;
use cudainfer_kernels::keypoints::identify;

use crate::meta::object::{ClassificationParam, Finding, TrackingParam, attach};
use crate::model::ModelInfo;

/// What an object gets that is an individual: its identity, counted from 1, and how probable it is.
pub(super) fn findings(identity: Identity, around: Rect, info: &ModelInfo) -> [Finding; 2] {
    let Identity { index, probability } = identity;
    let number = u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1);
    let name = info.peaks.individuals.get(index).cloned();
    let output = info.peaks.identity_scores.clone().unwrap_or_default();
    let classification = ClassificationParam {
        model: String::new(),
        output,
        labels: vec![name.clone().unwrap_or_else(|| number.to_string())],
        label_ids: vec![u32::try_from(index).unwrap_or(u32::MAX)],
        confidence: vec![probability.into()],
        held: false,
    };
    let tracking =
        TrackingParam { id: number, name, state: "tracked".into(), rect: around, ..TrackingParam::default() };
    [Finding::Tracking(tracking), Finding::Classification(classification)]
}

/// The objects of a frame, each seen in a region of its own, with the probabilities of who it is: that is decided when all are
/// known, since no two are the same.
#[derive(Debug, Default)]
pub(super) struct Unidentified {
    objects: Vec<(i32, Rect)>,
    /// Row-major `[objects, individuals]`.
    probabilities: Vec<f32>,
}

impl Unidentified {
    /// Adds the object of this number, with the box around its points.
    pub fn add(&mut self, object: i32, around: Rect, probabilities: &[f32]) {
        if !probabilities.is_empty() {
            self.objects.push((object, around));
            self.probabilities.extend(probabilities);
        }
    }

    /// Says of each object who it is.
    pub fn identify(self, buffer: &mut gst::BufferRef, info: &ModelInfo) {
        let Self { objects, probabilities } = self;
        let individuals = probabilities.len().checked_div(objects.len()).unwrap_or(0);
        for ((object, around), identity) in objects.into_iter().zip(identify(&probabilities, individuals)) {
            for finding in identity.into_iter().flat_map(|identity| findings(identity, around, info)) {
                attach(buffer, object, &finding);
            }
        }
    }
}
