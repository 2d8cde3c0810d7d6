//! Masks against a picture painted pixel by pixel in f64, from each mask's value at the pixel's centre.

use super::*;

/// Which colour a pixel with this centre takes, and how much of it, by the definition; `None` outside the mask.
fn expected(mask: &Mask<&[u8]>, x: f64, y: f64) -> Option<(Rgb, f64)> {
    let [left, top, w, h] = [mask.rect.x, mask.rect.y, mask.rect.w, mask.rect.h].map(f64::from);
    if !(x >= left && x < left + w && y >= top && y < top + h) {
        return None;
    }
    let at = |x: f64, y: f64| {
        let clamp = |v: f64, count: usize| (v.max(0.0) as usize).min(count - 1);
        mask.data[clamp(y, mask.height) * mask.width + clamp(x, mask.width)]
    };
    let (u, v) = ((x - left) / w * mask.width as f64, (y - top) / h * mask.height as f64);
    let all = |painted: bool| if painted { 255.0 } else { 0.0 };
    Some(match mask.ink {
        MaskInk::Classes { background } => (color_of(at(u, v).into()), all(Some(at(u, v)) != background)),
        MaskInk::Solid(color) => (color, all(at(u, v) != 0)),
        MaskInk::Cover(color) => {
            let (fx, fy) = ((u - 0.5).rem_euclid(1.0), (v - 0.5).rem_euclid(1.0));
            let sample = |dx: f64, dy: f64| f64::from(at((u - 0.5).floor() + dx, (v - 0.5).floor() + dy));
            let row = |dy| sample(0.0, dy) * (1.0 - fx) + sample(1.0, dy) * fx;
            (color, (row(0.0) * (1.0 - fy) + row(1.0) * fy + 0.5).floor())
        }
    })
}

impl Picture {
    fn masks(&mut self, masks: &[Mask<&[u8]>]) -> Result<(), DrawError> {
        let planes = self.planes.iter_mut().map(|(data, stride)| (data.as_mut_slice(), *stride));
        let mut frame = FrameMut::new(&self.format, planes.collect()).unwrap();
        paint_masks(&self.format, &mut frame, masks)
    }

    /// Paints a mask by the definition, by blending with a copy whose pixels are painted opaque.
    fn blend(&mut self, mask: &Mask<&[u8]>) {
        let mut whole = self.clone();
        let mut cover = vec![0.0; self.format.width * self.format.height];
        for y in (0..self.format.height).rev() {
            for x in (0..self.format.width).rev() {
                if let Some((color, value)) = expected(mask, x as f64 + 0.5, y as f64 + 0.5) {
                    // From the last to the first, so that a chroma sample keeps its top-left pixel's colour.
                    whole.paint(x, y, color);
                    cover[y * self.format.width + x] =
                        (value * f64::from(mask.opacity) / 255.0).round() / 255.0;
                }
            }
        }
        for plane in 0..self.planes.len() {
            let step = if plane == 0 { 1 } else { 2 };
            let bytes = self.format.pixels.row_bytes(plane, self.format.width.next_multiple_of(step))
                / self.format.width.next_multiple_of(step).div_ceil(step);
            let stride = self.planes[plane].1;
            for y in (0..self.format.height).step_by(step) {
                for x in (0..self.format.width).step_by(step) {
                    let a = cover[y * self.format.width + x];
                    for i in 0..bytes {
                        let at = y / step * stride + x / step * bytes + i;
                        let (old, new) =
                            (f64::from(self.planes[plane].0[at]), f64::from(whole.planes[plane].0[at]));
                        if a > 0.0 {
                            self.planes[plane].0[at] = (old * (1.0 - a) + new * a).round() as u8;
                        }
                    }
                }
            }
        }
    }
}

fn samples(width: usize, height: usize, most: usize) -> Vec<u8> {
    (0..width * height).map(|i| ((i * 7 + i / width * 13) % most) as u8).collect()
}

fn mask(data: &[u8], width: usize, rect: Rect, ink: MaskInk) -> Mask<&[u8]> {
    let height = data.len() / width;
    Mask { data, width, height, rect, ink, opacity: 128, outline: MaskOutline::default(), into_alpha: false }
}

const WHOLE: Rect = Rect { x: 0.0, y: 0.0, w: 41.0, h: 27.0 };

#[test]
fn every_format_gets_each_pixels_share_of_the_colour_and_nothing_else() {
    let inks = [
        MaskInk::Classes { background: Some(0) },
        MaskInk::Classes { background: None },
        MaskInk::Solid(ORANGE),
        MaskInk::Cover(ORANGE),
    ];
    // Masks of the frame's own size, smaller, larger, and partly beyond it. No pixel's centre lies on a border between samples,
    // where rounding decides.
    let rects = [
        (41, 27, WHOLE),
        (7, 5, WHOLE),
        (91, 71, WHOLE),
        (17, 15, Rect { x: -8.0, y: -3.0, w: 57.0, h: 33.0 }),
        (5, 3, Rect { x: 7.0, y: 5.0, w: 10.0, h: 9.0 }),
    ];
    for pixels in DRAWABLE {
        for ink in inks {
            for (width, height, rect) in rects {
                let most = if matches!(ink, MaskInk::Cover(_)) { 256 } else { 4 };
                let data = samples(width, height, most);
                let mask = mask(&data, width, rect, ink);
                let mut got = Picture::new(format(pixels, 41, 27));
                let mut want = got.clone();
                got.masks(&[mask]).unwrap();
                want.blend(&mask);
                // Interpolation in f32 may round differently, by 1, and the blend of that by less. The other kinds are exact.
                let tolerance = if matches!(ink, MaskInk::Cover(_)) { 1 } else { 0 };
                for (plane, (got, want)) in got.planes.iter().zip(&want.planes).enumerate() {
                    for (i, (a, b)) in got.0.iter().zip(&want.0).enumerate() {
                        let place =
                            format!("{pixels:?} {ink:?} {rect:?} plane {plane}, {} {}", i % got.1, i / got.1);
                        assert!(a.abs_diff(*b) <= tolerance, "{place}: {a} is not {b}");
                    }
                }
            }
        }
    }
}

#[test]
fn masks_are_painted_one_over_the_other_and_before_means_under() {
    let data = vec![1u8; 6];
    let (red, blue) = (MaskInk::Solid(Rgb(255, 0, 0)), MaskInk::Solid(Rgb(0, 0, 255)));
    let rect = Rect { x: 0.0, y: 0.0, w: 3.0, h: 2.0 };
    let of = |ink, opacity| Mask { opacity, ..mask(&data, 3, rect, ink) };
    let mut picture = Picture::new(format(PixelFormat::Rgb, 4, 2));
    picture.masks(&[of(red, 255), of(blue, 51)]).unwrap();
    assert_eq!((picture.at(0, 0), picture.at(2, 1)), (&[204, 0, 51][..], &[204, 0, 51][..]));
    assert_eq!(picture.at(3, 0), Picture::new(picture.format).at(3, 0));
}

/// By the definition: a pixel of a mask is on the outline if one that is `width` pixels away, across or down, belongs to another part;
/// beyond the mask's rectangle and the frame the last pixel counts.
#[test]
fn an_outline_runs_along_the_inner_side_of_a_border() {
    const SIDE: usize = 12;
    // A part from 3 to 8 on both axes, and another class in the corner.
    let class = |x: usize, y: usize| match (x, y) {
        (3..9, 3..9) => 200,
        (0..=1, 0..=1) => 7,
        _ => 0,
    };
    let data: Vec<u8> = (0..SIDE * SIDE).map(|i| class(i % SIDE, i / SIDE)).collect();
    let rect = Rect { x: 0.0, y: 0.0, w: SIDE as f32, h: SIDE as f32 };
    let inks = [
        (MaskInk::Solid(ORANGE), [true, true]),
        (MaskInk::Cover(ORANGE), [true, false]),
        (MaskInk::Classes { background: Some(0) }, [true, true]),
    ];
    for (pixels, width) in [(PixelFormat::Rgb, 1), (PixelFormat::Bgrx, 2), (PixelFormat::Nv12, 2)] {
        for (ink, [large, small]) in inks {
            let outline = MaskOutline { width, opacity: 255 };
            let mask = Mask { opacity: 0, outline, ..mask(&data, SIDE, rect, ink) };
            let before = Picture::new(format(pixels, SIDE, SIDE));
            let mut after = before.clone();
            after.masks(&[mask]).unwrap();
            let far = width as usize;
            for (x, y) in (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (x, y))) {
                let own = class(x, y);
                let near = [
                    class(x.saturating_sub(far), y),
                    class((x + far).min(SIDE - 1), y),
                    class(x, y.saturating_sub(far)),
                    class(x, (y + far).min(SIDE - 1)),
                ];
                let drawn = own == 200 && large || own == 7 && small;
                let on = drawn && near.iter().any(|class| *class != own);
                let color = if let MaskInk::Classes { .. } = ink { color_of(own.into()) } else { ORANGE };
                let mut wanted = before.clone();
                if on {
                    wanted.paint(x, y, color);
                }
                assert_eq!(after.at(x, y), wanted.at(x, y), "{pixels:?} {ink:?}: {x} {y}");
            }
        }
    }
}

#[test]
fn into_alpha_sets_the_alpha_channel_and_no_other() {
    let data = [0u8, 255, 100, 7];
    let rect = Rect { x: 0.0, y: 0.0, w: 4.0, h: 1.0 };
    for pixels in [PixelFormat::Rgba, PixelFormat::Bgra] {
        let of = |ink| Mask { opacity: 255, into_alpha: true, ..mask(&data, 4, rect, ink) };
        for (ink, alpha) in [
            (MaskInk::Cover(Rgb::WHITE), [0, 255, 100, 7]),
            (MaskInk::Classes { background: Some(100) }, [255, 255, 0, 255]),
            (MaskInk::Solid(Rgb::WHITE), [0, 255, 255, 255]),
        ] {
            let before = Picture::new(format(pixels, 4, 1));
            let mut after = before.clone();
            after.masks(&[of(ink)]).unwrap();
            for (x, alpha) in alpha.into_iter().enumerate() {
                assert_eq!(after.at(x, 0)[..3], before.at(x, 0)[..3]);
                assert_eq!(after.at(x, 0)[3], alpha, "{ink:?} {x}");
            }
        }
    }
}

#[test]
fn a_mask_that_is_no_place_paints_nothing_and_one_that_does_not_fit_is_refused() {
    let data = samples(4, 4, 256);
    let ink = MaskInk::Cover(ORANGE);
    let mut picture = Picture::new(format(PixelFormat::Nv12, 33, 17));
    let untouched = picture.clone();
    for rect in [
        Rect { x: f32::NAN, ..WHOLE },
        Rect { w: f32::INFINITY, ..WHOLE },
        Rect { h: 0.0, ..WHOLE },
        Rect { w: -4.0, ..WHOLE },
        Rect { x: 33.0, ..WHOLE },
    ] {
        picture.masks(&[mask(&data, 4, rect, ink)]).unwrap();
    }
    picture.masks(&[Mask { width: 0, height: 0, ..mask(&data[..0], 4, WHOLE, ink) }]).unwrap();
    let good = mask(&data, 4, WHOLE, ink);
    for (bad, want) in [
        (Mask { height: 5, ..good }, DrawError::Mask { width: 4, height: 5, bytes: 16 }),
        (Mask { width: usize::MAX, ..good }, DrawError::Mask { width: usize::MAX, height: 4, bytes: 16 }),
        (Mask { into_alpha: true, ..good }, DrawError::NoAlpha(PixelFormat::Nv12)),
    ] {
        assert_eq!(picture.masks(&[good, bad]), Err(want));
    }
    picture.assert_is(&untouched, "nothing to paint");
}

proptest! {
    /// Wherever a mask lies: no panic, and bytes between the rows stay.
    #[test]
    fn any_mask_on_any_frame_keeps_to_the_rows(
        which in 0usize..8,
        (width, height) in (1usize..40, 1usize..40),
        (columns, rows) in (1usize..20, 1usize..20),
        (x, y, w, h) in (any::<f32>(), -50f32..90.0, any::<f32>(), 0f32..90.0),
        far in any::<bool>(),
    ) {
        let mut picture = Picture::new(format(DRAWABLE[which], width, height));
        let before = picture.clone();
        let data = samples(columns, rows, 256);
        let rect = if far { Rect { x, y, w, h } } else { Rect { x: x % 50.0, y, w: w.abs() % 90.0, h } };
        picture.masks(&[mask(&data, columns, rect, MaskInk::Cover(ORANGE)), mask(&data, columns, rect, MaskInk::Solid(ORANGE))]).unwrap();
        for (plane, ((got, stride), (was, _))) in picture.planes.iter().zip(&before.planes).enumerate() {
            let used = DRAWABLE[which].row_bytes(plane, width);
            for (i, (a, b)) in got.iter().zip(was).enumerate() {
                prop_assert!(i % stride < used || a == b);
            }
        }
    }
}
