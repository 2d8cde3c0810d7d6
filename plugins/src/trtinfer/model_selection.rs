//! What names a model: in the properties, and in what an instance was opened with.

use std::path::PathBuf;

use super::settings::Settings;
use super::setup::Setup;

/// What names a model in the properties.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ModelSelection {
    pub model: Option<PathBuf>,
    pub labels: Option<PathBuf>,
}

impl ModelSelection {
    pub fn by_settings(settings: &Settings) -> Self {
        Self { model: settings.model.clone(), labels: settings.labels.clone() }
    }

    pub fn by_setup(setup: &Setup) -> Self {
        Self { model: Some(setup.config.model.clone()), labels: setup.config.labels.clone() }
    }

    /// A setup with this model instead of its own.
    pub fn put_into(&self, setup: &Setup) -> Setup {
        let mut setup = setup.clone();
        if let Some(model) = &self.model {
            setup.config.model.clone_from(model);
        }
        setup.config.labels.clone_from(&self.labels);
        setup
    }
}
