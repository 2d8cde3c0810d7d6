//! Outputs of keypoints in models that give boxes as well.

use crate::detect::offer::Offer;

/// In the names of outputs that belong to keypoints, and how words in them begin ("pose", not "transpose").
const POINTS: [&str; 3] = ["keypoint", "kpt", "joint"];
const POSE: &str = "pose";

/// The outputs whose names say that they belong to keypoints.
pub fn named(offer: &Offer<'_>) -> Vec<usize> {
    let is_named = |output: &usize| {
        let name = offer.outputs[*output].name.to_ascii_lowercase();
        let mut words = name.split(|c: char| !c.is_ascii_alphabetic());
        POINTS.iter().any(|part| name.contains(part)) || words.any(|word| word.starts_with(POSE))
    };
    (0..offer.outputs.len()).filter(|output| offer.is_float(*output)).filter(is_named).collect()
}
