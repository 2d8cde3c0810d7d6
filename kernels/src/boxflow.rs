//! Where the contents of boxes have gone from one frame to the next, for frames in which no detector looks.
//!
//! As the tracker Median Flow (Kalal, Mikolajczyk, Matas, "Forward-Backward Error: Automatic Detection of Tracking Failures", ICPR 2010):
//! points on a grid in the box are followed to the next picture ([`crate::camera`], with the same pictures and the same Lucas-Kanade
//! flow, forward and back). The box moves by the median of their ways. Written from the paper, with these changes:
//! - Points are followed on one level of the pyramid, the coarsest on which a window is not wider than the box, from where the tracker's
//!   filter expects them. So 9 to 16 windows of 8x8 see as much of a box as the paper's 100 points do. Over all first frames of intervals of
//!   2 and 4 on vtest.avi and both TUD videos, HOTA is 41.7 in the mean, as with 25 windows of 12x12 on all levels, which take three to six
//!   times as long.
//! - The change of the box's size is left to the trackers' filters, which know it better.

use crate::camera::{LEVELS, Picture, Pyramid, way_of};
use crate::geometry::Rect;

/// The side of a point's window, in pixels of its level: a vector of eight floats a row.
const WINDOW: usize = 8;
const PIXELS: usize = WINDOW * WINDOW;
/// Columns and rows of the grid of points in a box.
const GRID: [usize; 2] = [4, 4];
/// From one point to the next, in the order in which they are tried: it shares no divisor with their number, so that the first ones lie
/// everywhere.
const STRIDE: usize = 7;
/// Where this many points have been followed, others are not tried.
const ENOUGH: usize = 9;
/// The share of a box's side that the grid keeps from its edges, where the background shows.
const EDGE: f32 = 0.25;
/// At least this many points must have been followed. Where others show nothing or are covered, two know more than the filter.
const FEWEST: usize = 2;
/// Steps shorter than this many pixels are the last ones, on the finest level and on the others: boxes need no more.
const LAST_STEPS: [f32; 2] = [0.05, 0.2];
/// Following a point back must lead this near to where it began, in pixels of the picture.
const NEAR: f32 = 0.5;
/// The box is lost where half of the points are farther than this from the median way, in pixels of the picture: they show
/// several things that move apart.
const APART: f32 = 2.0;

/// Follows boxes through one video.
#[derive(Debug, Default)]
pub struct BoxFlow {
    before: Pyramid,
    now: Pyramid,
    /// Sizes of the picture before and of its frame; none at the beginning.
    sizes: Option<[[usize; 2]; 2]>,
    ways: Vec<[f32; 2]>,
    values: Vec<f32>,
}

impl BoxFlow {
    /// Takes in the next frame's picture. `boxes` are boxes of the previous frame with the ways that they are expected to go. Returns
    /// where they are in this one, all in frame pixels; none where that is unknown, as for all of them after the first picture and after one
    /// of another size.
    pub fn update(
        &mut self,
        picture: &Picture<'_>,
        boxes: impl Iterator<Item = (Rect, [f32; 2])>,
    ) -> Vec<Option<Rect>> {
        let sizes = Some([picture.size(), picture.frame()]);
        self.now.set(picture);
        let known = self.sizes == sizes;
        let scale = picture.scale();
        let moved =
            boxes.map(|(rect, way)| if known { self.moved(&rect, way, scale) } else { None }).collect();
        std::mem::swap(&mut self.before, &mut self.now);
        self.sizes = sizes;
        moved
    }

    /// Forgets the previous picture, as at a seek.
    pub fn reset(&mut self) {
        self.sizes = None;
    }

    fn moved(&mut self, rect: &Rect, way: [f32; 2], [across, down]: [f32; 2]) -> Option<Rect> {
        if !rect.is_usable() {
            return None;
        }
        let guess = [way[0] / across, way[1] / down];
        let guess = if guess.iter().all(|v| v.is_finite()) { guess } else { [0.0; 2] };
        let place = Rect { x: rect.x / across, y: rect.y / down, w: rect.w / across, h: rect.h / down };
        // On coarser levels windows would show more of the background than of the box.
        let narrow = place.w.min(place.h);
        let level = (1..LEVELS).take_while(|level| (WINDOW << level) as f32 <= narrow).count();
        self.before.make(level);
        self.now.make(level);
        // Windows of the picture that is left begin at whole pixels of the level, and need no interpolation.
        let unit = (1 << level) as f32;
        let follow = |from: &Pyramid, to: &Pyramid, point: [f32; 2], guess: [f32; 2]| {
            let point = point.map(|v| (v / unit).round() * unit);
            way_of::<WINDOW, PIXELS, true>(from, to, point, guess, level..level + 1, LAST_STEPS)
        };
        self.ways.clear();
        for from in grid(&place) {
            let Some(way) = follow(&self.before, &self.now, from, guess) else { continue };
            let there = [from[0] + way[0], from[1] + way[1]];
            // Not from the way that was found: the point must be found again.
            let back = follow(&self.now, &self.before, there, guess.map(|way| -way));
            if back.is_some_and(|back| length([way[0] + back[0], way[1] + back[1]]) <= NEAR) {
                self.ways.push(way);
                if self.ways.len() == ENOUGH {
                    break;
                }
            }
        }
        if self.ways.len() < FEWEST {
            return None;
        }
        let way = [0, 1].map(|axis| {
            self.values.clear();
            self.values.extend(self.ways.iter().map(|way| way[axis]));
            median(&mut self.values)
        });
        self.values.clear();
        self.values.extend(self.ways.iter().map(|[x, y]| length([x - way[0], y - way[1]])));
        if median(&mut self.values) > APART {
            return None;
        }
        Some(Rect { x: rect.x + way[0] * across, y: rect.y + way[1] * down, ..*rect })
    }
}

/// The points of the grid in a box, as whole pixels.
fn grid(place: &Rect) -> impl Iterator<Item = [f32; 2]> + use<> {
    let Rect { x, y, w, h } = *place;
    let [columns, rows] = GRID;
    let at = |i: usize, count: usize| EDGE + (1.0 - 2.0 * EDGE) * i as f32 / (count - 1) as f32;
    (0..columns * rows)
        .map(move |i| i * STRIDE % (columns * rows))
        .map(move |i| [(x + at(i % columns, columns) * w).round(), (y + at(i / columns, rows) * h).round()])
}

fn length([x, y]: [f32; 2]) -> f32 {
    (x * x + y * y).sqrt()
}

/// The median of values, which are reordered; there is at least one. Of an even number, the mean of the two in the middle.
fn median(values: &mut [f32]) -> f32 {
    let middle = values.len() / 2;
    let (below, upper, above) = values.select_nth_unstable_by(middle, f32::total_cmp);
    let upper = *upper;
    if below.len() == above.len() + 1 {
        let lower = below.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        (lower + upper) / 2.0
    } else {
        upper
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture of 320x240 with texture that is shifted by a vector inside a box, and stands still elsewhere.
    fn picture(inside: &Rect, [dx, dy]: [f32; 2]) -> Vec<u8> {
        let texture = |x: f32, y: f32| {
            let waves = (x * 0.35).sin()
                + (y * 0.28).cos()
                + (x * 0.11 + y * 0.17).sin()
                + (x * 0.61 - y * 0.4).cos();
            (128.0 + 30.0 * waves) as u8
        };
        let pixel = |i: usize| {
            let (x, y) = ((i % 320) as f32, (i / 320) as f32);
            let moving = Rect { x: inside.x + dx, y: inside.y + dy, ..*inside };
            let covered = x >= moving.x && x < moving.right() && y >= moving.y && y < moving.bottom();
            if covered { texture(x - dx + 500.0, y - dy) } else { texture(x, y) }
        };
        (0..320 * 240).map(pixel).collect()
    }

    #[test]
    fn boxes_move_with_what_they_show() {
        let (size, frame) = ([320, 240], [640, 480]);
        // In pixels of the picture.
        let inside = Rect { x: 100.0, y: 60.0, w: 60.0, h: 90.0 };
        let (first, second) = (picture(&inside, [0.0, 0.0]), picture(&inside, [5.0, -3.0]));
        let mut flow = BoxFlow::default();
        let rects = [
            Rect { x: 200.0, y: 120.0, w: 120.0, h: 180.0 },
            Rect { x: 400.0, y: 300.0, w: 100.0, h: 100.0 },
            Rect { x: f32::NAN, y: 0.0, w: 10.0, h: 10.0 },
        ];
        let still = || rects.into_iter().map(|rect| (rect, [0.0; 2]));
        let first = Picture::new(&first, size, frame).unwrap();
        assert_eq!(flow.update(&first, still()), [None; 3]);
        let second = Picture::new(&second, size, frame).unwrap();
        let moved = flow.update(&second, still());
        let [one, other, none] = moved[..] else { panic!("{moved:?}") };
        let near = |found: Option<Rect>, wanted: Rect| {
            let found = found.unwrap();
            let apart = [found.x - wanted.x, found.y - wanted.y, found.w - wanted.w, found.h - wanted.h];
            assert!(apart.iter().all(|v| v.abs() < 0.5), "{found:?} is not {wanted:?}");
        };
        near(one, Rect { x: 210.0, y: 114.0, w: 120.0, h: 180.0 });
        near(other, rects[1]);
        assert_eq!(none, None);
        flow.reset();
        assert_eq!(flow.update(&second, still()), [None; 3]);
    }

    #[test]
    fn boxes_of_all_sizes_are_followed_and_from_where_they_are_expected() {
        let size = [320, 240];
        // The last is farther than windows reach.
        for (w, h, way, expected) in [
            (12.0, 30.0, [2.0, -1.0], [0.0, 0.0]),
            (24.0, 40.0, [-3.0, 2.0], [0.0, 0.0]),
            (70.0, 90.0, [4.0, 3.0], [0.0, 0.0]),
            (24.0, 40.0, [21.0, -14.0], [20.0, -13.0]),
        ] {
            let inside = Rect { x: 100.0, y: 80.0, w, h };
            let (first, second) = (picture(&inside, [0.0; 2]), picture(&inside, way));
            let mut flow = BoxFlow::default();
            flow.update(&Picture::new(&first, size, size).unwrap(), std::iter::empty());
            let second = Picture::new(&second, size, size).unwrap();
            let found = flow.update(&second, std::iter::once((inside, expected)))[0].unwrap();
            let apart = [found.x - inside.x - way[0], found.y - inside.y - way[1]];
            // A tenth of a pixel of the level.
            assert!(apart.iter().all(|v| v.abs() <= 0.4), "{w}x{h} by {way:?}: {apart:?}");
        }
    }

    #[test]
    fn a_box_that_shows_nothing_to_follow_is_lost() {
        let flat = vec![90; 320 * 240];
        let flat = Picture::new(&flat, [320, 240], [320, 240]).unwrap();
        let mut flow = BoxFlow::default();
        let rect = Rect { x: 50.0, y: 50.0, w: 80.0, h: 80.0 };
        flow.update(&flat, std::iter::empty());
        assert_eq!(flow.update(&flat, std::iter::once((rect, [0.0; 2]))), [None]);
    }
}
