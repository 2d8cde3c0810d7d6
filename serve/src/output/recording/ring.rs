//! Which encoded frames are in which recording: a pure state machine, which takes times and returns steps.

use std::collections::VecDeque;

/// An encoded frame, in the order of decoding.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit<T> {
    /// Nanoseconds of the stream's time.
    pub time: u64,
    /// Whether decoding can begin here.
    pub key: bool,
    /// Size.
    pub bytes: usize,
    /// The frame that is written.
    pub payload: T,
}

/// A step of writing a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Step<T> {
    /// Begin a file with these frames, of which the first is a key frame.
    Begin(Vec<Unit<T>>),
    /// Append a frame.
    Write(Unit<T>),
    /// Close the file.
    End,
}

/// How much is recorded around an event, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The time before the event.
    pub pre: u64,
    /// The time after the event.
    pub post: u64,
    /// The length of one file, which ends at the next key frame.
    pub most: u64,
}

/// Results may come this much later than the encoded frames without a loss of frames before the event.
const RESULTS_LATER: u64 = 10_000_000_000;

/// The last frames, and the present recording.
#[derive(Debug)]
pub struct Ring<T> {
    extent: Extent,
    most_bytes: usize,
    units: VecDeque<Unit<T>>,
    bytes: usize,
    going_on: Option<GoingOn>,
    /// The time of an event before the first key frame: the recording begins with that key frame.
    wanted: Option<u64>,
    cut: u64,
}

#[derive(Debug)]
struct GoingOn {
    until: u64,
    began: u64,
}

impl<T: Clone> Ring<T> {
    /// Keeps `most_bytes` at most, whatever time that is.
    pub fn new(extent: Extent, most_bytes: usize) -> Self {
        Self { extent, most_bytes, units: VecDeque::new(), bytes: 0, going_on: None, wanted: None, cut: 0 }
    }

    /// Frames that were dropped because of `most_bytes` before they were older than `pre`.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// Takes a frame.
    pub fn push(&mut self, unit: Unit<T>) -> Vec<Step<T>> {
        let mut steps = Vec::new();
        let backwards = self.units.back().is_some_and(|last| unit.time + RESULTS_LATER < last.time);
        if backwards {
            steps.extend(self.interrupt());
        }
        self.bytes += unit.bytes;
        self.units.push_back(unit.clone());
        self.forget(unit.time);
        match &mut self.going_on {
            Some(now) if unit.time > now.until => {
                self.going_on = None;
                steps.push(Step::End);
            }
            Some(now) if unit.key && unit.time >= now.began + self.extent.most => {
                now.began = unit.time;
                steps.extend([Step::End, Step::Begin(vec![unit])]);
            }
            Some(_) => steps.push(Step::Write(unit)),
            None => {
                if unit.key
                    && let Some(at) = self.wanted.take()
                {
                    steps.extend(self.begin(at.max(unit.time)));
                }
            }
        }
        steps
    }

    /// Takes an event in the frame of this time.
    pub fn event(&mut self, at: u64) -> Vec<Step<T>> {
        let until = at.saturating_add(self.extent.post);
        match &mut self.going_on {
            Some(now) => {
                now.until = now.until.max(until);
                Vec::new()
            }
            None => self.begin(at),
        }
    }

    /// Notes that no frame of the same stream follows: the source was lost, or its format has changed.
    pub fn interrupt(&mut self) -> Vec<Step<T>> {
        self.units.clear();
        self.bytes = 0;
        self.wanted = None;
        self.going_on.take().map(|_| Step::End).into_iter().collect()
    }

    fn begin(&mut self, at: u64) -> Vec<Step<T>> {
        let from = at.saturating_sub(self.extent.pre);
        let until = at.saturating_add(self.extent.post);
        let before = self.units.iter().rposition(|unit| unit.key && unit.time <= from);
        let Some(first) = before.or_else(|| self.units.iter().position(|unit| unit.key)) else {
            self.wanted = Some(at);
            return Vec::new();
        };
        let mut units: Vec<_> = self.units.range(first..).cloned().collect();
        let began = units.first().map_or(at, |unit| unit.time);
        // If the event is reported late, the recording may be over already.
        let over = units.iter().position(|unit| unit.time > until);
        units.truncate(over.unwrap_or(units.len()));
        let mut steps = vec![Step::Begin(units)];
        if over.is_some() {
            steps.push(Step::End);
        } else {
            self.going_on = Some(GoingOn { until, began });
        }
        steps
    }

    /// Drops whole groups of pictures from the front.
    fn forget(&mut self, now: u64) {
        let old = now.saturating_sub(self.extent.pre + RESULTS_LATER);
        loop {
            let next = self.units.iter().skip(1).position(|unit| unit.key).map(|at| at + 1);
            let needless = next.and_then(|at| self.units.get(at)).is_some_and(|unit| unit.time <= old);
            let too_much = self.bytes > self.most_bytes && self.units.len() > 1;
            if !needless && !too_much {
                return;
            }
            let count = next.unwrap_or(self.units.len() - 1);
            self.bytes -= self.units.drain(..count).map(|unit| unit.bytes).sum::<usize>();
            if !needless {
                self.cut += count as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A frame each second, every fifth a key frame, its number as payload.
    fn unit(second: u64) -> Unit<u64> {
        Unit { time: second * SECOND, key: second.is_multiple_of(5), bytes: 10, payload: second }
    }

    fn ring(pre: u64, post: u64, most: u64) -> Ring<u64> {
        Ring::new(Extent { pre: pre * SECOND, post: post * SECOND, most: most * SECOND }, 1 << 20)
    }

    /// The files that these steps make, and whether the last is open.
    fn files(steps: impl IntoIterator<Item = Step<u64>>) -> (Vec<Vec<u64>>, bool) {
        let (mut files, mut open) = (Vec::<Vec<u64>>::new(), false);
        for step in steps {
            match step {
                Step::Begin(units) => {
                    assert!(!open, "a file is begun while one is open");
                    assert!(units[0].key, "a file begins with a key frame");
                    files.push(units.into_iter().map(|unit| unit.payload).collect());
                    open = true;
                }
                Step::Write(unit) => {
                    assert!(open, "a frame without a file");
                    files.last_mut().unwrap().push(unit.payload);
                }
                Step::End => {
                    assert!(open, "a file is closed twice");
                    open = false;
                }
            }
        }
        (files, open)
    }

    /// Pushes a frame for each second. An event `(reported, at)` is reported after the frame of `reported`.
    fn run(
        ring: &mut Ring<u64>,
        seconds: std::ops::Range<u64>,
        events: &[(u64, u64)],
    ) -> (Vec<Vec<u64>>, bool) {
        let mut steps = Vec::new();
        for second in seconds {
            steps.extend(ring.push(unit(second)));
            for (_, at) in events.iter().filter(|(reported, _)| *reported == second) {
                steps.extend(ring.event(at * SECOND));
            }
        }
        files(steps)
    }

    #[test]
    fn a_recording_begins_with_the_key_frame_before_pre_and_ends_after_post() {
        let (files, open) = run(&mut ring(3, 4, 100), 0..40, &[(22, 22)]);
        assert_eq!(files, [(15..=26).collect::<Vec<_>>()]);
        assert!(!open);
    }

    #[test]
    fn results_that_come_late_lose_nothing() {
        let (files, _) = run(&mut ring(3, 4, 100), 0..40, &[(30, 22)]);
        assert_eq!(files, [(15..=26).collect::<Vec<_>>()]);
    }

    #[test]
    fn events_prolong_the_recording_that_goes_on() {
        let (files, open) = run(&mut ring(0, 4, 100), 0..40, &[(20, 20), (22, 22), (23, 21)]);
        assert_eq!(files, [(20..=26).collect::<Vec<_>>()]);
        assert!(!open);
    }

    #[test]
    fn a_long_recording_goes_on_in_another_file_without_a_gap() {
        let events: Vec<_> = (20..40).map(|second| (second, second)).collect();
        let (files, open) = run(&mut ring(0, 4, 8), 0..60, &events);
        assert_eq!(files, [(20..30).collect::<Vec<_>>(), (30..40).collect(), (40..=43).collect()]);
        assert!(!open);
    }

    #[test]
    fn an_event_before_the_first_key_frame_is_recorded_from_that() {
        let (files, open) = run(&mut ring(3, 4, 100), 1..20, &[(2, 2)]);
        assert_eq!(files, [(5..=9).collect::<Vec<_>>()]);
        assert!(!open);
    }

    #[test]
    fn an_interruption_closes_the_file_and_nothing_of_before_is_in_the_next() {
        let mut ring = ring(10, 10, 100);
        let mut steps = ring.push(unit(0));
        steps.extend(ring.event(0));
        steps.extend(ring.interrupt());
        steps.extend(ring.interrupt());
        steps.extend((0..3).flat_map(|second| ring.push(unit(second + 5))));
        steps.extend(ring.event(7 * SECOND));
        assert_eq!(files(steps), (vec![vec![0], vec![5, 6, 7]], true));
    }

    #[test]
    fn time_that_goes_back_is_an_interruption() {
        let mut ring = ring(3, 4, 100);
        let mut steps: Vec<_> = (0..30).flat_map(|second| ring.push(unit(second))).collect();
        steps.extend(ring.event(29 * SECOND));
        steps.extend(ring.push(unit(0)));
        steps.extend(ring.event(0));
        assert_eq!(files(steps), (vec![(25..30).collect(), vec![0]], true));
    }

    #[test]
    fn memory_is_bounded_by_time_and_by_bytes() {
        let mut by_time = ring(3, 4, 100);
        (0..1000).for_each(|second| assert!(by_time.push(unit(second)).is_empty()));
        assert!(by_time.units.len() <= 3 + 10 + 5 + 1, "{}", by_time.units.len());
        assert_eq!(by_time.cut(), 0);

        let mut by_bytes = Ring::new(Extent { pre: 1000 * SECOND, post: 0, most: SECOND }, 200);
        (0..1000).for_each(|second| assert!(by_bytes.push(unit(second)).is_empty()));
        assert!(by_bytes.bytes <= 200 && by_bytes.units[0].key);
        assert!(by_bytes.cut() > 900);
        // Without any other key frame.
        let mut no_key = Ring::new(Extent { pre: 1000 * SECOND, post: 0, most: SECOND }, 200);
        (1..1000).for_each(|second| drop(no_key.push(Unit { key: false, ..unit(second) })));
        assert!(no_key.bytes <= 200);
    }
}
