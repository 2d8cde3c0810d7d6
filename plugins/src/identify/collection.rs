//! The unknowns of an instance, and the thread that writes them to their file.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use cudainfer_kernels::identify::Unknowns;

use super::unknowns_file::{UnknownsFile, arrays};
use crate::sync::{Condvar, Mutex, MutexGuard, lock};

/// How long what was collected waits to be written.
const EVERY: Duration = Duration::from_secs(10);

/// The unknowns, and whose embeddings they are.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub unknowns: Unknowns,
    /// The name of the model that has made their embeddings.
    pub model: String,
}

#[derive(Debug)]
struct Inner {
    collected: Mutex<Collected>,
    file: Option<UnknownsFile>,
    /// What the file has, as [`Unknowns::changes`]; held while it is written.
    written: Mutex<u64>,
    /// Why it could not be written, until somebody reports it.
    failure: Mutex<Option<String>>,
    is_ending: Mutex<bool>,
    end: Condvar,
}

/// The unknowns of an instance. Dropping it writes what has not been written.
#[derive(Debug)]
pub(super) struct Collection {
    inner: Arc<Inner>,
    writer: Option<JoinHandle<()>>,
}

impl Collection {
    /// At most `most` unknowns, and those of the file, if there is one.
    ///
    /// # Errors
    /// A sentence: the file cannot be used, or the system gives no thread to write it.
    pub fn open(file: Option<&Path>, most: usize) -> Result<Self, String> {
        let mut unknowns = Unknowns::new(most);
        let file = file.map(|path| UnknownsFile::open(path, &mut unknowns)).transpose()?;
        let inner = Arc::new(Inner {
            collected: Mutex::new(Collected { unknowns, ..Collected::default() }),
            file,
            written: Mutex::new(0),
            failure: Mutex::new(None),
            is_ending: Mutex::new(false),
            end: Condvar::new(),
        });
        let own = inner.clone();
        let spawn = || {
            std::thread::Builder::new().name("identify:write".into()).spawn(move || own.write_now_and_then())
        };
        let writer = inner.file.is_some().then(spawn).transpose();
        let writer =
            writer.map_err(|e| format!("the system gives no thread to write the unknowns in ({e})"))?;
        Ok(Self { inner, writer })
    }

    /// The file that they are written to.
    pub fn path(&self) -> Option<&Path> {
        self.inner.file.as_ref().map(|file| file.path.as_path())
    }

    /// The unknowns; nobody else collects meanwhile.
    pub fn collected(&self) -> MutexGuard<'_, Collected> {
        lock(&self.inner.collected)
    }

    /// Writes them now, if they have changed.
    ///
    /// # Errors
    /// A sentence.
    pub fn save(&self) -> Result<(), String> {
        self.inner.save()
    }

    /// Why they could not be written since the last call.
    pub fn take_failure(&self) -> Option<String> {
        lock(&self.inner.failure).take()
    }
}

impl Inner {
    fn save(&self) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut written = lock(&self.written);
        let (changes, arrays) = {
            let collected = lock(&self.collected);
            let changes = collected.unknowns.changes();
            if changes == *written {
                return Ok(());
            }
            (changes, arrays(&collected.unknowns, &collected.model))
        };
        file.write(&arrays)?;
        *written = changes;
        Ok(())
    }

    fn write_now_and_then(&self) {
        let mut is_ending = lock(&self.is_ending);
        while !*is_ending {
            let waited = self.end.wait_timeout(is_ending, EVERY);
            is_ending = waited.unwrap_or_else(|e| e.into_inner()).0;
            if !*is_ending && let Err(why) = self.save() {
                *lock(&self.failure) = Some(why);
            }
        }
    }
}

impl Drop for Collection {
    fn drop(&mut self) {
        *lock(&self.inner.is_ending) = true;
        self.inner.end.notify_all();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
        if let Err(why) = self.save() {
            gst::error!(crate::log::IDENTIFY, "{why}");
        }
    }
}
