//! What the overlay changes, and what it leaves.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, filled, model, push, until};
use gstcudainfer::meta::object::{Object, TrackingParam};

const SIDE: usize = 256;
/// The detector's red box, x 8..24 and y 4..28 of 64x64, in a frame of SIDE pixels: left, top, right, bottom.
const BOX: [usize; 4] = [32, 16, 96, 112];

/// The first plane of a frame without and with the overlay.
fn planes(format: &str, settings: &str) -> (Vec<u8>, Vec<u8>) {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=3 pattern=red ! video/x-raw,format={format},width={SIDE},height={SIDE} \
         ! fusedpreproc ! trtinfer model={} ! gpunms ! tracker ! tee name=t \
         t. ! queue ! fakesink name=plain   t. ! queue ! inferoverlay {settings} ! fakesink name=drawn",
        model("detector")
    ));
    let [plain, drawn] = ["plain", "drawn"].map(|name| pipeline.collect(name));
    pipeline.play();
    pipeline.wait().succeeds();
    let bytes =
        |seen: &std::sync::Mutex<Vec<gst::Buffer>>| seen.lock().unwrap()[0].map_readable().unwrap().to_vec();
    (bytes(&plain), bytes(&drawn))
}

/// Pixels of the first plane that differ, where a pixel has `bytes` bytes.
fn changed(format: &str, bytes: usize, settings: &str) -> Vec<(usize, usize)> {
    let (plain, drawn) = planes(format, settings);
    let whole: Vec<_> = plain.chunks(bytes).zip(drawn.chunks(bytes)).map(|(a, b)| a != b).collect();
    let pixels = (0..SIDE * SIDE).filter(|i| whole[*i]);
    pixels.map(|i| (i % SIDE, i / SIDE)).collect()
}

#[test]
fn a_box_is_drawn_around_its_object_and_nowhere_else() {
    const THICKNESS: usize = 2;
    let plain = "labels=false confidences=false ids=false trail-length=0";
    for (format, bytes) in [("RGB", 3), ("BGR", 3), ("RGBA", 4), ("BGRx", 4), ("I420", 1), ("NV12", 1)] {
        let pixels = changed(format, bytes, &format!("{plain} thickness={THICKNESS}"));
        let [left, top, right, bottom] = BOX;
        for (x, y) in &pixels {
            let near = |at: usize, edge: usize| at.abs_diff(edge) <= THICKNESS;
            let inside = (left - THICKNESS..=right + THICKNESS).contains(x)
                && (top - THICKNESS..=bottom + THICKNESS).contains(y);
            let on_edge = near(*x, left) || near(*x, right) || near(*y, top) || near(*y, bottom);
            assert!(inside && on_edge, "{format}: pixel {x},{y} is not on the box");
        }
        // All four sides are there, each at least as long as the box without its corners.
        for (side, on) in [
            (bottom - top, pixels.iter().filter(|(x, _)| x.abs_diff(left) <= THICKNESS).count()),
            (bottom - top, pixels.iter().filter(|(x, _)| x.abs_diff(right) <= THICKNESS).count()),
            (right - left, pixels.iter().filter(|(_, y)| y.abs_diff(top) <= THICKNESS).count()),
            (right - left, pixels.iter().filter(|(_, y)| y.abs_diff(bottom) <= THICKNESS).count()),
        ] {
            assert!(on >= side, "{format}: a side of {side} has {on} pixels");
        }
    }
}

#[test]
fn a_label_is_written_at_the_box_and_nothing_far_from_it_changes() {
    let boxed = changed("RGB", 3, "labels=false confidences=false ids=false trail-length=0");
    let labelled = changed("RGB", 3, "trail-length=0 font=built-in");
    assert!(labelled.len() > boxed.len() + 100, "no label: {} and {} pixels", boxed.len(), labelled.len());
    let [left, top, _, bottom] = BOX;
    // "#1 red 100%" is about 100 pixels wide and 20 high at this height.
    for (x, y) in labelled {
        assert!((left - 4..left + 160).contains(&x) && y <= bottom + 4 && y + 30 >= top, "{x},{y}");
    }
}

#[test]
fn switched_off_it_changes_nothing() {
    let off = "boxes=false labels=false confidences=false ids=false trail-length=0";
    assert!(changed("RGB", 3, off).is_empty());
    assert!(changed("NV12", 1, off).is_empty());
}

#[test]
fn the_other_branch_of_a_tee_keeps_its_own_picture() {
    // `planes` takes the plain picture from beside the overlay; it is all red only if the overlay copied it first.
    let (plain, drawn) = planes("RGB", "");
    assert!(plain.chunks(3).all(|p| p == [255, 0, 0]));
    assert!(drawn.chunks(3).any(|p| p != [255, 0, 0]));
}

#[test]
fn arrows_and_the_heat_map_show_where_tracks_go_and_where_they_were() {
    const CAPS: &str = "video/x-raw,format=NV12,width=96,height=96,framerate=10/1";
    let drawn = |settings: &str| {
        let pipeline = TestPipeline::new(&format!(
            "appsrc name=in format=time caps={CAPS} ! inferoverlay boxes=false labels=false ids=false confidences=false \
             trail-length=0 thickness=1 {settings} ! fakesink name=out async=false sync=false"
        ));
        let seen = pipeline.collect("out");
        pipeline.play();
        // The frame with the object, and one 10 ms later without it.
        for n in 0..2 {
            let rect = Rect { x: 10.0, y: 10.0, w: 20.0, h: 40.0 };
            let velocity = [100.0, 0.0];
            let tracking = Some(TrackingParam {
                id: 1,
                state: "tracked".into(),
                rect,
                velocity,
                ..TrackingParam::default()
            });
            let mut frame = filled(96 * 144, 0, n);
            if n == 0 {
                let object = Object { label: "person".into(), tracking, ..Object::default() };
                object.put(frame.get_mut().unwrap(), &rect);
            }
            push(&pipeline.element("in"), frame);
            until("the frame", || seen.lock().unwrap().len() as u64 == n + 1);
        }
        pipeline.stop();
        let changed = |frame: &gst::Buffer| -> Vec<(usize, usize)> {
            let pixels = frame.map_readable().unwrap();
            (0..96 * 96).filter(|i| pixels[*i] != 0).map(|i| (i % 96, i / 96)).collect()
        };
        let seen = seen.lock().unwrap();
        [changed(&seen[0]), changed(&seen[1])]
    };
    // From the middle, 20, 30, as far as 100 pixels a second lead in 5 tenths of a second.
    let [arrow, after] = drawn("arrows=true arrow-frames=5");
    assert!((20..70).all(|x| arrow.iter().any(|at| at.0 == x)), "{arrow:?}");
    assert!(arrow.iter().all(|(x, y)| (19..=70).contains(x) && y.abs_diff(30) <= 4), "{arrow:?}");
    assert!(after.is_empty());
    // Around the feet, 20, 50; the map stays.
    let [heat, after] = drawn("heatmap=true");
    assert!(heat.contains(&(20, 50)) && heat.iter().all(|(x, y)| x.abs_diff(20) < 13 && y.abs_diff(50) < 8));
    assert_eq!(heat, after);
    let [others, _] = drawn("heatmap=true heatmap-classes=car");
    assert!(others.is_empty());
    assert_eq!(drawn("heatmap=true heatmap-classes=car,person")[0], heat);
}

#[test]
fn trails_of_streams_downstream_of_a_funnel_go_on_at_each_turn_and_do_not_mix() {
    const CAPS: &str = "video/x-raw,format=NV12,width=64,height=64,framerate=30/1";
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=a format=time caps={CAPS} ! funnel name=f ! inferoverlay boxes=false labels=false ids=false \
         confidences=false thickness=1 ! fakesink name=out async=false sync=false \
         appsrc name=b format=time caps={CAPS} ! f."
    ));
    let seen = pipeline.collect("out");
    pipeline.play();
    for n in 0..8u8 {
        // Number 1 walks to the right, in a above and in b below.
        let (name, y) = if n % 2 == 0 { ("a", 10.0) } else { ("b", 40.0) };
        let rect = Rect { x: 8.0 * f32::from(n / 2), y, w: 10.0, h: 10.0 };
        let tracking =
            Some(TrackingParam { id: 1, state: "tracked".into(), rect, ..TrackingParam::default() });
        let mut frame = filled(64 * 96, 0, u64::from(n));
        Object { tracking, ..Object::default() }.put(frame.get_mut().unwrap(), &rect);
        push(&pipeline.element(name), frame);
        until("the frame", || seen.lock().unwrap().len() == usize::from(n) + 1);
    }
    pipeline.stop();
    for (n, frame) in seen.lock().unwrap().iter().enumerate() {
        let pixels = frame.map_readable().unwrap();
        let drawn: Vec<_> = (0..64 * 64).filter(|i| pixels[*i] != 0).map(|i| (i % 64, i / 64)).collect();
        let foot = if n % 2 == 0 { 20 } else { 50 };
        assert!(drawn.iter().all(|(_, y)| y.abs_diff(foot) <= 2), "frame {n}: only its own stream's");
        let [first, last] = [5, 5 + 8 * (n / 2)];
        for x in first..last {
            assert!(
                drawn.iter().any(|at| at.0 == x),
                "frame {n}: the trail has a gap at {x} of {first} to {last}"
            );
        }
    }
}

#[test]
fn what_is_not_worth_seeing_is_not_drawn_and_still_hidden() {
    let changes = |settings: &str| changed("RGB", 3, &format!("font=built-in {settings}")).len();
    let all = changes("");
    assert!(all > 0);
    // The detector is sure of its box.
    assert_eq!(
        [changes("min-confidence=0.9"), changes("classes=red,blue"), changes("classes=blue")],
        [all, all, 0]
    );
    let (plain, drawn) = planes("RGB", "min-confidence=1 classes=blue");
    assert!(drawn == plain);
    let (plain, hidden) = planes("RGB", "min-confidence=1 classes=blue blur=red blur-mode=fill");
    assert!(hidden != plain, "blur hides what is not drawn");
}
