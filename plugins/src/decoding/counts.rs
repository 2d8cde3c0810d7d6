//! Counts of these elements besides the counters of all elements.

use cudainfer_kernels::sanity::Glance;

use crate::meta::tensor::TensorSet;
use crate::notice::Limit;

/// Maximum number of counts of an element.
const MOST: usize = 6;

/// Limits of an element that may leave results out.
const MOST_LIMITS: usize = 2;

/// The count of NaN and infinity.
const NON_FINITE: &str = "non-finite";

/// An element's counts, by their names in `stats`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    names: &'static [&'static str],
    values: [u64; MOST],
    /// Of one frame: properties of its results that may be judged.
    glance: Glance,
    /// Of one frame: whether these are judged.
    watched: bool,
    /// Of one frame: the limits that have left results out, with the names of the counts.
    limits: [Option<(&'static str, Limit)>; MOST_LIMITS],
}

/// Counts of results.
const RESULTS: [&str; 2] = ["objects", "peaks"];

impl Counts {
    /// All 0.
    pub(crate) fn new(names: &'static [&'static str]) -> Self {
        debug_assert!(names.len() <= MOST, "{names:?}");
        Self {
            names,
            values: [0; MOST],
            glance: Glance::default(),
            watched: false,
            limits: [None; MOST_LIMITS],
        }
    }

    /// Adds to the count `name`, which must be one of the element's.
    pub fn add(&mut self, name: &str, count: usize) {
        let value = self.names.iter().position(|known| *known == name).and_then(|i| self.values.get_mut(i));
        debug_assert!(value.is_some(), "{name} is not among {:?}", self.names);
        if let Some(value) = value {
            *value += u64::try_from(count).unwrap_or(u64::MAX);
        }
    }

    /// Adds what a limit has left out to the count `name`: how many, or one frame where that is not known. The frame's greatest cut
    /// by each limit is reported.
    pub fn limit(&mut self, name: &'static str, limit: Limit) {
        self.add(name, limit.cut.unwrap_or(1));
        let slot = self.limits.iter_mut().find(|slot| slot.is_none_or(|(_, known)| known.name == limit.name));
        if let Some(slot) = slot.filter(|slot| slot.is_none_or(|(_, known)| known.cut < limit.cut)) {
            *slot = Some((name, limit));
        }
    }

    /// The limits that have left results of the frame out, with the names of the counts.
    pub(super) fn limits(&self) -> impl Iterator<Item = (&'static str, Limit)> {
        self.limits.into_iter().flatten()
    }

    /// Notes the confidence of a result.
    pub fn see(&mut self, confidence: f32) {
        self.glance.see(confidence);
    }

    /// Notes the class of a result.
    pub fn see_class(&mut self, class: u32) {
        self.glance.class = self.glance.class.max(Some(class));
    }

    /// Notes that there are boxes, and that none has two pixels of the network's input.
    pub fn see_tiny_boxes(&mut self) {
        self.glance.tiny = true;
    }

    /// Sets whether the properties of the frame's results are judged.
    pub(super) fn watch(&mut self, watched: bool) {
        self.watched = watched;
    }

    /// Whether the properties of the frame's results are judged: otherwise nothing that takes time need be noted.
    pub fn is_watched(&self) -> bool {
        self.watched
    }

    /// Notes where points of the frame lie in the input tensor of `set`, which they were found in.
    pub fn see_points(&mut self, set: &TensorSet, points: impl IntoIterator<Item = [f32; 2]>) {
        let to_tensor = self.watched.then(|| set.to_frame.inverse()).flatten();
        let Some(to_tensor) = to_tensor else { return };
        for [x, y] in points {
            let (x, y) = to_tensor.point(x, y);
            self.glance.points.see([x, y], set.input);
        }
    }

    /// Notes how many boxes were compared, and how many of them lie on a stronger one of their class.
    pub fn see_repeated(&mut self, (compared, repeated): (usize, usize)) {
        self.glance.compared += compared;
        self.glance.repeated += repeated;
    }

    /// The properties of the frame's results.
    pub(super) fn glance(&self) -> Glance {
        let found: u64 = self.iter().filter(|(name, _)| RESULTS.contains(name)).map(|(_, count)| count).sum();
        Glance { found: usize::try_from(found).unwrap_or(usize::MAX), ..self.glance }
    }

    /// Adds the counts of a frame. Returns how many NaN and infinity to warn about: those of the first frame that has any.
    pub(super) fn add_frame(&mut self, frame: &Self) -> usize {
        let first = self.non_finite() == 0;
        self.values.iter_mut().zip(frame.values).for_each(|(sum, count)| *sum += count);
        if first { usize::try_from(frame.non_finite()).unwrap_or(usize::MAX) } else { 0 }
    }

    /// Names and values, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.names.iter().copied().zip(self.values)
    }

    fn non_finite(&self) -> u64 {
        self.iter().find(|(name, _)| *name == NON_FINITE).map_or(0, |(_, count)| count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_limits_leave_out_is_counted_and_each_limits_greatest_cut_of_the_frame_is_reported() {
        let mut frame = Counts::new(&["truncated", "limited"]);
        let before =
            |cut| Limit { name: "top-k-before", value: 9, what: "boxes", cut: Some(cut), is_set: false };
        let after = Limit { name: "top-k-after", cut: None, ..before(0) };
        [2, 7, 3].into_iter().for_each(|cut| frame.limit("truncated", before(cut)));
        frame.limit("limited", after);
        assert_eq!(frame.iter().collect::<Vec<_>>(), [("truncated", 12), ("limited", 1)]);
        assert_eq!(frame.limits().collect::<Vec<_>>(), [("truncated", before(7)), ("limited", after)]);
    }

    #[test]
    fn values_that_are_no_numbers_are_reported_once() {
        let mut sum = Counts::new(&["objects", NON_FINITE]);
        let reported: Vec<_> = [0, 3, 2]
            .map(|bad| {
                let mut frame = Counts::new(&["objects", NON_FINITE]);
                frame.add("objects", 2);
                frame.add(NON_FINITE, bad);
                sum.add_frame(&frame)
            })
            .to_vec();
        assert_eq!(reported, [0, 3, 0]);
        assert_eq!(sum.iter().collect::<Vec<_>>(), [("objects", 6), (NON_FINITE, 5)]);
    }
}
