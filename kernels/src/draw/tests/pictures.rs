//! Labels with the letters of a font, against the definition of blending.

use super::*;
use crate::draw::text_picture::TextPicture;

/// Coverage of every level, each unlike its neighbours.
fn coverage(columns: usize, rows: usize) -> Vec<u8> {
    (0..columns * rows).map(|i| (i * 53 % 256) as u8).collect()
}

/// The colours of a text: the background's, that of the rim and the letters'.
fn colors(color: Rgb) -> [Rgb; 3] {
    match color.contrasting() {
        Rgb::WHITE => [color, Rgb(color.0 / 3, color.1 / 3, color.2 / 3), Rgb::WHITE],
        letters => [color, color, letters],
    }
}

/// What a pixel is: the colours that it lies between, by their numbers, and how many of how many steps from the one to the other.
fn level(covered: u8, near: u8) -> (usize, u32, u32) {
    let part = |v: u8, whole: u32| (u32::from(v) * whole + 127) / 255;
    if part(covered, 12) > 0 { (1, part(covered, 12), 12) } else { (0, part(near, 3), 3) }
}

/// `part` of `whole` of one byte over the other, in float64.
fn mixed(back: u8, letters: u8, part: u32, whole: u32) -> u8 {
    let share = f64::from(part) / f64::from(whole);
    // Halves are rounded up; the small summand makes up for f64 values just below a half.
    (f64::from(back) * (1.0 - share) + f64::from(letters) * share + 0.5 + 1e-9).floor() as u8
}

#[test]
fn each_pixel_is_between_the_background_the_rim_and_the_letters_in_every_format() {
    let (columns, rows) = (31, 11);
    let covered = coverage(columns, rows);
    for (at, size, rim) in [
        ([4, 2], [40, 16], 1),
        ([3, 1], [36, 14], 1),
        ([0, 0], [0, 0], 1),
        ([5, 6], [44, 30], 3),
        ([4, 2], [40, 16], 0),
    ] {
        let picture = TextPicture::new(size, at, columns, &covered, rim);
        let [width, height] = picture.size().map(|v| v as usize);
        assert!(width >= columns + at[0] as usize && height >= rows + at[1] as usize);
        assert!(width % 2 == 0 && height % 2 == 0);
        for pixels in DRAWABLE {
            for color in [Rgb(40, 20, 90), Rgb(250, 230, 90)] {
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
                let in_label = |x: usize, y: usize| {
                    (left..left + width).contains(&x) && (top..top + height).contains(&y)
                };
                let value = |x: usize, y: usize| {
                    let column = x.checked_sub(left + at[0] as usize).filter(|column| *column < columns);
                    let row = y.checked_sub(top + at[1] as usize).filter(|row| *row < rows);
                    column.zip(row).map_or(0, |(column, row)| covered[row * columns + column])
                };
                let near = |x: usize, y: usize| {
                    let rim = rim as usize;
                    let all = (y - rim..=y + rim).flat_map(|y| (x - rim..=x + rim).map(move |x| (x, y)));
                    all.map(|(x, y)| value(x, y)).max().unwrap()
                };
                blend(&mut want, colors(color), in_label, |x, y| level(value(x, y), near(x, y)));
                got.assert_is(&want, &format!("{at:?} {rim} {color:?}"));
            }
        }
    }
}

/// Gives the pixels in the label the colours that their `value`s name, and chroma samples the mean of their pixels'.
fn blend(
    picture: &mut Picture,
    colors: [Rgb; 3],
    in_label: impl Fn(usize, usize) -> bool,
    value: impl Fn(usize, usize) -> (usize, u32, u32),
) {
    let FrameFormat { pixels, width, height, .. } = picture.format;
    // Frames that are of one colour each.
    let inks = colors.map(|color| {
        let mut all = picture.clone();
        all.paint_where(color, |_, _| true);
        all
    });
    let planar = matches!(pixels, PixelFormat::Nv12 | PixelFormat::I420);
    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).filter(|(x, y)| in_label(*x, *y))
    {
        let byte = |plane: usize, at: usize, (first, part, whole): (usize, u32, u32)| {
            mixed(inks[first].planes[plane].0[at], inks[first + 1].planes[plane].0[at], part, whole)
        };
        let bytes = if planar { 1 } else { pixels.row_bytes(0, 1) };
        for at in y * picture.planes[0].1 + x * bytes..y * picture.planes[0].1 + (x + 1) * bytes {
            picture.planes[0].0[at] = byte(0, at, value(x, y));
        }
        if planar && x % 2 == 0 && y % 2 == 0 {
            let four = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)].map(|(x, y)| value(x, y));
            let samples = if pixels == PixelFormat::Nv12 {
                vec![(1, x), (1, x + 1)]
            } else {
                vec![(1, x / 2), (2, x / 2)]
            };
            for (plane, column) in samples {
                let at = y / 2 * picture.planes[plane].1 + column;
                let sum: u32 = four.iter().map(|value| u32::from(byte(plane, at, *value))).sum();
                picture.planes[plane].0[at] = ((sum + 2) / 4) as u8;
            }
        }
    }
}

#[test]
fn a_picture_without_letters_is_a_background() {
    for picture in [
        TextPicture::new([12, 8], [0, 0], 0, &[], 1),
        TextPicture::new([12, 8], [3, 3], 5, &[0; 15], 1),
        TextPicture::new([11, 7], [0, 0], 5, &[1; 4], 1),
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
    let picture = TextPicture::new([90, 40], [0, 0], 90, &covered, 1);
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
    let picture = TextPicture::new([8, 8], [0, 0], 8, &[255; 64], 1);
    let mut got = Picture::new(format(PixelFormat::Rgb, 20, 20));
    let want = got.clone();
    for (x, y) in [(f32::NAN, 5.0), (5.0, f32::INFINITY)] {
        got.draw(&[Primitive::FontLabel { x, y, text: &picture, color: ORANGE }]).unwrap();
    }
    got.assert_is(&want, "no place");
}
