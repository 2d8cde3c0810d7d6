//! Masks painted on a frame in host memory.

use super::DrawError;
use super::canvas::{Canvas, Samples};
use super::mask::{CLASSES, COVER, INTO_ALPHA, Mask, Piece, palette};
use super::surface::Surface;
use crate::frame::{FrameFormat, FrameMut};

/// Paints `masks` in order on `frame`, which is of `format`: each channel becomes
/// `(frame * (255 - a) + color * a) / 255`, rounded, with `a` the mask's value times its opacity; on its outline 255 times that of
/// the outline. A chroma sample at half
/// resolution gets the paint of the top-left one of its pixels.
///
/// # Errors
/// [`DrawError`]; nothing is painted then.
pub fn paint_masks(
    format: &FrameFormat,
    frame: &mut FrameMut<'_>,
    masks: &[Mask<&[u8]>],
) -> Result<(), DrawError> {
    let mut surface = Surface::new(format, frame)?;
    let layout = *surface.layout();
    let pieces = masks.iter().map(|mask| Piece::new(&layout, mask, mask.data.len()));
    let pieces = pieces.collect::<Result<Vec<_>, _>>()?;
    let palette = palette(&layout);
    for (piece, mask) in pieces.iter().zip(masks) {
        if let Some(piece) = piece {
            paint(&mut surface, piece, mask.data, &palette);
        }
    }
    Ok(())
}

/// Where a pixel's centre lies on one axis of a mask.
#[derive(Clone, Copy)]
struct Tap {
    /// The sample that the centre lies in.
    nearest: usize,
    /// The two samples between whose centres it lies, and how far it is from the first.
    between: [usize; 2],
    fraction: f32,
}

impl Tap {
    /// The tap of pixel `index` on an axis, counted from the piece's first.
    fn new(piece: &Piece, axis: usize, index: i32) -> Self {
        let count = if axis == 0 { piece.width } else { piece.height };
        let at = piece.start[axis] + index as f32 * piece.step[axis];
        let sample = |i: i32| usize::try_from(i.clamp(0, count - 1)).unwrap_or(0);
        let first = floor(at - 0.5);
        Self {
            nearest: sample(floor(at)),
            between: [sample(first), sample(first.saturating_add(1))],
            fraction: at - 0.5 - first as f32,
        }
    }
}

fn floor(v: f32) -> i32 {
    let whole = v as i32;
    whole - i32::from(whole as f32 > v)
}

/// The mask's value at a pixel, interpolated: 0..255.
fn value(data: &[u8], width: usize, x: &Tap, y: &Tap) -> u32 {
    let sample = |row: usize, column: usize| f32::from(data[y.between[row] * width + x.between[column]]);
    let across = |row| sample(row, 0) + (sample(row, 1) - sample(row, 0)) * x.fraction;
    let (above, below) = (across(0), across(1));
    (above + (below - above) * y.fraction + 0.5) as u32
}

fn blend(old: &mut u8, ink: u32, a: u32) {
    *old = ((u32::from(*old) * (255 - a) + (ink & 255) * a + 127) / 255) as u8;
}

/// What each pixel of a piece is, row by row: a class, whether it is painted, or how much of the colour there is.
struct Levels {
    levels: Vec<u8>,
    columns: usize,
    kind: u32,
    background: u32,
    outline: usize,
}

impl Levels {
    fn new(piece: &Piece, data: &[u8]) -> Self {
        let width = usize::try_from(piece.width).unwrap_or(0);
        let taps = |axis, from: i32, to: i32| (0..to - from).map(move |i| Tap::new(piece, axis, i));
        let across: Vec<_> = taps(0, piece.left, piece.right).collect();
        let kind = piece.kind % INTO_ALPHA;
        let mut levels = Vec::with_capacity(across.len() * taps(1, piece.top, piece.bottom).count());
        for down in taps(1, piece.top, piece.bottom) {
            if kind == COVER {
                levels.extend(across.iter().map(|across| value(data, width, across, &down) as u8));
            } else {
                let row = &data[down.nearest * width..][..width];
                levels.extend(across.iter().map(|across| row[across.nearest]));
            }
        }
        let outline = usize::try_from(piece.outline).unwrap_or(0);
        Self { levels, columns: across.len(), kind, background: piece.background, outline }
    }

    fn at(&self, x: usize, y: usize) -> u8 {
        self.levels[y * self.columns + x]
    }

    /// How much of the ink a level is, in 255ths.
    fn strength(&self, level: u8) -> u32 {
        match self.kind {
            COVER => level.into(),
            _ if u32::from(level) == self.background => 0,
            _ => 255,
        }
    }

    /// Which part of the mask a pixel belongs to; an outline runs along its border.
    fn part(&self, x: usize, y: usize) -> u32 {
        let level = u32::from(self.at(x, y));
        match self.kind {
            COVER => (level >= 128).into(),
            CLASSES => level,
            _ => (level != self.background).into(),
        }
    }

    /// Whether a pixel is at most as far from the border of its part of the mask as the outline is wide, across or down.
    fn on_outline(&self, x: usize, y: usize) -> bool {
        let (far, part) = (self.outline, self.part(x, y));
        let (right, bottom) = (self.columns - 1, self.levels.len() / self.columns - 1);
        self.part(x.saturating_sub(far), y) != part
            || self.part((x + far).min(right), y) != part
            || self.part(x, y.saturating_sub(far)) != part
            || self.part(x, (y + far).min(bottom)) != part
    }
}

fn paint(surface: &mut Surface<'_, '_>, piece: &Piece, data: &[u8], palette: &[u32; 256]) {
    let samples = surface.layout().samples;
    let levels = Levels::new(piece, data);
    let pixels =
        |from: i32, to: i32| (0..).zip(usize::try_from(from).unwrap_or(0)..usize::try_from(to).unwrap_or(0));
    let (kind, into_alpha) = (piece.kind % INTO_ALPHA, piece.kind >= INTO_ALPHA);
    let frame = &mut *surface.frame;
    for (row, y) in pixels(piece.top, piece.bottom) {
        for (column, x) in pixels(piece.left, piece.right) {
            let level = levels.at(column, row);
            let ink = if kind == CLASSES { palette[usize::from(level)] } else { piece.ink };
            let (mut value, mut opacity) = (levels.strength(level), piece.opacity);
            if piece.outline > 0 && value >= 128 && levels.on_outline(column, row) {
                (value, opacity) = (255, piece.outline_opacity);
            }
            let a = (value * opacity + 127) / 255;
            if a == 0 && !into_alpha {
                continue;
            }
            let mut put = |plane: usize, at: usize, ink: u32| {
                blend(&mut frame.planes[plane][at], ink, a);
            };
            let chroma = x % 2 == 0 && y % 2 == 0;
            let place = |plane: usize, x: usize, y: usize| y * frame.strides[plane] + x;
            match samples {
                Samples::Packed4 if into_alpha => {
                    let at = place(0, 4 * x + 3, y);
                    frame.planes[0][at] = a as u8;
                }
                Samples::Packed3 | Samples::Packed4 => {
                    let bytes = if matches!(samples, Samples::Packed3) { 3 } else { 4 };
                    let first = place(0, bytes * x, y);
                    (0..bytes).for_each(|i| put(0, first + i, ink >> (8 * i)));
                }
                Samples::Nv12 => {
                    let (luma, both) = (place(0, x, y), place(1, x, y / 2));
                    put(0, luma, ink);
                    if chroma {
                        put(1, both, ink >> 8);
                        put(1, both + 1, ink >> 16);
                    }
                }
                Samples::I420 => {
                    let (luma, cb, cr) = (place(0, x, y), place(1, x / 2, y / 2), place(2, x / 2, y / 2));
                    put(0, luma, ink);
                    if chroma {
                        put(1, cb, ink >> 8);
                        put(2, cr, ink >> 16);
                    }
                }
            }
        }
    }
}
