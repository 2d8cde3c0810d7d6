//! Labels with the letters of a font, against the definition of blending.

use super::*;
use crate::draw::text_picture::TextPicture;

/// Coverage of every level, each unlike its neighbours.
fn coverage(columns: usize, rows: usize) -> Vec<u8> {
    (0..columns * rows).map(|i| (i * 53 % 256) as u8).collect()
}

/// In fifteenths, as it is drawn.
fn level(coverage: u8) -> u32 {
    (u32::from(coverage) * 15 + 127) / 255
}

/// `part` of `whole` of one byte over the other, in float64.
fn mixed(back: u8, letters: u8, part: u32, whole: u32) -> u8 {
    let share = f64::from(part) / f64::from(whole);
    // Halves are rounded up; the small summand makes up for f64 values just below a half.
    (f64::from(back) * (1.0 - share) + f64::from(letters) * share + 0.5 + 1e-9).floor() as u8
}

#[test]
fn each_pixel_is_between_the_background_and_the_letters_in_every_format() {
    let (columns, rows) = (31, 11);
    let covered = coverage(columns, rows);
    for (at, size) in [([4, 2], [40, 16]), ([3, 1], [36, 14]), ([0, 0], [0, 0])] {
        let picture = TextPicture::new(size, at, columns, &covered);
        let [width, height] = picture.size().map(|v| v as usize);
        assert!(width >= columns + at[0] as usize && height >= rows + at[1] as usize);
        assert!(width % 2 == 0 && height % 2 == 0);
        for pixels in DRAWABLE {
            for color in [Rgb(40, 20, 90), Rgb(250, 230, 90)] {
                let ink = color.contrasting();
                let mut got = Picture::new(format(pixels, 101, 65));
                let mut want = got.clone();
                // The label's corner is at 10, 20.
                let (left, top) = (10, 20);
                got.draw(&[Primitive::FontLabel {
                    x: 10.0,
                    y: (top + height) as f32,
                    text: &picture,
                    color,
                }])
                .unwrap();
                let in_label = |x: f64, y: f64| {
                    let inside =
                        |v: f64, from: usize, length: usize| v > from as f64 && v < (from + length) as f64;
                    inside(x, left, width) && inside(y, top, height)
                };
                want.paint_where(color, in_label);
                let value = |x: usize, y: usize| {
                    let column = x.checked_sub(left + at[0] as usize).filter(|column| *column < columns);
                    let row = y.checked_sub(top + at[1] as usize).filter(|row| *row < rows);
                    column.zip(row).map_or(0, |(column, row)| level(covered[row * columns + column]))
                };
                blend(&mut want, [color, ink], value);
                got.assert_is(&want, &format!("{at:?} {color:?}"));
            }
        }
    }
}

/// Blends the letters' colour over the background's where `value` says, wherever it is not 0.
fn blend(picture: &mut Picture, [back, ink]: [Rgb; 2], value: impl Fn(usize, usize) -> u32) {
    let FrameFormat { pixels, width, height, .. } = picture.format;
    // Both frames as if they were of one colour each.
    let [mut backs, mut inks] = [(); 2].map(|()| picture.clone());
    backs.paint_where(back, |_, _| true);
    inks.paint_where(ink, |_, _| true);
    let planar = matches!(pixels, PixelFormat::Nv12 | PixelFormat::I420);
    let mut put = |plane: usize, x: usize, y: usize, bytes: usize, part: u32, whole: u32| {
        let stride = picture.planes[plane].1;
        for at in y * stride + x * bytes..y * stride + (x + 1) * bytes {
            let of = |p: &Picture| p.planes[plane].0[at];
            picture.planes[plane].0[at] = mixed(of(&backs), of(&inks), part, whole);
        }
    };
    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
        if value(x, y) > 0 {
            put(0, x, y, if planar { 1 } else { pixels.row_bytes(0, 1) }, value(x, y), 15);
        }
        if planar && x % 2 == 0 && y % 2 == 0 {
            let sum = value(x, y) + value(x + 1, y) + value(x, y + 1) + value(x + 1, y + 1);
            if sum > 0 && pixels == PixelFormat::Nv12 {
                put(1, x / 2, y / 2, 2, sum, 60);
            } else if sum > 0 {
                (1..3).for_each(|plane| put(plane, x / 2, y / 2, 1, sum, 60));
            }
        }
    }
}

#[test]
fn a_picture_without_letters_is_a_background() {
    for picture in [
        TextPicture::new([12, 8], [0, 0], 0, &[]),
        TextPicture::new([12, 8], [3, 3], 5, &[0; 15]),
        TextPicture::new([11, 7], [0, 0], 5, &[1; 4]),
    ] {
        assert_eq!(picture.size(), [12, 8]);
        let mut got = Picture::new(format(PixelFormat::I420, 41, 33));
        let mut want = got.clone();
        got.draw(&[Primitive::FontLabel { x: 10.0, y: 20.0, text: &picture, color: ORANGE }]).unwrap();
        want.paint_where(ORANGE, |x, y| (10.0..22.0).contains(&x) && (12.0..20.0).contains(&y));
        got.assert_is(&want, "nothing covered");
    }
}

#[test]
fn a_label_larger_than_the_frame_is_cut_off_at_the_right_and_below() {
    let covered = coverage(90, 40);
    let picture = TextPicture::new([90, 40], [0, 0], 90, &covered);
    for pixels in DRAWABLE {
        // Odd sides: the last chroma samples also belong to pixels beside the frame.
        let mut small = Picture::new(format(pixels, 33, 17));
        let mut large = Picture::new(format(pixels, 90, 40));
        for picture_of in [&mut small, &mut large] {
            picture_of
                .draw(&[Primitive::FontLabel { x: -5.0, y: -5.0, text: &picture, color: ORANGE }])
                .unwrap();
        }
        for plane in 0..pixels.planes() {
            let ((cut, stride), (whole, long)) = (&small.planes[plane], &large.planes[plane]);
            for row in 0..pixels.rows(plane, 17) {
                let bytes = pixels.row_bytes(plane, 33);
                assert_eq!(
                    cut[row * stride..][..bytes],
                    whole[row * long..][..bytes],
                    "{pixels:?} {plane} {row}"
                );
            }
        }
    }
}

#[test]
fn places_that_are_none_draw_nothing() {
    let picture = TextPicture::new([8, 8], [0, 0], 8, &[255; 64]);
    let mut got = Picture::new(format(PixelFormat::Rgb, 20, 20));
    let want = got.clone();
    for (x, y) in [(f32::NAN, 5.0), (5.0, f32::INFINITY)] {
        got.draw(&[Primitive::FontLabel { x, y, text: &picture, color: ORANGE }]).unwrap();
    }
    got.assert_is(&want, "no place");
}
