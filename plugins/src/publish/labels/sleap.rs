//! SLEAP's table: a row for each instance, `track,frame_idx,instance.score,NODE.x,NODE.y,NODE.score,…` (sleap-io's `io/csv.py`).

use super::cells::{Rows, of_point, score};
use super::instance::Instance;
use crate::model::Skeleton;

pub(super) fn header(skeleton: &Skeleton) -> Vec<u8> {
    let of_instance = ["track", "frame_idx", "instance.score"].map(str::to_owned).into_iter();
    let of_point = |name: &String| ["x", "y", "score"].map(|column| format!("{name}.{column}"));
    let mut rows = Rows::new();
    rows.add(of_instance.chain(skeleton.points.iter().flat_map(of_point)));
    rows.finish()
}

/// The rows of a frame; the track of an instance without identity is empty.
pub(super) fn rows(frame: u64, instances: &[Instance]) -> Option<Vec<u8>> {
    let mut rows = Rows::new();
    for instance in instances {
        let track = instance.track.as_ref().map(|track| track.name.clone()).unwrap_or_default();
        let of_instance = [track, frame.to_string(), score(instance.score)].into_iter();
        rows.add(of_instance.chain(instance.points.iter().flat_map(|point| of_point(*point))));
    }
    (!instances.is_empty()).then(|| rows.finish())
}
