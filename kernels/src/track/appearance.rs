//! The appearance of objects: embeddings, which are close for similar appearances.

/// The embeddings of a frame's detections, from a model or from [`crate::appearance`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Embeddings<'a> {
    /// Row-major `[detections, length]`. A row that is cut off, is zero, or has a value that is not finite is ignored.
    pub values: &'a [f32],
    /// Values of an embedding. An object's appearance is forgotten when this changes.
    pub length: usize,
}

impl<'a> Embeddings<'a> {
    /// The embedding of a detection; empty where there is none.
    pub(super) fn of(&self, index: usize) -> &'a [f32] {
        self.values.get(index * self.length..(index + 1) * self.length).unwrap_or_default()
    }
}

/// The weight of an object's old appearance against a new embedding (JDE's and BoT-SORT's alpha).
const MEMORY: f64 = 0.9;

/// An object's appearance: the mean of its embeddings, each of length 1; later ones have more weight.
#[derive(Clone, Debug, Default)]
pub(super) struct Appearance(Vec<f32>);

impl Appearance {
    /// Takes in an embedding, if it is valid.
    pub(super) fn take(&mut self, embedding: &[f32]) {
        let Some(length) = length(embedding) else { return };
        let new = embedding.iter().map(|value| f64::from(*value) / length);
        if self.0.len() == embedding.len() {
            for (value, new) in self.0.iter_mut().zip(new) {
                *value = (MEMORY * f64::from(*value) + (1.0 - MEMORY) * new) as f32;
            }
        } else {
            self.0 = new.map(|value| value as f32).collect();
        }
    }

    /// The cosine of the angle between it and an embedding, -1 to 1; `None` where one of them is missing.
    pub(super) fn similarity(&self, embedding: &[f32]) -> Option<f32> {
        cosine(embedding, &self.0).map(|cosine| cosine as f32)
    }
}

/// The cosine of the angle between two embeddings, -1 to 1; `None` where one is missing or invalid, or their lengths differ.
pub(super) fn cosine(a: &[f32], b: &[f32]) -> Option<f64> {
    if a.len() != b.len() {
        return None;
    }
    let lengths = length(a)? * length(b)?;
    Some((dot(a, b) / lengths).clamp(-1.0, 1.0))
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// The length of a vector; `None` for an invalid embedding.
fn length(embedding: &[f32]) -> Option<f64> {
    let length = dot(embedding, embedding).sqrt();
    (length.is_finite() && length > 0.0).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarity_is_the_cosine_and_what_was_seen_before_fades() {
        let mut appearance = Appearance::default();
        assert_eq!(appearance.similarity(&[1.0, 0.0]), None);
        appearance.take(&[3.0, 0.0]);
        let is = |appearance: &Appearance, embedding: &[f32], wanted: f32| {
            let got = appearance.similarity(embedding).unwrap();
            assert!((got - wanted).abs() < 1e-6, "{got} is not {wanted}");
        };
        is(&appearance, &[0.5, 0.0], 1.0);
        is(&appearance, &[0.0, 2.0], 0.0);
        is(&appearance, &[-1.0, 0.0], -1.0);
        is(&appearance, &[1.0, 1.0], 0.5f32.sqrt());
        appearance.take(&[0.0, 7.0]);
        // 0.9 of the one and 0.1 of the other.
        is(&appearance, &[1.0, 0.0], 0.9 / (0.81f32 + 0.01).sqrt());
        for _ in 0..100 {
            appearance.take(&[0.0, 1.0]);
        }
        assert!(appearance.similarity(&[0.0, 1.0]).unwrap() > 0.999);
    }

    #[test]
    fn what_is_no_embedding_says_nothing() {
        let mut appearance = Appearance::default();
        for none in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY, 1.0]] {
            appearance.take(none);
            assert_eq!(appearance.similarity(&[1.0, 0.0]), None);
        }
        appearance.take(&[1.0, 0.0]);
        for none in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[1.0, 0.0, 0.0]] {
            assert_eq!(appearance.similarity(none), None);
        }
        // An embedding of another model.
        appearance.take(&[1.0, 0.0, 0.0]);
        assert_eq!(
            (appearance.similarity(&[1.0, 0.0]), appearance.similarity(&[2.0, 0.0, 0.0])),
            (None, Some(1.0))
        );
        let embeddings = Embeddings { values: &[1.0, 2.0, 3.0], length: 2 };
        assert_eq!((embeddings.of(0), embeddings.of(1)), (&[1.0, 2.0][..], &[][..]));
        assert_eq!(Embeddings::default().of(5), &[] as &[f32]);
    }
}
