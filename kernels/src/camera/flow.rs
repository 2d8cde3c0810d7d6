//! Where a point has gone: pyramidal Lucas-Kanade.
//!
//! Each window is compared in a way that is blind to brightness and contrast: the change that a summand or a factor would
//! make is taken out of its gradients (Baker and Matthews, "Lucas-Kanade 20 Years On", part 3, 2003: "projecting out").

use multiversion::multiversion;

use super::pyramid::{LEVELS, Level, Pyramid};

/// The side of a window in pixels. It is even, so that windows around points between pixels, where corners are looked for,
/// need no interpolation.
pub(crate) const WINDOW: usize = 12;
/// A window with the pixel around it that gradients take.
const AROUND: usize = WINDOW + 2;
/// Steps towards the place on a level, at most.
const STEPS: usize = 8;
/// A step shorter than this many pixels is the last, on the finest level; on coarser ones the next level corrects more.
const LAST_STEP: f32 = 0.02;
const LAST_COARSE_STEP: f32 = 0.1;
/// A point that leaves its window on some level is lost.
const FARTHEST: f32 = WINDOW as f32 / 2.0;
/// A window is too flat where the mean square of its gradients, along the direction where that is least, is below this: in
/// grey levels a pixel.
const FLATTEST: f32 = 0.5;
/// Following a point back must lead this near to where it began, in pixels.
const NEAR: f32 = 0.5;

/// A window's pixels, row by row.
type Window = [f32; WINDOW * WINDOW];

/// A window of the first picture, prepared for the search in the second.
struct Template {
    pixels: Window,
    gx: Window,
    gy: Window,
    /// The inverse of the matrix of the gradients' summed products: xx, xy, yy.
    inverse: [f32; 3],
}

/// Where the `point` of one picture lies in another; none where it is lost, or following it back leads elsewhere.
/// `guess` is the way that it is expected to go, and `levels` how many of the pyramid's are used, the finest first: a window on a coarse one
/// shows more.
pub(crate) fn follow(
    from: &Pyramid,
    to: &Pyramid,
    point: [f32; 2],
    guess: [f32; 2],
    levels: usize,
) -> Option<[f32; 2]> {
    let there = one_way(from, to, point, guess, levels)?;
    let back = one_way(to, from, there, guess.map(|way| -way), levels)?;
    let [x, y] = [back[0] - point[0], back[1] - point[1]];
    (x * x + y * y <= NEAR * NEAR).then_some(there)
}

#[multiversion(targets("x86_64+avx2"))]
fn one_way(
    from: &Pyramid,
    to: &Pyramid,
    point: [f32; 2],
    guess: [f32; 2],
    levels: usize,
) -> Option<[f32; 2]> {
    let scales = [1.0, 0.5, 0.25];
    let coarsest = levels.clamp(1, LEVELS) - 1;
    let mut moved = guess.map(|way| way * scales[coarsest]);
    for (number, (from, to)) in from.levels.iter().zip(&to.levels).enumerate().take(coarsest + 1).rev() {
        let scale = scales[number];
        // Where the window begins, as positions of pixels' centres: half a pixel less than half the window left of the point.
        let start = point.map(|v| v * scale - FARTHEST);
        if number < coarsest {
            moved = moved.map(|v| 2.0 * v);
        }
        let found = template(from, start).and_then(|template| {
            approach(&template, to, start, moved, if number == 0 { LAST_STEP } else { LAST_COARSE_STEP })
        });
        match found {
            Some(found) => moved = found,
            // This level is too coarse: the finer ones try.
            None if number > 0 => {}
            None => return None,
        }
    }
    let there = [point[0] + moved[0], point[1] + moved[1]];
    let [width, height] = [to.levels[0].width, to.levels[0].height].map(|side| side as f32);
    ((0.0..width).contains(&there[0]) && (0.0..height).contains(&there[1])).then_some(there)
}

/// None where the window lies outside, or is too flat in some direction.
#[inline(always)]
fn template(level: &Level, start: [f32; 2]) -> Option<Template> {
    let mut around = [0.0; AROUND * AROUND];
    if !level.sample::<AROUND>(start[0] - 1.0, start[1] - 1.0, &mut around) {
        return None;
    }
    let pixels = cut(&around, 1, 1);
    let (mut gx, mut gy) = (
        mixed(&cut(&around, 2, 1), 0.5, &cut(&around, 0, 1), -0.5),
        mixed(&cut(&around, 1, 2), 0.5, &cut(&around, 1, 0), -0.5),
    );
    let relative = without_mean(&pixels);
    let contrast = dot(&relative, &relative).max(1.0);
    gx = without_mean(&gx);
    gx = mixed(&gx, 1.0, &relative, -dot(&gx, &relative) / contrast);
    gy = without_mean(&gy);
    gy = mixed(&gy, 1.0, &relative, -dot(&gy, &relative) / contrast);
    let (xx, xy, yy) = (dot(&gx, &gx), dot(&gx, &gy), dot(&gy, &gy));
    let (middle, half) = ((xx + yy) * 0.5, (xx - yy) * 0.5);
    let flattest = middle - (half * half + xy * xy).sqrt();
    if flattest < FLATTEST * (WINDOW * WINDOW) as f32 {
        return None;
    }
    let determinant = xx * yy - xy * xy;
    let inverse = [yy / determinant, -xy / determinant, xx / determinant];
    Some(Template { pixels, gx, gy, inverse })
}

/// How far the window has moved, by steps from `moved` on.
#[inline(always)]
fn approach(
    template: &Template,
    level: &Level,
    start: [f32; 2],
    first: [f32; 2],
    last_step: f32,
) -> Option<[f32; 2]> {
    let mut moved = first;
    let mut pixels = [0.0; WINDOW * WINDOW];
    for _ in 0..STEPS {
        if !level.sample::<WINDOW>(start[0] + moved[0], start[1] + moved[1], &mut pixels) {
            return None;
        }
        let difference = mixed(&template.pixels, 1.0, &pixels, -1.0);
        let (x, y) = (dot(&template.gx, &difference), dot(&template.gy, &difference));
        let [xx, xy, yy] = template.inverse;
        let step = [xx * x + xy * y, xy * x + yy * y];
        moved = [moved[0] + step[0], moved[1] + step[1]];
        let away = [moved[0] - first[0], moved[1] - first[1]];
        if !(away[0].abs() <= FARTHEST && away[1].abs() <= FARTHEST) {
            return None;
        }
        if step[0] * step[0] + step[1] * step[1] < last_step * last_step {
            break;
        }
    }
    Some(moved)
}

/// The sum of products, by halves, so that the compiler vectorises it; the result is the same everywhere.
#[inline(always)]
fn dot(a: &Window, b: &Window) -> f32 {
    let mut products = [0.0; WINDOW * WINDOW];
    for ((product, a), b) in products.iter_mut().zip(a).zip(b) {
        *product = a * b;
    }
    let sums: [f32; WINDOW * WINDOW / 2] = folded(&products);
    let sums: [f32; WINDOW * WINDOW / 4] = folded(&sums);
    let sums: [f32; WINDOW * WINDOW / 8] = folded(&sums);
    let mut total = 0.0;
    for sum in sums {
        total += sum;
    }
    total
}

/// Each of the first half plus its counterpart in the second.
#[inline(always)]
fn folded<const N: usize>(values: &[f32]) -> [f32; N] {
    let mut sums = [0.0; N];
    let (first, second) = values.split_at(N);
    for ((sum, a), b) in sums.iter_mut().zip(first).zip(second) {
        *sum = a + b;
    }
    sums
}

/// `p a + q b`. Loops, and no closures: the compiler does not give those the instructions that this is compiled for.
#[inline(always)]
fn mixed(a: &Window, p: f32, b: &Window, q: f32) -> Window {
    let mut out = [0.0; WINDOW * WINDOW];
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = p * a + q * b;
    }
    out
}

/// The window that begins at column `left` and row `top`, 0 to 2.
#[inline(always)]
fn cut(around: &[f32; AROUND * AROUND], left: usize, top: usize) -> Window {
    let mut out = [0.0; WINDOW * WINDOW];
    let rows = around.as_chunks::<AROUND>().0;
    for (out, row) in out.as_chunks_mut::<WINDOW>().0.iter_mut().zip(&rows[top..]) {
        out.copy_from_slice(&row[left..left + WINDOW]);
    }
    out
}

#[inline(always)]
fn without_mean(a: &Window) -> Window {
    const ONES: Window = [1.0; WINDOW * WINDOW];
    mixed(a, 1.0, &ONES, -dot(a, &ONES) / (WINDOW * WINDOW) as f32)
}
