//! The property `device` of every element that computes, and the device that follows from it.

mod asked;

use std::sync::{Arc, Mutex};

use cudainfer_kernels::device::{Choice, Counters};
use gst::glib;
use gst::prelude::*;

use crate::memory::caps::only_memory;
use crate::memory::{ChosenDevice, GpuSession};
use crate::mutability::settable;
use crate::sync::lock;
use crate::{auto_gpu, notice, strings};

pub use asked::AskedDevice;

/// The property's name.
const NAME: &str = "device";

/// The property's default.
pub const AUTO: &str = "auto";

/// The property's blurb.
pub const BLURB: &str = "Device to work on: auto (a usable GPU, that of the stream's model, else the CPU), cuda (the first GPU, or an error), \
                         cuda:N (GPU number N, or an error), cpu";

/// The property.
pub fn param_spec() -> glib::ParamSpec {
    glib::ParamSpecString::builder(NAME)
        .nick("Device")
        .blurb(BLURB)
        .default_value(AUTO)
        .mutable_ready()
        .build()
}

/// For `start`: what the property asks for must be there.
///
/// # Errors
/// A message for the bus.
pub fn check(asked: &AskedDevice, element: &impl IsA<gst::Element>) -> Result<(), gst::ErrorMessage> {
    let choice = asked.checked(element)?;
    let name = element.upcast_ref::<gst::Element>().name();
    let missing = |e| gst::error_msg!(gst::ResourceError::NotFound, ("{name}: device={choice}: {e}"));
    choice.resolve().map(|_| ()).map_err(missing)
}

/// The property of an element that works on frames, and the device that follows: decided once for each time out of NULL, and
/// forgotten in NULL.
#[derive(Debug, Default)]
pub struct Gpu {
    device: Mutex<AskedDevice>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    chosen: ChosenDevice,
    /// Whether it is the CPU although the user left it open.
    fell_back: bool,
    /// The CUDA context that the application or a bin last gave the element.
    offered: Option<gst::Context>,
}

impl Gpu {
    /// Sets the property; a decision by its earlier value is forgotten.
    pub fn set_device(&self, device: AskedDevice) {
        *lock(&self.device) = device;
        let chosen = std::mem::take(&mut lock(&self.state).chosen);
        drop(chosen);
    }

    /// For `set_property`: sets the property, if `spec` is it and it can be set now.
    pub fn set_property(
        &self,
        element: &impl IsA<gst::Element>,
        value: &glib::Value,
        spec: &glib::ParamSpec,
    ) {
        if spec.name() == NAME && settable(element, spec) && strings::is_text(element, value, spec) {
            self.set_device(AskedDevice::of(value.get().ok().flatten()));
        }
    }

    /// The property.
    pub fn device(&self) -> AskedDevice {
        lock(&self.device).clone()
    }

    /// For `set_context`.
    pub fn set_context(&self, context: &gst::Context) {
        if GpuSession::is_offer(context) {
            lock(&self.state).offered = Some(context.clone());
        }
    }

    /// For `change_state`, before the parent's: at NULL->READY it decides by the property, announces to the neighbours which
    /// context is used, and warns on the bus if that is none although one was looked for; at READY->PAUSED it counts from zero.
    /// Where a model of the stream may still choose among several GPUs, as it does at its own NULL->READY, it decides at
    /// READY->PAUSED.
    ///
    /// # Errors
    /// The device that was asked for is not there; the error has been posted.
    pub fn before(
        &self,
        transition: gst::StateChange,
        element: &gst::Element,
        counters: &Arc<Counters>,
    ) -> Result<(), gst::StateChangeError> {
        match transition {
            gst::StateChange::NullToReady if self.waits_for_model(element) => Ok(()),
            gst::StateChange::NullToReady => self.open(element, counters),
            gst::StateChange::ReadyToPaused => {
                // The property may have been set in READY, too.
                if let ChosenDevice::Undecided = self.chosen() {
                    self.open(element, counters)?;
                }
                counters.reset();
                // It still is one.
                counters.fallbacks.add(u64::from(lock(&self.state).fell_back));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// For `change_state`, after the parent's.
    pub fn after(&self, transition: gst::StateChange) {
        if transition == gst::StateChange::ReadyToNull {
            let chosen = std::mem::take(&mut lock(&self.state).chosen);
            // Outside of the lock: releasing the last reference to the GPU waits for it.
            drop(chosen);
        }
    }

    fn waits_for_model(&self, element: &gst::Element) -> bool {
        let undecided = matches!(self.chosen(), ChosenDevice::Undecided);
        undecided && self.device().choice() == Ok(Choice::Auto) && auto_gpu::waits_for_model(element)
    }

    fn open(&self, element: &gst::Element, counters: &Arc<Counters>) -> Result<(), gst::StateChangeError> {
        let reason = self.decide(element, counters, true).map_err(|message| {
            element.post_error_message(message);
            gst::StateChangeError
        })?;
        lock(&self.state).fell_back = reason.is_some();
        // Messages run handlers, which may call us back: no lock is held here.
        if let Some(session) = self.session() {
            session.announce(element);
        }
        if let Some(reason) = reason {
            counters.fallbacks.add(1);
            notice::running_on_cpu(element, &reason);
        }
        Ok(())
    }

    /// Decides, unless that has been done; without `for_good`, in favour of a GPU only. Returns why it is the CPU although
    /// the user left it open.
    fn decide(
        &self,
        element: &gst::Element,
        counters: &Arc<Counters>,
        for_good: bool,
    ) -> Result<Option<String>, gst::ErrorMessage> {
        let offered = {
            let state = lock(&self.state);
            if !matches!(state.chosen, ChosenDevice::Undecided) {
                return Ok(None);
            }
            state.offered.clone()
        };
        let (chosen, reason) =
            ChosenDevice::decide(self.device().checked(element)?, element, offered.as_ref(), counters)?;
        let mut state = lock(&self.state);
        if matches!(state.chosen, ChosenDevice::Undecided)
            && (for_good || matches!(chosen, ChosenDevice::Gpu(_)))
        {
            state.chosen = chosen;
        }
        Ok(reason)
    }

    /// What was decided.
    pub fn chosen(&self) -> ChosenDevice {
        lock(&self.state).chosen.clone()
    }

    /// The GPU, if there is one to be used.
    pub fn session(&self) -> Option<GpuSession> {
        match self.chosen() {
            ChosenDevice::Gpu(session) => Some(session),
            ChosenDevice::Undecided | ChosenDevice::Cpu => None,
        }
    }

    /// The number of the GPU, as far as it is decided or the property says it.
    fn gpu(&self) -> Option<u32> {
        match (self.chosen(), self.device().choice()) {
            (ChosenDevice::Gpu(session), _) => Some(session.context().device().ordinal),
            (ChosenDevice::Undecided, Ok(Choice::Cuda(gpu))) => Some(gpu),
            (ChosenDevice::Undecided | ChosenDevice::Cpu, _) => None,
        }
    }

    /// The GPU for an element that needs one only now: it may not have been searched for.
    ///
    /// # Errors
    /// Why no GPU can be used.
    pub fn session_now(
        &self,
        element: &gst::Element,
        counters: &Arc<Counters>,
    ) -> Result<GpuSession, String> {
        let reason = self.decide(element, counters, true).map_err(|e| e.to_string())?;
        let none =
            || if self.device().is_cpu() { "device=cpu says not to use it" } else { "there is no GPU" };
        self.session().ok_or_else(|| reason.unwrap_or_else(|| none().to_owned()))
    }

    /// Answers a neighbour's query for a CUDA context; returns whether `query` was one that could be answered. Upstream elements
    /// reach READY after us but downstream ones before, so this may have to decide early, in favour of a GPU only; errors are
    /// then reported at NULL->READY.
    pub fn answer(
        &self,
        element: &gst::Element,
        counters: &Arc<Counters>,
        query: &mut gst::QueryRef,
    ) -> bool {
        if auto_gpu::asked(query) {
            return auto_gpu::answer(query, self.gpu());
        }
        let gst::QueryView::Context(_) = query.view() else { return false };
        let _ = self.decide(element, counters, false);
        self.session().is_some_and(|session| session.answer(element, query))
    }

    /// The part of `caps` in memory that the element can work on: without a GPU, not CUDA's.
    pub fn allowed(&self, caps: &gst::Caps) -> gst::Caps {
        let host = self.device().is_cpu() || matches!(self.chosen(), ChosenDevice::Cpu);
        if host { only_memory(caps, false) } else { caps.clone() }
    }

    /// Whether frames in system memory are not what the user asked for.
    ///
    /// # Errors
    /// A sentence, if the property names a GPU.
    pub fn check_host(&self) -> Result<(), String> {
        let device = self.device();
        if device.is_gpu() {
            let device = device.text();
            return Err(format!(
                "device={device}, but the frames are in system memory: put cudainferupload before this element, and \
                 cudainferdownload before elements that need system memory"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an element with this property has decided in READY, and in PAUSED, with this many GPUs.
    fn decided(device: &str, gpus: u32) -> [bool; 2] {
        gst::init().unwrap();
        auto_gpu::pretend(gpus);
        let element = gst::ElementFactory::make("identity").build().unwrap();
        let (gpu, counters) = (Gpu::default(), Arc::default());
        gpu.set_device(AskedDevice::of(Some(device.into())));
        [gst::StateChange::NullToReady, gst::StateChange::ReadyToPaused].map(|transition| {
            gpu.before(transition, &element, &counters).unwrap();
            !matches!(gpu.chosen(), ChosenDevice::Undecided)
        })
    }

    #[test]
    fn of_several_gpus_one_is_chosen_when_all_models_have_chosen() {
        assert_eq!(decided("auto", 2), [false, true]);
        assert_eq!(decided("auto", 1), [true, true]);
        assert_eq!(decided("cpu", 2), [true, true]);
    }
}
