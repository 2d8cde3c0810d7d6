//! Objects that are like nobody in the gallery, collected by number.

use super::vector::{dot, unit};

/// Embeddings that are kept of one, to be named later.
const MOST_KEPT: usize = 8;
/// An embedding that is more similar than that to one that is kept says nothing new.
const ALIKE: f32 = 0.95;

/// Unknown objects, each with a number that no other gets: from 1.
#[derive(Clone, Debug, Default)]
pub struct Unknowns {
    /// How many there may be.
    most: usize,
    length: usize,
    numbers: Vec<u64>,
    /// The sum of each one's embeddings.
    sums: Vec<Vec<f64>>,
    /// The sums' directions, as rows of length 1.
    centres: Vec<f32>,
    /// Rows of those that are kept of each.
    kept: Vec<Vec<f32>>,
    next: u64,
    changes: u64,
    left_out: u64,
}

/// Why an unknown cannot be taken over from an earlier collection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum UnknownsError {
    #[error(
        "the embeddings of unknown-{number} have {found} numbers, and those before have {wanted}. They were collected with several models: remove the file"
    )]
    Length { number: u64, found: usize, wanted: usize },
    #[error("unknown-{0} has no embedding with a direction. Remove it, or the file")]
    NoDirection(u64),
    #[error("unknown-{0} is there twice. Remove the file")]
    Twice(u64),
}

impl Unknowns {
    /// None yet, and at most that many.
    pub fn new(most: usize) -> Self {
        Self { most, next: 1, ..Self::default() }
    }

    /// Takes over one that was collected before, with what was kept of it: rows of `length`.
    ///
    /// # Errors
    /// [`UnknownsError`].
    pub fn restore(&mut self, number: u64, length: usize, values: &[f32]) -> Result<(), UnknownsError> {
        if self.numbers.contains(&number) {
            return Err(UnknownsError::Twice(number));
        }
        if !self.numbers.is_empty() && length != self.length {
            return Err(UnknownsError::Length { number, found: length, wanted: self.length });
        }
        let rows = || values.chunks_exact(length.max(1)).filter_map(unit);
        let Some(first) = rows().next() else { return Err(UnknownsError::NoDirection(number)) };
        self.insert(number, &first);
        rows().skip(1).for_each(|row| self.learn(number, &row));
        self.changes = 0;
        Ok(())
    }

    /// How many numbers an embedding has; `None` before there is one.
    pub fn length(&self) -> Option<usize> {
        (!self.numbers.is_empty()).then_some(self.length)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// How often one got no number because there were as many as there may be.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Counts what has been collected: it is the same as long as nothing was.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The one that an embedding of length 1 is most similar to, and how similar.
    pub fn nearest(&self, embedding: &[f32]) -> Option<(u64, f32)> {
        if embedding.len() != self.length {
            return None;
        }
        let scores = self.centres.chunks_exact(self.length.max(1)).map(|centre| dot(centre, embedding));
        let scored = self.numbers.iter().copied().zip(scores.map(|score| score.clamp(-1.0, 1.0)));
        scored.reduce(|best, one| if one.1 > best.1 { one } else { best })
    }

    /// How similar that one and an embedding of length 1 are.
    pub fn similarity(&self, number: u64, embedding: &[f32]) -> Option<f32> {
        let at = self.place(number).filter(|_| embedding.len() == self.length)?;
        let centre = self.centres.get(at * self.length..(at + 1) * self.length)?;
        Some(dot(centre, embedding).clamp(-1.0, 1.0))
    }

    /// Gives a new one a number, with its first embedding, of length 1. `None` where there are as many as there may be, or its
    /// embedding is of another model.
    pub fn begin(&mut self, embedding: &[f32]) -> Option<u64> {
        if self.numbers.len() >= self.most {
            // None at all is not few.
            self.left_out += u64::from(self.most > 0);
            return None;
        }
        if embedding.is_empty() || self.length().is_some_and(|length| length != embedding.len()) {
            return None;
        }
        let number = self.next;
        self.insert(number, embedding);
        Some(number)
    }

    fn insert(&mut self, number: u64, embedding: &[f32]) {
        self.length = embedding.len();
        self.numbers.push(number);
        self.sums.push(embedding.iter().map(|v| f64::from(*v)).collect());
        self.centres.extend(embedding);
        self.kept.push(embedding.to_vec());
        self.next = self.next.max(number.saturating_add(1));
        self.changes += 1;
    }

    /// Takes in another embedding of that one, of length 1.
    pub fn learn(&mut self, number: u64, embedding: &[f32]) {
        let length = self.length;
        let Some(at) = self.place(number).filter(|_| embedding.len() == length) else { return };
        let (Some(sum), Some(kept), Some(centre)) = (
            self.sums.get_mut(at),
            self.kept.get_mut(at),
            self.centres.get_mut(at * length..(at + 1) * length),
        ) else {
            return;
        };
        sum.iter_mut().zip(embedding).for_each(|(sum, v)| *sum += f64::from(*v));
        let size = sum.iter().map(|v| v * v).sum::<f64>().sqrt();
        if size > 0.0 {
            centre.iter_mut().zip(&*sum).for_each(|(centre, sum)| *centre = (sum / size) as f32);
        }
        let says_something = kept.len() < MOST_KEPT * length
            && kept.chunks_exact(length).all(|row| dot(row, embedding) < ALIKE);
        if says_something {
            kept.extend(embedding);
            self.changes += 1;
        }
    }

    /// What is kept of each: its number, and rows of length 1, those that differ most from each other.
    pub fn collected(&self) -> impl Iterator<Item = (u64, &[f32])> {
        self.numbers.iter().copied().zip(self.kept.iter().map(Vec::as_slice))
    }

    fn place(&self, number: u64) -> Option<usize> {
        // Numbers rise, but for those of a file that somebody has written.
        self.numbers.iter().position(|one| *one == number)
    }
}
