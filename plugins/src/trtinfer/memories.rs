//! What is remembered of an element's streams, for a recurrent model or one that sees earlier frames, and when it is forgotten.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::answers::Answers;
use super::batcher::StreamKey;
use super::history::{Histories, Key, Wanted};
use crate::continuity::Continuity;
use crate::inference::FedTensors;
use crate::log::TRTINFER as CAT;
use crate::streams::{PerStream, Streams};
use crate::sync::lock;

/// What is remembered of a stream from one frame to the next. Each frame has a reference to it, and frames after a reset to another
/// one: so frames that are still in flight change nothing for them.
#[derive(Debug)]
pub(super) struct Memory {
    key: StreamKey,
    state: Mutex<Option<FedTensors>>,
    /// Only the streaming thread takes pictures in.
    histories: Mutex<Histories>,
    /// Those of the frames that went out; only the thread that pushes changes them.
    answers: Mutex<Answers>,
}

impl Default for Memory {
    fn default() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Self {
            key: StreamKey(COUNT.fetch_add(1, Ordering::Relaxed)),
            state: Mutex::default(),
            histories: Mutex::default(),
            answers: Mutex::default(),
        }
    }
}

impl Memory {
    /// What its frames are in order by.
    pub fn key(&self) -> StreamKey {
        self.key
    }

    /// What the last run has made; nothing before the first.
    pub fn state(&self) -> Option<FedTensors> {
        lock(&self.state).clone()
    }

    /// A frame comes: `work` takes its pictures in.
    pub fn see<T>(&self, wanted: &Wanted, work: impl FnOnce(&mut Histories) -> T) -> T {
        let mut histories = lock(&self.histories);
        histories.begin_frame(wanted);
        work(&mut histories)
    }

    /// The runs for these are made for their next pictures.
    pub fn postpone(&self, keys: impl Iterator<Item = Key>) {
        let mut histories = lock(&self.histories);
        keys.for_each(|key| histories.postpone(key));
    }

    /// A frame goes out: `work` gives it its answers. Those of what is forgotten are dropped.
    pub fn answer<T>(&self, work: impl FnOnce(&mut Answers) -> T) -> T {
        let mut answers = lock(&self.answers);
        let done = work(&mut answers);
        let histories = lock(&self.histories);
        answers.retain(|key, _| histories.has(*key));
        done
    }

    /// If no run was made of a stream: in how many frames something was seen, and how many objects had no identity, if none had one.
    pub fn without_run(&self) -> Option<(usize, u64)> {
        let histories = lock(&self.histories);
        let untracked = if histories.is_tracked { 0 } else { histories.untracked };
        (histories.runs == 0 && histories.longest as u64 + untracked > 0)
            .then_some((histories.longest, untracked))
    }

    /// A run has made this.
    pub fn remember(&self, state: Option<FedTensors>) {
        *lock(&self.state) = state;
    }
}

/// What is remembered of each stream of an element. Only its streaming thread changes it.
#[derive(Debug)]
pub(super) struct Memories(Mutex<Streams<StreamMemory>>);

#[derive(Debug, Default)]
struct StreamMemory {
    memory: Arc<Memory>,
    continuity: Continuity,
}

impl PerStream for StreamMemory {
    fn for_new_stream(&self) -> Self {
        Self::default()
    }

    fn forget(&mut self) {
        self.memory = Arc::default();
        self.continuity.forget();
    }
}

impl Default for Memories {
    fn default() -> Self {
        Self(Mutex::new(Streams::new(StreamMemory::default())))
    }
}

impl Memories {
    /// Takes an event in, in its place between the frames. The stream is forgotten with other caps, with a segment that does not
    /// continue what came before, and where it starts anew; all are after a flush. A funnel repeats a stream's events at each of its
    /// turns, which changes nothing. Returns whether a stream began anew only because too many others took turns.
    pub fn see(&self, event: &gst::EventRef) -> bool {
        let mut streams = lock(&self.0);
        streams.see(event);
        let stream = streams.current_mut();
        if let Some(why) = stream.continuity.see(event) {
            gst::info!(CAT, "a stream's state begins anew: {why}");
            stream.memory = Arc::default();
        }
        streams.take_came_back()
    }

    /// What is remembered for the frame that comes now.
    pub fn of(&self, frame: &gst::BufferRef) -> Arc<Memory> {
        let mut streams = lock(&self.0);
        let stream = streams.current_mut();
        stream.continuity.see_frame(frame);
        Arc::clone(&stream.memory)
    }

    /// Of a stream of which no run was made: as [`Memory::without_run`].
    pub fn without_run(&self) -> Option<(usize, u64)> {
        lock(&self.0).iter_mut().find_map(|stream| stream.memory.without_run())
    }

    /// Forgets all streams, because another model runs them from now on.
    pub fn forget(&self) {
        lock(&self.0).iter_mut().for_each(|stream| stream.memory = Arc::default());
    }
}

#[cfg(test)]
mod tests {
    use gst::ClockTime;

    use super::*;

    const SECOND: ClockTime = ClockTime::SECOND;

    fn segment(start: u64, base: u64, rate: f64) -> gst::Event {
        let mut segment = gst::FormattedSegment::<ClockTime>::new();
        segment.set_start(start * SECOND);
        segment.set_time(start * SECOND);
        segment.set_base(base * SECOND);
        segment.set_rate(rate);
        gst::event::Segment::new(&segment)
    }

    fn caps(width: i32) -> gst::Event {
        gst::event::Caps::new(&gst::Caps::builder("video/x-raw").field("width", width).build())
    }

    /// The name of the stream of the frame of this second.
    fn key(memories: &Memories, second: u64) -> StreamKey {
        let mut frame = gst::Buffer::new();
        frame.get_mut().unwrap().set_pts(second * SECOND);
        frame.get_mut().unwrap().set_duration(SECOND);
        memories.of(&frame).key()
    }

    #[test]
    fn a_stream_is_forgotten_where_it_does_not_go_on_and_only_there() {
        gst::init().unwrap();
        let memories = Memories::default();
        let see = |event: &gst::Event| assert!(!memories.see(event));
        [gst::event::StreamStart::new("a"), caps(8), segment(0, 0, 1.0)].iter().for_each(see);
        let mut last = key(&memories, 0);
        for (second, event, anew) in [
            (1, None, false),
            (2, Some(caps(8)), false),
            (3, Some(segment(0, 0, 1.0)), false),
            // It goes on where the last frame ended.
            (4, Some(segment(4, 4, 1.0)), false),
            // A seek without a flush, forward, and one back to where the segment before it began; the end of a loop.
            (9, Some(segment(9, 5, 1.0)), true),
            (4, Some(segment(4, 6, 1.0)), true),
            (4, Some(segment(4, 7, 1.0)), true),
            (5, Some(segment(5, 5, -1.0)), true),
            (5, Some(caps(16)), true),
            (6, Some(gst::event::Gap::new(6 * SECOND, SECOND)), false),
            (6, Some(gst::event::FlushStart::new()), false),
            (6, Some(gst::event::FlushStop::new(true)), true),
            (6, Some(caps(32)), true),
            (0, Some(gst::event::StreamStart::new("a")), true),
        ] {
            event.iter().for_each(see);
            let now = key(&memories, second);
            assert_eq!(now != last, anew, "at {second}, {event:?}");
            last = now;
        }
    }

    #[test]
    fn streams_that_take_turns_are_remembered_each() {
        gst::init().unwrap();
        let memories = Memories::default();
        let turn = |name: &str, events: &[gst::Event; 3]| {
            events.iter().for_each(|event| assert!(!memories.see(event)));
            (name.to_owned(), key(&memories, 0))
        };
        let events =
            |name: &str, width| [gst::event::StreamStart::new(name), caps(width), segment(0, 0, 1.0)];
        let (a, b) = (events("a", 8), events("b", 16));
        let first = [turn("a", &a), turn("b", &b)];
        assert_ne!(first[0].1, first[1].1);
        assert_eq!([turn("a", &a), turn("b", &b)], first);
        memories.forget();
        let other_model = [turn("a", &a), turn("b", &b)];
        assert!(other_model.iter().all(|now| !first.contains(now)));
    }
}
