//! A soft mask in the corners of fisheye pictures, where DeoVR and HereSphere look for it (files whose names end in `_FISHEYE190_alpha`).
//!
//! Two fisheye pictures lie side by side, each in a circle that touches the edges of its half of the frame. Between the circles
//! and around them is room for two circles of 40 % of their size: one around the middle of the upper edge, one around the upper left
//! corner, if the frame's opposite edges are taken for joined. The first has the mask of the left picture, the second that of the
//! right one, each as it is, not turned; so the upper half of either lies at the lower edge of the frame. The red channel is
//! the mask, green and blue are 0.

use super::{MatteError, check};

/// Lays masks into corners.
#[derive(Clone, Debug)]
pub struct Corners {
    pub(super) frame: [usize; 2],
    /// Width and height of one picture's mask there, multiples of 4.
    pub(super) size: [usize; 2],
    /// For each of its rows, the columns that lie in the circle.
    pub(super) circle: Vec<std::ops::Range<usize>>,
    small: Vec<u8>,
    sums: Vec<u64>,
}

/// A strip of whole rows of the frame, dense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strip {
    /// At the upper edge.
    Upper,
    /// At the lower edge.
    Lower,
}

impl Corners {
    /// For frames of this width and height.
    ///
    /// # Errors
    /// [`MatteError::Small`].
    pub fn new([width, height]: [usize; 2]) -> Result<Self, MatteError> {
        let size = [width / 2, height].map(|side| side * 2 / 5 / 4 * 4);
        if size.contains(&0) {
            return Err(MatteError::Small(width, height));
        }
        let row = |y: usize| {
            let [w, h] = size.map(|side| side as f64);
            let far = (2.0 * y as f64 + 1.0) / h - 1.0;
            let half = (1.0 - far * far).sqrt() * w / 2.0;
            // Pixels whose centres lie inside.
            let first = (w / 2.0 - half - 0.5).ceil().max(0.0) as usize;
            first..size[0] - first
        };
        let circle = (0..size[1]).map(row).collect();
        Ok(Self { frame: [width, height], size, circle, small: Vec::new(), sums: Vec::new() })
    }

    /// Rows of a strip.
    pub fn rows(&self) -> usize {
        self.size[1] / 2
    }

    /// Where the circles lie in a strip: 255 inside, 0 outside.
    pub fn circles(&self, strip: Strip) -> Vec<u8> {
        let mut out = vec![0; self.frame[0] * self.rows()];
        let full = vec![255; self.size[0] * self.size[1]];
        for eye in 0..2 {
            self.lay(&full, eye, strip, &mut out);
        }
        out
    }

    /// The strips of the frame's mask, dense; what lies outside of the circles is 0. Pixels are means of those that they cover.
    ///
    /// # Errors
    /// [`MatteError::Room`] where `mask` or a strip have another size.
    pub fn run(&mut self, mask: &[u8], upper: &mut [u8], lower: &mut [u8]) -> Result<(), MatteError> {
        let [width, height] = self.frame;
        check(width * height, &[mask])?;
        check(width * self.rows(), &[upper, lower])?;
        upper.fill(0);
        lower.fill(0);
        let mut small = std::mem::take(&mut self.small);
        for eye in 0..2 {
            self.shrink(mask, eye, &mut small);
            self.lay(&small, eye, Strip::Upper, upper);
            self.lay(&small, eye, Strip::Lower, lower);
        }
        self.small = small;
        Ok(())
    }

    /// One picture's mask at its size in the corners.
    fn shrink(&mut self, mask: &[u8], eye: usize, small: &mut Vec<u8>) {
        let ([width, height], [w, h]) = (self.frame, self.size);
        let (half, first) = (width / 2, eye * (width / 2));
        small.clear();
        for y in 0..h {
            self.sums.clear();
            self.sums.resize(w, 0);
            for (row, share) in covered(y, height, h) {
                let row = &mask[row * width + first..][..half];
                for (x, sum) in self.sums.iter_mut().enumerate() {
                    let line: usize = covered(x, half, w).map(|(x, share)| usize::from(row[x]) * share).sum();
                    *sum += (line * share) as u64;
                }
            }
            let area = (half * height) as u64;
            small.extend(self.sums.iter().map(|sum| ((2 * sum + area) / (2 * area)) as u8));
        }
    }

    /// Copies the part of a picture's mask that belongs into a strip.
    fn lay(&self, small: &[u8], eye: usize, strip: Strip, out: &mut [u8]) {
        let ([width, _], [w, h]) = (self.frame, self.size);
        let rows = if strip == Strip::Lower { 0..h / 2 } else { h / 2..h };
        for (y, to) in rows.zip(out.chunks_exact_mut(width)) {
            let (circle, row) = (self.circle[y].clone(), &small[y * w..][..w]);
            if eye == 0 {
                let begin = (width - w) / 2;
                to[begin + circle.start..begin + circle.end].copy_from_slice(&row[circle]);
            } else {
                let middle = w / 2;
                to[width - middle + circle.start..].copy_from_slice(&row[circle.start..middle]);
                to[..circle.end - middle].copy_from_slice(&row[middle..circle.end]);
            }
        }
    }
}

/// The pixels of `from` that pixel `at` of `to` covers, and how much of each, in parts of `to`: `from` parts in all.
fn covered(at: usize, from: usize, to: usize) -> impl Iterator<Item = (usize, usize)> {
    let (begin, end) = (at * from, (at + 1) * from);
    (begin / to..end.div_ceil(to))
        .map(move |pixel| (pixel, ((pixel + 1) * to).min(end) - (pixel * to).max(begin)))
}
