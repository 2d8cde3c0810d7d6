//! What the engine has found out about a model, in the engine cache.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use cudainfer_fused::gpu::Store;
use cudainfer_kernels::device::Device;

use super::super::cache::Cache;
use super::super::{Config, Provider};
use crate::sync::lock;

/// The choices and the machine code of a model on a device, for all sessions of a process and for later starts.
#[derive(Debug)]
pub(super) struct Kept(Mutex<Files>);

#[derive(Debug)]
struct Files {
    files: HashMap<String, Vec<u8>>,
    /// Whether the cache has not all of them.
    changed: bool,
    cache: Cache,
    config: Config,
    device: Device,
}

impl Kept {
    /// What the cache has of a model.
    pub fn read(config: &Config, device: &Device, version: &str) -> Self {
        let mut cache = Cache::new(config, "all", version);
        let files = cache.kept(config, Provider::Fused, device);
        let (config, device) = (config.clone(), device.clone());
        Self(Mutex::new(Files { files, changed: false, cache, config, device }))
    }

    /// Writes to the cache what it has not yet.
    pub fn write(&self) {
        let Files { files, changed, cache, config, device } = &mut *self.files();
        if std::mem::take(changed) {
            cache.keep(config, Provider::Fused, device, files);
        }
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        lock(&self.0)
    }
}

impl Store for Kept {
    fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.files().files.get(key).cloned()
    }

    fn put(&self, key: &str, bytes: &[u8]) {
        let mut files = self.files();
        files.files.insert(key.to_owned(), bytes.to_vec());
        files.changed = true;
    }
}
