use std::sync::{Arc, LazyLock, Mutex};

use cudainfer_kernels::device::{Counter, Counters};
use gst::{glib, prelude::*, subclass::prelude::*};
use gst_base::subclass::prelude::*;
use gst_video::VideoInfo;

use super::{copy::Uploader, negotiate};
use crate::caps::pad_templates;
use crate::device::{self, Gpu};
use crate::log::CUDAINFERUPLOAD as CAT;
use crate::memory::cropping::{self, Use};
use crate::memory::{ChosenDevice, caps, order};
use crate::sync::lock;
use crate::{notice, stats};

/// Buffers that decoders and sources should have of our pinned memory: one to fill while another is copied.
const MIN_PINNED: u32 = 2;

#[derive(Default)]
pub struct CudaUpload {
    gpu: Gpu,
    /// For frames that arrive in system memory and leave in CUDA memory; `None` in passthrough.
    uploader: Mutex<Option<Uploader>>,
    counters: Arc<Counters>,
    /// Frames that could not be copied.
    failed: Counter,
}

impl CudaUpload {
    /// Proposes pinned memory, so that frames are written straight to where the GPU reads them.
    fn propose_pinned(&self, query: &mut gst::query::Allocation) {
        let (ChosenDevice::Gpu(session), (Some(caps), need_pool)) = (self.gpu.chosen(), query.get_owned())
        else {
            return;
        };
        let allocator = session.pinned();
        let pool = need_pool.then(|| allocator.pool(&caps, MIN_PINNED, None));
        match pool {
            Some(Ok((pool, size))) => query.add_allocation_pool(Some(&pool), size, MIN_PINNED, 0),
            Some(Err(error)) => gst::warning!(CAT, imp = self, "proposing no pool: {error}"),
            None => {}
        }
        query.add_allocation_param(Some(&allocator), gst::AllocationParams::default());
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
            vec![device::param_spec(), stats::param_spec("; failed (frames that could not be copied)")]
        });
        &PROPERTIES
    }

    fn set_property(&self, _id: usize, value: &glib::Value, pspec: &glib::ParamSpec) {
        self.gpu.set_property(&*self.obj(), value, pspec);
    }

    fn property(&self, _id: usize, pspec: &glib::ParamSpec) -> glib::Value {
        match pspec.name() {
            "device" => self.gpu.device().text().to_value(),
            "stats" => {
                let mut fields = stats::structure(&self.counters);
                fields.set("failed", self.failed.get());
                fields.to_value()
            }
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
                "Copies frames to CUDA memory and keeps their metadata; without a GPU, frames pass through",
                "The cudainfer authors",
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
            pad_templates(&sink, &src)
        });
        &TEMPLATES
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
        if transition == gst::StateChange::ReadyToPaused {
            self.failed.reset();
        }
        let success = self.parent_change_state(transition)?;
        self.gpu.after(transition);
        Ok(success)
    }
}

impl BaseTransformImpl for CudaUpload {
    const MODE: gst_base::subclass::BaseTransformMode = gst_base::subclass::BaseTransformMode::NeverInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = true;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        let uploader = lock(&self.uploader).take();
        // Outside of the lock: dropping waits for the copies in flight.
        drop(uploader);
        Ok(())
    }

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        caps: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        // As long as the device is not decided, everything that may turn out possible can be linked.
        let gpu = !matches!(self.gpu.chosen(), ChosenDevice::Cpu);
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
        let uploader = if caps::in_cuda(outcaps) && !caps::in_cuda(incaps) {
            let info = VideoInfo::from_caps(incaps);
            let info = info.map_err(|error| gst::loggable_error!(CAT, "{incaps} is not video: {error}"))?;
            Some(Uploader::new(info))
        } else {
            None
        };
        let action = if uploader.is_some() { "uploading to" } else { "passing on" };
        gst::info!(CAT, imp = self, "{action} {outcaps}");
        let previous = std::mem::replace(&mut *lock(&self.uploader), uploader);
        drop(previous);
        Ok(())
    }

    /// Called for a frame's size where there is no pool, as with a neighbour that has its own.
    fn unit_size(&self, caps: &gst::Caps) -> Option<usize> {
        let info = VideoInfo::from_caps(caps);
        let refused =
            |error| notice::refused_caps(&*self.obj(), &format!("{caps} gives frames no size: {error}"));
        info.map_err(refused).ok().map(|info| info.size())
    }

    fn query(&self, direction: gst::PadDirection, query: &mut gst::QueryRef) -> bool {
        self.gpu.answer(self.obj().upcast_ref(), &self.counters, query)
            || BaseTransformImplExt::parent_query(self, direction, query)
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        cropping::withhold(query, Use::Metadata);
        // In passthrough, downstream has answered; otherwise any strides will do.
        if decide_query.is_some() {
            query.add_allocation_meta::<gst_video::VideoMeta>(None);
            self.propose_pinned(query);
        }
        Ok(())
    }

    fn decide_allocation(&self, query: &mut gst::query::Allocation) -> Result<(), gst::LoggableError> {
        let ChosenDevice::Gpu(session) = self.gpu.chosen() else {
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
        let promised = order::promised(query);
        gst::debug!(CAT, imp = self, "waiting for each frame: {}", !promised);
        if let Some(uploader) = &mut *lock(&self.uploader) {
            uploader.promised = promised;
        }
        // Downstream's own pool is not used: its memory may be of another context. Its number of buffers counts.
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
        // The same pixels in another place: all metas stay true. Metas that describe memory (strides, parent buffers) never get
        // here, the base class sorts them out.
        true
    }

    fn transform(
        &self,
        inbuf: &gst::Buffer,
        outbuf: &mut gst::BufferRef,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        let _frame = stats::frame(&*self.obj(), &self.counters);
        // The lock is released before messages are posted: they run handlers, which may stop us.
        let copied = match (self.gpu.chosen(), &mut *lock(&self.uploader)) {
            (ChosenDevice::Gpu(session), Some(uploader)) => Some(uploader.upload(&session, inbuf, outbuf)),
            _ => None,
        };
        let name = self.obj().name();
        let Some(copied) = copied else {
            self.failed.add(1);
            gst::element_imp_error!(
                self,
                gst::CoreError::Negotiation,
                ("{name}: a frame arrived before its caps")
            );
            return Err(gst::FlowError::NotNegotiated);
        };
        copied.map_err(|reason| {
            self.failed.add(1);
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
