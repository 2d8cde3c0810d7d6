//! RetinaFace (Deng et al., 2019): offsets from its own prior boxes or those that the sidecar states, two scores, and landmarks.

use crate::detect::DecoderKind;
use crate::detect::family::{Family, Hint, Usual};

use super::priors;

pub const FAMILY: Family = Family {
    kind: DecoderKind::Retinaface,
    wanted: |offer| priors::wanted(DecoderKind::Retinaface, offer),
    fits: |offer| priors::fits(DecoderKind::Retinaface, offer),
    takes: &[
        Hint::Activation,
        Hint::Softmax,
        Hint::Background,
        Hint::BackgroundLast,
        Hint::Keypoints,
        Hint::Priors,
    ],
    usual: Usual::FACES,
};
