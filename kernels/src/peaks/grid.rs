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
    grid: Grid,
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
            None => match (fits([c, b], input, params), fits([b, a], input, params)) {
                (true, false) => Layout::Nchw,
                (false, true) => Layout::Nhwc,
                (both, _) => {
                    let nchw = format!("{a} channels of {c}x{b} cells (nchw)");
                    let nhwc = format!("{c} channels of {b}x{a} cells (nhwc)");
                    let fits = match (params.grid, both) {
                        _ if params.stride.is_some() && both => {
                            "with cells of the stride, each of them covers"
                        }
                        _ if params.stride.is_some() => "with cells of the stride, neither of them covers",
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
            () if params.stride.is_some() || (0..2).all(|i| tiles(cells[i], input[i])) => Grid::CellCentres,
            () if (0..2).all(|i| spans(cells[i], input[i])) => Grid::Corners,
            () => Grid::CellCentres,
        });
        let [(sx, fx), (sy, fy)] = [0, 1].map(|i| match params.stride {
            Some(stride) => spaced(grid, f64::from(stride)),
            None => axis(grid, cells[i], input[i]),
        });
        Ok(Self {
            layout,
            channels,
            width: cells[0],
            height: cells[1],
            scale: [sx, sy],
            first: [fx, fy],
            grid,
        })
    }

    /// The same cells, spread over what those of `maps` cover.
    pub fn spread_over(self, maps: &Self) -> Self {
        let sizes = [(maps.width, self.width), (maps.height, self.height)];
        let [(sx, fx), (sy, fy)] =
            [0, 1].map(|i| spaced(self.grid, maps.scale[i] * sizes[i].0 as f64 / sizes[i].1 as f64));
        Self { scale: [sx, sy], first: [fx, fy], ..self }
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

/// Whether a map of `cells` (width, height) is the `input` reduced by the same whole factor on both axes, or covers it by cells of
/// a stated stride.
fn fits(cells: [usize; 2], input: [usize; 2], params: &PeakParams) -> bool {
    let ([w, h], [width, height]) = (cells, input);
    if let Some(stride) = params.stride.map(f64::from) {
        return w as f64 * stride >= width as f64 && h as f64 * stride >= height as f64;
    }
    let tiled = tiles(w, width) && tiles(h, height) && width / w == height / h;
    let spanned = spans(w, width) && spans(h, height) && (width - 1) / (w - 1) == (height - 1) / (h - 1);
    match params.grid {
        None => tiled || spanned,
        Some(Grid::Corners) => spanned,
        Some(Grid::CellCentres | Grid::Strided | Grid::StridedHalf | Grid::Udp) => tiled,
    }
}

/// Pixels per cell, and the centre of cell 0.
pub(crate) fn axis(grid: Grid, cells: usize, pixels: usize) -> (f64, f64) {
    match grid {
        Grid::Corners | Grid::Udp if cells > 1 => ((pixels - 1) as f64 / (cells - 1) as f64, 0.5),
        _ => spaced(grid, pixels as f64 / cells as f64),
    }
}

/// The same for cells that are `stride` pixels from each other.
fn spaced(grid: Grid, stride: f64) -> (f64, f64) {
    match grid {
        Grid::CellCentres | Grid::Corners | Grid::Udp => (stride, 0.5 * stride),
        Grid::Strided => (stride, 0.5),
        Grid::StridedHalf => (stride, 0.5 * stride + 0.5),
    }
}
