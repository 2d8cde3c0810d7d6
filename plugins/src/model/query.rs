//! The query by which elements downstream ask trtinfer about its model when they negotiate.

use gst::prelude::*;

use super::{ModelInfo, Skeleton};
use crate::caps::loaded_model;
use crate::strings;

/// What is known about a model, as a field of queries.
#[derive(Clone, Debug, Default, glib::Boxed)]
#[boxed_type(name = "GstCudaInferModelInfo")]
pub(crate) struct BoxedInfo(pub(crate) ModelInfo);

/// The name of the query's structure; the element that answers sets the field `info`.
const QUERY: &str = "cudainfer-model";

/// The query's field that asks for a model with a skeleton.
const SKELETON: &str = "skeleton";

/// The query's field for the element that removes the model's tensors from the frames, which sets it on the query's way.
const TAKER: &str = "taken-by";

/// The query's field that asks every model for its labels, a list each.
const LABELS: &str = "labels";

/// Asks upstream of `sink` about the model that made the outputs in `caps`; an empty sidecar if no element answers.
pub(crate) fn ask(sink: &gst::Pad, caps: &gst::CapsRef) -> ModelInfo {
    let model = loaded_model(caps);
    asked(sink, gst::Structure::builder(QUERY).field_if_some("model", model).build())
}

/// The skeleton of the nearest model upstream of `sink` that has one; without points if there is none.
pub(crate) fn ask_skeleton(sink: &gst::Pad) -> Skeleton {
    asked(sink, gst::Structure::builder(QUERY).field(SKELETON, true).build()).skeleton.clone()
}

/// The element that removes the tensors of the model upstream of `sink` from the frames; `None` if there is no model, or
/// no element removes them.
pub(crate) fn ask_taker(sink: &gst::Pad) -> Option<String> {
    let mut query = gst::query::Custom::new(gst::Structure::new_empty(QUERY));
    let answered = sink.peer_query(&mut query);
    strings::field(query.structure().filter(|_| answered)?, TAKER)
}

/// Names `element` in the query, on its way to the model, as the one that removes the tensors; the element nearest to the one
/// that asks counts.
pub(crate) fn tell_taker(query: &mut gst::QueryRef, element: &str) {
    let gst::QueryViewMut::Custom(custom) = query.view_mut() else { return };
    let structure = custom.structure_mut();
    if structure.name() == QUERY && !structure.has_field(TAKER) {
        structure.set(TAKER, element);
    }
}

/// The labels of every model upstream of `sink`, the nearest first, those of its classifiers included; an empty list for a
/// model that names none.
pub(crate) fn ask_labels(sink: &gst::Pad) -> Vec<Vec<String>> {
    let question = gst::Structure::builder(QUERY).field(LABELS, gst::List::default()).build();
    let mut query = gst::query::Custom::new(question);
    // The query stays unanswered, because no element is the last to answer.
    let _ = sink.peer_query(&mut query);
    let lists = query.structure().and_then(|s| s.get::<gst::List>(LABELS).ok()).unwrap_or_default();
    let words = |list: &gst::List| list.iter().filter_map(|label| strings::text(label)).collect();
    lists.iter().filter_map(|list| Some(words(&list.get::<gst::List>().ok()?))).collect()
}

/// All classes that the model, one of its classifiers or one of its masks has a name for.
fn all_labels(info: &ModelInfo) -> gst::List {
    let heads = info.classify.heads.values().map(|head| &head.labels);
    let slices = info.classify.slices.values().map(|slice| &slice.labels);
    let masks = std::iter::once(&info.segment).chain(info.segment.masks.values()).map(|masks| &masks.labels);
    gst::List::new(std::iter::once(&info.output.labels).chain(heads).chain(slices).chain(masks).flatten())
}

fn asked(sink: &gst::Pad, question: gst::Structure) -> ModelInfo {
    let mut query = gst::query::Custom::new(question);
    let answered = sink.peer_query(&mut query);
    let info = query.structure().and_then(|s| s.get::<BoxedInfo>("info").ok());
    info.filter(|_| answered).unwrap_or_default().0
}

/// Answers [`ask`] with what `find` knows about the model, whose name is `None` if any model will do; false if
/// it knows nothing, or for any other query.
pub(crate) fn answer(
    query: &mut gst::QueryRef,
    find: impl FnOnce(Option<&str>) -> Option<ModelInfo>,
) -> bool {
    let gst::QueryViewMut::Custom(custom) = query.view_mut() else { return false };
    let s = custom.structure_mut();
    if s.name() != QUERY {
        return false;
    }
    if let Ok(lists) = s.get::<gst::List>(LABELS) {
        let ours = find(None).map(|info| all_labels(&info).to_send_value());
        s.set(LABELS, gst::List::from_values(lists.iter().cloned().chain(ours)));
        // The models before it have labels as well.
        return false;
    }
    // A model without a skeleton leaves the question to the models before it.
    let needs_skeleton = s.get::<bool>(SKELETON).unwrap_or(false);
    let suits = |info: &ModelInfo| !needs_skeleton || !info.skeleton.points.is_empty();
    let Some(info) = find(strings::field(s, "model").as_deref()).filter(suits) else { return false };
    s.set("info", BoxedInfo(info));
    true
}
