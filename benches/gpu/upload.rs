//! The operation `upload`: frames from pinned memory, over the bus. What must move goes over the bus, not through device
//! memory: its floor is that of the bus.

use cudainfer_kernels::device::Stream;

use super::measure::{measure, row};

/// NV12, 1920x1080, rows without padding.
const FRAME: usize = 1920 * 1080 * 3 / 2;
/// Taken in turns: more than the processor's cache holds.
const FRAMES: usize = 64;

pub fn run(stream: &Stream) {
    let frames: Vec<_> = (0..FRAMES)
        .map(|number| {
            let mut frame = stream.pin(FRAME).unwrap();
            let noise = (0u32..).map(|i| (i ^ number as u32).wrapping_mul(0x9e37_79b9).to_le_bytes()[3]);
            frame.as_mut_slice().iter_mut().zip(noise).for_each(|(byte, value)| *byte = value);
            frame
        })
        .collect();
    let targets: Vec<_> = (0..FRAMES).map(|_| stream.allocate(FRAME).unwrap()).collect();
    let times = measure(stream, |i| {
        stream.start_upload(&frames[i % FRAMES], targets[i % FRAMES].slice()).unwrap();
    });
    row("upload 1080p NV12", &times, FRAME, 0, None);
}
