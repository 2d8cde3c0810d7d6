//! The JSON that SLEAP keeps beside the table, under the same name: what the table has no columns for (`_write_metadata` in
//! sleap-io's `io/csv.py`).

use std::collections::BTreeMap;

use serde_json::json;

use crate::model::Skeleton;

/// The video that the frames are of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Video {
    /// Its path or URI.
    pub name: String,
    /// 1 for gray frames, else 3.
    pub channels: u32,
}

/// Of this number of frames, with those that were lost, and of this width and height.
pub(super) fn json(
    video: &Video,
    frames: u64,
    (width, height): (u32, u32),
    skeleton: &Skeleton,
    tracks: &BTreeMap<u64, String>,
) -> Vec<u8> {
    let named = |pairs: &[[usize; 2]]| -> Vec<[&str; 2]> {
        let name = |point: usize| skeleton.points.get(point).map(String::as_str);
        pairs.iter().filter_map(|[a, b]| Some([name(*a)?, name(*b)?])).collect()
    };
    let Video { name, channels } = video;
    let all = json!({
        "version": "1.0",
        "videos": [{
            "filename": name,
            "backend_metadata": {
                "type": "MediaVideo",
                "filename": name,
                "shape": [frames, height, width, channels],
                "grayscale": *channels == 1,
            },
        }],
        "skeletons": [{
            "name": "Skeleton-0",
            "nodes": skeleton.points,
            "edges": named(&skeleton.edges),
            "symmetries": named(&skeleton.symmetric),
        }],
        "tracks": tracks.values().collect::<Vec<_>>(),
        "suggestions": [],
        "provenance": { "written_by": concat!("cudainfer ", env!("CARGO_PKG_VERSION")) },
    });
    let mut text = serde_json::to_vec_pretty(&all).unwrap_or_default();
    text.push(b'\n');
    text
}
