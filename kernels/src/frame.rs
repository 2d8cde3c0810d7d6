//! Video frames as they lie in memory, without GStreamer.

/// Pixel formats, named as GStreamer's `GstVideoFormat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum PixelFormat {
    Nv12,
    I420,
    P010Le,
    Yuy2,
    Rgb,
    Bgr,
    Rgba,
    Bgra,
    Rgbx,
    Bgrx,
    Gray8,
}

impl PixelFormat {
    /// Every format.
    pub const ALL: [Self; 11] = [
        Self::Nv12,
        Self::I420,
        Self::P010Le,
        Self::Yuy2,
        Self::Rgb,
        Self::Bgr,
        Self::Rgba,
        Self::Bgra,
        Self::Rgbx,
        Self::Bgrx,
        Self::Gray8,
    ];

    /// Planes in memory.
    pub fn planes(self) -> usize {
        match self {
            Self::I420 => 3,
            Self::Nv12 | Self::P010Le => 2,
            _ => 1,
        }
    }

    /// Bytes that carry pixels in one row of `plane` of a frame `width` pixels wide (chroma of odd widths rounds up).
    pub fn row_bytes(self, plane: usize, width: usize) -> usize {
        match self {
            Self::Gray8 => width,
            Self::Rgb | Self::Bgr => 3 * width,
            Self::Rgba | Self::Bgra | Self::Rgbx | Self::Bgrx => 4 * width,
            Self::Yuy2 => 4 * width.div_ceil(2),
            Self::I420 if plane > 0 => width.div_ceil(2),
            Self::Nv12 if plane > 0 => 2 * width.div_ceil(2),
            Self::P010Le if plane > 0 => 4 * width.div_ceil(2),
            Self::P010Le => 2 * width,
            Self::I420 | Self::Nv12 => width,
        }
    }

    /// Rows of `plane` of a frame `height` pixels high.
    pub fn rows(self, plane: usize, height: usize) -> usize {
        match self {
            Self::Nv12 | Self::I420 | Self::P010Le if plane > 0 => height.div_ceil(2),
            _ => height,
        }
    }
}

/// The matrix between Y'CbCr and R'G'B' (ITU-R recommendations of these numbers, SMPTE 240M, and FCC Title 47, 73.682).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Matrix {
    Fcc,
    Bt601,
    Smpte240m,
    Bt709,
    Bt2020,
}

impl Matrix {
    /// Every matrix.
    pub const ALL: [Self; 5] = [Self::Fcc, Self::Bt601, Self::Smpte240m, Self::Bt709, Self::Bt2020];

    /// Luma weights of red and blue, `(Kr, Kb)`.
    pub fn weights(self) -> (f64, f64) {
        match self {
            Self::Fcc => (0.30, 0.11),
            Self::Smpte240m => (0.212, 0.087),
            Self::Bt601 => (0.299, 0.114),
            Self::Bt709 => (0.2126, 0.0722),
            Self::Bt2020 => (0.2627, 0.0593),
        }
    }
}

/// Whether luma uses 16..235 of 0..255 or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Range {
    /// "Studio" or "TV" range: luma 16..235, chroma 16..240.
    Limited,
    /// "PC" range: 0..255.
    Full,
}

/// The format of a stream's frames; matrix and range matter to the Y'CbCr formats (and range to grey) only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameFormat {
    /// Layout of the pixels.
    pub pixels: PixelFormat,
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// Y'CbCr matrix.
    pub matrix: Matrix,
    /// Range of the samples.
    pub range: Range,
}

/// A frame to read: one slice and one stride (bytes from row to row) a plane.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    planes: [&'a [u8]; 3],
    strides: [usize; 3],
}

/// A frame to draw on.
#[derive(Debug)]
pub struct FrameMut<'a> {
    /// One slice a plane, long enough for the format it was checked against.
    pub planes: [&'a mut [u8]; 3],
    /// Bytes from row to row.
    pub strides: [usize; 3],
}

/// A plane that is shorter than its format needs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "plane {plane} of a {width}x{height} {pixels:?} frame has {bytes} bytes at a stride of {stride}; it needs {wanted}"
)]
#[allow(missing_docs)]
pub struct FrameError {
    pub plane: usize,
    pub width: usize,
    pub height: usize,
    pub pixels: PixelFormat,
    pub bytes: usize,
    pub stride: usize,
    pub wanted: usize,
}

pub(crate) fn check(
    format: &FrameFormat,
    plane: usize,
    bytes: usize,
    stride: usize,
) -> Result<(), FrameError> {
    let row = format.pixels.row_bytes(plane, format.width);
    let rows = format.pixels.rows(plane, format.height);
    let wanted = rows.saturating_sub(1) * stride + if rows == 0 { 0 } else { row };
    if stride < row || bytes < wanted {
        let FrameFormat { pixels, width, height, .. } = *format;
        return Err(FrameError { plane, width, height, pixels, bytes, stride, wanted });
    }
    Ok(())
}

impl<'a> Frame<'a> {
    /// Checks that every plane is long enough for `format`.
    ///
    /// # Errors
    /// [`FrameError`] names the first plane that is not.
    pub fn new(format: &FrameFormat, planes: &[(&'a [u8], usize)]) -> Result<Self, FrameError> {
        let mut frame = Self { planes: [&[]; 3], strides: [0; 3] };
        for plane in 0..format.pixels.planes() {
            let (data, stride) = planes.get(plane).copied().unwrap_or((&[], 0));
            check(format, plane, data.len(), stride)?;
            frame.planes[plane] = data;
            frame.strides[plane] = stride;
        }
        Ok(frame)
    }

    /// Checks that every plane is long enough for `format`, which need not be the one it was made for.
    ///
    /// # Errors
    /// [`FrameError`] names the first plane that is not.
    pub fn check(&self, format: &FrameFormat) -> Result<(), FrameError> {
        (0..format.pixels.planes())
            .try_for_each(|plane| check(format, plane, self.planes[plane].len(), self.strides[plane]))
    }

    /// Row `y` of `plane`, from its first byte to the plane's end or the next row.
    pub fn row(&self, plane: usize, y: usize) -> &'a [u8] {
        let start = y * self.strides[plane];
        let end = (start + self.strides[plane]).min(self.planes[plane].len());
        &self.planes[plane][start..end]
    }
}

impl<'a> FrameMut<'a> {
    /// Checks that every plane is long enough for `format`.
    ///
    /// # Errors
    /// [`FrameError`] names the first plane that is not.
    pub fn new(format: &FrameFormat, planes: Vec<(&'a mut [u8], usize)>) -> Result<Self, FrameError> {
        let mut frame = Self { planes: [&mut [], &mut [], &mut []], strides: [0; 3] };
        let mut planes = planes.into_iter();
        for plane in 0..format.pixels.planes() {
            let (data, stride) = planes.next().unwrap_or((&mut [], 0));
            check(format, plane, data.len(), stride)?;
            frame.planes[plane] = data;
            frame.strides[plane] = stride;
        }
        Ok(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_plane_is_named() {
        let format = FrameFormat {
            pixels: PixelFormat::Nv12,
            width: 5,
            height: 3,
            matrix: Matrix::Bt601,
            range: Range::Limited,
        };
        let (luma, chroma) = ([0u8; 15], [0u8; 12]);
        assert!(Frame::new(&format, &[(&luma, 5), (&chroma, 6)]).is_ok());
        assert_eq!(Frame::new(&format, &[(&luma, 5), (&chroma[..11], 6)]).unwrap_err().plane, 1);
        assert_eq!(Frame::new(&format, &[(&luma, 4)]).unwrap_err().plane, 0);
    }
}
