//! Models that a client chooses for one stream are loaded before the stream is changed, so that a model that cannot be loaded is
//! refused.

use std::sync::MutexGuard;

use super::{Fleet, Refusal};
use crate::stream::supervisor::State;
use crate::stream::{Network, StreamSpec, is_named};
use crate::unpoisoned::lock;

impl Fleet {
    /// Makes the spec of a stream; no other change happens until the guard is dropped. Models that no stream plays yet are tried
    /// first, without the lock, so that other changes need not wait.
    ///
    /// # Errors
    /// Those of `make`, and trtinfer's error if it cannot load a model.
    pub(super) fn with_tried_models(
        &self,
        make: impl Fn() -> Result<StreamSpec, Refusal>,
    ) -> Result<(MutexGuard<'_, ()>, StreamSpec), Refusal> {
        let mut tried: Vec<(String, String)> = Vec::new();
        loop {
            let changing = lock(&self.0.changing);
            self.refuse_while_draining()?;
            let spec = make()?;
            let untried = self.untried(&spec, &tried);
            if untried.is_empty() {
                return Ok((changing, spec));
            }
            drop(changing);
            // One trial at a time: each takes memory while its model is loaded.
            let _one = lock(&self.0.model);
            for network in untried {
                network.try_model(&network.model()).map_err(Refusal::Invalid)?;
                tried.push((network.instance(), network.model()));
            }
        }
    }

    /// The trtinfers whose models may be impossible to load: the configuration does not name them, no stream plays them, and the
    /// stream did not have them before.
    fn untried(&self, spec: &StreamSpec, tried: &[(String, String)]) -> Vec<Network> {
        let config = self.config();
        let before =
            self.find(spec.name()).map(|stream| Network::of_stream(&stream.spec())).unwrap_or_default();
        let known = |network: &Network| {
            let (instance, model) = (network.instance(), network.model());
            let same = |other: &Network| other.instance() == instance && other.model() == model;
            tried.iter().any(|tried| *tried == (instance.clone(), model.clone()))
                || before.iter().any(same)
                || spec.models.values().any(|changed| changed.now == model)
                || is_named(&config, &model)
                || self.plays(&instance)
        };
        Network::of_stream(spec).into_iter().filter(|network| !known(network)).collect()
    }

    /// Whether a stream plays with this instance.
    fn plays(&self, instance: &String) -> bool {
        let streams: Vec<_> = lock(&self.0.streams).values().cloned().collect();
        streams
            .iter()
            .filter(|stream| stream.status().state == State::Playing)
            .any(|stream| stream.built().is_some_and(|built| built.description.instances.contains(instance)))
    }
}
