//! The operation `camera`: the small picture of a frame, the CPU's bit for bit, from every format; also at the size of `motion`.

use cudainfer_kernels::camera::{self, CameraError, CudaShrink, Shrink};
use cudainfer_kernels::device::{DeviceFrame, DevicePlane, Memory};
use cudainfer_kernels::frame::{FrameFormat, Matrix, PixelFormat, Range};
use cudainfer_kernels::motion;

use super::preproc::reference::Owned;
use super::{stream, upload};

fn format(pixels: PixelFormat, width: usize, height: usize) -> FrameFormat {
    FrameFormat { pixels, width, height, matrix: Matrix::Bt709, range: Range::Limited }
}

fn frame<'a>(format: &FrameFormat, memory: &'a [(Memory, usize)]) -> DeviceFrame<'a> {
    let planes: Vec<_> =
        memory.iter().map(|(memory, stride)| DevicePlane::new(memory.slice(), *stride)).collect();
    DeviceFrame::new(format, &planes).unwrap()
}

#[test]
#[ignore = "needs a CUDA device"]
fn device_and_host_frames_have_the_same_picture_for_one_launch_and_one_wait() {
    let stream = stream();
    for pixels in PixelFormat::ALL {
        for (width, height) in [(1920, 1080), (1366, 767), (641, 363), (300, 200), (1, 1), (2, 700)] {
            let format = format(pixels, width, height);
            let sizes = [camera::picture_size(width, height), motion::picture_size(width, height)];
            for (seed, size) in [(0, sizes[0]), (1, sizes[0]), (2, sizes[1])] {
                let mut gpu = CudaShrink::to(size, format, &stream).unwrap();
                let mut cpu = Shrink::to(size, format).unwrap();
                let owned = Owned::noise(format, 3, seed);
                let memory: Vec<_> =
                    owned.planes.iter().map(|(data, stride)| (upload(&stream, data), *stride)).collect();
                let counters = stream.counters();
                let all = [&counters.launches, &counters.host_waits, &counters.allocations];
                let before = all.map(|counter| counter.get());
                gpu.start(&stream, &frame(&format, &memory)).unwrap();
                let found = gpu.finish(&stream).unwrap().unwrap();
                let wanted = cpu.run(&owned.frame()).unwrap();
                assert_eq!((found.size(), found.frame()), (wanted.size(), wanted.frame()));
                assert!(found.pixels() == wanted.pixels(), "{format:?} {seed}");
                let after = all.map(|counter| counter.get());
                assert_eq!(after, [before[0] + 1, before[1] + 1, before[2]], "{format:?}");
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_last_frame_that_was_started_is_the_one_that_finishes() {
    let stream = stream();
    let format = format(PixelFormat::Nv12, 1280, 720);
    let owned = [1, 2].map(|seed| Owned::noise(format, 0, seed));
    let memory = owned.each_ref().map(|owned| -> Vec<_> {
        owned.planes.iter().map(|(data, stride)| (upload(&stream, data), *stride)).collect()
    });
    let mut gpu = CudaShrink::new(format, &stream).unwrap();
    assert!(gpu.finish(&stream).unwrap().is_none(), "nothing was started");
    gpu.start(&stream, &frame(&format, &memory[0])).unwrap();
    gpu.start(&stream, &frame(&format, &memory[1])).unwrap();
    let found = gpu.finish(&stream).unwrap().unwrap().pixels().to_vec();
    assert!(found == Shrink::new(format).unwrap().run(&owned[1].frame()).unwrap().pixels());
    assert!(gpu.finish(&stream).unwrap().is_none(), "it was taken");
    // A frame that is refused gives up what was started before.
    gpu.start(&stream, &frame(&format, &memory[0])).unwrap();
    let small = FrameFormat { height: 718, ..format };
    let cut = Owned::noise(small, 0, 1);
    let cut: Vec<_> = cut.planes.iter().map(|(data, stride)| (upload(&stream, data), *stride)).collect();
    let refused = gpu.start(&stream, &frame(&small, &cut)).unwrap_err();
    assert!(matches!(refused, CameraError::Shrink(_)), "{refused}");
    assert!(gpu.finish(&stream).unwrap().is_none());
}
