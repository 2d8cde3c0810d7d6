//! The copies of a frame between pinned memory and the device, plane by plane, beside one copy of as many contiguous bytes,
//! which is the floor. Calls use memory in turn. Frames are noise, so that nothing on the way could compress them.

use cudainfer_kernels::device::{CudaStream, DevicePlane, Download, Memory, Pinned, Upload};

use super::measure::{Times, measure, row};

/// Frames that calls use in turn.
const FRAMES: usize = 32;

struct Frame {
    pinned: Pinned,
    memory: Memory,
}

/// An NV12 frame: rows without padding on the host, as most sources lay them, and at a multiple of `pitch` bytes on the
/// device, as GStreamer's CUDA memory does.
fn bench(stream: &CudaStream, name: &str, (width, height): (usize, usize), pitch: usize, goal: f64) {
    let (stride, rows) = (width.next_multiple_of(pitch), height + height / 2);
    let mut state = 0x2545_f491_u32;
    let mut frames: Vec<Frame> = (0..FRAMES)
        .map(|_| {
            let mut pinned = stream.pin(width * rows).unwrap();
            for byte in pinned.as_mut_slice() {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = (state >> 24) as u8;
            }
            Frame { pinned, memory: stream.allocate(stride * rows).unwrap() }
        })
        .collect();
    let bytes = width * rows;
    let floor = measure(stream, |i| {
        let Frame { pinned, memory } = &frames[i % FRAMES];
        // SAFETY: nobody writes the host memory while copies are timed.
        unsafe { stream.start_upload(pinned, memory.slice()).unwrap() };
    });
    row(&format!("upload {name}, in one piece"), &floor, bytes, 0.0, None);
    let planes = [(0, height), (height, height / 2)];
    let up = measure(stream, |i| {
        let Frame { pinned, memory } = &frames[i % FRAMES];
        for (first, rows) in planes {
            let copy = Upload {
                source: &pinned.as_slice()[first * width..][..rows * width],
                source_stride: width,
                target: DevicePlane::new(memory.slice().after(first * stride), stride),
                row_bytes: width,
                rows,
            };
            // SAFETY: the frames live until the last measurement has been waited for, and nobody writes them.
            unsafe { stream.start_upload_plane(&copy).unwrap() };
        }
    });
    row(&format!("upload {name}"), &up, bytes, 0.0, Some(goal));
    let down = measure(stream, |i| {
        let Frame { pinned, memory } = &mut frames[i % FRAMES];
        for (first, rows) in planes {
            let copy = Download {
                source: DevicePlane::new(memory.slice().after(first * stride), stride),
                target: &mut pinned.as_mut_slice()[first * width..][..rows * width],
                target_stride: width,
                row_bytes: width,
                rows,
            };
            // SAFETY: as above.
            unsafe { stream.start_download_plane(copy).unwrap() };
        }
    });
    row(&format!("download {name}"), &down, bytes, 0.0, Some(goal));
    let Times { median, .. } = up;
    eprintln!("{name}: up at {:.0} % of one piece's speed", 100.0 * floor.median / median);
}

pub fn run(stream: &CudaStream) {
    // One contiguous copy took 66 us on an H200 of PCIe 5 (47 GB/s); the goal is nine tenths of that speed.
    bench(stream, "1080p NV12", (1920, 1080), 512, 66.0 / 0.9);
    bench(stream, "2160p NV12", (3840, 2160), 512, 4.0 * 66.0 / 0.9);
}
