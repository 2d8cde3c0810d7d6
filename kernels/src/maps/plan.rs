//! The announced tensor and the parameters, checked: the same for host and device.

use super::shape::{Shape, shape};
use super::{MapError, MapParams, Place, Range, Region, Summary};
use crate::tensor::{TensorDesc, TensorType};

/// An output and parameters that go together.
#[derive(Clone, Debug)]
pub(super) struct MapPlan {
    pub tensor: TensorDesc,
    pub shape: Shape,
    pub params: MapParams,
}

/// Numbers to samples: `(number - min) * scale`, rounded, from 0 to `most`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Levels {
    pub min: f32,
    pub scale: f32,
    pub most: f32,
}

impl Levels {
    /// A range without numbers in it becomes 0.
    pub fn new(min: f32, max: f32, most: f32) -> Self {
        Self { min, scale: if max > min { most / (max - min) } else { 0.0 }, most }
    }

    /// The sample before it is kept in range.
    pub fn level(&self, number: f32) -> f32 {
        ((number - self.min) * self.scale + 0.5).floor()
    }

    /// Whether the sample, which is not NaN, is one of the range.
    pub fn holds(&self, level: f32) -> bool {
        (0.0..=self.most).contains(&level)
    }
}

impl MapPlan {
    /// As `MapReader::new`.
    pub fn new(tensor: &TensorDesc, params: MapParams) -> Result<Self, MapError> {
        let shape = shape(tensor, params.channels, params.layout)?;
        let MapParams { range, mean, std, .. } = params;
        // Both the difference and the scale must be finite in float32.
        if let Range::Fixed(min, max) = range
            && !(min < max && (max - min).is_finite() && (65535.0 / (max - min)).is_finite())
        {
            return Err(MapError::Range(min, max));
        }
        let finite = mean.iter().chain(&std).all(|v| v.is_finite());
        if !finite || std.contains(&0.0) {
            return Err(MapError::Normalization { mean, std });
        }
        Ok(Self { tensor: tensor.clone(), shape, params })
    }

    /// Width and height in cells.
    pub fn size(&self) -> [usize; 2] {
        [self.shape.width, self.shape.height]
    }

    /// Whether the tensor is the one that was announced, and has the region.
    pub fn check(&self, name: &str, ty: TensorType, dims: &[usize], region: &Region) -> Result<(), MapError> {
        if ty != self.tensor.ty || !dims.iter().copied().map(Some).eq(self.tensor.dims.iter().copied()) {
            let got = TensorDesc::fixed(name, ty, dims).to_string();
            return Err(MapError::Changed { got, declared: self.tensor.to_string() });
        }
        self.check_region(region)
    }

    fn check_region(&self, region: &Region) -> Result<(), MapError> {
        let size = self.size();
        let fits = |axis: usize| {
            let (first, count) = (region.first[axis], region.size[axis]);
            count > 0 && first.checked_add(count).is_some_and(|end| end <= size[axis])
        };
        if fits(0) && fits(1) {
            return Ok(());
        }
        let Region { first: [x, y], size: [w, h] } = *region;
        Err(MapError::Region { region: [x, y, w, h], size })
    }

    /// Whether video of `place` has room in `bytes` bytes.
    pub fn check_room(&self, place: &Place, bytes: usize, stride: usize) -> Result<(), MapError> {
        self.check_region(&place.region)?;
        let [width, height] = place.size;
        let row = width * self.pixel();
        let wanted = height.checked_sub(1).and_then(|rows| stride.checked_mul(rows)?.checked_add(row));
        if stride >= row && width > 0 && wanted.is_some_and(|wanted| wanted <= bytes) {
            return Ok(());
        }
        Err(MapError::Room { width, height, bytes, stride })
    }

    /// Bytes of a pixel.
    pub fn pixel(&self) -> usize {
        if self.shape.channels == 1 { 2 } else { 3 }
    }

    /// The greatest sample.
    pub fn most(&self) -> f32 {
        if self.shape.channels == 1 { 65535.0 } else { 255.0 }
    }

    /// The levels for the numbers of this frame.
    pub fn levels(&self, summary: &Summary) -> Levels {
        self.fixed().unwrap_or_else(|| Levels::new(summary.min, summary.max, self.most()))
    }

    /// The levels, if they do not depend on the frame. Vectors have lengths.
    pub fn fixed(&self) -> Option<Levels> {
        match self.params.range {
            Range::Fixed(min, max) if self.shape.channels != 2 => Some(Levels::new(min, max, self.most())),
            _ => None,
        }
    }
}
