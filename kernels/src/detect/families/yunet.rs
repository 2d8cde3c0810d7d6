//! YuNet (Wu et al., "YuNet: A Tiny Millisecond-level Face Detector", 2023), as OpenCV's model zoo has it: for each stride a class
//! score, an objectness, a box and landmarks of each cell.
//!
//! The confidence is the root of both scores' product, each in 0..1; boxes are those of YOLOX, and landmarks are counted in cells
//! from the corner of their cell (OpenCV's `FaceDetectorYN`, modules/objdetect/src/face_detect.cpp).

use crate::detect::DecoderKind;
use crate::detect::family::{Family, Hint, Usual};
use crate::detect::layout::{Coding, Scoring};
use crate::detect::offer::{Fit, Offer};

use super::levels::{faces, landmark_terms};

pub const FAMILY: Family = Family {
    kind: DecoderKind::Yunet,
    wanted,
    fits,
    takes: &[Hint::Activation, Hint::Keypoints],
    usual: Usual::FACES,
};

fn wanted(offer: &Offer<'_>) -> String {
    let cells: Vec<_> = offer.grid.levels.iter().map(|level| level.cells.to_string()).collect();
    let [must, columns] = landmark_terms(offer);
    format!(
        "for each stride two float outputs [1, Ns, 1] of class scores and objectness, one [1, Ns, 4] of boxes{must} one \
         [1, Ns, {columns}] of landmarks, Ns = {} with {} (name the model's strides in its sidecar)",
        cells.join(", "),
        offer.grid_term()
    )
}

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    // Two scores of each anchor; which of them is the objectness does not matter.
    let fit = faces(FAMILY.kind, offer, offer.grid.clone(), Coding::Grid, Scoring::Root);
    fit.into_iter().collect()
}
