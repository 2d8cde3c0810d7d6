//! sleap-nn's exporter writes JSON under `sleap_nn_metadata`: `model_type`, `node_names`, `edge_inds`, `input_channels`, and more.
//! Its networks divide by 255 themselves, and find and score the peaks: their outputs are points, not confidence maps.

use serde_json::Value;

use super::statements::Declared;
use super::values::{brief, names, normalize};
use crate::Skeleton;
use crate::onnx::Metadata;
use crate::origin::OriginKind;

pub(super) fn read(metadata: &Metadata) -> Option<Declared> {
    let all: Value = serde_json::from_str(metadata.get("sleap_nn_metadata")?).ok()?;
    let mut declared = Declared::new(OriginKind::Metadata, "sleap-nn");
    if all.get("normalization").and_then(Value::as_str) == Some("0_to_1") {
        normalize(&mut declared.words.input, 1.0, None, None);
    }
    if let Some(points) = all.get("node_names").and_then(names) {
        let edges = all.get("edge_inds").and_then(Value::as_array).into_iter().flatten();
        let edge = |edge: &Value| {
            let number =
                |at: usize| usize::try_from(edge.get(at)?.as_u64()?).ok().filter(|n| *n < points.len());
            number(0).zip(number(1)).filter(|(a, b)| a != b && edge.get(2).is_none()).map(<[usize; 2]>::from)
        };
        let edges: Option<Vec<_>> = edges.map(edge).collect();
        let skeleton = Skeleton::of_points(points.clone());
        declared.words.skeleton =
            skeleton.map(|skeleton| skeleton.with_edges(edges.unwrap_or_default())).unwrap_or_default();
    }
    let kind = all.get("model_type").and_then(Value::as_str).unwrap_or("of no kind");
    declared.unsupported = Some(format!("the points that a '{}' model finds itself", brief(kind)));
    Some(declared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(json: &str) -> Option<Declared> {
        read(&Metadata {
            entries: [("sleap_nn_metadata".to_owned(), json.to_owned())].into(),
            ..Metadata::default()
        })
    }

    #[test]
    fn the_skeleton_is_read_and_its_points_are_not_taken_for_maps() {
        let text = r#"{"model_type": "bottomup", "node_names": ["head", "thorax", "tail"], "edge_inds": [[1, 0], [1, 2]],
            "normalization": "0_to_1", "input_channels": 1}"#;
        let fly = declared(text).unwrap();
        assert_eq!(fly.words.skeleton.points, ["head", "thorax", "tail"]);
        assert_eq!(fly.words.skeleton.edges, [[1, 0], [1, 2]]);
        assert_eq!(fly.words.input.scale, Some(1.0));
        assert!(fly.unsupported.unwrap().contains("'bottomup'"));
    }

    #[test]
    fn hostile_skeletons_are_left_out() {
        for edges in ["[[0, 9]]", "[[0, 0]]", "[[-1, 0]]", "[[0]]", "[[0, 1, 2]]", "[0]"] {
            let text = format!(r#"{{"node_names": ["a", "b"], "edge_inds": {edges}}}"#);
            let skeleton = declared(&text).unwrap().words.skeleton;
            assert_eq!((skeleton.points.len(), skeleton.edges.len()), (2, 0), "{edges}");
        }
        assert!(declared(r#"{"node_names": ["a", "a"]}"#).unwrap().words.skeleton.points.is_empty());
        for text in ["", "{", "\u{0}", &"[".repeat(100_000)] {
            assert!(declared(text).is_none());
        }
    }
}
