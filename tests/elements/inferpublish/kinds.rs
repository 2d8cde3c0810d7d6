//! Which records inferpublish writes: of frames, events, tracks and changes, of some classes, and not of every frame.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use cudainfer_tests::{TestPipeline, model, root, run, scratch};
use gst::prelude::*;
use gstcudainfer::meta::object::Object;
use serde_json::{Value, json};

use crate::zonecount::zones::{FRAMES, MS, ZONES, play, walker};
use crate::{lines, steady, violations};

/// Somebody whose feet are at `x`, 50, and whom a tracker has seen.
fn tracked(id: u64, x: f32) -> Object {
    let mut object = crate::zonecount::zones::tracked(id, x);
    object.tracking.as_mut().unwrap().hits = 1;
    object
}

/// The publications of this many frames, 10 in a second, on which `scene` puts objects.
fn published(
    frames: u64,
    elements: &str,
    path: &Path,
    scene: impl Fn(u64) -> Vec<Object> + Send + Sync + 'static,
) -> Vec<Value> {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers={frames} ! {FRAMES} ! identity name=scene ! {elements} location={} ! fakesink",
        path.display()
    ));
    play(&pipeline, scene);
    pipeline.play();
    let report = pipeline.wait().succeeds();
    assert!(report.warnings.is_empty(), "{report:?}");
    pipeline.stop();
    let records = lines(path);
    for record in &records {
        let errors = violations(record);
        assert!(errors.is_empty(), "{errors:?} in {record}");
    }
    records
}

fn numbers(records: &[Value]) -> Vec<u64> {
    records.iter().map(|record| record["frame"].as_u64().unwrap()).collect()
}

#[test]
fn each_event_of_a_zone_is_a_record_with_its_object() {
    let folder = scratch("events");
    let frames = folder.join("frames");
    let elements = format!(
        "tracker ! zonecount zones={ZONES}:occupancy=1 ! inferpublish location={} ! inferpublish send=events",
        frames.display()
    );
    let scene = |frame| if frame < 9 { walker(frame) } else { vec![] };
    let events = published(10, &elements, &folder.join("events"), scene);
    let (mut expected, mut named) = (Vec::new(), 0);
    for frame in lines(&frames) {
        for event in frame["events"].as_array().unwrap() {
            let object = frame["objects"].as_array().unwrap().iter().find(|o| o["id"] == event["object"]);
            named += usize::from(object.is_some());
            expected.push(json!([frame["frame"], frame["pts"], event, object]));
        }
    }
    let found = events.iter().map(|e| json!([e["frame"], e["pts"], e["event"], e.get("object")]));
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert!(expected.len() >= 5 && named >= 3, "{expected:?}");
}

#[test]
fn each_track_is_one_record_when_it_has_ended() {
    let path = scratch("tracks").join("out.jsonl");
    let scene = |frame| match frame {
        2..6 => vec![tracked(1, 10.0 + 5.0 * frame as f32)],
        35.. => vec![tracked(2, 20.0)],
        _ => vec![],
    };
    published(40, "inferpublish source=gate send=tracks", &path, scene);
    let text = std::fs::read_to_string(&path).unwrap();
    let records: Vec<_> = text.lines().map(steady).collect();
    assert_eq!(records.len(), 2, "{text}");
    insta::assert_snapshot!(records[0], @r#"{"schema":"cudainfer.track/2","id":"","source":"gate","frame":5,"pts":500000000,"stream_time":500000000,"time":"","clock":"arrival","width":64,"height":64,"track":1,"label":"person","label_id":0,"end":"vanished","frames":4,"first":{"frame":2,"pts":200000000,"stream_time":200000000,"time":"","clock":"arrival"},"last":{"frame":5,"pts":500000000,"stream_time":500000000,"time":"","clock":"arrival"},"best":{"frame":2,"pts":200000000,"stream_time":200000000,"time":"","clock":"arrival","confidence":0.9,"box":{"x":15.0,"y":30.0,"w":10.0,"h":20.0}},"path":[{"frame":2,"pts":200000000,"x":20.0,"y":40.0},{"frame":3,"pts":300000000,"x":25.0,"y":40.0},{"frame":4,"pts":400000000,"x":30.0,"y":40.0},{"frame":5,"pts":500000000,"x":35.0,"y":40.0}]}"#);
    insta::assert_snapshot!(records[1], @r#"{"schema":"cudainfer.track/2","id":"","source":"gate","frame":39,"pts":3900000000,"stream_time":3900000000,"time":"","clock":"arrival","width":64,"height":64,"track":2,"label":"person","label_id":0,"end":"eos","frames":5,"first":{"frame":35,"pts":3500000000,"stream_time":3500000000,"time":"","clock":"arrival"},"last":{"frame":39,"pts":3900000000,"stream_time":3900000000,"time":"","clock":"arrival"},"best":{"frame":35,"pts":3500000000,"stream_time":3500000000,"time":"","clock":"arrival","confidence":0.9,"box":{"x":15.0,"y":30.0,"w":10.0,"h":20.0}},"path":[{"frame":35,"pts":3500000000,"x":20.0,"y":40.0},{"frame":36,"pts":3600000000,"x":20.0,"y":40.0},{"frame":37,"pts":3700000000,"x":20.0,"y":40.0},{"frame":38,"pts":3800000000,"x":20.0,"y":40.0},{"frame":39,"pts":3900000000,"x":20.0,"y":40.0}]}"#);
}

#[test]
fn what_changes_is_written_and_what_only_moves_is_not() {
    let path = scratch("changes").join("out.jsonl");
    let scene = |frame| match frame {
        3..6 => vec![tracked(1, 10.0 + frame as f32)],
        6..9 => vec![tracked(2, 50.0), tracked(1, 10.0 + frame as f32)],
        _ => vec![],
    };
    let records = published(12, "inferpublish send=changes", &path, scene);
    assert_eq!(numbers(&records), [0, 3, 6, 9]);
    let changes: Vec<_> = records.iter().map(|record| record["changes"].clone()).collect();
    assert_eq!(changes, [json!(["start"]), json!(["objects"]), json!(["objects"]), json!(["objects"])]);
    assert_eq!(records[2]["objects"].as_array().unwrap().len(), 2);
}

#[test]
fn second_models_that_look_at_objects_in_some_frames_only_make_no_changes_between_them() {
    let folder = scratch("between");
    for (name, model_name, decoder, found) in
        [("classes", "colours", "classify", "classification"), ("objects", "rows-unique", "gpunms", "parent")]
    {
        let elements = format!(
            "fusedpreproc device=cpu roi=objects interval=2 resize=stretch ! trtinfer device=cpu model={} ! {decoder} ! inferpublish location={} \
             ! inferpublish send=changes",
            model(model_name),
            folder.join(format!("{name}-frames")).display()
        );
        let scene = |_| vec![tracked(1, 20.0), tracked(2, 50.0)];
        let changes = published(24, &elements, &folder.join(name), scene);
        assert_eq!(numbers(&changes), [0], "{name}: {changes:?}");
        let looked_at = lines(&folder.join(format!("{name}-frames")));
        let objects: Vec<_> = looked_at.iter().map(|record| record["objects"].to_string()).collect();
        let is_held = |objects: &&String| objects.contains(r#""held":true"#);
        let looked_at = objects.iter().filter(|objects| objects.contains(found) && !is_held(objects)).count();
        let held = objects.iter().filter(is_held).count();
        assert_eq!((name, looked_at, held), (name, 8, if name == "classes" { 16 } else { 0 }));
    }
}

#[test]
fn one_frame_of_each_interval_is_written_and_events_are_not_thinned() {
    let folder = scratch("interval");
    let pipeline_of = |send: &str| {
        let interval = 300 * MS;
        format!("tracker ! zonecount zones={ZONES} ! inferpublish send={send} interval={interval}")
    };
    let frames = published(10, &pipeline_of("frames"), &folder.join("frames"), walker);
    assert_eq!(numbers(&frames), [0, 3, 6, 9]);
    let both = published(10, &pipeline_of("frames+events"), &folder.join("both"), walker);
    assert_eq!(both.iter().filter(|record| record["schema"] == "cudainfer.event/2").count(), 3);
    assert_eq!(both.len(), 4 + 3);
}

#[test]
fn only_objects_of_some_classes_and_of_enough_confidence_are_written_everywhere() {
    let folder = scratch("selection");
    let scene = |frame| {
        let mut dog = Object { label: "dog".into(), ..tracked(2, 5.0 * frame as f32 + 10.0) };
        let detection = dog.detection.as_mut().unwrap();
        (detection.label_id, detection.confidence) = (1, 0.5);
        vec![tracked(1, 5.0 * frame as f32 + 10.0), dog]
    };
    for (name, properties, label) in [
        ("class", "classes=dog", "dog"),
        ("number", "classes=0", "person"),
        ("confidence", "min-confidence=0.6", "person"),
    ] {
        let send = "send=frames+events+tracks+changes";
        let elements = format!("zonecount zones={ZONES} ! inferpublish {send} {properties}");
        let records = published(10, &elements, &folder.join(name), scene);
        let labels = |value: &Value| value["label"].as_str().map(str::to_owned);
        let mut objects = BTreeSet::new();
        let mut kinds = BTreeSet::new();
        for record in &records {
            kinds.insert(record["schema"].to_string());
            let all = record["objects"].as_array().into_iter().flatten().chain(record.get("object"));
            objects.extend(all.chain(Some(record)).filter_map(labels));
            let events = record["events"].as_array().into_iter().flatten().chain(record.get("event"));
            for event in events {
                // Events have no confidence, so those of all objects of the class are there, but only objects that are written
                // are named.
                assert!(name == "confidence" || event["label"] == label, "{event}");
                assert!(event["object"].is_null() || event["label"] == label, "{event}");
            }
        }
        assert_eq!(Vec::from_iter(objects), [label], "{properties}");
        assert_eq!(kinds.len(), 3, "{properties}");
        let changed = records.iter().filter(|record| record["changes"] == json!(["objects"])).count();
        assert_eq!(changed, 0, "{properties}");
    }
}

#[test]
fn messages_have_ids_that_no_other_has_also_after_a_restart() {
    let path = scratch("ids").join("out.jsonl");
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=10 ! {FRAMES} ! inferpublish send=frames+changes location={} ! fakesink",
        path.display()
    ));
    let mut ids = BTreeSet::new();
    for _ in 0..2 {
        pipeline.play();
        pipeline.wait().succeeds();
        pipeline.stop();
        ids.extend(lines(&path).iter().map(|record| record["id"].as_str().unwrap().to_owned()));
    }
    assert_eq!(ids.len(), 2 * 11);
}

#[test]
fn a_live_source_has_the_time_at_which_its_frames_came_and_their_lag() {
    let path = scratch("lag").join("out.jsonl");
    let published = |live: &str| {
        run(&format!(
            "videotestsrc num-buffers=6 {live} ! {FRAMES} ! identity sleep-time=300000 ! inferpublish location={} ! fakesink sync=false",
            path.display()
        ))
        .succeeds();
        lines(&path)
    };
    let lags: Vec<f64> =
        published("is-live=true").iter().map(|record| record["lag"].as_f64().unwrap()).collect();
    // One frame in 0.1 s comes, and one in 0.3 s passes.
    assert!(lags[0] > 0.2 && lags[5] > lags[0] + 0.5, "{lags:?}");
    assert!(published("").iter().all(|record| record["lag"].is_null()), "a source that waits is never late");
}

/// Frames that pass `element` say that they were taken at this time (ns) of this clock, and at their timestamps after it.
fn take(element: &gst::Element, clock: &str, ns: u64) {
    let clock = gst::Caps::new_empty_simple(clock);
    element.static_pad("src").unwrap().add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        if let Some(gst::PadProbeData::Buffer(buffer)) = &mut info.data {
            let time = gst::ClockTime::from_nseconds(ns) + buffer.pts().unwrap();
            gst::ReferenceTimestampMeta::add(buffer.make_mut(), &clock, time, gst::ClockTime::NONE);
        }
        gst::PadProbeReturn::Ok
    });
}

#[test]
fn a_camera_whose_clock_is_wrong_is_warned_of_once_and_a_recording_is_not() {
    let path = scratch("clocks").join("out.jsonl");
    let warnings = |live: &str, hours_ago: u64| {
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc num-buffers=3 {live} ! {FRAMES} ! identity name=camera ! inferpublish location={} ! fakesink",
            path.display()
        ));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let taken = now - Duration::from_secs(3600 * hours_ago);
        take(&pipeline.element("camera"), "timestamp/x-unix", u64::try_from(taken.as_nanos()).unwrap());
        pipeline.play();
        let report = pipeline.wait().succeeds();
        pipeline.stop();
        assert_eq!(lines(&path).len(), 3);
        report.warnings
    };
    let said = warnings("is-live=true", 2);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("7200 s apart") || said[0].contains("7199 s apart"), "{said:?}");
    assert!(said[0].contains("add-reference-timestamp-meta"), "{said:?}");
    assert!(warnings("is-live=true", 0).is_empty(), "its clock is right");
    assert!(warnings("", 2).is_empty(), "what is no camera was taken when it says");
}

#[test]
fn the_time_is_that_of_the_frames_reference_and_the_source_the_stream_unless_it_is_named() {
    for (source, caps) in [("", "timestamp/x-ntp"), ("source=gate", "timestamp/x-unix")] {
        let path = scratch("time").join("out.jsonl");
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc num-buffers=2 name=camera ! {FRAMES} ! identity name=clock ! videoconvert \
             ! inferpublish {source} location={} ! fakesink",
            path.display()
        ));
        let unix = 1_614_834_367_123_456_789;
        let ns = if source.is_empty() { unix + 2_208_988_800_000_000_000 } else { unix };
        take(&pipeline.element("clock"), caps, ns);
        pipeline.play();
        pipeline.wait().succeeds();
        let stream = pipeline.element("camera").static_pad("src").unwrap().stream_id().unwrap();
        pipeline.stop();
        let [first, second] = &lines(&path)[..] else { panic!("two frames") };
        let clock = if source.is_empty() { "ntp" } else { "unix" };
        assert_eq!((&first["time"], &first["clock"]), (&json!("2021-03-04T05:06:07.123456Z"), &json!(clock)));
        assert_eq!(second["time"], "2021-03-04T05:06:07.223456Z");
        assert_eq!(first["source"], if source.is_empty() { stream.as_str() } else { "gate" });
    }
}

#[test]
fn tracks_without_a_tracker_and_classes_that_the_model_has_not_are_warned_of() {
    let path = scratch("warnings").join("out.jsonl");
    let detector = format!(
        "videotestsrc num-buffers=3 pattern=red ! fusedpreproc ! trtinfer model={} ! gpunms",
        model("detector")
    );
    let warning = |properties: &str| {
        let pipeline =
            format!("{detector} ! inferpublish name=it {properties} location={} ! fakesink", path.display());
        let report = run(&pipeline).succeeds();
        let own: Vec<_> = report.warnings.iter().filter(|text| text.starts_with("it: ")).collect();
        let [warning] = own[..] else { panic!("{report:?}") };
        warning.clone()
    };
    let text = warning("classes=red,dog");
    assert!(text.contains("no class 'dog'") && text.contains("it has red, "), "{text}");
    assert_eq!(lines(&path)[0]["objects"][0]["label"], "red");
    for properties in ["send=tracks", "format=mot"] {
        let text = warning(properties);
        assert!(text.contains("no object has had an identity") && text.contains("Put tracker"), "{text}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
    }
    let text = warning("send=events");
    assert!(text.contains("no frame has had zones") && text.contains("Put zonecount"), "{text}");
}

#[test]
fn rows_of_the_mot_challenge_are_those_that_the_evaluation_makes_of_the_records() {
    let folder = scratch("mot");
    let (json, mot) = (folder.join("out.jsonl"), folder.join("out.txt"));
    let scene = |frame| match frame {
        0..3 => vec![],
        3..6 => vec![tracked(1, 10.0 + 1.37 * frame as f32)],
        _ => {
            let mut lost = tracked(2, 50.0);
            lost.detection = None;
            lost.tracking.as_mut().unwrap().state = "lost".into();
            vec![lost, tracked(3, 10.0 + 1.37 * frame as f32), walker(frame).remove(0)]
        }
    };
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=12 ! {FRAMES} ! identity name=scene ! inferpublish location={} \
         ! inferpublish format=mot location={} ! fakesink",
        json.display(),
        mot.display()
    ));
    play(&pipeline, scene);
    pipeline.play();
    pipeline.wait().succeeds();
    pipeline.stop();
    let program = "import sys; sys.path.insert(0, 'tools'); from cudainfer_tools.evaluate import tracks; \
                   sys.stdout.write(''.join(tracks.mot_lines(open(sys.argv[1]).read().splitlines())))";
    let output = std::process::Command::new(root().join(".venv/bin/python"))
        .args(["-c", program])
        .arg(&json)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let rows = std::fs::read_to_string(&mot).unwrap();
    assert_eq!(rows, String::from_utf8(output.stdout).unwrap());
    assert_eq!(rows.lines().count(), 9, "{rows}");
}

#[test]
fn a_frame_for_consumers_of_deepstream_is_one_line() {
    let path = scratch("deepstream").join("out.jsonl");
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=1 ! {FRAMES} ! identity name=scene \
         ! inferpublish format=deepstream source=gate location={} ! fakesink",
        path.display()
    ));
    play(&pipeline, |_| vec![tracked(1, 20.0)]);
    pipeline.play();
    pipeline.wait().succeeds();
    pipeline.stop();
    let [record] = &lines(&path)[..] else { panic!("one line") };
    let fields: Vec<_> = record.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["@timestamp", "id", "objects", "sensorId", "version"]);
    assert_eq!(
        (&record["id"], &record["sensorId"], &record["version"]),
        (&json!("0"), &json!("gate"), &json!("4.0"))
    );
    assert_eq!(record["objects"], json!(["1|15|30|25|50|person"]));
}
