//! How long runs on a GPU take by their number of rows, learnt from the runs that were waited for, and what that says about the
//! next batch: when the GPU will be free, and how many of the waiting frames are best run at once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for enqueueing a run, and for waking the thread that does it: the next batch is enqueued this long before the GPU is
/// free.
const AHEAD: Duration = Duration::from_micros(250);
/// The weight of a new time is one in this many.
const WEIGHT: u32 = 8;

/// What is known of the GPU while a batch is put together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// A run that is enqueued before then only waits for the one in progress.
    pub busy_until: Option<Instant>,
    /// How long a run takes by its number of rows, padding included.
    pub times: Arc<BTreeMap<usize, Duration>>,
}

impl Outlook {
    /// How many of the waiting `frames` are run now: those that fill a smaller run, where it makes more frames a second than a
    /// larger one with padding.
    pub fn portion(&self, frames: usize) -> usize {
        let rate = |frames: usize, time: &Duration| frames as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE);
        let padded = self.times.range(frames..).next();
        let smaller = self.times.range(..frames).next_back();
        match (padded, smaller) {
            (Some((_, padded)), Some((rows, time))) if rate(frames, padded) < rate(*rows, time) => *rows,
            _ => frames,
        }
    }
}

/// The runs in progress, and the times of earlier ones. All are of one shape: for another shape, times are learnt anew.
#[derive(Debug, Default)]
pub(super) struct Pace {
    under_way: VecDeque<Started>,
    /// When the run before the oldest of them ended, if that was observed.
    ended: Option<Instant>,
    /// Shared with the last outlook, which is dropped before a new time is learnt.
    times: Arc<BTreeMap<usize, Duration>>,
}

#[derive(Debug)]
struct Started {
    rows: usize,
    /// When the run was enqueued.
    at: Instant,
    /// Whether no other run was in progress then, so that it began at once.
    alone: bool,
    /// Whether it takes as long as all later runs.
    steady: bool,
}

impl Pace {
    /// A run of `rows` rows has been enqueued after the others; `steady` if it takes as long as all later runs.
    pub fn begin(&mut self, rows: usize, at: Instant, steady: bool) {
        let alone = self.under_way.is_empty();
        self.under_way.push_back(Started { rows, at, alone, steady });
    }

    /// The oldest run has ended: at `now`, if it was waited for until then, and otherwise before.
    pub fn end(&mut self, waited: bool, now: Instant) {
        let Some(run) = self.under_way.pop_front() else { return };
        if let (Some(began), true) = (self.began(&run), run.steady) {
            let took = now.saturating_duration_since(began);
            let times = Arc::make_mut(&mut self.times);
            match times.get_mut(&run.rows) {
                None if waited => _ = times.insert(run.rows, took),
                Some(known) if waited => *known = (*known * (WEIGHT - 1) + took) / WEIGHT,
                // The run was over before that was expected. If the known time were kept, no such run would be waited for again.
                Some(known) if took < *known => *known = took * (WEIGHT - 1) / WEIGHT,
                _ => (),
            }
        }
        self.ended = waited.then_some(now);
    }

    /// The next runs are of another shape.
    pub fn forget(&mut self) {
        self.times = Arc::default();
    }

    fn began(&self, run: &Started) -> Option<Instant> {
        if run.alone { Some(run.at) } else { self.ended }
    }

    /// Known with one run in progress or none: when several end is not known.
    pub fn outlook(&self) -> Outlook {
        let busy_until = match (self.under_way.front(), self.under_way.len()) {
            (Some(run), 1) => {
                let took = self.times.get(&run.rows);
                self.began(run).zip(took).and_then(|(began, took)| (began + *took).checked_sub(AHEAD))
            }
            _ => None,
        };
        Outlook { busy_until, times: Arc::clone(&self.times) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn learnt(times: &[(usize, u32)]) -> Outlook {
        let times: BTreeMap<_, _> = times.iter().map(|(rows, ms)| (*rows, MS * *ms)).collect();
        Outlook { busy_until: None, times: times.into() }
    }

    #[test]
    fn a_larger_run_is_padded_only_where_that_makes_more_frames_a_second() {
        // 3.5 frames/ms of 8, 4 of 16.
        let times = BTreeMap::from([(8, Duration::from_micros(2286)), (16, MS * 4)]);
        let outlook = Outlook { times: times.into(), ..Outlook::default() };
        let portions: Vec<_> = [1, 7, 8, 9, 13, 14, 15, 16].map(|n| outlook.portion(n)).into();
        assert_eq!(portions, [1, 7, 8, 8, 8, 14, 15, 16]);
        assert_eq!(learnt(&[(16, 4)]).portion(9), 9, "nothing is known of 8");
        assert_eq!(learnt(&[(8, 2)]).portion(9), 9, "nothing is known of 16");
        assert_eq!(Outlook::default().portion(3), 3);
    }

    #[test]
    fn times_are_those_between_the_ends_that_were_seen() {
        let start = Instant::now();
        let mut pace = Pace::default();
        // Alone: timed from when it was enqueued.
        pace.begin(4, start, true);
        pace.begin(8, start + MS, true);
        pace.end(true, start + 4 * MS);
        assert_eq!(pace.outlook().times, learnt(&[(4, 4)]).times);
        // After another: timed from that run's end.
        pace.begin(8, start + 5 * MS, true);
        pace.end(true, start + 11 * MS);
        assert_eq!(pace.outlook().times[&8], 7 * MS);
        // The run in progress began at that end, and the next is due a little before it ends.
        assert_eq!(pace.outlook().busy_until, Some(start + 18 * MS - AHEAD));
        // A run whose end was not observed gives no time, nor does the one after it.
        pace.begin(8, start + 12 * MS, true);
        pace.end(false, start + 30 * MS);
        assert_eq!(pace.outlook().busy_until, None);
        pace.end(true, start + 40 * MS);
        assert_eq!(pace.outlook().times[&8], 7 * MS);
        assert_eq!(pace.outlook().busy_until, None, "nothing is under way");
        // Nor does one that is not steady.
        pace.begin(16, start + 50 * MS, false);
        pace.end(true, start + 90 * MS);
        assert!(!pace.outlook().times.contains_key(&16));
    }

    #[test]
    fn outlooks_share_what_was_learnt_and_keep_what_they_were_made_with() {
        let (start, mut pace) = (Instant::now(), Pace::default());
        let mut learn = |at: Instant, ms: u32| {
            pace.begin(4, at, true);
            pace.end(true, at + ms * MS);
            pace.outlook()
        };
        let first = learn(start, 8);
        let place = Arc::as_ptr(&first.times);
        drop(first);
        let second = learn(start + 100 * MS, 16);
        assert_eq!(Arc::as_ptr(&second.times), place, "nothing was copied");
        let third = learn(start + 200 * MS, 17);
        assert_eq!((second.times[&4], third.times[&4]), (9 * MS, 10 * MS));
    }

    #[test]
    fn a_time_that_was_far_too_long_is_given_up_though_nobody_waits_for_those_that_follow() {
        let (start, mut pace) = (Instant::now(), Pace::default());
        let mut at = start;
        pace.begin(4, at, true);
        at += 800 * MS;
        pace.end(true, at);
        // Each is over in 5 ms, and found so when it was expected to be.
        for _ in 0..40 {
            pace.begin(4, at, true);
            at += pace.outlook().times[&4].max(5 * MS) - AHEAD;
            pace.end(false, at);
        }
        assert!(pace.outlook().times[&4] < 6 * MS, "{:?}", pace.outlook());
    }

    #[test]
    fn times_follow_slowly_and_are_forgotten_with_the_shape() {
        let start = Instant::now();
        let mut pace = Pace::default();
        for (n, took) in [(0, 8), (1, 16)] {
            let at = start + n * 100 * MS;
            pace.begin(2, at, true);
            pace.end(true, at + took * MS);
        }
        assert_eq!(pace.outlook().times[&2], 9 * MS);
        pace.forget();
        assert_eq!(pace.outlook(), Outlook::default());
    }
}
