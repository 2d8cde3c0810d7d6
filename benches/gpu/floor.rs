//! The limits of this machine: copying on the device and over the bus, and launching a kernel that does almost nothing.
//! `scripts/bench --gpu` compares every other row with these.

use std::time::Duration;

use cudainfer_kernels::device::{CudaStream, Graph};

use super::measure::{measure, row};

/// Bytes to copy on the device: many times what the cache holds.
const COPIED: usize = 1 << 30;
/// Bytes to upload: enough that starting the copy does not show.
const UPLOADED: usize = 1 << 25;
/// Nodes of the graph; the time of a launch is that of the graph divided by this.
const NODES: usize = 20;

pub fn run(stream: &CudaStream) {
    copies(stream);
    launches(stream);
}

fn copies(stream: &CudaStream) {
    let memory = [(); 2].map(|()| stream.allocate(COPIED).unwrap());
    memory.iter().for_each(|memory| stream.fill(memory.slice(), 0x5a).unwrap());
    let times = measure(stream, |i| {
        stream.copy_on_device(memory[i % 2].slice(), memory[1 - i % 2].slice()).unwrap();
    });
    row("floor: copy on the device", &times, 2 * COPIED, 1.0, None);

    let mut host = stream.pin(UPLOADED).unwrap();
    host.as_mut_slice()
        .iter_mut()
        .zip(0u32..)
        .for_each(|(byte, i)| *byte = i.wrapping_mul(0x9e37_79b9).to_le_bytes()[3]);
    // SAFETY: nobody writes the host memory any more.
    let times = measure(stream, |_| unsafe { stream.start_upload(&host, memory[0].slice()) }.unwrap());
    row("floor: copy over the bus", &times, UPLOADED, 0.0, None);
}

/// Setting one byte stands for an empty kernel: it is the driver's own kernel, of one block, with almost nothing to do.
fn launches(stream: &CudaStream) {
    let memory = stream.allocate(1).unwrap();
    let byte = memory.slice();
    let times = measure(stream, |i| stream.fill(byte, i.to_le_bytes()[0]).unwrap());
    row("floor: launch", &times, 1, 1.0, None);

    let graph = Graph::record(stream, Duration::ZERO, || (0..NODES).try_for_each(|_| stream.fill(byte, 1)));
    let mut graph = graph.unwrap().unwrap();
    let mut times = measure(stream, |_| {
        // SAFETY: the byte outlives the graph, and only this stream uses it.
        unsafe { stream.launch_graph(&mut graph) }.unwrap();
    });
    times.median /= NODES as f64;
    times.p95 /= NODES as f64;
    row("floor: launch in a graph", &times, 1, 1.0, None);
}
