//! The second pass over the tracks of a file: text of the MOTChallenge and records of tracks, its limit, and live sources.

use std::path::Path;

use cudainfer_tests::{Report, TestPipeline, scratch};
use gst::prelude::*;
use gstcudainfer::meta::object::Object;
use serde_json::{Value, json};

use crate::zonecount::zones::{FRAMES, MS, play, tracked};
use crate::{lines, violations};

/// Somebody who walks a pixel a frame: nobody sees them in frames 8 to 10, and from frame 20 on they are called 4.
fn walk(frame: u64) -> Vec<Object> {
    let id = match frame {
        8..=10 | 16..20 => return vec![],
        0..20 => 1,
        _ => 4,
    };
    vec![tracked(id, 10.0 + frame as f32)]
}

/// Runs 40 frames through inferpublish with these properties, which writes to `path`. Returns what was reported, and the counts.
fn publish(properties: &str, source: &str, path: &Path) -> (Report, gst::Structure) {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc {source} num-buffers=40 ! {FRAMES} ! identity name=scene ! inferpublish name=it {properties} location={} ! fakesink",
        path.display()
    ));
    play(&pipeline, walk);
    pipeline.play();
    let report = pipeline.wait().succeeds();
    let stats = pipeline.element("it").property::<gst::Structure>("stats");
    pipeline.stop();
    (report, stats)
}

fn counts(stats: &gst::Structure) -> [u64; 3] {
    ["joined", "interpolated", "early-passes"].map(|name| stats.get(name).unwrap())
}

/// Frame, identity and visibility of rows.
fn rows(path: &Path) -> Vec<[i64; 3]> {
    let text = std::fs::read_to_string(path).unwrap();
    let row = |line: &str| {
        let columns: Vec<f64> = line.split(',').map(|column| column.parse().unwrap()).collect();
        assert_eq!((columns.len(), columns[7], columns[9]), (10, -1.0, -1.0), "{line}");
        // The box is where the walker is.
        assert_eq!(columns[2..6], [4.0 + columns[0], 30.0, 10.0, 20.0], "{line}");
        [0, 1, 8].map(|column| columns[column] as i64)
    };
    text.lines().map(row).collect()
}

#[test]
fn text_of_the_mot_challenge_has_a_marked_row_for_each_frame_of_a_gap() {
    let folder = scratch("second-pass-mot");
    for (pass, found) in [("none", [0, 0, 0]), ("fill", [0, 3, 0]), ("join", [1, 7, 0])] {
        let path = folder.join(pass);
        let (report, stats) = publish(&format!("format=mot second-pass={pass}"), "", &path);
        assert!(report.warnings.is_empty(), "{report:?}");
        assert_eq!(counts(&stats), found, "{pass}");
        let mut wanted = Vec::new();
        for frame in 0..40_u64 {
            let seen = walk(frame).first().map(|object| object.tracking.as_ref().unwrap().id as i64);
            let filled = match (pass, frame) {
                ("fill" | "join", 8..=10) | ("join", 16..20) => Some(1),
                _ => None,
            };
            let id = seen.map(|id| if pass == "join" { 1 } else { id }).or(filled);
            let visibility = if seen.is_some() { -1 } else { 0 };
            wanted.extend(id.map(|id| [frame as i64 + 1, id, visibility]));
        }
        assert_eq!(rows(&path), wanted, "{pass}");
    }
}

#[test]
fn a_joined_track_is_one_record_that_names_all_identities_and_marks_what_nobody_saw() {
    let path = scratch("second-pass-tracks").join("out.jsonl");
    // Patience is shorter than the gap: without a second pass, there would be three records.
    let patience = 250 * MS;
    let (report, stats) =
        publish(&format!("send=tracks second-pass=join track-patience={patience}"), "", &path);
    assert!(report.warnings.is_empty(), "{report:?}");
    assert_eq!(counts(&stats), [1, 7, 0]);
    let [record] = &lines(&path)[..] else { panic!("one record: {:?}", lines(&path)) };
    assert_eq!(violations(record), [""; 0], "{record}");
    for (field, value) in [
        ("track", json!(1)),
        ("joined", json!([1, 4])),
        ("interpolated", json!(7)),
        ("frames", json!(33)),
        ("frame", json!(39)),
        ("end", json!("eos")),
    ] {
        assert_eq!(record[field], value, "{field}");
    }
    let filled = |place: &&Value| place["interpolated"] == true;
    let path = record["path"].as_array().unwrap();
    let frames: Vec<_> = path.iter().filter(filled).map(|place| place["frame"].as_u64().unwrap()).collect();
    assert_eq!((path.len(), frames), (40, vec![8, 9, 10, 16, 17, 18, 19]));
    for (frame, place) in path.iter().enumerate() {
        assert_eq!(
            (&place["x"], &place["pts"]),
            (&json!(10.0 + frame as f64), &json!(frame as u64 * 100 * MS))
        );
    }
}

#[test]
fn a_limit_that_is_reached_is_warned_of_and_loses_no_box() {
    let path = scratch("second-pass-limit").join("out.txt");
    let (report, stats) = publish("format=mot second-pass=fill max-gathered=30", "", &path);
    let [warning, ..] = &report.warnings[..] else { panic!("{report:?}") };
    for part in ["it: 30 boxes are gathered at 0:00:01", "which is max-gathered", "early-passes"] {
        assert!(warning.contains(part), "{part} is not in {warning}");
    }
    // A frame counts as a box does, if somebody is in it or may be filled in: there are 30 at frames 16 and 34.
    assert_eq!(counts(&stats), [0, 3, 2]);
    let seen: Vec<_> = rows(&path).iter().filter(|row| row[2] == -1).map(|row| row[0]).collect();
    let wanted: Vec<_> =
        (0..40).filter(|frame| !walk(*frame).is_empty()).map(|frame| frame as i64 + 1).collect();
    assert_eq!(seen, wanted);
}

#[test]
fn a_live_source_is_warned_of() {
    let path = scratch("second-pass-live").join("out.txt");
    let (report, _) = publish("format=mot second-pass=join", "is-live=true", &path);
    let [warning] = &report.warnings[..] else { panic!("{report:?}") };
    for part in [
        "it: the source is live",
        "second-pass=join writes nothing before the stream ends",
        "Remove second-pass",
    ] {
        assert!(warning.contains(part), "{part} is not in {warning}");
    }
    assert_eq!(rows(&path).len(), 40, "it is written when the stream has ended");
}
