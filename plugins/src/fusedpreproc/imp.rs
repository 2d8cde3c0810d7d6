use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cudainfer_kernels::device::{Counter, Counters};
use cudainfer_kernels::preproc;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{
    BaseTransformMode, GenerateOutputSuccess, InputBuffer, PrepareOutputBufferSuccess,
};
use gst_base::subclass::prelude::*;
use gst_video::VideoInterlaceMode;

use super::doubts::{self, Reported};
use super::fixed;
use super::follow::Asked;
use super::gate::{Gate, GateRules, View};
use super::maker::{Cut, Made, Maker};
use super::negotiate::{Settings, possible};
use super::points::Points;
use super::properties::PROPERTIES;
use super::regions::Turns;
use super::roi::Roi;
use crate::between;
use crate::device::Gpu;
use crate::element::described;
use crate::feedback::{self, Answer, FoundObject, Question};
use crate::log::FUSEDPREPROC as CAT;
use crate::memory::caps::in_cuda;
use crate::memory::cropping::{self, Use};
use crate::memory::order;
use crate::meta::tensor::TensorSet;
use crate::model::accepts;
use crate::notice::post_info;
use crate::pictures::Pictures;
use crate::streams::{self, Streams};
use crate::sync::lock;
use crate::{caps, meta, notice, stats, strings, video};

#[derive(Default)]
pub struct FusedPreproc {
    pub(super) settings: Mutex<Settings>,
    pub(super) maker: Mutex<Option<Maker>>,
    /// When motion lets the model see a frame, and the pictures to look for it in; none if it does not decide.
    pub(super) motion: Mutex<Option<(GateRules, Pictures)>>,
    pub(super) gates: Mutex<Streams<Gate>>,
    pub(super) turns: Mutex<Streams<Turns>>,
    /// What was asked about each stream's last frame.
    asked: Mutex<Streams<Asked>>,
    /// The event that follows the frame that is made.
    end: Mutex<Option<gst::Event>>,
    /// What has been reported of each stream.
    pub(super) reported: Mutex<Streams<Reported>>,
    /// Tensors that were made.
    tensors: Counter,
    /// Objects that no region was made of.
    skipped: Counter,
    /// Regions that were made of the points of the last frame.
    followed: Counter,
    /// Frames that the model does not see.
    pub(super) between: Counter,
    /// Frames that the model does not see because nothing moves.
    pub(super) still: Counter,
    /// The interval that `max-load` has chosen last.
    pub(super) chosen_interval: AtomicU64,
    /// Frames of which it is not known what was found in them.
    unanswered: Counter,
    /// Whether the first of them was reported since READY to PAUSED.
    unanswered_reported: AtomicBool,
    /// Whether it was reported since READY to PAUSED that objects are left out.
    limit_reported: AtomicBool,
    /// Whether it was reported since READY to PAUSED that objects have not the points to cut them by.
    misfit_reported: AtomicBool,
    pub(super) gpu: Gpu,
    counters: Arc<Counters>,
}

impl FusedPreproc {
    fn prepare(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<Maker, String> {
        let info = gst_video::VideoInfo::from_caps(incaps).map_err(|e| {
            format!("{incaps} are not video caps ({e}). Put videoconvert before this element")
        })?;
        if info.interlace_mode() == VideoInterlaceMode::Fields {
            return Err("the frames are interlaced, and each field is a picture of its own (interlace-mode=fields). Put deinterlace \
                        before this element"
                .into());
        }
        let s = outcaps.structure(0).ok_or("there are no caps downstream of this element")?;
        let frame = caps::frame_size(incaps);
        let (params, cut) = {
            let settings = lock(&self.settings);
            settings.check()?;
            let params = settings.params(s);
            settings.check_crop(params.resize)?;
            let cut = settings.cut(s, &params, frame)?;
            (params, cut)
        };
        let name = strings::field(s, "tensor-name").unwrap_or_else(|| "input".into());
        gst::info!(CAT, imp = self, "{} becomes '{name}': {params:?}, {cut:?}", info.format());
        if matches!(cut, Cut::Objects(_, _, Some(Points::Warp(_)))) {
            gst::info!(
                CAT,
                imp = self,
                "regions are warped; what a model finds at places in them is placed in the frame by the affine map nearest to each"
            );
        }
        self.tell_tiles(&cut, frame);
        self.tell_following(&cut);
        self.report_library_size(s, &params, frame);
        let stream = if in_cuda(incaps) {
            let session =
                self.gpu.session().ok_or("the frames are in CUDA memory, but there is no usable GPU. Put cudainferdownload before this element")?;
            Some(Arc::clone(session.stream()))
        } else {
            self.gpu.check_host()?;
            None
        };
        Maker::new(incaps, info, params, cut, &name, stream)
    }

    /// Posts an INFO where tiles were asked for, and one holds the whole frame.
    fn tell_tiles(&self, cut: &Cut, frame: [usize; 2]) {
        let Cut::Fixed(regions, _) = cut else { return };
        let tiled = lock(&self.settings).roi == Roi::Tiles;
        if tiled && regions.iter().all(|one| one.region.rect == fixed::whole_frame(frame)) {
            let [width, height] = frame;
            post_info!(
                self.obj(),
                gst::ResourceError::Settings,
                (
                    "{}: one tile holds the whole frame of {width}x{height}, so nothing is cut into tiles; set a smaller \
                     tile-size, or leave out roi=tiles",
                    self.obj().name()
                )
            );
        }
    }

    /// Posts an INFO where objects are followed.
    fn tell_following(&self, cut: &Cut) {
        if !matches!(cut, Cut::Objects(rules, ..) if rules.follower.is_some()) {
            return;
        }
        let new = lock(&self.reported).current_mut().only_new(vec!["roi-from=track".into()]);
        if !new.is_empty() {
            let name = self.obj().name();
            post_info!(
                self.obj(),
                gst::ResourceError::Settings,
                ("{name}: regions follow the points that peakfind finds (roi-from=track): each frame is made when the stream's last one \
                     has been read")
            );
        }
    }

    /// What was found in the stream's last frame before this one, which is waited for.
    fn found(&self, frame: &gst::BufferRef) -> Result<Vec<FoundObject>, gst::FlowError> {
        let question = lock(&self.asked).current_mut().see_frame(frame);
        let (Some(question), Some(sink)) = (question, self.obj().static_pad("sink")) else {
            return Ok(vec![]);
        };
        match question.wait(&sink).ok_or(gst::FlowError::Flushing)? {
            Answer::Found(found) => Ok(found),
            Answer::Lost => {
                self.unanswered.add(1);
                if !self.unanswered_reported.swap(true, Ordering::Relaxed) {
                    gst::element_imp_warning!(
                        self,
                        gst::StreamError::Failed,
                        (
                            "{}: it is not known what was found in a frame, because it was dropped on its way to peakfind, so the next \
                             one has the regions of objects that elements upstream found. Put no leaky queue, and no element that drops \
                             frames or events, between this element and peakfind. The property stats counts such frames in unanswered",
                            self.obj().name()
                        )
                    );
                }
                Ok(vec![])
            }
        }
    }

    /// Asks what will be found in a frame, which has these objects because they are followed.
    fn ask(&self, frame: &mut gst::BufferRef, expected: Vec<i32>) -> Result<(), gst::FlowError> {
        if !self.obj().static_pad("src").is_some_and(|src| feedback::is_answered(&src)) {
            gst::element_imp_error!(
                self,
                gst::StreamError::Failed,
                (
                    "{}: roi-from=track makes regions of the points that a peakfind downstream finds, but there is none. Put peakfind \
                     after the trtinfer of this element, or set roi-from=objects",
                    self.obj().name()
                )
            );
            return Err(gst::FlowError::Error);
        }
        let question = Question::ask(frame, expected);
        *lock(&self.end) = Some(question.end());
        lock(&self.asked).current_mut().question = Some(question);
        Ok(())
    }

    /// Reports once for each stream if the library that exported the model makes tensors of another size.
    fn report_library_size(&self, s: &gst::StructureRef, params: &preproc::PreprocParams, frame: [usize; 2]) {
        let Some([width, height]) = lock(&self.settings).library_size(s, params, frame) else { return };
        let text = format!(
            "{}: the library that exported the model makes tensors of {width}x{height} from frames of {}x{}, and this element makes \
             them {}x{} with longer bars, which takes more time and finds nearly the same. For the same results, set \
             width={width} height={height}",
            self.obj().name(),
            frame[0],
            frame[1],
            params.width,
            params.height
        );
        let new = lock(&self.reported).current_mut().only_new(vec![text]);
        for text in new {
            post_info!(self.obj(), gst::ResourceError::Settings, ("{text}"));
        }
    }

    /// Reports the doubts that have not been reported for the stream yet. For regions of objects there are none: the model that
    /// found the objects had the same frames.
    pub(super) fn report(&self, doubts: Vec<String>) {
        if doubts.is_empty() || lock(&self.settings).roi == Roi::Objects {
            return;
        }
        let new = lock(&self.reported).current_mut().only_new(doubts);
        for doubt in new {
            gst::element_imp_warning!(self, gst::StreamError::Format, ("{}: {doubt}", self.obj().name()));
        }
    }

    /// Why BaseTransform finds no caps for the elements downstream, which it does not report itself; `None` if it finds some.
    fn unwanted(&self, caps: &gst::Caps) -> Option<String> {
        let accepted = self.obj().static_pad("src")?.peer_query_caps(None);
        let made = self.transform_caps(gst::PadDirection::Sink, caps, None)?;
        (!made.can_intersect(&accepted)).then(|| caps::misfit(caps, &caps::without_tensors(&accepted)))
    }
}

#[glib::object_subclass]
impl ObjectSubclass for FusedPreproc {
    const NAME: &'static str = "GstCudaInferFusedPreproc";
    type Type = super::FusedPreproc;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for FusedPreproc {
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
            "device" => self.gpu.device().text().to_value(),
            "stats" => {
                let mut fields = stats::structure(&self.counters);
                fields.set("tensors", self.tensors.get());
                fields.set("skipped", self.skipped.get());
                fields.set("followed", self.followed.get());
                fields.set("between", self.between.get());
                fields.set("interval", self.chosen_interval.load(Ordering::Relaxed));
                fields.set("still", self.still.get());
                fields.set("unanswered", self.unanswered.get());
                fields.to_value()
            }
            _ => {
                let value = PROPERTIES.get(&lock(&self.settings), pspec);
                value.unwrap_or_else(|| pspec.default_value().clone())
            }
        }
    }
}

impl GstObjectImpl for FusedPreproc {}

impl ElementImpl for FusedPreproc {
    described! {
        "Fused preprocessing",
        "Filter/Analyzer/Video",
        "Makes a network's input tensor from a frame in one pass: colour conversion, resize, normalisation and layout",
        sink: video::readable(),
        src: caps::with_feature(&video::readable()),
    }

    fn set_context(&self, context: &gst::Context) {
        self.gpu.set_context(context);
        self.parent_set_context(context);
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        self.gpu.before(transition, self.obj().upcast_ref(), &self.counters)?;
        let success = self.parent_change_state(transition)?;
        self.gpu.after(transition);
        Ok(success)
    }
}

impl BaseTransformImpl for FusedPreproc {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let counts =
            [&self.tensors, &self.skipped, &self.followed, &self.between, &self.still, &self.unanswered];
        counts.into_iter().for_each(Counter::reset);
        self.chosen_interval.store(lock(&self.settings).interval.into(), Ordering::Relaxed);
        self.unanswered_reported.store(false, Ordering::Relaxed);
        self.limit_reported.store(false, Ordering::Relaxed);
        self.misfit_reported.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.maker) = None;
        *lock(&self.motion) = None;
        *lock(&self.gates) = Streams::default();
        *lock(&self.turns) = Streams::default();
        *lock(&self.asked) = Streams::default();
        *lock(&self.end) = None;
        *lock(&self.reported) = Streams::default();
        Ok(())
    }

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        from: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        let other = if direction == gst::PadDirection::Sink {
            caps::with_fields(from, &possible())
        } else {
            caps::without_tensors(from)
        };
        let mut other = self.gpu.allowed(&other);
        if let Some(filter) = filter {
            other = filter.intersect_with_mode(&other, gst::CapsIntersectMode::First);
        }
        Some(other)
    }

    fn fixate_caps(&self, direction: gst::PadDirection, from: &gst::Caps, mut other: gst::Caps) -> gst::Caps {
        if direction == gst::PadDirection::Sink {
            other.truncate();
            let size = from.structure(0).map_or((0, 0), |s| {
                (s.get::<i32>("width").unwrap_or(0), s.get::<i32>("height").unwrap_or(0))
            });
            if let Some(s) = other.make_mut().structure_mut(0) {
                lock(&self.settings).fixate(s, size);
            }
        }
        other.fixate();
        other
    }

    fn set_caps(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let refused = |why: String| {
            notice::refused_caps(&*self.obj(), &why);
            gst::loggable_error!(CAT, "{why}")
        };
        let maker = self.prepare(incaps, outcaps).map_err(refused)?;
        *lock(&self.motion) = self.prepare_motion(incaps).map_err(refused)?;
        let doubts = doubts::of_caps(incaps, maker.info(), outcaps);
        *lock(&self.maker) = Some(maker);
        self.report(doubts);
        if !in_cuda(incaps) && self.gpu.session().is_some() {
            self.counters.fallbacks.add(1);
            notice::frames_on_host(&*self.obj());
        }
        Ok(())
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        if feedback::is_end(&event) {
            // Of a model upstream: what is found downstream of here is of other regions.
            feedback::end(&event);
            return true;
        }
        if streams::concerns(&event) {
            lock(&self.turns).see(&event);
            lock(&self.gates).see(&event);
            lock(&self.asked).see(&event);
            lock(&self.reported).see(&event);
        }
        lock(&self.asked).current_mut().see(&event);
        if let gst::EventView::Tag(event) = event.view() {
            let sink = self.obj().static_pad("sink");
            self.report(sink.and_then(|sink| doubts::of_tags(&sink, event.tag())).into_iter().collect());
        }
        let caps = match event.view() {
            gst::EventView::Caps(event) => Some(event.caps_owned()),
            _ => None,
        };
        let handled = self.parent_sink_event(event);
        if let Some(why) = caps.filter(|_| !handled).and_then(|caps| self.unwanted(&caps)) {
            notice::refused_caps(&*self.obj(), &why);
        }
        handled
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        if accepts::asked(query).is_some() {
            // Elements downstream get the tensors made here, whatever the model upstream is.
            return accepts::answer(query, Ok(()));
        }
        if feedback::is_asked(query) {
            return false;
        }
        self.gpu.answer(self.obj().upcast_ref(), &self.counters, query)
            || BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        cropping::withhold(query, Use::Pixels);
        order::propose(query, Some(self.obj().upcast_ref()));
        Ok(())
    }

    fn generate_output(&self) -> Result<GenerateOutputSuccess, gst::FlowError> {
        // BaseTransform calls this until nothing is left to push: the first call makes the frame, the next one comes when it was pushed.
        let end = lock(&self.end).take();
        if let (Some(end), Some(src)) = (end, self.obj().static_pad("src")) {
            src.push_event(end);
        }
        self.parent_generate_output()
    }

    fn prepare_output_buffer(
        &self,
        input: InputBuffer,
    ) -> Result<PrepareOutputBufferSuccess, gst::FlowError> {
        Ok(meta::share(input))
    }

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        cropping::refuse(&*self.obj(), buffer)?;
        // One of a model upstream, which nothing downstream of here can answer.
        Question::take(buffer);
        let failed = |why: String| {
            gst::element_imp_error!(self, gst::StreamError::Failed, ("{}: {why}", self.obj().name()));
            gst::FlowError::Error
        };
        let view = self.view(buffer).map_err(failed)?;
        if view == View::Nothing {
            let _frame = stats::frame(&*self.obj(), &self.counters);
            TensorSet::put(&[], buffer);
            return Ok(gst::FlowSuccess::Ok);
        }
        // No lock is held while it waits.
        let found = self.found(buffer)?;
        let _frame = stats::frame(&*self.obj(), &self.counters);
        let mut guard = lock(&self.maker);
        let maker = guard.as_mut().ok_or(gst::FlowError::NotNegotiated)?;
        let follows = maker.follows();
        let made = maker.make(buffer, lock(&self.turns).current_mut(), &found, &view);
        let elsewhere = maker.elsewhere;
        let doubt = doubts::of_frame(buffer, maker.info());
        // Messages run handlers, which may call us back: no lock is held here.
        drop(guard);
        self.report(doubt.into_iter().collect());
        if let Some((elsewhere, own)) = elsewhere {
            notice::frames_elsewhere(self.obj().upcast_ref(), elsewhere, own);
        }
        let Made { sets, followed, expected, skipped, parts } = made.map_err(failed)?;
        if let Some(parts) = parts {
            between::put_regions(buffer, &parts);
        }
        self.tensors.add_size(sets.len());
        self.followed.add_size(followed);
        self.skipped.add_size(skipped.count);
        if let Some(limit) = skipped.limit.filter(|_| !self.limit_reported.swap(true, Ordering::Relaxed)) {
            notice::limited(&*self.obj(), "skipped", &limit);
        }
        if let Some(misfit) = skipped.misfit.filter(|_| !self.misfit_reported.swap(true, Ordering::Relaxed)) {
            let name = self.obj().name();
            gst::element_imp_warning!(self, gst::StreamError::Format, ("{name}: {}", misfit.text()));
        }
        TensorSet::put(&sets, buffer);
        if follows {
            self.ask(buffer, expected)?;
        }
        Ok(gst::FlowSuccess::Ok)
    }
}
