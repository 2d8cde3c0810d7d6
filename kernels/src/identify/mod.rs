//! Objects that are known again: whose embedding one is, by cosine similarity.
//!
//! A [`Gallery`] has names with several embeddings each, one of each picture. A new embedding is as similar to a name as to the most
//! similar of its pictures ([`Gallery::best`]). Whether that is the name, [`IdentifyParams`] decide: the similarity must reach
//! `threshold`, and be `margin` above that of every other name.
//!
//! A tracked object ([`Followed`]) has the identity of the best of its last `frames` embeddings: the one with the highest similarity to
//! any name. Embeddings of bad moments, as of a face that is turned away, are unlike every picture, and so never count more than
//! those of good ones.
//!
//! Who is like nobody in the gallery is unknown, and gets a number ([`Unknowns`]). An unknown is represented by the mean of its
//! embeddings so far, and is known again by the same threshold.
//!
//! Embeddings are compared as vectors of length 1 ([`unit`]), in float32.

mod followed;
mod gallery;
mod unknowns;
mod vector;

#[cfg(test)]
mod tests;

pub use followed::{Followed, Identity};
pub use gallery::{Gallery, GalleryError, Match};
pub use unknowns::{Unknowns, UnknownsError};
pub use vector::unit;

/// When two embeddings are of the same object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdentifyParams {
    /// The least cosine similarity, -1 to 1.
    pub threshold: f64,
    /// How much it must be above that of every other name, 0 to 2.
    pub margin: f64,
    /// The embeddings of a track of which the best counts; at least 1.
    pub frames: usize,
    /// Embeddings of a track that are like nobody's before it gets a number as an unknown; at least 1.
    pub min_frames: u64,
}

impl Default for IdentifyParams {
    fn default() -> Self {
        Self { threshold: 0.5, margin: 0.05, frames: 10, min_frames: 3 }
    }
}

/// What cannot be used of [`IdentifyParams`]; a sentence without a subject before it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)]
pub enum IdentifyError {
    #[error(
        "threshold is {0}, and cosine similarities are -1 to 1. Set it between those that the model gives pictures of different objects and \
         of the same one, as threshold=0.5"
    )]
    Threshold(f64),
    #[error(
        "margin is {0}, and two cosine similarities are 0 to 2 apart. Set it to how much the best name must be above the second, as \
         margin=0.05"
    )]
    Margin(f64),
}

impl IdentifyParams {
    /// Checks what their types leave open.
    ///
    /// # Errors
    /// [`IdentifyError`].
    pub fn check(&self) -> Result<(), IdentifyError> {
        if !(-1.0..=1.0).contains(&self.threshold) {
            return Err(IdentifyError::Threshold(self.threshold));
        }
        if !(0.0..=2.0).contains(&self.margin) {
            return Err(IdentifyError::Margin(self.margin));
        }
        Ok(())
    }

    /// What the best match of an embedding means.
    pub fn judge(&self, best: Option<Match>) -> Verdict {
        let Some(best) = best.filter(|best| f64::from(best.score) >= self.threshold) else {
            return Verdict::Stranger;
        };
        let ahead = |second: f32| f64::from(best.score) - f64::from(second) >= self.margin;
        if best.second.is_none_or(ahead) { Verdict::Known(best) } else { Verdict::Ambiguous }
    }
}

/// What a match means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// It is this name.
    Known(Match),
    /// It is similar to several names.
    Ambiguous,
    /// It is like none.
    Stranger,
}
