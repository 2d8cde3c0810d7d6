//! The size of a stream's poses, for those of which few points were found: the box around a lone point has no size, so that nothing
//! would be near it in the next frame, and a part of the points is smaller than the animal.

use cudainfer_kernels::geometry::Rect;

/// How much a pose counts for the usual size, against all before.
const SHARE: f32 = 0.1;
/// The box of an incomplete pose has at least this part of the usual side as width and height. Of the lone points that a top-down network
/// of two flies gives (a third of its poses), a quarter to all of a fly's box gave the same tracks: half as many identities as without a size.
const LEAST: f32 = 0.5;

/// Takes in poses, each as the number of its points and the box around them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UsualSize {
    /// The most points that a pose had.
    points: usize,
    /// The side of a square of the usual area, of poses with that many points.
    side: f32,
}

impl UsualSize {
    /// Returns the box of a pose: around its points, and not much smaller than complete ones before it if points are missing.
    pub fn see(&mut self, points: usize, around: Rect) -> Rect {
        let side = (around.w * around.h).sqrt();
        // One point has no size.
        if points > self.points && points > 1 {
            *self = Self { points, side };
        } else if points == self.points {
            self.side += SHARE * (side - self.side);
        }
        if points >= self.points {
            return around;
        }
        let Rect { x, y, w, h } = around;
        let (wide, high) = (w.max(LEAST * self.side), h.max(LEAST * self.side));
        Rect { x: x - (wide - w) / 2.0, y: y - (high - h) / 2.0, w: wide, h: high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLY: Rect = Rect { x: 10.0, y: 20.0, w: 80.0, h: 20.0 };

    #[test]
    fn a_lone_point_has_half_the_size_of_the_poses_before_it() {
        let mut usual = UsualSize::default();
        let point = Rect { x: 99.5, y: 49.5, w: 1.0, h: 1.0 };
        assert_eq!(usual.see(1, point), point, "nothing is known yet");
        assert_eq!(usual.see(2, FLY), FLY);
        // 40 is the side of a square of 80 x 20.
        assert_eq!(usual.see(1, point), Rect { x: 90.0, y: 40.0, w: 20.0, h: 20.0 });
        assert_eq!(
            usual.see(1, FLY),
            Rect { x: 10.0, y: 20.0, w: 80.0, h: 20.0 },
            "who is larger stays as it is"
        );
    }

    #[test]
    fn complete_poses_stay_as_they_are_and_the_size_follows_them() {
        let mut usual = UsualSize::default();
        usual.see(2, FLY);
        let small = Rect { w: 8.0, h: 8.0, ..FLY };
        assert_eq!(usual.see(2, small), small, "it is far away");
        for _ in 0..100 {
            usual.see(2, small);
        }
        let point = usual.see(1, Rect { x: 0.0, y: 0.0, w: 1.0, h: 1.0 });
        assert!((point.w - 4.0).abs() < 0.01 && point.w == point.h, "{point:?}");
        // More points than any pose had before are a larger part of the animal.
        usual.see(5, FLY);
        assert_eq!(usual.see(4, small).w, 20.0);
    }
}
