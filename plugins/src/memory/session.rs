//! The GPU as one element holds it.

use std::sync::Arc;

use cudainfer_kernels::device::{Context, Counters, CudaStream, Device};
use gst::{
    glib::{self, translate::*},
    prelude::*,
};

use super::{
    CAT, MemoryError, PinnedAllocator,
    context::{CONTEXT_TYPE, CudaContext},
    library,
};

/// The shared context of a device, and a stream of this element's own in it.
///
/// Elements keep it from NULL->READY (or from the first context query) to READY->NULL.
#[derive(Clone, Debug)]
pub struct GpuSession {
    context: CudaContext,
    stream: Arc<CudaStream>,
}

impl GpuSession {
    /// Opens `device` for `element`. `offered` is what was last given to the element by `set_context`, if anything;
    /// it is used only if it wraps the device's primary context. Work in the session's stream is counted in `counters`.
    ///
    /// # Errors
    /// [`MemoryError`] says whether driver, GPU or libgstcuda is missing or refused.
    pub fn open(
        device: &Device,
        element: &gst::Element,
        offered: Option<&gst::Context>,
        counters: &Arc<Counters>,
    ) -> Result<Self, MemoryError> {
        let context = CudaContext::of(device, element, offered)?;
        let stream = Arc::new(CudaStream::new(context.primary(), counters)?);
        gst::info!(CAT, obj = element, "using GPU {}: {}", device.ordinal, device.name);
        Ok(Self { context, stream })
    }

    /// The device's primary context.
    pub fn context(&self) -> &Arc<Context> {
        self.context.primary()
    }

    /// This element's stream.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Whether `context` is of the type that [`GpuSession::open`] takes as an offer.
    pub fn is_offer(context: &gst::Context) -> bool {
        context.context_type() == CONTEXT_TYPE
    }

    /// Answers a context query of a neighbour. Returns whether it asked for a CUDA context.
    pub fn answer(&self, element: &gst::Element, query: &mut gst::QueryRef) -> bool {
        self.context.answer(element, query)
    }

    /// Announces to the bins around `element` and to the application which context it uses, so that elements which have none yet
    /// take the same. Call it without holding locks: handlers run at once.
    pub fn announce(&self, element: &gst::Element) {
        if let Some(context) = self.context.to_gst() {
            let message = gst::message::HaveContext::builder(context).src(element).build();
            if element.post_message(message).is_err() {
                gst::debug!(CAT, obj = element, "nobody listens to the context message");
            }
        }
    }

    /// Makes pinned host memory for copies to and from the device.
    pub fn pinned(&self) -> PinnedAllocator {
        PinnedAllocator::new(&self.stream)
    }

    /// A configured, inactive pool of CUDA memory for frames of `caps` (one of [`super::caps::CUDA_FORMATS`]), with
    /// at least `min` buffers. The second value is the size of a buffer in bytes, padding included.
    ///
    /// # Errors
    /// [`MemoryError::NoPool`] if there is not enough memory or the caps are not video.
    pub fn pool(&self, caps: &gst::Caps, min: u32) -> Result<(gst::BufferPool, u32), MemoryError> {
        let functions = library::open()?;
        let no_pool = || MemoryError::NoPool { caps: caps.to_string() };
        // Any other format would abort the process in 1.22's allocator.
        if !caps.is_fixed() || !caps.can_intersect(&super::caps::any_cuda()) {
            return Err(no_pool());
        }
        let info = gst_video::VideoInfo::from_caps(caps).map_err(|_| no_pool())?;
        let size = u32::try_from(info.size()).map_err(|_| no_pool())?;
        // SAFETY: our object is a GstCudaContext; the pool is ours (transfer full) and keeps its own reference.
        let pool: Option<gst::BufferPool> =
            unsafe { from_glib_full((functions.buffer_pool_new)(self.context.as_ptr())) };
        let pool = pool.ok_or_else(no_pool)?;
        let mut config = pool.config();
        config.set_params(Some(caps), size, min, 0);
        config.add_option(gst_video::BUFFER_POOL_OPTION_VIDEO_META.as_str());
        self.give_stream(functions, &mut config);
        // The pool allocates a frame here already, to learn the driver's padding.
        pool.set_config(config).map_err(|_: glib::BoolError| no_pool())?;
        let size = pool.config().params().map_or(size, |(_, size, _, _)| size);
        Ok((pool, size))
    }

    /// Gives the pool's memory a stream, in which elements that know nothing of our order wait for it on the device
    /// ([`super::order::hand_over`]). Nothing in GStreamer 1.22.
    fn give_stream(&self, functions: &library::Functions, config: &mut gst::BufferPoolConfig) {
        let (Some(new), Some(set)) = (functions.stream_new, functions.pool_config_set_stream) else { return };
        // SAFETY: our object is a GstCudaContext; the configuration takes a reference of its own to the stream, and ours is
        // given back once.
        unsafe {
            let stream = new(self.context.as_ptr());
            if stream.is_null() {
                return;
            }
            set(config.as_mut_ptr(), stream);
            gst::ffi::gst_mini_object_unref(stream.cast());
        }
    }
}
