//! Where the contents of boxes have gone from one frame to the next, for frames in which no detector looks.
//!
//! As the tracker Median Flow (Kalal, Mikolajczyk, Matas, "Forward-Backward Error: Automatic Detection of Tracking Failures", ICPR 2010):
//! points on a grid in the box are followed to the next picture ([`crate::camera`], with the same pictures and the same pyramidal
//! Lucas-Kanade flow, forward and back). The box moves by the median of their ways. Written from the paper, but for the change of its size,
//! which the trackers' filters know better.

use crate::camera::{LEVELS, Picture, Pyramid, WINDOW, follow};
use crate::geometry::Rect;

/// Points of the grid along each side of a box.
const GRID: usize = 5;
/// The share of a box's side that the grid keeps from its edges, where the background shows.
const EDGE: f32 = 0.2;
/// At least this many points must have been followed.
const FEWEST: usize = 6;
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
    ways: Vec<([f32; 2], [f32; 2])>,
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
        let Rect { x, y, w, h } = *rect;
        if !rect.is_usable() {
            return None;
        }
        let guess = [way[0] / across, way[1] / down];
        let guess = if guess.iter().all(|v| v.is_finite()) { guess } else { [0.0; 2] };
        // On coarser levels windows would show more of the background than of the box.
        let narrow = (w / across).min(h / down);
        let levels = (1..LEVELS).take_while(|level| (WINDOW << level) as f32 <= narrow).count() + 1;
        self.ways.clear();
        for row in 0..GRID {
            for column in 0..GRID {
                let at = |i: usize| EDGE + (1.0 - 2.0 * EDGE) * i as f32 / (GRID - 1) as f32;
                // Whole pixels need no interpolation.
                let from = [((x + at(column) * w) / across).round(), ((y + at(row) * h) / down).round()];
                if let Some(to) = follow(&self.before, &self.now, from, guess, levels) {
                    self.ways.push((from, to));
                }
            }
        }
        if self.ways.len() < FEWEST {
            return None;
        }
        let way = [0, 1].map(|axis| {
            self.values.clear();
            self.values.extend(self.ways.iter().map(|(from, to)| to[axis] - from[axis]));
            median(&mut self.values)
        });
        self.values.clear();
        self.values.extend(self.ways.iter().map(|(from, to)| {
            let [dx, dy] = [to[0] - from[0] - way[0], to[1] - from[1] - way[1]];
            (dx * dx + dy * dy).sqrt()
        }));
        if median(&mut self.values) > APART {
            return None;
        }
        Some(Rect { x: x + way[0] * across, y: y + way[1] * down, w, h })
    }
}

/// The lower median of values, which are reordered; there is at least one.
fn median(values: &mut [f32]) -> f32 {
    let middle = (values.len() - 1) / 2;
    *values.select_nth_unstable_by(middle, f32::total_cmp).1
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
    fn a_box_that_shows_nothing_to_follow_is_lost() {
        let flat = vec![90; 320 * 240];
        let flat = Picture::new(&flat, [320, 240], [320, 240]).unwrap();
        let mut flow = BoxFlow::default();
        let rect = Rect { x: 50.0, y: 50.0, w: 80.0, h: 80.0 };
        flow.update(&flat, std::iter::empty());
        assert_eq!(flow.update(&flat, std::iter::once((rect, [0.0; 2]))), [None]);
    }
}
