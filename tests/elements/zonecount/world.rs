//! zonecount: where objects are in the world and how fast they move there, of motions that are known.

use std::path::{Path, PathBuf};

use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::zones::EventKind;
use cudainfer_tests::{TestPipeline, end, filled, push, scratch, until};
use gst::prelude::*;
use gstcudainfer::meta::object::{DetectionParam, Object, TrackingParam, objects};
use gstcudainfer::meta::world::WorldParam;

use crate::zonecount::zones::{MS, messages, play, reported};
use crate::{lines, violations};

const FRAMES: &str = "video/x-raw,format=RGB,width=640,height=360,framerate=10/1";

/// A camera 6 m above the ground that looks 25 degrees down along y, with 330 pixels of focal length, in a frame of 640x360.
fn seen([x, y]: [f64; 2]) -> [f64; 2] {
    let (sin, cos) = 25f64.to_radians().sin_cos();
    let depth = y * cos + 6.0 * sin;
    [320.0 + 330.0 * x / depth, 180.0 + 330.0 * (6.0 * cos - y * sin) / depth]
}

/// A file of zones with the ground, by the corners of a road of 7 m by 32 m, whose first is at (0, 0).
fn road(name: &str, zones: &str) -> PathBuf {
    let corners = [[-3.5, 40.0], [3.5, 40.0], [3.5, 8.0], [-3.5, 8.0]].map(seen);
    let path = scratch(name).join("road.toml");
    let text = format!("[ground]\npoints = {corners:?}\nmetres = [7, 32]\n{zones}");
    std::fs::write(&path, text).unwrap();
    path
}

/// A car whose wheels touch the ground at that place of the camera, `wide` pixels wide, with this identity.
fn car(id: u64, place: [f64; 2], wide: f32) -> Object {
    let [x, y] = seen(place).map(|v| v as f32);
    let rect = Rect { x: x - wide / 2.0, y: y - wide / 2.0, w: wide, h: wide / 2.0 };
    let detection = Some(DetectionParam { rect, confidence: 0.9, label_id: 2 });
    let tracking = Some(TrackingParam { id, state: "tracked".into(), rect, ..TrackingParam::default() });
    let id = i32::try_from(id).unwrap();
    Object { id, label: "car".into(), detection, tracking, ..Object::default() }
}

/// Where a car is that comes nearer at 12 m/s.
fn coming(frame: u64) -> [f64; 2] {
    [1.0, 40.0 - 1.2 * frame as f64]
}

/// Another that stands at the roadside.
const STANDING: [f64; 2] = [-3.0, 20.0];

fn worlds(buffer: &gst::BufferRef) -> Vec<Option<WorldParam>> {
    objects(buffer).into_iter().map(|object| object.world).collect()
}

#[test]
fn a_car_has_its_place_its_speed_and_its_direction_within_two_percent() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=25 ! {FRAMES} ! identity name=scene ! zonecount zones-file={} ! fakesink name=out",
        road("world-speed", "").display()
    ));
    play(&pipeline, |frame| vec![car(1, coming(frame), 24.0), car(2, STANDING, 24.0)]);
    let seen = pipeline.collect("out");
    pipeline.play();
    assert_eq!(pipeline.wait().succeeds().warnings, [""; 0]);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 25);
    for (buffer, frame) in seen.iter().zip(0..) {
        let [moving, standing] = &worlds(buffer)[..] else { panic!("two objects") };
        let (moving, standing) = (moving.as_ref().unwrap(), standing.as_ref().unwrap());
        // From the far left corner, which is at (-3.5, 40), to the right and towards the camera; boxes are single-precision.
        let wanted = [1.0 + 3.5, 1.2 * frame as f64];
        let wrong = (moving.at[0] - wanted[0]).hypot(moving.at[1] - wanted[1]);
        assert!(wrong < 0.02, "frame {frame}: {moving:?}, not {wanted:?}");
        let distance = (4.0f64).hypot(20.0 - 1.2 * frame as f64);
        let nearest = moving.nearest.unwrap();
        assert_eq!((nearest.object, standing.nearest.unwrap().object), (2, 1));
        assert!((nearest.distance - distance).abs() < 0.03, "frame {frame}: {nearest:?}, not {distance}");
        assert_eq!(moving.motion.is_some(), frame > 0, "frame {frame}: it was seen twice");
        if frame >= 8 {
            let motion = moving.motion.unwrap();
            assert!(
                (motion.speed - 12.0).abs() <= 0.02 * 12.0 && motion.is_sure(),
                "frame {frame}: {motion:?}"
            );
            assert!((motion.direction.unwrap() - 90.0).abs() < 2.0, "frame {frame}: {motion:?}");
            let still = standing.motion.unwrap();
            assert!(still.speed < 0.1 && still.direction.is_none(), "frame {frame}: {still:?}");
        }
    }
}

#[test]
fn speeds_are_reported_in_events_messages_and_records_that_fit_the_schema() {
    let zones = "[[zone]]\nname = \"road\"\nkind = \"polygon\"\npoints = [[0, 0], [640, 0], [640, 360], [0, 360]]\n\
                 holes = [[[600, 10], [630, 10], [630, 40]]]\nmin-speed = 10.5\nmax-speed = 15\nloitering = 1.5\ninertia = 3\n";
    let json = scratch("world-records").join("records.jsonl");
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=25 ! {FRAMES} ! identity name=scene ! zonecount zones-file={} \
         ! inferpublish send=frames+events location={} source=gate ! fakesink name=out",
        road("world-events", zones).display(),
        json.display()
    ));
    play(&pipeline, |frame| vec![car(1, coming(frame), 24.0), car(2, STANDING, 24.0)]);
    let (seen, posted) = (pipeline.collect("out"), messages(&pipeline));
    pipeline.play();
    pipeline.wait().succeeds();
    let events: Vec<_> = reported(&seen).into_iter().flat_map(|(_, events)| events).collect();
    let speeds: Vec<_> = events
        .iter()
        .filter_map(|event| match event.what {
            EventKind::Speed(motion) => Some((event.track, motion.speed)),
            _ => None,
        })
        .collect();
    let [(Some(1), speed)] = speeds[..] else { panic!("the moving car, once: {speeds:?}") };
    assert!((speed - 12.0).abs() <= 0.1 * 12.0, "{speed}");
    let loiter =
        |event: &&gstcudainfer::meta::zone::ZoneEvent| event.what == EventKind::Loiter { dwell: 1500 * MS };
    let tracks: Vec<_> = events.iter().filter(loiter).map(|event| event.track).collect();
    assert_eq!(tracks, [Some(1), Some(2)]);
    let posted = posted.lock().unwrap();
    let message = posted.iter().find(|s| s.get::<&str>("event") == Ok("speed")).unwrap();
    assert_eq!((message.get::<f64>("speed"), message.get::<u64>("track")), (Ok(speed), Ok(1)));
    assert!(message.has_field("speed-deviation") && message.has_field("speed-direction"), "{message}");
    let records = lines(&json);
    for record in &records {
        let errors = violations(record);
        assert!(errors.is_empty(), "{errors:?} in {record}");
    }
    let frame = records.iter().filter(|record| record["schema"] == "cudainfer.frame/5").nth(20).unwrap();
    let moving = &frame["objects"][0];
    assert_eq!((&moving["nearest"]["id"], &moving["nearest"]["track"]), (&2.into(), &2.into()), "{moving}");
    assert!((moving["speed"]["value"].as_f64().unwrap() - 12.0).abs() <= 0.24, "{moving}");
    assert!((moving["world"][0].as_f64().unwrap() - 4.5).abs() <= 0.02, "{moving}");
    assert_eq!(
        frame["zones"][0]["holes"],
        serde_json::json!([[[600.0, 10.0], [630.0, 10.0], [630.0, 40.0]]])
    );
    let event = records.iter().find(|record| record["event"]["event"] == "speed").unwrap();
    assert_eq!(event["event"]["speed"]["direction"], event["object"]["speed"]["direction"], "{event}");
}

#[test]
fn a_seek_a_flush_and_a_stream_without_times_begin_speeds_anew() {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=\"{FRAMES}\" ! identity name=scene ! zonecount zones-file={} ! fakesink name=out async=false",
        road("world-flush", "").display()
    ));
    play(&pipeline, |frame| vec![car(1, coming(frame), 24.0)]);
    let (seen, source) = (pipeline.collect("out"), pipeline.element("in"));
    let mut count = 0;
    let mut feed = |pts: Option<u64>| {
        let mut buffer = filled(640 * 360 * 3, 0, 0);
        let frame = buffer.get_mut().unwrap();
        frame.set_pts(pts.map(gst::ClockTime::from_mseconds));
        frame.set_duration(gst::ClockTime::NONE);
        push(&source, buffer);
        count += 1;
        until("the frame", || seen.lock().unwrap().len() == count);
        worlds(seen.lock().unwrap().last().unwrap())[0].clone().unwrap().motion.is_some()
    };
    pipeline.play();
    assert_eq!([0, 100, 200].map(|ms| feed(Some(ms))), [false, true, true]);
    assert_eq!([50, 150].map(|ms| feed(Some(ms))), [false, true], "the stream went back");
    assert_eq!([9000, 9100].map(|ms| feed(Some(ms))), [false, true], "nine seconds are missing");
    assert!(
        source.send_event(gst::event::FlushStart::new())
            && source.send_event(gst::event::FlushStop::new(true))
    );
    assert_eq!([9200, 9300].map(|ms| feed(Some(ms))), [false, true], "a flush");
    // The caps say how long frames last, and so does the gap that follows.
    assert!(feed(None));
    end(&source);
    pipeline.wait().succeeds();
}

#[test]
fn a_plate_names_its_car_and_does_not_stand_on_the_ground() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=1 ! {FRAMES} ! identity name=scene ! zonecount zones-file={} ! fakesink name=out",
        road("world-plates", "").display()
    ));
    play(&pipeline, |_| {
        let plate =
            Object { label: "plate".into(), parent: Some(1), tracking: None, ..car(2, [1.0, 20.5], 6.0) };
        vec![car(1, [1.0, 20.0], 24.0), plate]
    });
    let seen = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    let [car, plate] = &objects(&seen.lock().unwrap()[0])[..] else { panic!("two objects") };
    assert_eq!((plate.parent, &plate.world), (Some(1), &None));
    assert!(car.world.as_ref().unwrap().nearest.is_none(), "its own plate is no neighbour");
}

/// The pixels of the last frame that are lit.
fn lit(zones: &Path, settings: &str) -> usize {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=15 pattern=black ! {FRAMES} ! identity name=scene ! zonecount zones-file={} \
         ! inferoverlay labels=false confidences=false trail-length=0 font=built-in {settings} ! fakesink name=out",
        zones.display()
    ));
    play(&pipeline, |frame| vec![car(1, coming(frame), 24.0)]);
    let seen = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    let frame = seen.lock().unwrap().last().unwrap().map_readable().unwrap().to_vec();
    frame.chunks(3).filter(|pixel| *pixel != [0, 0, 0]).count()
}

#[test]
fn the_overlay_writes_the_speed_in_the_unit_that_is_asked_for() {
    let zones = road("world-overlay", "");
    let none = lit(&zones, "speed-unit=none");
    let [kmh, mph, ms] = ["km-h", "mph", "m-s"].map(|unit| lit(&zones, &format!("speed-unit={unit}")));
    assert_eq!(lit(&zones, ""), kmh, "the default");
    // "43 km/h" and "12.0 m/s" have more letters than "27 mph".
    assert!(none < mph && mph < kmh && kmh < ms, "{none} {mph} {kmh} {ms}");
}
