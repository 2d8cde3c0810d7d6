//! The query by which inferpublish asks tracker how many individuals there are.

use gst::prelude::*;

/// The name of the query's structure.
const QUERY: &str = "cudainfer-individuals";
/// The field in which tracker answers.
const COUNT: &str = "count";

/// The number of individuals that the nearest tracker upstream of `sink` has been set to; `None` if it has no limit, or there is no
/// tracker.
pub(crate) fn ask(sink: &gst::Pad) -> Option<u32> {
    let mut query = gst::query::Custom::new(gst::Structure::new_empty(QUERY));
    let answered = sink.peer_query(&mut query);
    query.structure()?.get(COUNT).ok().filter(|_| answered)
}

/// Answers [`ask`] with this number; false where it is 0, which is no limit, and for any other query.
pub(crate) fn answer(query: &mut gst::QueryRef, count: u32) -> bool {
    let gst::QueryViewMut::Custom(custom) = query.view_mut() else { return false };
    let structure = custom.structure_mut();
    if structure.name() != QUERY || count == 0 {
        return false;
    }
    structure.set(COUNT, count);
    true
}
