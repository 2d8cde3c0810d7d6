//! Whether the elements downstream of a model can work with another one: trtinfer asks before it changes models while frames
//! flow.
//!
//! The question is a custom query that travels downstream, with the caps of the new model's outputs. An element that can
//! work with them leaves it unanswered, so that a tee asks its other branches too; one that cannot answers with a refusal. An
//! element that passes on other caps than it gets asks with those, and one that makes tensors of its own (fusedpreproc) ends
//! the question.

use gst::prelude::*;

use super::ModelInfo;

/// The query's structure; who cannot work with the caps fills in `refusal`.
const QUERY: &str = "cudainfer-accepts";

/// Asks what is behind `src` whether it can work with these caps of another model.
///
/// # Errors
/// The refusal: a sentence that begins with the name of the element that refuses.
pub(crate) fn ask(src: &gst::Pad, caps: &gst::Caps, info: &ModelInfo) -> Result<(), String> {
    let structure = gst::Structure::builder(QUERY).field("caps", caps).field("info", info).build();
    let mut query = gst::query::Custom::new(structure);
    let answered = src.peer_query(&mut query);
    let refusal = query.structure().and_then(|s| s.get::<String>("refusal").ok());
    refusal.filter(|_| answered).map_or(Ok(()), Err)
}

/// The caps and the model that [`ask`] asks about; `None` where the query asks something else.
pub(crate) fn asked(query: &gst::QueryRef) -> Option<(gst::Caps, ModelInfo)> {
    let gst::QueryView::Custom(custom) = query.view() else { return None };
    let structure = custom.structure().filter(|s| s.name() == QUERY)?;
    Some((structure.get("caps").ok()?, structure.get("info").ok()?))
}

/// What the query function of an element that was [`asked`] returns: refused in these words, or not answered.
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
        for (behind, wanted) in [
            (Some(pad(|caps| Err(format!("{caps} is too much")))), Err("ANY is too much".to_owned())),
            (Some(pad(|_| Ok(()))), Ok(())),
            (None, Ok(())),
        ] {
            let src = gst::Pad::new(gst::PadDirection::Src);
            if let Some(behind) = &behind {
                src.link_full(behind, gst::PadLinkCheck::empty()).unwrap();
            }
            assert_eq!(ask(&src, &gst::Caps::new_any(), &ModelInfo::default()), wanted);
        }
    }
}
