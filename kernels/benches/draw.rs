//! What an overlay draws on a frame: twenty labelled boxes, in the built-in letters and in a font, and twenty skeletons of 17
//! points; and twenty boxes hidden. The bytes that must move are the drawn pixels: about 20 x (4 x 2 x 500 + 200 x 30) bytes of
//! luma and half of that of chroma, some 300 kB.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use cudainfer_kernels::draw::blur::{BlurMode, blur};
use cudainfer_kernels::draw::fonts::{FontChoice, Fonts};
use cudainfer_kernels::draw::{Primitive, color_of, default_scale, draw};
use cudainfer_kernels::frame::{FrameFormat, FrameMut, Matrix, PixelFormat, Range};
use cudainfer_kernels::geometry::Rect;

fn boxes(texts: &[String], scale: u32) -> Vec<Primitive<'_>> {
    let at = |i: usize| ((i % 7 * 250 + 31) as f32, (i / 7 * 330 + 47) as f32);
    let primitives = (0_u64..).zip(texts).flat_map(|(id, text)| {
        let ((x, y), color) = (at(text.len() % 2 + usize::try_from(id).unwrap_or(0)), color_of(id));
        let rect = Rect { x, y, w: 170.0, h: 290.0 };
        [Primitive::Rect { rect, thickness: 2 * scale, color }, Primitive::Label { x, y, text, color, scale }]
    });
    primitives.collect()
}

/// The system's fonts at 26 pixels, the size of text on 1080 rows.
fn fonts() -> Option<Fonts> {
    let fonts = Fonts::open(FontChoice::System);
    fonts.inspect_err(|why| eprintln!("labels in a font are left out: {why}")).ok()
}

/// The cost of a text that is new, and of one that was drawn before.
fn typeset(criterion: &mut Criterion) {
    let Some(mut fonts) = fonts() else { return };
    let mut group = criterion.benchmark_group("typeset a label of 26 pixels");
    for (script, word) in
        [("Latin", "person"), ("Arabic", "شخص"), ("Devanagari", "व्यक्ति"), ("Chinese", "行人")]
    {
        // Identities and confidences change, words do not.
        let mut n = 0;
        group.bench_function(format!("{script}, new"), |b| {
            b.iter(|| {
                n += 1;
                fonts.typeset(&format!("#{n} {word} {}%", n % 100), 26, 1920)
            });
        });
        group.bench_function(format!("{script}, drawn before"), |b| {
            b.iter(|| fonts.typeset(black_box(word), 26, 1920));
        });
    }
    group.finish();
}

fn overlay(criterion: &mut Criterion) {
    let (width, height) = (1920, 1080);
    let scale = default_scale(height);
    let texts: Vec<String> = (0..20).map(|i| format!("person {i} 0.{}", 50 + i)).collect();
    let labelled = boxes(&texts, scale);
    let mut fonts = fonts();
    let mut typeset =
        |text: &String| fonts.as_mut().map(|fonts| fonts.typeset(text, 13 * scale, 1920).picture);
    let pictures: Vec<_> = texts.iter().filter_map(&mut typeset).collect();
    let in_font: Vec<Primitive<'_>> = labelled
        .chunks_exact(2)
        .zip(&pictures)
        .flat_map(|(both, text)| {
            let label = match both[1] {
                Primitive::Label { x, y, color, .. } => Primitive::FontLabel { x, y, text, color },
                other => other,
            };
            [both[0], label]
        })
        .collect();
    let bodies: Vec<Vec<(f32, f32)>> = (0..20)
        .map(|i| (0..17).map(|k| ((i * 90 + k * 37 % 110) as f32, (200 + k * 31) as f32)).collect())
        .collect();
    let skeletons: Vec<Primitive<'_>> = (0_u64..)
        .zip(&bodies)
        .flat_map(|(id, points)| {
            let color = color_of(id);
            let joints = points.iter().map(move |&(x, y)| Primitive::Disc { x, y, radius: 5.0, color });
            joints.chain([Primitive::Polyline { points, thickness: 3.0, color }])
        })
        .collect();
    let mut group = criterion.benchmark_group("draw 1920x1080");
    for pixels in [PixelFormat::Nv12, PixelFormat::I420, PixelFormat::Rgb, PixelFormat::Bgrx] {
        let format = FrameFormat { pixels, width, height, matrix: Matrix::Bt709, range: Range::Limited };
        let mut planes: Vec<(Vec<u8>, usize)> = (0..pixels.planes())
            .map(|plane| {
                let stride = pixels.row_bytes(plane, width);
                (vec![90; stride * pixels.rows(plane, height)], stride)
            })
            .collect();
        let borrowed = planes.iter_mut().map(|(data, stride)| (data.as_mut_slice(), *stride));
        let Ok(mut frame) = FrameMut::new(&format, borrowed.collect()) else { continue };
        group.bench_function(format!("20 labelled boxes, {pixels:?}"), |b| {
            b.iter(|| draw(&format, &mut frame, black_box(&labelled)).is_ok());
        });
        group.bench_function(format!("20 labelled boxes in a font, {pixels:?}"), |b| {
            b.iter(|| draw(&format, &mut frame, black_box(&in_font)).is_ok());
        });
        let hidden: Vec<_> = labelled
            .iter()
            .filter_map(|p| if let Primitive::Rect { rect, .. } = p { Some(*rect) } else { None })
            .collect();
        for mode in [BlurMode::Pixelate, BlurMode::Gaussian, BlurMode::Fill] {
            group.bench_function(format!("20 boxes hidden by {mode:?}, {pixels:?}"), |b| {
                b.iter(|| blur(&format, &mut frame, mode, 8, black_box(&hidden)).is_ok());
            });
        }
        group.bench_function(format!("20 skeletons, {pixels:?}"), |b| {
            b.iter(|| draw(&format, &mut frame, black_box(&skeletons)).is_ok());
        });
    }
    group.finish();
}

criterion_group!(benches, overlay, typeset);
criterion_main!(benches);
