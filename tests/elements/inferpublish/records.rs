//! What inferpublish writes: valid by the schema, and the same with any number of threads in the pipeline.

use std::path::Path;

use cudainfer_kernels::track::Algorithm;
use cudainfer_kernels::words::Words as _;
use cudainfer_tests::{TestPipeline, end, fetched, filled, model, push, run, scratch, until};
use gst::prelude::*;

use crate::{lines, steady, video, violations};

#[test]
fn every_kind_of_line_is_valid_by_the_schema() {
    let folder = scratch("schema");
    let mut kinds = std::collections::BTreeSet::new();
    let (nanodet, posenet) = (fetched("models/nanodet.onnx"), fetched("models/posenet.onnx"));
    let (detector, heat_maps) = (model("detector"), model("heat-maps"));
    let film = format!("filesrc location={} ! matroskademux ! videoconvert ! fusedpreproc", video());
    let few = "videotestsrc num-buffers=3 pattern=red ! fusedpreproc";
    for (i, pipeline) in [
        format!("{film} ! trtinfer model={nanodet} ! gpunms ! tracker"),
        format!("{film} ! trtinfer model={posenet} ! peakfind"),
        format!("{few} ! trtinfer model={detector} ! gpunms ! fusedpreproc ! trtinfer model={heat_maps} ! peakfind"),
        format!("{few} ! trtinfer model={detector} ! gpunms classes=blue"),
        format!("{film} ! trtinfer model={nanodet} ! gpunms ! tracker ! zonecount units=fraction \
                 zones=all=polygon:0,0,1,0,1,1,0,1:dwell=1:occupancy=2;left=line:0.5,1,0.5,0"),
        format!("{few} ! trtinfer model={} ! tensormap output=gray16 range=frame", model("map-depth")),
        "videotestsrc num-buffers=2".to_owned(),
        "videotestsrc num-buffers=2 ! identity name=i ! video/x-raw,width=1,height=1".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        let path = folder.join(format!("{i}.jsonl"));
        let send = "send=frames+events+tracks+changes";
        run(&format!("{pipeline} ! inferpublish location={} {send} ! fakesink", path.display())).succeeds();
        let records = lines(&path);
        assert!(records.len() >= 2, "{pipeline}");
        for record in &records {
            let errors = violations(record);
            assert!(errors.is_empty(), "{pipeline}: {errors:?} in {record}");
            kinds.insert(record["schema"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(Vec::from_iter(kinds), ["cudainfer.event/2", "cudainfer.frame/5", "cudainfer.track/2"]);
    // The schema refuses wrong records.
    let mut record = lines(&folder.join("0.jsonl")).remove(0);
    assert!(violations(&record).is_empty());
    for (field, value) in [("frame", (-1).into()), ("time", "yesterday".into()), ("colour", "red".into())] {
        let right = record[field].take();
        record[field] = value;
        assert!(!violations(&record).is_empty(), "{field}");
        record[field] = right;
        record.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    }
    assert!(violations(&record).is_empty(), "{record}");
}

#[test]
fn the_stream_time_is_the_position_in_a_file_whose_presentation_times_begin_later() {
    let folder = scratch("stream-time");
    let [film, path] = ["film.mp4", "out.jsonl"].map(|name| folder.join(name));
    run(&format!(
        "videotestsrc num-buffers=10 ! video/x-raw,width=64,height=48,framerate=25/1 ! x264enc b-adapt=false bframes=2 \
         ! mp4mux ! filesink location={}",
        film.display()
    ))
    .succeeds();
    let decoded = format!("filesrc location={} ! qtdemux ! h264parse ! avdec_h264", film.display());
    run(&format!("{decoded} ! inferpublish location={} ! fakesink", path.display())).succeeds();
    let records = lines(&path);
    let times = |name: &str| records.iter().map(|record| record[name].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(times("stream_time"), Vec::from_iter((0..10).map(|i| i * 40_000_000)));
    // The muxer delays timestamps, because some frames are decoded before they are shown.
    assert_eq!(times("pts"), Vec::from_iter((2..12).map(|i| i * 40_000_000)));
}

#[test]
fn a_line_looks_like_this() {
    let path = scratch("snapshot").join("out.jsonl");
    run(&format!(
        "videotestsrc num-buffers=2 pattern=red ! video/x-raw,format=RGB,width=640,height=333,framerate=25/1 \
         ! fusedpreproc ! trtinfer model={} ! gpunms ! tracker ! fusedpreproc ! trtinfer model={} ! peakfind \
         ! inferpublish source=gate location={} ! fakesink",
        model("detector"),
        model("heat-maps"),
        path.display()
    ))
    .succeeds();
    let text = std::fs::read_to_string(&path).unwrap();
    // Calculated by hand: the box is that of numbers.rs stretched to 640x333, the points lie in a letterbox of 128x67
    // with bars of 14.
    insta::assert_snapshot!(steady(text.lines().last().unwrap()), @r#"{"schema":"cudainfer.frame/5","id":"","source":"gate","frame":1,"pts":40000000,"stream_time":40000000,"time":"","clock":"arrival","width":640,"height":333,"objects":[{"id":0,"label":"red","label_id":0,"confidence":1.0,"box":{"x":80.0,"y":20.81,"w":160.0,"h":124.88},"track":{"id":1,"age":1,"hits":2,"state":"tracked","box":{"x":80.0,"y":20.81,"w":160.0,"h":124.88},"velocity":{"x":0.0,"y":0.0}}},{"id":1,"label":"keypoints","keypoints":[{"name":"nose","x":155.0,"y":168.99,"score":0.8912},{"name":"tail","x":410.0,"y":34.79,"score":0.8981}]}]}"#);
}

#[test]
fn streams_downstream_of_a_funnel_are_counted_separately_and_can_be_distinguished() {
    let path = scratch("funnel").join("out.jsonl");
    const CAPS: &str = "video/x-raw,format=GRAY8,width=8,height=8,framerate=30/1";
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=a format=time caps={CAPS} ! funnel name=f ! inferpublish stream-ids=true location={} \
         ! fakesink name=out async=false sync=false   appsrc name=b format=time caps={CAPS} ! f.",
        path.display()
    ));
    let seen = pipeline.collect("out");
    pipeline.play();
    for n in 0..7 {
        push(&pipeline.element(if n % 2 == 0 { "a" } else { "b" }), filled(64, 0, n));
        until("the frame", || seen.lock().unwrap().len() as u64 == n + 1);
    }
    let stream = |name| pipeline.element(name).static_pad("src").unwrap().stream_id().unwrap().to_string();
    let [a, b] = ["a", "b"].map(stream);
    for name in ["a", "b"] {
        end(&pipeline.element(name));
    }
    pipeline.wait().succeeds();
    let written: Vec<_> = lines(&path)
        .iter()
        .map(|line| (line["stream"].as_str().unwrap().to_owned(), line["frame"].as_u64().unwrap()))
        .collect();
    let wanted = (0..7).map(|n| (if n % 2 == 0 { a.clone() } else { b.clone() }, n / 2));
    assert_eq!(written, wanted.collect::<Vec<_>>());
}

/// What is published of `elements` on the film; `source` is what stands before it.
fn published(path: &Path, elements: &str) -> String {
    run(&format!(
        "filesrc location={} ! matroskademux ! videoconvert ! {elements} ! inferpublish source=film location={} ! fakesink",
        video(),
        path.display()
    ))
    .succeeds();
    steady(&std::fs::read_to_string(path).unwrap())
}

#[test]
fn results_do_not_depend_on_workers_and_queues() {
    let folder = scratch("workers");
    let nanodet = fetched("models/nanodet.onnx");
    let with = |name: &str, infer: &str, queue: &str| {
        published(
            &folder.join(name),
            &format!(
                "fusedpreproc {queue} ! trtinfer {infer} model={nanodet} {queue} ! gpunms classes=person {queue} ! tracker"
            ),
        )
    };
    let one = with("1", "workers=1 intra-threads=1", "");
    assert_eq!(one.lines().count(), 30);
    assert!(one.contains("\"track\""));
    for (name, infer, queue) in [
        ("2", "workers=2 intra-threads=1", ""),
        ("4", "workers=4 intra-threads=1 max-in-flight=1", ""),
        ("5", "workers=4 intra-threads=1", "! queue max-size-buffers=3"),
        ("6", "", "! queue"),
    ] {
        assert!(with(name, infer, queue) == one, "{infer} {queue}: other results");
    }
}

#[test]
fn two_streams_in_one_process_do_not_mix() {
    let folder = scratch("streams");
    let nanodet = fetched("models/nanodet.onnx");
    let elements =
        format!("fusedpreproc ! trtinfer model={nanodet} workers=2 ! gpunms classes=person ! tracker");
    let alone = published(&folder.join("alone"), &elements);
    let branch = |name: &str| {
        format!(
            "filesrc location={} ! matroskademux ! videoconvert ! {elements} ! inferpublish source=film location={} ! fakesink ",
            video(),
            folder.join(name).display()
        )
    };
    // Another stream with other frames runs at the same time.
    run(&format!(
        "{} {} videotestsrc num-buffers=60 pattern=ball ! {elements} ! inferpublish location={} ! fakesink",
        branch("a"),
        branch("b"),
        folder.join("c").display()
    ))
    .succeeds();
    for name in ["a", "b"] {
        assert!(
            steady(&std::fs::read_to_string(folder.join(name)).unwrap()) == alone,
            "stream {name} differs"
        );
    }
    assert_eq!(lines(&folder.join("c")).len(), 60);
}

#[test]
fn every_tracker_gives_the_same_results_every_time() {
    let folder = scratch("trackers");
    let names = |algorithm| [1, 2].map(|time| folder.join(format!("{algorithm}-{time}")));
    let branches: Vec<String> = Algorithm::ALL
        .iter()
        .flat_map(|algorithm| names(algorithm).map(|path| (algorithm, path)))
        .map(|(algorithm, path)| {
            format!(
                "found. ! queue ! tracker algorithm={algorithm} ! inferpublish location={} ! fakesink",
                path.display()
            )
        })
        .collect();
    run(&format!(
        "filesrc location={} ! matroskademux ! videoconvert ! fusedpreproc ! trtinfer model={} ! gpunms classes=person \
         ! tee name=found {}",
        video(),
        fetched("models/nanodet.onnx"),
        branches.join(" ")
    ))
    .succeeds();
    for algorithm in Algorithm::ALL {
        let [first, second] = names(algorithm).map(|path| steady(&std::fs::read_to_string(path).unwrap()));
        assert!(first.lines().count() == 30 && first.contains("\"track\""), "{algorithm}: {first}");
        assert!(first == second, "{algorithm}");
    }
}

#[test]
fn the_location_is_written_anew_at_each_start() {
    use cudainfer_tests::TestPipeline;
    let path = scratch("anew").join("out.jsonl");
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=4 ! inferpublish location={} ! fakesink",
        path.display()
    ));
    for _ in 0..2 {
        pipeline.play();
        pipeline.wait().succeeds();
        pipeline.stop();
        let records = lines(&path);
        assert_eq!(records.iter().map(|r| r["frame"].as_u64().unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3]);
    }
}

#[test]
fn a_frame_says_what_its_maps_are_like() {
    let path = scratch("maps").join("out.jsonl");
    run(&format!(
        "videotestsrc num-buffers=2 pattern=red ! video/x-raw,format=RGB,width=24,height=16 ! fusedpreproc \
         ! trtinfer model={} ! tensormap output=gray16 range-max=20 ! inferpublish location={} ! fakesink",
        model("map-depth"),
        path.display()
    ))
    .succeeds();
    let records = lines(&path);
    assert_eq!(records.len(), 2);
    for record in records {
        let [map] = &record["maps"].as_array().unwrap()[..] else { panic!("one map: {record}") };
        for (field, wanted) in [("min", 10.0), ("mean", 10.0), ("max", 10.0)] {
            assert!((map[field].as_f64().unwrap() - wanted).abs() < 1e-4, "{field}: {record}");
        }
        assert_eq!((&map["name"], &map["non_finite"]), (&"depth".into(), &0.into()));
        assert_eq!(map["range"], serde_json::json!([0.0, 20.0]));
        assert!(map.get("score").is_none());
    }
}
