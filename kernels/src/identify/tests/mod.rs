//! Whom embeddings are like, by a plain reference in float64.

mod collecting;
mod following;
mod matching;

use super::{Gallery, IdentifyParams, unit};

/// Numbers that look random and are the same at each run, in -1..1.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        // Knuth's constants (The Art of Computer Programming 2, MMIX).
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 40) as f32) / (1_u64 << 23) as f32 - 1.0
    }

    fn vector(&mut self, length: usize) -> Vec<f32> {
        (0..length).map(|_| self.next()).collect()
    }
}

/// A unit vector in the plane, at this angle in degrees.
fn at(degrees: f64) -> Vec<f32> {
    let (sin, cos) = degrees.to_radians().sin_cos();
    unit(&[cos as f32, sin as f32]).unwrap()
}

/// Names with pictures at these angles in degrees.
fn gallery(names: &[(&str, &[f64])]) -> Gallery {
    let of = |(name, degrees): &(&str, &[f64])| {
        ((*name).to_owned(), 2, degrees.iter().flat_map(|degrees| at(*degrees)).collect())
    };
    Gallery::new(names.iter().map(of)).unwrap()
}

fn params(threshold: f64, margin: f64) -> IdentifyParams {
    IdentifyParams { threshold, margin, ..IdentifyParams::default() }
}
