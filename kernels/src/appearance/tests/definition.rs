//! The definition in the module's page, implemented again: in f64, pixel by pixel, sharing nothing with the implementation.

use super::*;

/// Y', Cb, Cr of a pixel of a frame of limited range.
fn ycc(owned: &Owned, x: usize, y: usize) -> [f64; 3] {
    let byte = |plane: usize, x: usize, y: usize| {
        let (data, stride) = &owned.planes[plane];
        f64::from(data[y * stride + x])
    };
    let (cx, cy) = (x / 2, y / 2);
    match owned.format.pixels {
        PixelFormat::Nv12 => [byte(0, x, y), byte(1, 2 * cx, cy), byte(1, 2 * cx + 1, cy)],
        PixelFormat::I420 => [byte(0, x, y), byte(1, cx, cy), byte(2, cx, cy)],
        PixelFormat::P010Le => [byte(0, 2 * x + 1, y), byte(1, 4 * cx + 1, cy), byte(1, 4 * cx + 3, cy)],
        PixelFormat::Yuy2 => [byte(0, 2 * x, y), byte(0, 4 * cx + 1, y), byte(0, 4 * cx + 3, y)],
        PixelFormat::Gray8 => [byte(0, x, y), 128.0, 128.0],
        _ => {
            let [r, g, b] = owned.pixel(x, y, false);
            let (kr, kb) = owned.format.matrix.weights();
            let luma = kr * r + kb * b + (1.0 - kr - kb) * g;
            let chroma = |v: f64, k: f64| 128.0 + 224.0 / 255.0 * (v - luma) / (2.0 * (1.0 - k));
            [16.0 + 219.0 / 255.0 * luma, chroma(b, kb), chroma(r, kr)].map(f64::round)
        }
    }
}

fn hashed(key: usize) -> usize {
    const M: u64 = 1 << 32;
    let mut h = key as u64;
    for factor in [0x85eb_ca6b, 0xc2b2_ae35] {
        h = (h ^ (h >> if factor == 0x85eb_ca6b { 16 } else { 13 })) * factor % M;
    }
    ((h ^ (h >> 16)) % 128) as usize
}

fn level(c: f64) -> usize {
    let signed = c - 128.0;
    let far = usize::from(signed.abs() >= 6.0) + usize::from(signed.abs() >= 18.0);
    if signed < 0.0 { 2 - far } else { 2 + far }
}

/// The counts of a box of whole pixels inside the frame.
fn defined(owned: &Owned, [x, y, w, h]: [usize; 4]) -> Vec<f64> {
    let (columns, rows) = (w.min(32), h.min(64));
    let at = |i: i64, j: i64| {
        let (i, j) = (i.clamp(0, columns as i64 - 1), j.clamp(0, rows as i64 - 1));
        let middle = |i: i64, length: usize, n: usize| ((i as f64 + 0.5) * length as f64 / n as f64) as usize;
        ycc(owned, x + middle(i, w, columns), y + middle(j, h, rows))
    };
    let mut counts = vec![0.0; 128];
    for j in 0..rows as i64 {
        for i in 0..columns as i64 {
            let side = i.min(columns as i64 - 1 - i) as f64 / columns as f64;
            let weight = (8.0 * side).floor().exp2();
            let stripe = (6.0 * j as f64 / rows as f64) as usize * 208;
            let [luma, cb, cr] = at(i, j);
            let color = (luma / 32.0) as usize * 25 + level(cb) * 5 + level(cr);
            counts[hashed(stripe + color)] += 4.0 * weight;
            let gx = at(i + 1, j)[0] - at(i - 1, j)[0];
            let gy = at(i, j + 1)[0] - at(i, j - 1)[0];
            // Eighths of a half turn, bounded at 51/256 and 171/256 and what mirrors them.
            let (slope, mirrored) = (gy.abs() / gx.abs(), (gx < 0.0) != (gy < 0.0) && gy != 0.0);
            let bounds = [51.0 / 256.0, 171.0 / 256.0, 256.0 / 171.0, 256.0 / 51.0];
            // The upper bounds belong to the eighth before them.
            let eighth = bounds[..2].iter().filter(|bound| slope >= **bound).count()
                + bounds[2..].iter().filter(|bound| slope > **bound).count();
            let eighth = if mirrored { (8 - eighth) % 8 } else { eighth };
            if gx.abs() >= 16.0 || gy.abs() >= 16.0 {
                counts[hashed(stripe + 200 + eighth)] += weight;
            }
        }
    }
    counts
}

const BOXES: [[usize; 4]; 8] = [
    [0, 0, 1, 1],
    [3, 5, 9, 17],
    [10, 2, 31, 63],
    [10, 2, 32, 64],
    [7, 9, 33, 65],
    [1, 0, 2, 130],
    [0, 1, 199, 1],
    [0, 0, 200, 131],
];

fn compare(pixels: PixelFormat, allowed: f64) {
    for seed in 0..4 {
        let mut owned = Owned::noise(format(pixels, 200, 131), seed % 3, seed as u64);
        // Blends of noise, so that there are all strengths and directions, and greys.
        for (data, _) in &mut owned.planes {
            let noise = data.clone();
            for (i, byte) in data.iter_mut().enumerate() {
                *byte = (u16::from(noise[i / 11 * 11]) / 4 + 80 + u16::from(noise[i]) % 24) as u8;
            }
        }
        let rects = BOXES.map(|b| b.map(|v| v as f32)).map(|[x, y, w, h]| rect(x, y, w, h));
        let found = counts(&owned, &rects);
        for (found, part) in found.chunks(LENGTH).zip(BOXES) {
            let wanted = defined(&owned, part);
            let apart: f64 = found.iter().zip(&wanted).map(|(a, b)| (f64::from(*a) - b).abs()).sum();
            let all: f64 = wanted.iter().sum();
            assert!(apart <= allowed * all, "{apart} of {all} differ: {pixels:?} {part:?}");
        }
    }
}

#[test]
fn counts_are_those_of_the_definition() {
    use PixelFormat as P;
    for pixels in [P::Nv12, P::I420, P::P010Le, P::Yuy2, P::Gray8] {
        compare(pixels, 0.0);
    }
}

/// The 16-bit factors round differently, so that a few samples move to another level.
#[test]
fn counts_of_rgb_are_those_of_the_definition_but_for_rounding() {
    use PixelFormat as P;
    for pixels in [P::Rgb, P::Bgr, P::Rgba, P::Bgra, P::Rgbx, P::Bgrx] {
        compare(pixels, 0.005);
    }
}

#[test]
fn full_range_and_limited_range_of_the_same_picture_have_the_same_levels() {
    let limited = Owned::noise(format(PixelFormat::I420, 64, 64), 0, 5);
    let mut full = Owned::noise(limited.format, 0, 5);
    full.format.range = Range::Full;
    for (plane, (data, _)) in full.planes.iter_mut().enumerate() {
        let (zero, span) = if plane == 0 { (16.0, 219.0) } else { (16.0, 224.0) };
        data.iter_mut()
            .for_each(|v| *v = ((f64::from(*v) - zero) * 255.0 / span).round().clamp(0.0, 255.0) as u8);
    }
    let all = [rect(0.0, 0.0, 64.0, 64.0)];
    let (a, b) = (embeddings(&limited, &all), embeddings(&full, &all));
    assert!(cosine(&a, &b) > 0.98, "{}", cosine(&a, &b));
}
