//! identify's properties.

use std::path::PathBuf;
use std::sync::LazyLock;

use cudainfer_kernels::identify::IdentifyParams;

use crate::property::{Table, property};
use crate::stats;

/// Bound of the numbers that can be set: the element itself refuses those that no cosine can have, with a sentence.
const MOST: f64 = 1000.0;

/// The property that names a gallery.
pub(super) const GALLERY: &str = "gallery";

/// The properties.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub gallery: Option<PathBuf>,
    pub threshold: f64,
    pub margin: f64,
    pub frames: u32,
    pub min_frames: u32,
    pub unknowns: Option<PathBuf>,
    pub max_unknowns: u32,
    embedding_output: String,
    instance: String,
}

impl Default for Settings {
    fn default() -> Self {
        let IdentifyParams { threshold, margin, .. } = IdentifyParams::default();
        Self {
            gallery: None,
            threshold,
            margin,
            frames: 10,
            min_frames: 3,
            unknowns: None,
            max_unknowns: 1000,
            embedding_output: String::new(),
            instance: String::new(),
        }
    }
}

/// All properties. Those that are read-only are answered by the element.
pub(super) static PROPERTIES: LazyLock<Table<Settings>> = LazyLock::new(|| {
    Table::new([
        property!(
            Settings,
            gallery,
            (),
            "Gallery",
            "The names and their embeddings: a .npz with an array for each name, or a folder with a .npy, or a folder of them, for each, \
             as scripts/gallery makes it. It is read when it is set, also to the same name again, and at each start. If not set: all \
             objects are unknown",
        )
        .playing(),
        property!(
            Settings,
            threshold,
            -MOST..=MOST,
            "Threshold",
            "Least cosine similarity, from -1 to 1, at which an object is the name, or the unknown, that it is most similar to",
        )
        .playing(),
        property!(
            Settings,
            margin,
            -MOST..=MOST,
            "Margin",
            "By how much, from 0 to 2, that similarity must be above the one to every other name; an object that is like several names \
             gets none",
        )
        .playing(),
        property!(
            Settings,
            frames,
            1..=1000,
            "Frames",
            "A tracked object is who it is in the best of its last frames with an embedding: those of this number",
        )
        .playing(),
        property!(
            Settings,
            min_frames,
            1..=1000,
            "Minimum frames",
            "Number of frames with an embedding after which a tracked object that is like nobody gets a number as an unknown; objects \
             that are not tracked get it at once",
        )
        .playing(),
        property!(
            Settings,
            unknowns,
            (),
            "Unknowns",
            "A .npz that the embeddings of unknowns are written to, every 10 s, at EOS and at the end, so that somebody can name \
             them. If it exists, its unknowns are known again. If not set: they are forgotten at the end",
        ),
        property!(
            Settings,
            max_unknowns,
            0..=10_000,
            "Maximum unknowns",
            "Maximum number of unknowns; who comes after that gets no number. 0: unknowns get none",
        ),
        property!(
            Settings,
            embedding_output,
            (),
            "Embedding output",
            "Name of the model output with the embeddings. If not set: the first embedding of each object",
        )
        .playing(),
        property!(
            Settings,
            instance,
            (),
            "Instance",
            "Name of a shared instance: elements of the process with the same name share the gallery and the unknowns, also across \
             pipelines. If not set: an instance of its own",
        ),
    ])
    .with([stats::param_spec(
        "; objects (whose embedding was compared), known, unknown, ambiguous (like several names), held (identities of objects without an \
         embedding in that frame), not-compared (embeddings of another length, or without a direction), left-out (times an unknown got no \
         number because of max-unknowns), forgotten-streams (times a stream began anew because more than 256 take turns)",
    )])
});

impl Settings {
    /// As the kernels want them.
    ///
    /// # Errors
    /// A sentence: a number that no cosine can meet.
    pub fn params(&self) -> Result<IdentifyParams, String> {
        let params = IdentifyParams {
            threshold: self.threshold,
            margin: self.margin,
            frames: usize::try_from(self.frames).unwrap_or(usize::MAX),
            min_frames: self.min_frames.into(),
        };
        params.check().map(|()| params).map_err(|e| e.to_string())
    }

    /// The output whose embeddings count, if one is named.
    pub fn output(&self) -> Option<String> {
        Some(self.embedding_output.clone()).filter(|name| !name.is_empty())
    }

    /// The name of the shared instance, if there is one.
    pub fn instance(&self) -> Option<&str> {
        Some(self.instance.as_str()).filter(|name| !name.is_empty())
    }

    /// How many unknowns there may be.
    pub fn most_unknowns(&self) -> usize {
        usize::try_from(self.max_unknowns).unwrap_or(usize::MAX)
    }
}
