//! Sixteen images of 3x640x640 whose channels are put last, as for a network's input. The bytes that must move are all values,
//! read and written once.

use cudainfer_kernels::channels_last::CudaChannelsLast;
use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::tensor::TensorType::{self, Float16, Float32};

use crate::measure::{measure, row};

const IMAGES: usize = 16;
const SIZE: [usize; 2] = [3, 640 * 640];
/// Batches that calls use in turn: many times what the cache holds.
const BATCHES: usize = 8;

pub fn run(stream: &CudaStream) {
    let kernels = CudaChannelsLast::new(stream).unwrap();
    for (from, to) in [(Float16, Float16), (Float32, Float16), (Float32, Float32)] {
        one(stream, &kernels, from, to);
    }
}

fn one(stream: &CudaStream, kernels: &CudaChannelsLast, from: TensorType, to: TensorType) {
    let values = IMAGES * SIZE[0] * SIZE[1];
    let memories =
        |bytes: usize| -> Vec<_> { (0..BATCHES).map(|_| stream.allocate(bytes).unwrap()).collect() };
    let (sources, targets) = (memories(values * from.size()), memories(values * to.size()));
    let mut host = stream.pin(values * from.size()).unwrap();
    for (i, element) in host.as_mut_slice().chunks_exact_mut(from.size()).enumerate() {
        let value = (i as u32).wrapping_mul(0x9e37_79b9) as f32 / u32::MAX as f32;
        match from {
            Float16 => element.copy_from_slice(&half::f16::from_f32(value).to_ne_bytes()),
            _ => element.copy_from_slice(&value.to_ne_bytes()),
        }
    }
    sources.iter().for_each(|memory| stream.upload(&host, memory.slice()).unwrap());
    let times = measure(stream, |i| {
        let [source, target] = [&sources, &targets].map(|memories| memories[i % BATCHES].slice());
        kernels.start(stream, source, from, target, to, SIZE).unwrap();
    });
    let name = format!("channels last, {IMAGES} x 3x640x640 {from} to {to}");
    row(&name, &times, values * (from.size() + to.size()), 1.0, None);
}
