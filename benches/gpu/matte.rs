//! The operation `matte`: better and softer edges of a mask of a 4K frame, and the corners of a stereo pair of 8K. Every call takes another mask
//! and another luma, and together they are larger than the cache. The bytes are those of luma and mask, read once, and of what is written.

use cudainfer_kernels::device::{CudaStream, Memory};
use cudainfer_kernels::matte::{Corners, CudaCorners, CudaFeather, CudaGuided, Guided};

use super::measure::{measure, row};

const UHD: [usize; 2] = [3840, 2160];
const STEREO: [usize; 2] = [8192, 4096];
/// More than the H200's second-level cache of 60 MB.
const BEYOND_CACHE: usize = 120 << 20;

pub fn run(stream: &CudaStream) {
    let pixels = UHD[0] * UHD[1];
    let [lumas, masks] = [1, 2].map(|seed| planes(stream, pixels, seed));
    let target = stream.allocate(pixels).unwrap();
    // As of networks whose masks are 960 and 512 cells wide.
    for cell in [4, 8] {
        let filter = CudaGuided::new(Guided::new(UHD, cell, 1, 1e-4), stream).unwrap();
        let times = measure(stream, |i| {
            let (luma, mask) = (&lumas[i % lumas.len()], &masks[i % masks.len()]);
            filter.run(stream, luma.slice(), mask.slice(), target.slice(), 0).unwrap();
        });
        row(&format!("guided filter 4K, cells of {cell}"), &times, 3 * pixels, 4.0, Some(60.0));
    }
    for pixels_each in [2, 16] {
        let feather = CudaFeather::new(UHD, pixels_each, pixels_each, stream).unwrap();
        let times = measure(stream, |i| {
            feather.run(stream, masks[i % masks.len()].slice(), target.slice(), 0).unwrap();
        });
        let name = format!("feather 4K, {pixels_each} pixels inwards and outwards");
        row(&name, &times, 2 * pixels, 2.0, None);
    }
    let corners = Corners::new(STEREO).unwrap();
    let (bytes, strip) = (STEREO[0] * STEREO[1], STEREO[0] * corners.rows());
    let masks = planes(stream, bytes, 3);
    let [upper, lower] = [(); 2].map(|()| stream.allocate(strip).unwrap());
    let corners = CudaCorners::new(&corners, stream).unwrap();
    let times = measure(stream, |i| {
        corners.run(stream, masks[i % masks.len()].slice(), upper.slice(), lower.slice()).unwrap();
    });
    row("masks in corners, 8192x4096 side by side", &times, bytes + 2 * strip, 1.0, None);
}

/// Planes of noise in blocks.
fn planes(stream: &CudaStream, bytes: usize, seed: usize) -> Vec<Memory> {
    let plane = |number: usize| {
        let byte = |i: usize| ((i / 64 * 37 + i % 64 * (number + seed)) % 251) as u8;
        stream.allocate_with(&(0..bytes).map(byte).collect::<Vec<u8>>()).unwrap()
    };
    (0..BEYOND_CACHE.div_ceil(bytes)).map(plane).collect()
}
