//! `appearance=auto`: objects are distinguished by their colours where these differ.

use std::sync::{Arc, Mutex};

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, end, push, until};
use gstcudainfer::meta::object::{DetectionParam, Object, objects};

const WIDTH: usize = 160;
const HEIGHT: usize = 48;
const FRAMES: u16 = 400;
const RED: [u8; 3] = [200, 20, 20];
const BLUE: [u8; 3] = [20, 20, 200];

/// A box of 16 x 24, whose middle is at x.
fn box_at(x: f32) -> Rect {
    Rect { x: x - 8.0, y: 12.0, w: 16.0, h: 24.0 }
}

/// Two on a grey ground with some noise, of these colours, whose boxes overlap. Every fifty frames they pass each other, which takes no longer
/// than a frame: by where they are expected, they have stayed.
fn passing(frame: u16, colours: [[u8; 3]; 2]) -> gst::Buffer {
    let aside = if (frame / 50).is_multiple_of(2) { -6.0 } else { 6.0 };
    let boxes = [box_at(80.0 + aside), box_at(80.0 - aside)];
    let mut pixels = Vec::with_capacity(3 * WIDTH * HEIGHT);
    for (y, x) in (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| (y, x))) {
        // The body is half as wide as its box.
        let inside = |r: &Rect| {
            (r.x + 4.0..r.right() - 4.0).contains(&(x as f32)) && (r.y..r.bottom()).contains(&(y as f32))
        };
        let of = boxes.iter().position(inside).map_or([90; 3], |object| colours[object]);
        let noise = u8::try_from((x * 31 + y * 17 + usize::from(frame) * 7) % 23).unwrap();
        pixels.extend(of.map(|value| value.saturating_add(noise)));
    }
    let mut buffer = gst::Buffer::from_mut_slice(pixels);
    let writable = buffer.get_mut().unwrap();
    writable.set_pts(gst::ClockTime::from_mseconds(10 * u64::from(frame)));
    for (rect, id) in boxes.into_iter().zip(0..) {
        let detection = Some(DetectionParam { rect, confidence: 0.9, label_id: 7 });
        Object { id, label: "person".into(), detection, ..Object::default() }.put(writable, &Rect::default());
    }
    buffer
}

/// The identities in each frame, and what the element `name` has logged of appearance.
fn followed(name: &str, properties: &str, colours: [[u8; 3]; 2]) -> (Vec<Vec<u64>>, Vec<String>) {
    cudainfer_tests::init();
    gst::log::set_threshold_for_name("tracker", gst::DebugLevel::Info);
    let said = Arc::new(Mutex::new(Vec::new()));
    let (to, of) = (Arc::clone(&said), name.to_owned());
    let log = gst::log::add_log_function(move |_, _, _, _, _, object, message| {
        let text = message.get().map_or(String::new(), |text| text.to_string());
        if text.starts_with("appearance") && object.is_some_and(|object| object.to_string().contains(&of)) {
            to.lock().unwrap().push(text);
        }
    });
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width={WIDTH},height={HEIGHT},framerate=100/1 \
         ! tracker name={name} momentum=0 {properties} ! fakesink name=out async=false sync=false"
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    for frame in 0..FRAMES {
        push(&pipeline.element("in"), passing(frame, colours));
        until("the frame", || out.lock().unwrap().len() > usize::from(frame));
    }
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    gst::log::remove_log_function(log);
    let of_object = |object: &Object| object.tracking.as_ref().map_or(0, |track| track.id);
    let ids =
        out.lock().unwrap().iter().map(|buffer| objects(buffer).iter().map(of_object).collect()).collect();
    let said = said.lock().unwrap().clone();
    (ids, said)
}

#[test]
fn colours_that_differ_switch_histograms_on_and_those_who_pass_keep_their_identities() {
    let (ids, said) = followed("colourful", "appearance=auto", [RED, BLUE]);
    let [one] = &said[..] else { panic!("{said:?}") };
    assert!(one.starts_with("appearance counts from now on: neighbours differ by 0."), "{one}");
    assert!(ids[220..].iter().all(|now| *now == ids[220]), "{:?}", &ids[220..]);
    assert_eq!(followed("default", "", [RED, BLUE]), (ids, said), "it is the default of algorithm=auto");
    let (ids, said) = followed("blind", "appearance=none", [RED, BLUE]);
    assert_ne!(ids[220], ids[270], "by where they are expected, they have stayed");
    assert_eq!(said, [] as [&str; 0]);
}

#[test]
fn colours_that_are_alike_leave_histograms_off() {
    let (ids, said) = followed("uniform", "appearance=auto", [RED, RED]);
    assert_eq!(said, [] as [&str; 0]);
    assert_eq!(ids, followed("unseeing", "appearance=none", [RED, RED]).0);
}

#[test]
fn frames_whose_pixels_cannot_be_read_are_tracked_without() {
    cudainfer_tests::init();
    let pipeline = TestPipeline::new(
        "appsrc name=in format=time caps=video/x-raw,format=GRAY16_LE,width=160,height=48,framerate=100/1 \
         ! tracker appearance=auto ! fakesink name=out async=false sync=false",
    );
    let out = pipeline.collect("out");
    pipeline.play();
    for frame in 0..20u16 {
        let mut buffer = passing(frame, [RED, BLUE]);
        buffer.make_mut().set_size(2 * WIDTH * HEIGHT);
        push(&pipeline.element("in"), buffer);
    }
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    assert!(
        out.lock().unwrap().iter().all(|buffer| objects(buffer).iter().all(|one| one.tracking.is_some()))
    );
}
