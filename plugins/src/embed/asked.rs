//! Tracker's query whether an embed upstream gives objects embeddings.

use gst::prelude::*;

/// The name of the query's structure, which an embed answers.
const QUERY: &str = "cudainfer-embeddings";

/// Whether an embed upstream of `sink` gives objects embeddings.
pub(crate) fn are_made_upstream(sink: &gst::Pad) -> bool {
    sink.peer_query(&mut gst::query::Custom::new(gst::Structure::new_empty(QUERY)))
}

/// Whether it is the query of [`are_made_upstream`].
pub(crate) fn asked(query: &gst::QueryRef) -> bool {
    matches!(query.view(), gst::QueryView::Custom(custom) if custom.structure().is_some_and(|s| s.name() == QUERY))
}
