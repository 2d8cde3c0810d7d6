//! The video that all pipelines see: made here, number by number, and kept without loss, so that it is the same with every GStreamer.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::{TestPipeline, end, push, scratch};

/// Pixels of a frame, each way: a multiple of 4, so that no row has padding.
pub const WIDTH: usize = 192;
/// See [`WIDTH`].
pub const HEIGHT: usize = 128;
/// Frames of the video.
pub const FRAMES: usize = 8;

/// The file: three coloured rectangles move over a slope of gray, each its own way.
pub fn film() -> &'static Path {
    static FILM: LazyLock<PathBuf> = LazyLock::new(|| {
        let path = scratch("golden").join("film.mkv");
        let pipeline = TestPipeline::new(&format!(
            "appsrc name=in format=time caps=video/x-raw,format=I420,width={WIDTH},height={HEIGHT},framerate=10/1,colorimetry=bt601 \
             ! matroskamux ! filesink location={}",
            path.display()
        ));
        pipeline.play();
        for number in 0..FRAMES {
            let mut buffer = gst::Buffer::from_mut_slice(frame(number));
            let buffer_mut = buffer.get_mut().unwrap();
            buffer_mut.set_pts(gst::ClockTime::from_mseconds(100 * number as u64));
            buffer_mut.set_duration(gst::ClockTime::from_mseconds(100));
            push(&pipeline.element("in"), buffer);
        }
        end(&pipeline.element("in"));
        pipeline.wait().succeeds();
        path
    });
    &FILM
}

/// Left, top, width, height, and Y, U and V of the rectangles of a frame: red, blue, green.
fn rectangles(number: usize) -> [([usize; 4], [u8; 3]); 3] {
    [
        ([12 + 8 * number, 20, 40, 64], [81, 90, 240]),
        ([140 - 6 * number, 70, 36, 40], [41, 240, 110]),
        ([80, 8 + 4 * number, 28, 24], [145, 54, 34]),
    ]
}

/// The bytes of a frame: the planes of I420, without gaps.
fn frame(number: usize) -> Vec<u8> {
    let colour = |x: usize, y: usize| {
        let inside = |[left, top, width, height]: [usize; 4]| {
            (left..left + width).contains(&x) && (top..top + height).contains(&y)
        };
        let found = rectangles(number).into_iter().find(|(rectangle, _)| inside(*rectangle));
        found.map_or([u8::try_from(20 + (x + y) / 8).unwrap(), 128, 128], |(_, colour)| colour)
    };
    let pixels = |step: usize| {
        (0..HEIGHT).step_by(step).flat_map(move |y| (0..WIDTH).step_by(step).map(move |x| (x, y)))
    };
    let luma = pixels(1).map(|(x, y)| colour(x, y)[0]);
    let chroma = |plane: usize| pixels(2).map(move |(x, y)| colour(x, y)[plane]);
    luma.chain(chroma(1)).chain(chroma(2)).collect()
}
