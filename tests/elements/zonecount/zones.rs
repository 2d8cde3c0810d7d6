//! zonecount: what it reports of objects that walk through its zones, in metadata, messages, properties and records.

use std::sync::{Arc, Mutex};

use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::zones::{Direction, EventKind};
use cudainfer_tests::{TestPipeline, end, filled, push, run, scratch, until};
use gst::prelude::*;
use gstcudainfer::meta::object::{DetectionParam, Object, TrackingParam, objects};
use gstcudainfer::meta::zone::{Zone, ZoneEvent, zones};

use crate::{lines, steady, violations};

pub const MS: u64 = 1_000_000;
pub const FRAMES: &str = "video/x-raw,format=RGB,width=64,height=64,framerate=10/1";
/// Upwards in the middle of a frame of 64x64, and what lies around it.
pub const ZONES: &str = "door=line:32,64,32,0;yard=polygon:20,0,44,0,44,64,20,64";

/// A person 10 pixels wide and 20 high whose feet are at `x`, 50.
fn person(x: f32) -> Object {
    let rect = Rect { x: x - 5.0, y: 30.0, w: 10.0, h: 20.0 };
    let detection = Some(DetectionParam { rect, confidence: 0.9, label_id: 0 });
    Object { label: "person".into(), detection, ..Object::default() }
}

/// The same with an identity, and with its place in the frame as number.
pub fn tracked(id: u64, x: f32) -> Object {
    let person = person(x);
    let rect = person.detection.as_ref().unwrap().rect;
    let tracking = Some(TrackingParam { id, state: "tracked".into(), rect, ..TrackingParam::default() });
    Object { id: i32::try_from(id).unwrap() - 1, tracking, ..person }
}

/// Puts objects on the frames that pass the element called `scene`, by the frames' numbers.
pub fn play(pipeline: &TestPipeline, scene: impl Fn(u64) -> Vec<Object> + Send + Sync + 'static) {
    let count = std::sync::atomic::AtomicU64::new(0);
    let pad = pipeline.element("scene").static_pad("src").unwrap();
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        if let Some(gst::PadProbeData::Buffer(buffer)) = &mut info.data {
            let frame = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            for object in scene(frame) {
                object.put(buffer.make_mut(), &Rect::default());
            }
        }
        gst::PadProbeReturn::Ok
    });
}

/// A person who walks from x = 10 to the right, 5 pixels a frame.
pub fn walker(frame: u64) -> Vec<Object> {
    vec![person(10.0 + 5.0 * frame as f32)]
}

/// The messages that are posted from now on.
pub fn messages(pipeline: &TestPipeline) -> Arc<Mutex<Vec<gst::Structure>>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let all = seen.clone();
    pipeline.bus().unwrap().set_sync_handler(move |_, message| {
        if let gst::MessageView::Element(element) = message.view()
            && let Some(s) = element.structure().filter(|s| s.name() == "zonecount-event")
        {
            all.lock().unwrap().push(s.to_owned());
        }
        gst::BusSyncReply::Pass
    });
    seen
}

/// The zones in the property `counts`.
pub fn counts(pipeline: &TestPipeline) -> Vec<gst::Structure> {
    let counts = pipeline.element("count").property::<gst::Structure>("counts");
    let zones = counts.get::<gst::ArrayRef>("zones").unwrap();
    zones.iter().map(|zone| zone.get().unwrap()).collect()
}

pub fn number(s: &gst::StructureRef, field: &str) -> u64 {
    s.get(field).unwrap_or_else(|e| panic!("{e}: {s}"))
}

fn stat(pipeline: &TestPipeline, field: &str) -> u64 {
    number(&pipeline.element("count").property::<gst::Structure>("stats"), field)
}

/// The zones' state and the events after each frame.
pub type Reported = Vec<(Vec<Zone>, Vec<ZoneEvent>)>;

pub fn reported(seen: &Mutex<Vec<gst::Buffer>>) -> Reported {
    seen.lock().unwrap().iter().map(|buffer| zones(buffer).unwrap()).collect()
}

#[test]
fn who_walks_through_is_reported_in_metadata_messages_and_counts() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=10 ! {FRAMES} ! identity name=scene ! tracker \
         ! zonecount name=count zones={ZONES} ! fakesink name=out"
    ));
    play(&pipeline, walker);
    let (seen, posted) = (pipeline.collect("out"), messages(&pipeline));
    pipeline.play();
    pipeline.wait().succeeds();
    let states = reported(&seen);
    let events: Vec<_> =
        states.iter().zip(0..).flat_map(|((_, e), i)| e.iter().map(move |e| (i, e))).collect();
    let said: Vec<_> = events.iter().map(|(frame, e)| (*frame, e.zone.as_str(), e.what)).collect();
    // An event comes in the second frame on the other side; the feet are inside from frame 2 on and outside from frame 7 on.
    let left = EventKind::Leave { vanished: false, dwell: Some(500 * MS) };
    let wanted = [
        (3, "yard", EventKind::Enter { appeared: false }),
        (6, "door", EventKind::Cross(Direction::In)),
        (8, "yard", left),
    ];
    assert_eq!(said, wanted);
    assert!(
        events.iter().all(|(_, e)| (e.object, e.track, e.label.as_str()) == (Some(0), Some(1), "person"))
    );
    // Each frame has the zones' state.
    let yard = |frame: usize| states[frame].0[1].counts;
    assert_eq!([2, 3, 7, 8].map(|frame| yard(frame).occupancy), [0, 1, 1, 0]);
    assert_eq!((yard(9).entered, yard(9).left, states[9].0[0].counts.crossed_in), (1, 1, 1));
    assert_eq!(states[0].0[1].points, [[20.0, 0.0], [44.0, 0.0], [44.0, 64.0], [20.0, 64.0]]);
    // Objects have the zones in which they are.
    let stays: Vec<_> = seen.lock().unwrap().iter().map(|buffer| objects(buffer)[0].zones.clone()).collect();
    let dwell: Vec<_> =
        stays.iter().map(|zones| zones.as_ref().map(|z| (z.names.join(","), z.dwell[0]))).collect();
    assert_eq!([&dwell[2], &dwell[8]], [&None, &None]);
    assert_eq!(dwell[5], Some(("yard".into(), Some(300 * MS))));
    // Messages have the same events.
    let posted = posted.lock().unwrap();
    let text = |s: &gst::Structure, field: &str| s.get::<String>(field).unwrap_or_default();
    let said: Vec<_> =
        posted.iter().map(|s| ["zone", "kind", "event", "cause", "direction"].map(|f| text(s, f))).collect();
    assert_eq!(
        said,
        [
            ["yard", "polygon", "enter", "moved", ""],
            ["door", "line", "cross", "", "in"],
            ["yard", "polygon", "leave", "moved", ""],
        ]
    );
    let leave = &posted[2];
    assert_eq!((number(leave, "track"), number(leave, "dwell")), (1, 500 * MS));
    assert_eq!((number(leave, "entered"), number(leave, "left"), number(leave, "dropped")), (1, 1, 0));
    assert_eq!(text(leave, "label"), "person");
    for field in ["pts", "stream-time", "running-time"] {
        assert_eq!(leave.get(field), Ok(gst::ClockTime::from_mseconds(800)), "{field}");
    }
    assert_eq!((number(&counts(&pipeline)[0], "in"), number(&counts(&pipeline)[1], "left")), (1, 1));
    assert_eq!(number(&counts(&pipeline)[1], "longest-dwell"), 500 * MS);
    assert_eq!(
        [
            stat(&pipeline, "frames"),
            stat(&pipeline, "objects"),
            stat(&pipeline, "untracked"),
            stat(&pipeline, "events")
        ],
        [10, 10, 0, 3]
    );
}

#[test]
fn a_line_of_json_has_the_zones_and_what_happened() {
    let path = scratch("zones").join("out.jsonl");
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=10 ! {FRAMES} ! identity name=scene ! tracker \
         ! zonecount name=count zones={ZONES}:occupancy=1 ! inferpublish source=gate location={} ! fakesink",
        path.display()
    ));
    play(&pipeline, |frame| if frame < 9 { walker(frame) } else { vec![] });
    pipeline.play();
    pipeline.wait().succeeds();
    pipeline.stop();
    let text = std::fs::read_to_string(&path).unwrap();
    insta::assert_snapshot!(steady(text.lines().nth(3).unwrap()), @r#"{"schema":"cudainfer.frame/5","id":"","source":"gate","frame":3,"pts":300000000,"stream_time":300000000,"time":"","clock":"arrival","width":64,"height":64,"objects":[{"id":0,"label":"person","label_id":0,"confidence":0.9,"box":{"x":20.0,"y":30.0,"w":10.0,"h":20.0},"track":{"id":1,"age":3,"hits":4,"state":"tracked","box":{"x":19.08,"y":30.0,"w":10.0,"h":20.0},"velocity":{"x":37.62,"y":0.0}},"zones":[{"name":"yard","dwell":100000000}]}],"zones":[{"name":"door","kind":"line","points":[[32.0,64.0],[32.0,0.0]],"in":0,"out":0,"classes":[]},{"name":"yard","kind":"polygon","points":[[20.0,0.0],[44.0,0.0],[44.0,64.0],[20.0,64.0]],"occupancy":1,"entered":1,"left":0,"classes":[{"label":"person","occupancy":1,"entered":1,"left":0}]}],"events":[{"zone":"yard","event":"enter","object":0,"track":1,"label":"person","cause":"moved","occupancy":1},{"zone":"yard","event":"occupancy","cause":"reached","occupancy":1}]}"#);
    insta::assert_snapshot!(steady(text.lines().nth(8).unwrap()), @r#"{"schema":"cudainfer.frame/5","id":"","source":"gate","frame":8,"pts":800000000,"stream_time":800000000,"time":"","clock":"arrival","width":64,"height":64,"objects":[{"id":0,"label":"person","label_id":0,"confidence":0.9,"box":{"x":45.0,"y":30.0,"w":10.0,"h":20.0},"track":{"id":1,"age":8,"hits":9,"state":"tracked","box":{"x":44.77,"y":30.0,"w":10.0,"h":20.0},"velocity":{"x":47.78,"y":0.0}}}],"zones":[{"name":"door","kind":"line","points":[[32.0,64.0],[32.0,0.0]],"in":1,"out":0,"classes":[{"label":"person","in":1,"out":0}]},{"name":"yard","kind":"polygon","points":[[20.0,0.0],[44.0,0.0],[44.0,64.0],[20.0,64.0]],"occupancy":0,"entered":1,"left":1,"longest_dwell":500000000,"mean_dwell":500000000,"classes":[{"label":"person","occupancy":0,"entered":1,"left":1}]}],"events":[{"zone":"yard","event":"leave","object":0,"track":1,"label":"person","cause":"moved","dwell":500000000,"occupancy":0},{"zone":"yard","event":"occupancy","cause":"fell","occupancy":0}]}"#);
    for record in lines(&path) {
        let errors = violations(&record);
        assert!(errors.is_empty(), "{errors:?} in {record}");
    }
}

#[test]
fn messages_can_be_switched_off_and_are_bounded_while_metadata_has_all_events() {
    // Fifty people enter in the same frame.
    let crowd = |frame| if frame == 0 { vec![] } else { (1..=50).map(|id| tracked(id, 30.0)).collect() };
    for (settings, wanted) in [("", 50), ("messages=false", 0), ("max-messages=7", 7), ("max-messages=0", 50)]
    {
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc num-buffers=3 ! {FRAMES} ! identity name=scene \
             ! zonecount name=count zones={ZONES} {settings} ! fakesink name=out"
        ));
        play(&pipeline, crowd);
        let (seen, posted) = (pipeline.collect("out"), messages(&pipeline));
        pipeline.play();
        pipeline.wait().succeeds();
        assert_eq!(posted.lock().unwrap().len(), wanted, "{settings}");
        // Each message has the occupancy after its own event, though all are of the same frame.
        let occupancy: Vec<u32> =
            posted.lock().unwrap().iter().map(|s| s.get("occupancy").unwrap()).collect();
        assert_eq!(occupancy, (1..=50).take(wanted).collect::<Vec<_>>());
        assert!(posted.lock().unwrap().iter().all(|s| number(s, "entered") == 50));
        assert_eq!(reported(&seen).iter().map(|(_, events)| events.len()).collect::<Vec<_>>(), [0, 0, 50]);
        assert_eq!(stat(&pipeline, "dropped-messages"), if wanted == 7 { 43 } else { 0 });
    }
}

#[test]
fn a_new_start_and_a_flush_begin_anew_and_counts_can_be_read_after_the_end() {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=\"{FRAMES}\" ! identity name=scene \
         ! zonecount name=count zones={ZONES} min-frames=1 ! fakesink name=out async=false"
    ));
    // Always inside, with a new identity from the sixth frame on.
    play(&pipeline, |frame| vec![tracked(if frame < 5 { 1 } else { 2 }, 30.0)]);
    let seen = pipeline.collect("out");
    let source = pipeline.element("in");
    let entered = || number(&counts(&pipeline)[1], "entered");
    let mut came = 0;
    let mut feed = |frames: u64| {
        for frame in 0..frames {
            push(&source, filled(64 * 64 * 3, 0, 10 * frame));
        }
        came += usize::try_from(frames).unwrap();
        until("the frames", || seen.lock().unwrap().len() == came);
    };
    pipeline.play();
    feed(6);
    assert_eq!(entered(), 2);
    assert!(
        source.send_event(gst::event::FlushStart::new())
            && source.send_event(gst::event::FlushStop::new(true))
    );
    feed(1);
    assert_eq!(entered(), 1, "the one who is there now, anew");
    end(&source);
    pipeline.wait().succeeds();
    pipeline.reach(gst::State::Ready);
    assert_eq!(entered(), 1);
    pipeline.play();
    assert_eq!(entered(), 0);
    feed(1);
    assert_eq!(entered(), 1);
}

#[test]
fn the_signal_reset_clears_the_counts_and_leaves_who_is_inside() {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=\"{FRAMES}\" ! identity name=scene \
         ! zonecount name=count zones={ZONES} min-frames=1 ! fakesink name=out async=false"
    ));
    play(&pipeline, |_| vec![tracked(1, 30.0)]);
    let seen = pipeline.collect("out");
    pipeline.play();
    push(&pipeline.element("in"), filled(64 * 64 * 3, 0, 0));
    until("the frame", || seen.lock().unwrap().len() == 1);
    let yard = || {
        let yard = &counts(&pipeline)[1];
        (number(yard, "entered"), yard.get::<u32>("occupancy").unwrap())
    };
    assert_eq!(yard(), (1, 1));
    pipeline.element("count").emit_by_name::<()>("reset", &[]);
    assert_eq!(yard(), (0, 1));
}

#[test]
fn a_tee_lets_each_branch_count_by_itself() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=10 ! {FRAMES} ! identity name=scene ! tracker ! tee name=t \
         t. ! queue ! zonecount name=count zones=door=line:32,64,32,0 ! fakesink name=out \
         t. ! queue ! zonecount name=other zones=door=line:32,0,32,64 ! zonecount zones=gate=line:47,0,47,64 ! fakesink name=both"
    ));
    play(&pipeline, walker);
    let [one, both] = ["out", "both"].map(|name| pipeline.collect(name));
    pipeline.play();
    pipeline.wait().succeeds();
    let last = |seen| {
        let (zones, _) = reported(seen).pop().unwrap();
        zones.into_iter().map(|z| (z.name, z.counts.crossed_in, z.counts.crossed_out)).collect::<Vec<_>>()
    };
    assert_eq!(last(&one), [("door".to_owned(), 1, 0)]);
    assert_eq!(last(&both), [("door".to_owned(), 0, 1), ("gate".to_owned(), 0, 1)], "two elements in a line");
}

#[test]
fn without_a_tracker_polygons_count_who_is_there_if_that_is_asked_for() {
    const YARD: &str = "yard=polygon:20,0,44,0,44,64,20,64";
    // Lines need identities in any case.
    for (zones, settings, wanted, warned) in
        [(ZONES, "", 0, 1), (ZONES, "untracked=true", 1, 1), (YARD, "untracked=true", 1, 0), (YARD, "", 0, 1)]
    {
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc num-buffers=2 ! {FRAMES} ! identity name=scene \
             ! zonecount name=count zones={zones} {settings} ! fakesink name=out"
        ));
        play(&pipeline, |_| vec![person(30.0)]);
        let seen = pipeline.collect("out");
        pipeline.play();
        let report = pipeline.wait().succeeds();
        let said = report.warnings.iter().filter(|text| text.contains("no object has had an identity"));
        assert_eq!(said.count(), warned, "{zones} {settings}");
        let occupied = |zones: &[Zone]| zones.last().unwrap().counts.occupancy == wanted;
        assert!(reported(&seen).iter().all(|(zones, events)| occupied(zones) && events.is_empty()));
    }
}

#[test]
fn who_is_lost_is_not_counted_as_somebody_without_an_identity() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=8 ! {FRAMES} ! identity name=scene ! tracker publish-lost=true \
         ! zonecount name=count zones={ZONES} untracked=true min-frames=1 ! fakesink name=out"
    ));
    play(&pipeline, |frame| if frame < 5 { vec![person(30.0)] } else { vec![] });
    let seen = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    assert_eq!(objects(&seen.lock().unwrap()[6])[0].tracking.as_ref().unwrap().state, "lost");
    assert!(reported(&seen).iter().all(|(zones, _)| zones[1].counts.occupancy == 1));
    assert_eq!([stat(&pipeline, "objects"), stat(&pipeline, "untracked")], [5, 0]);
}

#[test]
fn streams_that_share_the_element_are_counted_apart() {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=a format=time caps=\"{FRAMES}\" ! funnel name=f ! tracker \
         ! zonecount name=count units=fraction zones=door=line:0.5,1,0.5,0 ! fakesink name=out async=false sync=false \
         appsrc name=b format=time caps=\"{FRAMES}\" ! f."
    ));
    let (seen, posted) = (pipeline.collect("out"), messages(&pipeline));
    pipeline.play();
    let mut shown = Vec::new();
    for n in 0..20u16 {
        // In stream a, a person goes to the right, and in b, to the left: each is number 1 there.
        let way = 10.0 + 5.0 * f32::from(n / 2);
        let (source, x) = if n % 2 == 0 { ("a", way) } else { ("b", 64.0 - way) };
        let mut buffer = filled(64 * 64 * 3, 0, 10 * u64::from(n / 2));
        person(x).put(buffer.get_mut().unwrap(), &Rect::default());
        push(&pipeline.element(source), buffer);
        until("the frame", || seen.lock().unwrap().len() == usize::from(n) + 1);
        shown.push([number(&counts(&pipeline)[0], "in"), number(&counts(&pipeline)[0], "out")]);
    }
    let states = reported(&seen);
    let crossed: Vec<_> = states
        .iter()
        .zip(0..)
        .flat_map(|((_, events), n)| events.iter().map(move |e| (n, e.track, e.what)))
        .collect();
    // In its seventh frame, as `walker` does.
    let crossing = |n, direction| (n, Some(1), EventKind::Cross(direction));
    assert_eq!(crossed, [crossing(12, Direction::In), crossing(13, Direction::Out)]);
    let stream = |name| pipeline.element(name).static_pad("src").unwrap().stream_id().unwrap().to_string();
    let of = |s: &gst::Structure| s.get::<String>("stream-id").unwrap();
    assert_eq!(posted.lock().unwrap().iter().map(of).collect::<Vec<_>>(), [stream("a"), stream("b")]);
    assert_eq!(shown[18..], [[1, 0], [0, 1]], "the property has the counts of the stream whose turn it is");
    for (zones, _) in &states {
        assert_eq!(zones[0].points, [[32.0, 64.0], [32.0, 0.0]]);
    }
    pipeline.stop();
}

#[test]
fn frames_without_objects_and_in_any_format_pass() {
    for format in ["NV12", "GRAY8", "v210"] {
        run(&format!(
            "videotestsrc num-buffers=2 ! video/x-raw,format={format} ! zonecount zones={ZONES} ! fakesink"
        ))
        .succeeds();
    }
}

#[test]
fn without_zones_a_warning_says_that_nothing_is_counted_until_they_come() {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=10 ! {FRAMES} ! identity name=scene ! tracker ! zonecount name=count zones=none ! fakesink name=out"
    ));
    // They come with the fourth frame, in the yard before anybody is.
    let count = pipeline.element("count");
    play(&pipeline, move |frame| {
        if frame == 3 {
            count.set_property("zones", ZONES);
        }
        walker(frame)
    });
    let seen = pipeline.collect("out");
    pipeline.play();
    let report = pipeline.wait().succeeds();
    assert_eq!(report.warnings, ["count: there are no zones, so nothing is counted until some are set"]);
    let states = reported(&seen);
    let zones: Vec<usize> = states.iter().map(|(zones, _)| zones.len()).collect();
    assert_eq!(zones, [0, 0, 0, 2, 2, 2, 2, 2, 2, 2]);
    let left = states.iter().flat_map(|(_, events)| events).filter(|event| event.zone == "yard").count();
    assert!(left >= 1, "{states:?}");
    assert_eq!(number(&counts(&pipeline)[1], "left"), 1);
}
