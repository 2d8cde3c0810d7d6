//! The conversion between float types.

use cudainfer_kernels::convert::{ConvertError, CudaConvert, convert};
use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::tensor::{TensorType, TensorView};
use half::f16;

use super::{Random, download, stream, upload};

/// Values around everything that rounding looks at, of all sizes and random bits, as bytes of `ty`.
fn values(ty: TensorType, count: usize) -> Vec<u8> {
    let mut random = Random::new(count as u64);
    let mut value = |i: usize| {
        let bits = random.next() as u32;
        match i % 4 {
            0 => f32::from_bits(bits),
            // Halfway between two of float16, and next to that.
            1 => f32::from_bits((bits & 0x8fff_e000 | 0x3000_1000).wrapping_add(bits % 3).wrapping_sub(1)),
            // Where float16 is subnormal.
            2 => f32::from_bits(bits & 0x81ff_ffff | 0x3200_0000),
            _ => [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 65519.996, 65520.0][i / 4 % 6],
        }
    };
    match ty {
        TensorType::Float16 => {
            (0..count).flat_map(|i| (i as u16).wrapping_mul(40503).to_ne_bytes()).collect()
        }
        _ => (0..count).flat_map(|i| value(i).to_ne_bytes()).collect(),
    }
}

/// Compares with the CPU, with this many elements left out before each.
fn check(stream: &CudaStream, from: TensorType, to: TensorType, count: usize, [before, ahead]: [usize; 2]) {
    let data = values(from, count);
    let mut wanted = vec![0; count * to.size()];
    convert(&TensorView::new("x", from, &[count], &data).unwrap(), to, &mut wanted).unwrap();

    let source = upload(stream, &[vec![0; before * from.size()], data].concat());
    let guard = 64;
    let room = upload(stream, &vec![0x5a; ahead * to.size() + wanted.len() + guard]);
    let target = room.slice().after(ahead * to.size()).first(wanted.len());
    let source = source.slice().after(before * from.size());
    CudaConvert::new(stream).unwrap().start(stream, source, from, target, to).unwrap();
    let all = download(stream, room.slice());
    let (front, rest) = all.split_at(ahead * to.size());
    let (got, after) = rest.split_at(wanted.len());
    assert!(front.iter().chain(after).all(|byte| *byte == 0x5a), "{count} {from} wrote outside");
    let is_nan = |bytes: &[u8]| match *bytes {
        [a, b] => f16::from_ne_bytes([a, b]).is_nan(),
        [a, b, c, d] => f32::from_ne_bytes([a, b, c, d]).is_nan(),
        _ => false,
    };
    for (i, (g, w)) in got.chunks_exact(to.size()).zip(wanted.chunks_exact(to.size())).enumerate() {
        assert!(g == w || is_nan(g) && is_nan(w), "{from} to {to}, value {i} of {count}: {g:x?} {w:x?}");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn conversions_give_what_the_cpu_gives_at_any_size_and_place() {
    use TensorType::{Float16, Float32};
    let stream = stream();
    for (from, to) in [(Float32, Float16), (Float16, Float32), (Float32, Float32), (Float16, Float16)] {
        for count in [1, 2, 7, 8, 9, 255, 2047, 2048, 2049, 65536, 3 * 640 * 640] {
            check(&stream, from, to, count, [0, 0]);
        }
        for places in [[1, 0], [0, 1], [4, 8], [3, 5], [8, 8]] {
            check(&stream, from, to, 1003, places);
        }
        // More than the largest grid takes in one go.
        check(&stream, from, to, (2048 * 256 + 100) * 8 + 3, [0, 0]);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_the_cpu_refuses_is_refused_and_nothing_takes_no_launch() {
    let stream = stream();
    let convert = CudaConvert::new(&stream).unwrap();
    let memory = upload(&stream, &[0; 16]);
    let start = |from, to, bytes| {
        convert.start(&stream, memory.slice().first(8), from, memory.slice().after(8).first(bytes), to)
    };
    assert!(matches!(start(TensorType::Int8, TensorType::Float16, 8), Err(ConvertError::Types { .. })));
    assert!(matches!(start(TensorType::Float32, TensorType::Float16, 8), Err(ConvertError::Size { .. })));
    let nothing = memory.slice().first(0);
    convert.start(&stream, nothing, TensorType::Float32, nothing, TensorType::Float16).unwrap();
    assert_eq!(stream.counters().launches.get(), 0);
    start(TensorType::Float32, TensorType::Float16, 4).unwrap();
    assert_eq!(stream.counters().launches.get(), 1);
}
