//! Coordinates. Everything is continuous: pixel `i` covers `[i, i + 1)`, its centre is `i + 0.5`; x goes right, y down.

/// An axis-aligned box: top-left corner and size, in pixels of the frame unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Left edge.
    pub x: f32,
    /// Top edge.
    pub y: f32,
    /// Width.
    pub w: f32,
    /// Height.
    pub h: f32,
}

impl Rect {
    /// The box between two corners, `(x1, y1)` top left and `(x2, y2)` bottom right.
    pub fn from_corners(x1: f32, y1: f32, x2: f32, y2: f32) -> Self {
        Self { x: x1, y: y1, w: x2 - x1, h: y2 - y1 }
    }

    /// Right edge.
    pub fn right(&self) -> f32 {
        self.x + self.w
    }

    /// Bottom edge.
    pub fn bottom(&self) -> f32 {
        self.y + self.h
    }

    /// Whether it is finite and has an area. `f32::min` and `max` ignore NaN, so an unchecked NaN could pass for an overlap.
    pub(crate) fn is_usable(&self) -> bool {
        let is_length = |side: f32| side.is_finite() && side > 0.0;
        self.x.is_finite() && self.y.is_finite() && is_length(self.w) && is_length(self.h)
    }

    /// Area; 0 for a box of negative size.
    pub fn area(&self) -> f32 {
        self.w.max(0.0) * self.h.max(0.0)
    }

    /// Intersection over union, 0..1; 0 where both boxes are empty.
    pub fn iou(&self, other: &Self) -> f32 {
        let w = self.right().min(other.right()) - self.x.max(other.x);
        let h = self.bottom().min(other.bottom()) - self.y.max(other.y);
        if w <= 0.0 || h <= 0.0 {
            return 0.0;
        }
        let inter = w * h;
        inter / (self.area() + other.area() - inter).max(f32::MIN_POSITIVE)
    }

    /// The part that two boxes have in common; of no or negative size if there is none.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        Self::from_corners(
            self.x.max(other.x),
            self.y.max(other.y),
            self.right().min(other.right()),
            self.bottom().min(other.bottom()),
        )
    }

    /// The part of the box inside a frame of `width` x `height`.
    pub fn clamped(&self, width: f32, height: f32) -> Self {
        let (x1, y1) = (self.x.clamp(0.0, width), self.y.clamp(0.0, height));
        let (x2, y2) = (self.right().clamp(0.0, width), self.bottom().clamp(0.0, height));
        Self::from_corners(x1, y1, x2, y2)
    }
}

/// The map from the input tensor's pixels to the frame's: on each axis `scale * tensor + skew * other axis + offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    /// Frame pixels per tensor pixel: x by x, and y by y.
    pub scale: [f64; 2],
    /// Frame pixels per tensor pixel of the other axis: x by y, and y by x. 0 where nothing is rotated.
    pub skew: [f64; 2],
    /// Where the tensor's top-left corner lies in the frame, in x and y.
    pub offset: [f64; 2],
}

impl Affine {
    /// Tensor and frame are the same.
    pub const IDENTITY: Self = Self::upright([1.0, 1.0], [0.0, 0.0]);

    /// A map that rotates nothing.
    pub const fn upright(scale: [f64; 2], offset: [f64; 2]) -> Self {
        Self { scale, skew: [0.0, 0.0], offset }
    }

    /// A point of the tensor, in the frame.
    pub fn point(&self, x: f32, y: f32) -> (f32, f32) {
        let (x, y) = (f64::from(x), f64::from(y));
        (
            (self.scale[0] * x + self.skew[0] * y + self.offset[0]) as f32,
            (self.skew[1] * x + self.scale[1] * y + self.offset[1]) as f32,
        )
    }

    /// From the frame to the tensor; `None` where the tensor lies in no area of the frame.
    pub fn inverse(&self) -> Option<Self> {
        let Self { scale: [a, d], skew: [b, c], offset: [x, y] } = *self;
        let determinant = a * d - b * c;
        let inverse = |v: f64| v / determinant;
        let offset = [inverse(b * y - d * x), inverse(c * x - a * y)];
        let found = Self { scale: [inverse(d), inverse(a)], skew: [inverse(-b), inverse(-c)], offset };
        (determinant.is_finite() && determinant != 0.0).then_some(found)
    }

    /// The upright box around a box of the tensor, in the frame.
    pub fn rect(&self, rect: &Rect) -> Rect {
        let corners = [
            (rect.x, rect.y),
            (rect.right(), rect.y),
            (rect.x, rect.bottom()),
            (rect.right(), rect.bottom()),
        ];
        let [a, b, c, d] = corners.map(|(x, y)| self.point(x, y));
        let edge = |pick: fn(f32, f32) -> f32, of: fn((f32, f32)) -> f32| {
            pick(pick(of(a), of(b)), pick(of(c), of(d)))
        };
        let (x, y) = (|p: (f32, f32)| p.0, |p: (f32, f32)| p.1);
        Rect::from_corners(edge(f32::min, x), edge(f32::min, y), edge(f32::max, x), edge(f32::max, y))
    }
}

/// The frame that a row of a batch belongs to, and where the input tensor's row lies in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowFrame {
    /// From the input tensor's pixels to the frame's.
    pub to_frame: Affine,
    /// The frame's width and height in pixels.
    pub frame: [usize; 2],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iou_of_half_overlapping_unit_boxes_is_a_third() {
        let a = Rect { x: 0.0, y: 0.0, w: 1.0, h: 1.0 };
        let b = Rect { x: 0.5, ..a };
        assert!((a.iou(&b) - 1.0 / 3.0).abs() < 1e-6);
        assert_eq!(a.iou(&Rect { x: 1.0, ..a }), 0.0);
        assert_eq!(Rect::default().iou(&Rect::default()), 0.0);
    }

    #[test]
    fn a_letterboxed_box_returns_to_the_frame() {
        // 768x576 into 416x416: scale 416/768, bars of 52 rows above and below.
        let s = 768.0 / 416.0;
        let map = Affine::upright([s, s], [0.0, -52.0 * s]);
        let r = map.rect(&Rect { x: 0.0, y: 52.0, w: 416.0, h: 312.0 });
        assert!((r.x, r.y) == (0.0, 0.0) && (r.w - 768.0).abs() < 1e-3 && (r.h - 576.0).abs() < 1e-3);
    }

    #[test]
    fn the_box_around_a_rotated_box_holds_its_four_corners() {
        // A quarter turn: tensor x goes down in the frame, tensor y to the left.
        let map = Affine { scale: [0.0, 0.0], skew: [-1.0, 1.0], offset: [10.0, 20.0] };
        assert_eq!(map.point(2.0, 3.0), (7.0, 22.0));
        let r = map.rect(&Rect { x: 0.0, y: 0.0, w: 4.0, h: 6.0 });
        assert_eq!(r, Rect { x: 4.0, y: 20.0, w: 6.0, h: 4.0 });
    }

    #[test]
    fn the_inverse_leads_back_also_from_rotated_tensors() {
        for map in [
            Affine::upright([2.0, 0.5], [-3.0, 7.0]),
            Affine { scale: [1.5, 0.8], skew: [-0.4, 0.9], offset: [10.0, -20.0] },
        ] {
            let back = map.inverse().unwrap();
            for (x, y) in [(0.0, 0.0), (12.5, -3.0), (640.0, 480.0)] {
                let (fx, fy) = map.point(x, y);
                let (bx, by) = back.point(fx, fy);
                assert!((bx - x).abs() < 1e-3 && (by - y).abs() < 1e-3, "{map:?}: {bx} {by}");
            }
        }
        assert_eq!(Affine::upright([0.0, 1.0], [0.0, 0.0]).inverse(), None);
    }
}
