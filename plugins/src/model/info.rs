//! What is known of a model besides its tensors. The decoding elements ask the trtinfer upstream for it with a custom query
//! when they negotiate.

use std::path::Path;
use std::sync::Arc;

use gst::prelude::*;

use super::{ModelError, Sidecar, Skeleton, sidecar, sidecar_path};
use crate::caps::MODEL;

/// The model's sidecar, shared.
#[derive(Clone, Debug, Default, glib::Boxed)]
#[boxed_type(name = "GstCudaInferModelInfo")]
pub struct ModelInfo(Arc<Sidecar>);

impl std::ops::Deref for ModelInfo {
    type Target = Sidecar;

    fn deref(&self) -> &Sidecar {
        &self.0
    }
}

/// The query's structure; `info` is filled in by who answers.
const QUERY: &str = "cudainfer-model";

/// The query's field that asks for a model with a skeleton.
const SKELETON: &str = "skeleton";

/// The query's field for the element that takes the model's tensors off the frames, filled in on the way.
const TAKER: &str = "taken-by";

impl ModelInfo {
    /// Asks the elements before `sink` for that of the model that made the outputs in `caps`; an empty sidecar where nobody
    /// knows.
    pub fn ask(sink: &gst::Pad, caps: &gst::CapsRef) -> Self {
        let model = caps.structure(0).and_then(|s| s.get::<String>(MODEL).ok());
        Self::asked(sink, gst::Structure::builder(QUERY).field_if_some("model", model).build())
    }

    /// The skeleton of the last model before `sink` that has one; without points where there is none.
    pub fn ask_skeleton(sink: &gst::Pad) -> Skeleton {
        Self::asked(sink, gst::Structure::builder(QUERY).field(SKELETON, true).build()).skeleton.clone()
    }

    /// The element that takes the tensors of the model before `sink` off the frames; `None` where no model is before it, or
    /// nobody takes them.
    pub fn ask_taker(sink: &gst::Pad) -> Option<String> {
        let mut query = gst::query::Custom::new(gst::Structure::new_empty(QUERY));
        let answered = sink.peer_query(&mut query);
        query.structure().filter(|_| answered)?.get(TAKER).ok()
    }

    /// Puts an element down in the query as the one that takes the tensors, on the query's way to the model; the one that is
    /// nearest to who asks counts.
    pub fn tell_taker(query: &mut gst::QueryRef, element: &str) {
        let gst::QueryViewMut::Custom(custom) = query.view_mut() else { return };
        let structure = custom.structure_mut();
        if structure.name() == QUERY && !structure.has_field(TAKER) {
            structure.set(TAKER, element);
        }
    }

    fn asked(sink: &gst::Pad, question: gst::Structure) -> Self {
        let mut query = gst::query::Custom::new(question);
        let answered = sink.peer_query(&mut query);
        let info = query.structure().and_then(|s| s.get("info").ok());
        info.filter(|_| answered).unwrap_or_default()
    }

    /// Answers [`ModelInfo::ask`] with what `find` knows of the model, whose name is not given if any will do; false where it
    /// knows nothing, or the query asks something else.
    pub fn answer(query: &mut gst::QueryRef, find: impl FnOnce(Option<&str>) -> Option<Self>) -> bool {
        let gst::QueryViewMut::Custom(custom) = query.view_mut() else { return false };
        let s = custom.structure_mut();
        if s.name() != QUERY {
            return false;
        }
        // A model without a skeleton leaves the question to those before it.
        let needs_skeleton = s.get(SKELETON).unwrap_or(false);
        let suits = |info: &Self| !needs_skeleton || !info.skeleton.points.is_empty();
        let Some(info) = find(s.get("model").ok()).filter(suits) else { return false };
        s.set("info", info);
        true
    }

    /// Reads the sidecar beside a model, and the labels from `labels` where that is given.
    ///
    /// # Errors
    /// A file that cannot be read or is not right.
    pub fn read(model: &Path, labels: Option<&Path>) -> Result<Self, ModelError> {
        let mut sidecar = Sidecar::beside(model)?;
        let beside = || Some(sidecar_path(model).with_file_name(sidecar.output.labels_file.as_ref()?));
        if let Some(path) = labels.map(Path::to_owned).or_else(beside) {
            sidecar.output.labels = sidecar::labels(&path)?;
        }
        sidecar.check_names().map_err(|why| ModelError::Sidecar(sidecar_path(model), why))?;
        Ok(Self(Arc::new(sidecar)))
    }

    /// The name of class `index`; its number where there is no name.
    pub fn label(&self, index: u32) -> String {
        name(&self.output.labels, index)
    }

    /// The name of keypoint `index`: the skeleton's, else the label, else its number.
    pub fn point(&self, index: u32) -> String {
        let points = &self.skeleton.points;
        name(if points.is_empty() { &self.output.labels } else { points }, index)
    }
}

fn name(names: &[String], index: u32) -> String {
    let name = usize::try_from(index).ok().and_then(|i| names.get(i));
    name.cloned().unwrap_or_else(|| index.to_string())
}
