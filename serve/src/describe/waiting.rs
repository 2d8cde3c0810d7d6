//! Events that wait for their picture, and then for their turn: a state machine that knows nothing of threads and clocks.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::history::{EventMark, PipelineRun};

/// How much longer than for the best picture an event waits for its own, which is made within seconds.
const GRACE: Duration = Duration::from_secs(15);

/// Whose best picture an event waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackOf {
    /// The stream.
    pub stream: String,
    /// The run of its pipeline: tracks begin again with each.
    pub run: PipelineRun,
    /// The track.
    pub track: u64,
}

/// The events that wait. `T` is what they are.
#[derive(Debug)]
pub struct Waiting<T> {
    most: usize,
    events: VecDeque<WaitingEvent<T>>,
}

#[derive(Debug)]
struct WaitingEvent<T> {
    event: T,
    mark: EventMark,
    /// Whose picture would be better than the event's own.
    track: Option<TrackOf>,
    picture: Picture,
    /// Until when it waits for a better picture.
    until: Instant,
}

#[derive(Debug)]
enum Picture {
    /// Its own is being made.
    Coming,
    /// There is none of its own.
    Missing,
    /// Its own, or the best of its track.
    There(Vec<u8>),
}

/// What can be done now.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// This event's turn has come, with its picture if there is one.
    Ready(T, EventMark, Option<Vec<u8>>),
    /// Nothing before then, unless a picture comes.
    Wait(Instant),
    /// Nothing waits.
    Nothing,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Self { most: 0, events: VecDeque::new() }
    }
}

impl<T> Waiting<T> {
    /// Lets as many wait. Those that wait already stay.
    pub fn limit(&mut self, most: usize) {
        self.most = most;
    }

    /// Adds an event, whose picture comes later. If there is no room, it is given back.
    pub fn add(
        &mut self,
        event: T,
        mark: EventMark,
        track: Option<TrackOf>,
        until: Instant,
    ) -> Result<(), T> {
        if self.events.len() >= self.most {
            return Err(event);
        }
        self.events.push_back(WaitingEvent { event, mark, track, picture: Picture::Coming, until });
        Ok(())
    }

    /// Has an event that was taken come next, with the same picture.
    pub fn put_back(&mut self, event: T, mark: EventMark, picture: Vec<u8>, until: Instant) {
        let picture = Picture::There(picture);
        self.events.push_front(WaitingEvent { event, mark, track: None, picture, until });
    }

    /// The own picture of an event has been made; or there is none.
    pub fn own_picture(&mut self, mark: EventMark, jpeg: Option<&[u8]>) {
        let of_event = self.events.iter_mut().find(|event| event.mark == mark);
        if let Some(event) = of_event.filter(|event| matches!(event.picture, Picture::Coming)) {
            event.picture = jpeg.map_or(Picture::Missing, |jpeg| Picture::There(jpeg.to_vec()));
        }
    }

    /// The best picture of a track has been made: nothing better comes.
    pub fn best_picture(&mut self, track: &TrackOf, jpeg: &[u8], now: Instant) {
        for event in self.events.iter_mut().filter(|event| event.track.as_ref() == Some(track)) {
            event.picture = Picture::There(jpeg.to_vec());
            event.until = event.until.min(now);
        }
    }

    /// Takes the first event whose turn it is.
    pub fn next(&mut self, now: Instant) -> Next<T> {
        let Some(first) = self.events.iter().map(WaitingEvent::ready_at).min() else { return Next::Nothing };
        if first > now {
            return Next::Wait(first);
        }
        let place = self.events.iter().position(|event| event.ready_at() <= now);
        match place.and_then(|place| self.events.remove(place)) {
            Some(WaitingEvent { event, mark, picture: Picture::There(jpeg), .. }) => {
                Next::Ready(event, mark, Some(jpeg))
            }
            Some(WaitingEvent { event, mark, .. }) => Next::Ready(event, mark, None),
            None => Next::Nothing,
        }
    }

    /// Takes those that are not wanted any more.
    pub fn take_unless(&mut self, wanted: impl Fn(&T) -> bool) -> Vec<(T, EventMark)> {
        let (kept, gone): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.events).into_iter().partition(|waiting| wanted(&waiting.event));
        self.events = kept;
        gone.into_iter().map(|waiting| (waiting.event, waiting.mark)).collect()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.events.len()
    }
}

impl<T> WaitingEvent<T> {
    fn ready_at(&self) -> Instant {
        match self.picture {
            Picture::There(_) | Picture::Missing => self.until,
            Picture::Coming => self.until + GRACE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(number: i64) -> EventMark {
        EventMark { time: 0, number }
    }

    fn track(track: u64) -> TrackOf {
        TrackOf { stream: "door".into(), run: PipelineRun::default(), track }
    }

    fn of(most: usize) -> Waiting<&'static str> {
        let mut waiting = Waiting::default();
        waiting.limit(most);
        waiting
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn an_event_waits_for_the_best_picture_up_to_its_limit() {
        // Nothing here depends on how fast the test runs: all of it happens an hour later.
        let now = Instant::now() + 3600 * SECOND;
        let mut waiting = of(8);
        waiting.add("best", mark(1), Some(track(7)), now + 10 * SECOND).unwrap();
        waiting.add("own", mark(2), Some(track(8)), now + 20 * SECOND).unwrap();
        assert_eq!(waiting.next(now), Next::Wait(now + 10 * SECOND + GRACE));
        waiting.own_picture(mark(1), Some(b"own 1"));
        waiting.own_picture(mark(2), Some(b"own 2"));
        assert_eq!(waiting.next(now), Next::Wait(now + 10 * SECOND));
        // Neither a track of another run nor one of another stream.
        waiting.best_picture(&TrackOf { stream: "yard".into(), ..track(7) }, b"other", now);
        assert_eq!(waiting.next(now), Next::Wait(now + 10 * SECOND));
        waiting.best_picture(&track(7), b"best 1", now);
        waiting.own_picture(mark(1), Some(b"late"));
        assert_eq!(waiting.next(now), Next::Ready("best", mark(1), Some(b"best 1".to_vec())));
        assert_eq!(waiting.next(now), Next::Wait(now + 20 * SECOND));
        assert_eq!(waiting.next(now + 20 * SECOND), Next::Ready("own", mark(2), Some(b"own 2".to_vec())));
        assert_eq!(waiting.next(now), Next::Nothing);
    }

    #[test]
    fn an_event_whose_picture_does_not_come_does_not_wait_for_ever() {
        let now = Instant::now() + 3600 * SECOND;
        let mut waiting = of(8);
        waiting.add("missing", mark(1), None, now).unwrap();
        waiting.add("lost", mark(2), None, now).unwrap();
        waiting.own_picture(mark(1), None);
        assert_eq!(waiting.next(now), Next::Ready("missing", mark(1), None));
        assert_eq!(waiting.next(now), Next::Wait(now + GRACE));
        assert_eq!(waiting.next(now + GRACE), Next::Ready("lost", mark(2), None));
    }

    #[test]
    fn there_is_a_limit_and_one_that_is_put_back_comes_first() {
        let now = Instant::now();
        let mut waiting = of(2);
        waiting.add("one", mark(1), None, now).unwrap();
        waiting.add("two", mark(2), None, now).unwrap();
        assert_eq!(waiting.add("three", mark(3), None, now), Err("three"));
        waiting.own_picture(mark(1), Some(b"1"));
        let Next::Ready("one", _, Some(jpeg)) = waiting.next(now) else { panic!("one is ready") };
        waiting.add("three", mark(3), None, now).unwrap();
        waiting.put_back("one", mark(1), jpeg, now);
        assert_eq!(waiting.len(), 3);
        assert_eq!(waiting.next(now), Next::Ready("one", mark(1), Some(b"1".to_vec())));
        assert_eq!(waiting.take_unless(|event| *event == "two"), [("three", mark(3))]);
        assert_eq!(waiting.len(), 1);
    }
}
