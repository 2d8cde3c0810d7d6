//! Warnings about what is probably a mistake: objects without embeddings, embeddings of another model, no room for unknowns.

use std::collections::BTreeSet;

use super::gallery_file::GalleryFile;
use crate::meta::object::Object;

/// Warned about after this many frames with objects, none of which has ever had an embedding.
const ENOUGH: u32 = 30;

/// The warnings' state.
#[derive(Debug, Default)]
pub(super) struct Notices {
    /// Frames with objects without an embedding so far; `None` if one has had one, or the warning was posted.
    without: Option<u32>,
    /// The outputs whose embeddings the objects have, where another one is wanted.
    others: BTreeSet<String>,
    /// The generation of the gallery that was warned about.
    other_model: Option<u64>,
    other_length: Option<u64>,
    is_full: bool,
}

impl Notices {
    /// Of a new stream.
    pub fn begin(&mut self) {
        self.without = Some(0);
        self.others.clear();
    }

    /// Takes in a frame's objects; `found` says whether one has had an embedding that counts.
    pub fn examine(&mut self, objects: &[Object], found: bool, wanted: Option<&str>) -> Option<String> {
        if found {
            self.without = None;
        }
        let frames = self.without.as_mut().filter(|_| !objects.is_empty())?;
        *frames += 1;
        let embeddings = objects.iter().flat_map(|object| &object.embeddings);
        self.others.extend(embeddings.map(|embedding| embedding.output.clone()));
        if *frames >= ENOUGH { self.end(wanted) } else { None }
    }

    /// At the stream's end, if it was short.
    pub fn end(&mut self, wanted: Option<&str>) -> Option<String> {
        self.without.take().filter(|frames| *frames > 0)?;
        let others: Vec<_> = self.others.iter().map(String::as_str).collect();
        Some(match wanted.filter(|_| !others.is_empty()) {
            Some(wanted) => format!(
                "no object has had an embedding of the output '{wanted}', but of {}. Set embedding-output to one of these",
                others.join(", ")
            ),
            None => "no object has had an embedding. Put fusedpreproc roi=objects, a trtinfer with a model that makes embeddings, and embed \
                     before this element"
                .into(),
        })
    }

    /// The embeddings are of this model, and the gallery, of this generation, may be of another one.
    pub fn model(&mut self, generation: u64, file: &GalleryFile, model: &str) -> Option<String> {
        let other = file.model.as_deref().filter(|of| *of != model && !model.is_empty())?;
        let is_new = self.other_model.replace(generation) != Some(generation);
        is_new.then(|| {
            format!(
                "the gallery '{}' was built with the model '{other}', and the embeddings are of '{model}'. Names are wrong if these differ \
                 in more than the name: build the gallery with the model of the pipeline",
                file.path.display()
            )
        })
    }

    /// An embedding could not be compared with the gallery of this generation.
    pub fn length(&mut self, generation: u64, why: String) -> Option<String> {
        (self.other_length.replace(generation) != Some(generation)).then_some(why)
    }

    /// Somebody got no number, because there are as many unknowns as there may be.
    pub fn full(&mut self, most: usize) -> Option<String> {
        (!std::mem::replace(&mut self.is_full, true)).then(|| {
            format!(
                "there are {most} unknowns, which is max-unknowns, so those that come now get no number. Raise it; if many of \
                 them are the same, lower threshold or raise min-frames"
            )
        })
    }
}
