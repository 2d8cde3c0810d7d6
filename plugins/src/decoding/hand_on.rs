//! Which elements downstream get tensors: caps are negotiated so that only those that read tensors do.

use gst::prelude::*;

use crate::caps::{self, ROI};

/// What elements downstream that ask for tensors get of those that arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandsOn {
    /// None.
    Nothing,
    /// What the element's own `fixate_caps` and [`super::DecodingElementImpl::hands_on`] choose.
    Some,
    /// All, unchanged.
    All,
}

/// The source pad's template of an element that may hand tensors on: plain frames, and frames with tensors.
pub(crate) fn src_template() -> gst::Caps {
    let mut caps = caps::any_video();
    caps.merge(caps::with_feature(&caps::any_video()));
    caps
}

/// For BaseTransform's `transform_caps`: [`caps::consumed`], and downstream frames with tensors too.
pub(crate) fn transform(
    direction: gst::PadDirection,
    from: &gst::Caps,
    filter: Option<&gst::Caps>,
) -> gst::Caps {
    let mut other = caps::consumed(direction, from, None);
    if direction == gst::PadDirection::Sink {
        let tensors = caps::with_feature(&other);
        other.merge(tensors);
    }
    match filter {
        Some(filter) => filter.intersect_with_mode(&other, gst::CapsIntersectMode::First),
        None => other,
    }
}

/// The source caps of an `element` that hands on the tensors of `caps` unchanged, if an element downstream asks for them, among
/// the caps `offered`; without these, among all.
pub(crate) fn all(
    element: &impl IsA<gst::Element>,
    caps: &gst::Caps,
    offered: Option<&gst::Caps>,
) -> gst::Caps {
    let peer = element.static_pad("src").map(|src| src.peer_query_caps(None));
    let possible = || transform(gst::PadDirection::Sink, caps, peer.as_ref());
    unchanged(caps, &offered.cloned().unwrap_or_else(possible), peer.as_ref())
}

/// Whether an element downstream, whose caps are those of the `peer`, names a model's outputs. Tensors of regions, which
/// tracker asks for, and those of a network's input are not these.
pub(crate) fn is_asked_for(peer: Option<&gst::Caps>) -> bool {
    let names = |(s, f): (&gst::StructureRef, &gst::CapsFeaturesRef)| {
        !f.is_any() && f.contains(caps::FEATURE) && !s.has_field(ROI)
    };
    let input = |(s, _): (&gst::StructureRef, &gst::CapsFeaturesRef)| s.has_field("tensor-layout");
    peer.is_some_and(|caps| caps.iter_with_features().any(names) && !caps.iter_with_features().any(input))
}

/// Those of the caps that have tensors, or those that have none.
pub(crate) fn only(offered: &gst::Caps, tensors: bool) -> gst::Caps {
    let structures = offered.iter_with_features().filter(|(_, f)| f.contains(caps::FEATURE) == tensors);
    structures.map(|(s, f)| (s.to_owned(), f.to_owned())).collect()
}

/// Chooses among the caps `offered` downstream for an element that hands on all tensors of the frames `incoming` unchanged:
/// frames with them if the caps of the `peer` ask for tensors, plain frames otherwise.
fn unchanged(incoming: &gst::Caps, offered: &gst::Caps, peer: Option<&gst::Caps>) -> gst::Caps {
    let plain = only(offered, false);
    let described = incoming.structure(0).filter(|_| caps::has_tensors(incoming));
    // A tracker downstream, even before the element that asks, would take tensors of regions for embeddings.
    let regions = |s: &gst::StructureRef| s.has_field(ROI);
    let mistaken = described.is_some_and(regions) && peer.is_some_and(|caps| caps.iter().any(regions));
    let wanted = plain.is_empty() || (is_asked_for(peer) && !mistaken);
    let Some(described) = described.filter(|_| wanted) else {
        return if plain.is_empty() { offered.clone() } else { plain };
    };
    let mut fields = gst::Structure::new_empty("tensors");
    for (name, value) in described.iter().filter(|(name, _)| name.as_str().starts_with("tensor-")) {
        fields.set_value(name.as_str(), value.clone());
    }
    caps::with_fields(&only(offered, true), &fields)
}
