//! Masks painted on a frame in host memory.

use super::DrawError;
use super::canvas::{Canvas, Samples};
use super::mask::{CLASSES, COVER, INTO_ALPHA, Mask, Piece, palette};
use super::surface::Surface;
use crate::frame::{FrameFormat, FrameMut};

/// Paints `masks` in order on `frame`, which is of `format`: each channel becomes
/// `(frame * (255 - a) + color * a) / 255`, rounded, with `a` the mask's value times its opacity. A chroma sample at half
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

fn paint(surface: &mut Surface<'_, '_>, piece: &Piece, data: &[u8], palette: &[u32; 256]) {
    let samples = surface.layout().samples;
    let width = usize::try_from(piece.width).unwrap_or(0);
    let taps = |axis, from: i32, to: i32| {
        (from..to).map(move |i| (usize::try_from(i).unwrap_or(0), Tap::new(piece, axis, i - from)))
    };
    let columns: Vec<_> = taps(0, piece.left, piece.right).collect();
    let (kind, into_alpha) = (piece.kind % INTO_ALPHA, piece.kind >= INTO_ALPHA);
    let frame = &mut *surface.frame;
    for (y, down) in taps(1, piece.top, piece.bottom) {
        for (x, across) in &columns {
            let x = *x;
            let (ink, value) = if kind == COVER {
                (piece.ink, value(data, width, across, &down))
            } else {
                let sample = data[down.nearest * width + across.nearest];
                let ink = if kind == CLASSES { palette[usize::from(sample)] } else { piece.ink };
                (ink, if u32::from(sample) == piece.background { 0 } else { 255 })
            };
            let a = (value * piece.opacity + 127) / 255;
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
