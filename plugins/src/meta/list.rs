//! Lists of structures in custom metas, which every language can read (`gst_buffer_get_custom_meta`).

use gst::meta::CustomMeta;
use gst::prelude::*;

/// Registers the untagged custom meta of this name; called once, when the plugin loads.
pub(super) fn register(meta: &str) {
    if !CustomMeta::is_registered(meta) {
        CustomMeta::register_simple(meta);
    }
}

/// Whether a buffer carries the meta.
pub(super) fn is_there(buffer: &gst::BufferRef, meta: &str) -> bool {
    CustomMeta::from_buffer(buffer, meta).is_ok()
}

/// Adds structures to the list that is this field of the meta; the meta is put there if it is missing.
pub(super) fn extend(
    buffer: &mut gst::BufferRef,
    meta: &str,
    field: &str,
    more: impl Iterator<Item = gst::Structure>,
) {
    if !is_there(buffer, meta) && CustomMeta::add(buffer, meta).is_err() {
        return;
    }
    let Ok(mut meta) = CustomMeta::from_mut_buffer(buffer, meta) else { return };
    let s = meta.mut_structure();
    let all = s.get::<gst::ArrayRef>(field).map(|all| all.as_slice().to_vec());
    let more = more.map(|structure| structure.to_send_value());
    s.set(field, gst::Array::from_values(all.unwrap_or_default().into_iter().chain(more)));
}

/// Removes from that list the structures for which `keep` returns false; it gets each structure and its place.
pub(super) fn retain(
    buffer: &mut gst::BufferRef,
    meta: &str,
    field: &str,
    keep: impl Fn(usize, &gst::StructureRef) -> bool,
) {
    let Ok(mut meta) = CustomMeta::from_mut_buffer(buffer, meta) else { return };
    let s = meta.mut_structure();
    let Ok(all) = s.get::<gst::ArrayRef>(field).map(|all| all.as_slice().to_vec()) else { return };
    let kept = all
        .into_iter()
        .enumerate()
        .filter(|(place, one)| one.get::<&gst::StructureRef>().is_ok_and(|one| keep(*place, one)));
    s.set(field, gst::Array::from_values(kept.map(|(_, one)| one)));
}

/// The structures of that list as `read` understands them, in the order in which they were put there; others are left out. `None`
/// if there is no such list.
pub(super) fn read<T>(
    buffer: &gst::BufferRef,
    meta: &str,
    field: &str,
    read: impl Fn(&gst::StructureRef) -> Option<T>,
) -> Option<Vec<T>> {
    let meta = CustomMeta::from_buffer(buffer, meta).ok()?;
    let list = meta.structure().get::<gst::ArrayRef>(field).ok()?;
    Some(list.iter().filter_map(|one| read(one.get::<&gst::StructureRef>().ok()?)).collect())
}
