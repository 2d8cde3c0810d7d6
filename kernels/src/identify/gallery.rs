//! Names, and the embeddings of their pictures.

use std::collections::{HashMap, HashSet};

use super::vector::{dot, unit};

/// Names with several embeddings each, as rows of length 1 that lie one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Gallery {
    length: usize,
    names: Vec<String>,
    /// After which row each name's rows end.
    ends: Vec<usize>,
    rows: Vec<f32>,
}

/// The name that an embedding is most similar to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    /// Its number in the gallery.
    pub name: usize,
    /// The cosine similarity to the most similar of its pictures.
    pub score: f32,
    /// That of the name after it; none in a gallery of one name.
    pub second: Option<f32>,
}

/// What a gallery cannot be made of; the end of a sentence, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum GalleryError {
    #[error("it has no names. Put at least one embedding with a name there, as scripts/gallery does")]
    Empty,
    #[error("'{0}' has no embeddings. Remove that name, or add pictures of it with scripts/gallery")]
    NoPictures(String),
    #[error("there is an embedding without a name. Give it one")]
    NoName,
    #[error("the name '{0}' is there twice. Put all its embeddings under one")]
    NameTwice(String),
    #[error(
        "the embeddings of '{name}' have {found} numbers, and those of '{first}' have {wanted}. Build all of it with one model"
    )]
    Length { name: String, found: usize, first: String, wanted: usize },
    #[error(
        "embedding {picture} of '{name}' has no direction, because it is all zeros or holds NaN or infinity. Build it again from its picture"
    )]
    NoDirection { name: String, picture: usize },
    #[error(
        "the same embedding is there under two names, '{first}' and '{second}', so neither would ever be recognised by it. Remove it from \
         the wrong one"
    )]
    TwoNames { first: String, second: String },
}

impl Gallery {
    /// Of names with their embeddings, each of `length` numbers, one after the other.
    ///
    /// # Errors
    /// [`GalleryError`].
    pub fn new(entries: impl IntoIterator<Item = (String, usize, Vec<f32>)>) -> Result<Self, GalleryError> {
        let mut gallery = Self { length: 0, names: Vec::new(), ends: Vec::new(), rows: Vec::new() };
        for (name, length, values) in entries {
            gallery.add(name, length, &values)?;
        }
        if gallery.names.is_empty() {
            return Err(GalleryError::Empty);
        }
        gallery.check_names()?;
        Ok(gallery)
    }

    fn add(&mut self, name: String, length: usize, values: &[f32]) -> Result<(), GalleryError> {
        if name.is_empty() {
            return Err(GalleryError::NoName);
        }
        if length == 0 || values.len() < length {
            return Err(GalleryError::NoPictures(name));
        }
        match self.names.first() {
            None => self.length = length,
            Some(first) if self.length != length => {
                let (first, wanted) = (first.clone(), self.length);
                return Err(GalleryError::Length { name, found: length, first, wanted });
            }
            Some(_) => (),
        }
        for (picture, row) in values.chunks_exact(length).enumerate() {
            match unit(row) {
                Some(row) => self.rows.extend(row),
                None => return Err(GalleryError::NoDirection { name, picture: picture + 1 }),
            }
        }
        self.names.push(name);
        self.ends.push(self.rows.len() / length);
        Ok(())
    }

    /// Whether each name, and each embedding, is there under one name.
    fn check_names(&self) -> Result<(), GalleryError> {
        let mut seen = HashSet::new();
        for name in &self.names {
            if !seen.insert(name.as_str()) {
                return Err(GalleryError::NameTwice(name.clone()));
            }
        }
        let mut owners: HashMap<&[u8], usize> = HashMap::with_capacity(self.pictures());
        for (name, rows) in self.rows_by_name().enumerate() {
            for row in rows.chunks_exact(self.length) {
                let first = *owners.entry(bytemuck::cast_slice(row)).or_insert(name);
                if first != name {
                    let of = |name: usize| self.names.get(name).cloned().unwrap_or_default();
                    return Err(GalleryError::TwoNames { first: of(first), second: of(name) });
                }
            }
        }
        Ok(())
    }

    /// How many numbers an embedding has.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The names, in the order of their numbers.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many embeddings there are.
    pub fn pictures(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    /// The rows of each name.
    fn rows_by_name(&self) -> impl Iterator<Item = &[f32]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let of = |(begin, end): (usize, &usize)| self.rows.get(begin * self.length..end * self.length);
        begins.zip(&self.ends).map(move |name| of(name).unwrap_or_default())
    }

    /// The name that an embedding of length 1 is most similar to; of equals the first. `None` if it has another number of numbers.
    pub fn best(&self, embedding: &[f32]) -> Option<Match> {
        if embedding.len() != self.length {
            return None;
        }
        let mut best: Option<Match> = None;
        for (name, rows) in self.rows_by_name().enumerate() {
            let similar = rows.chunks_exact(self.length).map(|row| dot(row, embedding));
            // Rounding takes the product of a vector with itself beyond 1.
            let score = similar.fold(-1.0_f32, f32::max).min(1.0);
            best = Some(match best {
                None => Match { name, score, second: None },
                Some(before) if score > before.score => Match { name, score, second: Some(before.score) },
                Some(before) => {
                    Match { second: Some(before.second.map_or(score, |second| second.max(score))), ..before }
                }
            });
        }
        best
    }
}
