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
                Ok(Self {
                    classes: classes.clone(),
                    masks: masks.clone(),
                    kinds: all - 1,
                    size: [height, width],
                    shares: Vec::new(),
                    mask: Vec::new(),
                })
            }
            _ => Err(SegmentError::Queries { classes: classes.to_string(), masks: masks.to_string() }),
        }
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
        for (view, announced) in [(classes, &self.classes), (masks, &self.masks)] {
            let same = view.dims.iter().copied().map(Some).eq(announced.dims.iter().copied());
            if view.ty != announced.ty || !same {
                let got = TensorDesc::fixed(view.name, view.ty, &view.dims).to_string();
                return Err(SegmentError::Changed { got, declared: announced.to_string() });
            }
        }
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
            let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            shares.clear();
            shares.extend(logits.iter().map(|logit| (logit - most).exp()));
            let sum: f32 = shares.iter().sum();
            mask.clear();
            mask.extend(values.iter().map(|value| 1.0 / (1.0 + (-value).exp())));
            for (share, scores) in shares.iter().zip(scores.chunks_exact_mut(cells)) {
                let share = share / sum;
                for (score, value) in scores.iter_mut().zip(mask.iter()) {
                    *score += share * value;
                }
            }
        }
        Ok(non_finite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
