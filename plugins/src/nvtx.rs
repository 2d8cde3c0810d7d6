//! Ranges for NVIDIA's profilers: in which element a thread works, and to which one launches and copies belong.
//!
//! A profiler (Nsight Systems, Nsight Compute with `--nvtx`) announces itself in the environment variable
//! NVTX_INJECTION64_PATH, which names its library. Without it nothing is opened and nothing is called.

use std::marker::PhantomData;
use std::sync::LazyLock;

use gst::glib::{self, prelude::*};
use gst::prelude::*;

/// A range of the calling thread, which ends when this is dropped.
#[derive(Debug)]
pub struct Range {
    /// Ranges are a stack of their thread: they must end in the thread where they began.
    _of_this_thread: PhantomData<*const ()>,
}

/// Begins a range named after `element`, if a profiler is attached.
pub fn range(element: &impl IsA<gst::Element>) -> Option<Range> {
    ATTACHED.then(|| {
        ::nvtx::range_push!("{}", element.upcast_ref::<gst::Element>().name());
        Range { _of_this_thread: PhantomData }
    })
}

/// The same for work of an element in a thread that holds no reference to it; none where the element is gone.
pub fn range_of<E: IsA<gst::Element>>(element: &glib::WeakRef<E>) -> Option<Range> {
    ATTACHED.then(|| element.upgrade()).flatten().and_then(|element| range(&element))
}

/// Whether a profiler is attached: otherwise ranges cost time for nothing.
pub fn attached() -> bool {
    *ATTACHED
}

static ATTACHED: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os("NVTX_INJECTION64_PATH").is_some_and(|path| !path.is_empty()));

impl Drop for Range {
    fn drop(&mut self) {
        ::nvtx::range_pop!();
    }
}
