//! A map of text: `[1, 1, h, w]`, from 0 to 1 (DBNet, PP-OCR's detectors). What is read of it is in `text/`: no boxes of anchors, so that no
//! layout describes it.

use crate::detect::DecoderKind;
use crate::detect::family::{Family, Hint, Usual};
use crate::detect::offer::{Decoding, Evidence, Fit, Offer};
use crate::detect::text::{Reading, TextMap};

pub const FAMILY: Family = Family {
    kind: DecoderKind::Db,
    wanted,
    fits,
    takes: &[Hint::Text],
    usual: Usual { confidence: Some(CONFIDENCE), ..Usual::UNIQUE },
};

/// What PaddleOCR takes.
const CONFIDENCE: f32 = 0.6;
const THRESHOLD: f32 = 0.3;
const UNCLIP: f32 = 1.5;

fn wanted(_: &Offer<'_>) -> String {
    "one float map of text [1, 1, h, w]".into()
}

fn fits(offer: &Offer<'_>) -> Vec<Fit> {
    if offer.hints.classes.is_some_and(|classes| classes != 1) {
        return Vec::new();
    }
    let threshold = offer.hints.map_threshold.unwrap_or(THRESHOLD);
    let reading = Reading { threshold, unclip: offer.hints.unclip_ratio.unwrap_or(UNCLIP) };
    let maps = offer.maps.iter().filter(|maps| maps.dims[0] == 1 && maps.dims[1] > 0 && maps.dims[2] > 0);
    let fit = |output| Fit {
        evidence: Evidence::Open,
        decoding: Decoding::Text(TextMap { output, input: offer.input, reading }),
        classes: Some(1),
        reads: 1,
        // Masks and confidence maps look the same.
        far_fetched: true,
    };
    maps.map(|maps| fit(maps.output)).collect()
}
