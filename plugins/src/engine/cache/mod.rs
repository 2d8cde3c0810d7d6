//! What makes the next start quicker, in a folder: an entry for everything that it depends on (`key`), which is there as a whole
//! or not at all, and is used only as it was written (`entry`). Whatever goes wrong with it, the model is loaded without it.
//!
//! | provider | what is kept |
//! |---|---|
//! | CPU | the graph as ONNX Runtime has optimised it, of models of 1 to 256 MB |
//! | TensorRT | its engines and timings |
//!
//! On the CPU, loading takes (median, ms, ONNX Runtime 1.31, two cores of a 2.8 GHz Xeon; a start opens a session for each of
//! two to four workers):
//!
//! | model | from the file | from the cache | finding and checking it, once a start |
//! |---|---|---|---|
//!
//! Results are the same to the bit. Smaller models load in a few milliseconds anyhow. Of larger ones most of the time goes into
//! reading: 428 ms and 387 ms for a vision transformer of 340 MB. CUDA has no entry: what it could save is the same work on the
//! graph, of a start that takes seconds.

mod checksum;
mod entry;
mod key;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use cudainfer_kernels::device::Device;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};

use self::entry::{Entry, Work};
use self::key::Key;
use super::onnx::external_files;
use super::{Config, Provider};

static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "cudainfer-cache",
        gst::DebugColorFlags::empty(),
        Some("what cudainfer keeps for the next start"),
    )
});

/// The value of `engine-cache` that turns the cache off.
const OFF: &str = "none";
/// The optimised graph.
const GRAPH: &str = "graph.onnx";
/// Sizes of models in bytes whose optimised graphs are kept.
const WORTH_KEEPING: std::ops::RangeInclusive<u64> = 1_000_000..=256_000_000;

/// The cache, as one model uses it.
#[derive(Debug)]
pub(super) struct Cache {
    root: Option<PathBuf>,
    shapes: String,
    /// The entry that was looked for last, and whether it is known to be as it was written.
    found: Option<(Provider, Entry, bool)>,
    hit: bool,
    warnings: Vec<String>,
    pending: Option<Pending>,
    /// Engines from the cache were refused: they are not tried again.
    distrusted: bool,
}

/// The folder that TensorRT keeps its engines in, until it is put into the cache.
#[derive(Debug)]
struct Pending {
    work: Work,
    entry: Entry,
    /// It began with the entry's files.
    copied: bool,
    /// A session was made with it.
    ready: bool,
}

/// How a session is made: from the model, from it and saved, or from what was saved.
enum Graph<'a> {
    Model,
    Save(&'a Path),
    Saved(&'a Path),
}

impl Cache {
    /// The cache that `config` names; `shapes` are those that sessions are made for, in words. Nothing is touched yet.
    pub fn new(config: &Config, shapes: &str) -> Self {
        let root = match &config.cache {
            None => Some(glib::user_cache_dir().join("cudainfer")),
            Some(folder) if folder == Path::new(OFF) => None,
            Some(folder) => Some(folder.clone()),
        };
        Self {
            root,
            shapes: shapes.to_owned(),
            found: None,
            hit: false,
            warnings: Vec::new(),
            pending: None,
            distrusted: false,
        }
    }

    /// Whether the session opened last came from the cache.
    pub fn hit(&self) -> bool {
        self.hit
    }

    /// What was damaged, a sentence each.
    pub fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Opens a session, from the cache where it has what this one needs, and fills it where it has not. `prepare` makes a
    /// builder with the provider registered, which keeps its engines in the folder, if it is given one; `refused` makes the
    /// error of ONNX Runtime's.
    pub fn open<E>(
        &mut self,
        config: &Config,
        provider: Provider,
        device: Option<&Device>,
        prepare: impl Fn(Option<&Path>) -> Result<SessionBuilder, E>,
        refused: impl Fn(&ort::Error) -> E,
    ) -> Result<ort::session::Session, E> {
        let load = |engines: Option<&Path>, graph: Graph<'_>| {
            let builder = prepare(engines)?;
            let (builder, file) = match graph {
                Graph::Model => (Ok(builder), config.model.as_path()),
                Graph::Save(path) => (builder.with_optimized_model_path(path), config.model.as_path()),
                Graph::Saved(path) => {
                    (builder.with_optimization_level(GraphOptimizationLevel::Disable), path)
                }
            };
            let mut builder = builder.map_err(|e| refused(&e.into()))?;
            builder.commit_from_file(file).map_err(|e| refused(&e))
        };
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
        let root = self.root.as_ref()?;
        if let Some((of, entry, _)) = &self.found
            && *of == provider
        {
            return Some(entry.clone());
        }
        let kept = match provider {
            Provider::TensorRt => Ok(true),
            Provider::Cpu => worth_keeping(&config.model),
            Provider::Auto | Provider::Cuda | Provider::TensorRtRtx => Ok(false),
        };
        let key = kept.and_then(|kept| {
            kept.then(|| Key::new(root, config, provider, device, &self.shapes)).transpose()
        });
        match key {
            Ok(key) => {
                let entry = Entry::new(root, key?);
                self.found = Some((provider, entry.clone(), false));
                Some(entry)
            }
            // It says itself what is wrong with it when it is loaded.
            Err(e) => {
                gst::info!(CAT, "{} is not looked for: {e}", config.model.display());
                None
            }
        }
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

    fn graph<S, E>(&mut self, entry: Entry, mut load: impl FnMut(Graph<'_>) -> Result<S, E>) -> Result<S, E> {
        let mut damage = None;
        if self.usable(&entry, &mut damage) {
            let file = entry.folder().join(GRAPH);
            if let Ok(session) = load(Graph::Saved(&file)) {
                self.hit = true;
                self.trust(true);
                return Ok(session);
            }
            damage = Some(format!("'{}' is refused by ONNX Runtime", file.display()));
        }
        let work = entry.work().inspect_err(|e| unwritable(&entry, e)).ok();
        let saved = work.and_then(|work| Some((load(Graph::Save(&work.file(GRAPH))).ok()?, work)));
        let Some((session, work)) = saved else {
            // Where it cannot be saved, say because the disk is full, it is loaded without.
            let session = load(Graph::Model)?;
            self.damaged(&entry, damage);
            return Ok(session);
        };
        self.damaged(&entry, damage);
        let published = entry.publish(&work).inspect_err(|e| unwritable(&entry, e));
        self.trust(published.is_ok());
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
        // What a failed attempt before this one has built need not be built again.
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
                unwritable(&entry, &e);
                self.hit = usable;
                // What cannot be written cannot be spoilt.
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
            // TensorRT has built others, say for another size.
            entry.discard();
        }
        if let Err(e) = entry.publish(&work) {
            unwritable(&entry, &e);
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

fn unwritable(entry: &Entry, error: &std::io::Error) {
    gst::info!(CAT, "'{}' cannot be written: {error}", entry.folder().display());
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A cache and an entry in a folder of its own.
    fn cache(name: &str) -> (PathBuf, Cache, Entry) {
        let root = std::env::temp_dir().join(format!("cudainfer-cache-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let (cache, entry) = again(&root);
        (root, cache, entry)
    }

    /// The same in the next process.
    fn again(root: &Path) -> (Cache, Entry) {
        let key = Key { name: "model-0123456789ab".into(), text: "model: 1\n".into() };
        let cache = Cache {
            root: Some(root.to_owned()),
            shapes: String::new(),
            found: None,
            hit: false,
            warnings: Vec::new(),
            pending: None,
            distrusted: false,
        };
        (cache, Entry::new(root, key))
    }

    /// What TensorRT does: it takes the engine in the folder or builds one; says whether it built.
    fn tensorrt(folder: Option<&Path>) -> Result<bool, ()> {
        let engine = folder.unwrap().join("model_sm90.engine");
        match fs::read_to_string(&engine) {
            Ok(text) if text == "engine" => Ok(false),
            Ok(_) => Err(()),
            Err(_) => fs::write(engine, "engine").map(|()| true).map_err(|_| ()),
        }
    }

    #[test]
    fn an_engine_is_built_once_and_in_the_cache_when_the_session_is_ready() {
        let (root, mut cache, entry) = cache("engines");
        assert_eq!(cache.engines(entry.clone(), tensorrt), Ok(true));
        assert!(!cache.hit && entry.check() == Ok(false));
        cache.finish();
        assert_eq!(entry.check(), Ok(true));
        let (mut next, entry) = again(&root);
        assert_eq!(next.engines(entry.clone(), tensorrt), Ok(false));
        assert!(next.hit && next.warnings().is_empty());
        // One for another size, by a later run.
        fs::write(next.pending.as_ref().unwrap().work.file("other.engine"), "engine").unwrap();
        drop(next);
        assert!(entry.check() == Ok(true) && entry.folder().join("other.engine").exists());
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn what_a_refused_session_has_built_serves_the_next_attempt_and_is_never_published_alone() {
        let (root, mut cache, entry) = cache("attempts");
        let refused = cache.engines(entry.clone(), |folder| tensorrt(folder).and(Err::<bool, ()>(())));
        assert_eq!(refused, Err(()));
        assert_eq!(cache.engines(entry.clone(), tensorrt), Ok(false));
        assert!(!cache.hit, "it was built a moment ago");
        drop(cache);
        assert_eq!(entry.check(), Ok(true));
        entry.discard();
        let (mut cache, entry) = again(&root);
        assert!(cache.engines(entry.clone(), |folder| tensorrt(folder).and(Err::<bool, ()>(()))).is_err());
        assert!(!cache.distrust(), "nothing came from the cache");
        drop(cache);
        assert_eq!(entry.check(), Ok(false));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn engines_that_are_damaged_or_refused_are_built_anew_with_one_warning() {
        for (name, published, part) in
            [("damaged", "engine", "model_sm90.engine"), ("refused", "of another version", "refused")]
        {
            let (root, _, entry) = cache(name);
            let work = entry.work().unwrap();
            fs::write(work.file("model_sm90.engine"), published).unwrap();
            entry.publish(&work).unwrap();
            if name == "damaged" {
                fs::write(entry.folder().join("model_sm90.engine"), "engin").unwrap();
            }
            let (mut cache, entry) = again(&root);
            let mut session = cache.engines(entry.clone(), tensorrt);
            if session.is_err() {
                assert!(cache.distrust());
                session = cache.engines(entry.clone(), tensorrt);
            }
            assert_eq!(session, Ok(true), "{name}");
            let warnings = cache.warnings();
            assert!(warnings.len() == 1 && warnings[0].contains(part), "{name}: {warnings:?}");
            assert!(warnings[0].contains(&entry.folder().display().to_string()), "{warnings:?}");
            cache.finish();
            let (mut next, entry) = again(&root);
            assert_eq!(next.engines(entry, tensorrt), Ok(false), "{name}");
            fs::remove_dir_all(root).unwrap();
        }
    }

    #[test]
    fn a_graph_that_cannot_be_saved_is_loaded_without() {
        let (root, mut cache, entry) = cache("full");
        let load = |graph: Graph<'_>| match graph {
            Graph::Save(path) => {
                fs::write(path, "half").unwrap();
                Err(())
            }
            Graph::Saved(_) => Err(()),
            Graph::Model => Ok(()),
        };
        assert_eq!(cache.graph(entry.clone(), load), Ok(()));
        assert!(!cache.hit && cache.warnings().is_empty());
        drop(cache);
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0, "nothing half is left, {entry:?}");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_stops_nothing() {
        let (mut cache, entry) = again(Path::new("/proc/cudainfer"));
        assert_eq!(cache.engines(entry.clone(), |folder| Ok::<_, ()>(folder.is_none())), Ok(true));
        assert_eq!(cache.graph(entry, |graph| Ok::<_, ()>(matches!(graph, Graph::Model))), Ok(true));
        assert!(cache.warnings().is_empty());
    }
}
