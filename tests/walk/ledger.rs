//! What becomes of each frame of a stream. A frame that comes in gets a number and is in flight until it comes out. Those before it
//! that did not come out are lost: flushed if something that may lose frames was done while they were in flight, and dropped if not.

use std::collections::VecDeque;
use std::sync::Mutex;

/// How many frames one operation may take from a stream: those in flight in trtinfer, and those on their way to it and from it.
pub const IN_FLIGHT: u64 = 4;
const LOST_AT_ONCE: u64 = IN_FLIGHT + 4;

/// Frames by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Came in.
    pub entered: u64,
    /// Came out.
    pub left: u64,
    /// Lost to a flush, a stop, or an element that was taken out.
    pub flushed: u64,
    /// Lost to nothing of that kind.
    pub dropped: u64,
    /// Reported as dropped, in QOS messages.
    pub reported: u64,
}

impl Counts {
    /// Adds those of another stream.
    pub fn add(&mut self, other: Self) {
        self.entered += other.entered;
        self.left += other.left;
        self.flushed += other.flushed;
        self.dropped += other.dropped;
        self.reported += other.reported;
    }
}

struct InFlight {
    number: u64,
    /// The first event, by its number, that may lose it; 0 if there was none.
    loser: u64,
}

#[derive(Default)]
struct State {
    counts: Counts,
    in_flight: VecDeque<InFlight>,
    /// Events so far that may lose frames.
    losers: u64,
    /// What the last of them has lost, of those that have been seen missing.
    lost_by: (u64, u64),
    /// Flushes that have come in, by their sequence numbers, with the first frame after each.
    flushes: VecDeque<(gst::Seqnum, u64)>,
    /// Frames before it have been flushed, and must not come out.
    first: u64,
    /// The frame before which the stream ended; none while frames come.
    end: Option<u64>,
    has_ended: bool,
    /// Whether a frame has come out since the stream started.
    flows: bool,
    faults: Vec<String>,
}

/// The frames of one stream.
pub struct Ledger {
    state: Mutex<State>,
    /// Whether the stream may drop frames, which it must report.
    leaky: bool,
}

impl Ledger {
    /// Of a stream before its first frame.
    pub fn new(leaky: bool) -> Self {
        Self { state: Mutex::default(), leaky }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A frame comes in; returns its number.
    pub fn enter(&self) -> u64 {
        let mut state = self.state();
        (state.end, state.has_ended) = (None, false);
        let number = state.counts.entered;
        state.counts.entered += 1;
        state.in_flight.push_back(InFlight { number, loser: 0 });
        number
    }

    /// A frame comes out.
    pub fn leave(&self, number: u64) {
        let mut state = self.state();
        if number < state.first {
            let first = state.first;
            state.faults.push(format!("frame {number} came after the flush before frame {first}"));
        }
        while let Some(frame) = state.in_flight.pop_front() {
            if frame.number == number {
                state.counts.left += 1;
                state.flows = true;
                return;
            }
            if frame.number > number {
                state.in_flight.push_front(frame);
                break;
            }
            self.lose(&mut state, frame);
        }
        state.faults.push(format!("frame {number} came out twice, out of its order, or never came in"));
    }

    fn lose(&self, state: &mut State, frame: InFlight) {
        if frame.loser == 0 {
            state.counts.dropped += 1;
            // A leaky stream may report it later.
            if !self.leaky && state.counts.dropped > state.counts.reported {
                state.faults.push(format!(
                    "frame {} did not come out, and nothing flushed or reported it",
                    frame.number
                ));
            }
            return;
        }
        state.counts.flushed += 1;
        let before = if state.lost_by.0 == frame.loser { state.lost_by.1 } else { 0 };
        state.lost_by = (frame.loser, before + 1);
        if before + 1 > LOST_AT_ONCE && !self.leaky {
            state.faults.push(format!(
                "more than {LOST_AT_ONCE} frames were lost at once, the last is {}",
                frame.number
            ));
        }
    }

    /// Something happens that may lose the frames in flight.
    pub fn may_lose(&self) {
        let mut state = self.state();
        state.losers += 1;
        let loser = state.losers;
        state.in_flight.iter_mut().filter(|frame| frame.loser == 0).for_each(|frame| frame.loser = loser);
    }

    /// The stream starts.
    pub fn start(&self) {
        self.may_lose();
        self.state().flows = false;
    }

    /// Whether frames have come out since the stream started.
    pub fn flows(&self) -> bool {
        self.state().flows
    }

    /// A flush has ended where frames come in.
    pub fn flush_enters(&self, flush: gst::Seqnum) {
        self.may_lose();
        let mut state = self.state();
        (state.end, state.has_ended) = (None, false);
        let first = state.counts.entered;
        state.flushes.push_back((flush, first));
        state.flushes.truncate(64);
    }

    /// A flush has ended where frames come out: none of those before it may follow.
    pub fn flush_leaves(&self, flush: gst::Seqnum) {
        let mut state = self.state();
        while let Some((entered, first)) = state.flushes.pop_front() {
            if entered == flush {
                state.first = first;
                return;
            }
        }
    }

    /// The stream ends where frames come in.
    pub fn end_enters(&self) {
        let mut state = self.state();
        (state.end, state.has_ended) = (Some(state.counts.entered), true);
    }

    /// The stream ends where frames come out: all have come.
    pub fn end_leaves(&self) {
        let mut state = self.state();
        let Some(end) = state.end.take() else { return };
        while state.in_flight.front().is_some_and(|frame| frame.number < end) {
            let Some(frame) = state.in_flight.pop_front() else { break };
            self.lose(&mut state, frame);
        }
    }

    /// Whether the stream has ended and nothing has come since.
    pub fn has_ended(&self) -> bool {
        self.state().has_ended
    }

    /// A frame was reported as dropped.
    pub fn report(&self) {
        self.state().counts.reported += 1;
    }

    /// Something else is wrong.
    pub fn fault(&self, fault: String) {
        self.state().faults.push(fault);
    }

    /// What is wrong so far.
    pub fn faults(&self) -> Vec<String> {
        std::mem::take(&mut self.state().faults)
    }

    /// The stream has stopped: nothing is in flight any more, and each frame is accounted for.
    pub fn close(&self) -> Counts {
        self.may_lose();
        let mut state = self.state();
        while let Some(frame) = state.in_flight.pop_front() {
            self.lose(&mut state, frame);
        }
        let counts = state.counts;
        // Of frames that were missing after a flush, it is not known which of both lost them.
        let possible = counts.dropped..=counts.dropped + counts.flushed;
        if !possible.contains(&counts.reported) {
            state.faults.push(format!("{} frames were reported as dropped: {counts:?}", counts.reported));
        }
        counts
    }

    /// Frames so far.
    pub fn counts(&self) -> Counts {
        self.state().counts
    }
}

#[cfg(test)]
mod tests {
    use super::Ledger;

    #[test]
    fn a_frame_that_is_missing_without_a_flush_is_a_fault() {
        let ledger = Ledger::new(false);
        (0..3).for_each(|number| assert_eq!(ledger.enter(), number));
        ledger.leave(0);
        ledger.leave(2);
        assert_eq!(ledger.faults().len(), 1);
        assert_eq!(ledger.close().dropped, 1);
    }

    #[test]
    fn a_frame_that_was_flushed_is_missed_by_nobody_and_must_not_come_any_more() {
        let ledger = Ledger::new(false);
        (0..2).for_each(|number| assert_eq!(ledger.enter(), number));
        let flush = gst::Seqnum::next();
        ledger.flush_enters(flush);
        ledger.flush_leaves(flush);
        let third = ledger.enter();
        ledger.leave(third);
        assert_eq!(ledger.faults(), [""; 0]);
        assert_eq!(ledger.counts().flushed, 2);
        ledger.leave(1);
        assert_eq!(ledger.faults().len(), 2, "it is late, and is in flight no more");
    }

    #[test]
    fn an_end_comes_after_all_frames_and_none_comes_twice() {
        let ledger = Ledger::new(false);
        (0..2).for_each(|number| assert_eq!(ledger.enter(), number));
        ledger.leave(0);
        ledger.leave(0);
        assert_eq!(ledger.faults().len(), 1);
        ledger.end_enters();
        ledger.end_leaves();
        assert_eq!(ledger.faults().len(), 1);
    }

    #[test]
    fn what_a_leaky_stream_drops_must_be_reported() {
        let ledger = Ledger::new(true);
        (0..3).for_each(|number| assert_eq!(ledger.enter(), number));
        ledger.leave(2);
        assert_eq!(ledger.faults(), [""; 0]);
        ledger.report();
        ledger.close();
        assert_eq!(ledger.faults().len(), 1, "one of two was reported");
    }
}
