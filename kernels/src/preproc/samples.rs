//! Reading the samples of a frame's row as floats, for every pixel format.

use multiversion::multiversion;

use crate::frame::{Frame, PixelFormat};

/// Where one component's samples lie. A new pixel format is a line in [`components`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Component {
    /// Plane it lies in.
    pub plane: usize,
    /// Bytes from one of its samples to the next.
    pub group: usize,
    /// Bytes before its first sample.
    pub offset: usize,
    /// One sample for two pixels of a row.
    pub half_columns: bool,
    /// One row of samples for two rows of pixels.
    pub half_rows: bool,
    /// 10 bits in the high bits of a little-endian 16-bit word, instead of a byte.
    wide: bool,
}

impl Component {
    /// Whether its samples are words.
    pub fn is_wide(&self) -> bool {
        self.wide
    }

    /// The component read as bytes: for words, the upper byte.
    pub fn upper_byte(self) -> Self {
        Self { offset: self.offset + usize::from(self.wide), wide: false, ..self }
    }

    /// Its sample for pixel `x` of a row of its plane, in the 8-bit scale. `WIDE` is that of [`Component::is_wide`].
    #[inline(always)]
    pub fn sample<const WIDE: bool>(&self, row: &[u8], x: usize) -> f32 {
        let at = (x >> usize::from(self.half_columns)) * self.group + self.offset;
        if WIDE {
            f32::from(u16::from_le_bytes([row[at], row[at + 1]]) >> 6) * 0.25
        } else {
            f32::from(row[at])
        }
    }
}

/// Red, green, blue; or luma, Cb, Cr; or luma alone.
pub(crate) fn components(format: PixelFormat) -> Vec<Component> {
    let full = |plane, group, offset| Component {
        plane,
        group,
        offset,
        half_columns: false,
        half_rows: false,
        wide: false,
    };
    let c422 = |plane, group, offset| Component { half_columns: true, ..full(plane, group, offset) };
    let c420 = |plane, group, offset| Component { half_rows: true, ..c422(plane, group, offset) };
    let wide = |component| Component { wide: true, ..component };
    let packed = |group, r, g, b| vec![full(0, group, r), full(0, group, g), full(0, group, b)];
    match format {
        PixelFormat::Nv12 => vec![full(0, 1, 0), c420(1, 2, 0), c420(1, 2, 1)],
        PixelFormat::I420 => vec![full(0, 1, 0), c420(1, 1, 0), c420(2, 1, 0)],
        PixelFormat::P010Le => vec![wide(full(0, 2, 0)), wide(c420(1, 4, 0)), wide(c420(1, 4, 2))],
        PixelFormat::Yuy2 => vec![full(0, 2, 0), c422(0, 4, 1), c422(0, 4, 3)],
        PixelFormat::Rgb => packed(3, 0, 1, 2),
        PixelFormat::Bgr => packed(3, 2, 1, 0),
        PixelFormat::Rgba | PixelFormat::Rgbx => packed(4, 0, 1, 2),
        PixelFormat::Bgra | PixelFormat::Bgrx => packed(4, 2, 1, 0),
        PixelFormat::Gray8 => vec![full(0, 1, 0)],
    }
}

/// The source columns that are read.
#[derive(Debug)]
pub(super) enum Columns {
    /// All from `first` (even, so that a chroma sample begins with it), `len` of them.
    Dense {
        /// First column.
        first: usize,
        /// Number of columns.
        len: usize,
    },
    /// These, ascending.
    Sparse(Vec<usize>),
}

impl Columns {
    /// The cheaper way to read the columns `needed` (ascending, not empty).
    pub fn new(needed: Vec<usize>) -> Self {
        let (Some(first), Some(last)) = (needed.first(), needed.last()) else {
            return Self::Sparse(needed);
        };
        let first = first & !1;
        let len = last + 1 - first;
        // Reading a whole row costs about half as much a pixel as reading pixels by index.
        if 2 * needed.len() <= len { Self::Sparse(needed) } else { Self::Dense { first, len } }
    }

    /// Number of columns read.
    pub fn len(&self) -> usize {
        match self {
            Self::Dense { len, .. } => *len,
            Self::Sparse(columns) => columns.len(),
        }
    }

    /// Where the source column `x`, one of those needed, lies among the columns read.
    pub fn position(&self, x: usize) -> usize {
        match self {
            Self::Dense { first, .. } => x - first,
            Self::Sparse(columns) => columns.partition_point(|c| *c < x),
        }
    }
}

/// Reads the component's samples for row `y` of pixels into `out`, one a column, in the 8-bit scale (0..255, ten bits
/// as quarters).
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn read(component: &Component, frame: &Frame<'_>, y: usize, columns: &Columns, out: &mut [f32]) {
    let row = frame.row(component.plane, if component.half_rows { y / 2 } else { y });
    match (component.wide, component.group) {
        (false, 1) => bytes::<1>(row, component, columns, out),
        (false, 2) => bytes::<2>(row, component, columns, out),
        (false, 3) => bytes::<3>(row, component, columns, out),
        (false, _) => bytes::<4>(row, component, columns, out),
        (true, 2) => words::<2>(row, component, columns, out),
        (true, _) => words::<4>(row, component, columns, out),
    }
}

#[inline(always)]
fn bytes<const GROUP: usize>(row: &[u8], component: &Component, columns: &Columns, out: &mut [f32]) {
    // The minimum changes nothing, but lets the compiler drop the bounds check.
    let at = component.offset.min(GROUP - 1);
    fill::<GROUP>(row, component, columns, out, |group| f32::from(group[at]));
}

#[inline(always)]
fn words<const GROUP: usize>(row: &[u8], component: &Component, columns: &Columns, out: &mut [f32]) {
    let at = component.offset.min(GROUP - 2);
    fill::<GROUP>(row, component, columns, out, |group| {
        f32::from(u16::from_le_bytes([group[at], group[at + 1]]) >> 6) * 0.25
    });
}

#[inline(always)]
fn fill<const GROUP: usize>(
    row: &[u8],
    component: &Component,
    columns: &Columns,
    out: &mut [f32],
    sample: impl Fn(&[u8; GROUP]) -> f32,
) {
    let (groups, _) = row.as_chunks::<GROUP>();
    match (columns, component.half_columns) {
        (Columns::Dense { first, .. }, false) => {
            for (value, group) in out.iter_mut().zip(&groups[*first..]) {
                *value = sample(group);
            }
        }
        (Columns::Dense { first, .. }, true) => {
            let groups = &groups[first / 2..];
            let (pairs, last) = out.as_chunks_mut::<2>();
            for (pair, group) in pairs.iter_mut().zip(groups) {
                *pair = [sample(group); 2];
            }
            if let ([value], Some(group)) = (last, groups.get(pairs.len())) {
                *value = sample(group);
            }
        }
        (Columns::Sparse(columns), half) => {
            for (value, x) in out.iter_mut().zip(columns) {
                *value = sample(&groups[x >> usize::from(half)]);
            }
        }
    }
}
