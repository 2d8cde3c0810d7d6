//! Prior boxes, which some detectors' boxes are counted from (Liu et al., "SSD", 2016, section 2.2).

use super::DetectError;

/// The boxes around the centre of each cell, in lists of one for each stride, all lengths in tensor pixels.
///
/// A cell has for each minimum size a square of it, with a maximum size one of the root of both, and for each aspect ratio two
/// boxes of the same area: one that is wider by it than high, then one that is higher by it than wide.
#[derive(Clone, Debug, PartialEq)]
pub struct Priors {
    /// Sides of squares.
    pub min_sizes: Vec<Vec<f32>>,
    /// One for each minimum size; empty for none.
    pub max_sizes: Vec<Vec<f32>>,
    /// Aspect ratios other than 1; empty for none.
    pub aspect_ratios: Vec<Vec<f32>>,
    /// Factors on the offsets of the centre, and on the logarithms of the size.
    pub variances: [f32; 2],
    /// Whether centre and size are clamped to the tensor.
    pub clip: bool,
}

/// The factors that nearly all models have.
pub const VARIANCES: [f32; 2] = [0.1, 0.2];

impl Priors {
    /// Those of RetinaFace (Deng et al., 2019, in the implementation for PyTorch), for the strides 8, 16 and 32.
    pub fn retinaface() -> Self {
        let min_sizes = vec![vec![16.0, 32.0], vec![64.0, 128.0], vec![256.0, 512.0]];
        Self { min_sizes, max_sizes: vec![], aspect_ratios: vec![], variances: VARIANCES, clip: false }
    }

    /// Refuses lists whose length is not that of the strides, and lengths that are none.
    pub(super) fn validate(&self, strides: usize) -> Result<(), DetectError> {
        let bad = |wanted: String| Err(DetectError::Hint { hint: "priors", wanted });
        let lists = [
            ("min-sizes", &self.min_sizes),
            ("max-sizes", &self.max_sizes),
            ("aspect-ratios", &self.aspect_ratios),
        ];
        for (name, lists) in lists {
            if lists.len() != strides && (name == "min-sizes" || !lists.is_empty()) {
                let count = lists.len();
                return bad(format!(
                    "must have as many lists as there are strides: {name} has {count}, strides has {strides}"
                ));
            }
            if lists.iter().flatten().any(|v| !v.is_finite() || *v <= 0.0) {
                return bad(format!("must have numbers above 0 in {name}"));
            }
        }
        if self.min_sizes.iter().any(Vec::is_empty) {
            return bad("must have at least one size for each stride in min-sizes".into());
        }
        let mut pairs = self.min_sizes.iter().zip(&self.max_sizes);
        if pairs.any(|(min, max)| min.len() != max.len()) {
            return bad("must have as many sizes in each list of max-sizes as in that of min-sizes".into());
        }
        if self.variances.iter().any(|v| !v.is_finite() || *v <= 0.0) {
            return bad("must have two numbers above 0 in variances".into());
        }
        Ok(())
    }

    /// Centre x and y, width and height of every prior box, stride by stride, row by row, cell by cell.
    pub(super) fn boxes(&self, input: [usize; 2], strides: &[usize]) -> Vec<[f32; 4]> {
        let mut boxes = Vec::new();
        let limits = input.map(|side| side as f32);
        for (level, &stride) in strides.iter().enumerate() {
            let sizes = self.sizes(level);
            for row in 0..input[1].div_ceil(stride) {
                for column in 0..input[0].div_ceil(stride) {
                    let [x, y] = [column, row].map(|n| (n as f32 + 0.5) * stride as f32);
                    boxes.extend(sizes.iter().map(|[w, h]| {
                        let prior = [x, y, *w, *h];
                        if !self.clip {
                            return prior;
                        }
                        [0, 1, 2, 3].map(|i| prior[i].min(limits[i % 2]))
                    }));
                }
            }
        }
        boxes
    }

    /// Widths and heights of a cell's boxes.
    fn sizes(&self, level: usize) -> Vec<[f32; 2]> {
        let of = |lists: &[Vec<f32>]| lists.get(level).cloned().unwrap_or_default();
        let (max_sizes, ratios) = (of(&self.max_sizes), of(&self.aspect_ratios));
        let mut sizes = Vec::new();
        for (i, min) in of(&self.min_sizes).into_iter().enumerate() {
            sizes.push([min; 2]);
            sizes.extend(max_sizes.get(i).map(|max| [(min * max).sqrt(); 2]));
            for root in ratios.iter().map(|ratio| ratio.sqrt()) {
                sizes.extend([[min * root, min / root], [min / root, min * root]]);
            }
        }
        sizes
    }
}
