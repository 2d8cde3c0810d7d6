//! The output with an offset for each cell of each map, for [`super::Refinement::Offsets`].

use super::grid::MapShape;
use super::{PeakParams, PeaksError, Refinement};
use crate::device::DeviceTensor;
use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorType, TensorView};

/// Offsets of the cells of a map `[1, C, H, W]`: `[1, 2C, H, W]` of the same type, in units of [`PeakParams::offset_scale`]. Of map
/// `c`, channel `2c` is across and `2c + 1` down. With the channels last both have them last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offsets;

impl Offsets {
    /// `None` where the refinement needs none.
    ///
    /// # Errors
    /// [`PeaksError::NoOffsets`] where it needs them and there are none, and [`PeaksError::Offsets`] where their known dimensions are
    /// not those of `map` with twice the channels.
    pub fn announced(
        map: &TensorDesc,
        offsets: Option<&TensorDesc>,
        params: &PeakParams,
    ) -> Result<Option<Self>, PeaksError> {
        let desc = match (params.refinement, offsets) {
            (Refinement::Offsets, Some(desc)) => desc,
            (Refinement::Offsets, None) => return Err(PeaksError::NoOffsets(map.to_string())),
            _ => return Ok(None),
        };
        // Which dimension counts the channels is known when the map's shape is.
        let fits = |channels: usize| {
            let mut pairs = desc.dims.iter().zip(&map.dims).enumerate();
            pairs.all(|(i, (offset, map))| {
                let times = if i == channels { 2 } else { 1 };
                offset.zip(*map).is_none_or(|(offset, map)| offset == times * map)
            })
        };
        let rank = map.dims.len();
        let fits = rank.checked_sub(3).is_some_and(fits) || rank.checked_sub(1).is_some_and(fits);
        if desc.ty != map.ty || desc.dims.len() != rank || !fits {
            return Err(Self::wrong(desc.to_string(), map));
        }
        Ok(Some(Self))
    }

    fn wrong(got: String, map: &TensorDesc) -> PeaksError {
        PeaksError::Offsets { got, map: map.to_string() }
    }

    /// Whether offsets of this type and these dimensions, without those of a batch, are those of a map of this shape.
    fn fits(ty: TensorType, dims: &[usize], map: TensorType, shape: &MapShape) -> bool {
        let MapShape { channels, width, height, .. } = *shape;
        let wanted = match shape.layout {
            Layout::Nchw => [2 * channels, height, width],
            Layout::Nhwc => [height, width, 2 * channels],
        };
        ty == map && dims == wanted
    }

    /// The values of one frame's offsets.
    ///
    /// # Errors
    /// [`PeaksError::Offsets`] where they are not those of the map.
    pub fn values<'a>(
        &self,
        offsets: Option<&'a TensorView<'_>>,
        map: &TensorDesc,
        shape: &MapShape,
    ) -> Result<std::borrow::Cow<'a, [f32]>, PeaksError> {
        let view = offsets.ok_or_else(|| Self::wrong("nothing".into(), map))?;
        let dims = view.dims.len().checked_sub(3).map(|first| &view.dims[first..]).unwrap_or_default();
        let alone = view.dims.len() == 3 || view.dims.first() == Some(&1);
        if !alone || !Self::fits(view.ty, dims, map.ty, shape) {
            return Err(Self::wrong(TensorDesc::fixed(view.name, view.ty, &view.dims).to_string(), map));
        }
        Ok(view.to_f32())
    }

    /// Where the offsets of at least `frames` frames lie on the GPU.
    ///
    /// # Errors
    /// [`PeaksError::Offsets`] where they are not those of the map.
    pub fn pointer(
        &self,
        offsets: Option<&DeviceTensor<'_>>,
        map: &TensorDesc,
        shape: &MapShape,
        frames: usize,
    ) -> Result<u64, PeaksError> {
        let tensor = offsets.ok_or_else(|| Self::wrong("nothing".into(), map))?;
        let dims = tensor.dims.len().checked_sub(3).map(|first| &tensor.dims[first..]).unwrap_or_default();
        let rows = if tensor.dims.len() == 3 { 1 } else { tensor.dims.first().copied().unwrap_or(0) };
        if rows < frames || !Self::fits(tensor.ty, dims, map.ty, shape) {
            return Err(Self::wrong(
                TensorDesc::fixed(tensor.name, tensor.ty, &tensor.dims).to_string(),
                map,
            ));
        }
        Ok(tensor.pointer())
    }
}

/// The offset of a cell (`y * width + x`) of a channel, in cells; 0 where it is not finite.
pub(super) fn in_cells(
    values: &[f32],
    shape: &MapShape,
    params: &PeakParams,
    channel: usize,
    cell: usize,
) -> (f64, f64) {
    let cells = shape.width * shape.height;
    let at = |axis: usize| match shape.layout {
        Layout::Nchw => (2 * channel + axis) * cells + cell,
        Layout::Nhwc => cell * 2 * shape.channels + 2 * channel + axis,
    };
    let along = |axis: usize| {
        let value = values.get(at(axis)).copied().filter(|v| v.is_finite()).unwrap_or(0.0);
        f64::from(value) * f64::from(params.offset_scale) / shape.scale[axis]
    };
    (along(0), along(1))
}
