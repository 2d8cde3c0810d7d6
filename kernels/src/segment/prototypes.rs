//! The masks of single objects, from prototypes that they share.

use multiversion::multiversion;

use super::SegmentError;
use super::plan::{Announced, TensorShape};
use crate::geometry::Rect;
use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorView};

/// Where an object's mask lies among the prototypes' cells, and where its bytes lie: `height` rows of `width` bytes, each 0
/// or 1, from `offset` on. Everything outside the region is 0. An object without any cell has a width and height of 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Region {
    /// First cell across.
    pub x: u32,
    /// First cell down.
    pub y: u32,
    /// Cells across.
    pub width: u32,
    /// Cells down.
    pub height: u32,
    /// Its first byte among those of all objects.
    pub offset: u32,
}

/// Makes the masks of single objects from the prototypes `[1, M, h, w]` (or `[1, h, w, M]`) of a frame and the `M`
/// coefficients of each object, as YOLO's segmentation models encode them (YOLACT, Bolya et al., ICCV 2019).
///
/// A cell is 1 where the sum of prototypes times coefficients is above 0, which is where its sigmoid is above 0.5, and the
/// cell lies in the object's box: `x1 <= i < x2` with the box in the prototypes' cells and `i` the cell's number, as
/// Ultralytics' `crop_mask` has it. The sum is in float32, in the order of the prototypes.
#[derive(Clone, Debug)]
pub struct Prototypes {
    pub(super) announced: Announced,
    input: [usize; 2],
}

impl Prototypes {
    /// Prepares for the output `prototypes` of a network whose input is `input` (width, height) pixels. `layout`: as
    /// [`super::SegmentParams::layout`].
    ///
    /// # Errors
    /// Every [`SegmentError`] that says what is wrong with `prototypes`.
    pub fn new(
        prototypes: &TensorDesc,
        input: [usize; 2],
        layout: Option<Layout>,
    ) -> Result<Self, SegmentError> {
        Ok(Self { announced: Announced::new(prototypes, input, layout)?, input })
    }

    /// The prototypes' width and height in cells. They cover the input tensor.
    pub fn size(&self) -> [usize; 2] {
        let TensorShape { width, height, .. } = self.announced.shape;
        [width, height]
    }

    /// How many coefficients an object has.
    pub fn coefficients(&self) -> usize {
        self.announced.shape.channels
    }

    /// Replaces `regions` by those of the objects in `boxes`, which are in pixels of the input tensor, and returns how many
    /// bytes all masks have together. A box with a corner of NaN has no cells.
    pub fn regions(&self, boxes: &[Rect], regions: &mut Vec<Region>) -> usize {
        let size = self.size();
        let mut bytes = 0;
        regions.clear();
        regions.extend(boxes.iter().map(|object| {
            let span = |axis: usize, from: f32, to: f32| {
                let unit = (size[axis] as f64 / self.input[axis] as f64) as f32;
                // `as` saturates: a box left of the mask begins at 0, and NaN ends there.
                let [first, end] = [from, to].map(|v| ((v * unit).ceil() as usize).min(size[axis]));
                if from.is_nan() { (0, 0) } else { (first, end.saturating_sub(first)) }
            };
            let (x, width) = span(0, object.x, object.right());
            let (y, height) = span(1, object.y, object.bottom());
            let (width, height) = if width == 0 || height == 0 { (0, 0) } else { (width, height) };
            let [x, y, width_, height_, offset] = [x, y, width, height, bytes].map(number);
            bytes += width * height;
            Region { x, y, width: width_, height: height_, offset }
        }));
        bytes
    }

    /// Writes the masks of all objects to `masks`; `coefficients` are `[n, M]`.
    ///
    /// # Errors
    /// [`SegmentError::Changed`] where `prototypes` is not what was announced, [`SegmentError::Instances`] where the sizes
    /// do not go together.
    pub fn run(
        &self,
        prototypes: &TensorView<'_>,
        coefficients: &[f32],
        regions: &[Region],
        masks: &mut [u8],
    ) -> Result<(), SegmentError> {
        self.announced.check(prototypes.name, prototypes.ty, &prototypes.dims)?;
        self.check(coefficients.len(), regions, masks.len())?;
        let TensorShape { channels, width, .. } = self.announced.shape;
        let values = prototypes.to_f32();
        let mut sums = vec![0f32; width];
        for (region, coefficients) in regions.iter().zip(coefficients.chunks_exact(channels)) {
            let Region { x, y, width: w, height: h, offset } = *region;
            let [x, y, w, h, offset] = [x, y, w, h, offset].map(|n| n as usize);
            for (row, out) in masks[offset..][..w * h].chunks_exact_mut(w.max(1)).enumerate() {
                let first = (y + row) * width + x;
                let sums = &mut sums[..w];
                self.sums(&values, coefficients, first, sums);
                out.iter_mut().zip(sums).for_each(|(out, sum)| *out = u8::from(*sum > 0.0));
            }
        }
        Ok(())
    }

    /// Writes the sums of all prototypes times `coefficients` of neighbouring cells, from cell `first` on.
    pub(super) fn sums(&self, values: &[f32], coefficients: &[f32], first: usize, sums: &mut [f32]) {
        let TensorShape { layout, channels, .. } = self.announced.shape;
        match layout {
            Layout::Nchw => {
                let cells = self.announced.shape.cells();
                sums.fill(0.0);
                for (m, c) in coefficients.iter().enumerate() {
                    add(sums, &values[m * cells + first..][..sums.len()], *c);
                }
            }
            Layout::Nhwc => {
                let values = values[first * channels..].chunks_exact(channels);
                for (sum, values) in sums.iter_mut().zip(values) {
                    *sum = values.iter().zip(coefficients).fold(0.0, |sum, (v, c)| sum + v * c);
                }
            }
        }
    }

    /// Checks that the regions are as valid as those of [`Prototypes::regions`], and that there is room for them.
    pub(super) fn check(
        &self,
        coefficients: usize,
        regions: &[Region],
        room: usize,
    ) -> Result<(), SegmentError> {
        let TensorShape { channels, width, height, .. } = self.announced.shape;
        let mut bytes = 0;
        let fit = regions.iter().all(|region| {
            let inside = |first: u32, n: u32, size: usize| {
                (first as usize).checked_add(n as usize).is_some_and(|end| end <= size)
            };
            let follows = region.offset as usize == bytes;
            bytes += region.width as usize * region.height as usize;
            follows && inside(region.x, region.width, width) && inside(region.y, region.height, height)
        });
        if fit && bytes == room && u32::try_from(bytes).is_ok() && coefficients == regions.len() * channels {
            return Ok(());
        }
        Err(SegmentError::Instances { regions: regions.len(), bytes, coefficients, each: channels, room })
    }
}

/// `sums + values * factor`, rounded twice.
#[multiversion(targets("x86_64+avx2"))]
fn add(sums: &mut [f32], values: &[f32], factor: f32) {
    for (sum, v) in sums.iter_mut().zip(values) {
        *sum += v * factor;
    }
}

/// Numbers that are too large are refused when they are used.
fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
