//! Labels in any script: what inferoverlay's `font` changes, and what it does without.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{Report, TestPipeline, end, filled, push};
use gstcudainfer::meta::object::{DetectionParam, Object};

const WIDTH: usize = 320;
const HEIGHT: usize = 240;
const DEJAVU: &str = "font=/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf";

/// The luma values that changed, of a frame for each label, and the messages of the pipeline.
fn drawn(settings: &str, labels: &[&str]) -> (Vec<Vec<u8>>, Report) {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=NV12,width={WIDTH},height={HEIGHT},framerate=30/1 \
         ! inferoverlay name=view boxes=false confidences=false {settings} ! fakesink name=out async=false sync=false"
    ));
    let seen = pipeline.collect("out");
    pipeline.play();
    for (n, label) in (0..).zip(labels) {
        let rect = Rect { x: 20.0, y: 100.0, w: 80.0, h: 80.0 };
        let detection = Some(DetectionParam { rect, confidence: 1.0, label_id: 1 });
        let mut frame = filled(WIDTH * HEIGHT * 3 / 2, 0, n);
        let object = Object { label: (*label).to_owned(), detection, ..Object::default() };
        object.put(frame.get_mut().unwrap(), &rect);
        push(&pipeline.element("in"), frame);
    }
    end(&pipeline.element("in"));
    let report = pipeline.wait().succeeds();
    let luma = |frame: &gst::Buffer| frame.map_readable().unwrap()[..WIDTH * HEIGHT].to_vec();
    let frames = seen.lock().unwrap().iter().map(luma).collect();
    (frames, report)
}

/// How many values there are besides that of the empty frame.
fn shades(luma: &[u8]) -> usize {
    let mut values: Vec<_> = luma.iter().filter(|v| **v != 0).collect();
    values.sort();
    values.dedup();
    values.len()
}

#[test]
fn built_in_letters_can_be_asked_for_and_only_what_they_lack_is_in_a_font() {
    let (frames, report) = drawn("font=built-in", &["person", "行人", "व्यक्ति", "شخص", "??", "Straße"]);
    assert_eq!(report.warnings, Vec::<String>::new());
    // The background and the letters; a font's letters have edges.
    assert_eq!([0, 4, 5].map(|i| shades(&frames[i])), [2, 2, 2]);
    for i in [1, 2, 3] {
        assert!(shades(&frames[i]) > 4, "frame {i}");
    }
    // 13 pixels: a label of 18 to 22 rows, which ends at the box's upper edge.
    for (i, frame) in frames.iter().enumerate() {
        let rows: Vec<_> =
            (0..HEIGHT).filter(|y| frame[y * WIDTH..][..WIDTH].iter().any(|v| *v != 0)).collect();
        assert_eq!(rows.last(), Some(&99), "frame {i}");
        assert!((15..=22).contains(&rows.len()), "frame {i}: {}", rows.len());
    }
}

#[test]
fn text_is_in_a_font_of_the_system_unless_something_else_is_asked_for() {
    let text = ["person", "Straße", "人"];
    let (frames, report) = drawn("", &text);
    assert_eq!(report.warnings, Vec::<String>::new());
    assert!(frames.iter().all(|frame| shades(frame) > 4), "the edges of its letters are soft");
    // What fontconfig calls "sans" is one of the system's fonts, too; another one has other letters.
    let (sans, _) = drawn("font=sans", &text);
    let (mono, _) = drawn("font=monospace", &text);
    assert!(frames == sans && frames[0] != mono[0]);
}

#[test]
fn a_font_is_for_all_text_and_grows_with_text_scale() {
    let area = |luma: &[u8]| luma.iter().filter(|v| **v != 0).count();
    let (frames, _) = drawn(DEJAVU, &["person"]);
    let (large, _) = drawn(&format!("{DEJAVU} text-scale=2"), &["person"]);
    assert!(shades(&frames[0]) > 4);
    let ratio = area(&large[0]) as f64 / area(&frames[0]) as f64;
    assert!((3.4..4.6).contains(&ratio), "twice as wide and high: {ratio}");
    let (family, _) = drawn("font=\"DejaVu Sans\"", &["person"]);
    assert!(family == frames, "the same font by its name");
}

#[test]
fn a_character_that_no_font_has_is_warned_of_once() {
    let (frames, report) = drawn("", &["a\u{10fffd}", "b\u{10fffd}\u{10fffe}c", "a\u{10fffd}"]);
    let [first, second] = &report.warnings[..] else { panic!("{report:?}") };
    for (warning, code) in [(first, "U+10FFFD"), (second, "U+10FFFE")] {
        assert!(warning.starts_with("view: no font has") && warning.contains(code), "{warning}");
        assert!(warning.contains("drawn as boxes. Install a font"), "{warning}");
    }
    assert!(!second.contains("10FFFD"), "{second}");
    assert!(frames[0] == frames[2]);
}

#[test]
fn texts_that_are_odd_are_drawn_or_not_and_stop_nothing() {
    let long = "شخص ".repeat(3000);
    let tower = format!("o{}", "\u{301}".repeat(500));
    let odd = ["", " ", "\n", "人\n人", "\u{202e}人", "\u{200d}\u{fe0f}", "😀", &long, &tower, "\u{feff}ก็็็็็"];
    for settings in ["", DEJAVU, "text-scale=16", "font=built-in"] {
        let (frames, _) = drawn(settings, &odd);
        assert_eq!(frames.len(), odd.len());
        assert!(shades(&frames[0]) == 0, "nothing to write");
        assert!(shades(&frames[8]) > 4, "as much of it as there is room");
    }
}
