//! How transformers crops for ViTPose and reads its maps. The numbers are in the code of its `VitPoseImageProcessor`, not in its
//! files, which name the points (`id2label`) and the edges between them (`edges`).

use cudainfer_kernels::peaks::{Border, Grid, Mode, Refinement};
use cudainfer_kernels::preproc::{Interpolation, Padding, Resize};
use serde_json::Value;

use super::values::names;
use crate::sidecar::{Input, Sidecar};
use crate::{RoiCrop, Skeleton};

/// `post_process_pose_estimation`: DarkPose for UDP, but the maps are blurred by SciPy's `gaussian_filter`.
pub(super) fn outputs(all: &Value, words: &mut Sidecar) {
    let peaks = &mut words.peaks;
    (peaks.mode, peaks.grid) = (Some(Mode::Global), Some(Grid::Udp));
    peaks.refinement = Some(Refinement::DarkUdp);
    peaks.blur_kernel = Some(11);
    (peaks.blur_sigma, peaks.blur_border) = (Some(0.8), Some(Border::Reflect));
    let points = all.get("id2label").and_then(names).unwrap_or_default();
    let edges = all.get("edges").and_then(Value::as_array).into_iter().flatten();
    let edges = edges.map(|edge| self::edge(edge, points.len())).collect::<Option<Vec<_>>>();
    let skeleton = Skeleton::of_points(points);
    words.skeleton =
        skeleton.map(|skeleton| skeleton.with_edges(edges.unwrap_or_default())).unwrap_or_default();
}

/// A pair of different points, whose numbers are less than `points`.
fn edge(edge: &Value, points: usize) -> Option<[usize; 2]> {
    let end = |end: &Value| usize::try_from(end.as_u64()?).ok().filter(|end| *end < points);
    match edge.as_array()?.as_slice() {
        [a, b] => Some([end(a)?, end(b)?]).filter(|[a, b]| a != b),
        _ => None,
    }
}

/// `preprocess`: as mmpose's `TopdownAffine` with UDP, in an area whose sides are a quarter longer than the box's.
pub(super) fn crop(input: &mut Input) {
    (input.resize, input.padding) = (Some(Resize::Letterbox), Some(Padding::Pixel(0)));
    input.interpolation = Some(Interpolation::Bilinear);
    (input.roi_padding, input.roi_crop) = (Some(1.25), Some(RoiCrop::MmposeUdp));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(all: &Value) -> Sidecar {
        let mut words = Sidecar::default();
        outputs(all, &mut words);
        words
    }

    #[test]
    fn labels_are_the_points_of_the_skeleton() {
        let words = read(
            &json!({"id2label": {"0": "Nose", "1": "L_Eye", "2": "R_Eye"}, "edges": [[0, 1], [0, 2], [1, 0]]}),
        );
        assert_eq!(words.skeleton.points, ["Nose", "L_Eye", "R_Eye"]);
        assert_eq!(words.skeleton.edges, [[0, 1], [0, 2]]);
        assert_eq!((words.peaks.blur_sigma, words.peaks.blur_border), (Some(0.8), Some(Border::Reflect)));
    }

    #[test]
    fn edges_that_are_none_are_left_out_and_so_are_points_of_one_name() {
        for edges in
            [json!([[0, 9]]), json!([[0, 0]]), json!([[-1, 0]]), json!([[0]]), json!([0]), json!("many")]
        {
            let skeleton = read(&json!({"id2label": {"0": "a", "1": "b"}, "edges": edges})).skeleton;
            assert_eq!((skeleton.points.len(), skeleton.edges.len()), (2, 0), "{edges}");
        }
        let same = read(&json!({"id2label": {"0": "a", "1": "a"}, "edges": [[0, 1]]})).skeleton;
        assert_eq!(same, Skeleton::default());
    }
}
