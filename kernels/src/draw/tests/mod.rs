//! Against a picture painted pixel by pixel from each primitive's definition.

mod labels;
mod masks;
mod pictures;
mod record;

use proptest::prelude::*;

use super::*;
use crate::frame::{Matrix, PixelFormat, Range};

/// The formats that can be drawn on.
pub(super) const DRAWABLE: [PixelFormat; 8] = [
    PixelFormat::Nv12,
    PixelFormat::I420,
    PixelFormat::Rgb,
    PixelFormat::Bgr,
    PixelFormat::Rgba,
    PixelFormat::Bgra,
    PixelFormat::Rgbx,
    PixelFormat::Bgrx,
];

fn format(pixels: PixelFormat, width: usize, height: usize) -> FrameFormat {
    FrameFormat { pixels, width, height, matrix: Matrix::Bt709, range: Range::Limited }
}

/// A frame that owns its planes, each row followed by 5 bytes that belong to nobody.
#[derive(Clone)]
struct Picture {
    format: FrameFormat,
    planes: Vec<(Vec<u8>, usize)>,
}

impl Picture {
    /// Every byte differs from its neighbours.
    fn new(format: FrameFormat) -> Self {
        let planes = (0..format.pixels.planes()).map(|plane| {
            let stride = format.pixels.row_bytes(plane, format.width) + 5;
            let bytes = stride * format.pixels.rows(plane, format.height);
            ((0..bytes).map(|i| (i * 37 + plane * 11 + 3) as u8).collect(), stride)
        });
        Self { format, planes: planes.collect() }
    }

    fn draw(&mut self, primitives: &[Primitive<'_>]) -> Result<(), DrawError> {
        let planes = self.planes.iter_mut().map(|(data, stride)| (data.as_mut_slice(), *stride));
        let mut frame = FrameMut::new(&self.format, planes.collect()).unwrap();
        draw(&self.format, &mut frame, primitives)
    }

    /// Sets everything that belongs to pixel (x, y).
    fn paint(&mut self, x: usize, y: usize, color: Rgb) {
        let Rgb(r, g, b) = color;
        let (ycc, (cx, cy)) = (samples_of(color, &self.format), (x / 2, y / 2));
        let mut put = |plane: usize, x: usize, y: usize, bytes: &[u8]| {
            let (data, stride) = &mut self.planes[plane];
            let at = y * *stride + x * bytes.len();
            data[at..at + bytes.len()].copy_from_slice(bytes);
        };
        match self.format.pixels {
            PixelFormat::Rgb => put(0, x, y, &[r, g, b]),
            PixelFormat::Bgr => put(0, x, y, &[b, g, r]),
            PixelFormat::Rgba | PixelFormat::Rgbx => put(0, x, y, &[r, g, b, 255]),
            PixelFormat::Bgra | PixelFormat::Bgrx => put(0, x, y, &[b, g, r, 255]),
            PixelFormat::Nv12 => {
                put(0, x, y, &ycc[..1]);
                put(1, cx, cy, &ycc[1..]);
            }
            _ => {
                put(0, x, y, &ycc[..1]);
                put(1, cx, cy, &ycc[1..2]);
                put(2, cx, cy, &ycc[2..]);
            }
        }
    }

    /// Paints every pixel for whose centre `inside` holds.
    fn paint_where(&mut self, color: Rgb, inside: impl Fn(f64, f64) -> bool) {
        for y in 0..self.format.height {
            for x in 0..self.format.width {
                if inside(x as f64 + 0.5, y as f64 + 0.5) {
                    self.paint(x, y, color);
                }
            }
        }
    }

    /// The first plane's bytes of pixel (x, y).
    fn at(&self, x: usize, y: usize) -> &[u8] {
        let (data, stride) = &self.planes[0];
        let n = self.format.pixels.row_bytes(0, 1);
        &data[y * stride + x * n..][..n]
    }

    fn assert_is(&self, want: &Self, what: &str) {
        for (plane, (got, want)) in self.planes.iter().zip(&want.planes).enumerate() {
            for (i, (a, b)) in got.0.iter().zip(&want.0).enumerate() {
                let (x, y) = (i % got.1, i / got.1);
                assert_eq!(a, b, "{what}: {:?}, plane {plane}, byte {x} of row {y}", self.format);
            }
        }
    }
}

/// Y'CbCr by the recommendations' own form: E'y from the weights, quantised as 219 E' + 16 and 224 E' + 128.
fn unrounded(Rgb(r, g, b): Rgb, format: &FrameFormat) -> [f64; 3] {
    let (kr, kb) = match format.matrix {
        Matrix::Fcc => (0.30, 0.11),
        Matrix::Smpte240m => (0.212, 0.087),
        Matrix::Bt601 => (0.299, 0.114),
        Matrix::Bt709 => (0.2126, 0.0722),
        Matrix::Bt2020 => (0.2627, 0.0593),
    };
    let [r, g, b] = [r, g, b].map(|v| f64::from(v) / 255.0);
    let y = kr * r + (1.0 - kr - kb) * g + kb * b;
    let (cb, cr) = ((b - y) / (2.0 - 2.0 * kb), (r - y) / (2.0 - 2.0 * kr));
    let (luma, chroma, black) = match format.range {
        Range::Limited => (219.0, 224.0, 16.0),
        Range::Full => (255.0, 255.0, 0.0),
    };
    [y * luma + black, cb * chroma + 128.0, cr * chroma + 128.0]
}

fn samples_of(color: Rgb, format: &FrameFormat) -> [u8; 3] {
    unrounded(color, format).map(|v| (v + 0.5).floor().clamp(0.0, 255.0) as u8)
}

const ORANGE: Rgb = Rgb(250, 140, 20);

/// The pixels of a box's border, by definition: inside the outer edges and not inside those `t` further in.
fn border(rect: Rect, t: u32) -> impl Fn(f64, f64) -> bool {
    let [x1, y1] = [rect.x, rect.y].map(|v| f64::from(v).round());
    let x2 = (f64::from(rect.x) + f64::from(rect.w)).round().max(x1 + 1.0);
    let y2 = (f64::from(rect.y) + f64::from(rect.h)).round().max(y1 + 1.0);
    let t = f64::from(t);
    move |x, y| {
        let within = |t: f64| x > x1 + t && x < x2 - t && y > y1 + t && y < y2 - t;
        within(0.0) && !within(t)
    }
}

#[test]
fn boxes_set_their_border_in_every_format_and_nothing_else() {
    let rects = [
        (Rect { x: 10.0, y: 6.0, w: 20.0, h: 12.0 }, 2),
        (Rect { x: 3.4, y: 5.6, w: 17.3, h: 9.2 }, 3),
        (Rect { x: -4.0, y: -7.0, w: 30.0, h: 20.0 }, 1),
        (Rect { x: 30.0, y: 20.0, w: 500.0, h: 500.0 }, 4),
        (Rect { x: 0.0, y: 0.0, w: 41.0, h: 27.0 }, 1),
        (Rect { x: 12.0, y: 12.0, w: 5.0, h: 5.0 }, 100),
        (Rect { x: 12.2, y: 12.2, w: 0.1, h: 0.1 }, 1),
        (Rect { x: 50.0, y: 5.0, w: 10.0, h: 10.0 }, 2),
        (Rect { x: 5.0, y: -20.0, w: 10.0, h: 19.0 }, 2),
    ];
    for pixels in DRAWABLE {
        for (width, height) in [(41, 27), (40, 26), (1, 1), (9, 1), (1, 17), (65, 65)] {
            for (rect, thickness) in rects {
                let mut got = Picture::new(format(pixels, width, height));
                let mut want = got.clone();
                got.draw(&[Primitive::Rect { rect, thickness, color: ORANGE }]).unwrap();
                want.paint_where(ORANGE, border(rect, thickness));
                got.assert_is(&want, &format!("{rect:?}"));
            }
        }
    }
}

#[test]
fn colours_follow_the_matrix_and_range() {
    for matrix in Matrix::ALL {
        for range in [Range::Limited, Range::Full] {
            let mut compared = 0;
            for i in 0..343_u32 {
                let level = |i: u32| (i % 7 * 85 / 2) as u8;
                let color = Rgb(level(i), level(i / 7), level(i / 49));
                let format = FrameFormat { matrix, range, ..format(PixelFormat::I420, 2, 2) };
                // Some pure colours lie exactly between two samples, and both are as near.
                if unrounded(color, &format).iter().any(|v| (v.fract() - 0.5).abs() < 1e-9) {
                    continue;
                }
                compared += 1;
                let mut got = Picture::new(format);
                let mut want = got.clone();
                let rect = Rect { x: 0.0, y: 0.0, w: 2.0, h: 2.0 };
                got.draw(&[Primitive::Rect { rect, thickness: 1, color }]).unwrap();
                want.paint_where(color, |_, _| true);
                got.assert_is(&want, &format!("{color:?}"));
            }
            assert!(compared > 200);
        }
    }
}

#[test]
fn coordinates_that_are_no_place_draw_nothing_and_far_ones_are_cut_off() {
    let mut got = Picture::new(format(PixelFormat::I420, 33, 17));
    let untouched = got.clone();
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for i in 0..4 {
            let mut v = [2.0, 2.0, 9.0, 9.0];
            v[i] = bad;
            let rect = Rect { x: v[0], y: v[1], w: v[2], h: v[3] };
            let points = [(v[0], v[1]), (v[2], v[3])];
            got.draw(&[
                Primitive::Rect { rect, thickness: 2, color: ORANGE },
                Primitive::Polyline { points: &points, thickness: 2.0, color: ORANGE },
            ])
            .unwrap();
        }
        for (x, y, radius) in [(bad, 2.0, 3.0), (2.0, bad, 3.0), (2.0, 2.0, bad)] {
            got.draw(&[Primitive::Disc { x, y, radius, color: ORANGE }]).unwrap();
        }
        for (x, y) in [(bad, 15.0), (2.0, bad)] {
            got.draw(&[Primitive::Label { x, y, text: "no", color: ORANGE, scale: 1 }]).unwrap();
        }
    }
    let rect = Rect { x: 5.0, y: 5.0, w: -3.0, h: 4.0 };
    let inner = Rect { w: 3.0, ..rect };
    got.draw(&[
        Primitive::Rect { rect, thickness: 1, color: ORANGE },
        Primitive::Rect { rect: inner, thickness: 0, color: ORANGE },
        Primitive::Polyline { points: &[], thickness: 3.0, color: ORANGE },
        Primitive::Polyline { points: &[(3.0, 3.0), (9.0, 9.0)], thickness: 0.0, color: ORANGE },
        Primitive::Polyline { points: &[(3.0, 3.0), (9.0, 9.0)], thickness: f32::NAN, color: ORANGE },
        Primitive::Polyline { points: &[(3.0, 3.0), (9.0, 9.0)], thickness: f32::INFINITY, color: ORANGE },
        Primitive::Disc { x: 3.0, y: 3.0, radius: 0.0, color: ORANGE },
        Primitive::Label { x: 3.0, y: 15.0, text: "", color: ORANGE, scale: 1 },
        Primitive::Label { x: 3.0, y: 15.0, text: "no", color: ORANGE, scale: 0 },
        Primitive::Rect {
            rect: Rect { x: -3e38, y: -3e38, w: 3.4e38, h: 3.4e38 },
            thickness: 9,
            color: ORANGE,
        },
        Primitive::Disc { x: 3e38, y: -3e38, radius: 1e30, color: ORANGE },
    ])
    .unwrap();
    got.assert_is(&untouched, "nothing to draw");
    // Lines as thick as possible, through the frame: everything is covered.
    let mut want = untouched.clone();
    want.paint_where(ORANGE, |_, _| true);
    let rect = Rect { x: -3e38, y: -3e38, w: f32::MAX, h: f32::MAX };
    for primitive in [
        Primitive::Rect {
            rect: Rect { x: -9e9, y: -9e9, w: 1e10, h: 1e10 },
            thickness: u32::MAX,
            color: ORANGE,
        },
        Primitive::Disc { x: 3.0, y: 3.0, radius: 3e38, color: ORANGE },
        Primitive::Polyline { points: &[(-1e9, 0.0), (1e9, 5.0)], thickness: f32::MAX, color: ORANGE },
    ] {
        let mut got = untouched.clone();
        got.draw(&[Primitive::Rect { rect, thickness: 1, color: ORANGE }, primitive]).unwrap();
        got.assert_is(&want, &format!("{primitive:?}"));
    }
    got.draw(&[Primitive::Label { x: -1e30, y: 1e30, text: "far", color: ORANGE, scale: u32::MAX }]).unwrap();
}

#[test]
fn formats_that_cannot_be_drawn_on_and_short_planes_are_refused() {
    for pixels in PixelFormat::ALL {
        let result = Picture::new(format(pixels, 9, 9)).draw(&[]);
        assert_eq!(result.is_ok(), DRAWABLE.contains(&pixels), "{pixels:?}");
    }
    let small = format(PixelFormat::I420, 8, 8);
    let mut picture = Picture::new(small);
    let planes = picture.planes.iter_mut().map(|(data, stride)| (data.as_mut_slice(), *stride));
    let mut frame = FrameMut::new(&small, planes.collect()).unwrap();
    let large = FrameFormat { height: 16, ..small };
    assert!(matches!(draw(&large, &mut frame, &[]), Err(DrawError::Frame(_))));
}

/// Distance of (x, y) from the line a-b.
fn distance(a: (f32, f32), b: (f32, f32), x: f64, y: f64) -> f64 {
    let [ax, ay, bx, by] = [a.0, a.1, b.0, b.1].map(f64::from);
    let square = (bx - ax).powi(2) + (by - ay).powi(2);
    let t = if square == 0.0 {
        0.0
    } else {
        (((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / square).clamp(0.0, 1.0)
    };
    (x - ax - t * (bx - ax)).hypot(y - ay - t * (by - ay))
}

#[test]
fn lines_are_as_wide_as_asked_for_and_have_soft_edges() {
    for (dx, dy) in [(30.0, 0.0), (30.0, 7.0), (30.0, 29.0), (7.0, 30.0), (0.0, 30.0), (-20.0, 30.0)] {
        for thickness in [1.0, 1.5, 3.0_f32] {
            let points = [(25.3, 5.6), (25.3 + dx, 5.6 + dy)];
            let mut after = Picture::new(format(PixelFormat::Rgb, 65, 40));
            after.planes[0].0.fill(0);
            after.draw(&[Primitive::Polyline { points: &points, thickness, color: Rgb::WHITE }]).unwrap();
            let cover = |x: usize, y: usize| f64::from(after.at(x, y)[0]) / 255.0;
            let across: Vec<f64> = if dx.abs() >= dy {
                (30..50).map(|x| (0..40).map(|y| cover(x, y)).sum()).collect()
            } else {
                (10..30).map(|y| (0..65).map(|x| cover(x, y)).sum()).collect()
            };
            let wanted =
                f64::from(thickness) * f64::from(dx).hypot(f64::from(dy)) / f64::from(dx.abs().max(dy));
            // A row or column of pixels has four rows of subpixels, and each edge is rounded to one of these.
            for found in &across {
                assert!((found - wanted).abs() <= 0.3, "{dx} {dy} {thickness}: {found}, not {wanted}");
            }
        }
    }
}

proptest! {
    /// Each capsule covers the subpixels whose centres are within its radius, and is laid over what was there by their number.
    #[test]
    fn lines_and_discs_cover_the_subpixels_within_their_radius(
        points in prop::collection::vec((-20f32..90.0, -20f32..60.0), 1..5),
        thickness in 0.2f32..12.0,
    ) {
        let radius = f64::from(thickness / 2.0);
        let untouched = Picture::new(format(PixelFormat::Rgb, 65, 33));
        let mut lines = untouched.clone();
        lines.draw(&[Primitive::Polyline { points: &points, thickness, color: ORANGE }]).unwrap();
        let mut disc = untouched.clone();
        let (x, y) = points[0];
        disc.draw(&[Primitive::Disc { x, y, radius: thickness / 2.0, color: ORANGE }]).unwrap();
        // How many of a pixel's subpixels are within the radius of a line; none where rounding decides about one.
        let count = |a, b, x: usize, y: usize| {
            let place = |v: usize, i: usize| v as f64 + (i as f64 + 0.5) / 4.0;
            let far = (0..16).map(|i| distance(a, b, place(x, i % 4), place(y, i / 4)) - radius);
            far.map(|far| if far.abs() < 1e-6 { None } else { Some(u32::from(far < 0.0)) }).sum::<Option<u32>>()
        };
        let over = |old: [u8; 3], part: u32| {
            let new = [250, 140, 20_u32];
            [0, 1, 2].map(|i| ((u32::from(old[i]) * (16 - part) + new[i] * part + 8) / 16) as u8)
        };
        for (x, y) in (0..33).flat_map(|y| (0..65).map(move |x| (x, y))) {
            let was: [u8; 3] = untouched.at(x, y).try_into().unwrap();
            let last = points.len() - 1;
            let parts: Option<Vec<_>> =
                (0..last.max(1)).map(|i| count(points[i], points[(i + 1).min(last)], x, y)).collect();
            if let Some(parts) = parts {
                let wanted = parts.iter().fold(was, |old, part| over(old, *part));
                prop_assert_eq!(lines.at(x, y), &wanted, "line at {} {}", x, y);
            }
            let centre = (points[0].0.floor() as i64, points[0].1.floor() as i64) == (x as i64, y as i64);
            if radius < 1.0 && centre {
                prop_assert_eq!(disc.at(x, y), &[250, 140, 20]);
            } else if let Some(part) = count(points[0], points[0], x, y) {
                prop_assert_eq!(disc.at(x, y), &over(was, part), "disc at {} {}", x, y);
            }
        }
    }

    /// Whatever is asked for, in any size: no panic, and bytes between the rows stay.
    #[test]
    fn any_shape_on_any_frame_keeps_to_the_rows(
        which in 0usize..8,
        (width, height) in (1usize..40, 1usize..40),
        (x, y, w, h) in (any::<f32>(), -50f32..90.0, any::<f32>(), -50f32..90.0),
        n in prop_oneof![0u32..9, Just(u32::MAX)],
        text in "\\PC{0,40}",
    ) {
        let mut picture = Picture::new(format(DRAWABLE[which], width, height));
        let before = picture.clone();
        let points = [(x, y), (w, h), (y, h)];
        picture.draw(&[
            Primitive::Rect { rect: Rect { x, y, w, h }, thickness: n, color: ORANGE },
            Primitive::Rect { rect: Rect { x: y, y: h, w, h }, thickness: n, color: ORANGE },
            Primitive::Label { x, y, text: &text, color: ORANGE, scale: n },
            Primitive::Polyline { points: &points, thickness: n as f32, color: ORANGE },
            Primitive::Disc { x: y, y: h, radius: w, color: ORANGE },
        ]).unwrap();
        for (plane, ((got, stride), (was, _))) in picture.planes.iter().zip(&before.planes).enumerate() {
            let used = DRAWABLE[which].row_bytes(plane, width);
            for (i, (a, b)) in got.iter().zip(was).enumerate() {
                prop_assert!(i % stride < used || a == b);
            }
        }
    }
}
