//! Recorded commands, carried out as `cuda/draw.cu` does.

use super::*;
use crate::draw::canvas::Layout;
use crate::draw::capsule::Capsule;
use crate::draw::record::{CAPSULE, Command, FILL, LETTERS, PICTURE, Recorded, Recorder};
use crate::draw::text_picture::TextPicture;

fn recorded(format: &FrameFormat, primitives: &[Primitive<'_>]) -> Recorded {
    let mut recorded = Recorded::default();
    paint(&mut Recorder::new(Layout::new(format).unwrap(), &mut recorded), primitives);
    recorded
}

fn covers(c: &Command, data: &[u32], x: usize, y: usize) -> bool {
    let (column, row) = (x as i32 - c.left, y as i32 - c.top);
    if column < 0 || row < 0 || x as i32 >= c.right || y as i32 >= c.bottom {
        return false;
    }
    let data = &data[c.data as usize..];
    match c.kind {
        FILL | PICTURE => true,
        CAPSULE => {
            let bytes: &[u8] = bytemuck::cast_slice(&data[..size_of::<Capsule>() / 4]);
            bytemuck::pod_read_unaligned::<Capsule>(bytes).row(y as i64).contains(&(x as i64))
        }
        LETTERS => {
            let (column, row) = ((column / c.scale) as usize, (row / c.scale) as usize);
            data[4 * (column / 7) + row / 4] >> (7 * (row % 4) + column % 7) & 1 == 1
        }
        other => panic!("{other}"),
    }
}

/// The ink at a pixel, and that of the chroma sample whose top-left pixel it is.
fn inks(c: &Command, data: &[u32], x: usize, y: usize) -> [[u8; 4]; 2] {
    if c.kind != PICTURE {
        return [c.ink.to_le_bytes(); 2];
    }
    let data = &data[c.data as usize..];
    let (back, ink) = (data[0].to_le_bytes(), c.ink.to_le_bytes());
    let value = |x: usize, y: usize| {
        let (column, row) = (x - c.left as usize, y - c.top as usize);
        data[1 + row * c.scale as usize + column / 8] >> (4 * (column % 8)) & 15
    };
    let mix = |part: u32, whole: u32| {
        let byte = |i: usize| u32::from(back[i]) * (whole - part) + u32::from(ink[i]) * part;
        [0, 1, 2, 3].map(|i| ((byte(i) + whole / 2) / whole) as u8)
    };
    let corner = x.is_multiple_of(2) && y.is_multiple_of(2);
    let sum = if corner { value(x, y) + value(x + 1, y) + value(x, y + 1) + value(x + 1, y + 1) } else { 0 };
    [mix(value(x, y), 15), mix(sum, 60)]
}

/// The frame after the commands, pixel by pixel.
fn replay(picture: &mut Picture, Recorded { commands, data }: &Recorded) {
    let FrameFormat { pixels, width, height, .. } = picture.format;
    let planar = matches!(pixels, PixelFormat::Nv12 | PixelFormat::I420);
    let mut put = |plane: usize, x: usize, y: usize, bytes: &[u8]| {
        let (data, stride) = &mut picture.planes[plane];
        data[y * *stride + x * bytes.len()..][..bytes.len()].copy_from_slice(bytes);
    };
    for c in commands {
        let covered = |x: usize, y: usize| x < width && y < height && covers(c, data, x, y);
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let mut ink = c.ink.to_le_bytes();
            let mut chroma = ink;
            if covered(x, y) {
                [ink, chroma] = inks(c, data, x, y);
                put(0, x, y, if planar { &ink[..1] } else { &ink[..pixels.row_bytes(0, 1)] });
            }
            let corner = planar && x % 2 == 0 && y % 2 == 0;
            let touched = || [(1, 0), (0, 1), (1, 1)].iter().any(|(i, j)| covered(x + i, y + j));
            if corner && (covered(x, y) || c.kind != LETTERS && touched()) {
                match pixels {
                    PixelFormat::Nv12 => put(1, x / 2, y / 2, &chroma[1..3]),
                    _ => (0..2).for_each(|i| put(1 + i, x / 2, y / 2, &chroma[1 + i..2 + i])),
                }
            }
        }
    }
}

#[test]
fn discs_and_labels_are_few_commands() {
    let primitives = [
        Primitive::Disc { x: 30.0, y: 30.0, radius: 9.0, color: ORANGE },
        Primitive::Disc { x: 60.0, y: 30.0, radius: 0.9, color: ORANGE },
        Primitive::Label { x: 40.0, y: 40.0, text: "label", color: ORANGE, scale: 1 },
    ];
    let found = recorded(&format(PixelFormat::Nv12, 99, 65), &primitives);
    let kinds: Vec<u32> = found.commands.iter().map(|command| command.kind).collect();
    assert_eq!(
        kinds,
        [CAPSULE, FILL, CAPSULE, FILL, LETTERS],
        "circle; centre and circle; background and text"
    );
    assert_eq!(found.data.len(), 2 * 20 + 5 * 4);
}

proptest! {
    #[test]
    fn commands_make_the_same_picture_as_drawing_at_once(
        which in 0usize..8,
        (width, height) in (1usize..70, 1usize..50),
        at in prop::collection::vec((-20f32..80.0, -20f32..60.0), 3..6),
        (w, h) in (0f32..60.0, 0f32..60.0),
        n in prop_oneof![4 => 1u32..5, 1 => Just(u32::MAX)],
        text in "\\PC{0,12}",
        (label, inset, columns) in ((0u32..90, 0u32..60), (0u32..9, 0u32..9), 0usize..70),
        coverage in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let format = format(DRAWABLE[which], width, height);
        let [(x, y), (x2, y2), (x3, y3)] = [at[0], at[1], at[2]];
        let picture = TextPicture::new(label.into(), inset.into(), columns, &coverage);
        let primitives = [
            Primitive::Polyline { points: &at, thickness: n.min(9), color: ORANGE },
            Primitive::Rect { rect: Rect { x, y, w, h }, thickness: n, color: Rgb(10, 200, 30) },
            Primitive::Label { x, y, text: &text, color: Rgb(90, 10, 220), scale: n },
            Primitive::FontLabel { x: y2, y: x2, text: &picture, color: Rgb(30, 60, 140) },
            Primitive::Disc { x: x2, y: y2, radius: w / 4.0, color: ORANGE },
            Primitive::Label { x: x3, y: y3, text: "Ab", color: Rgb(240, 240, 0), scale: 1 },
            Primitive::Rect { rect: Rect { x: x3, y: y3, w: h, h: 1.0 }, thickness: 1, color: ORANGE },
        ];
        let mut want = Picture::new(format);
        let mut got = want.clone();
        want.draw(&primitives).unwrap();
        replay(&mut got, &recorded(&format, &primitives));
        got.assert_is(&want, "commands");
    }
}
