//! DeepLabCut's way from links to animals: Lauer et al., "Multi-animal pose estimation, identification and tracking with
//! DeepLabCut", Nature Methods 2022, as the `Assembler` of DeepLabCut 3.0.2 does it with what its predictor leaves at the defaults:
//! no calibration with training data, no links of earlier frames, no identities.
//!
//! Links are all edges' assigned pairs. Where they connect as many peaks as the skeleton has points, these are an animal. Then
//! animals grow from the strongest links left, each time along the strongest link that leads out of them. Animals of one link, and
//! those that lie in a stronger one, are dropped, and those with the fewest points, if there are too many.
//!
//! Each edge must lead to a point of a higher number, as in all graphs that DeepLabCut makes. Nothing is then left for two steps
//! of the Assembler, which are not here: to merge superfluous animals that a link connects, and to let animals grow once more. With
//! other edges it leaves links of complete animals out, and this does not.
//!
//! The Assembler adds float32 numbers in the order of links, and so does this. Between equal affinities it decides by the order of
//! numbers in a set of Python's, and this by the numbers.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::Parts;
use super::lines::Connection;

/// An animal has at least this many links.
const MIN_LINKS: usize = 2;
/// An animal with at least this share of its points in a stronger one's box, and the other way round, is the same.
const MAX_OVERLAP: f64 = 0.8;

/// An animal that grows.
#[derive(Clone, Debug)]
pub(super) struct Animal {
    /// The number of each point's peak.
    pub parts: Vec<Option<usize>>,
    /// The numbers of links.
    links: Vec<usize>,
    affinity: f32,
}

impl Animal {
    fn new(points: usize) -> Self {
        Self { parts: vec![None; points], links: Vec::new(), affinity: 0.0 }
    }

    /// The mean of its links.
    pub fn score(&self) -> f32 {
        self.affinity / self.links.len().max(1) as f32
    }

    fn found(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().flatten().copied()
    }

    fn is_complete(&self) -> bool {
        self.parts.iter().all(Option::is_some)
    }
}

/// What a step of an animal's growth chooses from: the strongest first, then the one that was seen first.
#[derive(Debug)]
struct Next {
    affinity: f32,
    seen: usize,
    link: usize,
}

impl Ord for Next {
    fn cmp(&self, other: &Self) -> Ordering {
        self.affinity.total_cmp(&other.affinity).then(other.seen.cmp(&self.seen))
    }
}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Next {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Next {}

/// The links of a frame, in the order of edges.
struct Links<'a> {
    parts: &'a Parts,
    points: usize,
    all: &'a [Connection],
    /// Of each peak, its links and the peaks at their other ends.
    at: Vec<Vec<(usize, usize)>>,
    /// Whether a link is still free to let an animal grow.
    free: Vec<bool>,
    /// Whether a peak is an animal's.
    assembled: Vec<bool>,
}

/// The animals that links make, `most` at most.
pub(super) fn animals(parts: &Parts, points: usize, links: &[Connection], most: usize) -> Vec<Animal> {
    let mut links = Links::new(parts, points, links);
    let mut animals = links.assembled(most);
    animals.retain(|animal| animal.links.len() >= MIN_LINKS);
    let mut animals = links.without_doubles(animals);
    if animals.len() > most {
        // Stable, as the Assembler's.
        animals.sort_by_key(|animal| std::cmp::Reverse(animal.found().count()));
        animals.truncate(most);
    }
    animals
}

impl<'a> Links<'a> {
    fn new(parts: &'a Parts, points: usize, all: &'a [Connection]) -> Self {
        let mut at = vec![Vec::new(); parts.found.len()];
        for (link, connection) in all.iter().enumerate() {
            at[connection.from].push((link, connection.to));
            at[connection.to].push((link, connection.from));
        }
        let (free, assembled) = (vec![true; all.len()], vec![false; parts.found.len()]);
        Self { parts, points, all, at, free, assembled }
    }

    fn ends(&self, link: usize) -> [usize; 2] {
        [self.all[link].from, self.all[link].to]
    }

    fn point(&self, part: usize) -> usize {
        self.parts.found[part].0.channel as usize
    }

    fn has(&self, animal: &Animal, part: usize) -> bool {
        animal.parts[self.point(part)] == Some(part)
    }

    /// Adds a link; whether it has brought points. One whose points are both taken by other peaks does not count.
    fn add(&self, animal: &mut Animal, link: usize) -> bool {
        let ends = self.ends(link);
        let is_inside = ends.iter().all(|end| self.has(animal, *end));
        if !is_inside {
            if ends.iter().all(|end| animal.parts[self.point(*end)].is_some()) {
                return false;
            }
            for end in ends {
                animal.parts[self.point(end)].get_or_insert(end);
            }
        }
        animal.affinity += self.all[link].score;
        animal.links.push(link);
        !is_inside
    }

    fn take(&mut self, animal: &Animal) {
        animal.found().for_each(|part| self.assembled[part] = true);
    }

    /// All animals before any is dropped.
    fn assembled(&mut self, most: usize) -> Vec<Animal> {
        let mut animals = self.complete();
        if animals.len() == most {
            return animals;
        }
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        order.sort_by(|a, b| self.all[*b].score.total_cmp(&self.all[*a].score));
        for link in order {
            if self.ends(link).iter().any(|end| self.assembled[*end]) {
                continue;
            }
            let mut animal = Animal::new(self.points);
            self.add(&mut animal, link);
            self.grow(&mut animal);
            animal.links.iter().for_each(|link| self.free[*link] = false);
            self.take(&animal);
            animals.push(animal);
        }
        animals
    }

    /// The animals whose links connect as many peaks as there are points, and no other.
    fn complete(&mut self) -> Vec<Animal> {
        let mut animals = Vec::new();
        let points = self.points;
        for group in self.connected().into_iter().filter(|group| group.peaks == points) {
            let mut animal = Animal::new(points);
            for link in group.links {
                if self.add(&mut animal, link) {
                    self.free[link] = false;
                }
            }
            self.take(&animal);
            animals.push(animal);
        }
        animals
    }

    /// The links that connect the same peaks, in their order.
    fn connected(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let mut of_part = vec![None; self.at.len()];
        for link in 0..self.all.len() {
            let [from, _] = self.ends(link);
            let group = of_part[from].unwrap_or_else(|| {
                groups.push(Group { links: Vec::new(), peaks: self.mark(&mut of_part, from, groups.len()) });
                groups.len() - 1
            });
            groups[group].links.push(link);
        }
        groups
    }

    /// Marks all peaks that links connect with a peak; how many they are.
    fn mark(&self, of_part: &mut [Option<usize>], start: usize, group: usize) -> usize {
        of_part[start] = Some(group);
        let mut reached = vec![start];
        let mut next = 0;
        while let Some(part) = reached.get(next).copied() {
            next += 1;
            for (_, other) in &self.at[part] {
                if of_part[*other].replace(group).is_none() {
                    reached.push(*other);
                }
            }
        }
        reached.len()
    }

    /// Adds the strongest of the free links that lead out of the animal, again and again.
    fn grow(&self, animal: &mut Animal) {
        let mut seen = vec![false; self.all.len()];
        let (mut next, mut count) = (BinaryHeap::new(), 0);
        let mut look = |animal: &Animal, part: usize, next: &mut BinaryHeap<Next>| {
            for (link, other) in &self.at[part] {
                if self.free[*link] && !self.has(animal, *other) && !std::mem::replace(&mut seen[*link], true)
                {
                    next.push(Next { affinity: self.all[*link].score, seen: count, link: *link });
                    count += 1;
                }
            }
        };
        for part in animal.found() {
            look(animal, part, &mut next);
        }
        while !animal.is_complete() {
            let Some(Next { link, .. }) = next.pop() else { break };
            let [from, to] = self.ends(link);
            let new = match [from, to].map(|end| self.has(animal, end)) {
                [true, _] => to,
                [false, true] => from,
                [false, false] => continue,
            };
            if !self.assembled[new] {
                self.add(animal, link);
                look(animal, new, &mut next);
            }
        }
    }

    /// The animals by descending sum of their links, without those that lie where a stronger one does.
    fn without_doubles(&self, mut animals: Vec<Animal>) -> Vec<Animal> {
        // Stable, as the Assembler's.
        animals.sort_by(|a, b| b.affinity.total_cmp(&a.affinity));
        let mut kept: Vec<Animal> = Vec::new();
        for animal in animals {
            if kept.iter().all(|stronger| self.overlap(stronger, &animal) < MAX_OVERLAP) {
                kept.push(animal);
            }
        }
        kept
    }

    /// The lesser share of points of the two that lies in both boxes.
    fn overlap(&self, a: &Animal, b: &Animal) -> f64 {
        let [a, b] = [a, b].map(|animal| self.places(animal));
        let [[left, top, right, bottom], other] = [&a, &b].map(|places| extent(places));
        let (left, top) = (left.max(other[0]), top.max(other[1]));
        let (right, bottom) = (right.min(other[2]), bottom.min(other[3]));
        let is_inside = |at: &&[f32; 2]| (left..=right).contains(&at[0]) && (top..=bottom).contains(&at[1]);
        let share =
            |places: &[[f32; 2]]| places.iter().filter(is_inside).count() as f64 / places.len() as f64;
        share(&a).min(share(&b))
    }

    fn places(&self, animal: &Animal) -> Vec<[f32; 2]> {
        animal.found().map(|part| [self.parts.found[part].0.x, self.parts.found[part].0.y]).collect()
    }
}

/// Links between the same peaks.
struct Group {
    links: Vec<usize>,
    peaks: usize,
}

/// The box around places: left, top, right, bottom.
fn extent(places: &[[f32; 2]]) -> [f32; 4] {
    let nothing = [f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];
    places.iter().fold(nothing, |[left, top, right, bottom], [x, y]| {
        [left.min(*x), top.min(*y), right.max(*x), bottom.max(*y)]
    })
}
