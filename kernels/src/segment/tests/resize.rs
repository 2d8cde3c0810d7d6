//! Masks taken to the frame, against the geometry in f64.

use super::super::{Resize, SegmentError};
use super::Random;
use crate::geometry::Affine;

fn taken(resize: &Resize, mask: &[u8]) -> Vec<u8> {
    let [w, h] = resize.frame;
    let stride = w + 3;
    let mut out = vec![0xee; stride * h - 2];
    resize.run(mask, &mut out, stride).unwrap();
    let rows = out.chunks(stride);
    assert!(rows.clone().all(|row| row[w..].iter().all(|b| *b == 0xee)), "between the rows");
    rows.flat_map(|row| row[..w].to_vec()).collect()
}

/// Where the centre of a frame's pixel lies in the mask, in cells.
fn place(resize: &Resize, x: usize, y: usize) -> [f64; 2] {
    let Affine { scale, skew, offset } = resize.to_frame;
    let (x, y) = (x as f64 + 0.5 - offset[0], y as f64 + 0.5 - offset[1]);
    let determinant = scale[0] * scale[1] - skew[0] * skew[1];
    let tensor = [(scale[1] * x - skew[0] * y) / determinant, (scale[0] * y - skew[1] * x) / determinant];
    [0, 1].map(|i| tensor[i] * resize.from[i] as f64 / resize.input[i] as f64)
}

/// Maps of many kinds: reductions, letterboxes, crops, turns.
fn every_map(mut check: impl FnMut(&Resize)) {
    let turn = |angle: f64, s: f64| Affine {
        scale: [s * angle.cos(), s * angle.cos()],
        skew: [-s * angle.sin(), s * angle.sin()],
        offset: [9.3, -4.1],
    };
    for (from, input, frame) in
        [([1, 1], [1, 1], [1, 1]), ([9, 17], [72, 136], [65, 33]), ([65, 9], [130, 18], [17, 65])]
    {
        for to_frame in [
            Affine::IDENTITY,
            Affine::upright([0.7, 0.45], [0.0, 0.0]),
            Affine::upright([0.31, 0.31], [-4.2, 3.3]),
            Affine::upright([1.9, 2.3], [5.5, -20.25]),
            Affine::upright([-0.5, 0.5], [33.0, 0.1]),
            turn(0.4, 0.6),
            turn(std::f64::consts::FRAC_PI_2, 0.5),
        ] {
            for soft in [false, true] {
                check(&Resize { from, input, to_frame, frame, soft });
            }
        }
    }
}

#[test]
fn every_pixel_is_looked_up_at_its_centre() {
    let mut random = Random::new(3);
    every_map(|resize| {
        let [w, h] = resize.from;
        let mask: Vec<u8> = (0..w * h).map(|_| random.below(256) as u8).collect();
        let out = taken(resize, &mask);
        for (i, got) in out.iter().enumerate() {
            let [u, v] = place(resize, i % resize.frame[0], i / resize.frame[0]);
            // Places are exact to 1e-5 cells, and an edge that near may go either way.
            let edge = |p: f64| (p - p.round()).abs() < 2e-5;
            if edge(u) || edge(v) {
                continue;
            }
            let inside = u > 0.0 && v > 0.0 && u < w as f64 && v < h as f64;
            let cell = |x: f64, y: f64| {
                let (x, y) = (x.clamp(0.0, w as f64 - 1.0), y.clamp(0.0, h as f64 - 1.0));
                f64::from(mask[y as usize * w + x as usize])
            };
            let wanted = match (inside, resize.soft) {
                (false, _) => 0.0,
                (true, false) => cell(u.floor(), v.floor()),
                (true, true) => {
                    let (x, y) = ((u - 0.5).floor(), (v - 0.5).floor());
                    let (fx, fy) = (u - 0.5 - x, v - 0.5 - y);
                    let row = |y: f64| cell(x, y) * (1.0 - fx) + cell(x + 1.0, y) * fx;
                    row(y) * (1.0 - fy) + row(y + 1.0) * fy
                }
            };
            // Half a level for rounding, and 255 * 2^-11 an axis for the weights.
            let near = if resize.soft { 0.5 + 2.0 * 255.0 / 2048.0 } else { 0.0 };
            assert!((f64::from(*got) - wanted).abs() <= near, "{resize:?} pixel {i}: {got} {wanted}");
        }
    });
}

#[test]
fn an_edge_between_cells_belongs_to_the_later_one() {
    // 2 cells to 3 pixels: the second centre lies on the edge; so does every third.
    let resize = Resize {
        from: [200, 1],
        input: [400, 1],
        to_frame: Affine::upright([0.75, 1.0], [0.0, 0.0]),
        frame: [300, 1],
        soft: false,
    };
    let mask: Vec<u8> = (0..200).map(|i| i as u8).collect();
    let wanted: Vec<u8> = (0..300u32).map(|x| ((2 * x + 1) / 3) as u8).collect();
    assert_eq!(taken(&resize, &mask), wanted);
}

#[test]
fn what_cannot_be_mapped_or_does_not_fit_is_refused_in_a_sentence() {
    let good = Resize { from: [4, 2], input: [8, 4], to_frame: Affine::IDENTITY, frame: [8, 4], soft: false };
    let run = |resize: Resize, mask: usize, out: usize, stride| {
        resize.run(&vec![0; mask], &mut vec![0; out], stride).map_err(|error| error.to_string())
    };
    assert_eq!(run(good, 8, 3 * 10 + 8, 10), Ok(()));
    for (mask, out, stride) in [(7, 40, 10), (8, 37, 10), (8, 40, 7), (8, 0, 10), (8, 32, usize::MAX)] {
        let text = run(good, mask, out, stride).unwrap_err();
        assert!(text.contains("make them fit each other"), "{text}");
    }
    for bad in [
        Resize { to_frame: Affine::upright([0.0, 1.0], [0.0; 2]), ..good },
        Resize { to_frame: Affine::upright([1.0, 1.0], [f64::NAN, 0.0]), ..good },
        Resize { to_frame: Affine::upright([1e-9, 1.0], [0.0; 2]), ..good },
        Resize { input: [0, 4], ..good },
        Resize { frame: [8, 40_000], ..good },
    ] {
        let text = run(bad, 8, 38, 10).unwrap_err();
        assert!(text.contains("cannot be taken to a frame"), "{text}");
        assert!(matches!(bad.run(&[0; 8], &mut [0; 38], 10), Err(SegmentError::Map { .. })));
    }
}
