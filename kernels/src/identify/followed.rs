//! Who an object is: one that is seen once, or a track by the best of its frames.

use std::collections::VecDeque;

use super::{Gallery, IdentifyParams, Match, Unknowns, Verdict};

/// Who an object is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Identity {
    /// A name of the gallery.
    Known {
        /// Its number there.
        name: usize,
        /// Cosine similarity.
        score: f32,
    },
    /// An unknown.
    Unknown {
        /// Its number.
        number: u64,
        /// Cosine similarity to the mean of its embeddings; 1 for its first.
        score: f32,
    },
    /// Somebody of several names.
    Ambiguous,
    /// Nobody of the gallery, and without a number.
    Nobody,
}

/// An embedding of a track, and whom it was like.
#[derive(Clone, Debug)]
struct Look {
    embedding: Vec<f32>,
    found: Option<Match>,
}

/// A tracked object.
#[derive(Clone, Debug, Default)]
pub struct Followed {
    /// The last ones, the newest at the end.
    looks: VecDeque<Look>,
    /// Embeddings since the track's begin.
    count: u64,
    /// Its number as an unknown, and the similarity of its last embedding to that one.
    unknown: Option<(u64, f32)>,
}

impl Followed {
    /// Takes in an embedding of length 1.
    pub fn look(
        &mut self,
        embedding: Vec<f32>,
        gallery: Option<&Gallery>,
        unknowns: &mut Unknowns,
        params: &IdentifyParams,
    ) {
        let found = gallery.and_then(|gallery| gallery.best(&embedding));
        self.count += 1;
        if matches!(self.verdict(params, found), Verdict::Stranger) {
            self.collect(&embedding, unknowns, params);
        }
        self.looks.push_back(Look { embedding, found });
        while self.looks.len() > params.frames.max(1) {
            self.looks.pop_front();
        }
    }

    /// Compares what is remembered with another gallery.
    pub fn compare_again(&mut self, gallery: Option<&Gallery>) {
        for look in &mut self.looks {
            look.found = gallery.and_then(|gallery| gallery.best(&look.embedding));
        }
    }

    /// Who it is.
    pub fn identity(&self, params: &IdentifyParams) -> Identity {
        match (self.verdict(params, None), self.unknown) {
            (Verdict::Known(best), _) => Identity::Known { name: best.name, score: best.score },
            (Verdict::Ambiguous, _) => Identity::Ambiguous,
            (Verdict::Stranger, Some((number, score))) => Identity::Unknown { number, score },
            (Verdict::Stranger, None) => Identity::Nobody,
        }
    }

    /// What the best look means, with a new one among them.
    fn verdict(&self, params: &IdentifyParams, new: Option<Match>) -> Verdict {
        let all = self.looks.iter().filter_map(|look| look.found).chain(new);
        params.judge(all.reduce(|best, one| if one.score > best.score { one } else { best }))
    }

    /// Takes in an embedding that is like nobody's in the gallery.
    fn collect(&mut self, embedding: &[f32], unknowns: &mut Unknowns, params: &IdentifyParams) {
        let similar = |score: f32| f64::from(score) >= params.threshold;
        if let Some((number, last)) = &mut self.unknown {
            if let Some(score) = unknowns.similarity(*number, embedding) {
                *last = score;
                // One of another kind, as of who walks in front of it, is not learnt.
                if similar(score) {
                    unknowns.learn(*number, embedding);
                }
            }
            return;
        }
        self.unknown = match unknowns.nearest(embedding).filter(|(_, score)| similar(*score)) {
            Some((number, score)) => {
                unknowns.learn(number, embedding);
                Some((number, score))
            }
            None if self.count >= params.min_frames => unknowns.begin(embedding).map(|number| (number, 1.0)),
            None => None,
        };
    }
}

impl Identity {
    /// Who an object is that no tracker follows, by its embedding of length 1 alone.
    pub fn of_one(
        embedding: &[f32],
        gallery: Option<&Gallery>,
        unknowns: &mut Unknowns,
        params: &IdentifyParams,
    ) -> Self {
        let mut alone = Followed::default();
        let at_once = IdentifyParams { min_frames: 1, ..*params };
        alone.look(embedding.to_vec(), gallery, unknowns, &at_once);
        alone.identity(params)
    }
}
