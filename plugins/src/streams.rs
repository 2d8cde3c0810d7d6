//! The state that an element keeps for each stream that shares it: downstream of a funnel, streams take turns.

use std::collections::VecDeque;

/// Streams that are remembered; of more, as where sources come and go, those are forgotten whose last turn is the longest ago.
pub(crate) const MOST: usize = 256;

/// The state of a stream.
pub(crate) trait PerStream: Sized {
    /// The state of a stream that has not begun, set up in the same way.
    fn for_new_stream(&self) -> Self;

    /// Forgets the stream: what follows does not continue what came before.
    fn forget(&mut self) {
        *self = self.for_new_stream();
    }
}

/// Whether [`Streams::see`] has something to do: other events need not wait for a frame in progress.
pub(crate) fn concerns(event: &gst::EventRef) -> bool {
    matches!(event.type_(), gst::EventType::StreamStart | gst::EventType::FlushStop)
}

/// The streams by their `stream-id`.
#[derive(Debug, Default)]
pub(crate) struct Streams<T> {
    current: Stream<T>,
    /// In the order of their last turns, the latest first.
    others: VecDeque<Stream<T>>,
    /// The one that was last forgotten because there were more, until it is taken.
    forgotten: Option<Stream<T>>,
    /// The youngest start of those that were forgotten for that reason.
    youngest_forgotten: Option<gst::Seqnum>,
    came_back: bool,
}

#[derive(Debug, Default)]
struct Stream<T> {
    /// None before any has started.
    id: Option<glib::GString>,
    /// The stream's last start.
    start: Option<gst::Seqnum>,
    memory: T,
}

impl<T: PerStream> Streams<T> {
    /// `memory` is the state of the first stream.
    pub fn new(memory: T) -> Self {
        Self {
            current: Stream { id: None, start: None, memory },
            others: VecDeque::new(),
            forgotten: None,
            youngest_forgotten: None,
            came_back: false,
        }
    }

    /// Takes in an event before it passes the element. With a start event, a stream has its turn. If the start is not the
    /// stream's last one, which a funnel repeats at each turn, the stream is forgotten; after a flush all are forgotten. Returns
    /// whether the stream whose turn it is was forgotten.
    pub fn see(&mut self, event: &gst::EventRef) -> bool {
        match event.view() {
            gst::EventView::StreamStart(start) => {
                let known = self.turn(start.stream_id().into());
                // Starts are numbered as they are made: this one is not new, only repeated.
                self.came_back |=
                    !known && self.youngest_forgotten.is_some_and(|last| event.seqnum() <= last);
                let anew = self.current.start.replace(event.seqnum()) != Some(event.seqnum());
                if anew {
                    self.current.memory.forget();
                }
                anew
            }
            gst::EventView::FlushStop(_) => {
                self.iter_mut().for_each(PerStream::forget);
                true
            }
            _ => false,
        }
    }

    /// Gives the stream its turn; returns whether it is remembered.
    fn turn(&mut self, id: glib::GString) -> bool {
        let id = Some(id);
        if self.current.id == id {
            return true;
        }
        let known = self.others.iter().position(|stream| stream.id == id);
        let next = known.and_then(|i| self.others.remove(i));
        let next =
            next.unwrap_or_else(|| Stream { id, start: None, memory: self.current.memory.for_new_stream() });
        let last = std::mem::replace(&mut self.current, next);
        if last.id.is_some() {
            self.others.push_front(last);
            if self.others.len() >= MOST {
                self.forgotten = self.others.pop_back();
                let start = self.forgotten.as_ref().and_then(|stream| stream.start);
                self.youngest_forgotten = start.max(self.youngest_forgotten);
            }
        }
        known.is_some()
    }

    /// Whether a stream has begun anew since the last call, although it had only waited for its turn: it was forgotten because
    /// there were too many others.
    pub fn take_came_back(&mut self) -> bool {
        std::mem::take(&mut self.came_back)
    }

    /// The stream that was forgotten at the last turn because there were too many others, with its `stream-id`.
    pub fn take_forgotten(&mut self) -> Option<(Option<glib::GString>, T)> {
        self.forgotten.take().map(|stream| (stream.id, stream.memory))
    }

    /// The `stream-id` of the stream whose turn it is; none if it is not known.
    pub fn id(&self) -> Option<&str> {
        self.current.id.as_deref()
    }

    /// The stream whose turn it is.
    pub fn current(&self) -> &T {
        &self.current.memory
    }

    /// The stream whose turn it is.
    pub fn current_mut(&mut self) -> &mut T {
        &mut self.current.memory
    }

    /// All streams, with their `stream-id`.
    pub fn named_mut(&mut self) -> impl Iterator<Item = (Option<&str>, &mut T)> {
        let all = std::iter::once(&mut self.current).chain(&mut self.others);
        all.map(|stream| (stream.id.as_deref(), &mut stream.memory))
    }

    /// All streams.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        std::iter::once(&mut self.current).chain(&mut self.others).map(|stream| &mut stream.memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step, and what has been counted.
    #[derive(Debug)]
    struct Count(u32, u32);

    impl PerStream for Count {
        fn for_new_stream(&self) -> Self {
            Self(self.0, 0)
        }
    }

    /// Counts on in the stream of this start; returns the count, and whether the stream has started anew.
    fn count(streams: &mut Streams<Count>, id: &str, start: gst::Seqnum) -> (u32, bool) {
        let event = gst::event::StreamStart::builder(id).seqnum(start).build();
        let anew = streams.see(&event);
        assert_eq!(streams.id(), Some(id));
        let Count(step, count) = streams.current_mut();
        *count += *step;
        (*count, anew)
    }

    #[test]
    fn streams_that_take_turns_go_on_and_those_that_start_anew_do_not() {
        gst::init().unwrap();
        let mut streams = Streams::new(Count(10, 0));
        assert_eq!((streams.id(), streams.current().1), (None, 0));
        let starts = [(); 3].map(|()| gst::Seqnum::next());
        for turn in 1..5 {
            assert_eq!(count(&mut streams, "a", starts[0]), (10 * turn, turn == 1));
            assert_eq!(count(&mut streams, "b", starts[1]), (10 * turn, turn == 1));
            assert!(!streams.see(&gst::event::FlushStart::new()), "not yet");
        }
        assert_eq!(count(&mut streams, "a", starts[2]), (10, true), "from its beginning");
        assert_eq!(count(&mut streams, "b", starts[1]), (50, false));
        assert!(streams.see(&gst::event::FlushStop::new(true)));
        assert_eq!(count(&mut streams, "a", starts[2]), (10, false));
        assert_eq!(count(&mut streams, "b", starts[1]), (10, false));
    }

    #[test]
    fn the_streams_that_are_remembered_are_bounded() {
        gst::init().unwrap();
        let mut streams = Streams::new(Count(1, 0));
        let [first, last] = [(); 2].map(|()| gst::Seqnum::next());
        assert_eq!(count(&mut streams, "first", first), (1, true));
        for stream in 1..=3 * MOST {
            count(&mut streams, &stream.to_string(), gst::Seqnum::next());
            let (turns, anew) = count(&mut streams, "last", last);
            assert_eq!((turns as usize, anew), (stream, stream == 1), "it has its turn again and again");
        }
        assert_eq!(streams.iter_mut().count(), MOST);
        assert!(!streams.take_came_back(), "streams that are gone are no loss");
        assert_eq!(count(&mut streams, "first", first), (1, true), "it was forgotten");
        assert!(streams.take_came_back());
        assert!(!streams.take_came_back(), "once");
    }
}
