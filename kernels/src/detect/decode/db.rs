//! A map of text: `[1, 1, h, w]`, from 0 to 1 (DBNet, PP-OCR's detectors). What is read of it is in `text/`.

use crate::tensor::TensorView;

use super::super::candidates::Collector;
use super::super::cuda::{Layout, Output};
use super::super::offer::{Evidence, Fit, Offer};
use super::super::rotated::Rotated;
use super::super::text::{Reading, Region, regions};
use super::super::{DecoderKind, DetectError};
use super::matrix::{Shaped, misshapen};

const KIND: DecoderKind = DecoderKind::Db;
/// What PaddleOCR takes.
const THRESHOLD: f32 = 0.3;
const UNCLIP: f32 = 1.5;

#[derive(Clone, Debug)]
pub struct Plan {
    output: usize,
    input: [usize; 2],
    reading: Reading,
}

pub fn wanted(_: &Offer<'_>) -> String {
    "one float map of text [1, 1, h, w]".into()
}

pub fn fits(offer: &Offer<'_>) -> Vec<Fit<Plan>> {
    if offer.hints.classes.is_some_and(|classes| classes != 1) {
        return Vec::new();
    }
    let threshold = offer.hints.map_threshold.unwrap_or(THRESHOLD);
    let reading = Reading { threshold, unclip: offer.hints.unclip_ratio.unwrap_or(UNCLIP) };
    let maps = offer.maps.iter().filter(|maps| maps.dims[0] == 1 && maps.dims[1] > 0 && maps.dims[2] > 0);
    let fit = |output| Fit {
        evidence: Evidence::Open,
        plan: Plan { output, input: offer.input, reading },
        classes: Some(1),
        reads: 1,
        // Masks and confidence maps look the same.
        far_fetched: true,
    };
    maps.map(|maps| fit(maps.output)).collect()
}

impl Plan {
    /// The lines of text in tensor pixels; those that are sure enough are candidates, by their places in this list.
    pub fn decode(
        &self,
        outputs: &[TensorView<'_>],
        into: &mut Collector<'_>,
    ) -> Result<Vec<Rotated>, DetectError> {
        let tensor = &outputs[self.output];
        let Some([_, height, width]) = tensor.maps().filter(|[one, h, w]| *one == 1 && *h > 0 && *w > 0)
        else {
            return Err(misshapen(KIND, tensor, "[1, 1, h, w]".into()));
        };
        let (found, non_finite) = regions(&tensor.to_f32(), width, self.reading);
        (0..non_finite).for_each(|_| into.drop_non_finite());
        let unit = [self.input[0] as f32 / width as f32, self.input[1] as f32 / height as f32];
        let scaled = |rotated: Rotated| {
            let [w, h] = rotated.size;
            let (sin, cos) = rotated.angle.sin_cos();
            let [ux, uy] = unit;
            Rotated {
                center: [rotated.center[0] * ux, rotated.center[1] * uy],
                // A map that is reduced by the same factor both ways, as all are, only changes the size.
                size: [w * (ux * cos).hypot(uy * sin), h * (ux * sin).hypot(uy * cos)],
                angle: (uy * sin).atan2(ux * cos),
            }
        };
        let mut boxes = Vec::with_capacity(found.len());
        for (place, Region { rotated, score }) in found.into_iter().enumerate() {
            let rotated = scaled(rotated);
            if into.wants(0, score) {
                into.take_rotated(place, 0, score, &rotated);
            }
            boxes.push(rotated);
        }
        Ok(boxes)
    }

    /// The GPU reads no maps of text.
    pub fn layout(&self, outputs: &[Output<'_>]) -> Result<Layout, DetectError> {
        Err(misshapen(KIND, &outputs[self.output], "tensors in system memory".into()))
    }
}
