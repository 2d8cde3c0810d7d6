//! Models that see earlier frames of a stream besides the current one: in inputs of their own, or in the channels of one.

use std::path::{Path, PathBuf};

use cudainfer_tests::stream::{NEVER, brightness};
use cudainfer_tests::{model, openvino_library, run, scratch, until};

use super::recurrent::{Counted, values};

/// How bright the picture is that is always the same.
const BACKGROUND: f32 = 0.5;

/// The models, and which frames each sees, in the order of its output.
const MODELS: [(&str, &[u64]); 5] = [
    ("earlier-input", &[0, 1]),
    ("earlier-inputs", &[0, 1, 3]),
    ("earlier-stack", &[2, 1, 0]),
    ("earlier-stack-fixed-batch", &[0, 3]),
    ("earlier-stack-last", &[1, 0]),
];

/// Whether a frame has seen the frames that are that far before it, the first of which is `first`.
fn assert_seen(frame: &gst::Buffer, model_name: &str, ago: &[u64], first: u64) {
    let number = frame.pts().unwrap().mseconds() / 10;
    let seen = values(frame, "seen");
    let of = |ago: &u64| f32::from(brightness(number.saturating_sub(*ago).max(first))) / 255.0;
    let wanted: Vec<f32> = match model_name {
        // Each channel has its own mean.
        "earlier-stack" | "earlier-stack-fixed-batch" => ago.iter().flat_map(|ago| [of(ago); 3]).collect(),
        "earlier-stack-last" => ago.iter().map(of).collect(),
        _ => ago.iter().map(of).chain([BACKGROUND]).collect(),
    };
    // Gray of equal colours is rounded to a whole pixel value.
    let close = seen.iter().zip(&wanted).all(|(seen, wanted)| (seen - wanted).abs() < 1.01 / 255.0);
    assert!(seen.len() == wanted.len() && close, "{model_name}, frame {number}: {seen:?}, not {wanted:?}");
}

/// Pushes frames, and compares what each has seen.
fn check(model_name: &str, ago: &[u64], properties: &str) {
    let counted = Counted::new(model_name, properties);
    counted.push(10..50);
    counted.stream.end();
    let out = counted.out.lock().unwrap();
    assert_eq!(out.len(), 40, "{model_name} {properties}");
    out.iter().for_each(|frame| assert_seen(frame, model_name, ago, 10));
    assert_eq!(counted.stream.said(), Vec::<String>::new());
}

#[test]
fn each_frame_sees_those_before_it_whatever_workers_and_batches_are() {
    for (model_name, ago) in MODELS {
        let batches = if model_name.ends_with("fixed-batch") { "" } else { "batch-size=4" };
        for properties in ["workers=1", "workers=4 max-in-flight=16", batches, "workers=3 max-in-flight=16"] {
            check(model_name, ago, &format!("{batches} {properties}"));
        }
    }
}

#[test]
fn openvino_sees_what_onnx_runtime_does() {
    let Some(library) = openvino_library() else { return };
    for (model_name, ago) in MODELS {
        check(model_name, ago, &format!("provider=openvino openvino={} workers=2", library.display()));
    }
}

#[test]
fn streams_that_share_a_model_see_their_own_frames_and_fill_batches_together() {
    let properties = format!("instance=earlier batch-size=3 batch-timeout={NEVER} workers=2");
    let streams = [(); 3].map(|()| Counted::new("earlier-stack", &properties));
    std::thread::scope(|scope| {
        for (index, counted) in (0..).zip(&streams) {
            scope.spawn(move || {
                counted.push(100 * index..100 * index + 30);
                counted.stream.end();
            });
        }
    });
    for (index, counted) in (0..).zip(&streams) {
        let out = counted.out.lock().unwrap();
        assert_eq!(out.len(), 30);
        out.iter().for_each(|frame| assert_seen(frame, "earlier-stack", &[2, 1, 0], 100 * index));
    }
}

#[test]
fn after_a_flush_and_with_another_model_frames_before_are_not_seen() {
    let counted = Counted::new("earlier-input", "workers=2");
    let newest = |count: usize, first: u64| {
        counted.stream.wait_for(count);
        assert_seen(counted.out.lock().unwrap().last().unwrap(), "earlier-input", &[0, 1], first);
    };
    counted.push(3..6);
    newest(3, 3);
    counted.stream.flush();
    counted.push([8]);
    newest(4, 8);
    counted.push([9]);
    newest(5, 8);
    counted.stream.set_model("earlier-inputs");
    let mut number = 10;
    until("the new model", || {
        counted.push([number]);
        number += 1;
        counted.out.lock().unwrap().last().is_some_and(|frame| values(frame, "seen").len() == 4)
    });
    counted.stream.end();
    let out = counted.out.lock().unwrap();
    let new = out.iter().position(|frame| values(frame, "seen").len() == 4).unwrap();
    let first = out[new].pts().unwrap().mseconds() / 10;
    out[new..].iter().for_each(|frame| assert_seen(frame, "earlier-inputs", &[0, 1, 3], first));
}

#[test]
fn a_frame_that_is_dropped_is_seen_by_those_after_it() {
    let counted = Counted::new("earlier-input", "leaky=upstream max-in-flight=2");
    let mut held = counted.stream.hold("infer");
    counted.push(0..30);
    held.wait();
    held.release();
    until("frames get through", || {
        counted.push([30]);
        counted.stream.frames().iter().any(|frame| frame.number == 30)
    });
    counted.stream.end();
    assert!(counted.stream.count("dropped") > 0);
    for frame in counted.out.lock().unwrap().iter().filter(|frame| frame.pts().unwrap().mseconds() < 300) {
        assert_seen(frame, "earlier-input", &[0, 1], 0);
    }
}

/// A copy of a test model with this sidecar.
fn with_sidecar(name: &str, sidecar: &str) -> PathBuf {
    let folder = scratch("earlier");
    let file = folder.join("model.onnx");
    std::fs::copy(model(name), &file).unwrap();
    std::fs::copy(Path::new(&model(name)).with_file_name("background.npy"), folder.join("background.npy"))
        .unwrap();
    std::fs::write(folder.join("model.toml"), sidecar).unwrap();
    file
}

#[test]
fn what_does_not_fit_the_model_is_refused_in_a_sentence() {
    let constant = "[constants]\nbackground = { file = \"background.npy\" }\n";
    let with = |frames: &str| format!("[input]\nname = \"images\"\n{constant}[frames]\n{frames}");
    for (name, sidecar, parts) in [
        ("earlier-input", with("image1 = 1"), &["frames.image1 is 1", "write -1"][..]),
        (
            "earlier-input",
            with("image7 = -1"),
            &["the input 'image7'", "images, image1, background", "Correct the name"],
        ),
        (
            "two-images",
            "[frames]\nmorre = -1".into(),
            &["[frames] of the sidecar names 'morre', which is none of them", "Correct the name"],
        ),
        ("earlier-input", with("images = -1"), &["'images' a picture", "takes the current frame"]),
        ("earlier-input", with("background = -1"), &["'background' a picture", "has a value in [constants]"]),
        (
            "earlier-input",
            with("image1 = -1\nstack = [-1, 0]"),
            &["no dimension that can be its channels", "[frames] stack"],
        ),
        ("earlier-input", with(""), &["second input, image1", "[frames], as image1 = -1"]),
        (
            "earlier-stack",
            "[frames]\nstack = [-1, 0]".into(),
            &["1 or 3 for each of the 2 frames of [frames] stack"],
        ),
        ("earlier-stack", String::new(), &["9 channels", "as many for each frame of [frames] stack"]),
        (
            "recurrent",
            "[frames]\ncount_in = -1".into(),
            &["count_in:float32:?x1 a picture", "count_in:float32:?x3x8x8", "same type and dimensions"],
        ),
    ] {
        let file = with_sidecar(name, &sidecar);
        run(&format!(
            "videotestsrc num-buffers=2 ! fusedpreproc ! trtinfer device=cpu model={} ! fakesink",
            file.display()
        ))
        .fails_with(parts);
    }
}

#[test]
fn it_is_said_which_frames_a_model_sees() {
    let mut said = Vec::new();
    cudainfer_tests::TestPipeline::start(&format!(
        "videotestsrc num-buffers=3 ! fusedpreproc ! trtinfer device=cpu model={} ! fakesink",
        model("earlier-inputs")
    ))
    .each_message(|message| {
        if let gst::MessageView::Info(info) = message.view() {
            said.push(info.error().to_string());
        }
    });
    assert!(said.iter().any(|text| text.contains("-3 in 'far'; -1 in 'near'")), "{said:?}");
}
