//! Tables with a row for each frame, and columns for each point: those of DeepLabCut (`scorer`, `individuals`, `bodyparts`,
//! `coords`), and of Lightning Pose, which knows one animal and so has no row of individuals.

use super::cells::{Rows, of_point};
use super::instance::Instance;
use super::left_out::LeftOut;
use crate::model::Skeleton;

/// What DeepLabCut calls the network, and we the program.
const SCORER: &str = "cudainfer";
/// What Lightning Pose calls all of its networks.
const HEATMAP_TRACKER: &str = "heatmap_tracker";

/// Whose points the columns are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Columns {
    /// Those of this number of individuals.
    Individuals(usize),
    /// Those of the one animal.
    OneAnimal,
}

impl Columns {
    fn individuals(self) -> usize {
        match self {
            Self::Individuals(count) => count,
            Self::OneAnimal => 1,
        }
    }

    pub fn header(self, skeleton: &Skeleton) -> Vec<u8> {
        let (scorer, has_individuals) = match self {
            Self::Individuals(_) => (SCORER, true),
            Self::OneAnimal => (HEATMAP_TRACKER, false),
        };
        let of_each = |value: &dyn Fn(usize, &str, &str) -> String| -> Vec<String> {
            let individuals = 1..=self.individuals();
            let points = individuals.flat_map(|i| skeleton.points.iter().map(move |point| (i, point)));
            points
                .flat_map(|(i, point)| ["x", "y", "likelihood"].map(|coord| value(i, point, coord)))
                .collect()
        };
        let mut rows = Rows::new();
        let mut add =
            |name: &str, cells: Vec<String>| rows.add(std::iter::once(name.to_owned()).chain(cells));
        add("scorer", of_each(&|_, _, _| scorer.to_owned()));
        if has_individuals {
            add("individuals", of_each(&|individual, _, _| format!("individual{individual}")));
        }
        add("bodyparts", of_each(&|_, point, _| point.to_owned()));
        add("coords", of_each(&|_, _, coord| coord.to_owned()));
        rows.finish()
    }

    /// The row of a frame. An identity has its column; without identities the best instances come first.
    pub fn row(self, frame: u64, found: &[Instance], skeleton: &Skeleton, left_out: &mut LeftOut) -> Vec<u8> {
        let mut places: Vec<Option<&Instance>> = vec![None; self.individuals()];
        let (tracked, mut others): (Vec<_>, Vec<_>) = found.iter().partition(|one| one.track.is_some());
        for instance in tracked {
            let place =
                instance.track.as_ref().and_then(|track| usize::try_from(track.id.checked_sub(1)?).ok());
            match place.and_then(|place| places.get_mut(place)) {
                Some(place) if place.is_none() => *place = Some(instance),
                // One animal has one column, whatever its identity.
                None if self == Self::OneAnimal => others.push(instance),
                _ => left_out.no_column += 1,
            }
        }
        left_out.unordered += u64::from(others.len() > 1 && places.len() > 1);
        others.sort_by(|a, b| b.score.total_cmp(&a.score));
        let mut free = places.iter_mut().filter(|place| place.is_none());
        for instance in others {
            match free.next() {
                Some(place) => *place = Some(instance),
                None => left_out.no_column += 1,
            }
        }
        let of_individual = |instance: Option<&Instance>| -> Vec<String> {
            let point = |i: usize| instance.and_then(|one| one.points.get(i).copied().flatten());
            (0..skeleton.points.len()).flat_map(|i| of_point(point(i))).collect()
        };
        let mut rows = Rows::new();
        rows.add(std::iter::once(frame.to_string()).chain(places.into_iter().flat_map(of_individual)));
        rows.finish()
    }
}
