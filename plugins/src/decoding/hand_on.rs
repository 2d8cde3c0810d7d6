//! Which elements downstream get tensors: caps are negotiated so that only those that read tensors do. So several elements read
//! the outputs of one inference, in any order, and the last of them removes the tensors.

use crate::caps::{self, ROI};
use crate::meta::tensor::{Tensor, TensorSet};

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
    with_tensors(direction, caps::consumed(direction, from, None), filter)
}

/// The caps `other` of the pad on the other side, and downstream the same with tensors, too.
pub(crate) fn with_tensors(
    direction: gst::PadDirection,
    mut other: gst::Caps,
    filter: Option<&gst::Caps>,
) -> gst::Caps {
    if direction == gst::PadDirection::Sink {
        let tensors = caps::with_feature(&other);
        other.merge(tensors);
    }
    match filter {
        Some(filter) => filter.intersect_with_mode(&other, gst::CapsIntersectMode::First),
        None => other,
    }
}

/// Whether an element downstream, whose caps are those of the `peer`, names a model's outputs. Tensors of regions, which
/// tracker asks for, and those of a network's input are not these.
fn is_asked_for(peer: Option<&gst::Caps>) -> bool {
    let names = |(s, f): (&gst::StructureRef, &gst::CapsFeaturesRef)| {
        !f.is_any() && f.contains(caps::FEATURE) && !s.has_field(ROI)
    };
    let input = |(s, _): (&gst::StructureRef, &gst::CapsFeaturesRef)| s.has_field("tensor-layout");
    peer.is_some_and(|caps| caps.iter_with_features().any(names) && !caps.iter_with_features().any(input))
}

/// Those of the caps that have tensors, or those that have none.
fn only(offered: &gst::Caps, tensors: bool) -> gst::Caps {
    let structures = offered.iter_with_features().filter(|(_, f)| f.contains(caps::FEATURE) == tensors);
    structures.map(|(s, f)| (s.to_owned(), f.to_owned())).collect()
}

/// Chooses among the caps `offered` downstream for frames of the caps `incoming`: with all tensors, if the caps of the `peer` ask
/// for tensors or allow nothing else; plain frames otherwise. `added` describes what the element adds to the tensors.
pub(super) fn choose(
    incoming: &gst::Caps,
    offered: &gst::Caps,
    peer: Option<&gst::Caps>,
    added: impl FnOnce() -> gst::Structure,
) -> gst::Caps {
    let (plain, with_tensors) = (only(offered, false), only(offered, true));
    let described = incoming.structure(0).filter(|_| caps::has_tensors(incoming));
    // A tracker downstream, even before the element that asks, would take tensors of regions for embeddings.
    let regions = |s: &gst::StructureRef| s.has_field(ROI);
    let mistaken = described.is_some_and(regions) && peer.is_some_and(|caps| caps.iter().any(regions));
    let wanted = plain.is_empty() || (is_asked_for(peer) && !mistaken && !with_tensors.is_empty());
    let Some(described) = described.filter(|_| wanted) else {
        return if plain.is_empty() { offered.clone() } else { plain };
    };
    let mut fields = gst::Structure::new_empty("tensors");
    let tensors = described.iter().filter(|(name, _)| name.as_str().starts_with("tensor-"));
    for (name, value) in tensors.chain(added().iter()) {
        fields.set_value(name.as_str(), value.clone());
    }
    caps::with_fields(&with_tensors, &fields)
}

/// Puts the tensors back on the frame, with those that an element adds to the frame's own; they replace others of their names.
pub(super) fn put_back(mut sets: Vec<TensorSet>, added: Vec<Tensor>, frame: &mut gst::BufferRef) {
    if let [set] = &mut sets[..] {
        set.tensors.retain(|tensor| added.iter().all(|new| new.desc.name != tensor.desc.name));
        set.tensors.extend(added);
    }
    TensorSet::put(&sets, frame);
}
