use std::sync::{Arc, Mutex};

use cudainfer_kernels::device::Counters;
use cudainfer_kernels::track::{MOST_DETECTIONS, MOST_POSES};
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::appearance::{has_embeddings, refusal};
use super::confirmation::Unconfirmed;
use super::follow::{State, Surroundings, Tally};
use super::properties::PROPERTIES;
use super::scene::Scene;
use super::settings::Settings;
use super::stream_tracker::StreamTracker;
use super::{Between, Similarity};
use crate::device::{self, Gpu};
use crate::element::described;
use crate::embed::asked;
use crate::log::TRACKER as CAT;
use crate::memory::cropping::{self, Use};
use crate::meta::analytics::Contents;
use crate::model::{self, accepts};
use crate::streams::{self, Streams};
use crate::sync::lock;
use crate::{between, caps, individuals, meta, notice, stats};

#[derive(Default)]
pub struct Tracker {
    settings: Mutex<Settings>,
    state: Mutex<Option<State>>,
    gpu: Gpu,
    counters: Arc<Counters>,
    tally: Tally,
}

impl Tracker {
    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            object: self.obj().clone().upcast(),
            settings: &self.settings,
            gpu: &self.gpu,
            counters: &self.counters,
            tally: &self.tally,
            reverse: self.obj().segment().rate() < 0.0,
        }
    }

    fn warn_of_backwards(&self) {
        gst::element_warning!(
            self.obj(),
            gst::StreamError::Format,
            (
                "{}: a frame's timestamp is not after the one before. The frame is treated as if it came one frame period \
                 later. The property stats counts such frames as untimed",
                self.obj().name()
            )
        );
    }

    fn warn_of_late_frames(&self, late: f64) {
        gst::element_warning!(
            self.obj(),
            gst::StreamError::Format,
            (
                "{}: frames are {late:.0} frame durations of the caps' frame rate apart, so tracks end before they can be \
                 matched. Put videorate before this element, so that the caps have the real frame rate, or raise max-lost",
                self.obj().name()
            )
        );
    }

    fn warn_of_long_interval(&self, frames: f64) {
        gst::element_warning!(
            self.obj(),
            gst::StreamError::Failed,
            (
                "{}: no model has seen {frames:.0} frames in a row, which is longer than tracks are remembered, so they end. Set a smaller \
                 interval of fusedpreproc, or raise max-lost",
                self.obj().name()
            )
        );
    }

    fn warn_of_unboxed(&self, unboxed: usize) {
        gst::element_warning!(
            self.obj(),
            gst::StreamError::Failed,
            (
                "{}: {unboxed} of a frame's poses have no box, and similarity=iou compares boxes: they get no identity. Set \
                 similarity=oks, which compares keypoints",
                self.obj().name()
            )
        );
    }

    fn warn_of_sizeless(&self, sizeless: usize) {
        gst::element_warning!(
            self.obj(),
            gst::StreamError::Failed,
            (
                "{}: {sizeless} of a frame's detections are points, which nothing overlaps: they get no identity. Track objects that \
                 have boxes or several keypoints, or leave this element out",
                self.obj().name()
            )
        );
    }

    fn warn_of_unconfirmed(&self, unconfirmed: &Unconfirmed) {
        let similarity = lock(&self.settings).similarity;
        gst::element_warning!(
            self.obj(),
            gst::StreamError::Failed,
            ("{}: {}", self.obj().name(), unconfirmed.sentences(similarity))
        );
    }

    fn warn_of_surplus(&self, surplus: usize) {
        gst::element_warning!(
            self.obj(),
            gst::StreamError::Failed,
            (
                "{}: a frame has {surplus} detections more than the {MOST_DETECTIONS} that are tracked ({MOST_POSES} where \
                 poses are compared). The least confident are left out. Raise gpunms' confidence, or lower its top-k-after",
                self.obj().name()
            )
        );
    }

    /// False detections are ordinary, so this is no warning.
    fn log_above_max_tracks(&self, above: usize) {
        gst::info!(
            CAT,
            imp = self,
            "a frame has {above} detections more than max-tracks={}: the weakest get no identity. The property stats counts such \
             detections as above-max-tracks",
            lock(&self.settings).max_tracks
        );
    }

    fn stats(&self) -> gst::Structure {
        let mut stats = stats::structure(&self.counters);
        self.tally.report(&mut stats);
        stats
    }
}

#[glib::object_subclass]
impl ObjectSubclass for Tracker {
    const NAME: &'static str = "GstCudaInferTracker";
    type Type = super::Tracker;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for Tracker {
    fn constructed(&self) {
        self.parent_constructed();
        crate::element::name_after_factory(self.obj().upcast_ref());
    }

    fn properties() -> &'static [glib::ParamSpec] {
        PROPERTIES.specs()
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        if !PROPERTIES.set(&*self.obj(), &self.settings, value, pspec) {
            self.gpu.set_property(&*self.obj(), value, pspec);
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        match pspec.name() {
            "stats" => self.stats().to_value(),
            "device" => self.gpu.device().text().to_value(),
            _ => {
                let value = PROPERTIES.get(&lock(&self.settings), pspec);
                value.unwrap_or_else(|| pspec.default_value().clone())
            }
        }
    }
}

impl GstObjectImpl for Tracker {}

impl ElementImpl for Tracker {
    fn set_context(&self, context: &gst::Context) {
        self.gpu.set_context(context);
        self.parent_set_context(context);
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        let success = self.parent_change_state(transition)?;
        self.gpu.after(transition);
        Ok(success)
    }

    described! {
        "Multi-object tracker",
        "Filter/Analyzer/Video",
        "Gives objects identities that last from frame to frame (auto, SORT, ByteTrack, OC-SORT, BoT-SORT, C-BIoU)",
        sink: caps::any_memory(),
        src: caps::any_memory(),
    }
}

impl BaseTransformImpl for Tracker {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let settings = lock(&self.settings).clone();
        let wrong =
            |why: String| gst::error_msg!(gst::LibraryError::Settings, ("{}: {why}", self.obj().name()));
        let sigmas = settings.sigmas.parse().map_err(wrong)?;
        let tracked = StreamTracker::new(
            [settings.params(), settings.params_for_poses()],
            Scene::new(settings.similarity, sigmas),
        );
        let streams = Streams::new(tracked.map_err(|e| wrong(e.to_string()))?);
        device::check(&self.gpu.device(), &*self.obj())?;
        self.counters.reset();
        self.tally.reset();
        let forms = settings.metadata.forms(Contents::Objects).map_err(wrong)?;
        *lock(&self.state) = Some(State::new(streams, &settings, forms));
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.state) = None;
        Ok(())
    }

    /// Embeddings are removed here; other tensors pass.
    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        from: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        let mut other = from.clone();
        if direction == gst::PadDirection::Src {
            let mut with_embeddings = caps::with_feature(&caps::without_tensors(from));
            with_embeddings.make_mut().set(caps::ROI, "objects");
            other.make_mut().append(with_embeddings);
        } else if has_embeddings(from) {
            other = caps::without_tensors(from);
        }
        Some(match filter {
            Some(filter) => filter.intersect_with_mode(&other, gst::CapsIntersectMode::First),
            None => other,
        })
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let oks = lock(&self.settings).similarity == Similarity::Oks;
        let sink = self.obj().static_pad("sink");
        let embedded = sink.as_ref().is_some_and(asked::are_made_upstream);
        let skeleton = sink.filter(|_| oks).map(|sink| model::ask_skeleton(&sink));
        let prepared = {
            let mut state = lock(&self.state);
            let Some(state) = state.as_mut() else { return Ok(()) };
            state.set_caps(&self.surroundings(), incaps, skeleton, embedded)
        };
        // Messages run handlers, which may stop us: no lock is held here.
        prepared.map_err(|why| {
            notice::refused_caps(&*self.obj(), &why);
            gst::loggable_error!(CAT, "{why}")
        })
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        let mut forgotten = false;
        if streams::concerns(&event)
            && let Some(state) = lock(&self.state).as_mut()
        {
            state.streams.see(&event);
            forgotten = state.streams.take_came_back();
        }
        if forgotten && self.tally.is_first_forgotten_stream() {
            notice::streams_forgotten(&*self.obj(), "their tracks");
        }
        self.parent_sink_event(event)
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        // Other tensors pass: the elements downstream are asked about them.
        if let Some((caps, _)) = accepts::asked(query).filter(|(caps, _)| has_embeddings(caps)) {
            let why = refusal(&caps, lock(&self.settings).embedding_output());
            let refused = |why| Err(format!("{}: {why}", self.obj().name()));
            return accepts::answer(query, why.map_or(Ok(()), refused));
        }
        if between::is_asked(query) {
            return lock(&self.settings).between != Between::None;
        }
        let max_tracks = lock(&self.settings).max_tracks;
        individuals::answer(query, max_tracks) || BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        cropping::withhold(query, Use::Pixels);
        Ok(())
    }

    fn prepare_output_buffer(
        &self,
        input: InputBuffer,
    ) -> Result<PrepareOutputBufferSuccess, gst::FlowError> {
        Ok(meta::share(input))
    }

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        cropping::refuse(&*self.obj(), buffer)?;
        let _frame = stats::frame(&*self.obj(), &self.counters);
        let segment = self.obj().segment();
        let segment = segment.downcast_ref::<gst::ClockTime>();
        let time = segment.and_then(|segment| segment.to_running_time(buffer.pts()));
        let result = match lock(&self.state).as_mut() {
            Some(state) => state.follow(&self.surroundings(), buffer, time),
            None => return Err(gst::FlowError::Flushing),
        };
        let warnings = result.map_err(|why| {
            let name = self.obj().name();
            gst::element_error!(self.obj(), gst::StreamError::Failed, ("{name}: {why}"));
            gst::FlowError::Error
        })?;
        gst::log!(CAT, imp = self, "followed the objects of the frame at {}", buffer.pts().display());
        if warnings.backwards {
            self.warn_of_backwards();
        }
        if warnings.late > 0.0 {
            self.warn_of_late_frames(warnings.late);
        }
        if warnings.beyond > 0.0 {
            self.warn_of_long_interval(warnings.beyond);
        }
        if warnings.unboxed > 0 {
            self.warn_of_unboxed(warnings.unboxed);
        }
        if warnings.sizeless > 0 {
            self.warn_of_sizeless(warnings.sizeless);
        }
        if let Some(unconfirmed) = &warnings.unconfirmed {
            self.warn_of_unconfirmed(unconfirmed);
        }
        if warnings.surplus > 0 {
            self.warn_of_surplus(warnings.surplus);
        }
        if warnings.above > 0 {
            self.log_above_max_tracks(warnings.above);
        }
        Ok(gst::FlowSuccess::Ok)
    }
}
