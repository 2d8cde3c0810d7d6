//! What the overlay changes, and what it leaves.

use cudainfer_tests::{Line, model};
use gst::prelude::*;

const SIDE: usize = 256;
/// The detector's red box, x 8..24 and y 4..28 of 64x64, in a frame of SIDE pixels: left, top, right, bottom.
const BOX: [usize; 4] = [32, 16, 96, 112];

/// The first plane of a frame without and with the overlay.
fn planes(format: &str, settings: &str) -> (Vec<u8>, Vec<u8>) {
    let line = Line::new(&format!(
        "videotestsrc num-buffers=3 pattern=red ! video/x-raw,format={format},width={SIDE},height={SIDE} \
         ! fusedpreproc ! trtinfer model={} ! gpunms ! tracker ! tee name=t \
         t. ! queue ! fakesink name=plain   t. ! queue ! inferoverlay {settings} ! fakesink name=drawn",
        model("detector")
    ));
    let [plain, drawn] = ["plain", "drawn"].map(|name| line.collect(name));
    line.pipeline.set_state(gst::State::Playing).unwrap();
    line.wait().succeeds();
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
    let labelled = changed("RGB", 3, "trail-length=0");
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
