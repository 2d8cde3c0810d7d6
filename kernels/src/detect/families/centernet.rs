//! CenterNet (Zhou et al., "Objects as Points", 2019): a class heat-map, sizes and offsets.

use crate::detect::DecoderKind;
use crate::detect::family::{Family, Hint, Usual};

use super::centers;

pub const FAMILY: Family = Family {
    kind: DecoderKind::Centernet,
    wanted: |offer| centers::wanted(DecoderKind::Centernet, offer),
    fits: |offer| centers::fits(DecoderKind::Centernet, offer),
    takes: &[Hint::Activation, Hint::Maps],
    usual: Usual::UNIQUE,
};
