//! Against plain references in f64.

use super::{Corners, Feather, Foreground, Guided, MatteError, Strip};

/// Reproducible bytes.
fn noise(count: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// The filter by its definition: cells, windows and interpolation, each written out.
fn guided(
    [width, height]: [usize; 2],
    cell: usize,
    radius: usize,
    epsilon: f64,
    luma: &[u8],
    mask: &[u8],
) -> Vec<f64> {
    let [across, down] = [width.div_ceil(cell), height.div_ceil(cell)];
    let mean = |plane: &[u8], x: usize, y: usize| {
        let places = (y * cell..((y + 1) * cell).min(height))
            .flat_map(|y| (x * cell..((x + 1) * cell).min(width)).map(move |x| y * width + x));
        let values: Vec<f64> = places.map(|at| f64::from(plane[at]) / 255.0).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    let cells: Vec<(f64, f64)> = (0..across * down)
        .map(|i| (mean(luma, i % across, i / across), mean(mask, i % across, i / across)))
        .collect();
    let window = |x: usize, y: usize| {
        let near = |a: usize, b: usize| a.abs_diff(b) <= radius;
        (0..across * down).filter(move |i| near(i % across, x) && near(i / across, y))
    };
    let line = |x: usize, y: usize| {
        let all: Vec<(f64, f64)> = window(x, y).map(|i| cells[i]).collect();
        let of = |f: &dyn Fn(&(f64, f64)) -> f64| all.iter().map(f).sum::<f64>() / all.len() as f64;
        let (i, p) = (of(&|c| c.0), of(&|c| c.1));
        let a = (of(&|c| c.0 * c.1) - i * p) / (of(&|c| c.0 * c.0) - i * i + epsilon);
        (a, p - a * i)
    };
    let lines: Vec<(f64, f64)> = (0..across * down).map(|i| line(i % across, i / across)).collect();
    let mean_line = |x: usize, y: usize| {
        let all: Vec<(f64, f64)> = window(x, y).map(|i| lines[i]).collect();
        let count = all.len() as f64;
        (all.iter().map(|l| l.0).sum::<f64>() / count, all.iter().map(|l| l.1).sum::<f64>() / count)
    };
    let means: Vec<(f64, f64)> = (0..across * down).map(|i| mean_line(i % across, i / across)).collect();
    let taps = |pixel: usize, count: usize| {
        let place = ((pixel as f64 + 0.5) / cell as f64 - 0.5).clamp(0.0, (count - 1) as f64);
        (place.floor() as usize, (place.floor() as usize + 1).min(count - 1), place.fract())
    };
    (0..width * height)
        .map(|at| {
            let ((x0, x1, wx), (y0, y1, wy)) = (taps(at % width, across), taps(at / width, down));
            let mixed = |f: &dyn Fn((f64, f64)) -> f64| {
                let row = |y: usize| f(means[y * across + x0]) * (1.0 - wx) + f(means[y * across + x1]) * wx;
                row(y0) * (1.0 - wy) + row(y1) * wy
            };
            let i = f64::from(luma[at]) / 255.0;
            ((mixed(&|l| l.0) * i + mixed(&|l| l.1)) * 255.0).clamp(0.0, 255.0)
        })
        .collect()
}

#[test]
fn the_guided_filter_is_that_of_its_definition() {
    for (frame, cell, radius) in
        [([17, 13], 1, 2), ([24, 18], 3, 1), ([31, 9], 4, 3), ([5, 5], 8, 1), ([40, 22], 5, 0)]
    {
        let count = frame[0] * frame[1];
        let (luma, mask) = (noise(count, 3), noise(count, 7));
        let mut made = mask.clone();
        Guided::new(frame, cell, radius, 1e-3).run(&luma, &mut made).unwrap();
        let wanted = guided(frame, cell, radius as usize, 1e-3, &luma, &mask);
        for (at, (made, wanted)) in made.iter().zip(wanted).enumerate() {
            // Rounding to a byte, and a weight of 11 bits between lines that differ by less than 2.
            let far = (f64::from(*made) - wanted).abs();
            assert!(far < 0.85, "{frame:?} {cell} {radius}: {made} for {wanted} at {at}");
        }
    }
}

#[test]
fn a_blurred_edge_moves_to_that_of_the_picture() {
    let (width, height) = (96, 48);
    // The picture's edge is at column 50; the mask's slope lasts from 40 to 56, as that of a small mask which was enlarged.
    let luma: Vec<u8> = (0..width * height).map(|i| if i % width < 50 { 40 } else { 200 }).collect();
    let slope = |x: usize| (255 * x.clamp(40, 56).saturating_sub(40) / 16) as u8;
    let mut mask: Vec<u8> = (0..width * height).map(|i| slope(i % width)).collect();
    Guided::new([width, height], 4, 4, 1e-4).run(&luma, &mut mask).unwrap();
    let row = &mask[24 * width..][..width];
    assert!(row[49] < 40 && row[50] > 215, "{row:?}");
}

#[test]
fn a_flat_picture_leaves_a_flat_mask_as_it_is() {
    let mut mask = vec![77; 60 * 40];
    Guided::new([60, 40], 4, 3, 1e-4).run(&vec![128; 60 * 40], &mut mask).unwrap();
    assert!(mask.iter().all(|v| *v == 77));
}

#[test]
fn an_edge_becomes_a_slope_inwards_and_outwards() {
    let (width, height) = (64, 9);
    for (inwards, outwards) in [(0, 0), (4, 4), (6, 0), (0, 8), (2, 10), (10, 2)] {
        // Inside lies on the right of column 32.
        let mut mask: Vec<u8> = (0..width * height).map(|i| if i % width < 32 { 0 } else { 255 }).collect();
        Feather::new(width, inwards, outwards).run(&mut mask).unwrap();
        for (x, value) in mask[4 * width..][..width].iter().enumerate() {
            let (from, to) = (32.0 - f64::from(outwards), 32.0 + f64::from(inwards));
            let at = x as f64 + 0.5;
            // The square has an odd side: one pixel more than the slope.
            let side = to - from + 1.0;
            let wanted =
                if to > from { ((at - from + 0.5) / side).clamp(0.0, 1.0) } else { f64::from(at > 32.0) };
            assert!(
                (f64::from(*value) - 255.0 * wanted).abs() <= 1.0,
                "{inwards} {outwards}: {value} for {wanted} at {x}"
            );
        }
    }
}

#[test]
fn feathered_noise_is_the_mean_of_squares_also_at_the_frames_edges() {
    for (width, height) in [(1, 1), (5, 3), (9, 20), (33, 17)] {
        let before = noise(width * height, 5);
        let mut mask = before.clone();
        Feather::new(width, 3, 3).run(&mut mask).unwrap();
        let near = |a: usize, b: usize| a.abs_diff(b) <= 3;
        for (at, made) in mask.iter().enumerate() {
            let inside = |i: &usize| near(i % width, at % width) && near(i / width, at / width);
            let all: Vec<f64> = (0..before.len()).filter(inside).map(|i| f64::from(before[i])).collect();
            let wanted = all.iter().sum::<f64>() / all.len() as f64;
            // Rounded after rows, and after columns.
            assert!((f64::from(*made) - wanted).abs() <= 1.0, "{width}x{height}: {made} for {wanted}");
        }
    }
}

#[test]
fn masks_lie_in_the_corners_where_opposite_edges_are_joined() {
    let (width, height) = (200, 100);
    let mut corners = Corners::new([width, height]).unwrap();
    assert_eq!(corners.rows(), 20);
    // The quarters of each picture differ.
    let value = |x: usize, y: usize| 20 + 30 * (x / 50 + 4 * (y / 50)) as u8;
    let mask: Vec<u8> = (0..width * height).map(|i| value(i % width, i / width)).collect();
    let (mut upper, mut lower) = (vec![1; width * 20], vec![1; width * 20]);
    corners.run(&mask, &mut upper, &mut lower).unwrap();
    let whole = |x: i64, y: i64| {
        let (x, y) = (x.rem_euclid(width as i64) as usize, y.rem_euclid(height as i64) as usize);
        match y {
            0..20 => upper[y * width + x],
            80.. => lower[(y - 80) * width + x],
            _ => 0,
        }
    };
    let circles = [Strip::Upper, Strip::Lower].map(|strip| corners.circles(strip));
    let mut inside = 0;
    for (eye, centre) in [(0_usize, 100_i64), (1, 0)] {
        for y in -20..20_i64 {
            for x in -20..20_i64 {
                let (dx, dy) = (x as f64 + 0.5, y as f64 + 0.5);
                let is_inside = dx.hypot(dy) <= 20.0;
                inside += usize::from(is_inside);
                let of = value(eye * 100 + if x < 0 { 0 } else { 50 }, if y < 0 { 0 } else { 50 });
                let wanted = if is_inside { of } else { 0 };
                assert_eq!(whole(centre + x, y), wanted, "eye {eye} at {x}, {y}");
            }
        }
    }
    let covered = circles.iter().flatten().filter(|v| **v == 255).count();
    assert_eq!(covered, inside);
    assert!(circles.iter().flatten().all(|v| [0, 255].contains(v)));
    // No pixel of a circle lies in a fisheye picture.
    for (strip, first) in circles.iter().zip([0, 80]) {
        for (at, _) in strip.iter().enumerate().filter(|(_, v)| **v == 255) {
            let (x, y) = (at % width % 100, first + at / width);
            assert!((x as f64 + 0.5 - 50.0).hypot(y as f64 + 0.5 - 50.0) > 50.0, "{x} {y}");
        }
    }
}

#[test]
fn pixels_in_corners_are_means_of_those_that_they_cover() {
    let (width, height) = (60, 30);
    let mask = noise(width * height, 11);
    let mut corners = Corners::new([width, height]).unwrap();
    let (mut upper, mut lower) = (vec![0; width * 6], vec![0; width * 6]);
    corners.run(&mask, &mut upper, &mut lower).unwrap();
    // 30x30 in 12x12: each pixel covers two and a half.
    let share = |pixel: usize, at: usize| {
        let (begin, end) = (at as f64 * 2.5, (at + 1) as f64 * 2.5);
        (end.min(pixel as f64 + 1.0) - begin.max(pixel as f64)).max(0.0)
    };
    for (x, y) in [(6, 1), (4, 3), (7, 5)] {
        let sum: f64 = (0..30 * 30)
            .map(|i| f64::from(mask[i / 30 * width + i % 30]) * share(i % 30, x) * share(i / 30, y))
            .sum();
        let made = f64::from(lower[y * width + 24 + x]);
        assert!((made - sum / 6.25).abs() <= 0.5, "{made} for {}", sum / 6.25);
    }
}

#[test]
fn other_sizes_are_refused() {
    let room = |wanted, given| Err(MatteError::Room { wanted, given });
    assert_eq!(Guided::new([4, 4], 1, 1, 1e-4).run(&[0; 16], &mut [0; 15]), room(16, 15));
    assert_eq!(Feather::new(4, 1, 1).run(&mut [0; 15]), room(12, 15));
    let mut corners = Corners::new([40, 20]).unwrap();
    assert_eq!(corners.run(&[0; 799], &mut [0; 160], &mut [0; 160]), room(800, 799));
    assert_eq!(corners.run(&[0; 800], &mut [0; 160], &mut [0; 100]), room(160, 100));
    assert_eq!(Corners::new([39, 9]).unwrap_err(), MatteError::Small(39, 9));
}

/// The two passes by their definition.
fn foreground([width, height]: [usize; 2], radii: [usize; 2], image: &[f64], matte: &[f64]) -> Vec<f64> {
    let mean = |values: &[f64], at: usize, radius: usize| {
        let near = |a: usize, b: usize| a.abs_diff(b) <= radius;
        let inside =
            (0..width * height).filter(|i| near(i % width, at % width) && near(i / width, at / width));
        let all: Vec<f64> = inside.map(|i| values[i]).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let (mut front, mut back) = (image.to_vec(), image.to_vec());
    for radius in radii {
        let ahead: Vec<f64> = front.iter().zip(matte).map(|(v, m)| v * m).collect();
        let behind: Vec<f64> = back.iter().zip(matte).map(|(v, m)| v * (1.0 - m)).collect();
        for at in 0..image.len() {
            let coverage = mean(matte, at, radius);
            let near = mean(&ahead, at, radius) / (coverage + 1e-5);
            let far = mean(&behind, at, radius) / (1.0 - coverage + 1e-5);
            let m = matte[at];
            front[at] = (near + m * (image[at] - m * near - (1.0 - m) * far)).clamp(0.0, 255.0);
            back[at] = far;
        }
    }
    front
}

#[test]
fn the_foregrounds_colours_are_those_of_the_definition() {
    for (frame, radii) in [([13, 9], [4, 1]), ([7, 21], [30, 2]), ([1, 5], [2, 1])] {
        let count = frame[0] * frame[1];
        let (mut pixels, mask) = (noise((4 * frame[0] + 8) * frame[1], 21), noise(count, 23));
        let stride = 4 * frame[0] + 8;
        let before = pixels.clone();
        Foreground::with_radii(frame, radii).run(&mut pixels, stride, &mask).unwrap();
        let matte: Vec<f64> = mask.iter().map(|v| f64::from(*v) / 255.0).collect();
        for channel in 0..3 {
            let place = |at: usize| at / frame[0] * stride + at % frame[0] * 4 + channel;
            let image: Vec<f64> = (0..count).map(|at| f64::from(before[place(at)])).collect();
            let wanted = foreground(frame, radii, &image, &matte);
            for at in 0..count {
                let (made, wanted) = (f64::from(pixels[place(at)]), wanted[at]);
                let kept = mask[at] == 0 && made == image[at];
                // Rounded to a byte.
                assert!(
                    kept || (made - wanted).abs() < 0.52,
                    "{frame:?} {channel} {at}: {made} for {wanted}"
                );
            }
        }
        // Alpha, and what lies between rows, stay.
        for (at, (made, old)) in pixels.iter().zip(&before).enumerate() {
            let within = at % stride;
            assert!((within < 4 * frame[0] && within % 4 < 3) || made == old, "{at}");
        }
    }
}

#[test]
fn a_soft_edge_loses_the_backgrounds_colour() {
    let (width, height) = (64, 16);
    // Red in front of green, mixed by a slope of 16 pixels.
    let matte = |x: usize| (255 * x.clamp(24, 40).saturating_sub(24) / 16) as u8;
    let mask: Vec<u8> = (0..width * height).map(|i| matte(i % width)).collect();
    let mut pixels: Vec<u8> = mask.iter().flat_map(|v| [*v, 255 - *v, 0, 255]).collect();
    Foreground::new([width, height]).run(&mut pixels, 4 * width, &mask).unwrap();
    for x in 25..64 {
        let pixel = &pixels[(8 * width + x) * 4..][..3];
        // An estimate: where the matte is 16, of what was 16 red and 239 green, a tenth of the green is left.
        assert!(pixel[0] > 220 && pixel[1] < 30, "{x}: {pixel:?}");
    }
    assert_eq!(&pixels[..4], &[0, 255, 0, 255]);
}
