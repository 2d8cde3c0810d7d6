//! Which GPU `device=auto` is, where there are several.
//!
//! An instance of a model takes the GPU with the fewest instances of this process that has room for it ([`Reservation`]); the elements
//! of its stream take the same ([`neighbour`]), and so does every instance without a name in the same pipeline ([`remembered`]).
//! Elements that run no model leave the choice to the instance ([`waits_for_model`]): those downstream of it come to READY before
//! it does, and would always choose the first GPU. Where there is one GPU, no element is asked.

mod neighbour;
mod pipeline;
mod reservation;

use cudainfer_kernels::device::{Choice, Device, DeviceError, Resolved, probe};

use neighbour::neighbour;
pub(crate) use neighbour::{answer, asked};
pub(crate) use pipeline::remember;
use pipeline::remembered;
pub(crate) use reservation::Reservation;

use crate::log::DEVICE as CAT;

/// The GPUs that can be used, in the driver's order.
fn usable() -> Vec<&'static Device> {
    #[cfg(test)]
    if let Some(pretended) = PRETENDED.get() {
        return pretended.iter().collect();
    }
    probe()
        .map_or_else(|_| Vec::new(), |found| found.iter().filter(|device| device.check().is_ok()).collect())
}

/// Whether there is a choice.
fn is_open() -> bool {
    usable().len() > 1
}

#[cfg(test)]
thread_local! {
    static PRETENDED: std::cell::Cell<Option<&'static [Device]>> = const { std::cell::Cell::new(None) };
}

/// In this thread, tests have `gpus` GPUs to choose from; nothing runs on any of them.
#[cfg(test)]
pub(crate) fn pretend(gpus: u32) {
    let device =
        |ordinal| Device { ordinal, name: format!("GPU {ordinal}"), capability: (9, 0), driver: 13000 };
    PRETENDED.set(Some((0..gpus).map(device).collect::<Vec<_>>().leak()));
}

/// Where there are several GPUs, that of the element's stream or else of its pipeline; an instance that is `shared` is of no single
/// pipeline.
pub(crate) fn near(element: &gst::Element, shared: bool) -> Option<u32> {
    let of_pipeline = || if shared { None } else { remembered(element) };
    if is_open() { neighbour(element).or_else(of_pipeline) } else { None }
}

/// Whether an element that runs no model must wait in READY with its choice, because another one of its stream may still choose.
pub(crate) fn waits_for_model(element: &gst::Element) -> bool {
    is_open() && near(element, false).is_none()
}

/// What `device=auto` is for an element that runs no model: the GPU of its stream or of its pipeline, else the first one that
/// can be used.
///
/// # Errors
/// None where a GPU can be used; otherwise it is the CPU with the reason.
pub(crate) fn auto_for(element: &gst::Element) -> Result<Resolved, DeviceError> {
    match near(element, false).map(|gpu| Choice::Cuda(gpu).resolve()) {
        Some(Ok(resolved)) => Ok(resolved),
        Some(Err(_)) | None => Choice::Auto.resolve(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use gst::prelude::*;

    use super::*;

    /// Two elements, of which the first answers that it is on GPU 1 as soon as the flag is set.
    fn downstream_of_a_model() -> (gst::Pipeline, gst::Element, Arc<AtomicBool>) {
        gst::init().unwrap();
        let pipeline = gst::parse::launch("identity name=model ! identity name=follower ! fakesink").unwrap();
        let pipeline = pipeline.downcast::<gst::Pipeline>().unwrap();
        let chosen = Arc::new(AtomicBool::new(false));
        let has_chosen = Arc::clone(&chosen);
        let model = pipeline.by_name("model").unwrap().static_pad("src").unwrap();
        model.add_probe(gst::PadProbeType::QUERY_UPSTREAM, move |_, info| {
            let Some(query) = info.query_mut() else { return gst::PadProbeReturn::Ok };
            if asked(query) && has_chosen.load(Ordering::SeqCst) && answer(query, Some(1)) {
                return gst::PadProbeReturn::Handled;
            }
            gst::PadProbeReturn::Ok
        });
        let follower = pipeline.by_name("follower").unwrap();
        (pipeline, follower, chosen)
    }

    #[test]
    fn of_several_gpus_none_is_chosen_before_the_model_has_chosen() {
        let (_pipeline, follower, chosen) = downstream_of_a_model();
        pretend(1);
        assert!(!waits_for_model(&follower), "there is nothing to choose");
        pretend(2);
        assert!(waits_for_model(&follower));
        chosen.store(true, Ordering::SeqCst);
        assert!(!waits_for_model(&follower));
        assert_eq!(near(&follower, false), Some(1));
    }
}
