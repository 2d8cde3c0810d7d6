//! Text and its background.

use super::*;

/// Columns and rows whose luma differs between two pictures, as (first, last + 1) on each axis.
fn extent(a: &Picture, b: &Picture) -> Option<[(usize, usize); 2]> {
    let f = a.format;
    let all = (0..f.height).flat_map(|y| (0..f.width).map(move |x| (x, y)));
    let changed: Vec<_> = all.filter(|&(x, y)| a.at(x, y) != b.at(x, y)).collect();
    let of = |v: Vec<usize>| Some((*v.iter().min()?, *v.iter().max()? + 1));
    Some([of(changed.iter().map(|p| p.0).collect())?, of(changed.iter().map(|p| p.1).collect())?])
}

#[test]
fn labels_have_letters_and_background_in_every_format() {
    for pixels in DRAWABLE {
        for (color, ink) in [(Rgb(40, 20, 90), Rgb::WHITE), (Rgb(250, 230, 90), Rgb::BLACK)] {
            let mut got = Picture::new(format(pixels, 101, 65));
            let (mut back, mut fore) = (got.clone(), got.clone());
            got.draw(&[Primitive::Label { x: 11.0, y: 47.0, text: "Hi", color, scale: 2 }]).unwrap();
            back.paint_where(color, |_, _| true);
            fore.paint_where(ink, |_, _| true);
            // Two letters of 14 x 26 and 2 around them, the corner on the even pixel below.
            let (mut letters, mut rest) = (0, 0);
            for (x, y) in (17..47).flat_map(|y| (10..43).map(move |x| (x, y))) {
                letters += usize::from(got.at(x, y) == fore.at(x, y));
                rest += usize::from(got.at(x, y) == back.at(x, y));
            }
            assert_eq!(letters + rest, 33 * 30, "{pixels:?}");
            // The font's 'H' and 'i' have some fifty pixels, and each is two by two here.
            assert!((120..300).contains(&letters) && letters % 4 == 0, "{letters}");
            // Everything else is as it was.
            let before = Picture::new(got.format);
            for (x, y) in (0..65).flat_map(|y| (0..101).map(move |x| (x, y))) {
                if !(10..43).contains(&x) || !(16..47).contains(&y) {
                    assert_eq!(got.at(x, y), before.at(x, y));
                }
            }
        }
    }
}

#[test]
fn letters_are_the_fonts_own_at_every_scale() {
    // The top half of 'T', upright and in the right order: a bar, then a stem in the middle of it.
    for scale in 1..5_u32 {
        let mut picture = Picture::new(format(PixelFormat::Rgb, 99, 99));
        picture.draw(&[Primitive::Label { x: 0.0, y: 99.0, text: "T", color: Rgb::WHITE, scale }]).unwrap();
        let s = scale as usize;
        let dark = |x: usize, y: usize| {
            let origin = (99 - (15 * s + 15 * s % 2)) / 2 * 2;
            picture.at(s + x * s + s / 2, origin + s + y * s + s / 2) == [0, 0, 0]
        };
        let rows: Vec<String> =
            (0..13).map(|y| (0..7).map(|x| if dark(x, y) { '#' } else { '.' }).collect()).collect();
        let first = rows.iter().position(|r| r.contains('#')).unwrap();
        assert_eq!(rows[first], "######.", "{rows:#?}");
        assert_eq!(rows[first + 1], "..##...", "{rows:#?}");
    }
}

#[test]
fn labels_move_inside_the_frame() {
    let place = |x: f32, y: f32, text: &str| {
        let before = Picture::new(format(PixelFormat::Bgrx, 100, 60));
        let mut after = before.clone();
        after.draw(&[Primitive::Label { x, y, text, color: ORANGE, scale: 1 }]).unwrap();
        extent(&before, &after).unwrap()
    };
    // 2 letters: 16 x 15, rounded up to 16 x 16.
    assert_eq!(place(20.0, 40.0, "ab"), [(20, 36), (24, 40)]);
    assert_eq!(place(20.0, 0.0, "ab"), [(20, 36), (0, 16)]);
    assert_eq!(place(20.0, 7.0, "ab"), [(20, 36), (6, 23)], "below its anchor, on an even row");
    assert_eq!(place(95.0, 40.0, "ab"), [(84, 100), (24, 40)]);
    assert_eq!(place(-9.0, -9.0, "ab"), [(0, 16), (0, 16)]);
    assert_eq!(place(500.0, 500.0, "ab"), [(84, 100), (44, 60)]);
    assert_eq!(place(20.0, 40.0, &"long ".repeat(1000)), [(0, 100), (24, 40)]);
    let before = Picture::new(format(PixelFormat::Nv12, 1, 1));
    let mut after = before.clone();
    after.draw(&[Primitive::Label { x: 0.0, y: 0.0, text: "ab", color: ORANGE, scale: 3 }]).unwrap();
    assert_ne!(after.at(0, 0), before.at(0, 0));
}

#[test]
fn characters_the_font_lacks_become_question_marks() {
    let render = |text: &str| {
        let mut picture = Picture::new(format(PixelFormat::Rgb, 99, 33));
        picture.draw(&[Primitive::Label { x: 0.0, y: 30.0, text, color: ORANGE, scale: 1 }]).unwrap();
        picture
    };
    render("猫\n→\u{7}").assert_is(&render("????"), "unknown");
    let umlauts = render("äöüß");
    assert!(extent(&umlauts, &render("????")).is_some(), "ISO 8859-1 has these");
}

#[test]
fn labels_grow_with_the_frame() {
    let scales = [0, 1, 240, 480, 720, 1080, 1440, 2160, 4320].map(default_scale);
    assert_eq!(scales, [1, 1, 1, 1, 1, 2, 3, 4, 8]);
    assert!(default_scale(usize::MAX) > 1);
}
