//! How busy the model downstream is, which fusedpreproc's `max-load` asks trtinfer.

use gst::prelude::*;

/// The name of the query's structure, and its field.
const QUERY: &str = "cudainfer-load";
const LOAD: &str = "load";

/// The share of time in which the first model downstream of `src` works, from 0 to 1; none if there is no model, or it is not known yet.
pub(crate) fn ask(src: &gst::Pad) -> Option<f64> {
    let mut query = gst::query::Custom::new(gst::Structure::new_empty(QUERY));
    if !src.peer_query(&mut query) {
        return None;
    }
    query.structure()?.get::<f64>(LOAD).ok()
}

/// Whether this query is that of [`ask`].
pub(crate) fn is_asked(query: &gst::QueryRef) -> bool {
    query.structure().is_some_and(|structure| structure.name() == QUERY)
}

/// Answers it; `None` if it is not known yet.
pub(crate) fn answer(query: &mut gst::QueryRef, load: Option<f64>) -> bool {
    let (gst::QueryViewMut::Custom(custom), Some(load)) = (query.view_mut(), load) else { return false };
    custom.structure_mut().set(LOAD, load);
    true
}
