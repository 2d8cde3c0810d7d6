//! The spec that a stream must run and the pipeline that runs, under one lock: a change either finds the pipeline and is set on
//! it, or the next pipeline is built with the change.

use std::sync::{Arc, Mutex};

use super::{Built, StreamSpec};
use crate::unpoisoned::lock;

/// The present spec and pipeline.
#[derive(Debug)]
pub(super) struct Current(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    spec: Arc<StreamSpec>,
    /// The run whose pipeline is the stream's, from its start until it is stopped or abandoned.
    run: Option<u64>,
    built: Option<Built>,
}

/// What becomes of a pipeline that was built.
#[derive(Debug)]
pub(super) enum Publication {
    /// It is the stream's pipeline.
    Published,
    /// The spec has changed since: the pipeline must be built again.
    Outdated,
    /// Its run was abandoned: it is no longer the stream's.
    LeftBehind,
}

impl Current {
    pub fn new(spec: Arc<StreamSpec>) -> Self {
        Self(Mutex::new(Inner { spec, run: None, built: None }))
    }

    /// The spec that the stream must run.
    pub fn spec(&self) -> Arc<StreamSpec> {
        Arc::clone(&lock(&self.0).spec)
    }

    /// The pipeline, while there is one.
    pub fn built(&self) -> Option<Built> {
        lock(&self.0).built.clone()
    }

    /// Has the stream run another spec from now on. Returns the present pipeline, which was built before; a later one is built
    /// with the change.
    pub fn change(&self, spec: StreamSpec) -> Option<Built> {
        let mut inner = lock(&self.0);
        inner.spec = Arc::new(spec);
        inner.built.clone()
    }

    /// Has the stream run another spec in place of `before`, unless the spec has changed since.
    pub fn replace(&self, before: &Arc<StreamSpec>, spec: StreamSpec) -> bool {
        let mut inner = lock(&self.0);
        let same = Arc::ptr_eq(&inner.spec, before);
        if same {
            inner.spec = Arc::new(spec);
        }
        same
    }

    /// Begins a run; the pipeline of an earlier one is not the stream's any more.
    pub fn begin(&self, run: u64) {
        let mut inner = lock(&self.0);
        (inner.run, inner.built) = (Some(run), None);
    }

    /// Offers the pipeline that a run has built for `spec`.
    pub fn publish(&self, run: u64, spec: &Arc<StreamSpec>, built: &Built) -> Publication {
        let mut inner = lock(&self.0);
        if inner.run != Some(run) {
            return Publication::LeftBehind;
        }
        if !Arc::ptr_eq(&inner.spec, spec) {
            return Publication::Outdated;
        }
        inner.built = Some(built.clone());
        Publication::Published
    }

    /// Takes a run's pipeline away, because it stops or is abandoned; the pipeline of another run stays.
    pub fn withdraw(&self, run: u64) {
        let mut inner = lock(&self.0);
        if inner.run == Some(run) {
            (inner.run, inner.built) = (None, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    fn spec(name: &str) -> StreamSpec {
        cudainfer_tests::init();
        let text = format!(
            "[pipeline.plain]\nline = \"identity\"\n[[source]]\nname = \"{name}\"\nuri = \"test://ball\"\npipeline = \"plain\"\n"
        );
        let config = Config::read(&text, Path::new("serve.toml")).unwrap();
        StreamSpec::new(&config, config.sources[0].clone(), &BTreeMap::new()).unwrap()
    }

    #[test]
    fn a_run_that_was_abandoned_while_it_built_does_not_take_the_place_of_the_one_that_plays() {
        let current = Current::new(Arc::new(spec("a")));
        let late = Built::new(&current.spec(), None).unwrap();
        current.begin(1);
        current.withdraw(1);
        assert!(matches!(current.publish(1, &current.spec(), &late), Publication::LeftBehind));
        current.begin(2);
        let plays = Built::new(&current.spec(), None).unwrap();
        assert!(matches!(current.publish(2, &current.spec(), &plays), Publication::Published));
        assert!(matches!(current.publish(1, &current.spec(), &late), Publication::LeftBehind));
        current.withdraw(1);
        assert!(current.built().is_some_and(|built| built.pipeline == plays.pipeline));
    }

    #[test]
    fn what_was_built_before_a_change_is_changed_and_what_is_built_meanwhile_is_built_again() {
        let current = Current::new(Arc::new(spec("a")));
        current.begin(1);
        let before = current.spec();
        let built = Built::new(&before, None).unwrap();
        assert!(current.change(spec("b")).is_none(), "there is nothing that the change could be set on");
        assert!(matches!(current.publish(1, &before, &built), Publication::Outdated));
        let built = Built::new(&current.spec(), None).unwrap();
        assert!(matches!(current.publish(1, &current.spec(), &built), Publication::Published));
        assert!(current.change(spec("c")).is_some_and(|found| found.pipeline == built.pipeline));
        current.begin(2);
        assert!(current.built().is_none(), "the pipeline that stops is not the stream's any more");
    }
}
