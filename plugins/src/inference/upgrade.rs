//! A faster variant of the session, made ready while another one serves. What cuDNN compiles for fused convolutions takes seconds
//! for each size of batch, and frames must not wait for that.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cudainfer_kernels::device::Counters;

use super::device_bytes::Before;
use super::engine::Engine;
use super::search::free_memory;
use super::start::StartPart;
use super::stop::Stop;
use super::warm_up::run_all_sizes;
use super::{Config, EngineSearch, InferenceError, RunShape, SharedSession};
use crate::log::ENGINE as CAT;
use crate::sync::lock;

impl Engine {
    /// Whether there is a variant to make ready, or another runtime to measure, in a thread beside those that serve.
    pub fn has_upgrade(&self) -> bool {
        lock(&self.variant.wanted).is_some() || lock(&self.variant.rival).is_some()
    }

    /// The names of all variants that the provider has, the default first.
    pub fn variants(&self) -> Vec<&'static str> {
        let config = Config { search: EngineSearch::Quick, ..self.config.clone() };
        self.backend.variants(&config, self.provider())
    }

    /// Has the model run as this variant from now on, whichever is the fastest: for measurements, and to compare results. Returns
    /// what [`Engine::upgrade`] returns.
    ///
    /// # Errors
    /// The provider has no such variant, or it does not run. The variant in use goes on serving.
    pub fn run_as(&self, variant: &str) -> Result<Option<Duration>, InferenceError> {
        let variants = self.variants();
        let Some(known) = variants.iter().find(|known| **known == variant) else {
            let why = format!("there is no variant '{variant}'. Take one of {}", variants.join(", "));
            return Err(InferenceError::Run(why));
        };
        *lock(&self.variant.wanted) = Some(known);
        self.upgrade(&Stop::default())
    }

    /// Measures the other runtime, if that is left to do; or opens the faster variant, warms it up for all shapes in use, and has it serve from then on. Returns how long a run of a
    /// whole batch takes now; nothing where there is no such variant, no memory for it, or `stop` is set.
    ///
    /// # Errors
    /// The variant does not run. The variant in use goes on serving.
    pub fn upgrade(&self, stop: &Stop) -> Result<Option<Duration>, InferenceError> {
        let rival = lock(&self.variant.rival).take();
        if let Some(rival) = rival {
            let done = self.times.time(StartPart::Upgrade, || self.meet(rival, stop));
            return if stop.is_set() { Ok(None) } else { done };
        }
        let Some(variant) = lock(&self.variant.wanted).take() else { return Ok(None) };
        let served = self.first_session()?;
        if !self.variant.has_room(free_memory(&**lock(served))) {
            gst::info!(
                CAT,
                "device memory is too short to warm up the model as {variant}: it stays {}",
                self.variant()
            );
            return Ok(None);
        }
        let done = self.times.time(StartPart::Upgrade, || self.replace_session(variant, stop));
        match done {
            // The run was interrupted, which is why it failed.
            Err(_) if stop.is_set() => Ok(None),
            done => done,
        }
    }

    fn replace_session(
        &self,
        variant: &'static str,
        stop: &Stop,
    ) -> Result<Option<Duration>, InferenceError> {
        // Its work until it serves is counted for no element.
        let counters = Arc::<Counters>::default();
        let taken = self.context.as_ref().and_then(|context| Before::of(context, &counters));
        let mut session = self.backend.open_variant(&self.config, &counters, variant)?;
        session.reserve(self.batch);
        let next = vec![Arc::new(Mutex::new(session))];
        let took = self.replace(next, stop, || {
            *lock(&self.variant.name) = variant;
            *lock(&self.counters) = Arc::clone(&counters);
            self.taken.store(taken.map_or(0, |before| before.taken()), Ordering::Relaxed);
        })?;
        let Some(took) = took else { return Ok(None) };
        gst::info!(CAT, "the model runs as {variant} from now on");
        Ok(Some(took))
    }

    /// Warms sessions up for all shapes in use, and puts them in place of those that serve; `serve` notes what runs then. Returns how
    /// long a run of a whole batch takes now; nothing where `stop` is set.
    ///
    /// # Errors
    /// The new sessions do not run. Those in use go on serving.
    pub(super) fn replace(
        &self,
        next: Vec<SharedSession>,
        stop: &Stop,
        serve: impl FnOnce(),
    ) -> Result<Option<Duration>, InferenceError> {
        let (mut warm, mut took) = (Vec::<Arc<RunShape>>::new(), Duration::ZERO);
        loop {
            if stop.is_set() {
                return Ok(None);
            }
            let mut shapes = lock(&self.variant.shapes);
            shapes.retain(|shape| shape.strong_count() > 0);
            let cold = shapes.iter().filter_map(std::sync::Weak::upgrade);
            let cold = cold.into_iter().find(|shape| !warm.iter().any(|known| Arc::ptr_eq(known, shape)));
            let Some(shape) = cold else {
                // While no other shape can come. Each worker's run that is under way is waited for.
                for (serving, next) in self.sessions.iter().zip(&next) {
                    std::mem::swap(&mut *lock(serving), &mut *lock(next));
                }
                serve();
                drop(shapes);
                // The old sessions go, whose last runs are waited for.
                return Ok(Some(took));
            };
            drop(shapes);
            for session in &next {
                took = run_all_sizes(session, &shape, self.batch, stop)?;
            }
            warm.push(shape);
        }
    }
}
