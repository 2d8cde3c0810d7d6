//! Names, by the gallery.

use cudainfer_tests::scratch;
use gst::prelude::*;
use gstcudainfer::meta::object::{EmbeddingParam, TrackingParam};

use super::*;
use crate::{lines, violations};

/// A gallery of Ann at 0 degrees and Bob at 90.
fn two() -> String {
    let path = scratch("identify").join("people.npz");
    write(&path, "faces", &[("Ann", &[0.0]), ("Bob", &[90.0, 100.0])]);
    path.display().to_string()
}

#[test]
fn objects_get_the_most_similar_name_with_its_similarity_and_none_between_two() {
    let mut scene = Scene::new(&format!("gallery={} threshold=0.9 max-unknowns=0", two()), "");
    let found = scene.see(&[
        face(0, None, Some(&at(10.0))),
        face(1, None, Some(&at(97.0))),
        face(2, None, Some(&at(45.0))),
        face(3, None, Some(&at(200.0))),
        face(4, None, None),
        // Not scaled to length 1.
        face(5, None, Some(&[0.0, 30.0])),
    ]);
    let names: Vec<_> = found.iter().map(|(id, identity)| (*id, identity.name.as_str())).collect();
    assert_eq!(names, [(0, "Ann"), (1, "Bob"), (5, "Bob")]);
    for (id, degrees) in [(0, 10.0_f64), (1, 3.0), (5, 0.0)] {
        // Vectors and product are rounded to float32.
        assert!((found[&id].score - degrees.to_radians().cos()).abs() < 1e-6, "{found:?}");
        assert!(found[&id].unknown.is_none() && !found[&id].held);
    }
    let counts = ["objects", "known", "unknown", "ambiguous", "not-compared", "left-out"];
    assert_eq!(counts.map(|name| scene.stat(name)), [5, 3, 0, 0, 0, 0]);
    scene.pipeline.element("who").set_property("threshold", 0.5);
    assert!(!scene.see(&[face(2, None, Some(&at(45.0)))]).contains_key(&2));
    assert_eq!(scene.stat("ambiguous"), 1);
    scene.pipeline.element("who").set_property("margin", 0.0);
    assert_eq!(scene.see(&[face(2, None, Some(&at(44.0)))])[&2].name, "Ann");
    assert_eq!(scene.end().succeeds().warnings, [""; 0]);
}

#[test]
fn a_track_keeps_the_name_of_its_best_frame_also_where_no_embedding_is_made() {
    let mut scene = Scene::new(&format!("gallery={} threshold=0.9 frames=3 max-unknowns=0", two()), "");
    let mut see = |object: Object| scene.see(&[object]).into_values().next();
    assert_eq!(see(seen(1, 20.0)).unwrap().name, "Ann");
    // Too far from any name, but of the same track.
    let held = see(seen(1, 45.0)).unwrap();
    assert!(held.name == "Ann" && !held.held && (held.score - 20.0_f64.to_radians().cos()).abs() < 1e-6);
    let passed = see(face(1, Some(1), None)).unwrap();
    assert!(passed.held && passed.name == "Ann", "{passed:?}");
    assert_eq!(see(face(2, Some(2), None)), None, "nothing is known of this one");
    assert_eq!(see(seen(1, 92.0)).unwrap().name, "Bob", "the best of three");
    // Three more: what was better is forgotten.
    see(seen(1, 200.0));
    see(seen(1, 200.0));
    assert_eq!(see(seen(1, 200.0)), None);
    // Tentative tracks share an identity, so nothing is remembered of them.
    let tentative = |degrees: Option<f64>| {
        let mut object = face(1, Some(0), degrees.map(at).as_deref());
        object.tracking = Some(TrackingParam { state: "tentative".into(), ..object.tracking.unwrap() });
        object
    };
    assert_eq!(see(tentative(Some(0.0))).unwrap().name, "Ann");
    assert_eq!(see(tentative(None)), None);
    assert_eq!(scene.stat("held"), 1);
}

#[test]
fn the_embedding_of_the_wanted_output_counts() {
    let mut object = face(0, None, Some(&at(0.0)));
    object.embeddings.push(EmbeddingParam::new("faces", "second", true, &at(90.0)));
    let gallery = two();
    for (property, name) in
        [("", "Ann"), ("embedding-output=second", "Bob"), ("embedding-output=vector", "Ann")]
    {
        let mut scene = Scene::new(&format!("gallery={gallery} {property}"), "");
        assert_eq!(scene.name(object.clone()).as_deref(), Some(name), "{property}");
    }
}

#[test]
fn another_gallery_is_used_from_the_next_frame_on_and_a_bad_one_leaves_the_one_before() {
    let path = two();
    let mut scene = Scene::new(&format!("gallery={path} threshold=0.9"), "");
    let who = scene.pipeline.element("who");
    assert_eq!(scene.name(seen(1, 0.0)).as_deref(), Some("Ann"));
    // The same name again: the file has changed.
    write(Path::new(&path), "faces", &[("Anna", &[0.0]), ("Bob", &[90.0])]);
    assert_eq!(scene.name(seen(1, 0.0)).as_deref(), Some("Ann"), "not before it is set");
    who.set_property("gallery", &path);
    assert_eq!(
        scene.name(face(1, Some(1), None)).as_deref(),
        Some("Anna"),
        "what is remembered is compared, too"
    );
    let folder = scratch("identify-bad");
    let bad = folder.join("bad.npz");
    let numbers = Array::of_floats(vec![1, 3], &[1.0, 0.0, 0.0]);
    for (bytes, why) in [
        (Some(b"nothing".to_vec()), "no .npz"),
        (None, "No such file"),
        (
            Some(Array::archive([("Eve", &numbers)]).unwrap()),
            "embeddings of 3 numbers, and those of the objects have 2",
        ),
    ] {
        match bytes {
            Some(bytes) => std::fs::write(&bad, bytes).unwrap(),
            None => std::fs::remove_file(&bad).unwrap(),
        }
        who.set_property("gallery", bad.display().to_string());
        let warnings = scene.warnings();
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        for part in ["who: the gallery", "bad.npz", why, "The gallery before stays in use"] {
            assert!(warning.contains(part), "'{part}' is not in: {warning}");
        }
        assert_eq!(scene.name(seen(1, 0.0)).as_deref(), Some("Anna"));
    }
    who.set_property("gallery", None::<&str>);
    assert_eq!(scene.name(seen(1, 0.0)).as_deref(), Some("unknown-1"), "nobody is known any more");
    assert_eq!(scene.warnings(), [""; 0]);
    assert_eq!(scene.end().succeeds().warnings, [""; 0]);
}

#[test]
fn no_frame_is_lost_while_galleries_change() {
    let folder = scratch("identify-changes");
    let paths: Vec<_> = ["Ann", "Bob"]
        .map(|name| {
            let path = folder.join(format!("{name}.npz"));
            write(&path, "faces", &[(name, &[0.0])]);
            path.display().to_string()
        })
        .into();
    let mut scene = Scene::new(&format!("gallery={}", paths[0]), "");
    let who = scene.pipeline.element("who");
    for frame in 0..200 {
        scene.put(&[seen(1, 0.0)]);
        if frame % 10 == 9 {
            who.set_property("gallery", &paths[frame / 10 % 2]);
        }
    }
    until("all frames", || scene.seen.lock().unwrap().len() == 200);
    let mut names = Vec::new();
    for buffer in scene.seen.lock().unwrap().iter() {
        names.push(identities(buffer)[&1].name.clone());
    }
    assert!(names.iter().all(|name| ["Ann", "Bob"].contains(&name.as_str())), "{names:?}");
    assert_eq!(scene.name(seen(1, 0.0)).as_deref(), Some("Bob"), "the last one that was set");
    assert_eq!(scene.end().succeeds().warnings, [""; 0]);
}

#[test]
fn records_have_names_and_the_schema_knows_them() {
    let file = scratch("identify-records").join("out.jsonl");
    let publish = format!("! inferpublish send=frames+tracks+changes location={}", file.display());
    let mut scene = Scene::new(&format!("gallery={} threshold=0.9 min-frames=2", two()), &publish);
    scene.see(&[seen(1, 20.0), seen(2, 200.0)]);
    scene.see(&[seen(1, 10.0), seen(2, 200.0)]);
    scene.see(&[face(1, Some(1), None), seen(2, 200.0)]);
    scene.end().succeeds();
    let records = lines(&file);
    for record in &records {
        assert_eq!(violations(record), [""; 0], "{record}");
    }
    let of_frames: Vec<_> =
        records.iter().filter(|r| r.get("objects").is_some() && r.get("changes").is_none()).collect();
    let identity = |frame: usize, object: usize| of_frames[frame]["objects"][object].get("identity").cloned();
    let ann = |degrees: f64| (degrees.to_radians().cos() * 10_000.0).round() / 10_000.0;
    assert_eq!(identity(0, 0), Some(serde_json::json!({ "name": "Ann", "score": ann(20.0) })));
    assert_eq!(identity(0, 1), None);
    let unknown = serde_json::json!({ "name": "unknown-1", "score": 1.0, "unknown": 1 });
    assert_eq!(identity(1, 1).as_ref(), Some(&unknown));
    assert_eq!(identity(2, 0), Some(serde_json::json!({ "name": "Ann", "score": ann(10.0), "held": true })));
    let changes: Vec<_> = records.iter().filter_map(|r| r.get("changes")).collect();
    assert_eq!(changes, [&serde_json::json!(["start"]), &serde_json::json!(["names"])]);
    let mut tracks: Vec<_> = records.iter().filter(|r| r.get("end").is_some()).collect();
    tracks.sort_by_key(|track| track["track"].as_u64());
    assert_eq!(tracks[0]["identity"], serde_json::json!({ "name": "Ann", "score": ann(10.0) }));
    assert_eq!(tracks[1]["identity"], unknown);
}

#[test]
fn folders_are_galleries_too() {
    let folder = scratch("identify-folder");
    let put = |path: &str, degrees: &[f64]| {
        let values: Vec<f32> = degrees.iter().flat_map(|degrees| at(*degrees)).collect();
        let array = Array::of_floats(vec![degrees.len(), 2], &values);
        let bytes = Array::archive([("x", &array)]).unwrap();
        // What lies in the archive is a .npy: after its header of 30 bytes and its name.
        let begin = 30 + "x.npy".len();
        let end = bytes.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &bytes[begin..end]).unwrap();
    };
    put("Ann/1.npy", &[0.0]);
    put("Ann/2.npy", &[40.0, 50.0]);
    put("Bob.npy", &[90.0]);
    std::fs::write(folder.join(".hidden"), "").unwrap();
    let mut scene = Scene::new(&format!("gallery={} threshold=0.9", folder.display()), "");
    for (degrees, name) in [(2.0, "Ann"), (45.0, "Ann"), (89.0, "Bob")] {
        assert_eq!(scene.name(face(0, None, Some(&at(degrees)))).as_deref(), Some(name));
    }
}

#[test]
fn the_name_is_drawn() {
    let drawn = |properties: &str, overlay: &str| {
        let mut scene = Scene::new(
            properties,
            &format!("! inferoverlay boxes=false ids=false trail-length=0 font=built-in {overlay}"),
        );
        scene.see(&[seen(1, 0.0)]);
        let frame = scene.seen.lock().unwrap()[0].clone();
        let map = frame.map_readable().unwrap();
        map.iter().filter(|byte| **byte != 0).count()
    };
    let gallery = format!("gallery={}", two());
    let [label, named, unlabelled] = [
        drawn("", "confidences=false"),
        drawn(&gallery, "confidences=false"),
        drawn(&gallery, "confidences=false labels=false"),
    ];
    assert!(unlabelled == 0 && label > 0 && named > label, "{unlabelled} {label} {named}");
}
