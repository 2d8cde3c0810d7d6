//! The operation `draw`: the same bytes as the CPU's, padding included.

use cudainfer_kernels::device::{CudaStream, DeviceFrame, DevicePlane, DeviceSlice, Memory};
use cudainfer_kernels::draw::blur::{BlurMode, blur};
use cudainfer_kernels::draw::{CudaCanvas, DrawError, Mask, Primitive, Rgb, TextPicture, draw, paint_masks};
use cudainfer_kernels::frame::{FrameFormat, FrameMut, Matrix, PixelFormat, Range};
use cudainfer_kernels::geometry::Rect;

use super::{Random, download, stream, upload};

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

pub(super) fn format(pixels: PixelFormat, width: usize, height: usize) -> FrameFormat {
    FrameFormat { pixels, width, height, matrix: Matrix::Bt709, range: Range::Limited }
}

/// All planes in one piece of memory, of random bytes: where each begins, its stride and length. Rows are followed by
/// `padding` bytes, so that with an odd one nothing is aligned.
pub(super) struct Picture {
    pub format: FrameFormat,
    pub bytes: Vec<u8>,
    pub planes: Vec<(usize, usize, usize)>,
}

impl Picture {
    pub fn new(format: FrameFormat, padding: usize, random: &mut Random) -> Self {
        let mut end = padding;
        let planes = (0..format.pixels.planes()).map(|plane| {
            let stride = format.pixels.row_bytes(plane, format.width) + padding;
            let length = stride * format.pixels.rows(plane, format.height);
            end += length + padding;
            (end - length - padding, stride, length)
        });
        let planes = planes.collect();
        Self { format, bytes: (0..end).map(|_| random.next() as u8).collect(), planes }
    }

    fn draw(&mut self, primitives: &[Primitive<'_>]) {
        self.with_frame(|format, frame| draw(format, frame, primitives).unwrap());
    }

    pub fn paint(&mut self, masks: &[Mask<&[u8]>]) {
        self.with_frame(|format, frame| paint_masks(format, frame, masks).unwrap());
    }

    pub fn blur(&mut self, mode: BlurMode, cells: u32, boxes: &[Rect]) -> usize {
        self.with_frame(|format, frame| blur(format, frame, mode, cells, boxes).unwrap())
    }

    fn with_frame<T>(&mut self, work: impl FnOnce(&FrameFormat, &mut FrameMut<'_>) -> T) -> T {
        let (mut rest, mut taken, mut planes) = (&mut self.bytes[..], 0, Vec::new());
        for &(start, stride, length) in &self.planes {
            let (plane, after) = rest.split_at_mut(start - taken).1.split_at_mut(length);
            planes.push((plane, stride));
            (rest, taken) = (after, start + length);
        }
        work(&self.format, &mut FrameMut::new(&self.format, planes).unwrap())
    }

    pub fn frame<'a>(&self, memory: &'a Memory) -> DeviceFrame<'a> {
        let planes: Vec<_> = self
            .planes
            .iter()
            .map(|&(start, stride, length)| {
                // SAFETY: `memory` holds as many bytes as the picture.
                DevicePlane::new(
                    unsafe { DeviceSlice::from_raw(memory.pointer() + start as u64, length) },
                    stride,
                )
            })
            .collect();
        DeviceFrame::new(&self.format, &planes).unwrap()
    }

    /// Draws on both sides and compares.
    fn check(mut self, stream: &CudaStream, canvas: &mut CudaCanvas, primitives: &[Primitive<'_>]) {
        let memory = upload(stream, &self.bytes);
        canvas.draw(stream, &self.format, &self.frame(&memory), primitives).unwrap();
        let got = download(stream, memory.slice());
        self.draw(primitives);
        if let Some(at) = (0..got.len()).find(|&i| got[i] != self.bytes[i]) {
            let (format, planes) = (self.format, self.planes);
            panic!("{format:?} {planes:?}: byte {at} is {}, not {}: {primitives:?}", got[at], self.bytes[at]);
        }
    }
}

/// Texts, pictures of texts and points that primitives borrow.
struct Scene {
    texts: Vec<String>,
    pictures: Vec<TextPicture>,
    ways: Vec<Vec<(f32, f32)>>,
}

impl Scene {
    fn new(random: &mut Random, (width, height): (usize, usize)) -> Self {
        let letter = |random: &mut Random| char::from_u32(random.below(0x180) as u32).unwrap();
        let text = |random: &mut Random| (0..random.below(24)).map(|_| letter(random)).collect();
        let way = |random: &mut Random| {
            (0..1 + random.below(6)).map(|_| point(random, (width, height))).collect::<Vec<_>>()
        };
        let texts = (0..8).map(|_| text(random)).collect();
        let picture = |random: &mut Random| {
            let [w, h, x, y] = [90, 40, 7, 7].map(|most| random.below(most) as u32);
            let (columns, rows) = (random.below(120), random.below(40));
            let coverage: Vec<u8> = (0..columns * rows).map(|_| random.next() as u8).collect();
            TextPicture::new([w, h], [x, y], columns, &coverage, random.below(4) as u32)
        };
        let pictures = (0..8).map(|_| picture(random)).collect();
        Self { texts, pictures, ways: (0..8).map(|_| way(random)).collect() }
    }

    fn primitives(&self, random: &mut Random, size: (usize, usize), count: usize) -> Vec<Primitive<'_>> {
        let reach = size.0.max(size.1) as f32;
        let mut primitive = |_| {
            let color = Rgb(random.next() as u8, random.next() as u8, random.next() as u8);
            let ((x, y), thickness) = (point(random, size), random.below(7) as u32);
            match random.below(5) {
                0 => {
                    let rect = Rect { x, y, w: random.range(-1.0, reach), h: random.range(-1.0, reach) };
                    Primitive::Rect { rect, thickness, color }
                }
                1 => {
                    let text = &self.texts[random.below(self.texts.len())];
                    Primitive::Label { x, y, text, color, scale: 1 + random.below(4) as u32 }
                }
                2 => {
                    let text = &self.pictures[random.below(self.pictures.len())];
                    Primitive::FontLabel { x, y, text, color }
                }
                3 => Primitive::Polyline {
                    points: &self.ways[random.below(self.ways.len())],
                    thickness: random.range(0.0, 7.0),
                    color,
                },
                _ => Primitive::Disc { x, y, radius: random.range(-1.0, reach / 4.0), color },
            }
        };
        (0..count).map(&mut primitive).collect()
    }
}

/// In the frame, or up to half its size beside it.
fn point(random: &mut Random, (width, height): (usize, usize)) -> (f32, f32) {
    let mut along = |size: usize| random.range(-0.5, 1.5) * size as f32;
    (along(width), along(height))
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_format_and_odd_size_gets_the_same_bytes_as_on_the_cpu() {
    let (stream, mut random) = (stream(), Random::new(1));
    let mut canvas = CudaCanvas::new(&stream).unwrap();
    for pixels in DRAWABLE {
        for size in [(1, 1), (9, 1), (1, 17), (64, 16), (65, 17), (130, 63), (321, 241), (640, 480)] {
            for (padding, count) in [(0, 1), (3, 9), (64, 40)] {
                let scene = Scene::new(&mut random, size);
                let primitives = scene.primitives(&mut random, size, count);
                let picture = Picture::new(format(pixels, size.0, size.1), padding, &mut random);
                picture.check(&stream, &mut canvas, &primitives);
            }
        }
    }
}

/// Lines whose edges go through the centres of pixels, along both axes and between, over the borders of tiles; and those that are
/// as far away, as wide or as thin as numbers can be.
#[test]
#[ignore = "needs a CUDA device"]
fn lines_and_discs_on_whole_and_half_pixels_and_far_away_are_the_same_too() {
    let (stream, mut random, size) = (stream(), Random::new(5), (200, 70));
    let mut canvas = CudaCanvas::new(&stream).unwrap();
    let color = Rgb(250, 40, 90);
    let ends = [(64.0, 16.0), (128.5, 48.5), (0.0, 69.5), (63.5, 15.5), (199.75, 0.25), (64.0, 48.0)];
    let far = [(f32::MAX, 20.0), (-1e30, -1e30), (1e9, 35.5), (f32::MIN_POSITIVE, 1e-30)];
    let ways: Vec<_> = ends
        .iter()
        .flat_map(|a| ends.iter().chain(&far).map(move |b| vec![*a, *b]))
        .chain([far.to_vec()])
        .collect();
    let lines = ways.iter().flat_map(|points| {
        [0.3, 1.0, 2.0, 2.6, 8.0].map(|thickness| Primitive::Polyline { points, thickness, color })
    });
    let radii = [0.25, 0.5, 1.0, 7.5, 1e-20, 1e9, f32::MAX];
    let discs = ends
        .iter()
        .chain(&far)
        .flat_map(|&(x, y)| radii.map(|radius| Primitive::Disc { x, y, radius, color }));
    for primitive in lines.chain(discs) {
        for pixels in [PixelFormat::Nv12, PixelFormat::Rgb] {
            let picture = Picture::new(format(pixels, size.0, size.1), 0, &mut random);
            picture.check(&stream, &mut canvas, &[primitive]);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn matrices_ranges_and_more_commands_than_a_block_has_threads_are_the_same_too() {
    let (stream, mut random) = (stream(), Random::new(2));
    let mut canvas = CudaCanvas::new(&stream).unwrap();
    for (matrix, range) in [
        (Matrix::Bt601, Range::Full),
        (Matrix::Bt2020, Range::Limited),
        (Matrix::Fcc, Range::Limited),
        (Matrix::Smpte240m, Range::Full),
    ] {
        for pixels in [PixelFormat::Nv12, PixelFormat::I420, PixelFormat::Bgr] {
            let format = FrameFormat { matrix, range, ..format(pixels, 707, 311) };
            let scene = Scene::new(&mut random, (707, 311));
            // Some 2000 commands, which no longer fit into the room that there is at first.
            let primitives = scene.primitives(&mut random, (707, 311), 900);
            Picture::new(format, 1, &mut random).check(&stream, &mut canvas, &primitives);
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_drawn_without_waiting_are_all_right_and_nothing_is_allocated() {
    let (stream, mut random, size) = (stream(), Random::new(3), (1920, 1080));
    let mut canvas = CudaCanvas::new(&stream).unwrap();
    let mut picture = Picture::new(format(PixelFormat::Nv12, size.0, size.1), 128, &mut random);
    let memory = upload(&stream, &picture.bytes);
    let scenes: Vec<_> = (0..40).map(|_| Scene::new(&mut random, size)).collect();
    let pictures: Vec<_> = scenes.iter().map(|scene| scene.primitives(&mut random, size, 30)).collect();
    let mut all = || {
        for primitives in &pictures {
            canvas.draw(&stream, &picture.format, &picture.frame(&memory), primitives).unwrap();
        }
        stream.counters().allocations.get()
    };
    // The first time makes room for them.
    assert_eq!(all(), all());
    pictures.iter().chain(&pictures).for_each(|primitives| picture.draw(primitives));
    assert!(download(&stream, memory.slice()) == picture.bytes);
}

#[test]
#[ignore = "needs a CUDA device"]
fn nothing_to_draw_launches_nothing_and_what_cannot_be_drawn_on_is_refused() {
    let (stream, mut random) = (stream(), Random::new(4));
    let mut canvas = CudaCanvas::new(&stream).unwrap();
    let picture = Picture::new(format(PixelFormat::I420, 33, 17), 0, &mut random);
    let memory = upload(&stream, &picture.bytes);
    let frame = picture.frame(&memory);
    let outside = Primitive::Disc { x: 99.0, y: 5.0, radius: 9.0, color: Rgb::WHITE };
    canvas.draw(&stream, &picture.format, &frame, &[outside]).unwrap();
    assert_eq!(stream.counters().launches.get(), 0);
    let mut refused = |format| canvas.draw(&stream, &format, &frame, &[outside]).unwrap_err();
    assert_eq!(refused(format(PixelFormat::Yuy2, 33, 17)), DrawError::Format(PixelFormat::Yuy2));
    assert!(matches!(refused(format(PixelFormat::I420, 33, 19)), DrawError::Frame(_)));
}
