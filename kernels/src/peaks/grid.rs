//! Which dimension is which, and where cells lie in the input tensor.

use super::{Grid, PeakParams, PeaksError};
use crate::preproc::Layout;
use crate::tensor::TensorDesc;

/// A map's dimensions, with their meaning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MapShape {
    pub layout: Layout,
    pub channels: usize,
    pub width: usize,
    pub height: usize,
    /// Tensor pixels per cell, in x and y.
    pub scale: [f64; 2],
    /// Where the centre of cell 0 lies in the tensor, in x and y.
    pub first: [f64; 2],
}

impl MapShape {
    /// The shape from the three dimensions `image` (without the batch) of `map`, none of which is 0.
    pub fn read(
        map: &TensorDesc,
        image: [usize; 3],
        input: [usize; 2],
        params: &PeakParams,
    ) -> Result<Self, PeaksError> {
        let [a, b, c] = image;
        let layout = match params.layout {
            Some(layout) => layout,
            // A single value: both layouts are the same.
            None if image == [1; 3] => Layout::Nchw,
            None => match (fits([c, b], input, params.grid), fits([b, a], input, params.grid)) {
                (true, false) => Layout::Nchw,
                (false, true) => Layout::Nhwc,
                (both, _) => {
                    let nchw = format!("{a} channels of {c}x{b} cells (nchw)");
                    let nhwc = format!("{c} channels of {b}x{a} cells (nhwc)");
                    let fits = match (params.grid, both) {
                        (Some(Grid::Corners), true) => {
                            "each of them has cells evenly spaced from the first to the last pixel, as grid=corners wants, of"
                        }
                        (Some(Grid::Corners), false) => {
                            "neither of them has cells evenly spaced from the first to the last pixel, as grid=corners wants, of"
                        }
                        (_, true) => "each of them is an even reduction of",
                        (_, false) => "neither of them is an even reduction of",
                    };
                    let (map, [width, height]) = (map.to_string(), input);
                    return Err(PeaksError::Layout { map, nchw, nhwc, fits, width, height });
                }
            },
        };
        let (channels, cells) = match layout {
            Layout::Nchw => (a, [c, b]),
            Layout::Nhwc => (c, [b, a]),
        };
        let grid = params.grid.unwrap_or_else(|| match () {
            () if (0..2).all(|i| tiles(cells[i], input[i])) => Grid::CellCentres,
            () if (0..2).all(|i| spans(cells[i], input[i])) => Grid::Corners,
            () => Grid::CellCentres,
        });
        let [(sx, fx), (sy, fy)] = [0, 1].map(|i| axis(grid, cells[i], input[i]));
        Ok(Self { layout, channels, width: cells[0], height: cells[1], scale: [sx, sy], first: [fx, fy] })
    }

    /// The cell position (0 is the first cell's centre) in tensor pixels.
    pub fn to_tensor(self, x: f64, y: f64) -> (f64, f64) {
        (self.scale[0] * x + self.first[0], self.scale[1] * y + self.first[1])
    }

    /// The place in tensor pixels as a cell position: the inverse of [`MapShape::to_tensor`].
    pub fn to_cell(self, x: f64, y: f64) -> (f64, f64) {
        ((x - self.first[0]) / self.scale[0], (y - self.first[1]) / self.scale[1])
    }

    /// Elements to the next channel, the next row and the next column.
    pub fn strides(&self) -> [usize; 3] {
        match self.layout {
            Layout::Nchw => [self.height * self.width, self.width, 1],
            Layout::Nhwc => [1, self.width * self.channels, self.channels],
        }
    }
}

/// The cells tile the pixels.
fn tiles(cells: usize, pixels: usize) -> bool {
    pixels.is_multiple_of(cells)
}

/// The cells are evenly spaced from the first pixel to the last.
fn spans(cells: usize, pixels: usize) -> bool {
    cells > 1 && pixels >= cells && (pixels - 1).is_multiple_of(cells - 1)
}

/// Whether a map of `cells` (width, height) is the `input` reduced by the same whole factor on both axes.
fn fits(cells: [usize; 2], input: [usize; 2], grid: Option<Grid>) -> bool {
    let ([w, h], [width, height]) = (cells, input);
    let tiled = tiles(w, width) && tiles(h, height) && width / w == height / h;
    let spanned = spans(w, width) && spans(h, height) && (width - 1) / (w - 1) == (height - 1) / (h - 1);
    match grid {
        None => tiled || spanned,
        Some(Grid::Corners) => spanned,
        Some(Grid::CellCentres | Grid::Strided | Grid::StridedHalf | Grid::Udp) => tiled,
    }
}

/// Pixels per cell, and the centre of cell 0.
pub(crate) fn axis(grid: Grid, cells: usize, pixels: usize) -> (f64, f64) {
    let stride = pixels as f64 / cells as f64;
    match grid {
        Grid::CellCentres => (stride, 0.5 * stride),
        Grid::Strided => (stride, 0.5),
        Grid::StridedHalf => (stride, 0.5 * stride + 0.5),
        Grid::Corners | Grid::Udp if cells == 1 => (stride, 0.5 * stride),
        Grid::Corners | Grid::Udp => ((pixels - 1) as f64 / (cells - 1) as f64, 0.5),
    }
}
