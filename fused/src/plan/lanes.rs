//! Which streams steps run in: branches that do not need each other run beside each other.

use super::Order;

/// Streams that run beside each other, at most.
const MOST: usize = 6;

/// Where each step runs.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// By step.
    pub steps: Vec<Lane>,
    /// How many lanes there are.
    pub count: usize,
}

/// Where a step runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The stream, by its index; the first one is the run's own.
    pub index: usize,
    /// Steps of other lanes that it waits for.
    pub waits: Vec<usize>,
}

impl Lanes {
    /// Each step goes on where one of those that it needs was the last, or else in a lane that nothing runs in.
    pub fn of(order: &Order) -> Self {
        let mut lanes = Self { steps: Vec::new(), count: 1 };
        // By lane: its last step, and which steps of each lane are known to be over when it goes on (one more than the last one).
        let mut last: Vec<Option<usize>> = vec![None];
        let mut known: Vec<Vec<usize>> = vec![vec![0; MOST]];
        // By step: what is known when it is over.
        let mut after: Vec<Vec<usize>> = Vec::new();
        for (step, needs) in order.needs.iter().enumerate() {
            let goes_on =
                (0..lanes.count).find(|lane| last[*lane].is_some_and(|last| needs.last() == Some(&last)));
            let goes_on = goes_on.or_else(|| {
                (0..lanes.count).find(|lane| last[*lane].is_some_and(|last| needs.contains(&last)))
            });
            let index = goes_on.unwrap_or_else(|| {
                if last[0].is_none() {
                    return 0;
                }
                if lanes.count < MOST {
                    last.push(None);
                    known.push(vec![0; MOST]);
                    lanes.count += 1;
                    return lanes.count - 1;
                }
                (0..lanes.count).min_by_key(|lane| last[*lane]).unwrap_or(0)
            });
            let mut waits = Vec::new();
            for needed in needs.iter().rev() {
                let lane = lanes.steps[*needed].index;
                if lane != index && known[index][lane] <= *needed {
                    waits.push(*needed);
                    let learnt = &after[*needed];
                    known[index]
                        .iter_mut()
                        .zip(learnt)
                        .for_each(|(known, learnt)| *known = (*known).max(*learnt));
                }
            }
            known[index][index] = step + 1;
            after.push(known[index].clone());
            last[index] = Some(step);
            lanes.steps.push(Lane { index, waits });
        }
        lanes
    }
}

impl Lanes {
    /// All steps one after another.
    pub fn single(steps: usize) -> Self {
        Self { steps: vec![Lane { index: 0, waits: Vec::new() }; steps], count: 1 }
    }

    /// The last step of each lane but for the first: a run is over when these and the first lane are.
    pub fn ends(&self) -> Vec<usize> {
        let last = |lane: usize| self.steps.iter().rposition(|step| step.index == lane);
        (1..self.count).filter_map(last).collect()
    }
}
