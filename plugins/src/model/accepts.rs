//! Whether the elements downstream can work with another model: trtinfer asks before it changes models while frames flow.
//!
//! The question is a custom query downstream, with the caps of the new model's outputs. An element that can work with them
//! leaves the query unanswered, so that a tee asks its other branches too; one that cannot answers with a refusal. An
//! element whose source caps differ asks about those itself, and one that makes new tensors ends the query.

use gst::prelude::*;

use super::{BoxedInfo, ModelInfo};
use crate::strings;

/// The name of the query's structure; an element that cannot work with the caps sets the field `refusal`.
const QUERY: &str = "cudainfer-accepts";

/// Asks the elements downstream of `src` whether they can work with these caps of another model.
///
/// # Errors
/// The refusal: a sentence that begins with the name of the element that refuses.
pub(crate) fn ask(src: &gst::Pad, caps: &gst::Caps, info: &ModelInfo) -> Result<(), String> {
    let structure =
        gst::Structure::builder(QUERY).field("caps", caps).field("info", BoxedInfo(info.clone())).build();
    let mut query = gst::query::Custom::new(structure);
    let answered = src.peer_query(&mut query);
    let refusal = query.structure().and_then(|s| strings::field(s, "refusal"));
    refusal.filter(|_| answered).map_or(Ok(()), Err)
}

/// The caps and the model that [`ask`] asks about; `None` for any other query.
pub(crate) fn asked(query: &gst::QueryRef) -> Option<(gst::Caps, ModelInfo)> {
    let gst::QueryView::Custom(custom) = query.view() else { return None };
    let structure = custom.structure().filter(|s| s.name() == QUERY)?;
    Some((structure.get::<gst::Caps>("caps").ok()?, structure.get::<BoxedInfo>("info").ok()?.0))
}

/// Answers a query that was [`asked`], for the query function to return: refused with this reason, or left unanswered.
pub(crate) fn answer(query: &mut gst::QueryRef, accepted: Result<(), String>) -> bool {
    let (Err(why), gst::QueryViewMut::Custom(custom)) = (accepted, query.view_mut()) else { return false };
    custom.structure_mut().set("refusal", why);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_comes_back_and_nobody_who_answers_is_none() {
        gst::init().unwrap();
        let pad = |accepts: fn(&gst::Caps) -> Result<(), String>| {
            let pad = gst::Pad::builder(gst::PadDirection::Sink);
            let pad = pad.query_function(move |_, _, query| {
                assert!(asked(&gst::query::Latency::new()).is_none());
                let (caps, _) = asked(query).unwrap();
                answer(query, accepts(&caps))
            });
            pad.build()
        };
        for (downstream, wanted) in [
            (Some(pad(|caps| Err(format!("{caps} is too much")))), Err("ANY is too much".to_owned())),
            (Some(pad(|_| Ok(()))), Ok(())),
            (None, Ok(())),
        ] {
            let src = gst::Pad::new(gst::PadDirection::Src);
            if let Some(downstream) = &downstream {
                src.link_full(downstream, gst::PadLinkCheck::empty()).unwrap();
            }
            assert_eq!(ask(&src, &gst::Caps::new_any(), &ModelInfo::default()), wanted);
        }
    }
}
