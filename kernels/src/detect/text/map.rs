//! The output that is a map of text, `[1, 1, h, w]`, and the boxes of its lines on the input tensor.

use crate::detect::candidates::Collector;
use crate::detect::rotated::Rotated;
use crate::detect::shaped::{Shaped, misshapen};
use crate::detect::{DecoderKind, DetectError};
use crate::tensor::TensorView;

use super::{Reading, Region, regions};

/// Which output it is, and how it is read.
#[derive(Clone, Copy, Debug)]
pub(in crate::detect) struct TextMap {
    /// Index of the output.
    pub output: usize,
    /// Width and height of the input tensor.
    pub input: [usize; 2],
    /// Thresholds.
    pub reading: Reading,
}

impl TextMap {
    /// That the kernels, which read no maps of text, are given one.
    pub fn not_on_gpu<T: Shaped>(&self, outputs: &[T]) -> DetectError {
        let wanted = "tensors in system memory".to_owned();
        match outputs.get(self.output) {
            Some(tensor) => misshapen(DecoderKind::Db, tensor, wanted),
            None => DetectError::Outputs { given: outputs.len(), wanted: self.output + 1 },
        }
    }

    /// The lines of text in tensor pixels; those that are sure enough are candidates, by their places in this list.
    pub fn lines(
        &self,
        outputs: &[TensorView<'_>],
        into: &mut Collector<'_>,
    ) -> Result<Vec<Rotated>, DetectError> {
        let tensor = &outputs[self.output];
        let Some([_, height, width]) = tensor.maps().filter(|[one, h, w]| *one == 1 && *h > 0 && *w > 0)
        else {
            return Err(misshapen(DecoderKind::Db, tensor, "[1, 1, h, w]".into()));
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
}
