//! From a model's output to embeddings on the frame.

use crate::decoding::{Counts, Decode, Side};
use crate::meta::object::{EmbeddingParam, Finding, attach, attach_to_region};
use crate::meta::row::OutputRows;
use crate::meta::tensor::TensorSet;

/// Gives frames, or the objects of their regions, embeddings.
pub(super) struct Embeddings {
    pub output: OutputRows,
    /// The model's name.
    pub model: String,
    /// Whether vectors are scaled to length 1.
    pub normalize: bool,
    /// The frame's width and height.
    pub frame: [usize; 2],
}

impl Decode for Embeddings {
    fn decode(
        &mut self,
        sets: &[TensorSet],
        frame: &mut gst::BufferRef,
        side: &Side,
        counts: &mut Counts,
    ) -> Result<(), String> {
        for set in sets {
            // Nothing is computed on the GPU, but device=cuda is a promise about where the tensors are.
            side.on_device(&set.tensors)?;
            let embedding = self.output.read(set)?;
            let values = embedding.values();
            if values.iter().any(|v| !v.is_finite()) {
                counts.add("non-finite", 1);
                continue;
            }
            let made =
                |values: &[f32]| EmbeddingParam::new(&self.model, &self.output.name, self.normalize, values);
            let param = if self.normalize { made(&normalized(values)) } else { made(values) };
            let found = Finding::Embedding(param);
            let put = match set.object {
                Some(object) => attach(frame, object, &found),
                None => {
                    attach_to_region(frame, &set.outline(self.frame), set.outline_label(), found);
                    true
                }
            };
            counts.add("objects", usize::from(put));
        }
        Ok(())
    }
}

/// The vector of length 1 in the same direction; that of zeros stays.
fn normalized(values: &[f32]) -> Vec<f32> {
    let length = values.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>().sqrt();
    let scale = if length > 0.0 { 1.0 / length } else { 1.0 };
    values.iter().map(|v| (f64::from(*v) * scale) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_have_length_1_even_if_their_squares_are_beyond_float32() {
        for values in [[3.0, -4.0], [3e30, -4e30], [3e-30, -4e-30]] {
            let got = normalized(&values);
            // Half a unit in the last place of float32, of input and result.
            let near = got.iter().zip([0.6, -0.8]).all(|(got, wanted)| (got - wanted).abs() < 2e-7);
            assert!(near && got.len() == 2, "{got:?} of {values:?}");
        }
        assert_eq!(normalized(&[0.0, 0.0]), [0.0, 0.0]);
    }
}
