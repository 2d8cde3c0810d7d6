//! Against a picture made pixel by pixel from the definition, in f64.

use proptest::prelude::*;

use super::*;
use crate::draw::DrawError;
use crate::draw::tests::DRAWABLE;
use crate::frame::{FrameFormat, FrameMut, Matrix, PixelFormat, Range};
use crate::geometry::Rect;

const MODES: [BlurMode; 3] = [BlurMode::Pixelate, BlurMode::Gaussian, BlurMode::Fill];

/// Its planes, each row followed by 5 bytes that belong to nobody.
#[derive(Clone, Debug, PartialEq)]
struct Picture {
    format: FrameFormat,
    planes: Vec<(Vec<u8>, usize)>,
}

/// A channel's samples: plane, byte of the sample, bytes from sample to sample, pixels for a sample.
type Channel = (usize, usize, usize, usize);

impl Picture {
    fn new(pixels: PixelFormat, [width, height]: [usize; 2], seed: usize) -> Self {
        let format = FrameFormat { pixels, width, height, matrix: Matrix::Bt709, range: Range::Limited };
        let planes = (0..pixels.planes()).map(|plane| {
            let stride = pixels.row_bytes(plane, width) + 5;
            let bytes = stride * pixels.rows(plane, height);
            let byte = |i: usize| ((i + seed).wrapping_mul(2_654_435_761) >> 13) as u8;
            ((0..bytes).map(byte).collect(), stride)
        });
        Self { format, planes: planes.collect() }
    }

    fn blur(&mut self, mode: BlurMode, cells: u32, boxes: &[Rect]) -> Result<usize, DrawError> {
        let planes = self.planes.iter_mut().map(|(data, stride)| (data.as_mut_slice(), *stride));
        let mut frame = FrameMut::new(&self.format, planes.collect()).unwrap();
        blur(&self.format, &mut frame, mode, cells, boxes)
    }

    fn channels(&self) -> Vec<Channel> {
        match self.format.pixels {
            PixelFormat::Nv12 => vec![(0, 0, 1, 1), (1, 0, 2, 2), (1, 1, 2, 2)],
            PixelFormat::I420 => vec![(0, 0, 1, 1), (1, 0, 1, 2), (2, 0, 1, 2)],
            PixelFormat::Rgb | PixelFormat::Bgr => (0..3).map(|i| (0, i, 3, 1)).collect(),
            _ => (0..3).map(|i| (0, i, 4, 1)).collect(),
        }
    }

    fn sample(&mut self, (plane, byte, bytes, _): Channel, x: usize, y: usize) -> &mut u8 {
        let (data, stride) = &mut self.planes[plane];
        &mut data[y * *stride + x * bytes + byte]
    }

    /// Samples across and down.
    fn size(&self, (.., step): Channel) -> [usize; 2] {
        [self.format.width.div_ceil(step), self.format.height.div_ceil(step)]
    }
}

/// A box's cells by the definition: where it begins and ends, and the side of a cell, in pixels.
fn cells_of(rect: &Rect, cells: u32) -> ([f64; 2], [f64; 2], f64) {
    let even = |v: f64, up: bool| 2.0 * if up { (v / 2.0).ceil() } else { (v / 2.0).floor() };
    let [x, y, w, h] = [rect.x, rect.y, rect.w, rect.h].map(f64::from);
    let from = [even(x, false), even(y, false)];
    let to = [even(x + w, true).max(from[0] + 2.0), even(y + h, true).max(from[1] + 2.0)];
    let longer = (to[0] - from[0]).max(to[1] - from[1]);
    (from, to, even((longer / f64::from(cells)).ceil().max(4.0), true))
}

/// The picture by the definition, and its tolerance. This does not round in between: each of a Gaussian blur's three roundings
/// (the mean, the smoothed mean, the result) moves a value by 0.5 at most, and the taps in 256ths by 2 x 255 / 256 more.
fn expected(picture: &Picture, mode: BlurMode, cells: u32, boxes: &[Rect]) -> (Picture, f64) {
    let (mut source, mut result) = (picture.clone(), picture.clone());
    let mut boxes: Vec<_> = boxes.iter().map(|rect| cells_of(rect, cells)).collect();
    boxes.sort_by(|a, b| a.2.total_cmp(&b.2));
    for (i, channel) in picture.channels().into_iter().enumerate() {
        let [width, height] = picture.size(channel);
        let step = channel.3 as f64;
        let black = if picture.planes.len() == 1 { 0 } else { [16, 128, 128][i] };
        for (from, to, cell) in &boxes {
            let inside = |x: usize, y: usize| {
                let (x, y) = (x as f64 * step, y as f64 * step);
                x >= from[0] && x < to[0] && y >= from[1] && y < to[1]
            };
            let at = |v: usize, axis: usize| ((v as f64 * step - from[axis]) / cell).floor() as i64;
            let mut sums = std::collections::BTreeMap::<(i64, i64), (f64, f64)>::new();
            for y in 0..height {
                for x in (0..width).filter(|x| inside(*x, y)) {
                    let sum = sums.entry((at(x, 0), at(y, 1))).or_default();
                    *sum = (sum.0 + f64::from(*source.sample(channel, x, y)), sum.1 + 1.0);
                }
            }
            let Some((first, last)) = sums.keys().next().zip(sums.keys().next_back()) else { continue };
            let (first, last) = (*first, *last);
            let mean = |x: i64, y: i64| {
                let (sum, count) = sums[&(x.clamp(first.0, last.0), y.clamp(first.1, last.1))];
                sum / count
            };
            let smooth = |x: i64, y: i64| {
                let (x, y) = (x.clamp(first.0, last.0), y.clamp(first.1, last.1));
                let weights = [(-2, 1.0), (-1, 4.0), (0, 6.0), (1, 4.0), (2, 1.0)];
                let all = weights.iter().flat_map(|down| weights.map(|across| (down, across)));
                all.map(|(down, across)| down.1 * across.1 * mean(x + across.0, y + down.0)).sum::<f64>()
                    / 256.0
            };
            for y in 0..height {
                for x in (0..width).filter(|x| inside(*x, y)) {
                    *result.sample(channel, x, y) = match mode {
                        BlurMode::Fill => black,
                        BlurMode::Pixelate => (mean(at(x, 0), at(y, 1)) + 0.5).floor() as u8,
                        BlurMode::Gaussian => {
                            let [u, v] = [(x, 0), (y, 1)]
                                .map(|(v, axis)| ((v as f64 + 0.5) * step - from[axis]) / cell - 0.5);
                            let (fx, fy) = (u - u.floor(), v - v.floor());
                            let row = |y: i64| {
                                let x = u.floor() as i64;
                                smooth(x, y) * (1.0 - fx) + smooth(x + 1, y) * fx
                            };
                            let y = v.floor() as i64;
                            (row(y) * (1.0 - fy) + row(y + 1) * fy).round() as u8
                        }
                    };
                }
            }
        }
    }
    (result, if mode == BlurMode::Gaussian { 1.5 + 2.0 } else { 0.0 })
}

fn assert_near(got: &Picture, (want, tolerance): &(Picture, f64), what: &str) {
    for (plane, (got, want)) in got.planes.iter().zip(&want.planes).enumerate() {
        for (i, (a, b)) in got.0.iter().zip(&want.0).enumerate() {
            let apart = f64::from(a.abs_diff(*b));
            assert!(
                apart <= *tolerance,
                "{what}: plane {plane}, byte {} of row {}: {a}, not {b}",
                i % got.1,
                i / got.1
            );
        }
    }
}

const BOXES: [Rect; 6] = [
    Rect { x: 10.3, y: 6.0, w: 22.0, h: 31.5 },
    Rect { x: 20.0, y: 20.0, w: 40.0, h: 17.0 },
    Rect { x: -30.5, y: -7.0, w: 45.0, h: 20.0 },
    Rect { x: 50.0, y: 30.0, w: 500.0, h: 90.0 },
    Rect { x: 5.0, y: 40.0, w: 1.0, h: 1.0 },
    Rect { x: 33.0, y: 3.0, w: 0.0, h: 0.0 },
];

#[test]
fn every_format_and_mode_shows_what_the_definition_says() {
    for pixels in DRAWABLE {
        for size in [[64, 48], [65, 47], [33, 9], [1, 1], [2, 3]] {
            for mode in MODES {
                for (cells, boxes) in [(8, &BOXES[..]), (3, &BOXES[..2]), (1, &BOXES[3..]), (16, &BOXES[..1])]
                {
                    let before = Picture::new(pixels, size, 7);
                    let mut picture = before.clone();
                    picture.blur(mode, cells, boxes).unwrap();
                    let what = format!("{pixels:?} {size:?} {mode:?}, {cells} cells");
                    assert_near(&picture, &expected(&before, mode, cells, boxes), &what);
                }
            }
        }
    }
}

#[test]
fn a_box_that_is_nowhere_covers_the_whole_frame_and_those_off_the_frame_nothing() {
    for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut picture = Picture::new(PixelFormat::Rgb, [31, 17], 0);
        let count = picture.blur(BlurMode::Fill, 8, &[Rect { x, y: 0.0, w: 1.0, h: 1.0 }]).unwrap();
        let (data, stride) = &picture.planes[0];
        assert_eq!(count, 1);
        assert!(data.chunks(*stride).all(|row| row[..93].iter().all(|byte| *byte == 0)));
    }
    let before = Picture::new(PixelFormat::I420, [32, 16], 0);
    let mut picture = before.clone();
    for (x, y, w, h) in
        [(32.0, 0.0, 9.0, 9.0), (0.0, 16.0, 9.0, 9.0), (-9.0, 0.0, 8.0, 9.0), (3e38, 0.0, 3e38, 1.0)]
    {
        assert_eq!(picture.blur(BlurMode::Fill, 8, &[Rect { x, y, w, h }]), Ok(0));
    }
    assert_eq!(picture, before);
    // Far larger than the frame, and with its corners the wrong way round.
    for rect in [Rect { x: -1e30, y: -1e30, w: 2e30, h: 2e30 }, Rect { x: 40.0, y: 20.0, w: -50.0, h: -50.0 }]
    {
        let mut picture = before.clone();
        assert_eq!(picture.blur(BlurMode::Fill, 8, &[rect]), Ok(1));
        assert_near(
            &picture,
            &expected(&before, BlurMode::Fill, 8, &[Rect { x: 0.0, y: 0.0, w: 32.0, h: 16.0 }]),
            "all",
        );
    }
}

#[test]
fn a_frame_that_cannot_be_covered_is_an_error() {
    let mut picture = Picture::new(PixelFormat::Rgb, [8, 8], 0);
    picture.format.pixels = PixelFormat::Gray8;
    assert_eq!(picture.blur(BlurMode::Fill, 8, &BOXES), Err(DrawError::Format(PixelFormat::Gray8)));
    let format =
        FrameFormat { width: (1 << 19) + 1, height: 1, ..Picture::new(PixelFormat::Rgb, [1, 1], 0).format };
    let mut bytes = vec![0; 3 * format.width];
    let mut frame = FrameMut::new(&format, vec![(&mut bytes, 3 * format.width)]).unwrap();
    let error = blur(&format, &mut frame, BlurMode::Fill, 8, &BOXES).unwrap_err();
    assert!(error.to_string().contains("524289x1"), "{error}");
}

proptest! {
    #[test]
    fn what_is_shown_depends_on_the_cells_means_alone(
        x in -20.0..60_f32, y in -20.0..60_f32, w in 0.0..90_f32, h in 0.0..90_f32,
        cells in 1..=MOST_CELLS, format in 0..8_usize, seed in 0..99_usize, mode in 0..2_usize,
    ) {
        let (rect, mode) = (Rect { x, y, w, h }, MODES[mode]);
        let mut one = Picture::new(DRAWABLE[format], [57, 41], seed);
        // The pixels of every cell in reverse order: other pixels, the same means.
        let mut other = one.clone();
        let (from, to, cell) = cells_of(&rect, cells);
        for channel in one.channels() {
            let [width, height] = one.size(channel);
            let step = channel.3 as f64;
            let mut groups = std::collections::BTreeMap::<(i64, i64), Vec<(usize, usize)>>::new();
            for (px, py) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                let at = [px as f64 * step, py as f64 * step];
                if (0..2).all(|i| at[i] >= from[i] && at[i] < to[i]) {
                    let cell = [0, 1].map(|i| ((at[i] - from[i]) / cell).floor() as i64);
                    groups.entry((cell[0], cell[1])).or_default().push((px, py));
                }
            }
            for places in groups.values() {
                for (a, b) in places.iter().zip(places.iter().rev()) {
                    *other.sample(channel, a.0, a.1) = *one.sample(channel, b.0, b.1);
                }
            }
        }
        let (a, b) = (one.blur(mode, cells, &[rect]), other.blur(mode, cells, &[rect]));
        prop_assert_eq!(a, b);
        prop_assert!(one == other);
    }

    #[test]
    fn pixels_outside_and_the_fourth_byte_stay_and_squares_are_few(
        x in -20.0..60_f32, y in -20.0..60_f32, w in 0.0..90_f32, h in 0.0..90_f32,
        cells in 1..=MOST_CELLS, mode in 0..3_usize,
    ) {
        let rect = Rect { x, y, w, h };
        let before = Picture::new(PixelFormat::Rgba, [57, 41], 3);
        let mut after = before.clone();
        after.blur(MODES[mode], cells, &[rect]).unwrap();
        let (from, to, _) = cells_of(&rect, cells);
        let mut colors = std::collections::BTreeSet::new();
        for (at, (old, new)) in before.planes[0].0.iter().zip(&after.planes[0].0).enumerate() {
            let (px, py) = (at % before.planes[0].1 / 4, at / before.planes[0].1);
            let at_pixel = [px as f64, py as f64];
            let inside = px < 57 && (0..2).all(|i| at_pixel[i] >= from[i] && at_pixel[i] < to[i]);
            if !inside || at % before.planes[0].1 % 4 == 3 {
                prop_assert_eq!(old, new);
            } else if (at % before.planes[0].1).is_multiple_of(4) {
                colors.insert(&after.planes[0].0[at..at + 3]);
            }
        }
        if MODES[mode] != BlurMode::Gaussian {
            prop_assert!(colors.len() <= (cells * cells) as usize);
        }
    }
}
