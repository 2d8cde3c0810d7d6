//! Choosing the variant that a model runs as, when its first shape is known.

use std::sync::Arc;

use super::engine::Engine;
use super::search::{self, OnNoise, Sessions, Tolerance};
use super::stop::Stop;
use super::{InferenceError, Progress, RunShape, WarmUp, watched};
use crate::log::ENGINE as CAT;
use crate::sync::lock;

impl Engine {
    /// The name of the variant of the provider's sessions that runs.
    pub fn variant(&self) -> &'static str {
        *lock(&self.variant.name)
    }

    /// The result of a search, in a sentence for the user, once.
    pub fn take_found(&self) -> Option<String> {
        lock(&self.variant.found).take()
    }

    /// Makes the session the provider's fastest variant, once: the first shape decides.
    ///
    /// # Errors
    /// The model does not run, or `stop` is set: [`InferenceError::Interrupted`].
    pub(super) fn choose_variant(
        &self,
        shape: &Arc<RunShape>,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &Stop,
    ) -> Result<(), InferenceError> {
        // A thread with another shape waits meanwhile.
        let mut unsettled = lock(&self.variant.choices);
        let variants = self.backend.variants(&self.config, self.provider());
        // What goes through the host does not run as it is timed.
        if variants.len() < 2 || !shape.is_known() {
            return Ok(());
        }
        let Some(mut choices) = unsettled.take() else { return Ok(()) };
        let called = search::shape_name(shape);
        let known = choices.of(&called).and_then(|known| variants.iter().find(|variant| **variant == known));
        if let (Some(known), WarmUp::Background) = (known, self.config.warm_up)
            && *known != self.variant()
        {
            *lock(&self.variant.wanted) = Some(known);
            return Ok(());
        }
        let model = self.config.model.file_name().unwrap_or_default().to_string_lossy();
        let what = format!("timing ways to run {model} in batches of {}", self.batch);
        let mut name = self.variant();
        let found = watched(&what, progress, || {
            let mut session = lock(self.first_session()?);
            let counters = Arc::clone(&lock(&self.counters));
            let (backend, tolerance) = (&*self.backend, Tolerance::of(&self.config));
            let sessions = Sessions { backend, config: &self.config, counters: &counters, stop };
            let mut bench = OnNoise::new(sessions, shape, self.batch, &**session)?;
            search::choose(&mut bench, tolerance, known.copied(), &mut session, &mut name, &variants)
        });
        *lock(&self.variant.name) = name;
        if stop.is_set() {
            // The next start searches.
            *unsettled = Some(choices);
            return Err(InferenceError::Interrupted);
        }
        let found = found?;
        let Some(found) = found else {
            gst::info!(CAT, "{model} runs as {name}, which was the fastest when its variants were timed");
            return Ok(());
        };
        *lock(&self.variant.found) = Some(found.sentence(self.batch));
        if found.complete {
            choices.add(&called, name);
            let device = self.context.as_ref().map(|context| context.device());
            lock(&self.cache).remember(&self.config, self.provider(), device, &choices);
        }
        Ok(())
    }
}
