//! The operation `preproc`: equal to the CPU twin bit by bit, and to a reference in f64 within 2e-3 of 0..255.

#[path = "../../src/preproc/tests/reference.rs"]
pub mod reference;

use std::cell::RefCell;

use cudainfer_kernels::device::{CudaStream, DeviceFrame, DevicePlane, DeviceSlice, Memory, Pinned};
use cudainfer_kernels::frame::{Frame, FrameFormat, Matrix, PixelFormat, Range};
use cudainfer_kernels::preproc::{
    ChannelOrder, CudaPreproc, Interpolation, Layout, MAX_BATCH, MAX_SIDE, Padding, Preproc, PreprocError,
    PreprocParams, Resize,
};
use cudainfer_kernels::tensor::TensorType;

use super::{Random, download, stream, upload};
use reference::Owned;

pub(super) const RESIZES: [Resize; 5] =
    [Resize::Letterbox, Resize::LetterboxTopLeft, Resize::Stretch, Resize::CenterCrop, Resize::Pad];
/// Those that make the frame smaller where the tensor is.
const SHRINKING: [Resize; 4] =
    [Resize::Letterbox, Resize::LetterboxTopLeft, Resize::Stretch, Resize::CenterCrop];
pub(super) const INTERPOLATIONS: [Interpolation; 5] = [
    Interpolation::Bilinear,
    Interpolation::Nearest,
    Interpolation::Area,
    Interpolation::PilBilinear,
    Interpolation::PilBicubic,
];
const TYPES: [TensorType; 5] =
    [TensorType::Float32, TensorType::Float16, TensorType::UInt8, TensorType::Int8, TensorType::Int32];
const LAYOUTS: [Layout; 2] = [Layout::Nchw, Layout::Nhwc];
pub(super) const ORDERS: [ChannelOrder; 3] = [ChannelOrder::Rgb, ChannelOrder::Bgr, ChannelOrder::Gray];

/// What no tensor is full of.
const POISON: u8 = 0xcd;

/// Same size, enlarging, shrinking by odd, even, fractional and large factors, one pixel, opposite aspects.
const SHAPES: [((usize, usize), (usize, usize)); 13] = [
    ((1, 1), (1, 1)),
    ((1, 1), (9, 17)),
    ((9, 17), (1, 1)),
    ((9, 17), (9, 17)),
    ((9, 17), (33, 20)),
    ((65, 33), (9, 17)),
    ((65, 33), (17, 65)),
    ((65, 33), (13, 11)),
    ((33, 18), (64, 65)),
    ((2, 65), (65, 2)),
    ((64, 36), (32, 18)),
    ((63, 27), (21, 9)),
    ((130, 70), (20, 20)),
];

fn format(pixels: PixelFormat, (width, height): (usize, usize), seed: u64) -> FrameFormat {
    let matrix = Matrix::ALL[seed as usize % Matrix::ALL.len()];
    let range = if seed.is_multiple_of(2) { Range::Limited } else { Range::Full };
    FrameFormat { pixels, width, height, matrix, range }
}

/// Parameters that normalise every channel otherwise, and leave integers that saturate at neither end and at both.
fn params((width, height): (usize, usize), ty: TensorType) -> PreprocParams {
    let zero_point = if ty == TensorType::UInt8 { 100 } else { -3 };
    let (mean, std) = ([0.4, -0.5, 0.6], [0.2, 0.3, -0.25]);
    PreprocParams { width, height, ty, mean, std, quant_scale: 0.02, zero_point, ..PreprocParams::default() }
}

/// Device memory that is made once: planes and tensors at any address in it.
struct Room {
    stream: CudaStream,
    planes: Memory,
    tensor: Memory,
    host: RefCell<Pinned>,
}

impl Room {
    fn new() -> Self {
        let stream = stream();
        let [planes, tensor] = [1 << 22, 1 << 23].map(|bytes| stream.allocate(bytes).unwrap());
        let host = RefCell::new(stream.pin(planes.bytes()).unwrap());
        Self { stream, planes, tensor, host }
    }

    /// The tensor of `owned`, whose planes lie `shift` bytes after an aligned address, and the tensor as many elements.
    fn run(&self, owned: &Owned, params: &PreprocParams, shift: usize) -> Vec<u8> {
        let preproc = CudaPreproc::new(owned.format, params.clone(), &self.stream).unwrap();
        let mut at = shift;
        let mut planes = Vec::new();
        let mut host = self.host.borrow_mut();
        for (data, stride) in &owned.planes {
            host.as_mut_slice()[at..at + data.len()].copy_from_slice(data);
            planes.push(DevicePlane::new(part(&self.planes, at, data.len()), *stride));
            at = (at + data.len()).next_multiple_of(256) + shift;
        }
        self.stream.upload(&host, part(&self.planes, 0, at)).unwrap();
        let frame = DeviceFrame::new(&owned.format, &planes).unwrap();
        let guard = 64 + shift * params.ty.size();
        let around = part(&self.tensor, 0, guard + preproc.bytes() + 64);
        self.stream.fill(around, POISON).unwrap();
        preproc.run(&self.stream, &[frame], part(&self.tensor, guard, preproc.bytes())).unwrap();
        let mut got = download(&self.stream, around);
        assert!(got.drain(..guard).all(|byte| byte == POISON), "written before the tensor");
        assert!(
            got.split_off(preproc.bytes()).iter().all(|byte| *byte == POISON),
            "written after the tensor"
        );
        got
    }
}

fn part(memory: &Memory, at: usize, bytes: usize) -> DeviceSlice<'_> {
    assert!(at + bytes <= memory.bytes());
    // SAFETY: inside the memory, which the slice borrows.
    unsafe { DeviceSlice::from_raw(memory.pointer() + at as u64, bytes) }
}

fn twin(owned: &Owned, params: &PreprocParams) -> Vec<u8> {
    let mut preproc = Preproc::new(owned.format, params.clone()).unwrap();
    let mut tensor = vec![!POISON; preproc.bytes()];
    preproc.run(&owned.frame(), &mut tensor).unwrap();
    tensor
}

#[track_caller]
fn assert_equals_twin(room: &Room, owned: &Owned, params: &PreprocParams, shift: usize) {
    let (ours, theirs) = (room.run(owned, params, shift), twin(owned, params));
    let wrong = ours.iter().zip(&theirs).filter(|(a, b)| a != b).count();
    let first = ours.iter().zip(&theirs).position(|(a, b)| a != b);
    assert!(wrong == 0, "{wrong} bytes differ from {first:?} on: {:?} {params:?} {shift}", owned.format);
}

/// Every format, resize, interpolation, element type, layout and order, each with one of the shapes in turn.
fn combinations(mut each: impl FnMut(u64, PixelFormat, PreprocParams)) {
    let mut seed = 0;
    for pixels in PixelFormat::ALL {
        for resize in RESIZES {
            for interpolation in INTERPOLATIONS {
                for ty in TYPES {
                    for layout in LAYOUTS {
                        for channels in ORDERS {
                            seed += 1;
                            each(
                                seed,
                                pixels,
                                PreprocParams {
                                    resize,
                                    interpolation,
                                    layout,
                                    channels,
                                    padding: if seed.is_multiple_of(2) {
                                        Padding::Mean
                                    } else {
                                        Padding::Pixel(90)
                                    },
                                    ..params((0, 0), ty)
                                },
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn every_combination_equals_the_twin_at_odd_sizes_strides_and_addresses() {
    let room = Room::new();
    combinations(|seed, pixels, params| {
        for turn in 0..3 {
            let seed = 3 * seed + turn;
            let (frame, (width, height)) = SHAPES[seed as usize % SHAPES.len()];
            let owned = Owned::noise(format(pixels, frame, seed), seed as usize % 4 * 5, seed);
            assert_equals_twin(
                &room,
                &owned,
                &PreprocParams { width, height, ..params.clone() },
                seed as usize % 5,
            );
        }
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn larger_frames_equal_the_twin() {
    let room = Room::new();
    let mut seed = 0;
    for pixels in PixelFormat::ALL {
        for interpolation in INTERPOLATIONS {
            for (frame, (width, height)) in
                [((641, 361), (640, 640)), ((641, 361), (213, 120)), ((1280, 720), (640, 640))]
            {
                seed += 1;
                let params = PreprocParams {
                    interpolation,
                    resize: RESIZES[seed % 5],
                    layout: LAYOUTS[seed / 4 % 2],
                    ..params((width, height), TYPES[seed % 5])
                };
                let owned = Owned::noise(format(pixels, frame, seed as u64), seed / 8 % 2 * 64, seed as u64);
                assert_equals_twin(&room, &owned, &params, 0);
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn random_conversions_equal_the_twin() {
    let room = Room::new();
    let mut random = Random::new(17);
    for seed in 0..1500 {
        let mut side = |most: usize| 1 + random.below(most);
        let (frame, (width, height)) = ((side(300), side(200)), (side(300), side(200)));
        let params = PreprocParams {
            interpolation: INTERPOLATIONS[random.below(5)],
            resize: RESIZES[random.below(5)],
            crop_ratio: f64::from(random.range(0.5, 1.0)),
            layout: LAYOUTS[random.below(2)],
            channels: ORDERS[random.below(3)],
            padding: Padding::Pixel(random.below(256) as u8),
            ..params((width, height), TYPES[random.below(5)])
        };
        let owned =
            Owned::noise(format(PixelFormat::ALL[random.below(11)], frame, seed), random.below(9), seed);
        assert_equals_twin(&room, &owned, &params, random.below(9));
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn nv12_and_rgba_equal_the_reference_in_f64() {
    let room = Room::new();
    for pixels in [PixelFormat::Nv12, PixelFormat::Rgba] {
        for (seed, (frame, (width, height))) in SHAPES.into_iter().enumerate() {
            let owned = Owned::noise(format(pixels, frame, seed as u64), 0, seed as u64);
            let params = PreprocParams { width, height, scale: 1.0, ..PreprocParams::default() };
            let ours = room.run(&owned, &params, 0);
            let wanted = reference::pixels(&owned, &params);
            assert_eq!(ours.len(), 4 * wanted.len());
            for (i, (bytes, wanted)) in ours.as_chunks::<4>().0.iter().zip(wanted).enumerate() {
                let got = f64::from(f32::from_ne_bytes(*bytes));
                assert!(
                    (got - wanted).abs() < 2e-3,
                    "element {i} is {got}, not {wanted}: {:?}",
                    owned.format
                );
            }
        }
    }
}

/// Bytes after each row of a plane, and bytes by which planes and tensor lie off an aligned address.
const STRIDES_AND_ADDRESSES: [(usize, usize); 5] = [(0, 0), (64, 4), (1, 0), (2, 2), (0, 1)];

/// A frame's size and what is made of it.
struct Shrink {
    frame: (usize, usize),
    params: PreprocParams,
    padding: usize,
    shift: usize,
}

/// Shrinking by 2, 3 and 4: bars, crops that begin at any column, rows of tensors that are no whole vectors.
fn whole_shrinks() -> Vec<Shrink> {
    let mut all = Vec::new();
    for ratio in 2..=4 {
        for (width, height) in [(32, 18), (36, 36), (33, 20), (4, 4), (160, 7)] {
            for resize in SHRINKING {
                for (turn, (padding, shift)) in STRIDES_AND_ADDRESSES.into_iter().enumerate() {
                    let seed = all.len();
                    // Letterboxes have bars above and below, or beside.
                    let size = [(width, height), (width, height / 2 + 2), (width / 2 + 2, height)][seed % 3];
                    let params = PreprocParams {
                        interpolation: Interpolation::Area,
                        resize,
                        layout: LAYOUTS[seed / 3 % 2],
                        channels: ORDERS[seed / 6 % 3],
                        // Another one for each stride and address with each round.
                        ..params((width, height), TYPES[(seed / TYPES.len() + turn) % TYPES.len()])
                    };
                    all.push(Shrink { frame: (size.0 * ratio, size.1 * ratio), params, padding, shift });
                }
            }
        }
    }
    all
}

#[test]
fn every_type_and_way_to_resize_meets_every_stride_and_address() {
    for ty in TYPES {
        for resize in SHRINKING {
            for pair in STRIDES_AND_ADDRESSES {
                let met = whole_shrinks().iter().any(|shrink| {
                    (shrink.params.ty, shrink.params.resize, (shrink.padding, shrink.shift))
                        == (ty, resize, pair)
                });
                assert!(met, "{ty:?} {resize:?} {pair:?}");
            }
        }
    }
}

/// NV12, which goes by words where strides and addresses allow it.
#[test]
#[ignore = "needs a CUDA device"]
fn areas_of_whole_numbers_of_pixels_equal_the_twin_at_any_stride_and_address() {
    let room = Room::new();
    for (seed, Shrink { frame, params, padding, shift }) in (0..).zip(whole_shrinks()) {
        let owned = Owned::noise(format(PixelFormat::Nv12, frame, seed), padding, seed);
        assert_equals_twin(&room, &owned, &params, shift);
    }
}

/// Crops of which the resized frame has up to 2^28 columns: weights of 24 bits and more.
#[test]
#[ignore = "needs a CUDA device"]
fn the_longest_sides_equal_the_reference_as_near_as_their_weights() {
    let room = Room::new();
    for (frame, (width, height)) in
        [((MAX_SIDE, 1), (1, MAX_SIDE)), ((1, MAX_SIDE), (MAX_SIDE, 1)), ((MAX_SIDE, 2), (3, 1500))]
    {
        let owned = Owned::noise(format(PixelFormat::Rgb, frame, 1), 0, 1);
        for resize in RESIZES {
            for interpolation in INTERPOLATIONS {
                let params = PreprocParams {
                    width,
                    height,
                    resize,
                    interpolation,
                    scale: 1.0,
                    ..PreprocParams::default()
                };
                let (ours, theirs) = (room.run(&owned, &params, 0), twin(&owned, &params));
                for (a, b) in ours.as_chunks::<4>().0.iter().zip(theirs.as_chunks::<4>().0) {
                    let (a, b) = (f32::from_ne_bytes(*a), f32::from_ne_bytes(*b));
                    assert!((a - b).abs() <= 255.0 * 2f32.powi(-22), "{a} {b} {params:?}");
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_batch_equals_its_frames_one_by_one() {
    let room = Room::new();
    for (pixels, ty, layout, interpolation) in [
        (PixelFormat::Nv12, TensorType::Float16, Layout::Nchw, Interpolation::Bilinear),
        (PixelFormat::I420, TensorType::UInt8, Layout::Nhwc, Interpolation::PilBicubic),
        (PixelFormat::Bgra, TensorType::Float32, Layout::Nchw, Interpolation::Area),
    ] {
        let format = format(pixels, (65, 33), 2);
        let params = PreprocParams { layout, interpolation, ..params((28, 20), ty) };
        let preproc = CudaPreproc::new(format, params.clone(), &room.stream).unwrap();
        for n in [1, 2, 17, MAX_BATCH] {
            // Strides differ from frame to frame, and with them what the kernel can read at once.
            let owned: Vec<Owned> =
                (0..n).map(|i| Owned::noise(format, if n == 17 { i } else { i * 4 }, i as u64)).collect();
            let memories: Vec<Vec<Memory>> = owned.iter().map(|owned| exact(&room.stream, owned)).collect();
            let frames: Vec<DeviceFrame<'_>> =
                owned.iter().zip(&memories).map(|(owned, memories)| frame(owned, memories)).collect();
            let tensor = upload(&room.stream, &vec![POISON; n * preproc.bytes()]);
            let launches = room.stream.counters().launches.get();
            preproc.run(&room.stream, &frames, tensor.slice()).unwrap();
            assert_eq!(room.stream.counters().launches.get(), launches + 1);
            let got = download(&room.stream, tensor.slice());
            for (i, (owned, got)) in owned.iter().zip(got.chunks(preproc.bytes())).enumerate() {
                assert!(room.run(owned, &params, 0) == got, "frame {i} of {n}: {pixels:?}");
            }
        }
    }
}

/// Memory for each plane, and not a byte more.
fn exact(stream: &CudaStream, owned: &Owned) -> Vec<Memory> {
    owned.planes.iter().map(|(data, _)| upload(stream, data)).collect()
}

pub(super) fn frame<'a>(owned: &Owned, memories: &'a [Memory]) -> DeviceFrame<'a> {
    let planes: Vec<_> = owned
        .planes
        .iter()
        .zip(memories)
        .map(|((_, stride), memory)| DevicePlane::new(memory.slice(), *stride))
        .collect();
    DeviceFrame::new(&owned.format, &planes).unwrap()
}

/// Passes anyway where it should not; compute-sanitizer makes it fail.
#[test]
#[ignore = "needs a CUDA device"]
fn nothing_is_read_or_written_beyond_planes_and_tensor() {
    let stream = stream();
    for pixels in PixelFormat::ALL {
        for interpolation in INTERPOLATIONS {
            for (seed, (size, tensor)) in [((65, 33), (33, 20)), ((9, 17), (36, 20))].into_iter().enumerate()
            {
                let slack = if seed == 0 { 3 } else { 0 };
                let owned = Owned::noise(format(pixels, size, seed as u64), slack, seed as u64);
                let params = PreprocParams { interpolation, ..params(tensor, TYPES[seed]) };
                let preproc = CudaPreproc::new(owned.format, params.clone(), &stream).unwrap();
                let planes = exact(&stream, &owned);
                let tensor = stream.allocate(preproc.bytes()).unwrap();
                preproc.run(&stream, &[frame(&owned, &planes)], tensor.slice()).unwrap();
                assert!(download(&stream, tensor.slice()) == twin(&owned, &params), "{:?}", owned.format);
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_does_not_fit_is_refused_as_the_twin_refuses_it() {
    let stream = stream();
    let nv12 = format(PixelFormat::Nv12, (16, 16), 0);
    let preproc = CudaPreproc::new(nv12, params((8, 8), TensorType::Float16), &stream).unwrap();
    let memory = stream.allocate(1 << 16).unwrap();
    let owned = Owned::noise(nv12, 0, 1);
    let planes = exact(&stream, &owned);
    let good = frame(&owned, &planes);
    let bytes = preproc.bytes();
    for given in [0, bytes - 1, bytes + 1, 2 * bytes] {
        let error = preproc.run(&stream, &[good], part(&memory, 0, given)).unwrap_err();
        assert_eq!(error, PreprocError::Tensor { wanted: bytes, given });
    }
    let error = preproc.run(&stream, &[good; 3], part(&memory, 0, bytes)).unwrap_err();
    assert_eq!(error, PreprocError::Tensor { wanted: 3 * bytes, given: bytes });
    let error = preproc.run(&stream, &[good], part(&memory, 1, bytes)).unwrap_err();
    assert!(matches!(error, PreprocError::Unaligned { .. }));
    for n in [0, MAX_BATCH + 1] {
        let error = preproc.run(&stream, &vec![good; n], part(&memory, 0, bytes)).unwrap_err();
        assert_eq!(error, PreprocError::Batch(n));
    }
    for (pixels, size) in
        [(PixelFormat::Nv12, (16, 14)), (PixelFormat::Gray8, (16, 16)), (PixelFormat::I420, (16, 16))]
    {
        let other = Owned::noise(format(pixels, size, 0), 0, 1);
        let planes = exact(&stream, &other);
        let theirs = Frame::check(&other.frame(), &nv12).unwrap_err();
        let error = preproc.run(&stream, &[good, frame(&other, &planes)], part(&memory, 0, 2 * bytes));
        assert_eq!(error.unwrap_err(), PreprocError::Frame(theirs));
    }
    let wrong = PreprocParams { width: 0, ..params((8, 8), TensorType::Float16) };
    let error = CudaPreproc::new(nv12, wrong, &stream).unwrap_err();
    assert_eq!(error, PreprocError::Empty("tensor width"));
    preproc.run(&stream, &[good], part(&memory, 0, bytes)).unwrap();
    stream.synchronize().unwrap();
}
