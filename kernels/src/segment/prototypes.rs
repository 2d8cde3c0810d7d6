//! The masks of single objects, from prototypes that they share.

use super::SegmentError;
use crate::geometry::Rect;
use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorView};

/// Where an object's mask lies among the prototypes' cells, and where its bytes lie: `height` rows of `width` bytes, each 0
/// or 1, from `offset` on. Everything outside the region is 0. An object without any cell has a width and height of 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
#[derive(Debug)]
pub struct Prototypes {}

impl Prototypes {
    /// Prepares for the output `prototypes` of a network whose input is `input` (width, height) pixels. `layout`: as
    /// [`super::Params::layout`].
    ///
    /// # Errors
    /// Every [`SegmentError`] that says what is wrong with `prototypes`.
    pub fn new(
        prototypes: &TensorDesc,
        input: [usize; 2],
        layout: Option<Layout>,
    ) -> Result<Self, SegmentError> {
        let _ = (prototypes, input, layout);
        unimplemented!()
    }

    /// The prototypes' width and height in cells. They cover the input tensor.
    pub fn size(&self) -> [usize; 2] {
        unimplemented!()
    }

    /// How many coefficients an object has.
    pub fn coefficients(&self) -> usize {
        unimplemented!()
    }

    /// Replaces `regions` by those of the objects in `boxes`, which are in pixels of the input tensor, and returns how many
    /// bytes all masks have together. A box that is not finite has no cells.
    pub fn regions(&self, boxes: &[Rect], regions: &mut Vec<Region>) -> usize {
        let _ = (boxes, regions);
        unimplemented!()
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
        let _ = (prototypes, coefficients, regions, masks);
        unimplemented!()
    }
}
