use std::sync::{Arc, LazyLock, Mutex};

use cudainfer_kernels::device::{Counter, Counters};
use gst::{glib, prelude::*, subclass::prelude::*};
use gst_base::subclass::prelude::*;
use gst_video::VideoInfo;

use super::{copy::Downloader, negotiate};
use crate::caps::pad_templates;
use crate::device::{self, Gpu};
use crate::log::CUDAINFERDOWNLOAD as CAT;
use crate::memory::cropping::{self, Use};
use crate::memory::{ChosenDevice, caps, order};
use crate::notice;
use crate::stats;
use crate::sync::lock;

#[derive(Default)]
pub struct CudaDownload {
    gpu: Gpu,
    /// For frames that arrive in CUDA memory and leave in system memory; `None` in passthrough.
    downloader: Mutex<Option<Downloader>>,
    counters: Arc<Counters>,
    /// Frames that could not be copied.
    failed: Counter,
}

#[glib::object_subclass]
impl ObjectSubclass for CudaDownload {
    // "GstCudaDownload" is upstream's.
    const NAME: &'static str = "GstCudaInferDownload";
    type Type = super::CudaDownload;
    type ParentType = gst_base::BaseTransform;
}

impl ObjectImpl for CudaDownload {
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

impl GstObjectImpl for CudaDownload {}

impl ElementImpl for CudaDownload {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "CUDA downloader for inference",
                "Filter/Video/Hardware",
                "Copies frames from CUDA memory to system memory and keeps their metadata; other frames pass through",
                "The cudainfer authors",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let mut sink = caps::any_cuda();
            sink.merge(caps::any_system());
            let mut src = caps::any_system();
            src.merge(caps::any_cuda());
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

impl BaseTransformImpl for CudaDownload {
    const MODE: gst_base::subclass::BaseTransformMode = gst_base::subclass::BaseTransformMode::NeverInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = true;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        let downloader = lock(&self.downloader).take();
        // Outside of the lock: dropping waits for the copies in flight.
        drop(downloader);
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
        let othercaps = if direction == gst::PadDirection::Sink {
            negotiate::prefer_system(othercaps)
        } else {
            othercaps
        };
        self.parent_fixate_caps(direction, caps, othercaps)
    }

    fn set_caps(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let downloader = if caps::in_cuda(incaps) && !caps::in_cuda(outcaps) {
            let info = VideoInfo::from_caps(incaps);
            let info = info.map_err(|error| gst::loggable_error!(CAT, "{incaps} is not video: {error}"))?;
            Some(Downloader::new(info))
        } else {
            None
        };
        let action = if downloader.is_some() { "downloading to" } else { "passing on" };
        gst::info!(CAT, imp = self, "{action} {outcaps}");
        let previous = std::mem::replace(&mut *lock(&self.downloader), downloader);
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
        // In passthrough, downstream has answered; otherwise any strides will do, and frames are waited for here.
        if decide_query.is_some() {
            order::propose(query, None);
        }
        Ok(())
    }

    fn decide_allocation(&self, query: &mut gst::query::Allocation) -> Result<(), gst::LoggableError> {
        let (ChosenDevice::Gpu(session), true) = (self.gpu.chosen(), lock(&self.downloader).is_some()) else {
            return self.parent_decide_allocation(query);
        };
        let Some(caps) = query.get_owned().0 else {
            return Err(gst::loggable_error!(
                CAT,
                "downstream asks for memory without saying for which caps"
            ));
        };
        // Downstream's own pool is passed over: its memory is seldom pinned. Its number of buffers counts, and what it
        // wants beside each frame.
        let params = query.allocation_params().next().map(|(_, params)| params);
        let proposed = query.allocation_pools().next().map(|(_, _, min, _)| min);
        let min = proposed.unwrap_or(0);
        let pool = session.pinned().pool(&caps, min, params.as_ref());
        let (pool, size) = pool.map_err(|error| gst::loggable_error!(CAT, "{error}"))?;
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
        let copied = match (self.gpu.chosen(), &mut *lock(&self.downloader)) {
            (ChosenDevice::Gpu(session), Some(downloader)) => {
                let copied = downloader.download(&session, inbuf, outbuf);
                Some(copied.map(|elsewhere| elsewhere.zip(Some(session.context().device().ordinal))))
            }
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
        let elsewhere = copied.map_err(|reason| {
            self.failed.add(1);
            gst::element_imp_error!(
                self,
                gst::ResourceError::Read,
                ("{name}: a frame could not be copied from the GPU: {reason}")
            );
            gst::FlowError::Error
        })?;
        if let Some((elsewhere, own)) = elsewhere {
            notice::frames_elsewhere(self.obj().upcast_ref(), elsewhere, own);
        }
        Ok(gst::FlowSuccess::Ok)
    }
}
