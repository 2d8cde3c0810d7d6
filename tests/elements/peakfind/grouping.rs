//! Which points belong together, in whole pipelines.

use cudainfer_tests::{TestPipeline, buffers, model, run, scratch};
use gst::prelude::*;
use gstcudainfer::meta::object::{Object, objects};

use super::found;

/// Names, places to a tenth of a pixel, edges.
type Points = (Vec<String>, Vec<(f64, f64)>, Vec<[u32; 2]>);

fn points(object: &Object) -> Points {
    let points = object.keypoints.clone().unwrap();
    let round = |v: f64| (10.0 * v).round() / 10.0;
    let at = points.x.iter().zip(&points.y).map(|(x, y)| (round(*x), round(*y))).collect();
    (points.names, at, points.edges)
}

const SQUARE: &str = "video/x-raw,format=RGB,width=128,height=128";

#[test]
fn animals_that_cross_are_objects_of_their_own_with_the_skeletons_edges() {
    for frame in found(&model("bottom-up"), SQUARE, "") {
        let [first, second] = &frame[..] else { panic!("{frame:?}") };
        // Twice the pixel plus one half: the frame is twice as large as the input.
        let all = (
            ["head", "thorax", "tail"].map(String::from).to_vec(),
            vec![(17.0, 17.0), (57.0, 57.0), (97.0, 97.0)],
        );
        assert_eq!(points(first), (all.0.clone(), all.1, vec![[0, 1], [1, 2]]));
        // A point that was not found is left out, and so are its edges.
        assert_eq!(points(second), (all.0[..2].to_vec(), vec![(17.0, 97.0), (57.0, 41.0)], vec![[0, 1]]));
        assert_eq!((first.id, second.id, first.label.as_str()), (0, 1, "pose"));
        assert!(first.detection.is_none());
    }
    assert_eq!(found(&model("bottom-up"), SQUARE, "min-points=3")[0].len(), 1);
    assert_eq!(found(&model("bottom-up"), SQUARE, "min-score=1.5")[0].len(), 1);
    assert_eq!(found(&model("bottom-up"), SQUARE, "min-line-score=1.5")[0].len(), 0);
}

#[test]
fn without_grouping_all_points_are_one_object_or_each_is_one() {
    let together = found(&model("bottom-up"), SQUARE, "grouping=frame");
    let [one] = &together[0][..] else { panic!("{together:?}") };
    let (names, at, edges) = points(one);
    assert_eq!((names.len(), at.len(), edges), (5, 5, vec![[0, 2], [2, 4]]));
    let each = found(&model("bottom-up"), SQUARE, "grouping=each");
    assert_eq!(each[0].len(), 5);
    for (i, object) in each[0].iter().enumerate() {
        let detection = object.detection.as_ref().unwrap();
        assert_eq!((detection.rect.x, detection.rect.y), (at[i].0 as f32, at[i].1 as f32));
        assert_eq!((detection.rect.w, detection.rect.h, detection.confidence), (0.0, 0.0, 0.9));
        assert_eq!((object.id, &object.label), (i32::try_from(i).unwrap(), &names[i]));
        assert_eq!(["head", "thorax", "tail"][detection.label_id as usize], object.label);
        assert!(object.keypoints.is_none());
    }
}

#[test]
fn displacements_lead_from_point_to_point() {
    let frames = found(&model("displacements"), "video/x-raw,format=RGB,width=130,height=130", "");
    let [worm] = &frames[0][..] else { panic!("{frames:?}") };
    // Cells are 16 pixels apart: 16 - 2, 16 + 3 and 48 + 4, 48 - 1, plus one half, and twice as much in the frame.
    let at = vec![(29.0, 39.0), (105.0, 95.0)];
    assert_eq!(points(worm), (["head", "tail"].map(String::from).to_vec(), at, vec![[0, 1]]));
    assert_eq!(worm.label, "worm");
}

#[test]
fn tags_group_points_of_maps_of_both_sizes() {
    for frame in found(&model("tags"), SQUARE, "") {
        let [first, second] = &frame[..] else { panic!("{frame:?}") };
        let names = ["head", "thorax", "tail"].map(String::from).to_vec();
        let edges = vec![[0, 1], [1, 2]];
        // Fine cells are 4 pixels of the frame. The coarse maps move each peak a quarter of one to the right and down.
        let at = vec![(19.0, 19.0), (59.0, 59.0), (99.0, 99.0)];
        assert_eq!(points(first), (names.clone(), at, edges.clone()));
        // The tail has no peak: it is where the tag is.
        assert_eq!(points(second), (names, vec![(19.0, 99.0), (59.0, 43.0), (106.0, 18.0)], edges));
        let [all, two] = [first, second].map(|object| object.keypoints.clone().unwrap());
        let near =
            |found: &[f64], wanted: &[f64]| found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(near(&all.score, &[0.9; 3]) && near(&two.score, &[0.9, 0.9, 0.05]), "{all:?} {two:?}");
        assert!(near(&[all.pose_score.unwrap(), two.pose_score.unwrap()], &[0.9, 0.6]), "{all:?} {two:?}");
        assert_eq!((first.id, second.id, first.label.as_str()), (0, 1, "mouse"));
    }
    assert_eq!(found(&model("tags"), SQUARE, "min-points=3")[0].len(), 1);
    assert_eq!(found(&model("tags"), SQUARE, "min-score=0.7")[0].len(), 1);
    assert_eq!(found(&model("tags"), SQUARE, "threshold=0.95")[0].len(), 0);
    // As one object: the maps alone, without the second tail.
    let together = found(&model("tags"), SQUARE, "grouping=frame output=fine");
    let [one] = &together[0][..] else { panic!("{together:?}") };
    assert_eq!(points(one).0.len(), 5);
}

#[test]
fn tags_that_nobody_asked_for_are_warned_about() {
    let folder = scratch("tags");
    std::fs::copy(model("tags"), folder.join("m.onnx")).unwrap();
    let ran = |properties: &str| {
        run(&format!(
            "videotestsrc num-buffers=2 ! {SQUARE} ! fusedpreproc ! trtinfer model={} ! peakfind {properties} ! fakesink",
            folder.join("m.onnx").display()
        ))
    };
    for (properties, count) in
        [("output=fine", 1), ("output=maps", 1), ("output=fine grouping=frame", 0), ("grouping=tags", 0)]
    {
        let warnings = ran(properties).succeeds().warnings;
        let lost = warnings.iter().filter(|warning| warning.contains("with a tag for each"));
        assert_eq!(lost.clone().count(), count, "{properties}: {warnings:?}");
        assert!(lost.clone().all(|warning| warning.contains("set grouping=tags")), "{warnings:?}");
    }
    ran("").fails_with(&["look like confidence maps with a tag for each", "Set grouping=tags"]);
}

#[test]
fn fields_of_nan_join_nothing_and_are_counted() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=2 ! {SQUARE} ! fusedpreproc ! trtinfer model={} ! peakfind name=find ! fakesink name=out",
        model("bottom-up-not-finite")
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    let stats = pipeline.element("find").property::<gst::Structure>("stats");
    assert!(out.lock().unwrap().iter().all(|frame| objects(frame).is_empty()));
    // Ten samples of 2x2 and 2x1 lines, in two frames.
    assert_eq!(stats.get::<u64>("non-finite").unwrap(), 2 * 10 * (4 + 2));
    assert_eq!(stats.get::<u64>("instances").unwrap(), 0);
}

#[test]
fn points_of_a_region_go_to_the_object_whose_region_it_is() {
    let pipeline_of = |pattern: &str| {
        buffers(&format!(
            "videotestsrc num-buffers=3 pattern={pattern} ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc \
             ! trtinfer model={} ! gpunms ! fusedpreproc roi=objects ! trtinfer model={} batch-size=4 ! peakfind layout=nchw \
             ! fakesink name=out",
            model("detector"),
            model("heat-maps-64")
        ))
    };
    for (pattern, count) in [("white", 2), ("black", 0)] {
        for frame in pipeline_of(pattern) {
            let found = objects(&frame);
            assert_eq!(found.len(), count, "{found:?}");
            for object in found {
                let (rect, points) = (object.detection.unwrap().rect, object.keypoints.unwrap());
                assert_eq!(points.names, ["nose", "tail"]);
                // Cells 7.25, 11.5 and 20, 4.75 of 32x24 over the region, which is a square around the box's centre.
                let middle = (rect.x + rect.w / 2.0, rect.y + rect.h / 2.0);
                let off = |i: usize| (points.x[i] - f64::from(middle.0), points.y[i] - f64::from(middle.1));
                let scale = off(1).0 / ((20.5 / 32.0 - 0.5) * 64.0);
                assert!(scale > 0.0);
                for (i, (x, y)) in
                    [(7.75 / 32.0, 12.0 / 24.0), (20.5 / 32.0, 5.25 / 24.0)].into_iter().enumerate()
                {
                    let wanted = ((x - 0.5) * 64.0 * scale, (y - 0.5) * 64.0 * scale);
                    assert!(
                        (off(i).0 - wanted.0).abs() < 0.05 && (off(i).1 - wanted.1).abs() < 0.05,
                        "{i}: {:?} {wanted:?}",
                        off(i)
                    );
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_grouped_is_refused_with_a_sentence() {
    let folder = scratch("grouping");
    std::fs::copy(model("bottom-up"), folder.join("m.onnx")).unwrap();
    let refused = |sidecar: &str, properties: &str, parts: &[&str]| {
        std::fs::write(folder.join("m.toml"), sidecar).unwrap();
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc num-buffers=1 ! fusedpreproc ! trtinfer model={} ! peakfind {properties} ! fakesink",
            folder.join("m.onnx").display()
        ));
        pipeline.set_state(gst::State::Playing).ok();
        pipeline.wait().fails_with(parts);
    };
    let skeleton =
        |points: &str, edges: &str| format!("[skeleton]\npoints = [{points}]\nedges = [{edges}]\n");
    refused("", "", &["several outputs", "Set output to the one with the confidence maps"]);
    refused("", "output=maps grouping=paf", &["grouping=paf", "[skeleton]", "edges"]);
    refused(
        "",
        "output=maps grouping=displacements",
        &["set offsets in the sidecar's [peaks] to the one with the offsets"],
    );
    let three = skeleton("'a', 'b', 'c'", "[0, 1], [1, 2]");
    refused(&three, "grouping=paf", &["several outputs", "confidence maps"]);
    refused(&three, "output=maps grouping=paf pafs=heat", &["no output 'heat'", "maps:float32:1x3x32x32"]);
    let two = skeleton("'a', 'b'", "[0, 1]");
    refused(&two, "output=maps grouping=paf", &["3 channels", "2 points want 2"]);
    let one_edge = skeleton("'a', 'b', 'c'", "[0, 1]");
    refused(&one_edge, "output=maps grouping=paf", &["4 channels, but 2 are wanted", "1 edges"]);
    refused(&format!("{three}[peaks]\nsamples = 99"), "output=maps grouping=paf", &["99 samples"]);
    refused("[peaks]\ngrouping = 'hough'", "", &["'hough' is none of frame, each, paf, displacements, tags"]);
    // Neither output has as many channels as the other one, or twice as many.
    refused(
        "",
        "grouping=tags",
        &["set output in the sidecar's [peaks] to the one with the confidence maps"],
    );
    refused(
        "",
        "grouping=tags output=maps",
        &["'maps:float32:1x3x32x32' has 3 channels, but an even number"],
    );
    refused(
        &three,
        "grouping=tags output=pafs",
        &["has 4 channels, but 6, a map and a tag for each of 3 points,"],
    );
    refused(
        "[peaks]\ntags = 'pafs'",
        "grouping=tags output=maps",
        &["tags 'pafs:float32:1x4x16x16' have 4 channels", "3 confidence maps"],
    );
    refused("[peaks]\ntag-distance = 0.0", "grouping=tags output=pafs", &["a tag-distance of 0", "above 0"]);
    refused(
        "[peaks]\npoint-order = [1, 1]",
        "grouping=tags output=pafs",
        &["point-order", "each of the 2 points once"],
    );
}
