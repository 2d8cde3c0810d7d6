//! How pads are linked, with bins left out.

use gst::prelude::*;

/// Elements upstream among which the source is searched for, at most: elements may be linked in a circle.
const MOST_ELEMENTS: usize = 100;

/// The element of a pad; `None` for pads of bins, and for those inside of ghost pads, which only hand on.
pub(super) fn element(pad: &gst::Pad) -> Option<gst::Element> {
    pad.parent_element().filter(|element| !element.is::<gst::Bin>())
}

/// The pad of a real element that pushes to `pad`.
pub(super) fn pusher(pad: &gst::Pad) -> Option<gst::Pad> {
    let mut from = pad.peer()?;
    for _ in 0..MOST_ELEMENTS {
        if element(&from).is_some() {
            return Some(from);
        }
        from = if let Some(ghost) = from.downcast_ref::<gst::GhostPad>() {
            // Out of a bin: to the target of its source pad.
            ghost.target()?
        } else {
            // Into a bin: to the peer of its sink pad.
            from.parent().and_downcast::<gst::Pad>()?.peer()?
        };
    }
    None
}

/// The element and its source pad where the stream with this start begins, which `pad` of `own` pushes. Demuxers announce it on
/// pads that have no element yet: then an element downstream of them is the first that is known.
pub(super) fn beginning(own: &gst::Element, pad: &gst::Pad, start: gst::Seqnum) -> (gst::Element, gst::Pad) {
    let (mut own, mut pad) = (own.clone(), pad.clone());
    for _ in 0..MOST_ELEMENTS {
        // A pushed event is kept on the source pad before it is on the sink pad.
        let has = |pad: &gst::Pad| {
            pad.sticky_event::<gst::event::StreamStart>(0).is_some_and(|s| s.seqnum() == start)
        };
        let before = own.sink_pads().iter().filter_map(pusher).find(has);
        let Some((element, source)) = before.and_then(|pad| Some((element(&pad)?, pad))) else { break };
        (own, pad) = (element, source);
    }
    (own, pad)
}

/// Whether the streams that an element makes are those that come to it, or parts of them: a demuxer, or an element of RTP, whose
/// packets have times as frames do. Muxers and compositors make something else of them.
pub(super) fn splits(own: &gst::Element) -> bool {
    let class = own.factory().and_then(|factory| factory.metadata("klass").map(str::to_owned));
    class.is_some_and(|class| ["Demuxer", "Network"].iter().any(|word| class.contains(word)))
}

/// Whether what leaves a source pad is RTCP.
pub(super) fn is_rtcp(pad: &gst::Pad) -> bool {
    let caps = pad.pad_template_caps();
    !caps.is_any()
        && !caps.is_empty()
        && caps
            .iter()
            .all(|format| ["application/x-rtcp", "application/x-srtcp"].contains(&format.name().as_str()))
}

/// The starts of the streams that come to an element under another name than the element upstream gave them: bins may change
/// it on their pads, as rtspsrc does.
pub(super) fn renamed(own: &gst::Element) -> Vec<gst::event::StreamStart<gst::Event>> {
    let sinks = own.sink_pads();
    sinks.iter().filter_map(pusher).filter_map(|pad| pad.sticky_event::<gst::event::StreamStart>(0)).collect()
}

/// The name for users of a stream of this id that begins on `pad` of `own`: after the source, named as it is in the pipeline,
/// and, where another element begins it, after the end of its id or after that element.
pub(super) fn label(own: &gst::Element, pad: &gst::Pad, id: &str) -> String {
    let mut source = own.clone();
    for _ in 0..MOST_ELEMENTS {
        // An element with several inputs makes a new stream of them.
        let inputs = source.sink_pads();
        let [input] = inputs.as_slice() else { break };
        let Some(before) = pusher(input).and_then(|pad| element(&pad)) else { break };
        source = before;
    }
    let name = outermost(&source).name();
    match id.rsplit_once('/') {
        Some((_, part)) if source != *own => format!("{name}/{}", part.chars().take(64).collect::<String>()),
        _ if source != *own => format!("{name}/{}", own.name()),
        _ if source.num_src_pads() > 1 => format!("{name}/{}", pad.name()),
        _ => name.into(),
    }
}

/// The element's ancestor directly in the pipeline: itself, or a bin.
fn outermost(element: &gst::Element) -> gst::Element {
    let mut outer = element.clone();
    while let Some(parent) = outer.parent().and_downcast::<gst::Element>() {
        if parent.parent().is_none() {
            break;
        }
        outer = parent;
    }
    outer
}
