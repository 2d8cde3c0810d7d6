//! max-tracks in whole pipelines: a known number of individuals, whose identities stay.

use std::sync::{Arc, Mutex};

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, end, push, until};
use gst::prelude::*;
use gstcudainfer::meta::object::{DetectionParam, KeypointsParam, Object, objects};

const CAPS: &str = "video/x-raw,format=GRAY8,width=64,height=64,framerate=100/1";
const ALGORITHMS: [&str; 6] = ["auto", "sort", "bytetrack", "ocsort", "botsort", "cbiou"];

/// What is found of an animal at a place.
type Animal = fn(f32) -> Object;

/// An animal as a box.
fn boxed(x: f32, confidence: f32) -> Object {
    let rect = Rect { x, y: 4.0, w: 20.0, h: 20.0 };
    let detection = Some(DetectionParam { rect, confidence, label_id: 0 });
    Object { detection, ..Object::default() }
}

/// An animal as peakfind finds it from a centre: a box of no size, a nose and a tail.
fn pose(x: f64, confidence: f32) -> Object {
    let rect = Rect { x: x as f32 + 10.0, y: 14.0, w: 0.0, h: 0.0 };
    let keypoints = KeypointsParam {
        names: vec!["nose".into(), "tail".into()],
        x: vec![x, x + 20.0],
        y: vec![4.0, 24.0],
        score: vec![0.9; 2],
        ..KeypointsParam::default()
    };
    let detection = Some(DetectionParam { rect, confidence, label_id: 0 });
    Object { keypoints: Some(keypoints), detection, ..Object::default() }
}

fn frame(number: u64, objects: &[Object]) -> gst::Buffer {
    cudainfer_tests::init();
    let mut buffer = gst::Buffer::from_mut_slice(vec![0u8; 64 * 64]);
    let writable = buffer.get_mut().unwrap();
    writable.set_pts(gst::ClockTime::from_mseconds(10 * number));
    objects.iter().for_each(|object| object.put(writable, &Rect::default()));
    buffer
}

fn ids(buffer: &gst::Buffer) -> Vec<u64> {
    objects(buffer).iter().map(|object| object.tracking.as_ref().map_or(0, |track| track.id)).collect()
}

/// A running `tracker` with these properties, and what leaves it.
struct Running {
    pipeline: TestPipeline,
    out: Arc<Mutex<Vec<gst::Buffer>>>,
    pushed: usize,
}

impl Running {
    fn new(properties: &str) -> Self {
        let pipeline = TestPipeline::new(&format!(
            "appsrc name=in format=time caps={CAPS} ! tracker name=tracker {properties} \
             ! fakesink name=out async=false sync=false"
        ));
        let out = pipeline.collect("out");
        pipeline.play();
        Self { pipeline, out, pushed: 0 }
    }

    /// One more frame; the ids of its objects.
    fn show(&mut self, objects: &[Object]) -> Vec<u64> {
        push(&self.pipeline.element("in"), frame(self.pushed as u64, objects));
        self.pushed += 1;
        until("the frame", || self.out.lock().unwrap().len() == self.pushed);
        ids(self.out.lock().unwrap().last().unwrap())
    }

    fn stat(&self, name: &str) -> u64 {
        let stats = self.pipeline.element("tracker").property::<gst::Structure>("stats");
        stats.get::<u64>(name).unwrap()
    }

    fn finish(self) {
        end(&self.pipeline.element("in"));
        self.pipeline.wait().succeeds();
    }
}

#[test]
fn boxes_and_poses_that_come_back_after_a_long_time_are_who_they_were() {
    let animals: [(&str, Animal); 3] = [
        ("", |x| boxed(x, 0.9)),
        ("similarity=oks", |x| pose(f64::from(x), 0.9)),
        ("similarity=keypoint-boxes", |x| pose(f64::from(x), 0.9)),
    ];
    for algorithm in ALGORITHMS {
        for (similarity, animal) in animals {
            let what = format!("{algorithm} {similarity}");
            let mut running = Running::new(&format!("algorithm={algorithm} {similarity} max-tracks=2"));
            for _ in 0..8 {
                assert_eq!(running.show(&[animal(0.0), animal(200.0)]), [1, 2], "{what}");
            }
            for _ in 0..150 {
                running.show(&[]);
            }
            assert_eq!(running.show(&[animal(230.0), animal(40.0)]), [2, 1], "{what}");
            running.finish();
        }
    }
}

#[test]
fn the_weakest_of_more_than_there_are_stay_on_the_frame_without_identity_and_are_counted() {
    for algorithm in ALGORITHMS {
        let mut running = Running::new(&format!("algorithm={algorithm} max-tracks=2"));
        let three = [boxed(0.0, 0.8), boxed(100.0, 0.95), boxed(200.0, 0.9)];
        for _ in 0..5 {
            assert_eq!(running.show(&three), [0, 1, 2], "{algorithm}");
        }
        assert_eq!(running.show(&three[1..]), [1, 2], "{algorithm}");
        assert_eq!((running.stat("above-max-tracks"), running.stat("untracked")), (5, 5), "{algorithm}");
        running.finish();
    }
}

#[test]
fn without_a_limit_identities_go_on_and_nothing_is_above_it() {
    let mut running = Running::new("algorithm=sort");
    for _ in 0..5 {
        assert_eq!(running.show(&[boxed(0.0, 0.9)]), [1]);
    }
    for _ in 0..20 {
        running.show(&[]);
    }
    let last = (0..5).map(|_| running.show(&[boxed(10.0, 0.9)])[0]).last();
    assert_eq!((last, running.stat("above-max-tracks")), (Some(2), 0));
    running.finish();
}

#[test]
fn a_flush_and_a_new_start_forget_the_animals_and_give_the_same_identities_again() {
    let mut running = Running::new("max-tracks=2");
    let source = running.pipeline.element("in");
    for _ in 0..8 {
        assert_eq!(running.show(&[boxed(0.0, 0.9), boxed(200.0, 0.9)]), [1, 2]);
    }
    assert!(source.send_event(gst::event::FlushStart::new()));
    assert!(source.send_event(gst::event::FlushStop::new(true)));
    for _ in 0..8 {
        assert_eq!(running.show(&[boxed(200.0, 0.9), boxed(0.0, 0.9)]), [1, 2], "who is there is not known");
    }
    let sink = running.pipeline.element("tracker").static_pad("sink").unwrap();
    assert!(sink.send_event(gst::event::StreamStart::new(&sink.stream_id().unwrap())));
    assert_eq!(running.show(&[boxed(0.0, 0.9), boxed(200.0, 0.9)]), [1, 2]);
    running.finish();
}

#[test]
fn a_lost_individual_is_published_where_asked_for_as_long_as_it_is_lost() {
    let mut running = Running::new("max-tracks=1 publish-lost=true");
    for _ in 0..8 {
        running.show(&[boxed(7.0, 0.9)]);
    }
    for _ in 0..100 {
        assert_eq!(running.show(&[]), [1]);
    }
    let last = running.out.lock().unwrap().last().unwrap().clone();
    let track = objects(&last)[0].tracking.clone().unwrap();
    assert_eq!((track.state.as_str(), track.hits, track.age), ("lost", 8, 107));
    assert!((track.rect.x - 7.0).abs() < 1e-3, "{:?}", track.rect);
    running.finish();
}
