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

/// How many sixteenths of a pixel a command covers.
fn part(c: &Command, data: &[u32], x: usize, y: usize) -> u32 {
    let (column, row) = (x as i32 - c.left, y as i32 - c.top);
    if column < 0 || row < 0 || x as i32 >= c.right || y as i32 >= c.bottom {
        return 0;
    }
    let data = &data[c.data as usize..];
    let whole = |covered: bool| if covered { 16 } else { 0 };
    match c.kind {
        FILL | PICTURE => 16,
        CAPSULE => {
            let bytes: &[u8] = bytemuck::cast_slice(&data[..size_of::<Capsule>() / 4]);
            let capsule = bytemuck::pod_read_unaligned::<Capsule>(bytes);
            let subpixels = (0..16).filter(|i| {
                let (x, y) = (4 * x as i64 + i % 4, 4 * y as i64 + i / 4);
                capsule.row(y).contains(&x)
            });
            subpixels.count() as u32
        }
        LETTERS => {
            let (column, row) = ((column / c.scale) as usize, (row / c.scale) as usize);
            whole(data[4 * (column / 7) + row / 4] >> (7 * (row % 4) + column % 7) & 1 == 1)
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
    let ink = |x: usize, y: usize| {
        let (column, row) = (x - c.left as usize, y - c.top as usize);
        let value = data[16 + row * c.scale as usize + column / 8] >> (4 * (column % 8)) & 15;
        data[value as usize].to_le_bytes()
    };
    if !(x.is_multiple_of(2) && y.is_multiple_of(2)) {
        return [ink(x, y); 2];
    }
    let four = [ink(x, y), ink(x + 1, y), ink(x, y + 1), ink(x + 1, y + 1)];
    let mean = |i: usize| ((four.iter().map(|ink| u32::from(ink[i])).sum::<u32>() + 2) / 4) as u8;
    [four[0], [mean(0), mean(1), mean(2), mean(3)]]
}

/// The frame after the commands, pixel by pixel.
fn replay(picture: &mut Picture, Recorded { commands, data }: &Recorded) {
    let FrameFormat { pixels, width, height, .. } = picture.format;
    let planar = matches!(pixels, PixelFormat::Nv12 | PixelFormat::I420);
    let mut put = |plane: usize, x: usize, y: usize, bytes: &[u8], part: u32| {
        let (data, stride) = &mut picture.planes[plane];
        for (old, new) in data[y * *stride + x * bytes.len()..].iter_mut().zip(bytes) {
            *old = ((u32::from(*old) * (16 - part) + u32::from(*new) * part + 8) / 16) as u8;
        }
    };
    for c in commands {
        let part = |x: usize, y: usize| if x < width && y < height { part(c, data, x, y) } else { 0 };
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let mut ink = c.ink.to_le_bytes();
            let mut chroma = ink;
            let own = part(x, y);
            if own > 0 {
                [ink, chroma] = inks(c, data, x, y);
                put(0, x, y, if planar { &ink[..1] } else { &ink[..pixels.row_bytes(0, 1)] }, own);
            }
            if !(planar && x % 2 == 0 && y % 2 == 0) {
                continue;
            }
            let most = [(1, 0), (0, 1), (1, 1)].iter().map(|(i, j)| part(x + i, y + j)).fold(own, u32::max);
            let most = if c.kind == LETTERS { own } else { most };
            match pixels {
                PixelFormat::Nv12 => put(1, x / 2, y / 2, &chroma[1..3], most),
                _ => (0..2).for_each(|i| put(1 + i, x / 2, y / 2, &chroma[1 + i..2 + i], most)),
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
        (thickness, rim) in (0.1f32..9.0, 0u32..3),
    ) {
        let format = format(DRAWABLE[which], width, height);
        let [(x, y), (x2, y2), (x3, y3)] = [at[0], at[1], at[2]];
        let picture = TextPicture::new(label.into(), inset.into(), columns, &coverage, rim);
        let primitives = [
            Primitive::Polyline { points: &at, thickness, color: ORANGE },
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
