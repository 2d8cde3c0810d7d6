//! From an object's corners to a warped region: pure geometry.

use super::grid::WarpGrid;
use crate::homography::{CornersError, Homography, check_corners, corners};
use crate::preproc::Interpolation;

/// The map from a tensor of `tensor` (width, height) pixels to the quadrilateral of a frame of `frame` pixels whose corners `points` are,
/// clockwise from the top left of what the tensor shows: a rectangle in perspective is seen from the front, as with OpenCV's
/// `getPerspectiveTransform` and `warpPerspective`.
///
/// Without `template` the quadrilateral fills the tensor, from edge to edge, and points are continuous as everywhere. With it, the
/// tensor has the points in these places, and both are counted from the first pixel's centre, as OpenCV counts them. The tensor shows
/// `padding` times as much on each axis around its centre.
///
/// None where the padding is not positive or not finite, and where the region would be wholly outside the frame.
///
/// # Errors
/// Points, or places, that are not the corners of a rectangle in perspective; a perspective too steep for the padding.
pub fn warped(
    points: &[[f64; 2]; 4],
    template: Option<&[[f64; 2]; 4]>,
    padding: f64,
    tensor: [usize; 2],
    frame: [usize; 2],
) -> Result<Option<Homography>, CornersError> {
    check_corners(points)?;
    let from_edges = |points: &[[f64; 2]; 4]| points.map(|point| point.map(|v| v + 0.5));
    let map = match template {
        Some(template) => {
            check_corners(template)?;
            Homography::between(&from_edges(template), &from_edges(points))
        }
        None => Homography::between(&corners(tensor), points),
    };
    // Also true for NaN.
    if !(padding > 0.0 && padding.is_finite()) {
        return Ok(None);
    }
    let map = map.enlarged(padding, tensor.map(|side| side as f64 / 2.0));
    let shown = corners(tensor).map(|corner| map.homogeneous(corner));
    if !shown.iter().all(|[_, _, w]| *w > 0.0) {
        return Err(CornersError::TooSteep);
    }
    if !overlap(&shown.map(|[x, y, w]| [x / w, y / w]), frame) {
        return Ok(None);
    }
    let followed = WarpGrid::new(&map, tensor, Interpolation::Bilinear).is_some();
    if followed { Ok(Some(map)) } else { Err(CornersError::TooSteep) }
}

/// Whether a convex quadrilateral, given clockwise, has some of a frame of `frame` pixels. Two convex areas overlap if they do along the
/// normals of the sides of each.
fn overlap(quadrilateral: &[[f64; 2]; 4], frame: [usize; 2]) -> bool {
    let along_frame = |axis: usize| {
        let length = frame[axis] as f64;
        quadrilateral.iter().any(|p| p[axis] > 0.0) && quadrilateral.iter().any(|p| p[axis] < length)
    };
    let frame_corners = corners(frame);
    let along_side = |i: usize| {
        let ([x, y], [next_x, next_y]) = (quadrilateral[i], quadrilateral[(i + 1) % 4]);
        frame_corners.iter().any(|[u, v]| (next_x - x) * (v - y) > (next_y - y) * (u - x))
    };
    along_frame(0) && along_frame(1) && (0..4).all(along_side)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: [usize; 2] = [640, 480];
    const PLATE: [[f64; 2]; 4] = [[102.5, 61.0], [180.25, 74.5], [176.0, 101.75], [99.5, 82.0]];

    fn assert_near(got: [f64; 2], wanted: [f64; 2]) {
        // Some hundreds of pixels in f64.
        assert!((got[0] - wanted[0]).hypot(got[1] - wanted[1]) < 1e-9, "{got:?}, not {wanted:?}");
    }

    #[test]
    fn the_quadrilateral_fills_the_tensor_or_lies_in_it_as_the_template_says() {
        let map = warped(&PLATE, None, 1.0, [94, 24], FRAME).unwrap().unwrap();
        for (corner, point) in corners([94, 24]).into_iter().zip(PLATE) {
            assert_near(map.point(corner), point);
        }
        // The usual four numbers for OpenCV: from the first to the last pixel's centre.
        let template = [[0.0, 0.0], [93.0, 0.0], [93.0, 23.0], [0.0, 23.0]];
        let map = warped(&PLATE, Some(&template), 1.0, [94, 24], FRAME).unwrap().unwrap();
        for (place, point) in template.into_iter().zip(PLATE) {
            assert_near(map.point(place.map(|v| v + 0.5)), point.map(|v| v + 0.5));
        }
    }

    #[test]
    fn padding_shows_more_on_all_sides_in_the_plane_of_the_rectangle() {
        let plain = warped(&PLATE, None, 1.0, [80, 20], FRAME).unwrap().unwrap();
        let padded = warped(&PLATE, None, 1.25, [80, 20], FRAME).unwrap().unwrap();
        for (corner, wanted) in
            corners([80, 20]).into_iter().zip([[-10.0, -2.5], [90.0, -2.5], [90.0, 22.5], [-10.0, 22.5]])
        {
            assert_near(padded.point(corner), plain.point(wanted));
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(warped(&PLATE, None, bad, [80, 20], FRAME), Ok(None));
        }
    }

    #[test]
    fn a_margin_that_would_reach_the_camera_is_refused() {
        // A road, twice as wide below as above: the camera is as far below the quadrilateral as that is high, in the road's own plane.
        let road = [[310.0, 200.0], [330.0, 200.0], [340.0, 300.0], [300.0, 300.0]];
        for (padding, followed) in [(1.0, true), (1.9, true), (3.1, false), (100.0, false)] {
            let map = warped(&road, None, padding, [64, 64], FRAME);
            assert_eq!(map.is_ok(), followed, "{padding}: {map:?}");
            assert!(followed || map == Err(CornersError::TooSteep));
        }
    }

    #[test]
    fn what_is_no_view_of_a_rectangle_is_refused_and_what_lies_outside_has_no_region() {
        let [a, b, c, d] = PLATE;
        let of = |points: &[[f64; 2]; 4]| warped(points, None, 1.0, [94, 24], FRAME);
        assert_eq!(of(&[a, d, c, b]), Err(CornersError::Anticlockwise));
        assert_eq!(of(&[a, c, b, d]), Err(CornersError::NotConvex));
        assert_eq!(of(&[a, b, c, [f64::NAN, 0.0]]), Err(CornersError::NotFinite));
        let template = [[0.0, 0.0], [0.0, 23.0], [93.0, 23.0], [93.0, 0.0]];
        let mirrored = warped(&PLATE, Some(&template), 1.0, [94, 24], FRAME);
        assert_eq!(mirrored, Err(CornersError::Anticlockwise));
        for [x, y] in [[1000.0, 0.0], [-200.0, 0.0], [0.0, 500.0], [0.0, -200.0], [1e9, 0.0], [0.0, -1e30]] {
            let moved = PLATE.map(|[u, v]| [u + x, v + y]);
            // So far away that all points are one.
            let far = y == -1e30;
            assert_eq!(of(&moved), if far { Err(CornersError::NotConvex) } else { Ok(None) }, "{x} {y}");
        }
        // The upright boxes around both overlap the frame, but one of them passes the frame's corner.
        let diagonal =
            |x: f64| [[-60.0, 40.0], [40.0, -60.0], [45.0, -55.0], [-55.0, 45.0]].map(|[u, v]| [u + x, v]);
        assert_eq!(of(&diagonal(0.0)), Ok(None));
        assert!(matches!(of(&diagonal(20.0)), Ok(Some(_))));
    }
}
