//! Parts of a frame made unrecognisable, in place.
//!
//! A box is divided into square cells, at most `cells` along its longer side. Of each cell only the mean of its pixels is
//! kept, so of a box at most `cells * cells` colours are left, however large it is: the result depends on nothing else, and
//! no filter can restore more. All arithmetic is on integers, so every device makes the same bytes.
//!
//! Where boxes overlap, a pixel belongs to the box with the largest cells; all means are of the original frame.

mod area;
mod cpu;
mod cuda;
#[cfg(test)]
mod tests;

pub use cpu::blur;
pub use cuda::CudaBlur;

/// The most cells along the longer side of a box.
pub const MOST_CELLS: u32 = 16;

/// What is shown instead of the pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlurMode {
    /// The cells' means, as squares.
    Pixelate,
    /// The cells' means, smoothed from cell to cell by the binomial kernel 1 4 6 4 1 and interpolated linearly: about a Gaussian
    /// blur, whose standard deviation is 1.1 cells.
    Gaussian,
    /// Black: nothing of the pixels is left.
    Fill,
}

crate::words! { BlurMode:
    Pixelate = "pixelate", "Squares of one colour";
    Gaussian = "gaussian", "The same squares, smoothed to about a Gaussian blur";
    Fill = "fill", "Black: nothing of the object is left";
}
