//! The kinds of events, and lists of what is wanted of them.

use cudainfer_model::mistakes::nearest;

/// The kinds of events of zones.
pub(super) const OF_ZONES: [&str; 8] =
    ["enter", "leave", "in", "out", "dwell", "loiter", "speed", "occupancy"];
/// The kind of an event that is the picture of a track.
pub const TRACK: &str = "track";
/// The kind of a webhook's message with the words for an event.
pub const DESCRIPTION: &str = "description";

/// Checks a list of kinds: those of zones, or one of these.
pub(super) fn check_kinds(
    kinds: Option<&Vec<String>>,
    besides: &[&'static str],
) -> Result<(), (&'static str, String)> {
    let known = || OF_ZONES.iter().chain(besides).copied();
    let unknown = kinds.into_iter().flatten().find(|kind| !known().any(|known| known == *kind));
    let Some(kind) = unknown else { return Ok(()) };
    let sentence = match nearest(kind, known()) {
        Some(near) => format!("there is no kind '{kind}': '{near}' is probably meant"),
        None => format!("there is no kind '{kind}': expected {}", known().collect::<Vec<_>>().join(", ")),
    };
    Err(("kinds", sentence))
}

/// Whether a list has a name; one that is not set has all.
pub(super) fn has(wanted: Option<&Vec<String>>, found: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| wanted.iter().any(|wanted| Some(wanted.as_str()) == found))
}

/// Whether a list of kinds has one; one that is not set has those of zones.
pub(super) fn has_kind(wanted: Option<&Vec<String>>, kind: &str) -> bool {
    match wanted {
        Some(_) => has(wanted, Some(kind)),
        None => kind != TRACK && kind != DESCRIPTION,
    }
}
