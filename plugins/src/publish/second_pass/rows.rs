//! The text of the MOTChallenge after the second pass.

use super::Passed;
use super::passed::Placed;
use crate::publish::format::mot_row;
use crate::publish::record::{BoxRecord, score};

/// The rows of each frame, of objects that have a confidence.
pub(crate) fn rows(passed: &Passed) -> impl Iterator<Item = Vec<u8>> {
    let boxes = passed.boxes();
    let mut begun = 0;
    std::iter::from_fn(move || {
        let rest = boxes.get(begun..)?;
        let frame = rest.first()?.1.sighting.frame;
        let count = rest.partition_point(|(_, found)| found.sighting.frame == frame);
        begun += count;
        let row = |(id, found): &(u64, Placed)| {
            let sighting = &found.sighting;
            let rect = BoxRecord::from(&sighting.rect);
            Some(mot_row(frame, *id, &rect, score(sighting.confidence?), found.is_filled))
        };
        let rows: Vec<_> = rest.iter().take(count).filter_map(row).collect();
        Some(rows.join("\n").into_bytes())
    })
    .filter(|rows| !rows.is_empty())
}
