//! The field `tensors` of caps, since 1.28: a group of tensors, each with identifier, dimensions and type.

use std::str::FromStr;

use cudainfer_kernels::tensor::{TensorDesc, TensorType};

use crate::model::TensorIds;

/// The field.
const FIELD: &str = "tensors";

/// Whether elements with these caps ask for tensors.
pub(crate) fn asks_for_tensors(caps: &gst::CapsRef) -> bool {
    caps.iter().any(|s| s.has_field(FIELD))
}

/// The same caps without the field.
pub(crate) fn without_announcement(caps: &gst::Caps) -> gst::Caps {
    let mut caps = caps.clone();
    if asks_for_tensors(&caps) {
        for structure in caps.make_mut().iter_mut() {
            structure.remove_field(FIELD);
        }
    }
    caps
}

/// `frames` with the field that announces these outputs, in the ways that decoders may want it: with all dimensions that are known, and
/// with those only that the model declares, 0 for the others. None where caps have no such field yet or the group has no name.
pub(crate) fn candidates(
    frames: &gst::Caps,
    ids: &TensorIds,
    outputs: &[TensorDesc],
    declared: &[TensorDesc],
) -> Vec<gst::Caps> {
    if !super::is_announced() {
        return vec![];
    }
    let as_declared = outputs.iter().map(|output| {
        let original =
            declared.iter().find(|desc| desc.name == output.name && desc.dims.len() == output.dims.len());
        let open = original
            .map(|desc| desc.dims.iter().zip(&output.dims).map(|(declared, known)| declared.and(*known)));
        let mut dims: Vec<_> = open.map_or_else(|| output.dims.clone(), Iterator::collect);
        // The dimensions of one frame, whatever the batch.
        if let (Some(first), Some(known)) = (dims.first_mut(), output.dims.first()) {
            *first = *known;
        }
        TensorDesc { dims, ..output.clone() }
    });
    let as_declared: Vec<_> = as_declared.collect();
    let known = field(ids, outputs);
    let declared = field(ids, &as_declared).filter(|_| as_declared != outputs);
    [known, declared].into_iter().flatten().map(|value| with(frames, &value)).collect()
}

fn with(frames: &gst::Caps, value: &gst::glib::SendValue) -> gst::Caps {
    let mut caps = frames.clone();
    for structure in caps.make_mut().iter_mut() {
        structure.set_value(FIELD, value.clone());
    }
    caps
}

/// The field's value. Its type has no name in GStreamer before 1.28, so it is made from text.
fn field(ids: &TensorIds, outputs: &[TensorDesc]) -> Option<gst::glib::SendValue> {
    let caps = gst::Caps::from_str(&text(ids, outputs)?).ok()?;
    caps.structure(0)?.value(FIELD).ok().cloned()
}

fn text(ids: &TensorIds, outputs: &[TensorDesc]) -> Option<String> {
    let group = ids.group.as_deref()?;
    let tensors = outputs.iter().map(|output| {
        let (id, order) = (ids.id(&output.name), if ids.is_col_major(&output.name) { "col" } else { "row" });
        let dims: Vec<_> = output.dims.iter().map(|dim| dim.unwrap_or(0).to_string()).collect();
        let dims = if dims.is_empty() { "1".to_owned() } else { dims.join(",") };
        let ty = if output.ty == TensorType::Bool { TensorType::UInt8 } else { output.ty };
        format!(
            "(GstCaps)[tensor/strided,tensor-id=(string){id},dims=(int)<{dims}>,dims-order=(string){order}-major,type=(string){ty}]"
        )
    });
    let tensors: Vec<_> = tensors.collect();
    let words = std::iter::once(group).chain(outputs.iter().map(|output| ids.id(&output.name)));
    words.into_iter().all(TensorIds::is_word).then(|| {
        format!(
            "video/x-raw,{FIELD}=(structure)[tensorgroups,{group}=(/uniquelist){{{}}}]",
            tensors.join(",")
        )
    })
}
