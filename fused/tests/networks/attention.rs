//! What transformers are put together of. What it chooses depends smoothly on what it is chosen by, so that roundings do not decide.

use cudainfer_fused::graph::{Binary, Elements, Outside, Sampling, Unary, ValueId};
use cudainfer_kernels::tensor::TensorType;

use super::Making;

impl Making {
    /// Attention of each pixel to all, in one head or several, added to the image.
    pub(super) fn attention(&mut self, from: ValueId) -> Option<ValueId> {
        let [images, channels, rows, columns] = self.dims(from);
        let pixels = rows * columns;
        let heads = self.chance.of(&[1, 2, 4]);
        if channels % heads != 0 {
            return None;
        }
        let flat = self.builder.reshape(from, &[images, channels, pixels]).ok()?;
        let tokens = self.builder.transpose(flat, &[0, 2, 1]).ok()?;
        let deep = channels / heads;
        let mut of = [tokens; 3];
        for (at, value) in of.iter_mut().enumerate() {
            if at < 2 {
                let weights = self.weights(&[channels, channels], channels);
                *value = self.builder.multiply(*value, weights).ok()?;
            }
            let split = self.builder.reshape(*value, &[images, pixels, heads, deep]).ok()?;
            let order = if at == 1 { [0, 2, 3, 1] } else { [0, 2, 1, 3] };
            *value = self.builder.transpose(split, &order).ok()?;
        }
        let scores = self.builder.multiply(of[0], of[1]).ok()?;
        let scale = 1.0 / (deep as f64).sqrt();
        let scores = self.builder.with_number(Binary::Multiply, scores, scale).ok()?;
        let shares = self.builder.softmax(scores, 3).ok()?;
        let mixed = self.builder.multiply(shares, of[2]).ok()?;
        let joined = self.builder.transpose(mixed, &[0, 2, 1, 3]).ok()?;
        let joined = self.builder.reshape(joined, &[images, pixels, channels]).ok()?;
        let back = self.builder.transpose(joined, &[0, 2, 1]).ok()?;
        let image = self.builder.reshape(back, &[images, channels, rows, columns]).ok()?;
        self.builder.binary(Binary::Add, from, image).ok()
    }

    /// The image at places that two of its channels say.
    pub(super) fn sampled(&mut self, from: ValueId) -> Option<ValueId> {
        let [_, channels, ..] = self.dims(from);
        let two = self.builder.slice_axis(from, 1, 0, 1, 2.min(channels)).ok()?;
        let places = self.builder.transpose(two, &[0, 2, 3, 1]).ok()?;
        let places = self.builder.unary(Unary::Tanh, places).ok()?;
        let how = Sampling {
            nearest: false,
            align_corners: self.chance.below(2) == 0,
            outside: self.chance.of(&[Outside::Zeros, Outside::Border, Outside::Reflection]),
        };
        self.builder.sample(from, places, how).ok()
    }

    /// Channels, rows or columns in disorder, some of them twice.
    pub(super) fn shuffled(&mut self, from: ValueId) -> Option<ValueId> {
        let axis = 1 + self.chance.below(3);
        let length = self.dims(from)[axis];
        let index = |making: &mut Self| i64::try_from(making.chance.below(2 * length)).unwrap();
        let count = i64::try_from(length).unwrap();
        let indices = (0..length).map(|_| index(self) - count).collect();
        let mut dims = [1; 4];
        dims[axis] = length;
        let indices = self.builder.constant(TensorType::Int64, &dims, Elements::Integers(indices));
        self.builder.gather(from, indices, axis).ok()
    }
}
