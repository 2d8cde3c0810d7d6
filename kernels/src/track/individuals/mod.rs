//! Identities that stay: a known number of individuals, over any algorithm.
//!
//! An algorithm gives tracklets: pieces of tracks, which end when an object is out of sight for too long or moves in a way that
//! the filter does not expect. Here at most as many identities as there are individuals are laid over them. It is a layer of its
//! own, and not a part of the algorithms, because these have to forget whom they do not see: a filter's expectation is worth
//! nothing after a second, and would take detections away from others. What they agree on is which object a detection continues;
//! all that is added is which individual an object is that they have not known before.
//!
//! In a frame:
//! 1. Whoever's tracklet goes on keeps its identity.
//! 2. The detections that are left are paired with the identities that are not seen, all with all at once, by what it would take
//!    to get from where each was last seen to there ([`cost`]). What is within reach of one that was seen lately is given at
//!    once; so a break of one frame leaves no hole, even where the algorithm takes the animal for a new one that it wants to see
//!    again. Who has been gone for longer, and is farther away by now, has to be confirmed by the algorithm.
//! 3. Identities that nobody has yet go to confirmed tracklets, the most confident first.
//! 4. When all are given, confirmed tracklets get those that are not seen, wherever they were, again all at once.
//!
//! An identity that was seen in a few frames only was perhaps a false detection's: in step 3 it counts as one that nobody has. A
//! detection that is almost the same as one with an identity is its double, and gets none.
//!
//! The bound on the number of tracks and the use of the last place without any limit of time are those of SLEAP's tracker
//! (T. Pereira et al., "SLEAP: a deep learning system for multi-animal pose tracking", Nature Methods 2022) with `max_tracks`
//! and local queues; that the animals' number is known is idtracker.ai's assumption, too (F. Romero-Ferrero et al., Nature Methods
//! 2019). Written from their descriptions.

mod cost;
mod individual;
mod tracklet;

pub(super) use tracklet::Tracklet;

use std::collections::BTreeMap;

use super::appearance::Appearance;
use super::observation::{FrameView, Observation};
use super::{AREA_OF_BOX, MOST_INDIVIDUALS, State, Track, TrackParams};
use crate::associate::{Pair, Pose, assign_most, oks_matrix};
use cost::Cost;
use individual::Individual;

/// From this similarity (overlap, or OKS) to a detection with an identity on, a detection is its double.
const DOUBLE: f32 = 0.7;

/// The most detections of a frame that are compared with identities that are not seen, the most confident ones.
const MOST_CANDIDATES: usize = 2 * MOST_INDIVIDUALS as usize;

/// A detection without an identity.
#[derive(Clone, Copy, Debug)]
struct Candidate<'a> {
    index: usize,
    one: Observation<'a>,
    /// Its tracklet, if the algorithm has started one.
    tracklet: Option<Tracklet>,
}

impl Candidate<'_> {
    /// Whether the algorithm is sure of it.
    fn is_confirmed(&self) -> bool {
        self.tracklet.is_some_and(|tracklet| tracklet.track.state == State::Tracked)
    }
}

/// The individuals of a video.
#[derive(Clone, Debug)]
pub(super) struct Individuals {
    /// Those with identity 1, 2, 3 and so on.
    all: Vec<Individual>,
    /// Detections of the last frame beyond their number.
    above: usize,
    /// The other tracklets, as of the last frame.
    others: Vec<Track>,
}

impl Individuals {
    /// `number` of them, none of which has been seen; `None` for no limit, which is 0.
    pub(super) fn new(number: u32) -> Option<Self> {
        let all = (1..=u64::from(number)).map(Individual::new).collect();
        (number > 0).then_some(Self { all, above: 0, others: Vec::new() })
    }

    /// Forgets where they were; their identities are given again.
    pub(super) fn clear(&mut self) {
        self.all.iter_mut().for_each(Individual::forget);
        (self.above, self.others) = (0, Vec::new());
    }

    /// Forgets their appearance.
    pub(super) fn clear_appearance(&mut self) {
        self.all.iter_mut().for_each(|one| one.appearance = Appearance::default());
    }

    /// How many detections of the last frame were more than there are individuals.
    pub(super) fn above(&self) -> usize {
        self.above
    }

    /// One frame: `usable` are the detections to work with, and `tracklets` what the algorithm has made of them.
    pub(super) fn step(
        &mut self,
        params: &TrackParams,
        seen: FrameView<'_>,
        usable: &[usize],
        tracklets: Vec<Tracklet>,
    ) {
        self.above = usable.len().saturating_sub(self.all.len());
        self.go_on(seen, &tracklets);
        let mut open = self.candidates(seen, usable, &tracklets);
        self.bind(params, seen, &mut open, Reach::Near);
        self.give_new(&mut open);
        self.bind(params, seen, &mut open, Reach::Anywhere);
        self.others = tracklets
            .iter()
            .filter(|tracklet| self.all.iter().all(|one| one.serial != Some(tracklet.serial)))
            .map(|tracklet| Track { id: 0, state: State::Tentative, ..tracklet.track })
            .collect();
    }

    /// Moves on to a frame that no detector sees.
    pub(super) fn pass(&mut self, seen: FrameView<'_>) {
        self.all.iter_mut().for_each(|individual| individual.pass(seen));
    }

    /// Moves on to the next frame: an individual whose tracklet has a detection is seen in it.
    fn go_on(&mut self, seen: FrameView<'_>, tracklets: &[Tracklet]) {
        for individual in &mut self.all {
            individual.begin_frame(seen);
            let Some(serial) = individual.serial else { continue };
            match tracklets.binary_search_by_key(&serial, |tracklet| tracklet.serial) {
                Ok(at) => individual.follow(tracklets.get(at), seen),
                Err(_) => individual.serial = None,
            }
        }
    }

    /// The detections without an identity that are nobody's double, by ascending index.
    fn candidates<'a>(
        &self,
        seen: FrameView<'a>,
        usable: &[usize],
        tracklets: &[Tracklet],
    ) -> Vec<Candidate<'a>> {
        let mut taken: Vec<usize> = self.all.iter().filter_map(|one| one.detection).collect();
        if taken.len() == self.all.len() {
            return Vec::new();
        }
        taken.sort_unstable();
        let of_detection = |tracklet: &Tracklet| Some((tracklet.detection?, *tracklet));
        let by_detection: BTreeMap<usize, Tracklet> = tracklets.iter().filter_map(of_detection).collect();
        let candidate = |&index: &usize| {
            let tracklet = by_detection.get(&index).copied();
            Some(Candidate { index, one: seen.get(index)?, tracklet })
        };
        let others = usable.iter().filter(|index| taken.binary_search(index).is_err());
        let mut others: Vec<Candidate<'a>> = others.filter_map(candidate).collect();
        others.sort_by(most_confident_first);
        others.truncate(MOST_CANDIDATES);
        let mut known: Vec<Observation<'_>> = taken.iter().filter_map(|index| seen.get(*index)).collect();
        others.retain(|candidate| {
            let is_double = known.iter().any(|one| similarity(one, &candidate.one, seen.sigmas()) >= DOUBLE);
            if !is_double {
                known.push(candidate.one);
            }
            !is_double
        });
        others.sort_by_key(|candidate| candidate.index);
        others
    }

    /// Pairs the identities that are not seen with the candidates; those that got one are taken off the list.
    fn bind(
        &mut self,
        params: &TrackParams,
        seen: FrameView<'_>,
        open: &mut Vec<Candidate<'_>>,
        reach: Reach,
    ) {
        let mut lost: Vec<&mut Individual> = self
            .all
            .iter_mut()
            .filter(|one| one.detection.is_none() && one.is_given())
            .filter(|one| reach == Reach::Near || one.is_proven())
            .collect();
        let mut pairs = Vec::new();
        for (row, individual) in lost.iter().enumerate() {
            for (col, candidate) in open.iter().enumerate() {
                let other_class = params.class_aware && individual.class != candidate.one.detection.class;
                let Cost { is_near, is_sure, cost } =
                    individual.cost(&candidate.one, seen.sigmas(), params.appearance);
                let allowed = match reach {
                    Reach::Near => is_sure || is_near && candidate.is_confirmed(),
                    Reach::Anywhere => candidate.is_confirmed(),
                };
                if allowed && !other_class {
                    pairs.push(Pair { row, col, score: -cost as f32 });
                }
            }
        }
        let matches = assign_most(&pairs, lost.len(), open.len());
        for &(row, col) in &matches {
            if let (Some(individual), Some(candidate)) = (lost.get_mut(row), open.get(col)) {
                individual.take(candidate.index, &candidate.one, candidate.tracklet);
            }
        }
        let mut col = 0..;
        open.retain(|_| col.next().is_some_and(|col| matches.iter().all(|pair| pair.1 != col)));
    }

    /// Gives identities that nobody has to confirmed tracklets.
    fn give_new(&mut self, open: &mut Vec<Candidate<'_>>) {
        let (never, doubtful): (Vec<_>, Vec<_>) = self
            .all
            .iter_mut()
            .filter(|one| one.detection.is_none() && !(one.is_given() && one.is_proven()))
            .partition(|one| !one.is_given());
        let vacant: Vec<&mut Individual> = never.into_iter().chain(doubtful).collect();
        let (mut chosen, mut others): (Vec<_>, Vec<_>) = open.drain(..).partition(Candidate::is_confirmed);
        chosen.sort_by(most_confident_first);
        others.extend(chosen.drain(vacant.len().min(chosen.len())..));
        chosen.sort_by_key(|candidate| candidate.index);
        for (individual, candidate) in vacant.into_iter().zip(&chosen) {
            individual.forget();
            individual.take(candidate.index, &candidate.one, candidate.tracklet);
        }
        others.sort_by_key(|candidate| candidate.index);
        *open = others;
    }

    /// Writes the individuals that are seen to their detections' places.
    pub(super) fn publish(&self, tracks: &mut [Option<Track>]) {
        for individual in &self.all {
            if let Some(place) = individual.detection.and_then(|index| tracks.get_mut(index)) {
                *place = Some(individual.track());
            }
        }
    }

    /// Every individual that has been seen, by its identity, and then the tracklets of others.
    pub(super) fn tracks(&self) -> impl Iterator<Item = Track> + '_ {
        let given = self.all.iter().filter(|one| one.is_given()).map(Individual::track);
        given.chain(self.others.iter().copied())
    }
}

/// Which of the candidates an identity may be bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Any that is within reach of where it was last seen.
    Near,
    /// Any that the algorithm is sure of.
    Anywhere,
}

fn most_confident_first(a: &Candidate<'_>, b: &Candidate<'_>) -> std::cmp::Ordering {
    let confidence = |candidate: &Candidate<'_>| candidate.one.detection.confidence;
    confidence(b).total_cmp(&confidence(a)).then(a.index.cmp(&b.index))
}

/// Of two detections: OKS where both have keypoints and their boxes overlap at all, else that overlap.
fn similarity(a: &Observation<'_>, b: &Observation<'_>, sigmas: &[f32]) -> f32 {
    let overlap = a.detection.rect.iou(&b.detection.rect);
    if overlap == 0.0 || a.pose.is_empty() || b.pose.is_empty() {
        return overlap;
    }
    let pose = |one: &Observation<'_>| one.detection.rect.area() * AREA_OF_BOX;
    let mut matrix = Vec::new();
    let ours = [Pose { points: a.pose, area: pose(a) }];
    oks_matrix(&ours, &[Pose { points: b.pose, area: pose(b) }], sigmas, &mut matrix);
    matrix.first().copied().unwrap_or_default()
}
