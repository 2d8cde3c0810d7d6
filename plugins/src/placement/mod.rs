//! Which GPU `device=auto` is, where there are several.
//!
//! An instance of a model takes the GPU with the fewest instances of this process that has room for it ([`Seat`]); the
//! elements of its stream take the same ([`neighbour`]), and so does every instance without a name in the same pipeline
//! ([`remembered`]). Where there is one GPU, nobody is asked.

mod neighbour;
mod pipeline;
mod seat;

use cudainfer_kernels::device::{Choice, Device, DeviceError, Resolved, probe};

pub(crate) use neighbour::{answer, asked, neighbour};
pub(crate) use pipeline::{remember, remembered};
pub(crate) use seat::Seat;

/// The debug category of the choice.
static CAT: std::sync::LazyLock<gst::DebugCategory> = std::sync::LazyLock::new(|| {
    gst::DebugCategory::new(
        "cudainferdevice",
        gst::DebugColorFlags::empty(),
        Some("which GPU device=auto is"),
    )
});

/// The GPUs that can be used, in the driver's order.
fn usable() -> Vec<&'static Device> {
    probe()
        .map_or_else(|_| Vec::new(), |found| found.iter().filter(|device| device.check().is_ok()).collect())
}

/// Whether there is a choice.
pub(crate) fn is_open() -> bool {
    usable().len() > 1
}

/// What `device=auto` is for an element that runs no model: the GPU of its stream or of its pipeline, else the first one that
/// can be used.
///
/// # Errors
/// None where a GPU can be used; otherwise it is the CPU with the reason.
pub(crate) fn auto_for(element: &gst::Element) -> Result<Resolved, DeviceError> {
    let known = if is_open() { neighbour(element).or_else(|| remembered(element)) } else { None };
    match known.map(|gpu| Choice::Cuda(gpu).resolve()) {
        Some(Ok(resolved)) => Ok(resolved),
        Some(Err(_)) | None => Choice::Auto.resolve(),
    }
}
