//! The outputs of streams besides messages, fed by pipelines of the test: files must play, and clients must read RTSP and HLS.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // clippy's own exception stops at functions without #[test]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cudainfer_serve::config::{
    RecordingSettings, RetentionSettings, SampleSettings, ServerSettings, Size, SnapshotSettings,
};
use cudainfer_serve::folders::Folders;
use cudainfer_serve::history::{EventFilter, History};
use cudainfer_serve::output::{Outputs, PictureThread, Rtsp, SharedOutputs, Wanted};
use cudainfer_serve::retention::Retention;
use gst::prelude::*;
use gst_app::AppSink;

const ENCODER: &str = "x264enc tune=zerolatency speed-preset=ultrafast key-int-max=15";
const PATIENCE: Duration = Duration::from_secs(60);

struct Kept {
    folder: tempfile::TempDir,
    retention: Retention,
}

fn kept(min_free: u64) -> Kept {
    cudainfer_tests::init();
    let folder = tempfile::tempdir().unwrap();
    let config = RetentionSettings { min_free: Size(min_free), ..RetentionSettings::default() };
    let retention = Retention::start(folder.path().to_owned(), config).unwrap();
    Kept { folder, retention }
}

impl Kept {
    fn shared(&self) -> SharedOutputs {
        let state = Some((self.folder.path().to_owned(), self.retention.room().clone()));
        SharedOutputs { state, encoder: ENCODER.to_owned(), ..SharedOutputs::default() }
    }

    fn folders(&self, name: &str) -> Folders {
        Folders::of(self.folder.path(), name)
    }
}

/// The buffers of a pipeline that ends with an element before an appsink, and their caps.
fn buffers(description: &str) -> Vec<(gst::Buffer, gst::Caps)> {
    let pipeline = gst::parse::launch(&format!("{description} ! appsink name=out sync=false")).unwrap();
    let pipeline = pipeline.downcast::<gst::Pipeline>().unwrap();
    let sink = pipeline.by_name("out").and_downcast::<AppSink>().unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let mut all = Vec::new();
    while let Ok(sample) = sink.pull_sample() {
        all.push((sample.buffer_owned().unwrap(), sample.caps_owned().unwrap()));
    }
    pipeline.set_state(gst::State::Null).unwrap();
    all
}

/// 20 seconds at 10 frames per second with a key frame in each second, and frames between that refer to later ones.
fn encoded() -> Vec<(gst::Buffer, gst::Caps)> {
    buffers(
        "videotestsrc num-buffers=200 pattern=ball ! video/x-raw,width=160,height=120,framerate=10/1 \
         ! x264enc key-int-max=10 bframes=2 b-adapt=false ! h264parse",
    )
}

/// Frames that a decoder makes of a file.
fn decoded(file: &Path) -> usize {
    buffers(&format!("filesrc location=\"{}\" ! decodebin ! videoconvert", file.display())).len()
}

fn files(folder: &Path, ending: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> =
        entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    found.sort();
    found
}

fn wait(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn record(on: &[&str], pre: f64, post: f64) -> Wanted {
    let on = on.iter().map(|text| (*text).to_owned().try_into().unwrap()).collect();
    Wanted { record: Some(RecordingSettings { on, pre, post, most: 100.0 }), ..Wanted::default() }
}

/// A message as zonecount posts it for an event at a frame.
fn zone_event(zone: &str, pts: gst::ClockTime) -> gst::Message {
    let event =
        gst::Structure::builder("zonecount-event").field("zone", zone).field("pts", Some(pts)).build();
    gst::message::Element::new(event)
}

#[test]
fn an_event_is_recorded_from_the_key_frame_before_it_into_a_file_that_plays() {
    let kept = kept(0);
    let outputs = Outputs::new("door", &record(&["zone:door"], 2.5, 3.0), &kept.shared());
    let frames = encoded();
    let event = frames[100].0.pts().unwrap();
    for (number, (buffer, caps)) in frames.iter().enumerate() {
        outputs.encoded(buffer, caps);
        if number == 110 {
            outputs.message(&zone_event("window", event));
            outputs.message(&zone_event("door", event));
        }
    }
    drop(outputs);
    let recordings = files(&kept.folders("door").recordings, ".mp4");
    let [file] = &recordings[..] else { panic!("{recordings:?}") };
    // From second 7 (2.5 seconds before second 10 is 7.5, and the key frame before that is at 7) to second 13; the times of
    // decoding differ by two frames.
    let count = decoded(file);
    assert!((58..=63).contains(&count), "{count} frames");
    assert!(file.file_name().unwrap().to_string_lossy().ends_with("-zone-door.mp4"), "{file:?}");
    assert_eq!(files(&kept.folders("door").recordings, ".part"), [] as [&Path; 0]);
}

/// A frame with an event of a zone, as zonecount writes it.
fn frame_with_event(pts: gst::ClockTime) -> gst::Buffer {
    let mut frame = gst::Buffer::new();
    frame.get_mut().unwrap().set_pts(pts);
    let event = gst::Structure::builder("event").field("zone", "door").field("event", "enter").build();
    add_events(frame.get_mut().unwrap(), [event]);
    frame
}

fn add_events(frame: &mut gst::BufferRef, events: impl IntoIterator<Item = gst::Structure>) {
    const META: &str = "GstCudaInferZoneMeta";
    if !gst::meta::CustomMeta::is_registered(META) {
        gst::meta::CustomMeta::register_simple(META);
    }
    let mut meta = gst::meta::CustomMeta::add(frame, META).unwrap();
    meta.mut_structure().set("events", gst::Array::new(events));
}

#[test]
fn an_event_has_the_picture_of_its_frame_at_once_and_what_is_too_much_is_counted() {
    let kept = kept(0);
    let server = ServerSettings { state: Some(kept.folder.path().to_owned()), ..ServerSettings::default() };
    let history = History::start(&server, Some(kept.retention.room()));
    let event_pictures = PictureThread::start();
    let shared =
        SharedOutputs { history: history.clone(), event_pictures: event_pictures.clone(), ..kept.shared() };
    let outputs = Outputs::new("door", &Wanted::default(), &shared);
    let (mut frame, caps) =
        buffers("videotestsrc num-buffers=1 ! video/x-raw,format=I420,width=1280,height=720").remove(0);
    let buffer = frame.make_mut();
    let mut region = gst_video::VideoRegionOfInterestMeta::add(buffer, "person", (100, 100, 200, 100));
    let detection = gst::Structure::builder("detection").field("confidence", 0.5);
    let place = detection.field("x", 100.0).field("y", 100.0).field("w", 200.0).field("h", 100.0);
    region.add_param(place.build());
    region.set_id(7);
    let event = |kind: &str| gst::Structure::builder("event").field("zone", "door").field("event", kind);
    add_events(buffer, [event("enter").field("object", 7).build(), event("occupancy").build()]);
    outputs.results(&frame, &caps);
    let events = || {
        history
            .reader()
            .unwrap()
            .events(&EventFilter { limit: 1000, ..EventFilter::default() })
            .unwrap()
            .events
    };
    wait("both have a picture", || {
        let events = events();
        events.len() == 2 && events.iter().all(|event| event.snapshot.is_some())
    });
    // The object's place with a tenth of its size on each side; and the whole frame, with 640 pixels on its longer edge.
    for (kind, size) in [("enter", [240, 120]), ("occupancy", [640, 360])] {
        let address = events().into_iter().find(|event| event.kind == kind).unwrap().snapshot.unwrap();
        let file = kept.folders("door").events.join(address.strip_prefix("v1/streams/door/events/").unwrap());
        let (_, caps) = buffers(&format!("filesrc location=\"{}\" ! jpegdec", file.display())).remove(0);
        let info = gst_video::VideoInfo::from_caps(&caps).unwrap();
        assert_eq!([info.width(), info.height()], size, "{kind}");
    }

    // 60 pictures within a minute at most.
    let mut crowded = frame.copy();
    let meta = crowded.get_mut().unwrap();
    let zones = gst::meta::CustomMeta::from_mut_buffer(meta, "GstCudaInferZoneMeta");
    zones.unwrap().mut_structure().set("events", gst::Array::new((0..100).map(|_| event("speed").build())));
    outputs.results(&crowded, &caps);
    wait("the others are made", || outputs.status().event_pictures.unwrap().written == 60);
    let counts = outputs.status().event_pictures.unwrap();
    assert_eq!((counts.skipped, counts.dropped, counts.failed), (0, 42, 0), "{counts:?}");
    wait("all are listed", || events().len() == 102);

    // Nothing is made, and nobody waits, once the thread has ended.
    event_pictures.close();
    drop(outputs);
    let outputs = Outputs::new("door", &Wanted::default(), &shared);
    outputs.results(&frame, &caps);
    let counts = outputs.status().event_pictures.unwrap();
    assert_eq!((counts.written, counts.skipped), (0, 2), "{counts:?}");
    wait("the events are listed all the same", || events().len() == 104);
}

#[test]
fn the_history_has_the_recording_of_an_event_and_where_the_event_is_in_it() {
    let kept = kept(0);
    let server = ServerSettings { state: Some(kept.folder.path().to_owned()), ..ServerSettings::default() };
    let history = History::start(&server, Some(kept.retention.room()));
    let shared = SharedOutputs { history: history.clone(), ..kept.shared() };
    let outputs = Outputs::new("door", &record(&["zone:door"], 2.5, 3.0), &shared);
    let frames = encoded();
    let event = frames[100].0.pts().unwrap();
    for (number, (buffer, caps)) in frames.iter().enumerate() {
        outputs.encoded(buffer, caps);
        if number == 110 {
            outputs.results(&frame_with_event(event), caps);
            outputs.message(&zone_event("door", event));
        }
    }
    drop(outputs);
    history.close();
    let recordings = files(&kept.folders("door").recordings, ".mp4");
    let [file] = &recordings[..] else { panic!("{recordings:?}") };
    let name = file.file_name().unwrap().to_str().unwrap();
    let events =
        history.reader().unwrap().events(&EventFilter { limit: 10, ..EventFilter::default() }).unwrap();
    let [event] = &events.events[..] else { panic!("{events:?}") };
    assert_eq!(event.recording.as_deref(), Some(format!("v1/streams/door/recordings/{name}").as_str()));
    // The recording begins with the key frame at second 7, and the event is at second 10; encoders delay by two or three frames.
    let offset = event.offset.unwrap();
    assert!((2.5..=3.5).contains(&offset), "{offset}");
}

#[test]
fn frames_of_every_format_are_recorded_into_files_that_play() {
    for encoder in [
        "jpegenc ! jpegparse",
        "avenc_mpeg4 gop-size=5 ! mpeg4videoparse",
        "x265enc key-int-max=5 speed-preset=ultrafast ! h265parse config-interval=-1",
        "av1enc cpu-used=8 usage-profile=realtime keyframe-max-dist=5 ! av1parse",
    ] {
        let kept = kept(0);
        let outputs = Outputs::new("door", &record(&[], 1.0, 1.0), &kept.shared());
        let frames = buffers(&format!(
            "videotestsrc num-buffers=40 pattern=ball ! video/x-raw,format=I420,width=64,height=48,framerate=10/1 ! {encoder}"
        ));
        for (number, (buffer, caps)) in frames.iter().enumerate() {
            outputs.encoded(buffer, caps);
            if number == 20 {
                outputs.begin_recording().unwrap();
            }
        }
        drop(outputs);
        let recordings = files(&kept.folders("door").recordings, ".mp4");
        let [file] = &recordings[..] else { panic!("{encoder}: {recordings:?}") };
        // Two seconds, and the frames from the last key frame before them.
        let count = decoded(file);
        assert!((20..=26).contains(&count), "{encoder}: {count} frames");
    }
}

#[test]
fn frames_without_timestamps_are_refused_and_not_lost_in_silence() {
    let kept = kept(0);
    let outputs = Outputs::new("door", &record(&[], 1.0, 1.0), &kept.shared());
    let (buffer, caps) = encoded().remove(0);
    let mut untimed = buffer.copy();
    let fields = untimed.make_mut();
    fields.set_pts(None);
    fields.set_dts(None);
    outputs.encoded(&untimed, &caps);
    assert!(outputs.begin_recording().unwrap_err().contains("no timestamps"));
    outputs.encoded(&buffer, &caps);
    outputs.begin_recording().unwrap();
}

#[test]
fn a_request_is_recorded_and_counted() {
    let kept = kept(0);
    let outputs = Outputs::new("door", &record(&[], 1.0, 1.0), &kept.shared());
    assert!(outputs.begin_recording().unwrap_err().contains("no encoded frame"));
    for (number, (buffer, caps)) in encoded().iter().enumerate() {
        outputs.encoded(buffer, caps);
        if number == 100 {
            outputs.begin_recording().unwrap();
        }
    }
    wait("the recording is complete", || outputs.status().recordings.unwrap().written == 1);
    assert_eq!(outputs.recordings().len(), 1);
    let counts = outputs.status().recordings.unwrap();
    assert_eq!((counts.written, counts.failed, counts.refused), (1, 0, 0), "{counts:?}");
    assert_eq!(
        Outputs::new("yard", &Wanted::default(), &kept.shared()).begin_recording().unwrap_err(),
        "stream 'yard' is not recorded: set record = { on = [] } for its source, if that is encoded, as cameras and files are"
    );
}

#[test]
fn a_full_disk_loses_the_recording_and_nothing_else() {
    let kept = kept(u64::MAX);
    let outputs = Outputs::new("door", &record(&[], 1.0, 1.0), &kept.shared());
    for (number, (buffer, caps)) in encoded().iter().enumerate() {
        outputs.encoded(buffer, caps);
        if number == 100 {
            outputs.begin_recording().unwrap();
        }
    }
    wait("the loss is counted", || outputs.status().recordings.unwrap().failed == 1);
    let counts = outputs.status().recordings.unwrap();
    assert!(counts.last_error.as_ref().unwrap().contains("min-free"), "{counts:?}");
    assert_eq!(outputs.recordings(), []);
}

#[test]
fn what_mp4_cannot_hold_is_refused_with_its_name() {
    let kept = kept(0);
    let outputs = Outputs::new("door", &record(&["zone"], 1.0, 1.0), &kept.shared());
    let caps = gst::Caps::builder("video/x-vp8").build();
    let mut buffer = gst::Buffer::with_size(10).unwrap();
    buffer.get_mut().unwrap().set_pts(gst::ClockTime::ZERO);
    outputs.encoded(&buffer, &caps);
    assert!(outputs.begin_recording().unwrap_err().contains("video/x-vp8 cannot be recorded"));
    outputs.message(&zone_event("door", gst::ClockTime::ZERO));
    assert_eq!(outputs.status().recordings.unwrap().refused, 1);
}

/// An RGB frame, gray with a white square at 200,100 of 50 pixels, which is track 7.
fn square(number: u64, size: f64, confidence: f64) -> (gst::Buffer, gst::Caps) {
    let info = gst_video::VideoInfo::builder(gst_video::VideoFormat::Rgb, 640, 480).build().unwrap();
    let mut pixels = vec![100_u8; info.size()];
    for y in 100..150 {
        pixels[(y * 640 + 200) * 3..(y * 640 + 250) * 3].fill(255);
    }
    let mut buffer = gst::Buffer::from_mut_slice(pixels);
    let frame = buffer.get_mut().unwrap();
    frame.set_pts(gst::ClockTime::from_mseconds(100 * number));
    let mut region = gst_video::VideoRegionOfInterestMeta::add(frame, "person", (200, 100, 50, 50));
    region.add_param(
        gst::Structure::builder("detection")
            .field("x", 200.0)
            .field("y", 100.0)
            .field("w", size)
            .field("h", size)
            .field("confidence", confidence)
            .field("label-id", 0_u32)
            .build(),
    );
    region.add_param(gst::Structure::builder("tracking").field("id", 7_u64).build());
    (buffer, info.to_caps().unwrap())
}

#[test]
fn the_best_picture_of_a_track_is_kept_when_it_ends() {
    let kept = kept(0);
    let snapshots = Some(SnapshotSettings { margin: 0.0, ..SnapshotSettings::default() });
    let outputs = Outputs::new("door", &Wanted { snapshots, ..Wanted::default() }, &kept.shared());
    let give = |(frame, caps): (gst::Buffer, gst::Caps)| outputs.results(&frame, &caps);
    give(square(0, 10.0, 0.5));
    give(square(1, 50.0, 0.9));
    give(square(2, 20.0, 0.9));
    // The track is in no frame for longer than the patience of three seconds.
    let (mut empty, caps) = square(50, 0.0, 0.0);
    while let Some(region) = empty.make_mut().meta_mut::<gst_video::VideoRegionOfInterestMeta>() {
        region.remove().unwrap();
    }
    let folder = kept.folders("door").snapshots;
    wait("the picture is written", || {
        outputs.results(&empty, &caps);
        outputs.status().snapshots.unwrap().written == 1
    });
    let about: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&files(&folder, ".json")[0]).unwrap()).unwrap();
    assert_eq!(
        (&about["id"], &about["class"], &about["box"][2]),
        (&7.into(), &"person".into(), &50.0.into())
    );
    let picture = buffers(&format!(
        "filesrc location=\"{}\" ! jpegdec ! videoconvert ! video/x-raw,format=GRAY8",
        files(&folder, ".jpg")[0].display()
    ));
    let info = gst_video::VideoInfo::from_caps(&picture[0].1).unwrap();
    assert_eq!((info.width(), info.height()), (50, 50));
    let pixels = picture[0].0.map_readable().unwrap();
    assert!(pixels[25 * info.stride()[0] as usize + 25] > 240, "the square is on it");
    let counts = outputs.status().snapshots.unwrap();
    assert_eq!((counts.written, counts.failed), (1, 0), "{counts:?}");
}

#[test]
fn uncertain_frames_become_a_dataset_up_to_its_limit() {
    let kept = kept(0);
    let sample = Some(SampleSettings { most: 2, most_per_hour: 3600, ..SampleSettings::default() });
    let wanted = Wanted { sample, ..Wanted::default() };
    let folder = kept.folders("door").samples;
    // A service that is started again goes on with the same dataset.
    for frames in 1..=2 {
        let outputs = Outputs::new("door", &wanted, &kept.shared());
        let (sure, caps) = square(0, 50.0, 0.9);
        outputs.results(&sure, &caps);
        let (unsure, caps) = square(1, 50.0, 0.5);
        outputs.results(&unsure, &caps);
        wait("the sample is written", || outputs.status().samples.unwrap().frames == frames);
    }
    let outputs = Outputs::new("door", &wanted, &kept.shared());
    let (unsure, caps) = square(0, 50.0, 0.5);
    outputs.results(&unsure, &caps);
    wait("it is full", || outputs.status().samples.unwrap().frames == 2);
    drop(outputs);
    let (pictures, labels) = (files(&folder.join("images"), ".jpg"), files(&folder.join("labels"), ".txt"));
    assert_eq!((pictures.len(), labels.len()), (2, 2));
    let name = pictures[0].file_stem().unwrap().to_str().unwrap();
    assert!(name.ends_with("Z-uncertain") && labels[0].file_stem().unwrap() == name, "{name}");
    let picture = buffers(&format!("filesrc location=\"{}\" ! jpegdec", pictures[0].display()));
    let info = gst_video::VideoInfo::from_caps(&picture[0].1).unwrap();
    let (_, caps) = square(0, 50.0, 0.5);
    let frame = gst_video::VideoInfo::from_caps(&caps).unwrap();
    assert_eq!((info.width(), info.height()), (frame.width(), frame.height()));
    // A square of 50 pixels at (200, 100).
    let number = |pixels: f64, of: u32| format!("{:.6}", pixels / f64::from(of));
    let [w, h] = [frame.width(), frame.height()];
    let expected =
        ["0".into(), number(225.0, w), number(125.0, h), number(50.0, w), number(50.0, h)].join(" ");
    assert_eq!(std::fs::read_to_string(&labels[0]).unwrap(), format!("{expected}\n"));
}

/// Gives frames ten times a second until it is dropped.
struct Feeding(Option<Arc<AtomicU64>>, Option<std::thread::JoinHandle<()>>);

fn feed(outputs: &Arc<Outputs>) -> Feeding {
    let going = Arc::new(AtomicU64::new(1));
    let (outputs, still) = (Arc::clone(outputs), Arc::clone(&going));
    let thread = std::thread::spawn(move || {
        for number in 0.. {
            if still.load(Ordering::Relaxed) == 0 {
                return;
            }
            let (frame, caps) = square(number, 50.0, 0.9);
            outputs.results(&frame, &caps);
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    Feeding(Some(going), Some(thread))
}

impl Drop for Feeding {
    fn drop(&mut self) {
        self.0.take().unwrap().store(0, Ordering::Relaxed);
        let _ = self.1.take().unwrap().join();
    }
}

#[test]
fn hls_is_a_playlist_of_segments_that_play() {
    let kept = kept(0);
    let outputs = Arc::new(Outputs::new("door", &Wanted { hls: true, ..Wanted::default() }, &kept.shared()));
    let folder = kept.folders("door").hls;
    let feeding = feed(&outputs);
    wait("two segments", || {
        std::fs::read_to_string(folder.join("index.m3u8")).is_ok_and(|list| list.matches(".ts").count() >= 2)
    });
    drop(feeding);
    assert_eq!(outputs.status().hls_error, None);
    assert!(decoded(&files(&folder, ".ts")[0]) > 5);
}

#[test]
fn rtsp_gives_the_frames_with_their_boxes_while_somebody_watches() {
    let kept = kept(0);
    let rtsp = Arc::new(Rtsp::start("127.0.0.1:0".parse().unwrap(), Some("secret")).unwrap());
    let shared = SharedOutputs { rtsp: Some(Arc::clone(&rtsp)), ..kept.shared() };
    let outputs = Arc::new(Outputs::new("door", &Wanted { rtsp: true, ..Wanted::default() }, &shared));
    let feeding = feed(&outputs);
    assert_eq!(outputs.watchers(), 0);
    let watch = |outputs: Option<&Outputs>, password: &str, name: &str| {
        let line = format!(
            "rtspsrc location=rtsp://{}/{name} user-id=cudainfer user-pw={password} protocols=tcp latency=0 \
             ! rtph264depay ! decodebin ! videoconvert ! video/x-raw,format=RGB ! appsink name=out sync=false max-buffers=5",
            rtsp.address()
        );
        let pipeline = gst::parse::launch(&line).unwrap().downcast::<gst::Pipeline>().unwrap();
        let sink = pipeline.by_name("out").and_downcast::<AppSink>().unwrap();
        pipeline.set_state(gst::State::Playing).unwrap();
        let sample =
            sink.try_pull_sample(gst::ClockTime::from_seconds(if outputs.is_some() { 60 } else { 3 }));
        let shown = sample.map(|sample| {
            let info = gst_video::VideoInfo::from_caps(sample.caps().unwrap()).unwrap();
            let pixels = sample.buffer().unwrap().map_readable().unwrap();
            let coloured =
                pixels.chunks_exact(3).any(|rgb| rgb[0].abs_diff(rgb[1]).max(rgb[1].abs_diff(rgb[2])) > 40);
            ((info.width(), info.height()), (coloured, outputs.map(Outputs::watchers)))
        });
        pipeline.set_state(gst::State::Null).unwrap();
        shown
    };
    // The box is drawn in a colour on gray frames.
    assert_eq!(watch(Some(&outputs), "secret", "door"), Some(((640, 480), (true, Some(1)))));
    wait("nothing is encoded any more", || outputs.watchers() == 0);
    assert_eq!(watch(None, "wrong", "door"), None);
    assert_eq!(watch(None, "secret", "yard"), None);
    drop(feeding);
    drop(outputs);
    assert_eq!(watch(None, "secret", "door"), None, "the stream was removed");
}

#[test]
fn an_rtsp_server_that_is_not_needed_after_all_ends_at_once() {
    cudainfer_tests::init();
    for _ in 0..20 {
        let rtsp = Rtsp::start("127.0.0.1:0".parse().unwrap(), None).unwrap();
        cudainfer_tests::within(move || drop(rtsp));
    }
}

#[test]
fn an_rtsp_port_in_use_is_reported() {
    cudainfer_tests::init();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = Rtsp::start(taken.local_addr().unwrap(), None).unwrap_err();
    assert!(error.contains("RTSP cannot be served at 127.0.0.1") && error.contains("in use"), "{error}");
}
