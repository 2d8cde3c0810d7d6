//! Images written with their channels last.

use cudainfer_kernels::channels_last::{ChannelsLastError, CudaChannelsLast, channels_last};
use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::tensor::TensorType::{Float16, Float32, UInt8};
use cudainfer_kernels::tensor::{TensorType, TensorView};
use half::f16;

use super::{Random, download, stream, upload};

/// Values of all sizes, none of them NaN, whose bits conversion need not keep.
fn values(ty: TensorType, count: usize) -> Vec<u8> {
    let mut random = Random::new(count as u64);
    let value = |bits: u64| match ty {
        Float16 => Some(f16::from_bits(bits as u16))
            .filter(|v| !v.is_nan())
            .unwrap_or(f16::ONE)
            .to_ne_bytes()
            .to_vec(),
        _ => Some(f32::from_bits(bits as u32)).filter(|v| !v.is_nan()).unwrap_or(1.0).to_ne_bytes().to_vec(),
    };
    (0..count).flat_map(|_| value(random.next() >> 16)).collect()
}

/// Compares with the CPU, with this many elements left out before each.
fn check(
    stream: &CudaStream,
    kernels: &CudaChannelsLast,
    [from, to]: [TensorType; 2],
    dims: [usize; 4],
    [before, ahead]: [usize; 2],
) {
    let [_, channels, height, width] = dims;
    let count: usize = dims.iter().product();
    let data = values(from, count);
    let mut wanted = vec![0; count * to.size()];
    channels_last(&TensorView::new("x", from, &dims, &data).unwrap(), to, &mut wanted).unwrap();

    let source = upload(stream, &[vec![0; before * from.size()], data].concat());
    let room = upload(stream, &vec![0x5a; ahead * to.size() + wanted.len() + 64]);
    let target = room.slice().after(ahead * to.size()).first(wanted.len());
    let source = source.slice().after(before * from.size());
    kernels.start(stream, source, from, target, to, [channels, height * width]).unwrap();
    let all = download(stream, room.slice());
    let (front, rest) = all.split_at(ahead * to.size());
    let (got, after) = rest.split_at(wanted.len());
    assert!(front.iter().chain(after).all(|byte| *byte == 0x5a), "{dims:?} {from} to {to} wrote outside");
    let differs = got.chunks_exact(to.size()).zip(wanted.chunks_exact(to.size())).position(|(g, w)| g != w);
    assert_eq!(
        differs, None,
        "the first value that differs, {dims:?} from {from} to {to}, {before} and {ahead} ahead"
    );
}

#[test]
#[ignore = "needs a CUDA device"]
fn channels_come_last_as_on_the_cpu_at_any_size_place_and_number_of_images() {
    let stream = stream();
    let kernels = CudaChannelsLast::new(&stream).unwrap();
    for types in [[Float32, Float32], [Float32, Float16], [Float16, Float32], [Float16, Float16]] {
        for channels in 1..=5 {
            // Planes that end anywhere, at 16 bytes of float32 alone, of both types, and beyond a block.
            for [height, width] in [[1, 1], [1, 7], [3, 3], [2, 6], [2, 4], [5, 24], [9, 229], [64, 80]] {
                check(&stream, &kernels, types, [3, channels, height, width], [0, 0]);
            }
            for places in [[1, 0], [0, 1], [4, 8], [8, 4], [3, 5], [8, 8]] {
                check(&stream, &kernels, types, [2, channels, 8, 17], places);
                check(&stream, &kernels, types, [2, channels, 8, 16], places);
            }
        }
        check(&stream, &kernels, types, [16, 3, 640, 640], [0, 0]);
        // More pixels than the largest grid takes in one go, and more images than the highest.
        check(&stream, &kernels, types, [1, 2, 2048 + 3, 2048], [0, 0]);
        check(&stream, &kernels, types, [65535 + 2, 3, 1, 4], [0, 0]);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_are_no_images_of_floats_is_refused_and_no_image_takes_no_launch() {
    let stream = stream();
    let kernels = CudaChannelsLast::new(&stream).unwrap();
    let memory = upload(&stream, &[0; 64]);
    let [from, to] = [memory.slice().first(24), memory.slice().after(32)];
    let start = |from, ty, to, size| kernels.start(&stream, from, ty, to, Float32, size);
    let error = start(from, UInt8, to.first(24), [3, 2]);
    assert!(matches!(error, Err(ChannelsLastError::Types { .. })), "{error:?}");
    let error = start(from, Float32, to.first(24), [3, 4]);
    assert!(matches!(error, Err(ChannelsLastError::Images { .. })), "{error:?}");
    let error = start(from, Float32, to.first(20), [3, 2]);
    assert!(matches!(error, Err(ChannelsLastError::Convert(_))), "{error:?}");
    start(from.first(0), Float32, to.first(0), [3, 2]).unwrap();
    assert_eq!(stream.counters().launches.get(), 0);
    start(from, Float32, to.first(24), [3, 2]).unwrap();
    assert_eq!(stream.counters().launches.get(), 1);
}
