use std::sync::{Arc, LazyLock, Mutex};

use cudainfer_kernels::device::{Choice, Counters, Upload};
use gst::{glib, prelude::*, subclass::prelude::*};
use gst_base::subclass::prelude::*;
use gst_video::{VideoFrameExt, VideoFrameRef, VideoInfo};

use super::negotiate;
use crate::memory::{MappedFrame, Place, Session, caps};
use crate::notice;
use crate::stats;
use crate::sync::lock;

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new("cudainferupload", gst::DebugColorFlags::empty(), Some("Upload to GPU memory"))
});

struct Settings {
    device: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { device: Choice::default().to_string() }
    }
}

#[derive(Default)]
struct State {
    place: Place,
    /// The CUDA context that the application or a bin last gave us.
    offered: Option<gst::Context>,
    /// What arrives in system memory and must leave in CUDA memory; `None` in passthrough.
    upload: Option<VideoInfo>,
}

#[derive(Default)]
pub struct CudaUpload {
    settings: Mutex<Settings>,
    state: Mutex<State>,
    counters: Arc<Counters>,
}

impl CudaUpload {
    fn decide(&self) -> Result<(Place, Option<String>), gst::ErrorMessage> {
        let device = lock(&self.settings).device.clone();
        let offered = lock(&self.state).offered.clone();
        Place::decide(&device, self.obj().upcast_ref(), offered.as_ref(), &self.counters)
    }

    /// NULL->READY.
    fn open(&self) -> Result<(), gst::ErrorMessage> {
        let place = lock(&self.state).place.clone();
        let (place, reason) = match place {
            Place::Open => self.decide()?,
            decided => (decided, None),
        };
        lock(&self.state).place = place.clone();
        // Messages run handlers, which may call us back: no lock is held here.
        if let Place::Gpu(session) = place {
            session.announce(self.obj().upcast_ref());
        }
        if let Some(reason) = reason {
            self.counters.fallbacks.add(1);
            notice::running_on_cpu(self.obj().upcast_ref(), &reason);
        }
        Ok(())
    }

    /// The session for a neighbour that looks for a CUDA context. Upstream elements reach READY after us but
    /// downstream ones before, so this may have to decide early; what is wrong is then said at NULL->READY.
    fn session_for_query(&self) -> Option<Session> {
        let place = lock(&self.state).place.clone();
        match place {
            Place::Gpu(session) => Some(session),
            Place::Host => None,
            Place::Open => match self.decide() {
                Ok((Place::Gpu(session), _)) => {
                    let mut state = lock(&self.state);
                    if let Place::Open = state.place {
                        state.place = Place::Gpu(session.clone());
                    }
                    Some(session)
                }
                _ => None,
            },
        }
    }

    fn copy(
        &self,
        session: &Session,
        info: &VideoInfo,
        from: &gst::BufferRef,
        to: &mut gst::BufferRef,
    ) -> Result<(), String> {
        let source = VideoFrameRef::from_buffer_ref_readable(from, info)
            .map_err(|_| "the frame could not be mapped: it is smaller than its caps say".to_owned())?;
        let target = MappedFrame::write(to, info, session.stream()).map_err(|error| error.to_string())?;
        let mut planes = [None; 4];
        for (number, (plane, copy)) in (0u32..).zip(planes.iter_mut().enumerate().take(target.planes())) {
            let (row_bytes, rows) = target.extent(plane);
            *copy = Some(Upload {
                source: source.plane_data(number).map_err(|error| error.to_string())?,
                source_stride: usize::try_from(source.plane_stride()[plane])
                    .map_err(|_| format!("plane {plane} is stored bottom-up, which the GPU cannot hold"))?,
                target: target.plane(plane).ok_or_else(|| format!("the GPU's frame has no plane {plane}"))?,
                row_bytes,
                rows,
            });
        }
        let bytes =
            session.stream().upload(planes.into_iter().flatten()).map_err(|error| error.to_string())?;
        self.counters.frames.add(1);
        gst::trace!(CAT, imp = self, "{bytes} bytes uploaded");
        Ok(())
    }
}

#[glib::object_subclass]
impl ObjectSubclass for CudaUpload {
    // "GstCudaUpload" is upstream's.
    const NAME: &'static str = "GstCudaInferUpload";
    type Type = super::CudaUpload;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for CudaUpload {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            vec![
                glib::ParamSpecString::builder("device")
                    .nick("Device")
                    .blurb(
                        "Where frames should go: 'auto' (the first GPU that can be used, else they stay in system \
                         memory), 'cuda' or 'cuda:N' (that GPU or an error), 'cpu' (they stay in system memory).",
                    )
                    .default_value(Settings::default().device.as_str())
                    .mutable_ready()
                    .build(),
                stats::param_spec(""),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        if pspec.name() == "device" {
            let device =
                value.get::<Option<String>>().ok().flatten().unwrap_or_else(|| Settings::default().device);
            gst::info!(CAT, imp = self, "device={device}");
            lock(&self.settings).device = device;
        }
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        match pspec.name() {
            "device" => lock(&self.settings).device.to_value(),
            "stats" => stats::structure(&self.counters).to_value(),
            _ => pspec.default_value().clone(),
        }
    }
}

impl GstObjectImpl for CudaUpload {}

impl ElementImpl for CudaUpload {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "CUDA uploader for inference",
                "Filter/Video/Hardware",
                "Takes frames to GPU memory with all their metadata; without a GPU they go through as they are",
                env!("CARGO_PKG_NAME"),
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let mut sink = caps::any_system();
            sink.merge(caps::any_cuda());
            let mut src = caps::any_cuda();
            src.merge(caps::any_system());
            let template = |name, direction, caps| {
                gst::PadTemplate::new(name, direction, gst::PadPresence::Always, caps)
            };
            [("sink", gst::PadDirection::Sink, &sink), ("src", gst::PadDirection::Src, &src)]
                .into_iter()
                .filter_map(|(name, direction, caps)| template(name, direction, caps).ok())
                .collect()
        });
        &TEMPLATES
    }

    fn set_context(&self, context: &gst::Context) {
        if Session::is_offer(context) {
            lock(&self.state).offered = Some(context.clone());
        }
        self.parent_set_context(context);
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        if transition == gst::StateChange::NullToReady {
            self.open().map_err(|error| {
                gst::error!(CAT, imp = self, "{error}");
                self.post_error_message(error);
                gst::StateChangeError
            })?;
        }
        let success = self.parent_change_state(transition)?;
        if transition == gst::StateChange::ReadyToNull {
            let place = std::mem::take(&mut lock(&self.state).place);
            drop(place);
        }
        Ok(success)
    }
}

impl BaseTransformImpl for CudaUpload {
    const MODE: gst_base::subclass::BaseTransformMode = gst_base::subclass::BaseTransformMode::NeverInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = true;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        lock(&self.state).upload = None;
        Ok(())
    }

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        caps: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        // As long as it is open, everything that may turn out possible can be linked.
        let gpu = !matches!(lock(&self.state).place, Place::Host);
        let other = negotiate::transform(direction, caps, gpu);
        let other = match filter {
            Some(filter) => filter.intersect_with_mode(&other, gst::CapsIntersectMode::First),
            None => other,
        };
        gst::debug!(CAT, imp = self, "{direction:?} {caps} can be {other}");
        Some(other)
    }

    fn fixate_caps(&self, direction: gst::PadDirection, caps: &gst::Caps, othercaps: gst::Caps) -> gst::Caps {
        let othercaps =
            if direction == gst::PadDirection::Sink { negotiate::prefer_cuda(othercaps) } else { othercaps };
        self.parent_fixate_caps(direction, caps, othercaps)
    }

    fn set_caps(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let upload = if caps::in_cuda(outcaps) && !caps::in_cuda(incaps) {
            let info = VideoInfo::from_caps(incaps);
            Some(info.map_err(|error| gst::loggable_error!(CAT, "{incaps} is not video: {error}"))?)
        } else {
            None
        };
        gst::info!(
            CAT,
            imp = self,
            "{} {outcaps}",
            if upload.is_some() { "uploading to" } else { "passing on" }
        );
        lock(&self.state).upload = upload;
        Ok(())
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        if let gst::QueryView::Context(_) = query.view()
            && let Some(session) = self.session_for_query()
            && session.answer(self.obj().upcast_ref(), query)
        {
            return true;
        }
        BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        // In passthrough, downstream has answered; otherwise any strides will do.
        if decide_query.is_some() {
            query.add_allocation_meta::<gst_video::VideoMeta>(None);
        }
        Ok(())
    }

    fn decide_allocation(&self, query: &mut gst::query::Allocation) -> Result<(), gst::LoggableError> {
        let Place::Gpu(session) = lock(&self.state).place.clone() else {
            return self.parent_decide_allocation(query);
        };
        let Some(caps) = query.get_owned().0 else {
            return Err(gst::loggable_error!(
                CAT,
                "downstream asks for memory without saying for which caps"
            ));
        };
        if !caps::in_cuda(&caps) {
            return self.parent_decide_allocation(query);
        }
        // Downstream's own pool is passed over: its memory may be of another context. Its number of buffers counts.
        let proposed = query.allocation_pools().next().map(|(_, _, min, _)| min);
        let (pool, size) = session.pool(&caps, proposed.unwrap_or(0)).map_err(|error| {
            gst::element_imp_error!(
                self,
                gst::ResourceError::NoSpaceLeft,
                ("{}: {error}", self.obj().name())
            );
            gst::loggable_error!(CAT, "{error}")
        })?;
        let min = proposed.unwrap_or(0);
        match proposed {
            Some(_) => query.set_nth_allocation_pool(0, Some(&pool), size, min, 0),
            None => query.add_allocation_pool(Some(&pool), size, min, 0),
        }
        self.parent_decide_allocation(query)
    }

    fn transform_meta<'a>(
        &self,
        _outbuf: &mut gst::BufferRef,
        _meta: gst::MetaRef<'a, gst::Meta>,
        _inbuf: &'a gst::BufferRef,
    ) -> bool {
        // Same pixels, other place: everything stays true. What describes memory (strides, parent buffers) never gets
        // here, the base class sorts it out.
        true
    }

    fn transform(
        &self,
        inbuf: &gst::Buffer,
        outbuf: &mut gst::BufferRef,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        let (place, info) = {
            let state = lock(&self.state);
            (state.place.clone(), state.upload.clone())
        };
        let (Place::Gpu(session), Some(info)) = (place, info) else {
            gst::element_imp_error!(
                self,
                gst::CoreError::Negotiation,
                ("{}: a frame arrived before its caps", self.obj().name())
            );
            return Err(gst::FlowError::NotNegotiated);
        };
        self.copy(&session, &info, inbuf, outbuf).map_err(|reason| {
            let name = self.obj().name();
            gst::element_imp_error!(
                self,
                gst::ResourceError::Write,
                ("{name}: a frame could not be copied to the GPU: {reason}")
            );
            gst::FlowError::Error
        })?;
        Ok(gst::FlowSuccess::Ok)
    }
}
