//! The definition in the module's page, implemented again: per output pixel, in f64, straight from the formulas, sharing
//! nothing with the implementation but the parameters' types.

use super::{
    ChannelOrder, Frame, FrameFormat, Interpolation, Matrix, Padding, PixelFormat, PreprocParams, Range,
    Resize,
};

/// A frame that owns its planes, with rows `slack` bytes longer than needed, full of noise (the slack too).
pub struct Owned {
    pub format: FrameFormat,
    pub planes: Vec<(Vec<u8>, usize)>,
}

impl Owned {
    pub fn noise(format: FrameFormat, slack: usize, seed: u64) -> Self {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let planes = (0..format.pixels.planes())
            .map(|plane| {
                let stride = format.pixels.row_bytes(plane, format.width) + slack;
                // The last row ends with its pixels: nothing may be read after them.
                let bytes = stride * format.pixels.rows(plane, format.height) - slack;
                let data = (0..bytes)
                    .map(|_| {
                        state ^= state << 13;
                        state ^= state >> 7;
                        state ^= state << 17;
                        (state >> 32) as u8
                    })
                    .collect();
                (data, stride)
            })
            .collect();
        Self { format, planes }
    }

    /// A frame of one value a plane byte, planes given in order.
    pub fn flat(format: FrameFormat, values: &[&[u8]]) -> Self {
        let planes = values
            .iter()
            .enumerate()
            .map(|(plane, pattern)| {
                let stride = format.pixels.row_bytes(plane, format.width);
                let rows = format.pixels.rows(plane, format.height);
                (pattern.iter().copied().cycle().take(stride * rows).collect(), stride)
            })
            .collect();
        Self { format, planes }
    }

    pub fn frame(&self) -> Frame<'_> {
        let views: Vec<_> = self.planes.iter().map(|(data, stride)| (data.as_slice(), *stride)).collect();
        Frame::new(&self.format, &views).unwrap()
    }

    fn byte(&self, plane: usize, x: usize, y: usize) -> f64 {
        f64::from(self.planes[plane].0[y * self.planes[plane].1 + x])
    }

    /// A P010 sample in the 8-bit scale.
    fn ten(&self, plane: usize, x: usize, y: usize) -> f64 {
        let word = self.byte(plane, 2 * x, y) + 256.0 * self.byte(plane, 2 * x + 1, y);
        (word / 64.0).floor() / 4.0
    }

    /// Pixel (x, y) as R'G'B', or as luma three times over when `gray`.
    pub fn pixel(&self, x: usize, y: usize, gray: bool) -> [f64; 3] {
        use PixelFormat as P;
        let (cx, cy) = (x / 2, y / 2);
        let b = |plane, x, y| self.byte(plane, x, y);
        let ycc = match self.format.pixels {
            P::Rgb => return self.weigh([b(0, 3 * x, y), b(0, 3 * x + 1, y), b(0, 3 * x + 2, y)], gray),
            P::Bgr => return self.weigh([b(0, 3 * x + 2, y), b(0, 3 * x + 1, y), b(0, 3 * x, y)], gray),
            P::Rgba | P::Rgbx => {
                return self.weigh([b(0, 4 * x, y), b(0, 4 * x + 1, y), b(0, 4 * x + 2, y)], gray);
            }
            P::Bgra | P::Bgrx => {
                return self.weigh([b(0, 4 * x + 2, y), b(0, 4 * x + 1, y), b(0, 4 * x, y)], gray);
            }
            P::Nv12 => [b(0, x, y), b(1, 2 * cx, cy), b(1, 2 * cx + 1, cy)],
            P::I420 => [b(0, x, y), b(1, cx, cy), b(2, cx, cy)],
            P::P010Le => [self.ten(0, x, y), self.ten(1, 2 * cx, cy), self.ten(1, 2 * cx + 1, cy)],
            P::Yuy2 => [b(0, 2 * x, y), b(0, 4 * cx + 1, y), b(0, 4 * cx + 3, y)],
            P::Gray8 => [b(0, x, y), 128.0, 128.0],
        };
        let (low, luma_span, chroma_span) = match self.format.range {
            Range::Limited => (16.0, 219.0, 224.0),
            Range::Full if self.format.pixels == P::P010Le => (0.0, 1023.0 / 4.0, 1023.0 / 4.0),
            Range::Full => (0.0, 255.0, 255.0),
        };
        let y = (ycc[0] - low) / luma_span;
        let (pb, pr) = ((ycc[1] - 128.0) / chroma_span, (ycc[2] - 128.0) / chroma_span);
        let (kr, kb) = kr_kb(self.format.matrix);
        let red = y + 2.0 * (1.0 - kr) * pr;
        let blue = y + 2.0 * (1.0 - kb) * pb;
        let green = (y - kr * red - kb * blue) / (1.0 - kr - kb);
        let rgb = if gray { [y; 3] } else { [red, green, blue] };
        rgb.map(|v| (255.0 * v).clamp(0.0, 255.0))
    }

    fn weigh(&self, rgb: [f64; 3], gray: bool) -> [f64; 3] {
        // The weights of OpenCV's cvtColor, for every frame.
        let (kr, kb) = (0.299, 0.114);
        if gray { [kr * rgb[0] + (1.0 - kr - kb) * rgb[1] + kb * rgb[2]; 3] } else { rgb }
    }
}

fn kr_kb(matrix: Matrix) -> (f64, f64) {
    match matrix {
        Matrix::Fcc => (0.30, 0.11),
        Matrix::Smpte240m => (0.212, 0.087),
        Matrix::Bt601 => (0.299, 0.114),
        Matrix::Bt709 => (0.2126, 0.0722),
        Matrix::Bt2020 => (0.2627, 0.0593),
    }
}

/// One axis: resized extent, bar, crop.
fn axes(format: &FrameFormat, params: &PreprocParams) -> [(f64, f64, f64); 2] {
    let frame = [format.width as f64, format.height as f64];
    let tensor = [params.width as f64, params.height as f64];
    // The sides that a crop's resized frame covers.
    let covered = tensor.map(|side| (side / params.crop_ratio + 1e-3).floor());
    let ratios = |tensor: [f64; 2]| [tensor[0] / frame[0], tensor[1] / frame[1]];
    // Multiplied first, so that a half is exactly a half.
    let scaled = |a: usize, tensor: [f64; 2], by: usize| frame[a] * tensor[by] / frame[by];
    let smaller = if ratios(tensor)[0] <= ratios(tensor)[1] { 0 } else { 1 };
    let larger = if ratios(covered)[0] >= ratios(covered)[1] { 0 } else { 1 };
    [0, 1].map(|a| {
        let resized = match params.resize {
            Resize::Stretch => tensor[a],
            Resize::Letterbox => scaled(a, tensor, smaller).round_ties_even().max(1.0),
            // In this order, as YOLOX does.
            Resize::LetterboxTopLeft => (frame[a] * ratios(tensor)[smaller]).floor().max(1.0),
            Resize::CenterCrop if params.width == params.height => scaled(a, covered, larger).floor(),
            Resize::CenterCrop => scaled(a, covered, larger).round_ties_even(),
            Resize::Pad => frame[a],
        };
        if matches!(params.resize, Resize::LetterboxTopLeft | Resize::Pad) {
            return (resized, 0.0, 0.0);
        }
        let bar = (tensor[a] - resized) / 2.0;
        let crop = ((resized - tensor[a]) / 2.0).round_ties_even().max(0.0);
        (resized, bar.floor().max(0.0), crop)
    })
}

/// The source pixels and weights of resized pixel `v`.
fn taps(interpolation: Interpolation, frame: f64, resized: f64, v: f64) -> Vec<(usize, f64)> {
    let last = frame - 1.0;
    match interpolation {
        Interpolation::Nearest => vec![(((v + 0.5) * frame / resized).floor().min(last) as usize, 1.0)],
        Interpolation::Bilinear => {
            let at = ((v + 0.5) * frame / resized - 0.5).clamp(0.0, last);
            let w = at - at.floor();
            vec![(at.floor() as usize, 1.0 - w), ((at.floor() + 1.0).min(last) as usize, w)]
        }
        Interpolation::Area => {
            let (begin, end) = (v * frame / resized, (v + 1.0) * frame / resized);
            (0..frame as usize)
                .map(|p| {
                    let covered = end.min(p as f64 + 1.0) - begin.max(p as f64);
                    (p, covered.max(0.0) / (end - begin))
                })
                .collect()
        }
        Interpolation::PilBilinear | Interpolation::PilBicubic => {
            let cubic = interpolation == Interpolation::PilBicubic;
            let scale = frame / resized;
            let stretch = scale.max(1.0);
            let (center, support) = ((v + 0.5) * scale, if cubic { 2.0 } else { 1.0 } * stretch);
            // The pixels whose centres lie under the filter.
            let weights: Vec<(usize, f64)> = (0..frame as usize)
                .map(|p| (p, p as f64 + 0.5 - center))
                .filter(|(_, d)| d.abs() <= support)
                .map(|(p, d)| {
                    let x = (d / stretch).abs();
                    let w = match (cubic, x < 1.0) {
                        (false, _) => 1.0 - x,
                        (true, true) => 1.0 - 2.5 * x.powi(2) + 1.5 * x.powi(3),
                        (true, false) => 2.0 - 4.0 * x + 2.5 * x.powi(2) - 0.5 * x.powi(3),
                    };
                    (p, w)
                })
                .collect();
            let sum: f64 = weights.iter().map(|(_, w)| w).sum();
            // Pillow's weights have 22 binary places. Without them, sums that are a half but for the last bits would be
            // rounded the other way; where 18 pixels become 27, that is one sum in six.
            let one = f64::from(1 << 22);
            weights.into_iter().map(|(p, w)| (p, (w / sum * one).round() / one)).collect()
        }
    }
}

/// To 8 bits, as filters round.
fn byte(v: f64) -> f64 {
    (v + 0.5).floor().clamp(0.0, 255.0)
}

/// Whether an interpolation works on 8-bit pixels.
pub fn is_filter(interpolation: Interpolation) -> bool {
    matches!(interpolation, Interpolation::PilBilinear | Interpolation::PilBicubic)
}

/// The tensor in 0..255 before normalisation, `[C, H, W]` whatever the layout.
pub fn pixels(owned: &Owned, params: &PreprocParams) -> Vec<f64> {
    pixels_of(owned, params, [0, 0, owned.format.width, owned.format.height])
}

/// The padding of a tensor whose elements are pixel values.
pub fn value(padding: Padding) -> f64 {
    match padding {
        Padding::Pixel(value) => f64::from(value),
        Padding::Mean => 0.0,
    }
}

/// As [`pixels`] for a part of the frame: left, top, width, height.
pub fn pixels_of(owned: &Owned, params: &PreprocParams, part: [usize; 4]) -> Vec<f64> {
    let format = FrameFormat { width: part[2], height: part[3], ..owned.format };
    let gray = params.channels == ChannelOrder::Gray;
    let (w, h, channels) = (params.width, params.height, params.channels.channels());
    let [(rw, left, cut_x), (rh, top, cut_y)] = axes(&format, params);
    let mut out = vec![value(params.padding); channels * w * h];
    for y in 0..h {
        for x in 0..w {
            let (vx, vy) = (x as f64 - left + cut_x, y as f64 - top + cut_y);
            if vx < 0.0 || vy < 0.0 || vx >= rw || vy >= rh {
                continue;
            }
            let mut sum = [0.0; 3];
            let filter = is_filter(params.interpolation);
            for (sy, wy) in taps(params.interpolation, format.height as f64, rh, vy) {
                let mut row = [0.0; 3];
                for (sx, wx) in taps(params.interpolation, format.width as f64, rw, vx) {
                    if wx != 0.0 && wy != 0.0 {
                        let pixel = owned
                            .pixel(part[0] + sx, part[1] + sy, gray)
                            .map(|v| if filter { byte(v) } else { v });
                        (0..3).for_each(|c| row[c] += wx * pixel[c]);
                    }
                }
                let row = row.map(|v| if filter { byte(v) } else { v });
                (0..3).for_each(|c| sum[c] += wy * row[c]);
            }
            let mut sum = sum.map(|v| if filter { byte(v) } else { v });
            if params.channels == ChannelOrder::Bgr {
                sum.reverse();
            }
            for c in 0..channels {
                out[(c * h + y) * w + x] = sum[c];
            }
        }
    }
    out
}
