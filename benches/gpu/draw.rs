//! The operation `draw`: what an overlay draws on a frame. The bytes that must move are the drawn pixels; the two launches, of which
//! one fetches the commands, take longer.

use std::time::Instant;

use cudainfer_kernels::device::{CudaStream, DeviceFrame, DevicePlane, DeviceSlice, Event, Memory};
use cudainfer_kernels::draw::fonts::{FontChoice, Fonts, Typeset};
use cudainfer_kernels::draw::{CudaCanvas, Primitive, color_of, default_scale, draw};
use cudainfer_kernels::frame::{FrameFormat, FrameMut, Matrix, PixelFormat, Range};
use cudainfer_kernels::geometry::Rect;

use crate::measure::{Times, measure, row};

pub(super) const SIZE: [usize; 2] = [1920, 1080];
/// Frames drawn on by turns: 3 MB each, so that they do not stay in the 50 MB of L2 cache.
pub(super) const FRAMES: usize = 32;

/// Microseconds of the host for a frame of any of the scenes.
const HOST_GOAL: f64 = 30.0;

/// Where a font may be: in the bundle for GPU machines, or of Debian's fonts-dejavu-core.
const FONTS: [&str; 2] = ["fonts/DejaVuSans.ttf", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"];

/// The texts in the font; none if there is no font.
fn typeset(texts: &[String], size: u32) -> Vec<Typeset> {
    let bytes = FONTS.iter().find_map(|path| std::fs::read(path).ok());
    let Some(mut fonts) = bytes.and_then(|bytes| Fonts::open(FontChoice::File(bytes)).ok()) else {
        eprintln!("left out: labels in a font, because there is none of {FONTS:?}");
        return Vec::new();
    };
    texts.iter().map(|text| fonts.typeset(text, size, SIZE[0] as u32)).collect()
}

pub fn run(stream: &CudaStream) {
    let scale = default_scale(SIZE[1]);
    let texts: Vec<String> = (0..20).map(|i| format!("person {i} 0.{}", 50 + i)).collect();
    let labelled: Vec<Primitive<'_>> = (0_u8..)
        .zip(&texts)
        .flat_map(|(id, text)| {
            let (x, y) = (f32::from(id % 7) * 250.0 + 31.0, f32::from(id / 7) * 330.0 + 47.0);
            let (color, rect) = (color_of(id.into()), Rect { x, y, w: 170.0, h: 290.0 });
            [
                Primitive::Rect { rect, thickness: 2 * scale, color },
                Primitive::Label { x, y, text, color, scale },
            ]
        })
        .collect();
    let typeset = typeset(&texts, 13 * scale);
    let in_font: Vec<Primitive<'_>> = labelled
        .chunks_exact(2)
        .zip(&typeset)
        .flat_map(|(both, typeset)| {
            let label = match both[1] {
                Primitive::Label { x, y, color, .. } => {
                    Primitive::FontLabel { x, y, text: &typeset.picture, color }
                }
                other => other,
            };
            [both[0], label]
        })
        .collect();
    let bodies: Vec<Vec<(f32, f32)>> = (0_u16..20)
        .map(|i| (0_u16..17).map(|k| (f32::from(i * 90 + k * 37 % 110), f32::from(200 + k * 31))).collect())
        .collect();
    let skeletons: Vec<Primitive<'_>> = (0_u64..)
        .zip(&bodies)
        .flat_map(|(id, points)| {
            let color = color_of(id);
            let joints = points.iter().map(move |&(x, y)| Primitive::Disc { x, y, radius: 5.0, color });
            joints.chain([Primitive::Polyline { points, thickness: 3.0, color }])
        })
        .collect();
    for (what, primitives) in [
        ("20 boxes with labels", &labelled),
        ("20 boxes with labels in a font", &in_font),
        ("20 skeletons", &skeletons),
    ] {
        if primitives.is_empty() {
            continue;
        }
        for pixels in [PixelFormat::Nv12, PixelFormat::Bgrx] {
            one(stream, &format!("draw {what} on {pixels:?} 1080p"), pixels, primitives);
        }
    }
}

/// A frame of these pixels, and bytes of a row and rows of each of its planes.
pub(super) fn picture(pixels: PixelFormat) -> (FrameFormat, Vec<(usize, usize)>) {
    let [width, height] = SIZE;
    let format = FrameFormat { pixels, width, height, matrix: Matrix::Bt709, range: Range::Limited };
    let plane = |i| (pixels.row_bytes(i, width), pixels.rows(i, height));
    (format, (0..pixels.planes()).map(plane).collect())
}

/// The median time in us of the CPU twin's `work` on a grey frame, which is done a hundred times, and the frame's planes then.
pub(super) fn twin(
    format: &FrameFormat,
    sizes: &[(usize, usize)],
    work: impl Fn(&mut FrameMut<'_>),
) -> (f64, Vec<Vec<u8>>) {
    let mut planes: Vec<Vec<u8>> = sizes.iter().map(|(row, rows)| vec![90; row * rows]).collect();
    let borrowed = planes.iter_mut().zip(sizes).map(|(plane, (stride, _))| (&mut plane[..], *stride));
    let mut frame = FrameMut::new(format, borrowed.collect()).unwrap();
    let mut times: Vec<f64> = (0..100)
        .map(|_| {
            let start = Instant::now();
            work(&mut frame);
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[50], planes)
}

/// The planes of all frames.
pub(super) fn memories(stream: &CudaStream, sizes: &[(usize, usize)]) -> Vec<Vec<Memory>> {
    let planes = |_| sizes.iter().map(|(row, rows)| stream.allocate(row * rows).unwrap()).collect();
    (0..FRAMES).map(planes).collect()
}

/// Grey frames in that memory.
pub(super) fn frames<'a>(
    stream: &CudaStream,
    format: &FrameFormat,
    sizes: &[(usize, usize)],
    memories: &'a [Vec<Memory>],
) -> Vec<DeviceFrame<'a>> {
    let frame = |planes: &'a Vec<Memory>| {
        let planes: Vec<_> = planes
            .iter()
            .zip(sizes)
            .map(|(memory, (stride, _))| DevicePlane::new(memory.slice(), *stride))
            .collect();
        planes.iter().for_each(|plane| {
            // SAFETY: the plane's own bytes.
            let bytes = unsafe { DeviceSlice::from_raw(plane.pointer(), plane.bytes()) };
            stream.fill(bytes, 90).unwrap();
        });
        DeviceFrame::new(format, &planes).unwrap()
    };
    memories.iter().map(frame).collect()
}

fn one(stream: &CudaStream, name: &str, pixels: PixelFormat, primitives: &[Primitive<'_>]) {
    let (format, sizes) = picture(pixels);
    let memories = memories(stream, &sizes);
    let frames = frames(stream, &format, &sizes, &memories);

    // The CPU twin on the same primitives, for the bytes that are drawn and for its time.
    let (twin_us, planes) = twin(&format, &sizes, |frame| draw(&format, frame, primitives).unwrap());
    let drawn = planes.iter().flatten().filter(|byte| **byte != 90).count();

    let mut canvas = CudaCanvas::new(stream).unwrap();
    let before = stream.counters().host_to_device.get();
    canvas.draw(stream, &format, &frames[0], primitives).unwrap();
    let commands = stream.counters().host_to_device.get() - before;
    let times = measure(stream, |i| canvas.draw(stream, &format, &frames[i % FRAMES], primitives).unwrap());
    row(name, &times, drawn, 2.0, None);
    let (long, events) =
        (stream.allocate(1 << 32).unwrap(), [(); 2].map(|()| Event::with_time(stream.context()).unwrap()));
    // Three frames, so that none waits for room, after work that takes longer than enqueuing them.
    let mut device: Vec<f64> = (0..100)
        .map(|i| {
            stream.synchronize().unwrap();
            stream.fill(long.slice(), 1).unwrap();
            stream.record(&events[0]).unwrap();
            (0..3).for_each(|k| {
                canvas.draw(stream, &format, &frames[(3 * i + k) % FRAMES], primitives).unwrap()
            });
            stream.record(&events[1]).unwrap();
            stream.wait_on_host(&events[1]).unwrap();
            events[1].nanoseconds_since(&events[0]).unwrap() as f64 / 3e3
        })
        .collect();
    device.sort_by(f64::total_cmp);
    row(&format!("{name}: on the device"), &Times { median: device[50], p95: device[95] }, drawn, 2.0, None);
    let mut host: Vec<f64> = (0..500)
        .map(|i| {
            let start = Instant::now();
            canvas.draw(stream, &format, &frames[i % FRAMES], primitives).unwrap();
            let enqueued = start.elapsed().as_secs_f64() * 1e6;
            stream.synchronize().unwrap();
            enqueued
        })
        .collect();
    host.sort_by(f64::total_cmp);
    println!(
        "{{\"row\": \"{name}: host\", \"who\": \"cudainfer\", \"enqueue_us\": {:.1}, \"enqueue_goal_us\": {}, \
         \"command_bytes\": {commands}, \"cpu_twin_us\": {:.1}}}",
        host[250], HOST_GOAL, twin_us
    );
}
