//! From boxes to regions: pure geometry.

use super::grid::Grid;
use crate::geometry::{Affine, Rect};
use crate::preproc::Interpolation;

/// How a box fills the tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fit {
    /// The whole box with its aspect kept, centred. The frame around it fills the rest.
    Letterbox,
    /// As [`Fit::Letterbox`], but the box begins at the tensor's top left.
    LetterboxTopLeft,
    /// The box fills the tensor, without its aspect kept.
    Stretch,
    /// One scale for all boxes: the tensor's longer side covers that many frame pixels, around the box's centre. The
    /// box's size and the padding do not matter; the box may even be a point.
    Fixed(f32),
}

/// The map from a tensor of `tensor` (width, height) pixels to the part of a frame of `frame` pixels that a box asks for.
///
/// The box is `rect` turned about its centre by `angle`, in radians, clockwise as seen in the frame, and made
/// `padding` times as wide and high. The tensor shows it upright.
///
/// None where there is nothing to show: a box that is empty (but for [`Fit::Fixed`]), of negative size or not finite, an
/// angle or padding that is not finite, a padding or fixed size that is not positive, a region wholly outside the frame.
pub fn region(
    rect: Rect,
    angle: f32,
    padding: f32,
    fit: Fit,
    tensor: [usize; 2],
    frame: [usize; 2],
) -> Option<Affine> {
    let [x, y, w, h, angle, padding] = [rect.x, rect.y, rect.w, rect.h, angle, padding].map(f64::from);
    let [tensor_w, tensor_h] = tensor.map(|n| n as f64);
    let (wide, high) = (w * padding / tensor_w, h * padding / tensor_h);
    let (sx, sy) = match fit {
        Fit::Letterbox | Fit::LetterboxTopLeft => (wide.max(high), wide.max(high)),
        Fit::Stretch => (wide, high),
        Fit::Fixed(side) => {
            let scale = f64::from(side) / tensor_w.max(tensor_h);
            (scale, scale)
        }
    };
    let sized = if matches!(fit, Fit::Fixed(_)) { w >= 0.0 && h >= 0.0 } else { w > 0.0 && h > 0.0 };
    // Also true for NaN.
    if !(sized && padding > 0.0 && sx > 0.0 && sy > 0.0) {
        return None;
    }
    let (sin, cos) = angle.sin_cos();
    let (scale, skew) = ([cos * sx, cos * sy], [-sin * sy, sin * sx]);
    let center = [x + 0.5 * w, y + 0.5 * h];
    // The size of the box in tensor pixels, where the box begins at the tensor's corner.
    let (fill_w, fill_h) = if fit == Fit::LetterboxTopLeft {
        (w * padding / sx, h * padding / sy)
    } else {
        (tensor_w, tensor_h)
    };
    let offset = [
        center[0] - 0.5 * (scale[0] * fill_w + skew[0] * fill_h),
        center[1] - 0.5 * (skew[1] * fill_w + scale[1] * fill_h),
    ];
    let to_frame = Affine { scale, skew, offset };
    is_seen(&to_frame, tensor, frame).then_some(to_frame)
}

/// Whether a tensor of `tensor` pixels can be sampled, and shows some of a frame of `frame` pixels.
fn is_seen(to_frame: &Affine, tensor: [usize; 2], frame: [usize; 2]) -> bool {
    if Grid::new(to_frame, tensor, Interpolation::Bilinear).is_none() {
        return false;
    }
    // Two rectangles overlap if they do along the axes of each.
    let Affine { scale: [a, d], skew: [b, c], offset } = *to_frame;
    let ([tensor_w, tensor_h], [frame_w, frame_h]) = (tensor.map(|n| n as f64), frame.map(|n| n as f64));
    let corners = |w: f64, h: f64| [(0.0, 0.0), (w, 0.0), (0.0, h), (w, h)];
    let in_frame =
        corners(tensor_w, tensor_h).map(|(x, y)| [a * x + b * y + offset[0], c * x + d * y + offset[1]]);
    let determinant = a * d - b * c;
    let in_tensor = corners(frame_w, frame_h).map(|(x, y)| {
        let (dx, dy) = (x - offset[0], y - offset[1]);
        [(d * dx - b * dy) / determinant, (a * dy - c * dx) / determinant]
    });
    let overlap = |points: &[[f64; 2]; 4], axis: usize, length: f64| {
        points.iter().any(|p| p[axis] > 0.0) && points.iter().any(|p| p[axis] < length)
    };
    overlap(&in_frame, 0, frame_w)
        && overlap(&in_frame, 1, frame_h)
        && overlap(&in_tensor, 0, tensor_w)
        && overlap(&in_tensor, 1, tensor_h)
}

/// A region as mmpose's `TopdownAffine` cuts it (mmpose 1, structures/bbox/transforms.py), from the map that [`region`] gives
/// with [`Fit::Letterbox`] for a tensor of `tensor` (width, height) pixels.
///
/// mmpose counts a box's numbers from the first pixel's centre, not from its edge, and maps box centre to tensor centre by these
/// (`get_warp_matrix`); with `udp`, the centres of the tensor's first and last pixel lie on the box's edges
/// (`get_udp_warp_matrix`). Networks that were trained on such crops are exact to a fraction of a pixel only with them.
pub fn as_mmpose(map: &Affine, udp: bool, tensor: [usize; 2]) -> Affine {
    let Affine { scale, skew, offset } = *map;
    let [width, height] = tensor.map(|n| n as f64);
    // From the first to the last pixel's centre instead of from edge to edge.
    let wider = |side: f64| if udp { side / (side - 1.0).max(1.0) } else { 1.0 };
    let (wide, high) = (wider(width), wider(height));
    let middle = [
        scale[0] * width / 2.0 + skew[0] * height / 2.0 + offset[0],
        skew[1] * width / 2.0 + scale[1] * height / 2.0 + offset[1],
    ];
    let (scale, skew) = ([scale[0] * wide, scale[1] * high], [skew[0] * high, skew[1] * wide]);
    // The tensor's point on the box's centre, counted from edges. Without udp, mmpose counts width / 2 from pixels' centres.
    let (u, v) = if udp { (width / 2.0, height / 2.0) } else { ((width + 1.0) / 2.0, (height + 1.0) / 2.0) };
    let offset = [middle[0] + 0.5 - scale[0] * u - skew[0] * v, middle[1] + 0.5 - skew[1] * u - scale[1] * v];
    Affine { scale, skew, offset }
}

/// Where sleap-nn takes the pixels of a crop (0.3.5, `crop_bboxes` in inference/ops/crops.py), from the map that [`region`] gives
/// with [`Fit::Fixed`] for a tensor of `tensor` (width, height) pixels: the corner is cut to a whole pixel, towards the crop's
/// middle at the left and top edges of the frame.
///
/// sleap-nn places points by the corner before it was cut (`add_crop_offset`), and labels the crops that it trains on in the same
/// way. So its networks answer half a pixel to the left and top of what they see, and are exact with both only.
pub fn as_sleap(map: &Affine, tensor: [usize; 2]) -> Affine {
    let corner = |axis: usize| {
        // Half of an odd side is rounded down there, too.
        let half = (map.scale[axis] * tensor[axis] as f64 / 2.0 + 1e-6).floor();
        (map.offset[axis] + half).trunc() - half
    };
    Affine { offset: [corner(0), corner(1)], ..*map }
}

/// Where DeepLabCut takes the pixels of a crop (3.0.2, `top_down_crop` in pose_estimation_pytorch/data/image.py), and where it says that
/// the tensor lies in the frame, from the map that [`region`] gives with [`Fit::Letterbox`] and no angle for a tensor of `tensor`
/// (width, height) pixels: a crop's edges are rounded to whole pixels, to even ones from the middle between two.
///
/// DeepLabCut resizes the crop edge to edge, but counts points from the first pixel's centre in both, and trains with labels that are
/// moved in the same way: with S frame pixels for each of the tensor's, (S - 1) / 2 to the left and top of what it sees.
pub fn as_deeplabcut(map: &Affine, tensor: [usize; 2]) -> (Affine, Affine) {
    let axis = |axis: usize| {
        let (begin, side) = (map.offset[axis], tensor[axis] as f64);
        let first = begin.round_ties_even();
        let last = (begin + map.scale[axis] * side).round_ties_even().max(first + 1.0);
        (first, (last - first) / side)
    };
    let ((x, wide), (y, high)) = (axis(0), axis(1));
    let said = [x + 0.5 - 0.5 * wide, y + 0.5 - 0.5 * high];
    (Affine::upright([wide, high], [x, y]), Affine::upright([wide, high], said))
}

/// The map of a tensor in which points of the frame come nearest to those of a template: turned, scaled alike on both axes and
/// moved, but not mirrored, so that the sum of their squared distances in the tensor is the least. That is what Umeyama's method
/// finds (IEEE TPAMI 13, 1991), which insightface's `norm_crop` uses.
///
/// `template` has as many points, in the same order. Both are counted from the centre of the first pixel, as insightface does for OpenCV's
/// `warpAffine`.
///
/// None where fewer than two points lie apart, in the frame or in the template, where one is not finite, and where a tensor of `tensor`
/// (width, height) pixels would be wholly outside of the frame of `frame` pixels.
pub fn aligned(
    points: &[[f64; 2]],
    template: &[[f64; 2]],
    tensor: [usize; 2],
    frame: [usize; 2],
) -> Option<Affine> {
    let mean = |points: &[[f64; 2]]| {
        [0, 1].map(|axis| points.iter().map(|point| point[axis]).sum::<f64>() / points.len() as f64)
    };
    let (from, to) = (mean(points), mean(template));
    // As complex numbers, the template's point is the frame's times `turn`, both counted from their mean.
    let (mut turn, mut spread) = ([0.0, 0.0], 0.0);
    for (point, wanted) in points.iter().zip(template) {
        let (x, y) = (point[0] - from[0], point[1] - from[1]);
        let (u, v) = (wanted[0] - to[0], wanted[1] - to[1]);
        turn = [turn[0] + x * u + y * v, turn[1] + x * v - y * u];
        spread += x * x + y * y;
    }
    let [a, b] = turn.map(|part| part / spread);
    let offset = [to[0] - a * from[0] + b * from[1], to[1] - b * from[0] - a * from[1]];
    let to_frame = Affine { scale: [a, a], skew: [-b, b], offset }.inverse()?;
    let Affine { scale, skew, offset } = to_frame;
    // Both count from the centre of the first pixel.
    let from_edges = |axis: usize| offset[axis] + 0.5 - 0.5 * (scale[axis] + skew[axis]);
    let to_frame = Affine { offset: [from_edges(0), from_edges(1)], ..to_frame };
    is_seen(&to_frame, tensor, frame).then_some(to_frame)
}

#[cfg(test)]
mod tests {
    use std::f32::consts::{FRAC_PI_2, PI};

    use proptest::prelude::*;

    use super::*;

    const BOX: Rect = Rect { x: 10.0, y: 20.0, w: 40.0, h: 10.0 };
    const FRAME: [usize; 2] = [640, 480];

    fn assert_near(got: (f32, f32), wanted: (f32, f32)) {
        // The tolerance is that of float32 for some thousands of frame pixels.
        let near = (got.0 - wanted.0).hypot(got.1 - wanted.1) < 2e-3;
        assert!(near, "{got:?}, not {wanted:?}");
    }

    #[test]
    fn a_box_at_the_top_left_begins_there() {
        // 60x15 around (30, 25), in 20x20: three frame pixels each, and the box's corner first.
        let map = region(BOX, 0.0, 1.5, Fit::LetterboxTopLeft, [20, 20], FRAME).unwrap();
        assert_eq!(map, Affine::upright([3.0, 3.0], [0.0, 17.5]));
        // The upper left corner of the upright box is, after a quarter turn, its upper right corner in the frame.
        let map = region(BOX, FRAC_PI_2, 1.0, Fit::LetterboxTopLeft, [20, 20], FRAME).unwrap();
        assert_near(map.point(0.0, 0.0), (35.0, 5.0));
        assert_near(map.point(20.0, 5.0), (25.0, 45.0));
    }

    #[test]
    fn a_stretched_box_fills_the_tensor_and_a_letterboxed_one_keeps_its_aspect() {
        let map = region(BOX, 0.0, 1.0, Fit::Stretch, [20, 20], FRAME).unwrap();
        assert_eq!(map, Affine::upright([2.0, 0.5], [10.0, 20.0]));
        let map = region(BOX, 0.0, 1.5, Fit::Letterbox, [20, 20], FRAME).unwrap();
        assert_eq!(map, Affine::upright([3.0, 3.0], [0.0, -5.0]));
        let map = region(BOX, 0.0, 9.0, Fit::Fixed(20.0), [10, 5], FRAME).unwrap();
        assert_eq!(map, Affine::upright([2.0, 2.0], [20.0, 20.0]));
    }

    #[test]
    fn a_box_turned_clockwise_is_shown_upright() {
        // Its upper left corner is upper right in the frame: tensor x goes down, tensor y to the left.
        let map = region(BOX, FRAC_PI_2, 1.0, Fit::Stretch, [40, 10], FRAME).unwrap();
        assert_near(map.point(0.0, 0.0), (35.0, 5.0));
        assert_near(map.point(40.0, 0.0), (35.0, 45.0));
        assert_near(map.point(0.0, 10.0), (25.0, 5.0));
    }

    #[test]
    fn a_point_has_a_region_of_fixed_scale_only() {
        let point = Rect { x: 100.25, y: 60.5, w: 0.0, h: 0.0 };
        let map = region(point, 0.0, 1.0, Fit::Fixed(160.0), [160, 160], FRAME).unwrap();
        assert_eq!(map, Affine::upright([1.0, 1.0], [20.25, -19.5]));
        assert!(region(point, 0.0, 1.0, Fit::Stretch, [160, 160], FRAME).is_none());
        assert!(region(point, 0.0, 1.0, Fit::Letterbox, [160, 160], FRAME).is_none());
    }

    /// insightface's template of 112x112 pixels (`arcface_dst`): eyes, nose, corners of the mouth.
    const ARCFACE: [[f64; 2]; 5] =
        [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]];

    #[test]
    fn points_that_fit_the_template_lie_where_it_has_them() {
        // Turned by 36.87 degrees and two and a half times as large: cosine 4/5, sine 3/5.
        let in_frame = |[x, y]: [f64; 2]| [2.0 * x - 1.5 * y + 200.0, 1.5 * x + 2.0 * y + 10.0];
        let map = aligned(&ARCFACE.map(in_frame), &ARCFACE, [112, 112], FRAME).unwrap();
        for template in ARCFACE {
            let (x, y) = map.point(template[0] as f32 + 0.5, template[1] as f32 + 0.5);
            let [wanted_x, wanted_y] = in_frame(template).map(|v| v as f32 + 0.5);
            assert_near((x, y), (wanted_x, wanted_y));
        }
    }

    /// The rows of what skimage's `SimilarityTransform` (0.25.2), which insightface's `estimate_norm` calls, estimates of `FACE` for
    /// [`ARCFACE`].
    const ESTIMATED: [[f64; 3]; 2] = [
        [0.6929240748924295, 0.13158364926154206, -167.11702946644962],
        [-0.13158364926154204, 0.6929240748924295, -12.113462207931192],
    ];

    const FACE: [[f64; 2]; 5] =
        [[270.5, 140.25], [315.0, 150.5], [290.75, 180.0], [265.25, 200.5], [301.5, 209.0]];

    #[test]
    fn points_that_do_not_fit_are_aligned_as_insightface_does_it() {
        let map = aligned(&FACE, &ARCFACE, [112, 112], FRAME).unwrap();
        let back = map.inverse().unwrap();
        for (axis, [by_x, by_y, moved]) in ESTIMATED.into_iter().enumerate() {
            for [x, y] in FACE {
                let (u, v) = back.point(x as f32 + 0.5, y as f32 + 0.5);
                let wanted = by_x * x + by_y * y + moved + 0.5;
                assert!((f64::from([u, v][axis]) - wanted).abs() < 1e-3, "{axis}: {u} {v} {wanted}");
            }
        }
    }

    #[test]
    fn points_in_one_place_and_faces_outside_of_the_frame_have_no_region() {
        let of = |points: &[[f64; 2]]| aligned(points, &ARCFACE[..points.len()], [112, 112], FRAME);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[[10.0, 10.0]]), None);
        assert_eq!(of(&[[10.0, 10.0], [10.0, 10.0]]), None);
        assert_eq!(of(&[[10.0, 10.0], [f64::NAN, 10.0]]), None);
        assert_eq!(of(&[[1000.0, 100.0], [1010.0, 100.0]]), None);
        assert!(of(&[[100.0, 100.0], [110.0, 100.0]]).is_some());
        let apart = [[100.0, 100.0], [110.0, 100.0]];
        assert_eq!(aligned(&apart, &[[5.0, 5.0]; 2], [112, 112], FRAME), None);
    }

    #[test]
    fn sleap_nn_takes_whole_pixels_from_the_corner_that_is_cut_towards_0() {
        let corner = |x: f32, y: f32, side: f32| {
            let point = Rect { x, y, w: 0.0, h: 0.0 };
            let map = region(point, 0.0, 1.0, Fit::Fixed(side), [8, 8], FRAME).unwrap();
            let cut = as_sleap(&map, [8, 8]);
            assert_eq!((cut.scale, cut.skew), (map.scale, map.skew));
            cut.offset
        };
        // `crop_bboxes` for centroids at 99.75, 60 and 1.25, 0 from the first pixel's centre, in crops of 8 and 7 pixels.
        assert_eq!(corner(100.25, 60.5, 8.0), [96.0, 56.0]);
        assert_eq!(corner(1.75, 0.5, 8.0), [-3.0, -4.0]);
        assert_eq!(corner(100.25, 60.5, 7.0), [96.0, 57.0]);
        assert_eq!(corner(1.75, 0.5, 7.0), [-2.0, -3.0]);
        // Twice as large as the tensor.
        assert_eq!(corner(100.25, 60.5, 16.0), [92.0, 52.0]);
    }

    #[test]
    fn deeplabcut_takes_whole_pixels_and_counts_from_the_first_ones_centre() {
        let cut = |rect: Rect, tensor: [usize; 2]| {
            let map = region(rect, 0.0, 1.0, Fit::Letterbox, tensor, FRAME).unwrap();
            as_deeplabcut(&map, tensor)
        };
        // What `top_down_crop` says to boxes [x, y, w, h]: offset, scale. Square boxes, rounded to even ones from the middle.
        let square = |x, y, side| Rect { x, y, w: side, h: side };
        for (rect, offset, scale) in [
            (square(10.0, 20.0, 16.0), [10.0, 20.0], [2.0, 2.0]),
            (square(10.5, 21.5, 16.0), [10.0, 22.0], [2.0, 2.0]),
            (square(10.5, 21.5, 17.0), [10.0, 22.0], [2.25, 2.0]),
            (square(-3.25, -1.75, 4.0), [-3.0, -2.0], [0.5, 0.5]),
            // Less than a pixel; DeepLabCut cannot resize what is empty.
            (square(10.0, 20.0, 0.25), [10.0, 20.0], [0.125, 0.125]),
        ] {
            let (from, to_frame) = cut(rect, [8, 8]);
            assert_eq!(from, Affine::upright(scale, offset), "{rect:?}");
            // The first pixel's centre lies on that of the crop's first one.
            let [x, y] = offset.map(|first| first as f32 + 0.5);
            assert_eq!(to_frame.point(0.5, 0.5), (x, y), "{rect:?}");
            assert_eq!(to_frame.scale, scale, "{rect:?}");
        }
        // A flat box is made as high as the tensor is.
        let (from, _) = cut(Rect { x: 10.0, y: 20.0, w: 24.0, h: 6.0 }, [12, 8]);
        assert_eq!(from, Affine::upright([2.0, 2.0], [10.0, 15.0]));
    }

    #[test]
    fn what_shows_nothing_has_no_region() {
        let none = |rect, angle, padding, fit| {
            assert!(
                region(rect, angle, padding, fit, [8, 8], FRAME).is_none(),
                "{rect:?} {angle} {padding} {fit:?}"
            );
        };
        for fit in [Fit::Letterbox, Fit::Stretch, Fit::Fixed(8.0)] {
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30] {
                none(Rect { x: bad, ..BOX }, 0.0, 1.0, fit);
                none(Rect { w: bad, ..BOX }, 0.0, 1.0, fit);
            }
            for bad in [f32::NAN, f32::INFINITY] {
                none(BOX, bad, 1.0, fit);
            }
            none(Rect { w: -1.0, ..BOX }, 0.0, 1.0, fit);
            for bad in [0.0, -1.0, f32::NAN] {
                none(BOX, 0.0, bad, fit);
            }
            for (x, y) in [(-41.0, 20.0), (641.0, 20.0), (10.0, -11.0), (10.0, 481.0)] {
                none(Rect { x, y, ..BOX }, 0.0, 1.0, if fit == Fit::Letterbox { Fit::Stretch } else { fit });
            }
        }
        for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            none(BOX, 0.0, 1.0, Fit::Fixed(bad));
        }
        // The upright boxes around both overlap the frame, but one of them passes the frame's corner.
        let diagonal = |x: f32| Rect { x: x - 50.0, y: x - 5.0, w: 100.0, h: 10.0 };
        assert!(region(diagonal(-3.0), -PI / 4.0, 1.0, Fit::Stretch, [8, 8], FRAME).is_some());
        none(diagonal(-4.0), -PI / 4.0, 1.0, Fit::Stretch);
    }

    proptest! {
        #[test]
        fn the_turned_box_lies_in_the_tensor_as_the_fit_says(
            cx in 1f32..639.0, cy in 1f32..479.0, w in 1f32..300.0, h in 1f32..300.0, angle in -7f32..7.0,
            padding in 0.5f32..3.0, tensor in [1usize..300, 1usize..300],
        ) {
            let rect = Rect { x: cx - w / 2.0, y: cy - h / 2.0, w, h };
            let (sin, cos) = angle.sin_cos();
            let [tw, th] = tensor.map(|n| n as f32);
            for fit in [Fit::Letterbox, Fit::Stretch, Fit::Fixed(64.0)] {
                let map = region(rect, angle, padding, fit, tensor, FRAME).unwrap();
                assert_near(map.point(tw / 2.0, th / 2.0), (cx, cy));
                // Half the region, in its own axes.
                let (a, b) = match fit {
                    Fit::Stretch => (w * padding / 2.0, h * padding / 2.0),
                    Fit::Letterbox => {
                        let s = (w * padding / tw).max(h * padding / th);
                        (s * tw / 2.0, s * th / 2.0)
                    }
                    Fit::LetterboxTopLeft => unreachable!("not among them"),
                    Fit::Fixed(side) => (side * tw / tw.max(th) / 2.0, side * th / tw.max(th) / 2.0),
                };
                for (u, v) in [(-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)] {
                    let wanted = (cx + cos * u * a - sin * v * b, cy + sin * u * a + cos * v * b);
                    // The tolerance is that of sines of float32 angles, over boxes of up to 900 x 300 times the tensor's aspect.
                    let got = map.point((1.0 + u) * tw / 2.0, (1.0 + v) * th / 2.0);
                    let near = (got.0 - wanted.0).hypot(got.1 - wanted.1) <= 1e-5 * (1e3 + a + b);
                    prop_assert!(near, "{:?}, not {:?}", got, wanted);
                }
            }
        }
    }
}
