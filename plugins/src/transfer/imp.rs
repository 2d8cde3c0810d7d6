use std::marker::PhantomData;
use std::sync::{Arc, LazyLock, Mutex};

use cudainfer_kernels::device::{Counter, Counters};
use gst::{glib, prelude::*, subclass::prelude::*};
use gst_base::subclass::prelude::*;
use gst_video::VideoInfo;

use super::download::Downloader;
use super::upload::Uploader;
use super::{Memory, TransferElementImpl, negotiate};
use crate::device::{self, Gpu};
use crate::memory::cropping::{self, Use};
use crate::memory::{ChosenDevice, Elsewhere, GpuSession, caps, order};
use crate::sync::lock;
use crate::{notice, stats};

/// Buffers that decoders and sources should have of our pinned memory: one to fill while another is copied.
const MIN_PINNED: u32 = 2;

/// Copies the frames of one caps.
#[derive(Debug)]
enum Copier {
    Up(Uploader),
    Down(Downloader),
}

impl Copier {
    fn new(to: Memory, info: VideoInfo) -> Self {
        match to {
            Memory::Cuda => Self::Up(Uploader::new(info)),
            Memory::System => Self::Down(Downloader::new(info)),
        }
    }

    /// Copies a frame. Returns where it lay, if that was another CUDA context.
    fn copy(
        &mut self,
        session: &GpuSession,
        from: &gst::Buffer,
        to: &mut gst::BufferRef,
    ) -> Result<Option<Elsewhere>, String> {
        match self {
            Self::Up(uploader) => uploader.upload(session, from, to).map(|()| None),
            Self::Down(downloader) => downloader.download(session, from, to),
        }
    }
}

#[derive(Default)]
pub struct TransferElement {
    gpu: Gpu,
    /// For frames that leave in other memory than they arrive in; `None` in passthrough.
    copier: Mutex<Option<Copier>>,
    counters: Arc<Counters>,
    /// Frames that could not be copied.
    failed: Counter,
}

impl TransferElement {
    /// Where the element takes frames. The abstract class has no instances of its own.
    fn to(&self) -> Memory {
        self.obj().class().as_ref().added.map_or(Memory::System, |added| added.to)
    }

    fn category(&self) -> gst::DebugCategory {
        let added = self.obj().class().as_ref().added;
        added.map_or_else(|| *gst::CAT_DEFAULT, |added| (added.category)())
    }

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
            Some(Err(error)) => gst::warning!(self.category(), imp = self, "proposing no pool: {error}"),
            None => {}
        }
        query.add_allocation_param(Some(&allocator), gst::AllocationParams::default());
    }

    /// A pool for the frames that leave, with `min` buffers, and the size of each.
    fn pool(
        &self,
        session: &GpuSession,
        caps: &gst::Caps,
        min: u32,
        query: &gst::query::Allocation,
    ) -> Result<(gst::BufferPool, u32), gst::LoggableError> {
        let pool = match self.to() {
            Memory::Cuda => session.pool(caps, min).map_err(|error| error.to_string()),
            Memory::System => {
                // What downstream wants allocated around each frame.
                let params = query.allocation_params().next().map(|(_, params)| params);
                session.pinned().pool(caps, min, params.as_ref()).map_err(|error| error.to_string())
            }
        };
        pool.map_err(|error| {
            gst::element_imp_error!(
                self,
                gst::ResourceError::NoSpaceLeft,
                ("{}: {error}", self.obj().name())
            );
            gst::loggable_error!(self.category(), "{error}")
        })
    }
}

/// The class structure, in which the base class finds what an element has added.
#[repr(C)]
pub struct Class {
    parent: gst_base::ffi::GstBaseTransformClass,
    /// Zero, which is `None`, in the abstract class itself.
    added: Option<&'static Added>,
}

/// An element's [`TransferElementImpl`].
struct Added {
    to: Memory,
    category: fn() -> gst::DebugCategory,
}

struct AddedBy<T>(PhantomData<T>);

impl<T: TransferElementImpl> AddedBy<T> {
    const ADDED: &'static Added = &Added { to: T::TO, category: T::category };
}

// SAFETY: the structure begins with the parent's, is all zeros to begin with, which is valid, and is the instance's by
// `ObjectSubclass::Class`.
unsafe impl ClassStruct for Class {
    type Type = TransferElement;
}

// SAFETY: the parent class is initialised first, and the structure is the one of `TransferElement`'s class.
unsafe impl<T: TransferElementImpl> IsSubclassable<T> for super::TransferElement {
    fn class_init(class: &mut glib::Class<Self>) {
        Self::parent_class_init::<T>(class);
        class.as_mut().added = Some(AddedBy::<T>::ADDED);
    }
}

#[glib::object_subclass]
impl ObjectSubclass for TransferElement {
    const NAME: &'static str = "GstCudaInferTransferElement";
    const ABSTRACT: bool = true;
    type Type = super::TransferElement;
    type ParentType = gst_base::BaseTransform;
    type Class = Class;
}

impl ObjectImpl for TransferElement {
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

impl GstObjectImpl for TransferElement {}

impl ElementImpl for TransferElement {
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

impl BaseTransformImpl for TransferElement {
    const MODE: gst_base::subclass::BaseTransformMode = gst_base::subclass::BaseTransformMode::NeverInPlace;
    const PASSTHROUGH_ON_SAME_CAPS: bool = true;
    const TRANSFORM_IP_ON_PASSTHROUGH: bool = false;

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        let copier = lock(&self.copier).take();
        // Outside of the lock: dropping waits for the copies in flight.
        drop(copier);
        Ok(())
    }

    fn transform_caps(
        &self,
        direction: gst::PadDirection,
        caps: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        // As long as the device is not decided, everything that may turn out possible can be linked.
        let has_gpu = !matches!(self.gpu.chosen(), ChosenDevice::Cpu);
        let other = negotiate::transform(self.to(), direction, caps, has_gpu);
        let other = match filter {
            Some(filter) => filter.intersect_with_mode(&other, gst::CapsIntersectMode::First),
            None => other,
        };
        gst::debug!(self.category(), imp = self, "{direction:?} {caps} can be {other}");
        Some(other)
    }

    fn fixate_caps(&self, direction: gst::PadDirection, caps: &gst::Caps, othercaps: gst::Caps) -> gst::Caps {
        let othercaps = match direction {
            gst::PadDirection::Sink => negotiate::prefer(self.to(), othercaps),
            _ => othercaps,
        };
        self.parent_fixate_caps(direction, caps, othercaps)
    }

    fn set_caps(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        let (to, category) = (self.to(), self.category());
        let is_there = |caps: &gst::Caps| caps::in_cuda(caps) == (to == Memory::Cuda);
        let copier = if is_there(outcaps) && !is_there(incaps) {
            let info = VideoInfo::from_caps(incaps);
            let info =
                info.map_err(|error| gst::loggable_error!(category, "{incaps} is not video: {error}"))?;
            Some(Copier::new(to, info))
        } else {
            None
        };
        let action = if copier.is_some() { "copying to" } else { "passing on" };
        gst::info!(category, imp = self, "{action} {outcaps}");
        let previous = std::mem::replace(&mut *lock(&self.copier), copier);
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
        // In passthrough, downstream has answered; otherwise any strides will do, and frames that are downloaded are waited for.
        match (decide_query, self.to()) {
            (None, _) => {}
            (Some(_), Memory::System) => order::propose(query, None),
            (Some(_), Memory::Cuda) => {
                query.add_allocation_meta::<gst_video::VideoMeta>(None);
                self.propose_pinned(query);
            }
        }
        Ok(())
    }

    fn decide_allocation(&self, query: &mut gst::query::Allocation) -> Result<(), gst::LoggableError> {
        let ChosenDevice::Gpu(session) = self.gpu.chosen() else {
            return self.parent_decide_allocation(query);
        };
        let Some(caps) = query.get_owned().0 else {
            return Err(gst::loggable_error!(
                self.category(),
                "downstream asks for memory without saying for which caps"
            ));
        };
        match &mut *lock(&self.copier) {
            Some(Copier::Up(uploader)) => {
                uploader.promised = order::promised(query);
                gst::debug!(self.category(), imp = self, "waiting for each frame: {}", !uploader.promised);
            }
            Some(Copier::Down(_)) => {}
            None => return self.parent_decide_allocation(query),
        }
        // Downstream's own pool is not used: its memory may be of another context, and is seldom pinned. Its number of buffers
        // counts.
        let proposed = query.allocation_pools().next().map(|(_, _, min, _)| min);
        let min = proposed.unwrap_or(0);
        let (pool, size) = self.pool(&session, &caps, min, query)?;
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
        let copied = match (self.gpu.chosen(), &mut *lock(&self.copier)) {
            (ChosenDevice::Gpu(session), Some(copier)) => {
                let copied = copier.copy(&session, inbuf, outbuf);
                Some(copied.map(|elsewhere| elsewhere.zip(Some(session.context().device().ordinal))))
            }
            _ => None,
        };
        let Some(copied) = copied else {
            self.failed.add(1);
            let name = self.obj().name();
            gst::element_imp_error!(
                self,
                gst::CoreError::Negotiation,
                ("{name}: a frame arrived before its caps")
            );
            return Err(gst::FlowError::NotNegotiated);
        };
        let elsewhere = copied.map_err(|reason| {
            self.failed.add(1);
            let name = self.obj().name();
            let (code, direction) = match self.to() {
                Memory::Cuda => (gst::ResourceError::Write, "to"),
                Memory::System => (gst::ResourceError::Read, "from"),
            };
            gst::element_imp_error!(
                self,
                code,
                ("{name}: a frame could not be copied {direction} the GPU: {reason}")
            );
            gst::FlowError::Error
        })?;
        if let Some((elsewhere, own)) = elsewhere {
            notice::frames_elsewhere(self.obj().upcast_ref(), elsewhere, own);
        }
        Ok(gst::FlowSuccess::Ok)
    }
}
