//! Lanes as polylines, in whole pipelines.

use cudainfer_tests::{TestPipeline, buffers, model, run, scratch};
use gst::prelude::*;
use gstcudainfer::meta::object::{KeypointsParam, Object, objects};

/// Pictures of TuSimple's size.
const SOURCE: &str = "video/x-raw,format=RGB,width=1280,height=720";

/// The objects of the first frame, whose part `region` the network sees.
fn lanes(name: &str, region: &str, properties: &str) -> Vec<Object> {
    let source = format!("{SOURCE} ! fusedpreproc roi=list regions={region}");
    let frames = buffers(&format!(
        "videotestsrc num-buffers=2 ! {source} ! trtinfer model={} ! peakfind {properties} ! fakesink name=out",
        model(name)
    ));
    assert_eq!(frames.len(), 2);
    objects(&frames[0])
}

fn assert_points(points: &KeypointsParam, wanted: &[(f64, f64)], score: f64) {
    assert_eq!(points.x.len(), wanted.len(), "{points:?}");
    for (i, (x, y)) in wanted.iter().enumerate() {
        let off = (points.x[i] - x).abs().max((points.y[i] - y).abs());
        assert!(
            off < 1e-2 && (points.score[i] - score).abs() < 1e-5,
            "point {i}: {points:?}, not {wanted:?}"
        );
    }
}

fn labels(objects: &[Object]) -> Vec<&str> {
    objects.iter().map(|object| object.label.as_str()).collect()
}

/// A logit of 2 or 3, where the other one is 0.
fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

#[test]
fn lanes_of_the_first_version_are_on_rows_and_their_points_are_joined_where_neighbours_are_there() {
    let found = lanes("lanes-cells", "0,0,1,1", "");
    assert_eq!(labels(&found), ["lane-1", "lane-2"]);
    let points = found[0].keypoints.as_ref().unwrap();
    let at = |row: usize, cell: usize| ((cell as f64 + 0.5) / 99.0 * 1280.0, (64 + 4 * row) as f64 * 2.5);
    let wanted: Vec<_> = (10..56).filter(|row| *row != 30).map(|row| at(row, 80 - row)).collect();
    assert_points(points, &wanted, 1.0);
    assert_eq!((points.names[0].as_str(), points.names[44].as_str()), ("10", "55"));
    let edges: Vec<[u32; 2]> = (0..44).filter(|i| *i != 19).map(|i| [i, i + 1]).collect();
    assert_eq!((&points.edges, points.pose_score), (&edges, Some(1.0)));
    assert_points(found[1].keypoints.as_ref().unwrap(), &[at(53, 40), at(54, 40), at(55, 40)], 1.0);
    // Without a list of regions it is the same.
    let whole = super::found(&model("lanes-cells"), SOURCE, "").remove(0);
    assert_eq!(whole, found);
}

#[test]
fn lanes_of_the_second_version_are_placed_in_the_whole_picture() {
    let found = lanes("lanes-anchors", "0,0.2,1,0.8", "");
    assert_eq!(labels(&found), ["lane-0", "lane-1"]);
    let of = |i: usize| found[i].keypoints.as_ref().unwrap();
    let flat: Vec<_> = (0..15).map(|k| (f64::from(k) * 32.0, (80.5 - f64::from(k)) / 99.0 * 720.0)).collect();
    assert_points(of(0), &flat, sigmoid(3.0));
    let steep: Vec<_> = (20..56).map(|k| (31.0 / 99.0 * 1280.0, 160.0 + 10.0 * f64::from(k))).collect();
    assert_points(of(1), &steep, sigmoid(2.0));
    let sure = lanes("lanes-anchors", "0,0.2,1,0.8", "min-score=0.9");
    assert_eq!(labels(&sure), ["lane-0"]);
}

#[test]
fn lines_of_clrnet_that_are_near_each_other_are_one_lane() {
    let found = lanes("lanes-lines", "0,160,1280,560", "");
    assert_eq!(labels(&found), ["lane", "lane"]);
    let line = |x: f64, rows: u32| {
        let y = |row: u32| 160.0 + 560.0 * (1.0 - f64::from(row) / 71.0);
        (0..rows).map(|row| (x * 1280.0, y(row))).collect::<Vec<_>>()
    };
    // The second one ends after 20 rows from where it begins.
    for (object, (x, rows, logit)) in found.iter().zip([(0.25, 71, 3.0), (0.75, 30, 1.0)]) {
        assert_points(object.keypoints.as_ref().unwrap(), &line(x, rows), sigmoid(logit));
    }
    assert_eq!(lanes("lanes-lines", "0,160,1280,560", "min-score=0.8").len(), 1);
    let path = scratch("lanes").join("model.onnx");
    std::fs::copy(model("lanes-lines"), &path).unwrap();
    let sidecar =
        "[input]\nresize = \"stretch\"\n[peaks]\nnms-radius = 10\nmax-poses = 2\nlabel = \"marking\"";
    std::fs::write(path.with_extension("toml"), sidecar).unwrap();
    let near = super::found(path.to_str().unwrap(), SOURCE, "").remove(0);
    let x = |object: &Object| object.keypoints.as_ref().unwrap().x[0];
    assert!(labels(&near) == ["marking"; 2] && (x(&near[1]) - 0.27 * 1280.0).abs() < 1e-2, "{near:?}");
}

#[test]
fn a_polyline_is_drawn_where_neighbours_are_there() {
    let frames = buffers(&format!(
        "videotestsrc num-buffers=1 pattern=black ! {SOURCE} ! fusedpreproc ! trtinfer model={} ! peakfind \
         ! inferoverlay points=false ! fakesink name=out",
        model("lanes-cells")
    ));
    let map = frames[0].map_readable().unwrap();
    let is_drawn = |row: f64| {
        let (x, y) = ((80.5 - row) / 99.0 * 1280.0, (64.0 + 4.0 * row) * 2.5);
        let pixels = |y: usize| &map[(y * 1280 + x as usize - 2) * 3..][..5 * 3];
        (y as usize - 2..=y as usize + 2).any(|y| pixels(y).iter().any(|value| *value > 60))
    };
    for (row, wanted) in [(12.5, true), (28.5, true), (30.0, false), (31.5, true), (54.5, true), (9.0, false)]
    {
        assert_eq!(is_drawn(row), wanted, "row {row}");
    }
}

#[test]
fn the_reading_says_which_part_of_the_picture_the_network_sees() {
    let played = |name: &str, regions: &str| {
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc num-buffers=1 ! {SOURCE} ! fusedpreproc {regions} ! trtinfer model={} ! peakfind name=it ! fakesink",
            model(name)
        ));
        pipeline.play();
        let warnings = pipeline.wait().succeeds().warnings;
        let part =
            warnings.into_iter().filter(|warning| warning.contains("sees whole frames")).collect::<Vec<_>>();
        (pipeline.element("it").property::<String>("reading"), part)
    };
    let (reading, warnings) = played("lanes-anchors", "roi=list regions=0,0.2,1,0.8");
    assert!(reading.starts_with("points of lanes in the lower 0.8 of the picture,"), "{reading}");
    assert_eq!(warnings.len(), 0);
    let (_, warnings) = played("lanes-anchors", "");
    assert!(warnings.len() == 1 && warnings[0].contains("roi=list regions=0,0.2,1,0.8"), "{warnings:?}");
    let (reading, warnings) = played("lanes-cells", "");
    assert!(reading.starts_with("points of lanes,") && warnings.is_empty(), "{reading} {warnings:?}");
}

#[test]
fn rows_and_columns_of_other_networks_are_stated() {
    let path = scratch("lanes-few").join("model.onnx");
    std::fs::copy(model("lanes-few"), &path).unwrap();
    let play = |sidecar: &str| {
        std::fs::write(path.with_extension("toml"), format!("[peaks]\nencoding = \"lanes\"\n{sidecar}"))
            .unwrap();
        run(&format!(
            "videotestsrc num-buffers=1 ! fusedpreproc ! trtinfer model={} ! peakfind ! fakesink",
            path.display()
        ))
    };
    play("").fails_with(&[
        "'lanes:float32:1x11x3x2' has 3 rows",
        "set lane-rows in the sidecar's [peaks] to 3 numbers",
    ]);
    play("lane-rows = [0.5, 1.0]").fails_with(&["has 3 rows", "it is known of 2"]);
    play("lane-rows = [0.5, 0.75, 1.0]\nlane-crop = 0.0").fails_with(&["set lane-crop"]);
    play("lane-rows = [0.5, 0.75, 1.0]\nlane-columns = [0.5]").fails_with(&["lane-columns mean nothing"]);
    std::fs::write(
        path.with_extension("toml"),
        "[input]\nresize = \"stretch\"\n[peaks]\nencoding = \"lanes\"\nlane-rows = [0.5, 0.75, 1.0]\nlane-crop = 0.5",
    )
    .unwrap();
    let file = path.display().to_string();
    let found = super::found(&file, &format!("{SOURCE} ! videocrop top=360"), "").remove(0);
    assert_eq!(labels(&found), ["lane-0", "lane-1"]);
    // The lower half is all that there is of the picture.
    let x = 4.5 / 9.0 * 1280.0;
    assert_points(found[0].keypoints.as_ref().unwrap(), &[(x, 0.0), (x, 180.0), (x, 360.0)], 1.0);
}
