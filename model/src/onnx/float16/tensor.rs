//! Weights as float16.

use half::f16;

use super::super::proto::{FLOAT16, Tensor};

/// The nearest float16; a number that is not 0 does not become 0, as it may keep a divisor from that.
fn nearest(value: f32) -> f16 {
    let half = f16::from_f32(value);
    if half == f16::ZERO && value != 0.0 { f16::MIN_POSITIVE_SUBNORMAL.copysign(half) } else { half }
}

impl Tensor {
    /// The elements of a float32 tensor: raw ones are little-endian.
    fn floats(&self) -> impl Iterator<Item = f32> + '_ {
        let (raw, _) = self.raw_data.as_deref().unwrap_or_default().as_chunks();
        raw.iter().map(|bytes| f32::from_le_bytes(*bytes)).chain(self.float_data.iter().copied())
    }

    /// Whether float16 can hold its largest element.
    pub fn fits_float16(&self) -> bool {
        self.floats().all(|value| !value.is_finite() || f16::from_f32(value).is_finite())
    }

    /// A float32 tensor as float16, under this name.
    pub fn float16(&self, name: &str) -> Self {
        let raw = self.floats().flat_map(|value| nearest(value).to_le_bytes()).collect();
        Self {
            dims: self.dims.clone(),
            data_type: Some(FLOAT16),
            name: Some(name.to_owned()),
            raw_data: Some(raw),
            ..Self::default()
        }
    }
}
