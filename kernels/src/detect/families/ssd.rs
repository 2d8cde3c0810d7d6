//! SSD (Liu et al., 2016): offsets from the prior boxes that the sidecar states, and scores with the background's first.

use crate::detect::DecoderKind;
use crate::detect::family::{Family, Hint, Usual};

use super::priors;

pub const FAMILY: Family = Family {
    kind: DecoderKind::Ssd,
    wanted: |offer| priors::wanted(DecoderKind::Ssd, offer),
    fits: |offer| priors::fits(DecoderKind::Ssd, offer),
    takes: &[Hint::Activation, Hint::Softmax, Hint::Background, Hint::BackgroundLast, Hint::Priors],
    usual: Usual::SUPPRESSED,
};
