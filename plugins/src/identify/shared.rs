//! An instance: the gallery and the unknowns, of one element or of all that name it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Weak};

use cudainfer_kernels::identify::Gallery;

use super::collection::Collection;
use super::gallery_file::GalleryFile;
use super::settings::Settings;
use crate::sync::{Mutex, lock};

/// Those that have a name.
static INSTANCES: Mutex<BTreeMap<String, Weak<Shared>>> = Mutex::new(BTreeMap::new());

/// The gallery in use.
#[derive(Clone, Debug, Default)]
pub(super) struct InUse {
    pub file: Option<Arc<GalleryFile>>,
    /// Another one for each gallery.
    pub generation: u64,
}

impl InUse {
    pub fn gallery(&self) -> Option<&Gallery> {
        self.file.as_ref().map(|file| &file.gallery)
    }
}

/// What elements share.
#[derive(Debug)]
pub(super) struct Shared {
    in_use: Mutex<InUse>,
    /// The length of the embeddings that were compared; `None` before there was one.
    compared: Mutex<Option<usize>>,
    pub unknowns: Collection,
}

impl Shared {
    /// The instance that these settings name, or one of its own. The second value is a WARNING.
    ///
    /// # Errors
    /// A sentence: a file cannot be used, or does not fit what the instance has.
    pub fn join(settings: &Settings) -> Result<(Arc<Self>, Option<String>), String> {
        let Some(name) = settings.instance() else { return Ok((Arc::new(Self::open(settings)?), None)) };
        // Others that start wait; frames never take this lock.
        let mut instances = lock(&INSTANCES);
        instances.retain(|_, instance| instance.strong_count() > 0);
        if let Some(shared) = instances.get(name).and_then(Weak::upgrade) {
            let warning = shared.take_in(name, settings)?;
            return Ok((shared, warning));
        }
        let shared = Arc::new(Self::open(settings)?);
        instances.insert(name.to_owned(), Arc::downgrade(&shared));
        Ok((shared, None))
    }

    fn open(settings: &Settings) -> Result<Self, String> {
        let file = settings.gallery.as_deref().map(GalleryFile::read).transpose()?;
        let unknowns = Collection::open(settings.unknowns.as_deref(), settings.most_unknowns())?;
        let shared = Self { in_use: Mutex::new(InUse::default()), compared: Mutex::new(None), unknowns };
        if let Some(file) = file {
            shared.put(Some(file))?;
        }
        Ok(shared)
    }

    /// Another element joins, whose files must be the same, or not set.
    fn take_in(&self, name: &str, settings: &Settings) -> Result<Option<String>, String> {
        if let Some(path) = settings.unknowns.as_deref().filter(|path| Some(*path) != self.unknowns.path()) {
            let has = self.unknowns.path();
            return Err(format!(
                "unknowns is '{}', and the instance '{name}' has {}. Set the same in all elements of an instance",
                path.display(),
                has.map_or("no file of unknowns".into(), |has| format!("'{}'", has.display()))
            ));
        }
        let Some(path) = settings.gallery.as_deref() else { return Ok(None) };
        let before = self.in_use().file.map(|file| file.path.clone());
        if before.as_deref() == Some(path) {
            return Ok(None);
        }
        self.replace(Some(path))?;
        Ok(before.map(|before| {
            format!(
                "the instance '{name}' had the gallery '{}', and has '{}' now. Set the same in all elements of an instance",
                before.display(),
                path.display()
            )
        }))
    }

    /// The gallery in use.
    pub fn in_use(&self) -> InUse {
        lock(&self.in_use).clone()
    }

    /// Reads another gallery, and uses it from the next frame on; without a path, none.
    ///
    /// # Errors
    /// A sentence: it cannot be used, and the one before stays.
    pub fn replace(&self, path: Option<&Path>) -> Result<(), String> {
        self.put(path.map(GalleryFile::read).transpose()?)
    }

    fn put(&self, file: Option<GalleryFile>) -> Result<(), String> {
        if let Some(file) = &file {
            let found = file.gallery.length();
            let unfit = |wanted: usize, what: &str| {
                format!(
                    "the gallery '{}' has embeddings of {found} numbers, and {what} have {wanted}. Build it with the model of the pipeline, \
                     as scripts/gallery does",
                    file.path.display()
                )
            };
            if let Some(wanted) = lock(&self.compared).filter(|wanted| *wanted != found) {
                return Err(unfit(wanted, "those of the objects"));
            }
            let collected = self.unknowns.collected().unknowns.length();
            if let Some(wanted) = collected.filter(|wanted| *wanted != found) {
                return Err(unfit(wanted, "those of the unknowns"));
            }
        }
        let mut in_use = lock(&self.in_use);
        in_use.file = file.map(Arc::new);
        in_use.generation += 1;
        Ok(())
    }

    /// Whether embeddings of this length can be compared with the gallery, or with the unknowns.
    ///
    /// # Errors
    /// A sentence: they cannot.
    pub fn check_length(&self, in_use: &InUse, found: usize, model: &str) -> Result<(), String> {
        let wanted = in_use.gallery().map(Gallery::length);
        let wanted = wanted.or_else(|| self.unknowns.collected().unknowns.length());
        match wanted {
            Some(wanted) if wanted != found => {
                let path = in_use.file.as_ref().map(|file| file.path.as_path()).or(self.unknowns.path());
                let file = path.map(|path| format!(" of '{}'", path.display())).unwrap_or_default();
                Err(format!(
                    "the model '{model}' makes embeddings of {found} numbers, and those{file} have {wanted}. Build them with the same model, as \
                     scripts/gallery does, or set embedding-output to the right output"
                ))
            }
            _ => {
                *lock(&self.compared) = Some(found);
                Ok(())
            }
        }
    }
}
