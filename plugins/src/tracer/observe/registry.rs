//! Where the streams, their counts and our own elements are found; it keeps none of them alive.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, Weak};

use gst::glib;
use gst::prelude::*;

use super::attached::{Attached, find_or_attach};
use super::pipeline::Pipeline;
use super::series::Series;
use super::stream::{Stream, is_origin};
use super::topology;
use crate::sync::lock;

/// The keys of series: pipeline, element and stream, as their labels name them.
type SeriesKey = (String, String, String);

/// The registry. Locked where a stream begins or first comes to an element, and to be read; not for each frame.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// By the start and the id that events tell.
    starts: BTreeMap<(gst::Seqnum, String), Weak<Stream>>,
    /// By pipeline and label.
    streams: HashMap<(String, String), Weak<Stream>>,
    series: HashMap<SeriesKey, Weak<Series>>,
    elements: Vec<glib::WeakRef<gst::Element>>,
}

/// The counts of an element that belong to no stream; attached to the element.
#[derive(Debug)]
struct WithoutStream(Arc<Series>);

impl Attached for WithoutStream {
    fn quark() -> glib::Quark {
        static QUARK: LazyLock<glib::Quark> =
            LazyLock::new(|| glib::Quark::from_str("cudainfer-traced-element"));
        *QUARK
    }
}

impl Registry {
    /// The stream with this start, if it is known.
    pub(super) fn known(&self, start: &gst::event::StreamStart) -> Option<Arc<Stream>> {
        let key = (start.seqnum(), start.stream_id().to_owned());
        lock(&self.0).starts.get(&key).and_then(Weak::upgrade)
    }

    /// The stream with this start, which begins at `pad`, a source pad of `own`, where those of `incoming` come in; and whether
    /// it is another one than these.
    pub(super) fn begin(
        &self,
        start: &gst::event::StreamStart,
        (own, pad): (&gst::Element, &gst::Pad),
        incoming: &[Arc<Stream>],
    ) -> (Arc<Stream>, bool) {
        let label = topology::label(own, pad, start.stream_id());
        let pipeline = Pipeline::of(own);
        let mut inner = lock(&self.0);
        // Some elements announce the stream that they hand on in an event of their own.
        let same = inner.of_id(start.stream_id(), incoming);
        let is_new = same.is_none();
        let stream = same.unwrap_or_else(|| inner.named(&pipeline, &label, pad));
        inner.forget();
        inner.starts.insert((start.seqnum(), start.stream_id().to_owned()), Arc::downgrade(&stream));
        (stream, is_new)
    }

    /// What frames belong to that come without the start of a stream.
    pub(super) fn unnamed(&self, pipeline: &Arc<Pipeline>) -> Arc<Stream> {
        let mut inner = lock(&self.0);
        let place = inner.streams.entry((pipeline.name.clone(), String::new())).or_default();
        place.upgrade().unwrap_or_else(|| {
            let stream = Arc::new(Stream::new(Arc::clone(pipeline), String::new()));
            *place = Arc::downgrade(&stream);
            stream
        })
    }

    /// The counts of a stream in the element of this name.
    pub(super) fn series(&self, element: &str, stream: &Arc<Stream>) -> Arc<Series> {
        let key = (stream.pipeline.name.clone(), element.to_owned(), stream.label.clone());
        let mut inner = lock(&self.0);
        let place = inner.series.entry(key).or_default();
        place.upgrade().unwrap_or_else(|| {
            let series = Arc::new(Series::new(element.to_owned(), Arc::clone(stream)));
            *place = Arc::downgrade(&series);
            series
        })
    }

    /// The counts of an element that belong to no stream.
    pub(super) fn without_stream(&self, element: &gst::Element) -> Arc<Series> {
        let make = || {
            let stream = self.unnamed(&Pipeline::of(element));
            WithoutStream(self.series(&element.name(), &stream))
        };
        Arc::clone(&find_or_attach(element, make).0)
    }

    /// One of our own elements starts: it has statistics.
    pub(super) fn know(&self, element: &gst::Element) {
        if !super::super::stats::has_stats(element) {
            return;
        }
        let mut inner = lock(&self.0);
        inner.elements.retain(|known| known.upgrade().is_some_and(|known| known != *element));
        inner.elements.push(element.downgrade());
    }

    /// A pipeline has stopped.
    pub(super) fn stopped(&self, pipeline: &Arc<Pipeline>) {
        for stream in self.streams().iter().filter(|stream| Arc::ptr_eq(&stream.pipeline, pipeline)) {
            stream.go();
        }
    }

    /// The streams that are not gone.
    pub fn streams(&self) -> Vec<Arc<Stream>> {
        let all: Vec<_> = lock(&self.0).streams.values().filter_map(Weak::upgrade).collect();
        all.into_iter().filter(|stream| !stream.is_gone()).collect()
    }

    /// The counts of the streams that are not gone.
    pub fn all_series(&self) -> Vec<Arc<Series>> {
        let all: Vec<_> = lock(&self.0).series.values().filter_map(Weak::upgrade).collect();
        all.into_iter().filter(|series| !series.stream.is_gone()).collect()
    }

    /// Our own elements that are not in NULL.
    pub fn elements(&self) -> Vec<gst::Element> {
        let all: Vec<_> = lock(&self.0).elements.iter().filter_map(glib::WeakRef::upgrade).collect();
        all.into_iter().filter(|element| element.current_state() != gst::State::Null).collect()
    }
}

impl Inner {
    /// The stream among these that has had this id before.
    fn of_id(&self, id: &str, among: &[Arc<Stream>]) -> Option<Arc<Stream>> {
        let known = self
            .starts
            .iter()
            .filter(|((_, known), _)| known == id)
            .filter_map(|(_, stream)| stream.upgrade());
        known.into_iter().find(|stream| among.iter().any(|other| Arc::ptr_eq(other, stream)))
    }

    /// The stream of this label, or one with a number after it if that stream goes on somewhere else.
    fn named(&mut self, pipeline: &Arc<Pipeline>, label: &str, pad: &gst::Pad) -> Arc<Stream> {
        let mut name = label.to_owned();
        for number in 2u32.. {
            let place = self.streams.entry((pipeline.name.clone(), name.clone())).or_default();
            match place.upgrade() {
                Some(there)
                    if !Arc::ptr_eq(&there.pipeline, pipeline)
                        || (there.is_live() && !is_origin(pad, &there)) =>
                {
                    name = format!("{label}#{number}");
                }
                Some(there) => return there,
                None => {
                    let stream = Arc::new(Stream::new(Arc::clone(pipeline), name));
                    *place = Arc::downgrade(&stream);
                    return stream;
                }
            }
        }
        Arc::new(Stream::new(Arc::clone(pipeline), name))
    }

    /// Drops pointers to released objects.
    fn forget(&mut self) {
        self.starts.retain(|_, stream| stream.strong_count() > 0);
        self.streams.retain(|_, stream| stream.strong_count() > 0);
        self.series.retain(|_, series| series.strong_count() > 0);
    }
}
