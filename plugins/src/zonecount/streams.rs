//! What is counted, apart for each stream that shares the element: identities of two streams are not the same objects.

use std::collections::VecDeque;

use cudainfer_kernels::zones::{Counter, Params, ZoneError};

/// Streams that are remembered besides the one whose turn it is; of more, as behind a funnel of sources that come and go, those
/// are forgotten that have not had their turn for the longest time.
const MOST_OTHERS: usize = 63;

/// Everything of one stream.
pub(super) struct Stream {
    pub counter: Counter,
    /// Width and height of its frames.
    pub size: [usize; 2],
    id: String,
    /// The start that it had last.
    start: Option<gst::Seqnum>,
}

impl Stream {
    fn new(id: &str, params: Params) -> Result<Self, ZoneError> {
        Ok(Self { counter: Counter::new(params)?, size: [0; 2], id: id.to_owned(), start: None })
    }

    /// Its frames are of this size now and last as long, in ns. Whether they were of another before.
    pub fn fit(&mut self, size: [usize; 2], duration: Option<u64>) -> bool {
        self.counter.set_frame(size, duration);
        std::mem::replace(&mut self.size, size) != size
    }
}

/// The streams by their `stream-id`.
pub(super) struct Streams {
    /// The one whose turn it is.
    pub current: Stream,
    /// Who had their turn last comes first.
    others: VecDeque<Stream>,
}

impl Streams {
    pub fn new(params: Params) -> Result<Self, ZoneError> {
        Ok(Self { current: Stream::new("", params)?, others: VecDeque::new() })
    }

    /// A stream starts, or has its turn again: a funnel repeats its start then, the same event. Whether it starts anew; then what
    /// it has counted is forgotten.
    pub fn start(&mut self, id: &str, start: gst::Seqnum) -> Result<bool, ZoneError> {
        if self.current.id != id {
            let known = self.others.iter().position(|stream| stream.id == id);
            let next = match known.and_then(|i| self.others.remove(i)) {
                Some(known) => known,
                None => Stream::new(id, self.current.counter.params().clone())?,
            };
            self.others.push_front(std::mem::replace(&mut self.current, next));
            self.others.truncate(MOST_OTHERS);
        }
        let anew = self.current.start.replace(start) != Some(start);
        if anew {
            self.current.counter.reset();
        }
        Ok(anew)
    }

    /// The counters of all streams.
    pub fn counters(&mut self) -> impl Iterator<Item = &mut Counter> {
        std::iter::once(&mut self.current).chain(&mut self.others).map(|stream| &mut stream.counter)
    }

    /// Takes other zones for all streams.
    ///
    /// # Errors
    /// Parameters that cannot be used; then nothing changes.
    pub fn replace(&mut self, params: &Params) -> Result<(), ZoneError> {
        self.counters().try_for_each(|counter| counter.replace(params.clone()))
    }
}

#[cfg(test)]
mod tests {
    use cudainfer_kernels::geometry::Rect;
    use cudainfer_kernels::zones::{FrameTime, Kind, Sighting, Zone};

    use super::*;

    fn streams() -> Streams {
        gst::init().unwrap();
        let points = vec![[0.0, 0.0], [9.0, 0.0], [9.0, 9.0], [0.0, 9.0]];
        let zones = vec![Zone::new("yard", Kind::Polygon, points)];
        Streams::new(Params { zones, min_frames: 1, ..Params::default() }).unwrap()
    }

    /// A frame in which somebody is in the yard; how many have entered it so far.
    fn entered(streams: &mut Streams, id: u64) -> u64 {
        let rect = Rect { x: 1.0, y: 1.0, w: 4.0, h: 4.0 };
        let counter = &mut streams.current.counter;
        counter.update(FrameTime::default(), &[Sighting { id: Some(id), label: "", class: None, rect }]);
        counter.totals(0).unwrap().all.entered
    }

    #[test]
    fn streams_that_take_turns_keep_their_counts_and_those_that_start_anew_do_not() {
        let mut streams = streams();
        let starts = [(); 3].map(|()| gst::Seqnum::next());
        for turn in 0..4 {
            assert_eq!(streams.start("a", starts[0]).unwrap(), turn == 0);
            assert_eq!(entered(&mut streams, turn), turn + 1, "a, turn {turn}");
            assert_eq!(streams.start("b", starts[1]).unwrap(), turn == 0);
            assert_eq!(entered(&mut streams, 0), 1, "b, turn {turn}");
        }
        assert!(streams.start("a", starts[2]).unwrap());
        assert_eq!(entered(&mut streams, 0), 1);
        assert!(!streams.start("b", starts[1]).unwrap());
        assert_eq!(entered(&mut streams, 1), 2);
    }

    #[test]
    fn the_streams_that_are_remembered_are_bounded() {
        let mut streams = streams();
        let [first, last] = [(); 2].map(|()| gst::Seqnum::next());
        streams.start("first", first).unwrap();
        streams.start("last", last).unwrap();
        for stream in 0..3 * MOST_OTHERS {
            streams.start(&stream.to_string(), gst::Seqnum::next()).unwrap();
            assert!(!streams.start("last", last).unwrap(), "it has its turn again and again");
        }
        assert_eq!(streams.counters().count(), MOST_OTHERS + 1);
        assert!(streams.start("first", first).unwrap(), "it was forgotten");
    }
}
