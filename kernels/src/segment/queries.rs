//! Masks of models that give each of a number of queries a class and a mask, as MaskFormer, Mask2Former and OneFormer: a query's mask
//! counts for a class as much as the query is of that class.
//!
//! Cheng et al., "Per-Pixel Classification is Not All You Need for Semantic Segmentation" (NeurIPS 2021), section 3.4, as
//! transformers' `post_process_semantic_segmentation` has it: with `p` the softmax of a query's classes without the last one,
//! "no object", and `m` the sigmoid of its mask, a cell's score of class `c` is the sum of `p[q, c] * m[q]` over all queries. Here it
//! is computed at the masks' own size, where transformers first enlarges them to 384x384.

use super::SegmentError;
use crate::tensor::{TensorDesc, TensorType, TensorView};

/// Makes the scores of classes of one model's outputs.
#[derive(Clone, Debug)]
pub struct ClassQueries {
    classes: TensorDesc,
    masks: TensorDesc,
    /// Without "no object".
    kinds: usize,
    /// Height and width of the masks.
    size: [usize; 2],
    /// The shares of a frame's queries in the classes.
    shares: Vec<f32>,
    /// The mask of a query.
    mask: Vec<f32>,
}

impl ClassQueries {
    /// Of the logits `classes`, `[1, Q, C + 1]`, and `masks`, `[1, Q, H, W]`: float16 or float32, all dimensions known.
    ///
    /// # Errors
    /// [`SegmentError::Queries`] for others.
    pub fn new(classes: &TensorDesc, masks: &TensorDesc) -> Result<Self, SegmentError> {
        let (kinds, size) = kinds_and_size(classes, masks)?;
        Ok(Self {
            classes: classes.clone(),
            masks: masks.clone(),
            kinds,
            size,
            shares: Vec::new(),
            mask: Vec::new(),
        })
    }

    /// What [`ClassQueries::run`] makes: `[1, C, H, W]`, float32, called as the masks are.
    pub fn scores(&self) -> TensorDesc {
        let [height, width] = self.size;
        TensorDesc::fixed(&self.masks.name, TensorType::Float32, &[1, self.kinds, height, width])
    }

    /// Writes the scores of a frame's cells. A query with a number that is not finite counts for nothing; returns how many such
    /// queries there are.
    ///
    /// # Errors
    /// [`SegmentError::Changed`] where the tensors are not those announced.
    pub fn run(
        &mut self,
        classes: &TensorView<'_>,
        masks: &TensorView<'_>,
        scores: &mut Vec<f32>,
    ) -> Result<usize, SegmentError> {
        check(classes, &self.classes)?;
        check(masks, &self.masks)?;
        let Self { kinds, size: [height, width], shares, mask, .. } = self;
        let cells = *height * *width;
        let (classes, masks) = (classes.to_f32(), masks.to_f32());
        scores.clear();
        scores.resize(*kinds * cells, 0.0);
        let mut non_finite = 0;
        for (logits, values) in classes.chunks_exact(*kinds + 1).zip(masks.chunks_exact(cells)) {
            if !logits.iter().chain(values).all(|v| v.is_finite()) {
                non_finite += 1;
                continue;
            }
            softmax(logits, shares);
            mask.clear();
            mask.extend(values.iter().copied().map(sigmoid));
            for (share, scores) in shares.iter().zip(scores.chunks_exact_mut(cells)) {
                for (score, value) in scores.iter_mut().zip(mask.iter()) {
                    *score += share * value;
                }
            }
        }
        Ok(non_finite)
    }
}

/// How many classes there are without "no object", and height and width of the masks.
fn kinds_and_size(classes: &TensorDesc, masks: &TensorDesc) -> Result<(usize, [usize; 2]), SegmentError> {
    let is_float = |t: &TensorDesc| matches!(t.ty, TensorType::Float32 | TensorType::Float16);
    let dims = |t: &TensorDesc| t.dims.iter().copied().collect::<Option<Vec<_>>>();
    match (dims(classes).as_deref(), dims(masks).as_deref()) {
        (Some(&[1, queries, all]), Some(&[1, of, height, width]))
            if of == queries
                && all > 1
                && ![queries, height, width].contains(&0)
                && is_float(classes)
                && is_float(masks) =>
        {
            Ok((all - 1, [height, width]))
        }
        _ => Err(SegmentError::Queries { classes: classes.to_string(), masks: masks.to_string() }),
    }
}

/// Whether a tensor is the one that was announced.
fn check(view: &TensorView<'_>, announced: &TensorDesc) -> Result<(), SegmentError> {
    let same = view.dims.iter().copied().map(Some).eq(announced.dims.iter().copied());
    if view.ty == announced.ty && same {
        return Ok(());
    }
    let got = TensorDesc::fixed(view.name, view.ty, &view.dims).to_string();
    Err(SegmentError::Changed { got, declared: announced.to_string() })
}

/// The shares of a query in the classes, and in "no object", the last.
fn softmax(logits: &[f32], shares: &mut Vec<f32>) {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    shares.clear();
    shares.extend(logits.iter().map(|logit| (logit - most).exp()));
    let sum: f32 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= sum);
}

fn sigmoid(value: f32) -> f32 {
    1.0 / (1.0 + (-value).exp())
}

/// Finds the objects among one model's queries, as transformers' `post_process_instance_segmentation` does: of all pairs of a query and a
/// class the best ones, as many as there are queries; an object's score is how much the query is of the class (softmax), times the mean
/// of its mask (sigmoid) where that is above 0.5. Here it is computed at the masks' own size, where transformers first enlarges them to
/// 384x384.
#[derive(Clone, Debug)]
pub struct ObjectQueries {
    classes: TensorDesc,
    masks: TensorDesc,
    kinds: usize,
    size: [usize; 2],
    confidence: f32,
}

/// An object that a query stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryObject {
    /// The number of the query, and so of its mask.
    pub query: usize,
    /// The number of its class.
    pub class: usize,
    /// 0 to 1.
    pub score: f32,
    /// The cells that hold its mask: the first column and row, and how many of each.
    pub cells: [usize; 4],
}

impl ObjectQueries {
    /// Of the same outputs as [`ClassQueries::new`]; objects with a lower score than `confidence` are left out.
    ///
    /// # Errors
    /// [`SegmentError::Queries`] for others.
    pub fn new(classes: &TensorDesc, masks: &TensorDesc, confidence: f32) -> Result<Self, SegmentError> {
        let (kinds, size) = kinds_and_size(classes, masks)?;
        Ok(Self { classes: classes.clone(), masks: masks.clone(), kinds, size, confidence })
    }

    /// Width and height of the masks, in cells.
    pub fn size(&self) -> [usize; 2] {
        let [height, width] = self.size;
        [width, height]
    }

    /// The objects of a frame, the best first, and how many queries have a number that is not finite, which count for nothing.
    ///
    /// # Errors
    /// [`SegmentError::Changed`] where the tensors are not those announced.
    pub fn run(
        &self,
        classes: &TensorView<'_>,
        masks: &TensorView<'_>,
    ) -> Result<(Vec<QueryObject>, usize), SegmentError> {
        check(classes, &self.classes)?;
        check(masks, &self.masks)?;
        let [height, width] = self.size;
        let (classes, masks) = (classes.to_f32(), masks.to_f32());
        let rows: Vec<_> = masks.chunks_exact(height * width).collect();
        let (mut pairs, mut shares, mut non_finite) = (Vec::new(), Vec::new(), 0);
        for (query, logits) in classes.chunks_exact(self.kinds + 1).enumerate() {
            let mask = rows.get(query).copied().unwrap_or_default();
            if !logits.iter().chain(mask).all(|value| value.is_finite()) {
                non_finite += 1;
                continue;
            }
            softmax(logits, &mut shares);
            pairs.extend(
                shares.iter().take(self.kinds).enumerate().map(|(class, share)| (*share, query, class)),
            );
        }
        pairs.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        pairs.truncate(rows.len());
        let found = pairs.into_iter().filter_map(|(share, query, class)| {
            let (mean, cells) = seen(rows.get(query)?, width)?;
            Some(QueryObject { query, class, score: share * mean, cells })
        });
        let mut found: Vec<_> = found.filter(|object| object.score >= self.confidence).collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok((found, non_finite))
    }
}

/// The mean of a mask where it is above 0.5, and the cells that hold these; `None` where it is nowhere.
fn seen(mask: &[f32], width: usize) -> Option<(f32, [usize; 4])> {
    let (mut sum, mut count) = (0.0, 0.0);
    let [mut left, mut top, mut right, mut bottom] = [usize::MAX, usize::MAX, 0, 0];
    for (index, value) in mask.iter().enumerate().filter(|(_, value)| **value > 0.0) {
        let (x, y) = (index % width, index / width);
        (left, top, right, bottom) = (left.min(x), top.min(y), right.max(x), bottom.max(y));
        sum += sigmoid(*value);
        count += 1.0;
    }
    // What transformers adds to the count.
    (left <= right).then(|| (sum / (count + 1e-6), [left, top, right - left + 1, bottom - top + 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_the_best_pairs_of_query_and_class_whose_masks_are_seen() {
        // Two classes and none; masks of 3x2 cells.
        let classes: Vec<f32> = vec![
            2.0, 0.0, 0.0, // the first class
            0.0, 0.0, 9.0, // none
            1.0, 1.0, 0.0, // either
        ];
        let masks: Vec<f32> =
            [[-1.0, 2.0, 1.0, -1.0, 3.0, -1.0], [1.0; 6], [-1.0, -1.0, -1.0, 4.0, -1.0, -1.0]].concat();
        let descs = ["c:float32:1x3x3", "m:float32:1x3x2x3"].map(|text| text.parse::<TensorDesc>().unwrap());
        let run = |confidence, classes: &[f32], masks: &[f32]| {
            let (class_dims, mask_dims) = ([1, 3, 3], [1, 3, 2, 3]);
            let classes = view(&descs[0], &class_dims, bytemuck::cast_slice(classes));
            let masks = view(&descs[1], &mask_dims, bytemuck::cast_slice(masks));
            ObjectQueries::new(&descs[0], &descs[1], confidence).unwrap().run(&classes, &masks).unwrap()
        };
        let (found, non_finite) = run(0.3, &classes, &masks);
        let exp = |v: f64| v.exp();
        let sigmoid = |v: f64| 1.0 / (1.0 + exp(-v));
        let first = exp(2.0) / (exp(2.0) + 2.0) * (sigmoid(2.0) + sigmoid(1.0) + sigmoid(3.0)) / 3.0;
        let either = exp(1.0) / (2.0 * exp(1.0) + 1.0) * sigmoid(4.0);
        let wanted =
            [(0, 0, first, [1, 0, 2, 2]), (2, 0, either, [0, 1, 1, 1]), (2, 1, either, [0, 1, 1, 1])];
        assert_eq!(non_finite, 0);
        assert_eq!(found.len(), 3, "{found:?}");
        for (object, (query, class, score, cells)) in found.iter().zip(wanted) {
            assert_eq!((object.query, object.class, object.cells), (query, class, cells));
            assert!((f64::from(object.score) - score).abs() < 1e-5, "{object:?}, not {score}");
        }
        assert_eq!(run(0.5, &classes, &masks).0.len(), 1);
        // A mask that is seen nowhere is no object's.
        assert!(run(0.0, &classes, &[-1.0; 18]).0.is_empty());
        let mut spoilt = masks.clone();
        spoilt[0] = f32::INFINITY;
        let (found, non_finite) = run(0.3, &classes, &spoilt);
        assert!(non_finite == 1 && found.iter().all(|object| object.query == 2), "{found:?}");
    }

    fn view<'a>(desc: &'a TensorDesc, dims: &'a [usize], bytes: &'a [u8]) -> TensorView<'a> {
        TensorView::new(&desc.name, desc.ty, dims, bytes).unwrap()
    }

    #[test]
    fn a_cells_score_is_the_sum_of_its_queries_shares_as_in_float64() {
        let (queries, kinds, height, width) = (3, 4, 2, 5);
        let number = |i: usize| ((i * 37 + 11) % 23) as f32 / 3.0 - 3.5;
        let classes: Vec<f32> = (0..queries * (kinds + 1)).map(number).collect();
        let masks: Vec<f32> = (0..queries * height * width).map(|i| number(i + 5)).collect();
        let descs = [
            TensorDesc::fixed("classes", TensorType::Float32, &[1, queries, kinds + 1]),
            TensorDesc::fixed("masks", TensorType::Float32, &[1, queries, height, width]),
        ];
        let mut made = ClassQueries::new(&descs[0], &descs[1]).unwrap();
        assert_eq!(made.scores().to_string(), "masks:float32:1x4x2x5");
        let mut scores = Vec::new();
        let bytes = [&classes, &masks].map(|values| bytemuck::cast_slice::<f32, u8>(values));
        let (class_dims, mask_dims) = ([1, queries, kinds + 1], [1, queries, height, width]);
        let views = (view(&descs[0], &class_dims, bytes[0]), view(&descs[1], &mask_dims, bytes[1]));
        assert_eq!(made.run(&views.0, &views.1, &mut scores), Ok(0));
        for kind in 0..kinds {
            for cell in 0..height * width {
                let of = |query: usize| {
                    let logits = &classes[query * (kinds + 1)..][..kinds + 1];
                    let sum: f64 = logits.iter().map(|v| f64::from(*v).exp()).sum();
                    let mask = f64::from(masks[query * height * width + cell]);
                    f64::from(logits[kind]).exp() / sum / (1.0 + (-mask).exp())
                };
                let wanted: f64 = (0..queries).map(of).sum();
                let got = f64::from(scores[kind * height * width + cell]);
                // Sums of three products in float32.
                assert!((got - wanted).abs() < 1e-6, "{kind} {cell}: {got}, not {wanted}");
            }
        }
        let mut spoilt = classes.clone();
        spoilt[1] = f32::NAN;
        let bytes = bytemuck::cast_slice::<f32, u8>(&spoilt);
        let all: f32 = scores.iter().sum();
        assert_eq!(made.run(&view(&descs[0], &class_dims, bytes), &views.1, &mut scores), Ok(1));
        assert!(scores.iter().all(|v| v.is_finite()) && scores.iter().sum::<f32>() < all);
    }

    #[test]
    fn outputs_of_other_shapes_are_named() {
        let desc = |text: &str| text.parse::<TensorDesc>().unwrap();
        for (classes, masks) in [
            ("c:float32:1x100x134", "m:float32:1x50x96x96"),
            ("c:float32:1x100x1", "m:float32:1x100x96x96"),
            ("c:float32:1x100x134", "m:float32:1x100x?x96"),
            ("c:int32:1x100x134", "m:float32:1x100x96x96"),
        ] {
            let error = ClassQueries::new(&desc(classes), &desc(masks)).unwrap_err().to_string();
            assert!(error.contains(classes) && error.contains(masks), "{error}");
        }
    }
}
