use std::sync::{Arc, Mutex};

use cudainfer_kernels::device::{Counter, Counters};
use cudainfer_kernels::draw::blur::blur;
use cudainfer_kernels::draw::{draw, paint_masks};
use cudainfer_kernels::frame::FrameFormat;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::subclass::base_transform::{BaseTransformMode, InputBuffer, PrepareOutputBufferSuccess};
use gst_base::subclass::prelude::*;

use super::arrows::{self, arrows};
use super::captions;
use super::choice::ObjectChoice;
use super::counts;
use super::gpu::Artist;
use super::heat::{self, Heat};
use super::lettering::Lettering;
use super::picture::{limbs, masks, primitives, rings};
use super::privacy::{Cover, Labels};
use super::properties::PROPERTIES;
use super::settings::Settings;
use super::shown::shown;
use super::stream_state::StreamState;
use super::widths::Widths;
use super::zones;
use crate::device::Gpu;
use crate::element::described;
use crate::log::INFEROVERLAY as CAT;
use crate::memory::caps::in_cuda;
use crate::memory::cropping::{self, Use};
use crate::memory::{MappedHostFrameMut, order};
use crate::meta::map;
use crate::meta::mask;
use crate::meta::object::{Object, objects};
use crate::meta::zone;
use crate::model;
use crate::streams::{self, Streams};
use crate::sync::lock;
use crate::{meta, notice, stats, video};

/// Seconds from frame to frame where the caps leave the rate open.
const USUAL_FRAME: f64 = 1.0 / 30.0;

struct State {
    info: gst_video::VideoInfo,
    format: FrameFormat,
    /// Seconds from frame to frame.
    frame: f64,
    /// For frames in CUDA memory.
    artist: Option<Artist>,
}

#[derive(Default)]
pub struct InferOverlay {
    settings: Mutex<Settings>,
    state: Mutex<Option<State>>,
    streams: Mutex<Streams<StreamState>>,
    labels: Mutex<Labels>,
    lettering: Mutex<Lettering>,
    gpu: Gpu,
    counters: Arc<Counters>,
    blurred: Counter,
    blur_held: Counter,
}

impl InferOverlay {
    fn prepare(&self, caps: &gst::Caps) -> Result<State, String> {
        let info = gst_video::VideoInfo::from_caps(caps).map_err(|e| format!("{caps} is not video: {e}"))?;
        let format = video::frame_format(caps, &info).ok_or_else(|| {
            format!("cannot draw on frames of format {}. Put videoconvert before this element", info.format())
        })?;
        let artist = if in_cuda(caps) {
            let session = self.gpu.session_now(self.obj().upcast_ref(), &self.counters);
            let session = session.map_err(|e| format!("the frames lie in CUDA memory, but {e}"))?;
            Some(Artist::new(session, caps)?)
        } else {
            None
        };
        let rate = info.fps();
        let known = rate.numer() > 0 && rate.denom() > 0;
        let frame = if known { f64::from(rate.denom()) / f64::from(rate.numer()) } else { USUAL_FRAME };
        Ok(State { info, format, frame, artist })
    }

    /// A copy of a frame in CUDA memory that will be drawn on and that is held elsewhere, too. Frames in system memory are copied
    /// by mapping them for writing.
    fn copy(&self, input: &InputBuffer) -> Result<Option<gst::Buffer>, String> {
        let (frame, ours) = match input {
            InputBuffer::Writable(frame) => (&**frame, frame.is_all_memory_writable()),
            InputBuffer::Readable(frame) => (*frame, false),
        };
        let state = lock(&self.state);
        let Some(State { info, artist: Some(artist), .. }) = state.as_ref() else { return Ok(None) };
        let nothing = lock(&self.streams).current().is_empty()
            && objects(frame).is_empty()
            && !mask::any(frame)
            && !zone::any(frame);
        if ours || nothing {
            return Ok(None);
        }
        let mut copy = artist.copy(info, frame)?;
        let writable = copy.get_mut().ok_or("the copy is in use")?;
        self.parent_copy_metadata(frame, writable).map_err(|e| e.to_string())?;
        Ok(Some(copy))
    }

    fn failed(&self, why: &str) -> gst::FlowError {
        gst::element_imp_error!(self, gst::StreamError::Failed, ("{}: {why}", self.obj().name()));
        gst::FlowError::Error
    }

    /// Draws on a frame; adds reasons for warnings to `warnings`.
    fn draw(
        &self,
        state: &mut State,
        buffer: &mut gst::BufferRef,
        warnings: &mut Vec<String>,
    ) -> Result<(), String> {
        let objects = objects(buffer);
        let settings = lock(&self.settings).clone();
        let choice = ObjectChoice::parse("blur", &settings.blur)?;
        let found_masks = mask::masks(buffer);
        warnings.extend(lock(&self.labels).examine(choice.as_ref(), &objects, &found_masks));
        let mut streams = lock(&self.streams);
        let StreamState { trails, covered, heat } = streams.current_mut();
        let cover = Cover::of(choice.as_ref(), &objects, &found_masks, covered, &settings);
        self.cover(state, buffer, &cover).map_err(|why| {
            format!("the objects that blur names cannot be hidden, so the frame is not passed on: {why}")
        })?;
        see_heat(heat, state, buffer.pts(), &objects, &settings)?;
        let objects = shown(&objects, &settings)?;
        trails.update(&objects, settings.trail_length);
        let size = [state.format.width, state.format.height];
        let (limbs, rings) = (limbs(&objects, &settings), rings(&objects, &settings));
        let widths = Widths::new(&settings, size[1]);
        let (found, _) = zone::zones(buffer).unwrap_or_default();
        let figures = zones::figures(&found, &settings, widths.line());
        let sums = counts::counts(&map::maps(buffer), &settings);
        let (placed, zone_counts, written_sums, line) = {
            let mut lettering = lock(&self.lettering);
            let line = lettering.line_height(&settings, size[1]);
            let mut write = |text| lettering.write(text, &settings, size, warnings);
            let zone_counts: Vec<_> = zones::captions(&figures).cloned().map(&mut write).collect();
            let written_sums: Vec<_> = sums.iter().map(|(_, text)| write(text.clone())).collect();
            let mut fixed = zones::areas(&figures, &zone_counts, size);
            fixed.extend(counts::areas(&written_sums, line, size));
            let placed = captions::place(&objects, &settings, size, &fixed, write);
            (placed, zone_counts, written_sums, line)
        };
        // Zones lie on the ground, below the objects; their counts are drawn above these, as all text is.
        let mut all: Vec<_> = zones::strokes(&figures, widths.line()).collect();
        all.extend(primitives(&objects, &limbs, &rings, trails, &settings, &widths));
        let arrows = arrows(&objects, &settings, state.frame, widths.line());
        all.extend(arrows::strokes(&arrows, widths.line()));
        all.extend(captions::labels(&objects, &placed));
        all.extend(zones::labels(&figures, &zone_counts));
        all.extend(counts::labels(&sums, &written_sums, line));
        let primitives = all;
        let heat = heat.layers();
        let mut below: Vec<_> = heat::masks(&heat, settings.heatmap_opacity).collect();
        below.extend(masks(&found_masks, &objects, &settings, &widths));
        let masks = below;
        if primitives.is_empty() && masks.is_empty() {
            return state.artist.as_ref().map_or(Ok(()), |artist| artist.hand_over(buffer));
        }
        if let Some(artist) = &mut state.artist {
            return artist.draw(&state.info, &state.format, buffer, &masks, &primitives);
        }
        let samples = masks.iter().map(|mask| mask.data.map_readable()).collect::<Result<Vec<_>, _>>();
        let samples = samples.map_err(|e| e.to_string())?;
        let masks: Vec<_> =
            masks.iter().zip(&samples).map(|(mask, data)| mask.with_data(data.as_slice())).collect();
        let mut mapped = MappedHostFrameMut::write(buffer, &state.info).map_err(|e| e.to_string())?;
        let mut frame = video::frame_mut(&state.format, &mut mapped).map_err(|e| e.to_string())?;
        paint_masks(&state.format, &mut frame, &masks).map_err(|e| e.to_string())?;
        draw(&state.format, &mut frame, &primitives).map_err(|e| e.to_string())
    }

    /// Makes the parts that `cover` names unrecognisable, before anything else is done with the frame.
    fn cover(&self, state: &mut State, buffer: &mut gst::BufferRef, cover: &Cover) -> Result<(), String> {
        if cover.boxes.is_empty() {
            return Ok(());
        }
        let blurred = if let Some(artist) = &mut state.artist {
            artist.cover(&state.info, &state.format, buffer, cover)?
        } else {
            let mut mapped = MappedHostFrameMut::write(buffer, &state.info).map_err(|e| e.to_string())?;
            let mut frame = video::frame_mut(&state.format, &mut mapped).map_err(|e| e.to_string())?;
            let Cover { mode, cells, ref boxes, .. } = *cover;
            blur(&state.format, &mut frame, mode, cells, boxes).map_err(|e| e.to_string())?
        };
        self.blurred.add_size(blurred);
        self.blur_held.add_size(cover.held);
        Ok(())
    }

    fn warn(&self, warnings: Vec<String>) {
        for why in warnings {
            gst::element_imp_warning!(self, gst::LibraryError::Settings, ("{}: {why}", self.obj().name()));
        }
    }
}

/// Takes a frame's objects into the map of where they were.
fn see_heat(
    heat: &mut Heat,
    state: &State,
    pts: Option<gst::ClockTime>,
    objects: &[Object],
    settings: &Settings,
) -> Result<(), String> {
    if !settings.heatmap {
        *heat = Heat::default();
        return Ok(());
    }
    let choice =
        ObjectChoice::parse("heatmap-classes", &settings.heatmap_classes)?.unwrap_or(ObjectChoice::All);
    let counted = objects.iter().filter(|object| choice.names(object));
    let boxes = counted
        .filter_map(|object| object.detected_outline().or_else(|| Some(object.tracking.as_ref()?.rect)));
    let elapsed = heat.elapsed(pts, state.frame);
    heat.update([state.format.width, state.format.height], elapsed, settings.heatmap_decay, boxes);
    Ok(())
}

#[glib::object_subclass]
impl ObjectSubclass for InferOverlay {
    const NAME: &'static str = "GstCudaInferInferOverlay";
    type Type = super::InferOverlay;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for InferOverlay {
    fn constructed(&self) {
        self.parent_constructed();
        crate::element::name_after_factory(self.obj().upcast_ref());
    }

    fn properties() -> &'static [glib::ParamSpec] {
        PROPERTIES.specs()
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        PROPERTIES.set(&*self.obj(), &self.settings, value, pspec);
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        if pspec.name() == "stats" {
            let mut stats = stats::structure(&self.counters);
            stats.set("blurred", self.blurred.get());
            stats.set("blur-held", self.blur_held.get());
            return stats.to_value();
        }
        let value = PROPERTIES.get(&lock(&self.settings), pspec);
        value.unwrap_or_else(|| pspec.default_value().clone())
    }
}

impl GstObjectImpl for InferOverlay {}

impl ElementImpl for InferOverlay {
    described! {
        "Inference overlay",
        "Filter/Effect/Video",
        "Draws masks, zones, boxes, labels, confidences, identities, trails and skeletons on the frame",
        sink: video::drawable(),
        src: video::drawable(),
    }

    fn set_context(&self, context: &gst::Context) {
        self.gpu.set_context(context);
        self.parent_set_context(context);
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        if transition == gst::StateChange::ReadyToPaused {
            self.counters.reset();
            self.blurred.reset();
            self.blur_held.reset();
        }
        let success = self.parent_change_state(transition)?;
        self.gpu.after(transition);
        Ok(success)
    }
}

impl BaseTransformImpl for InferOverlay {
    const MODE: BaseTransformMode = BaseTransformMode::AlwaysInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn start(&self) -> Result<(), gst::ErrorMessage> {
        let wrong =
            |why: String| gst::error_msg!(gst::LibraryError::Settings, ("{}: {why}", self.obj().name()));
        let settings = lock(&self.settings).clone();
        [
            ("blur", &settings.blur),
            ("heatmap-classes", &settings.heatmap_classes),
            ("classes", &settings.classes),
        ]
        .into_iter()
        .try_for_each(|(property, text)| ObjectChoice::parse(property, text).map(drop))
        .map_err(wrong)?;
        *lock(&self.lettering) = Lettering::open(&settings.font).map_err(wrong)?;
        Ok(())
    }

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        *lock(&self.state) = None;
        *lock(&self.streams) = Streams::default();
        *lock(&self.labels) = Labels::default();
        *lock(&self.lettering) = Lettering::default();
        Ok(())
    }

    fn set_caps(&self, incaps: &gst::Caps, _outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let state = self.prepare(incaps).map_err(|why| {
            notice::refused_caps(&*self.obj(), &why);
            gst::loggable_error!(CAT, "{why}")
        })?;
        *lock(&self.state) = Some(state);
        // Not under a lock: elements upstream answer, and handlers of messages may run.
        let models = self.obj().static_pad("sink").map(|sink| model::ask_labels(&sink));
        let models = models.unwrap_or_default();
        lock(&self.lettering).prepare(models.iter().flatten());
        lock(&self.labels).set_models(models);
        Ok(())
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        self.gpu.answer(self.obj().upcast_ref(), &self.counters, query)
            || BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        if streams::concerns(&event) {
            lock(&self.streams).see(&event);
        }
        if event.type_() == gst::EventType::Eos {
            let warnings = lock(&self.labels).end();
            self.warn(warnings);
        }
        self.parent_sink_event(event)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        cropping::withhold(query, Use::Pixels);
        order::propose(query, None);
        Ok(())
    }

    fn decide_allocation(&self, query: &mut gst::query::Allocation) -> Result<(), gst::LoggableError> {
        if let Some(artist) = lock(&self.state).as_mut().and_then(|state| state.artist.as_mut()) {
            artist.promised = order::promised(query);
        }
        self.parent_decide_allocation(query)
    }

    fn prepare_output_buffer(
        &self,
        input: InputBuffer,
    ) -> Result<PrepareOutputBufferSuccess, gst::FlowError> {
        let copy = self.copy(&input).map_err(|why| self.failed(&why))?;
        Ok(copy.map_or_else(|| meta::share(input), PrepareOutputBufferSuccess::Buffer))
    }

    fn transform_meta<'a>(
        &self,
        _outbuf: &mut gst::BufferRef,
        _meta: gst::MetaRef<'a, gst::Meta>,
        _inbuf: &'a gst::BufferRef,
    ) -> bool {
        // A copy is the same frame elsewhere. Metas that describe memory never get here, the base class sorts them out.
        true
    }

    fn transform_ip(&self, buffer: &mut gst::BufferRef) -> Result<gst::FlowSuccess, gst::FlowError> {
        cropping::refuse(&*self.obj(), buffer)?;
        let _frame = stats::frame(&*self.obj(), &self.counters);
        let mut warnings = Vec::new();
        let drawn = {
            let mut state = lock(&self.state);
            let state = state.as_mut().ok_or(gst::FlowError::NotNegotiated)?;
            self.draw(state, buffer, &mut warnings)
        };
        // Messages run handlers, which may stop us: no lock is held here.
        self.warn(warnings);
        drawn.map_err(|why| self.failed(&why))?;
        Ok(gst::FlowSuccess::Ok)
    }
}
