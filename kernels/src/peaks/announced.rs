//! The map that was announced, and the check that an arriving map is that one.

use super::grid::MapShape;
use super::{BLUR, BLUR_SIGMA, Grid, PeakParams, PeaksError, STRIDE};
use crate::device::DeviceTensor;
use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorType};

/// The map that a finder was made for.
#[derive(Debug)]
pub(crate) struct Announced {
    pub map: TensorDesc,
    pub params: PeakParams,
    /// The shape, if all dimensions are known.
    pub shape: Option<MapShape>,
    pub channels: Option<usize>,
    input: [usize; 2],
}

impl Announced {
    /// As `PeakFinder::new`.
    pub fn new(map: &TensorDesc, input: [usize; 2], params: PeakParams) -> Result<Self, PeaksError> {
        if !matches!(map.ty, TensorType::Float32 | TensorType::Float16) {
            return Err(PeaksError::Type(map.to_string()));
        }
        if params.threshold.is_nan() {
            return Err(PeaksError::Threshold);
        }
        if params.top_k == 0 {
            return Err(PeaksError::TopK);
        }
        if !BLUR.contains(&params.blur) || params.blur.is_multiple_of(2) {
            return Err(PeaksError::Blur(params.blur));
        }
        if let Some(sigma) = params.sigma.filter(|sigma| !BLUR_SIGMA.contains(sigma)) {
            return Err(PeaksError::Sigma(sigma.to_string()));
        }
        if !(-1e3..=1e3).contains(&params.offset_scale) {
            return Err(PeaksError::OffsetScale(params.offset_scale.to_string()));
        }
        if let Some(stride) = params.stride {
            if !STRIDE.contains(&stride) {
                return Err(PeaksError::Stride(stride.to_string()));
            }
            if matches!(params.grid, Some(Grid::Corners | Grid::Udp)) {
                return Err(PeaksError::StrideOfCorners);
            }
        }
        if input.contains(&0) || map.dims.contains(&Some(0)) {
            return Err(PeaksError::Empty(map.to_string(), input[0], input[1]));
        }
        let image = match map.dims.as_slice() {
            [Some(n), ..] if map.dims.len() == 4 && *n != 1 => {
                return Err(PeaksError::Batch(map.to_string(), *n));
            }
            [_, a, b, c] | [a, b, c] => [*a, *b, *c],
            _ => return Err(PeaksError::Rank(map.to_string())),
        };
        let shape = match image {
            [Some(a), Some(b), Some(c)] => Some(MapShape::read(map, [a, b, c], input, &params)?),
            _ => None,
        };
        let channels = shape.map(|shape| shape.channels).or(match params.layout {
            Some(Layout::Nchw) => image[0],
            Some(Layout::Nhwc) => image[2],
            None => None,
        });
        Ok(Self { map: map.clone(), params, shape, channels, input })
    }

    /// The shape of the map that arrived; errors as those of `PeakFinder::run`.
    pub fn read(&self, name: &str, ty: TensorType, dims: &[usize]) -> Result<MapShape, PeaksError> {
        let announced = &self.map.dims;
        let same = ty == self.map.ty
            && dims.len() == announced.len()
            && dims.iter().zip(announced).all(|(got, want)| want.is_none_or(|want| want == *got));
        let got = || TensorDesc::fixed(name, ty, dims);
        if !same {
            return Err(PeaksError::Changed { got: got().to_string(), declared: self.map.to_string() });
        }
        let image = match *dims {
            _ if dims.contains(&0) => {
                return Err(PeaksError::Empty(got().to_string(), self.input[0], self.input[1]));
            }
            [n, ..] if n != 1 && dims.len() == 4 => {
                return Err(PeaksError::Batch(got().to_string(), n));
            }
            [_, a, b, c] | [a, b, c] => [a, b, c],
            _ => return Err(PeaksError::Rank(got().to_string())),
        };
        MapShape::read(&self.map, image, self.input, &self.params)
    }

    /// The shape of this output beside the shape of the confidence maps, whose stride is the stated one.
    pub fn beside(&self, shape: MapShape, maps: &MapShape) -> MapShape {
        if self.params.stride.is_some() { shape.spread_over(maps) } else { shape }
    }

    /// As [`Self::read`] for a tensor on the GPU that holds at least `wanted` frames along the first of its four dimensions; a
    /// tensor of three dimensions is one frame's.
    pub fn read_rows(&self, map: &DeviceTensor<'_>, wanted: usize) -> Result<MapShape, PeaksError> {
        let (frames, first) = match *map.dims {
            [frames, _, _, _] => (frames, map.row(0).unwrap_or(*map)),
            _ => (1, *map),
        };
        let shape = self.read(first.name, first.ty, &first.dims)?;
        if frames < wanted {
            let got = TensorDesc::fixed(map.name, map.ty, &map.dims);
            return Err(PeaksError::Rows { got: got.to_string(), wanted });
        }
        Ok(shape)
    }
}
