//! Where a point has gone: pyramidal Lucas-Kanade.
//!
//! Each window is compared in a way that is blind to brightness and contrast: the change that a summand or a factor would
//! make is taken out of its gradients (Baker and Matthews, "Lucas-Kanade 20 Years On", part 3, 2003: "projecting out").
//!
//! Windows that are known to begin at whole pixels are read without interpolation.

use std::ops::Range;

use multiversion::multiversion;

use super::pyramid::{Level, Pyramid};

/// The side of the windows around corners in pixels. It is even, so that windows around points between pixels, where corners are
/// looked for, need no interpolation.
const WINDOW: usize = 12;
const PIXELS: usize = WINDOW * WINDOW;
/// Steps towards the place on a level, at most.
const STEPS: usize = 8;
/// For a corner, a step shorter than this many pixels is the last, on the finest level and on coarser ones, which the next level corrects.
const LAST_STEPS: [f32; 2] = [0.02, 0.1];
/// A window is too flat where the mean square of its gradients, along the direction where that is least, is below this: in
/// grey levels a pixel.
const FLATTEST: f32 = 0.5;
/// Following a point back must lead this near to where it began, in pixels.
const NEAR: f32 = 0.5;

/// A window of the first picture, prepared for the search in the second: `N` x `N` = `NN` values, row by row.
struct Template<const NN: usize> {
    pixels: [f32; NN],
    gx: [f32; NN],
    gy: [f32; NN],
    /// The inverse of the matrix of the gradients' summed products: xx, xy, yy.
    inverse: [f32; 3],
}

/// Where the `point` of one picture lies in another; none where it is lost, or following it back leads elsewhere.
/// `guess` is the way that it is expected to go, and `levels` how many of the pyramid's are used, the finest first: a window on a coarse one
/// shows more.
pub(super) fn follow(
    from: &Pyramid,
    to: &Pyramid,
    point: [f32; 2],
    guess: [f32; 2],
    levels: usize,
) -> Option<[f32; 2]> {
    let way = way_of::<WINDOW, PIXELS, false>(from, to, point, guess, 0..levels, LAST_STEPS)?;
    let there = [point[0] + way[0], point[1] + way[1]];
    let back =
        way_of::<WINDOW, PIXELS, false>(to, from, there, guess.map(|way| -way), 0..levels, LAST_STEPS)?;
    let [x, y] = [way[0] + back[0], way[1] + back[1]];
    (x * x + y * y <= NEAR * NEAR).then_some(there)
}

/// The way of the window of `N` x `N` = `NN` pixels around a point to its place in another picture, by these levels, the coarsest first; none
/// where it is lost on the finest of them, or leaves the picture. `guess` is the way that is expected.
/// Steps shorter than `last_steps`, in pixels of the finest level and of the others, are the last ones. The levels must have been made.
/// With `WHOLE`, the window begins at a whole pixel of each level.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn way_of<const N: usize, const NN: usize, const WHOLE: bool>(
    from: &Pyramid,
    to: &Pyramid,
    point: [f32; 2],
    guess: [f32; 2],
    levels: Range<usize>,
    last_steps: [f32; 2],
) -> Option<[f32; 2]> {
    let mut way = guess;
    for number in levels.clone().rev() {
        let (Some(before), Some(now)) = (from.level(number), to.level(number)) else { continue };
        let is_finest = number == levels.start;
        // Powers of two: nothing is rounded.
        let scale = 1.0 / (1_u32 << number) as f32;
        let half = N as f32 / 2.0;
        // Where the window begins, as positions of pixels' centres: half a pixel less than half the window left of the point.
        let start = point.map(|v| v * scale - half);
        let found = template::<N, NN, WHOLE>(before, start).and_then(|template| {
            approach::<N, NN>(&template, now, start, way.map(|v| v * scale), last_steps[number.min(1)])
        });
        match found {
            Some(found) => way = found.map(|v| v / scale),
            // This level is too coarse: the finer ones try.
            None if !is_finest => {}
            None => return None,
        }
    }
    let [x, y] = [point[0] + way[0], point[1] + way[1]];
    let [width, height] = to.size().map(|side| side as f32);
    ((0.0..width).contains(&x) && (0.0..height).contains(&y)).then_some(way)
}

/// None where the window lies outside, or is too flat in some direction.
#[inline(always)]
fn template<const N: usize, const NN: usize, const WHOLE: bool>(
    level: &Level,
    start: [f32; 2],
) -> Option<Template<NN>> {
    let [x, y] = start;
    let [mut pixels, mut left, mut right, mut above, mut below] = [[0.0; NN]; 5];
    if WHOLE {
        let (samples, stride) = level.samples(x - 1.0, y - 1.0, N + 2)?;
        pixels = cut::<N, NN>(samples, stride, 1, 1);
        left = cut::<N, NN>(samples, stride, 0, 1);
        right = cut::<N, NN>(samples, stride, 2, 1);
        above = cut::<N, NN>(samples, stride, 1, 0);
        below = cut::<N, NN>(samples, stride, 1, 2);
    } else {
        let is_inside = level.sample::<N>(x, y, &mut pixels)
            && level.sample::<N>(x - 1.0, y, &mut left)
            && level.sample::<N>(x + 1.0, y, &mut right)
            && level.sample::<N>(x, y - 1.0, &mut above)
            && level.sample::<N>(x, y + 1.0, &mut below);
        if !is_inside {
            return None;
        }
    }
    let (gx, gy) = (mixed(&right, 0.5, &left, -0.5), mixed(&below, 0.5, &above, -0.5));
    let relative = without_mean(&pixels);
    let contrast = dot(&relative, &relative).max(1.0);
    // What is relative has no sum, so that the gradients' own means change nothing here.
    let gx = without_mean(&mixed(&gx, 1.0, &relative, -dot(&gx, &relative) / contrast));
    let gy = without_mean(&mixed(&gy, 1.0, &relative, -dot(&gy, &relative) / contrast));
    let (xx, xy, yy) = (dot(&gx, &gx), dot(&gx, &gy), dot(&gy, &gy));
    let (middle, half) = ((xx + yy) * 0.5, (xx - yy) * 0.5);
    let flattest = middle - (half * half + xy * xy).sqrt();
    if flattest < FLATTEST * NN as f32 {
        return None;
    }
    let determinant = xx * yy - xy * xy;
    let inverse = [yy / determinant, -xy / determinant, xx / determinant];
    Some(Template { pixels, gx, gy, inverse })
}

/// How far the window has moved, by steps from `first` on.
#[inline(always)]
fn approach<const N: usize, const NN: usize>(
    template: &Template<NN>,
    level: &Level,
    start: [f32; 2],
    first: [f32; 2],
    last_step: f32,
) -> Option<[f32; 2]> {
    // A point that leaves its window on some level is lost.
    let farthest = N as f32 / 2.0;
    let mut moved = first;
    for _ in 0..STEPS {
        let mut pixels = [0.0; NN];
        if !level.sample::<N>(start[0] + moved[0], start[1] + moved[1], &mut pixels) {
            return None;
        }
        let difference = mixed(&template.pixels, 1.0, &pixels, -1.0);
        let (x, y) = (dot(&template.gx, &difference), dot(&template.gy, &difference));
        let [xx, xy, yy] = template.inverse;
        let step = [xx * x + xy * y, xy * x + yy * y];
        moved = [moved[0] + step[0], moved[1] + step[1]];
        let away = [moved[0] - first[0], moved[1] - first[1]];
        if !(away[0].abs() <= farthest && away[1].abs() <= farthest) {
            return None;
        }
        if step[0] * step[0] + step[1] * step[1] < last_step * last_step {
            break;
        }
    }
    Some(moved)
}

/// The window that begins at that column and row of the samples.
#[inline(always)]
fn cut<const N: usize, const NN: usize>(
    samples: &[f32],
    stride: usize,
    left: usize,
    top: usize,
) -> [f32; NN] {
    let mut out = [0.0; NN];
    let rows = samples.chunks(stride).skip(top).filter_map(|row| row.get(left..left + N));
    for (out, row) in out.as_chunks_mut::<N>().0.iter_mut().zip(rows) {
        out.copy_from_slice(row);
    }
    out
}

/// `p a + q b`. Loops, and no closures: the compiler does not give those the instructions that this is compiled for.
#[inline(always)]
fn mixed<const NN: usize>(a: &[f32; NN], p: f32, b: &[f32; NN], q: f32) -> [f32; NN] {
    let mut out = [0.0; NN];
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = p * a + q * b;
    }
    out
}

#[inline(always)]
fn without_mean<const NN: usize>(a: &[f32; NN]) -> [f32; NN] {
    let mean = total(*a) / NN as f32;
    let mut out = [0.0; NN];
    for (out, a) in out.iter_mut().zip(a) {
        *out = a - mean;
    }
    out
}

#[inline(always)]
fn dot<const NN: usize>(a: &[f32; NN], b: &[f32; NN]) -> f32 {
    let mut products = [0.0; NN];
    for ((product, a), b) in products.iter_mut().zip(a).zip(b) {
        *product = a * b;
    }
    total(products)
}

/// The sum, by halves, so that the compiler vectorises it; the result is the same everywhere.
#[inline(always)]
fn total<const NN: usize>(mut values: [f32; NN]) -> f32 {
    let mut count = NN;
    while count.is_multiple_of(2) && count > 4 {
        count /= 2;
        let (first, second) = values.split_at_mut(count);
        for (a, b) in first.iter_mut().zip(second) {
            *a += *b;
        }
    }
    let mut total = 0.0;
    for value in values.iter().take(count) {
        total += value;
    }
    total
}
