//! CenterFace (Xu et al., 2019): CenterNet's maps of one class, logarithmic sizes, and landmarks in fractions of the box.

use crate::detect::DecoderKind;
use crate::detect::family::{Family, Hint, Usual};

use super::centers;

pub const FAMILY: Family = Family {
    kind: DecoderKind::Centerface,
    wanted: |offer| centers::wanted(DecoderKind::Centerface, offer),
    fits: |offer| centers::fits(DecoderKind::Centerface, offer),
    takes: &[Hint::Activation, Hint::Maps, Hint::Keypoints],
    usual: Usual { label: Some("face"), ..Usual::UNIQUE },
};
