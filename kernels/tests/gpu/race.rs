//! Streams that are held up at random: what comes out stays the same.

use cudainfer_kernels::device::{CudaStream, DeviceFrame, DevicePlane, Memory, SharedMemory};
use cudainfer_kernels::frame::{FrameFormat, Matrix, PixelFormat, Range};
use cudainfer_kernels::preproc::{CudaPreproc, PreprocParams};

use super::{Random, download, stream, upload};

/// Up to some 50 us of work that nobody needs, as often as not none.
fn hold_up(stream: &CudaStream, ballast: &Memory, random: &mut Random) {
    for _ in 0..random.below(4).saturating_sub(1) {
        stream.fill(ballast.slice().first(random.below(ballast.bytes())), 0).unwrap();
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_thousand_runs_with_random_delays_on_every_stream_give_the_same_bits() {
    const SIDE: usize = 96;
    let (producer, worker, readers) = (stream(), stream(), [stream(), stream(), stream()]);
    let (pixels, matrix, range) = (PixelFormat::Rgba, Matrix::Bt601, Range::Full);
    let format = FrameFormat { pixels, width: SIDE, height: SIDE, matrix, range };
    let preproc = CudaPreproc::new(
        format,
        PreprocParams { width: 64, height: 64, ..PreprocParams::default() },
        &worker,
    )
    .unwrap();
    let mut random = Random::new(7);
    let frames: Vec<Memory> = (0..5)
        .map(|_| {
            let bytes: Vec<u8> = (0..SIDE * SIDE * 4).map(|_| random.next() as u8).collect();
            upload(&producer, &bytes)
        })
        .collect();
    let plain = |frame: &SharedMemory, tensor: &SharedMemory| {
        let planes = [DevicePlane::new(frame.slice(), SIDE * 4)];
        preproc.run(&worker, &[DeviceFrame::new(&format, &planes).unwrap()], tensor.slice()).unwrap();
    };
    // One frame and two tensors, used again and again by three streams: every hazard there is.
    let frame = SharedMemory::new(&producer, SIDE * SIDE * 4).unwrap();
    let tensors = [(); 2].map(|()| SharedMemory::new(&worker, preproc.bytes()).unwrap());
    let wanted: Vec<Vec<u8>> = frames
        .iter()
        .map(|source| {
            producer.copy_on_device(source.slice(), frame.slice()).unwrap();
            producer.synchronize().unwrap();
            plain(&frame, &tensors[0]);
            download(&worker, tensors[0].slice())
        })
        .collect();
    let ballast = worker.allocate(64 << 20).unwrap();
    // Beforehand, because allocating waits for the device.
    let results: Vec<Memory> = (0..1000).map(|_| worker.allocate(preproc.bytes()).unwrap()).collect();
    let chosen: Vec<usize> = results
        .iter()
        .enumerate()
        .map(|(run, result)| {
            let (which, tensor) = (random.below(frames.len()), &tensors[run % 2]);
            hold_up(&producer, &ballast, &mut random);
            frame.begin_write(&producer).unwrap();
            producer.copy_on_device(frames[which].slice(), frame.slice()).unwrap();
            frame.end_write(&producer).unwrap();
            hold_up(&worker, &ballast, &mut random);
            frame.begin_read(&worker).unwrap();
            tensor.begin_write(&worker).unwrap();
            plain(&frame, tensor);
            tensor.end_write(&worker).unwrap();
            frame.end_read(&worker).unwrap();
            // One reader or several, of which the host waits for some: what is known of a mark must not outlive its next recording.
            for _ in 0..1 + random.below(3) {
                let reader = &readers[random.below(readers.len())];
                hold_up(reader, &ballast, &mut random);
                tensor.begin_read(reader).unwrap();
                reader.copy_on_device(tensor.slice(), result.slice()).unwrap();
                tensor.end_read(reader).unwrap();
                if random.below(4) == 0 {
                    tensor.wait_written(reader).unwrap();
                }
            }
            which
        })
        .collect();
    readers.iter().for_each(|reader| reader.synchronize().unwrap());
    for (run, (which, result)) in chosen.iter().zip(&results).enumerate() {
        assert!(download(&worker, result.slice()) == wanted[*which], "run {run}");
    }
}
