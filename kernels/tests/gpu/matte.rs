//! Softer and better edges of masks, and masks in corners: every byte as on the CPU.

use cudainfer_kernels::device::CudaStream;
use cudainfer_kernels::matte::{Corners, CudaCorners, CudaFeather, CudaGuided, Feather, Guided, MatteError};

use super::{Random, download, stream, upload};

/// A frame's luma with edges, noise and flat parts, and a soft mask whose cells are this large.
fn scene([width, height]: [usize; 2], cell: usize, random: &mut Random) -> [Vec<u8>; 2] {
    let [mut luma, mut mask] = [Vec::new(), Vec::new()];
    let cells: Vec<u8> =
        (0..width.div_ceil(cell) * height.div_ceil(cell)).map(|_| random.next() as u8).collect();
    for y in 0..height {
        for x in 0..width {
            let flat = x * 3 < width;
            luma.push(if flat { 90 } else { (random.next() as u8 >> 3) + if x > y { 200 } else { 10 } });
            mask.push(cells[y / cell * width.div_ceil(cell) + x / cell]);
        }
    }
    [luma, mask]
}

fn compare(got: &[u8], wanted: &[u8], what: &str) {
    let differs = got.iter().zip(wanted).position(|(got, wanted)| got != wanted);
    assert_eq!(differs.map(|at| (at, got[at], wanted[at])), None, "the first byte that differs: {what}");
    assert_eq!(got.len(), wanted.len());
}

/// As the element does it after the last step.
fn floored(mask: &mut [u8], least: u8) {
    mask.iter_mut().filter(|v| **v < least).for_each(|v| *v = 0);
}

const SIZES: [[usize; 2]; 7] = [[1, 1], [5, 3], [64, 40], [131, 67], [130, 200], [640, 360], [1001, 7]];

fn guided(stream: &CudaStream, size: [usize; 2], cell: usize, radius: u32, least: u8, random: &mut Random) {
    let [luma, mask] = scene(size, cell, random);
    let filter = Guided::new(size, cell, radius, 1e-4);
    let mut wanted = mask.clone();
    filter.run(&luma, &mut wanted).unwrap();
    floored(&mut wanted, least);
    let [luma, source] = [luma, mask].map(|plane| upload(stream, &plane));
    let target = upload(stream, &vec![0x5a; wanted.len()]);
    let gpu = CudaGuided::new(filter, stream).unwrap();
    gpu.run(stream, luma.slice(), source.slice(), target.slice(), least).unwrap();
    let what = format!("{size:?}, cells of {cell}, radius {radius}");
    compare(&download(stream, target.slice()), &wanted, &what);
    // In place as well.
    gpu.run(stream, luma.slice(), source.slice(), source.slice(), least).unwrap();
    compare(&download(stream, source.slice()), &wanted, &what);
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_guided_filter_gives_the_bytes_of_the_cpu() {
    let (stream, mut random) = (stream(), Random::new(1));
    for size in SIZES {
        for cell in [1, 2, 3, 4, 7, 16, 40] {
            guided(&stream, size, cell, 1 + random.below(4) as u32, 0, &mut random);
        }
        guided(&stream, size, 4, 0, 30, &mut random);
        guided(&stream, size, 8, 20, 255, &mut random);
    }
    guided(&stream, [3840, 2160], 4, 1, 10, &mut random);
}

#[test]
#[ignore = "needs a CUDA device"]
fn feathers_of_any_width_give_the_bytes_of_the_cpu() {
    let (stream, mut random) = (stream(), Random::new(2));
    for size in SIZES {
        for (inwards, outwards) in
            [(0, 0), (1, 0), (0, 1), (2, 2), (3, 8), (9, 2), (64, 0), (0, 64), (64, 64)]
        {
            let [_, mask] = scene(size, 5, &mut random);
            let least = [0, 20][random.below(2)];
            let mut wanted = mask.clone();
            Feather::new(size[0], inwards, outwards).run(&mut wanted).unwrap();
            floored(&mut wanted, least);
            let source = upload(&stream, &mask);
            let target = upload(&stream, &vec![0x5a; mask.len()]);
            let feather = CudaFeather::new(size, inwards, outwards, &stream).unwrap();
            feather.run(&stream, source.slice(), target.slice(), least).unwrap();
            let what = format!("{size:?}, {inwards} inwards, {outwards} outwards, {least} at least");
            compare(&download(&stream, target.slice()), &wanted, &what);
            compare(&download(&stream, source.slice()), &mask, "the mask itself");
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn masks_in_corners_give_the_bytes_of_the_cpu() {
    let (stream, mut random) = (stream(), Random::new(3));
    for size in [[40, 20], [41, 21], [100, 64], [1000, 500], [1918, 1080], [4096, 2048]] {
        let [_, mask] = scene(size, 3, &mut random);
        let mut corners = Corners::new(size).unwrap();
        let strip = vec![0; size[0] * corners.rows()];
        let (mut upper, mut lower) = (strip.clone(), strip.clone());
        corners.run(&mask, &mut upper, &mut lower).unwrap();
        let gpu = CudaCorners::new(&corners, &stream).unwrap();
        let source = upload(&stream, &mask);
        let strips = [(); 2].map(|()| upload(&stream, &vec![0x5a; strip.len()]));
        gpu.run(&stream, source.slice(), strips[0].slice(), strips[1].slice()).unwrap();
        for (got, wanted, which) in [(&strips[0], upper, "upper"), (&strips[1], lower, "lower")] {
            compare(&download(&stream, got.slice()), &wanted, &format!("{size:?}, the {which} strip"));
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn planes_of_other_sizes_are_refused() {
    let stream = stream();
    let memory = upload(&stream, &[0; 64]);
    let (whole, part) = (memory.slice(), memory.slice().first(63));
    let filter = CudaGuided::new(Guided::new([8, 8], 2, 1, 1e-4), &stream).unwrap();
    let feather = CudaFeather::new([8, 8], 1, 1, &stream).unwrap();
    let refused = MatteError::Room { wanted: 64, given: 63 };
    assert_eq!(filter.run(&stream, whole, whole, part, 0), Err(refused.clone()));
    assert_eq!(feather.run(&stream, part, whole, 0), Err(refused));
}
