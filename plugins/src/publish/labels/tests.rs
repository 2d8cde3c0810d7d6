use super::*;
use crate::meta::object::{DetectionParam, KeypointsParam, TrackingParam};

fn skeleton(points: &[&str]) -> Skeleton {
    let points = points.iter().map(|point| (*point).to_owned()).collect();
    Skeleton { points, edges: vec![[0, 1]], symmetric: vec![[1, 0]], ..Skeleton::default() }
}

/// An object of these points, with the identity where it is not 0.
fn object(points: &[(&str, f64, f64, f64)], id: u64, pose_score: Option<f64>) -> Object {
    let keypoints = KeypointsParam {
        names: points.iter().map(|point| point.0.to_owned()).collect(),
        x: points.iter().map(|point| point.1).collect(),
        y: points.iter().map(|point| point.2).collect(),
        score: points.iter().map(|point| point.3).collect(),
        pose_score,
        ..KeypointsParam::default()
    };
    let tracking = (id > 0).then(|| TrackingParam { id, ..TrackingParam::default() });
    Object { keypoints: Some(keypoints), tracking, ..Object::default() }
}

fn labels(program: Program, individuals: usize) -> Labels {
    let mut labels = Labels::new(program);
    labels.set_individuals(individuals);
    labels.set_skeleton(skeleton(&["head", "tail, \"long\""])).unwrap();
    labels
}

fn text(bytes: Option<Vec<u8>>) -> String {
    String::from_utf8(bytes.unwrap_or_default()).unwrap()
}

#[test]
fn names_that_need_quotes_have_them_and_points_that_were_not_found_are_empty() {
    let mut labels = labels(Program::Sleap, 1);
    assert_eq!(
        text(labels.begin()),
        "track,frame_idx,instance.score,head.x,head.y,head.score,\"tail, \"\"long\"\".x\",\"tail, \"\"long\"\".y\",\
         \"tail, \"\"long\"\".score\""
    );
    assert_eq!(labels.begin(), None, "it is written once");
    let nan = f64::NAN;
    let female = TrackingParam { id: 1, name: Some("female".into()), ..TrackingParam::default() };
    let named = Object { tracking: Some(female), ..object(&[("head", 1.5, 1.5, 1.0)], 0, None) };
    assert!(text(labels.rows(6, &[named])).starts_with("female,6,"));
    let rows = labels.rows(
        7,
        &[
            object(&[("head", 0.5, 0.499_99, 0.25)], 0, Some(-0.5)),
            object(&[("head", nan, 1.0, 0.25), ("tail, \"long\"", 3.25, 4.5, nan)], 12, None),
            Object::default(),
        ],
    );
    assert_eq!(text(rows), ",7,-0.500000,0.0000,0.0000,0.250000,,,\ntrack_12,7,,,,,2.7500,4.0000,");
    assert_eq!(labels.rows(8, &[Object::default()]), None);
}

#[test]
fn the_score_is_the_poses_else_the_detections_else_the_sum_of_the_points() {
    let points = [("head", 1.0, 1.0, 0.5), ("tail, \"long\"", 2.0, 2.0, 0.25)];
    let detection = DetectionParam { rect: Default::default(), confidence: 0.125, label_id: 0 };
    let detected = |object: Object| Object { detection: Some(detection.clone()), ..object };
    let skeleton = skeleton(&["head", "tail, \"long\""]);
    let score = |object: &Object| Instance::of(object, &skeleton).unwrap().score;
    assert_eq!(score(&detected(object(&points, 0, Some(3.0)))), 3.0);
    assert_eq!(score(&detected(object(&points, 0, None))), 0.125);
    assert_eq!(score(&object(&points, 0, None)), 0.75);
}

#[test]
fn what_is_beside_sleaps_table_names_edges_symmetries_and_tracks() {
    let mut labels = labels(Program::Sleap, 1);
    labels.set_video("fly.mp4".into(), 1);
    assert_eq!(labels.companion(11, (64, 48)), None, "there is no table yet");
    labels.begin();
    let points = [("head", 1.0, 1.0, 0.5)];
    labels.rows(0, &[object(&points, 10, None), object(&points, 9, None), object(&points, 0, None)]);
    let found: serde_json::Value = serde_json::from_slice(&labels.companion(11, (64, 48)).unwrap()).unwrap();
    assert_eq!(found["tracks"], serde_json::json!(["track_9", "track_10"]));
    assert_eq!(found["skeletons"][0]["edges"], serde_json::json!([["head", "tail, \"long\""]]));
    assert_eq!(found["skeletons"][0]["symmetries"], serde_json::json!([["tail, \"long\"", "head"]]));
    assert_eq!(found["videos"][0]["filename"], "fly.mp4");
    assert_eq!(found["videos"][0]["backend_metadata"]["shape"], serde_json::json!([11, 48, 64, 1]));
}

#[test]
fn an_individual_has_its_columns_and_who_has_none_is_counted() {
    let mut labels = labels(Program::DeepLabCut, 2);
    labels.begin();
    let head = |x: f64, id: u64, score: f64| object(&[("head", x, 0.5, 0.5)], id, Some(score));
    let row = |labels: &mut Labels, objects: &[Object]| {
        let row = text(labels.rows(0, objects));
        let cells: Vec<String> = row.split(',').map(str::to_owned).collect();
        [cells[1].clone(), cells[7].clone()]
    };
    assert_eq!(row(&mut labels, &[head(2.5, 2, 0.5)]), ["", "2.0000"]);
    assert_eq!(row(&mut labels, &[head(2.5, 2, 0.5), head(1.5, 1, 0.1)]), ["1.0000", "2.0000"]);
    assert_eq!(labels.left_out(), LeftOut::default());
    // One above the number of individuals, one a second time, and one that takes what is free.
    let objects = [head(3.5, 3, 0.9), head(2.5, 2, 0.5), head(4.5, 2, 0.9), head(5.5, 0, 0.1)];
    assert_eq!(row(&mut labels, &objects), ["5.0000", "2.0000"]);
    assert_eq!(labels.left_out(), LeftOut { no_column: 2, ..LeftOut::default() });
    // Nobody has an identity.
    let objects = [head(1.5, 0, 0.1), head(2.5, 0, 0.9), head(3.5, 0, 0.5)];
    assert_eq!(row(&mut labels, &objects), ["2.0000", "3.0000"]);
    assert_eq!(labels.left_out(), LeftOut { no_column: 3, unordered: 1, ..LeftOut::default() });
    row(&mut labels, &[object(&[("wing", 1.0, 1.0, 1.0)], 1, None)]);
    assert_eq!(labels.left_out().other_points, 1);
}

#[test]
fn the_one_animal_of_lightning_pose_has_its_columns_whoever_it_is() {
    let mut labels = labels(Program::LightningPose, 1);
    assert!(text(labels.begin()).starts_with("scorer,heatmap_tracker,"));
    let rows = labels.rows(3, &[object(&[("head", 1.0, 2.0, 0.5)], 5, None)]);
    assert_eq!(text(rows), "3,0.5000,1.5000,0.500000,,,");
}

#[test]
fn a_table_is_of_one_skeleton() {
    let mut labels = labels(Program::Sleap, 1);
    assert!(labels.set_skeleton(Skeleton::default()).unwrap_err().contains("[skeleton]"));
    labels.set_skeleton(skeleton(&["nose", "tail"])).unwrap();
    labels.begin();
    labels.set_skeleton(skeleton(&["nose", "tail"])).unwrap();
    let error = labels.set_skeleton(skeleton(&["nose", "ear"])).unwrap_err();
    assert!(error.contains("nose, ear now") && error.contains("has nose, tail"), "{error}");
}
