//! The engine cache, which makes the next start faster: a directory with an entry for everything that a model's engine depends
//! on (`key`). An entry is complete or absent, and is used only if it is undamaged (`entry`). Whatever goes wrong with it,
//! the model is loaded without it.
//!
//! | provider | what is kept |
//! |---|---|
//! | CPU | the graph as ONNX Runtime has optimised it, of models of 1 to 256 MB |
//! | TensorRT | its engines and timings |
//! | fused | which kernels were the fastest, and their machine code |
//! | CUDA | which variant of a session was the fastest, by shape (`choices`) |
//!
//! Starts on the CPU, with a session for each of two workers (medians of 9 in ms, ONNX Runtime 1.31, two cores of a Xeon at
//! 2.8 GHz, files in the page cache). Results are the same to the bit.
//!
//! | model | without | filling | from the cache |
//! |---|---|---|---|
//! | nanodet, 15 MB | 56 | 134 | 26 |
//! | posenet, 5 MB | 17 | 46 | 10 |
//! | 48 convolutions, 134 MB | 548 | 1000 | 161 |
//!
//! Smaller models load in a few milliseconds anyway. With larger ones most of the time goes into reading: a vision transformer of
//! 340 MB loads in 428 ms, its optimised graph in 387.
//! CPU's vectors. CUDA's graphs are not kept: that could save only this work on the graph, in a start that loads CUDA's
//! libraries too, and whether its graph, which contains the copies to the GPU, can be loaded again has not been tried.
//! TensorRT RTX writes its own cache when a session ends, which has not been tried either.

mod checksum;
mod choices;
mod entry;
mod folder;
mod key;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub(super) use self::choices::Choices;
use self::entry::{Entry, Work};
#[cfg(test)]
use self::key::Key;
use super::{Config, Provider};
use crate::log::CACHE as CAT;
use crate::model::onnx::external_files;
use cudainfer_kernels::device::Device;

/// The value of `engine-cache` that turns the cache off.
const OFF: &str = "none";
/// The optimised graph.
const GRAPH: &str = "graph.onnx";
/// A file in place of the graph, which means that ONNX Runtime does not load what it has saved of this model.
const NOT_CACHEABLE: &str = "not-cacheable.txt";
/// Sizes of models in bytes whose optimised graphs are kept.
const WORTH_KEEPING: std::ops::RangeInclusive<u64> = 1_000_000..=256_000_000;

/// The cache, as one model uses it.
#[derive(Debug)]
pub(in crate::inference) struct Cache {
    /// The folder as it is named.
    root: Option<PathBuf>,
    shapes: String,
    /// The runtime that sessions are made by.
    runtime: String,
    /// What else the fastest variant depends on: libraries with their versions, and the variants to choose from.
    depends: String,
    /// The entry that was looked for last, and whether it is known to be as it was written.
    found: Option<(Provider, Entry, bool)>,
    hit: bool,
    warnings: Vec<String>,
    /// Whether the user has heard that it cannot be written.
    unwritable: bool,
    pending: Option<Pending>,
    /// Engines from the cache were refused and are not tried again.
    distrusted: bool,
}

/// The folder that TensorRT keeps its engines in, until it is put into the cache.
#[derive(Debug)]
struct Pending {
    work: Work,
    entry: Entry,
    /// The folder began with the entry's files.
    copied: bool,
    /// A session was made with the folder.
    ready: bool,
}

/// What a session is made from.
#[derive(Clone, Copy, Debug)]
pub(in crate::inference) enum Graph<'a> {
    /// The model.
    Model,
    /// The model, whose optimised graph is written there.
    Save(&'a Path),
    /// The optimised graph that lies there.
    Saved(&'a Path),
}

impl Cache {
    /// The cache that `config` names; `shapes` are those that sessions are made for, in words, and `runtime` is the version of
    /// what makes them. Nothing is touched yet.
    pub fn new(config: &Config, shapes: &str, runtime: &str) -> Self {
        let root = match &config.cache {
            None => Some(glib::user_cache_dir().join("cudainfer")),
            Some(folder) if folder == Path::new(OFF) => None,
            Some(folder) => Some(folder.clone()),
        };
        Self::at(root, shapes, runtime)
    }

    /// A cache that keeps nothing.
    pub fn off() -> Self {
        Self::at(None, "", "")
    }

    fn at(root: Option<PathBuf>, shapes: &str, runtime: &str) -> Self {
        Self {
            root,
            shapes: shapes.to_owned(),
            runtime: runtime.to_owned(),
            depends: String::new(),
            found: None,
            hit: false,
            warnings: Vec::new(),
            unwritable: false,
            pending: None,
            distrusted: false,
        }
    }

    /// Whether the latest session came from the cache.
    pub fn hit(&self) -> bool {
        self.hit
    }

    /// What was damaged, why the cache is off though it is wanted, and that it cannot be written, a sentence or two each.
    pub fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Opens a session, from the cache where it has what this one needs, and fills it where it has not. `load` makes the session;
    /// its provider keeps engines in the folder, if it is given one.
    pub fn open<S, E>(
        &mut self,
        config: &Config,
        provider: Provider,
        device: Option<&Device>,
        load: impl Fn(Option<&Path>, Graph<'_>) -> Result<S, E>,
    ) -> Result<S, E> {
        self.hit = false;
        let Some(entry) = self.entry(config, provider, device) else { return load(None, Graph::Model) };
        let session = if provider == Provider::TensorRt {
            self.engines(entry, |folder| load(folder, Graph::Model))
        } else {
            self.graph(entry, |graph| load(None, graph))
        };
        if self.hit
            && let Some((_, entry, _)) = &self.found
        {
            gst::info!(CAT, "{} comes from '{}'", config.model.display(), entry.folder().display());
        }
        session
    }

    /// The place for this model on this provider; `None` where nothing is kept.
    fn entry(&mut self, config: &Config, provider: Provider, device: Option<&Device>) -> Option<Entry> {
        self.root.as_ref()?;
        if let Some((of, entry, _)) = &self.found
            && *of == provider
        {
            return Some(entry.clone());
        }
        let kept = match provider {
            Provider::TensorRt | Provider::Fused => Ok(true),
            Provider::Cpu => worth_keeping(&config.model),
            Provider::Auto
            | Provider::Cuda
            | Provider::TensorRtRtx
            | Provider::OpenVino
            | Provider::Plugin => Ok(false),
        };
        match kept {
            Ok(false) => return None,
            Ok(true) => (),
            // An unreadable model is reported when it is loaded.
            Err(e) => {
                gst::info!(CAT, "{} is not looked for: {e}", config.model.display());
                return None;
            }
        }
        let entry = self.place(config, provider, device)?;
        self.found = Some((provider, entry.clone(), false));
        Some(entry)
    }

    /// Whether the entry can be used; adds to `damage` why it cannot although it is there.
    fn usable(&mut self, entry: &Entry, damage: &mut Option<String>) -> bool {
        if let Some((_, _, true)) = self.found {
            return true;
        }
        match entry.check() {
            Ok(filled) => filled,
            Err(why) => {
                *damage = Some(why);
                false
            }
        }
    }

    /// The files that [`Cache::keep`] kept for this model on this provider, by name.
    pub fn kept(&mut self, config: &Config, provider: Provider, device: &Device) -> HashMap<String, Vec<u8>> {
        self.entry(config, provider, Some(device)).map_or_else(HashMap::new, |entry| self.files(&entry))
    }

    fn files(&mut self, entry: &Entry) -> HashMap<String, Vec<u8>> {
        let mut damage = None;
        let usable = self.usable(entry, &mut damage);
        self.damaged(entry, damage);
        let files = if usable { entry.files() } else { Ok(HashMap::new()) };
        files.unwrap_or_else(|e| {
            gst::info!(CAT, "'{}' cannot be read: {e}", entry.folder().display());
            HashMap::new()
        })
    }

    /// Keeps these files, in place of those that were kept before.
    pub fn keep(
        &mut self,
        config: &Config,
        provider: Provider,
        device: &Device,
        files: &HashMap<String, Vec<u8>>,
    ) {
        if let Some(entry) = self.entry(config, provider, Some(device)) {
            self.replace(&entry, files);
        }
    }

    fn graph<S, E>(&mut self, entry: Entry, mut load: impl FnMut(Graph<'_>) -> Result<S, E>) -> Result<S, E> {
        let (mut damage, mut refused) = (None, false);
        if self.usable(&entry, &mut damage) {
            if entry.has(NOT_CACHEABLE) {
                gst::debug!(CAT, "'{}' says that nothing is kept", entry.folder().display());
                self.trust(true);
                return load(Graph::Model);
            }
            let file = entry.folder().join(GRAPH);
            if let Ok(session) = load(Graph::Saved(&file)) {
                self.hit = true;
                self.trust(true);
                return Ok(session);
            }
            damage = Some(format!("'{}' is refused by ONNX Runtime", file.display()));
            refused = true;
        }
        let work = entry.work().inspect_err(|e| self.unwritable(&entry, e)).ok();
        let writable = work.is_some();
        let saved = work.and_then(|work| Some((load(Graph::Save(&work.file(GRAPH))).ok()?, work)));
        let Some((session, work)) = saved else {
            let session = load(Graph::Model)?;
            if writable {
                let why = std::io::Error::other("ONNX Runtime cannot save there: is the disk full?");
                self.unwritable(&entry, &why);
            }
            self.damaged(&entry, damage);
            return Ok(session);
        };
        if refused && load(Graph::Saved(&work.file(GRAPH))).is_err() && forget_graph(&work) {
            // Otherwise this would be tried at every start.
            gst::info!(
                CAT,
                "ONNX Runtime refuses the graph that it has saved of this model: from now on the model is loaded as it is. Remove \
                 '{}' to try again",
                entry.folder().display()
            );
            damage = None;
            entry.discard();
        }
        self.damaged(&entry, damage);
        let published = self.publish(&entry, &work);
        self.trust(published);
        Ok(session)
    }

    /// Remembers for the next session whether the entry has been found in order.
    fn trust(&mut self, trusted: bool) {
        if let Some((_, _, checked)) = &mut self.found {
            *checked = trusted;
        }
    }

    /// Takes a damaged entry away, and notes it for the user.
    fn damaged(&mut self, entry: &Entry, damage: Option<String>) {
        if let Some(damage) = damage {
            entry.discard();
            self.warnings.push(format!("in the engine cache, {damage}: it was not used, and is built anew"));
        }
    }

    fn engines<S, E>(
        &mut self,
        entry: Entry,
        load: impl FnOnce(Option<&Path>) -> Result<S, E>,
    ) -> Result<S, E> {
        let mut damage = None;
        let mut usable = self.pending.is_none() && self.usable(&entry, &mut damage);
        if usable && self.distrusted {
            damage = Some(format!("'{}' is refused by ONNX Runtime", entry.folder().display()));
            usable = false;
        }
        // What an earlier attempt that failed has built need not be built again.
        let pending = self.pending.take().map_or_else(
            || {
                let work = if usable { entry.copy() } else { entry.work() };
                work.map(|work| Pending { work, entry: entry.clone(), copied: usable, ready: false })
            },
            Ok,
        );
        let session = match pending {
            Ok(pending) => {
                let session = load(Some(pending.work.folder()));
                self.hit = pending.copied;
                self.pending = Some(Pending { ready: session.is_ok(), ..pending });
                session
            }
            Err(e) => {
                self.unwritable(&entry, &e);
                self.hit = usable;
                // A folder that cannot be written cannot be damaged by others.
                load(usable.then(|| entry.folder()))
            }
        }?;
        self.damaged(&entry, damage);
        Ok(session)
    }

    /// To be called where no session could be made: returns whether it is worth another try, without engines from the cache.
    pub fn distrust(&mut self) -> bool {
        let copied = self.pending.take().is_some_and(|pending| pending.copied);
        self.distrusted |= copied;
        copied
    }

    /// Puts TensorRT's engines into the cache.
    pub fn finish(&mut self) {
        let Some(Pending { work, entry, copied, ready: true }) = self.pending.take() else { return };
        if work.is_empty() || copied && entry.is(&work) {
            return;
        }
        if copied {
            // TensorRT has built other engines, say for another size.
            entry.discard();
        }
        self.publish(&entry, &work);
    }

    /// Makes these files the entry, in place of what it held.
    fn replace(&mut self, entry: &Entry, files: &HashMap<String, Vec<u8>>) {
        let written = entry.work().and_then(|work| {
            files.iter().try_for_each(|(name, bytes)| work.write(name, bytes))?;
            Ok(work)
        });
        match written {
            Ok(work) => {
                entry.discard();
                self.publish(entry, &work);
            }
            Err(e) => self.unwritable(entry, &e),
        }
    }

    /// Returns whether the entry is there now.
    fn publish(&mut self, entry: &Entry, work: &Work) -> bool {
        let published = entry.publish(work).inspect_err(|e| self.unwritable(entry, e)).is_ok();
        if published {
            gst::info!(CAT, "filled '{}'", entry.folder().display());
        }
        published
    }

    /// Notes, once, that the next start has this work again.
    fn unwritable(&mut self, entry: &Entry, error: &std::io::Error) {
        let sentence = format!(
            "in the engine cache, '{}' cannot be written: {error}. Every start does this work again: set engine-cache to a directory that \
             can be written, or to none",
            entry.folder().display()
        );
        gst::warning!(CAT, "{sentence}");
        if !std::mem::replace(&mut self.unwritable, true) {
            self.warnings.push(sentence);
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Whether a model's optimised graph is kept: that of one with weights in files of their own is not.
fn worth_keeping(model: &Path) -> std::io::Result<bool> {
    let size = std::fs::metadata(model)?.len();
    Ok(WORTH_KEEPING.contains(&size) && external_files(model)?.is_empty())
}

/// Makes `work` an entry which states that there is no graph to keep; returns whether that succeeded.
fn forget_graph(work: &Work) -> bool {
    let forgotten = std::fs::remove_file(work.file(GRAPH))
        .and_then(|()| work.write(NOT_CACHEABLE, b"ONNX Runtime refuses the graph that it has saved.\n"));
    forgotten.is_ok()
}

#[cfg(test)]
mod tests;
