//! A mask on a frame: which sample a pixel takes, and how that changes the pixel. The kernel (`cuda/masks.cu`) does the same
//! operations in the same order, so host and device paint the same bytes.

use super::canvas::Layout;
use super::pixels::pixels;
use super::{DrawError, Rgb, color_of};
use crate::device::DeviceSlice;
use crate::frame::PixelFormat;
use crate::geometry::Rect;

/// What a mask's bytes mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaskInk {
    /// The number of a class, painted in that number's [`color_of`]; those of the background are left out. A pixel takes the
    /// sample that it lies in.
    Classes {
        /// The class that is not painted, if there is one.
        background: Option<u8>,
    },
    /// Painted in this colour where it is not 0. A pixel takes the sample that it lies in.
    Solid(Rgb),
    /// How much of this colour there is, from 0 to 255, interpolated linearly between the samples' centres.
    Cover(Rgb),
}

/// A line along the border of a mask, on its inner side: between classes, or where there is half as much of the colour as there can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaskOutline {
    /// In pixels of the frame; 0 for none.
    pub width: u32,
    /// How much of the frame it hides: 0 nothing, 255 all.
    pub opacity: u8,
}

/// A mask, and where it lies on the frame. `D` is its data, `[height, width]`: `&[u8]` or [`MaskData`].
#[derive(Clone, Copy, Debug)]
pub struct Mask<D> {
    /// A byte a sample, rows one after the other without a gap.
    pub data: D,
    /// Samples in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The rectangle that the mask covers, in pixels of the frame. A pixel is painted if its centre lies inside. Nothing is
    /// painted if a number is not finite, or a size not above 0.
    pub rect: Rect,
    /// What the bytes mean.
    pub ink: MaskInk,
    /// How much of the frame the mask hides where its coverage is full: 0 nothing, 255 all.
    pub opacity: u8,
    /// The mask's outline.
    pub outline: MaskOutline,
    /// Write how much the mask hides into the frame's alpha channel instead, and leave the colours.
    pub into_alpha: bool,
}

impl<D> Mask<D> {
    /// The same mask with other data.
    pub fn with_data<E>(&self, data: E) -> Mask<E> {
        let Self { width, height, rect, ink, opacity, outline, into_alpha, .. } = *self;
        Mask { data, width, height, rect, ink, opacity, outline, into_alpha }
    }
}

/// A mask's samples for painting on the GPU.
#[derive(Clone, Copy, Debug)]
pub enum MaskData<'a> {
    /// On the host: they are uploaded with each frame.
    Host(&'a [u8]),
    /// On the device. Work that writes them must be ordered with the painting.
    Device(DeviceSlice<'a>),
}

impl MaskData<'_> {
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Host(bytes) => bytes.len(),
            Self::Device(slice) => slice.bytes(),
        }
    }
}

/// Values of [`Piece::kind`], as in [`MaskInk`]. The flag [`INTO_ALPHA`] may be added.
pub(super) const CLASSES: u32 = 0;
pub(super) const SOLID: u32 = 1;
pub(super) const COVER: u32 = 2;
pub(super) const INTO_ALPHA: u32 = 4;

/// The widest outline, wider than frames are, which keeps sums within i32.
const WIDEST: u32 = 1 << 20;

/// A mask as it is painted: the kernel's `Piece`. The rectangle is within the frame; its right and bottom are outside it.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct Piece {
    /// The samples' address on the device; for masks on the host, their place in the frame's upload, or 0.
    pub data: u64,
    pub left: i32,
    pub top: i32,
    pub right: i32,
    pub bottom: i32,
    /// Where the first pixel's centre lies on the mask, in x and y: sample `i` covers `[i, i + 1)`.
    pub start: [f32; 2],
    /// Samples from pixel to pixel.
    pub step: [f32; 2],
    pub width: i32,
    pub height: i32,
    pub kind: u32,
    /// The sample that is not painted; 256 for none.
    pub background: u32,
    /// The colour's bytes, the first lowest; the colours of classes are in the palette.
    pub ink: u32,
    pub opacity: u32,
    /// Width of the outline in pixels.
    pub outline: i32,
    pub outline_opacity: u32,
}
const _: () = assert!(size_of::<Piece>() == 72);

impl Piece {
    /// `None` where nothing of the mask is on the frame.
    ///
    /// # Errors
    /// [`DrawError::Mask`] where `bytes` are not as many as the mask's sizes say, [`DrawError::NoAlpha`].
    pub fn new<D>(layout: &Layout, mask: &Mask<D>, bytes: usize) -> Result<Option<Self>, DrawError> {
        let Mask { width, height, rect, .. } = *mask;
        let side = |v: usize| i32::try_from(v).unwrap_or(0);
        if width.checked_mul(height) != Some(bytes) || (side(width) == 0) != (width == 0) {
            return Err(DrawError::Mask { width, height, bytes });
        }
        let alpha = matches!(layout.format.pixels, PixelFormat::Rgba | PixelFormat::Bgra);
        if mask.into_alpha && !alpha {
            return Err(DrawError::NoAlpha(layout.format.pixels));
        }
        let [x, y, w, h] = [rect.x, rect.y, rect.w, rect.h].map(f64::from);
        if ![x, y, w, h].iter().all(|v| v.is_finite()) || w <= 0.0 || h <= 0.0 || bytes == 0 {
            return Ok(None);
        }
        let Some([columns, rows]) = layout.clip(pixels(x, x + w), pixels(y, y + h)) else { return Ok(None) };
        let steps = [width as f64 / w, height as f64 / h];
        let ink = |color| u32::from_le_bytes(layout.ink(color).0);
        let (kind, background, ink) = match mask.ink {
            MaskInk::Classes { background } => (CLASSES, background.map_or(256, u32::from), 0),
            MaskInk::Solid(color) => (SOLID, 0, ink(color)),
            MaskInk::Cover(color) => (COVER, 0, ink(color)),
        };
        Ok(Some(Self {
            data: 0,
            left: side(columns.start),
            top: side(rows.start),
            right: side(columns.end),
            bottom: side(rows.end),
            start: [
                ((columns.start as f64 + 0.5 - x) * steps[0]) as f32,
                ((rows.start as f64 + 0.5 - y) * steps[1]) as f32,
            ],
            step: steps.map(|v| v as f32),
            width: side(width),
            height: side(height),
            kind: kind + if mask.into_alpha { INTO_ALPHA } else { 0 },
            background,
            ink,
            opacity: mask.opacity.into(),
            outline: i32::try_from(mask.outline.width.min(WIDEST)).unwrap_or(0),
            outline_opacity: mask.outline.opacity.into(),
        }))
    }
}

/// The classes' colours as a layout writes them, one for each byte.
pub(super) fn palette(layout: &Layout) -> [u32; 256] {
    std::array::from_fn(|class| u32::from_le_bytes(layout.ink(color_of(class as u64)).0))
}
