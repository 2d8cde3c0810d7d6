//! The pipelines of pipelines/, on the first frames of the video that scripts/setup fetches; by gst-validate-1.0, if
//! `GST_VALIDATE_PROGRAM` names it.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub use cudainfer_tests::pipeline_file::launch;
use cudainfer_tests::validator::play;
use cudainfer_tests::{TestPipeline, buffers, end, fetched, model, push, root, run, scratch};
use gstcudainfer::model::Array;
use serde_json::Value;

use crate::{iou, lines, rect, short_video, video};

/// The three people in the first frame, measured by eye: left, crossing the road far, crossing the road near.
const PEOPLE: [[f64; 4]; 3] =
    [[254.0, 220.0, 29.0, 88.0], [500.0, 157.0, 30.0, 77.0], [639.0, 240.0, 45.0, 81.0]];

/// Runs a launch file. Returns the records that it published, and the video that it wrote.
fn publish(name: &str, values: &[(&str, &str)]) -> (Vec<Value>, PathBuf) {
    publish_of(&video(), name, values)
}

fn publish_of(video: &str, name: &str, values: &[(&str, &str)]) -> (Vec<Value>, PathBuf) {
    let folder = scratch(name);
    let (json, output) = (folder.join("out.jsonl"), folder.join("out.mp4"));
    let (json_text, output_text) = (json.display().to_string(), output.display().to_string());
    let mut all = vec![("video", video), ("json", &json_text), ("output", &output_text)];
    all.extend(values);
    play(&launch(name, &all));
    (lines(&json), output)
}

/// The drawn video holds a picture for each frame, of the source's size.
pub fn is_watchable(path: &Path) {
    has_pictures(path, 30);
}

fn has_pictures(path: &Path, count: usize) {
    let frames = buffers(&format!(
        "filesrc location={} ! decodebin ! video/x-raw,width=768,height=576 ! fakesink name=out",
        path.display()
    ));
    assert_eq!(frames.len(), count);
}

/// The object of `record` that lies on `person`.
fn on(record: &Value, person: [f64; 4]) -> &Value {
    let objects = record["objects"].as_array().unwrap();
    let on: Vec<_> =
        objects.iter().filter(|o| o["label"] == "person" && iou(rect(&o["box"]), person) > 0.5).collect();
    assert_eq!(on.len(), 1, "one box on {person:?}: {objects:?}");
    on[0]
}

#[test]
fn detect_finds_the_people_where_they_are() {
    let (records, output) = publish("detect", &[]);
    assert_eq!(records.len(), 30);
    for person in PEOPLE {
        let object = on(&records[0], person);
        assert!(object["confidence"].as_f64().unwrap() > 0.6, "{object}");
        assert!(object.get("track").is_none());
    }
    for (i, record) in records.iter().enumerate() {
        assert_eq!(record["frame"], i);
        assert_eq!(record["pts"], 100_000_000 * i);
        assert_eq!((&record["width"], &record["height"]), (&768.into(), &576.into()));
    }
    is_watchable(&output);
}

#[test]
fn detect_tiles_finds_each_of_the_people_once() {
    let (records, output) = publish("detect-tiles", &[("tile", "576")]);
    assert_eq!(records.len(), 30);
    // Two tiles, from 0 to 576 and from 192 to 768: the first two people are seen in both.
    for person in PEOPLE {
        let object = on(&records[0], person);
        assert!(object["confidence"].as_f64().unwrap() > 0.6, "{object}");
    }
    is_watchable(&output);
}

#[test]
fn tiled_shows_four_videos_each_in_its_place() {
    // One of the four videos is black.
    let (folder, video) = (scratch("tiled"), video());
    let (black, output) = (folder.join("black.mkv").display().to_string(), folder.join("out.mp4"));
    run(&format!(
        "videotestsrc num-buffers=30 pattern=black ! video/x-raw,format=I420,width=320,height=240,framerate=10/1 \
         ! matroskamux ! filesink location={black}"
    ))
    .succeeds();
    let output_text = output.display().to_string();
    let values = [
        ("video1", video.as_str()),
        ("video2", &black),
        ("video3", &video),
        ("video4", &video),
        ("output", &output_text),
    ];
    play(&launch("tiled", &values));
    let frames = buffers(&format!(
        "filesrc location={output_text} ! decodebin ! videoconvert ! video/x-raw,format=GRAY8,width=1280,height=960 \
         ! fakesink name=out"
    ));
    assert!(frames.len() >= 29, "{}", frames.len());
    let picture = frames[10].map_readable().unwrap();
    let tile = |x: usize, y: usize| -> Vec<u8> {
        (y..y + 480).flat_map(|row| picture[row * 1280 + x..][..640].to_vec()).collect()
    };
    let apart = |a: &[u8], b: &[u8]| {
        a.iter().zip(b).map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>() / a.len() as f64
    };
    let tiles = [tile(0, 0), tile(640, 0), tile(0, 480), tile(640, 480)];
    // x264 changes pixels by a few steps.
    assert!(apart(&tiles[0], &tiles[2]) < 6.0 && apart(&tiles[0], &tiles[3]) < 6.0);
    assert!(apart(&tiles[0], &tiles[1]) > 40.0);
    assert!(tiles[1].iter().filter(|luma| **luma < 40).count() > 600 * 440);
}

#[test]
fn tiled_makes_tiles_of_one_size_of_videos_whose_pixels_are_not_square() {
    let folder = scratch("tiled-pal");
    let (pal, output) = (folder.join("pal.mkv").display().to_string(), folder.join("out.mp4"));
    run(&format!(
        "videotestsrc num-buffers=10 ! video/x-raw,format=I420,width=720,height=576,framerate=10/1,pixel-aspect-ratio=16/15 \
         ! matroskamux ! filesink location={pal}"
    ))
    .succeeds();
    let output = output.display().to_string();
    let videos = ["video1", "video2", "video3", "video4"].map(|key| (key, pal.as_str()));
    let values: Vec<_> = videos.into_iter().chain([("output", output.as_str())]).collect();
    play(&launch("tiled", &values));
    let pipeline = TestPipeline::new(&format!("filesrc location={output} ! decodebin ! fakesink name=out"));
    let sizes = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&sizes);
    pipeline.watch("out", move |_, caps| {
        let caps = caps.structure(0).unwrap();
        let size = ["width", "height"].map(|side| caps.get::<i32>(side).unwrap());
        seen.lock().unwrap().insert(size);
    });
    pipeline.play();
    pipeline.wait().succeeds();
    assert_eq!(sizes.lock().unwrap().iter().collect::<Vec<_>>(), [&[1280, 960]]);
}

#[test]
fn detect_track_keeps_each_persons_identity() {
    let (records, output) = publish("detect-track", &[]);
    assert_eq!(records.len(), 30);
    // Their ids in the first frame, and the boxes they move through.
    for person in PEOPLE {
        let first = on(&records[0], person);
        let (id, mut last) = (first["track"]["id"].as_u64().unwrap(), person);
        // The person who crosses near the camera meets others beyond the lamp post after two seconds.
        let seen = records
            .iter()
            .take(20)
            .filter(|record| {
                let objects = record["objects"].as_array().unwrap();
                let Some(object) = objects.iter().find(|o| o["track"]["id"] == id) else { return false };
                let next = rect(&object["box"]);
                assert!(iou(last, next) > 0.2, "{id} jumps from {last:?} to {next:?}");
                last = next;
                true
            })
            .count();
        assert!(seen >= 18, "{id} is followed through {seen} of 20 frames");
    }
    for record in &records {
        let mut ids: Vec<_> =
            record["objects"].as_array().unwrap().iter().filter_map(|o| o["track"]["id"].as_u64()).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(all, ids.len(), "an identity twice in a frame: {record}");
        assert!(record["objects"].as_array().unwrap().iter().all(|o| o["label"] == "person"), "{record}");
    }
    is_watchable(&output);
}

#[test]
fn count_says_of_everybody_who_is_followed_whether_they_are_in_the_area() {
    let zones = "left=polygon:0,0,0.5,0,0.5,1,0,1;middle=line:0.5,1,0.5,0";
    let (records, output) = publish("count", &[("zones", zones)]);
    assert_eq!(records.len(), 30);
    let (mut inside, mut crossed) = (0, 0);
    let mut seen = HashMap::new();
    for (i, record) in records.iter().enumerate() {
        let (left, middle) = (&record["zones"][0], &record["zones"][1]);
        assert_eq!(
            left["points"],
            serde_json::json!([[0.0, 0.0], [384.0, 0.0], [384.0, 576.0], [0.0, 576.0]])
        );
        for event in record["events"].as_array().unwrap() {
            inside += i64::from(event["event"] == "enter") - i64::from(event["event"] == "leave");
            crossed += i64::from(event["event"] == "cross");
        }
        assert_eq!(left["occupancy"], inside, "frame {i}");
        assert_eq!(middle["in"].as_i64().unwrap() + middle["out"].as_i64().unwrap(), crossed, "frame {i}");
        for object in record["objects"].as_array().unwrap().iter().filter(|o| o.get("track").is_some()) {
            let [x, _, w, _] = rect(&object["box"]);
            let middle = x + w / 2.0;
            // Near the edge, both sides are possible, and a new track is not counted yet.
            let frames = seen.entry(object["track"]["id"].as_u64()).or_insert(0);
            *frames += 1;
            if *frames > 2 && (middle - 384.0).abs() > 20.0 {
                let inside = object["zones"][0]["name"] == "left";
                assert_eq!(inside, middle < 384.0, "frame {i}: {object}");
            }
        }
    }
    // The person on the left in the first frame walks to the right and is beyond the middle in the last.
    let last = &records[29]["zones"];
    assert_eq!([&last[0]["entered"], &last[0]["left"], &last[1]["in"], &last[1]["out"]], [1, 1, 1, 0]);
    is_watchable(&output);
}

/// A point's place in the frame.
fn at(point: &Value) -> [f64; 2] {
    [point["x"].as_f64().unwrap(), point["y"].as_f64().unwrap()]
}

/// The skeletons of `record` that lie on `person`, all points but for two within `margin` pixels: each point by its name.
fn skeletons_on(record: &Value, [x, y, w, h]: [f64; 4], margin: [f64; 2]) -> Vec<HashMap<String, [f64; 2]>> {
    let objects = record["objects"].as_array().unwrap();
    let points = |object: &Value| -> HashMap<String, [f64; 2]> {
        let list = object["keypoints"].as_array().map_or(&[][..], Vec::as_slice);
        let points: HashMap<_, _> =
            list.iter().map(|p| (p["name"].as_str().unwrap().to_owned(), at(p))).collect();
        assert_eq!(points.len(), list.len(), "a joint twice in one person: {object}");
        points
    };
    let inside = |[px, py]: &[f64; 2]| {
        (x - margin[0]..=x + w + margin[0]).contains(px) && (y - margin[1]..=y + h + margin[1]).contains(py)
    };
    let mut found: Vec<_> = objects.iter().map(points).filter(|points| points.len() > 4).collect();
    found.retain(|points| points.values().filter(|p| !inside(p)).count() <= 2);
    found
}

/// Shoulders are above hips, those above knees and these above ankles, all as high up or low down as they should be on a
/// person who stands; one of them may be out of sight.
fn stands(points: &HashMap<String, [f64; 2]>, [_, top, _, height]: [f64; 4]) {
    let mut seen = 0;
    for (name, from, to) in [
        ("right_shoulder", 0.05, 0.4),
        ("right_hip", 0.35, 0.65),
        ("right_knee", 0.5, 0.85),
        ("right_ankle", 0.7, 1.05),
    ] {
        let Some(at) = points.get(name) else { continue };
        let part = (at[1] - top) / height;
        assert!((from..=to).contains(&part), "{name} is at {part} of the height: {points:?}");
        seen += 1;
    }
    assert!(seen >= 3, "{points:?}");
}

#[test]
fn pose_bottomup_joins_each_persons_points() {
    let (records, output) = publish("pose-bottomup", &[]);
    assert_eq!(records.len(), 30);
    // A cell of the heat-maps is 32x24 frame pixels: half of one is the margin.
    for person in &PEOPLE[..2] {
        let found = skeletons_on(&records[0], *person, [16.0, 12.0]);
        assert_eq!(found.len(), 1, "skeletons on {person:?}: {found:?}");
        stands(&found[0], *person);
    }
    is_watchable(&output);
}

#[test]
fn pose_topdown_gives_each_person_a_skeleton() {
    let (records, output) = publish_of(&short_video(), "pose-topdown", &[]);
    assert_eq!(records.len(), 6);
    for person in PEOPLE {
        let object = on(&records[0], person);
        assert!(object["edges"].as_array().is_some_and(|edges| edges.len() > 4), "{object}");
        // A crop is as large as the person and a quarter: its cells are a few pixels.
        let found = skeletons_on(&records[0], person, [6.0, 6.0]);
        assert_eq!(found.len(), 1, "skeletons on {person:?}: {found:?}");
        stands(&found[0], person);
    }
    has_pictures(&output, 6);
}

#[test]
fn actions_are_those_of_tracks_once_their_clips_are_full() {
    let (records, output) = publish("actions", &[("model", &model("clip-actions"))]);
    assert_eq!(records.len(), 30);
    // In how many frames each track was seen.
    let mut seen = HashMap::new();
    for object in records.iter().flat_map(|record| record["objects"].as_array().unwrap()) {
        let Some(identity) = object["track"]["id"].as_u64() else { continue };
        let frames = seen.entry(identity).or_insert(0);
        *frames += 1;
        let action = object["classification"][0]["label"].as_str();
        assert_eq!(action.is_some(), *frames >= 4, "{object}");
        assert!(action.is_none_or(|action| ["darker", "brighter"].contains(&action)), "{object}");
    }
    assert!(seen.values().any(|frames| *frames > 20), "{seen:?}");
    is_watchable(&output);
}

#[test]
fn labels_are_those_of_the_pipelines_that_draw() {
    for (labels, drawn) in [("labels-bottomup", "pose-bottomup"), ("labels-topdown", "pose-topdown")] {
        // Without the tracks that only labels have.
        let file = scratch(labels).join("labels.jsonl");
        let (text, video) = (file.display().to_string(), short_video());
        play(&launch(labels, &[("video", &video), ("labels", &text), ("format", "json")]));
        let objects = |records: Vec<Value>| -> Vec<Value> {
            let without_track = |mut record: Value| {
                let mut objects = record["objects"].take();
                for object in objects.as_array_mut().unwrap() {
                    object.as_object_mut().unwrap().remove("track");
                }
                objects
            };
            records.into_iter().map(without_track).collect()
        };
        let (found, expected) = (objects(lines(&file)), objects(publish_of(&video, drawn, &[]).0));
        assert!(expected.iter().any(|objects| objects.as_array().is_some_and(|objects| !objects.is_empty())));
        assert!(found == expected, "{labels} and {drawn} differ");
    }
}

#[test]
fn read_text_finds_lines_and_reads_them() {
    // The tests' own models, which take bright and colourful places for text.
    let detector = scratch("read-text-detector").join("bright.onnx");
    std::fs::copy(model("text-map"), &detector).unwrap();
    let sidecar = "[input]\nwidth = 320\nheight = 192\n[output]\ndecoder = \"db\"\nlabels = [\"text\"]\nmap-threshold = 0.7\n";
    std::fs::write(detector.with_extension("toml"), sidecar).unwrap();
    let (detector, model) = (detector.display().to_string(), model("reader"));
    let (records, output) =
        publish("read-text", &[("detector", &detector), ("model", &model), ("confidence", "0.5")]);
    assert_eq!(records.len(), 30);
    let objects = || records.iter().flat_map(|record| record["objects"].as_array().unwrap());
    assert!(records.iter().all(|record| record["objects"][0]["label"] == "text"));
    assert!(objects().all(|o| o["confidence"].as_f64().unwrap() >= 0.5));
    let read = objects().filter_map(|o| o["classification"][0]["label"].as_str());
    assert!(read.clone().count() > 0 && read.flat_map(str::chars).all(|c| "RGB ".contains(c)));
    is_watchable(&output);
}

#[test]
fn faces_are_aligned_and_get_embeddings() {
    // The tests' own models: two faces in every frame, and the mean colour of what is seen of one.
    let embedder = scratch("faces-embedder").join("mean.onnx");
    std::fs::copy(model("constants-batch"), &embedder).unwrap();
    // Of 64x64 pixels. The faces' five points fit it: eyes, nose, corners of the mouth.
    let align = "[[22, 18], [42, 18], [32, 30], [24, 42], [40, 42]]";
    let sidecar = format!(
        "[input]\nroi-crop = \"align\"\nalign = {align}\n[constants]\nsize = \"frame-height-width\"\nfactor = [2.0]\n[embed]\noutput \
         = \"scaled\"\n"
    );
    std::fs::write(embedder.with_extension("toml"), sidecar).unwrap();
    let (detector, embedder) = (model("scrfd"), embedder.display().to_string());
    let (records, output) = publish("faces", &[("detector", &detector), ("model", &embedder)]);
    assert_eq!(records.len(), 30);
    for record in &records {
        let faces = record["objects"].as_array().unwrap();
        let seen = |face: &Value| (face["label"].clone(), face["keypoints"].as_array().map(Vec::len));
        assert_eq!(faces.iter().map(seen).collect::<Vec<_>>(), vec![("face".into(), Some(5)); 2]);
        let vector = faces[0]["embeddings"][0]["values"].as_array().unwrap();
        let length: f64 = vector.iter().map(|v| v.as_f64().unwrap().powi(2)).sum();
        assert!(vector.len() == 3 && (length - 1.0).abs() < 1e-3, "{record}");
        // All points of the other one are in one place.
        assert!(faces[1].get("embeddings").is_none(), "{record}");
    }
    is_watchable(&output);
}

#[test]
fn identify_numbers_who_is_in_no_gallery_and_names_who_is() {
    // The tests' own models: people, and the mean colour of what is seen of each.
    let folder = scratch("identify-file");
    let (gallery, unknowns) = (folder.join("people.npz"), folder.join("unknowns.npz"));
    let write = |values: &[f32]| {
        let array = Array::of_floats(vec![1, values.len()], values);
        std::fs::write(&gallery, Array::archive([("Ann", &array)]).unwrap()).unwrap();
    };
    let paths = [&gallery, &unknowns].map(|path| path.display().to_string());
    let (detector, model) = (fetched("models/nanodet.onnx"), model("attributes"));
    let values = [
        ("gallery", paths[0].as_str()),
        ("unknowns", &paths[1]),
        ("detector", &detector),
        ("model", &model),
        ("crop", "box"),
    ];
    let published = |threshold: &str| {
        let (records, output) = publish("identify", &[&values[..], &[("threshold", threshold)]].concat());
        assert_eq!(records.len(), 30);
        is_watchable(&output);
        let objects = records.iter().flat_map(|record| record["objects"].as_array().unwrap().clone());
        objects
            .filter_map(|object| object["identity"]["name"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    // Opposite to what colours can be, as their embeddings are (3r, 2b - 4r).
    write(&[-1.0, 0.0]);
    let names = published("0.5");
    assert!(!names.is_empty() && names.iter().all(|name| name.starts_with("unknown-")), "{names:?}");
    assert!(Array::read_all(&unknowns, 1 << 20).unwrap().len() > 1);
    write(&[1.0, -0.5]);
    std::fs::remove_file(&unknowns).unwrap();
    let names = published("-1");
    assert!(!names.is_empty() && names.iter().all(|name| name == "Ann"), "{names:?}");
}

/// How much two lists of samples rise and fall together: Pearson's coefficient.
fn correlation(a: &[u8], b: &[u8]) -> f64 {
    let count = a.len() as f64;
    let mean = |values: &[u8]| values.iter().map(|v| f64::from(*v)).sum::<f64>() / count;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let pairs = || a.iter().zip(b).map(|(a, b)| (f64::from(*a) - mean_a, f64::from(*b) - mean_b));
    let square = |of: fn((f64, f64)) -> f64| pairs().map(of).sum::<f64>();
    square(|(a, b)| a * b) / (square(|(a, _)| a * a) * square(|(_, b)| b * b)).sqrt()
}

#[test]
fn depth_paints_what_the_model_says_of_each_place() {
    let output = scratch("depth").join("out.mp4").display().to_string();
    // The tests' own model, which takes ten times the red for metres.
    let (video, model) = (video(), model("map-depth"));
    play(&launch("depth", &[("video", &video), ("model", &model), ("output", &output)]));
    is_watchable(Path::new(&output));
    let small = |file: &str, format: &str| -> Vec<Vec<u8>> {
        let description = format!(
            "filesrc location={file} ! decodebin ! videoconvertscale ! video/x-raw,format={format},width=24,height=16 \
             ! fakesink name=out"
        );
        let bytes = |frame: &gst::Buffer| frame.map_readable().unwrap().to_vec();
        buffers(&description).iter().take(30).map(bytes).collect()
    };
    let (depths, pictures) = (small(&output, "GRAY8"), small(&video, "RGB"));
    for (depth, picture) in depths.iter().zip(&pictures) {
        let red: Vec<_> = picture.iter().step_by(3).copied().collect();
        let alike = correlation(depth, &red);
        // Not 1: the model sees other samples of a picture with fine detail.
        assert!(alike > 0.8, "the painted depth follows the red: {alike}");
        let (least, most) = (depth.iter().min().unwrap(), depth.iter().max().unwrap());
        assert!(most - least > 100, "from the nearest to the farthest: {least} to {most}");
    }
}

/// The frames of a video as `format`, dense.
fn decoded(path: &Path, format: &str) -> Vec<Vec<u8>> {
    let frames = buffers(&format!(
        "filesrc location={} ! decodebin ! videoconvert ! video/x-raw,format={format} ! fakesink name=out",
        path.display()
    ));
    frames.iter().map(|frame| frame.map_readable().unwrap().to_vec()).collect()
}

/// The mean column and row of pixels, each as heavy as it says.
fn centre(width: usize, weights: impl Iterator<Item = u64>) -> [f64; 2] {
    let (mut sum, mut across, mut down) = (0, 0, 0);
    for (at, weight) in weights.enumerate() {
        sum += weight;
        across += weight * (at % width) as u64;
        down += weight * (at / width) as u64;
    }
    [across, down].map(|moment| moment as f64 / sum as f64)
}

#[test]
fn matte_and_cutout_mask_each_frame_with_its_own_mask() {
    let folder = scratch("matte");
    let path = |name: &str| folder.join(name).display().to_string();
    let (video, output, matte, cutout) =
        (path("in.mov"), path("frames.mp4"), path("matte.mp4"), path("cutout.mov"));
    run(&format!(
        "videotestsrc num-buffers=12 pattern=ball foreground-color=0xffff0000 \
         ! video/x-raw,format=RGB,width=384,height=256,framerate=10/1 ! pngenc snapshot=false ! qtmux \
         ! filesink location={video}"
    ))
    .succeeds();
    let red = model("mask-red");
    let common = [("video", video.as_str()), ("model", &red)];
    let own = [("output", output.as_str()), ("matte", &matte)];
    play(&launch("matte", &[&common[..], &own[..]].concat()));
    play(&launch("cutout", &[&common[..], &[("output", cutout.as_str())]].concat()));
    let (frames, masks) = (decoded(output.as_ref(), "RGB"), decoded(matte.as_ref(), "GRAY8"));
    let cut = decoded(cutout.as_ref(), "RGBA");
    assert_eq!((frames.len(), masks.len(), cut.len()), (12, 12, 12));
    let balls: Vec<[f64; 2]> = frames
        .iter()
        .map(|frame| centre(384, frame.chunks_exact(3).map(|p| u64::from(p[0].saturating_sub(p[1])))))
        .collect();
    for (number, (mask, cut)) in masks.iter().zip(&cut).enumerate() {
        for found in [
            centre(384, mask.iter().map(|v| u64::from(*v))),
            centre(384, cut.chunks_exact(4).map(|p| u64::from(p[3]))),
        ] {
            let far = |ball: &[f64; 2]| (ball[0] - found[0]).hypot(ball[1] - found[1]);
            // It lies on no other frame's ball.
            let nearest = (0..12).min_by(|a, b| far(&balls[*a]).total_cmp(&far(&balls[*b])));
            assert_eq!(nearest, Some(number), "{found:?} among {balls:?}");
            assert!(far(&balls[number]) < 4.0, "{found:?} for {:?}", balls[number]);
        }
        // The ball is about as large as the model's cells. Video of limited range would begin at 16.
        let (least, greatest) = (mask.iter().min().unwrap(), mask.iter().max().unwrap());
        assert!(*least == 0 && *greatest > 100, "{least} to {greatest}");
    }
}

#[test]
fn matte_deovr_lays_the_masks_of_both_pictures_into_the_corners() {
    let folder = scratch("matte-deovr");
    let path = |name: &str| folder.join(name).display().to_string();
    let (video, output) = (path("in.mov"), path("out.mp4"));
    // Two discs of 256 pixels, the left one red and the right one green.
    let disc = |colour: &str| {
        format!(
            "videotestsrc num-buffers=4 pattern=solid-color foreground-color={colour} ! video/x-raw,format=RGB,width=256,height=256,framerate=10/1"
        )
    };
    run(&format!(
        "compositor name=mix sink_1::xpos=256 ! video/x-raw,format=RGB,width=512,height=256 ! pngenc snapshot=false ! qtmux \
         ! filesink location={video} {} ! mix.sink_0 {} ! mix.sink_1",
        disc("0xffff0000"),
        disc("0xff00ff00")
    ))
    .succeeds();
    let red = model("mask-red");
    play(&launch("matte-deovr", &[("video", video.as_str()), ("model", &red), ("output", &output)]));
    let frames = decoded(output.as_ref(), "RGB");
    assert_eq!(frames.len(), 4);
    for frame in &frames {
        for (x, y, wanted) in
            [(270, 10, [255, 0, 0]), (270, 245, [255, 0, 0]), (10, 10, [0; 3]), (500, 245, [0; 3])]
        {
            let pixel = &frame[(y * 512 + x) * 3..][..3];
            // H.264 has half as many colours as pixels.
            assert!(pixel.iter().zip(wanted).all(|(a, b)| a.abs_diff(b) < 40), "{x} {y}: {pixel:?}");
        }
    }
}

#[test]
fn segment_objects_paints_the_masks_of_what_the_detector_finds() {
    let folder = scratch("segment-objects");
    let path = |name: &str| folder.join(name).display().to_string();
    let (video, output) = (path("in.mov"), path("out.mp4"));
    run(&format!(
        "videotestsrc num-buffers=4 pattern=solid-color foreground-color=0xffffffff \
         ! video/x-raw,format=RGB,width=384,height=256,framerate=10/1 ! pngenc snapshot=false ! qtmux ! filesink location={video}"
    ))
    .succeeds();
    let [detector, encoder, decoder] = ["lists-torchvision", "prompt-encoder", "prompt-decoder"].map(model);
    play(&launch(
        "segment-objects",
        &[
            ("video", video.as_str()),
            ("detector", &detector),
            ("classes", "a"),
            ("encoder", &encoder),
            ("decoder", &decoder),
            ("output", &output),
        ],
    ));
    let frames = decoded(output.as_ref(), "RGB");
    assert_eq!(frames.len(), 4);
    for frame in &frames {
        // a is from 180, 32 to 360, 160; what is c is no class that was asked for.
        for (x, y, is_painted) in
            [(270, 96, true), (340, 140, true), (100, 96, false), (270, 200, false), (72, 72, false)]
        {
            let pixel = &frame[(y * 384 + x) * 3..][..3];
            let is_white = pixel.iter().all(|value| *value > 215);
            assert_eq!(!is_white, is_painted, "{x} {y}: {pixel:?}");
        }
    }
}

#[test]
fn lanes_publishes_and_draws_polylines() {
    let file = model("lanes-anchors");
    let (lines, output) = publish("lanes", &[("model", file.as_str()), ("regions", "0,0.2,1,0.8")]);
    assert_eq!(lines.len(), 30);
    for line in &lines {
        let [flat, steep] = &line["objects"].as_array().unwrap()[..] else { panic!("{line}") };
        assert_eq!((&flat["label"], &steep["label"]), (&"lane-0".into(), &"lane-1".into()));
        // Of the frame's 768x576 pixels.
        let points = steep["keypoints"].as_array().unwrap();
        assert_eq!(points.len(), 36, "{steep}");
        let last = points[35].clone();
        let off = |key: &str, wanted: f64| (last[key].as_f64().unwrap() - wanted).abs();
        assert!(off("x", 31.0 / 99.0 * 768.0) < 0.01 && off("y", 710.0 / 720.0 * 576.0) < 0.01, "{last}");
        assert_eq!(flat["keypoints"].as_array().unwrap().len(), 15);
    }
    is_watchable(&output);
}

#[test]
fn hands_follows_the_points_of_what_the_detector_finds() {
    let folder = scratch("hands");
    let path = |name: &str| folder.join(name).display().to_string();
    let (video, json, output, hands) =
        (path("in.mov"), path("out.jsonl"), path("out.mp4"), path("hands.onnx"));
    std::fs::copy(model("dots"), &hands).unwrap();
    let sidecar = "[input]\nresize = \"letterbox\"\npadding = 0\n[peaks]\nmode = \"global\"\n[skeleton]\npoints = [\"wrist\", \
                   \"finger\", \"thumb\"]\n[track]\npadding = 1.25\n";
    std::fs::write(path("hands.toml"), sidecar).unwrap();
    // A dot of each colour, which move to the right in the detector's box from 180, 32 to 360, 160.
    let place =
        |frame: usize, point: usize| [[190 + frame, 96], [345 + frame, 96], [270 + frame, 150]][point];
    let made = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width=384,height=256,framerate=10/1 ! pngenc snapshot=false ! qtmux \
         ! filesink location={video}"
    ));
    made.play();
    for frame in 0..4 {
        let mut pixels = vec![0u8; 384 * 256 * 3];
        for point in 0..3 {
            let [x, y] = place(frame, point);
            for (x, y) in (x - 3..x + 3).flat_map(|x| (y - 3..y + 3).map(move |y| (x, y))) {
                pixels[(y * 384 + x) * 3 + point] = 255;
            }
        }
        let mut buffer = gst::Buffer::from_mut_slice(pixels);
        buffer.get_mut().unwrap().set_pts(gst::ClockTime::from_mseconds(100 * frame as u64));
        buffer.get_mut().unwrap().set_duration(gst::ClockTime::from_mseconds(100));
        push(&made.element("in"), buffer);
    }
    end(&made.element("in"));
    made.wait().succeeds();
    made.stop();
    play(&launch(
        "hands",
        &[
            ("video", video.as_str()),
            ("detector", &model("lists-torchvision")),
            ("model", &hands),
            ("json", &json),
            ("output", &output),
        ],
    ));
    let records = lines(json.as_ref());
    assert_eq!(records.len(), 4);
    for (frame, record) in records.iter().enumerate() {
        let objects = record["objects"].as_array().unwrap();
        let hands: Vec<_> = objects
            .iter()
            .filter(|object| object["keypoints"].as_array().is_some_and(|all| all.len() == 3))
            .collect();
        let [hand] = hands[..] else { panic!("{record}") };
        for (point, found) in hand["keypoints"].as_array().unwrap().iter().enumerate() {
            let wanted = place(frame, point);
            let off = ["x", "y"].map(|axis| found[axis].as_f64().unwrap());
            // A dot is six pixels wide, and a region's pixel less than three.
            assert!(
                (off[0] - wanted[0] as f64).hypot(off[1] - wanted[1] as f64) < 6.0,
                "{frame}: {found}, not {wanted:?}"
            );
        }
    }
    assert_eq!(decoded(output.as_ref(), "RGB").len(), 4);
}

#[test]
fn every_launch_file_has_a_test_here() {
    let mut names: Vec<_> = std::fs::read_dir(root().join("pipelines"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "launch"))
        .map(|p| p.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "actions",
            "count",
            "cutout",
            "depth",
            "detect",
            "detect-tiles",
            "detect-track",
            "faces",
            "hands",
            "identify",
            "labels-bottomup",
            "labels-topdown",
            "lanes",
            "matte",
            "matte-deovr",
            "pose-bottomup",
            "pose-topdown",
            "read-text",
            "segment",
            "segment-objects",
            "tiled"
        ]
    );
    assert!(Path::new(&fetched("models/nanodet.onnx")).is_file());
}
