//! Text: lines that classify reads from whole frames and from objects' regions, and gpunms' boxes around them.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, end, model, push, scratch};
use gst::prelude::*;
use gstcudainfer::meta::object::{DetectionParam, Object, objects};

const GRAY: [u8; 3] = [128; 3];

/// A colour by its letter.
fn colour(letter: char) -> [u8; 3] {
    match letter {
        'R' => [255, 0, 0],
        'G' => [0, 255, 0],
        'B' => [0, 0, 255],
        ' ' => [255; 3],
        _ => GRAY,
    }
}

/// A frame of this size, black but for what `pixel` gives.
fn frame(
    [width, height]: [usize; 2],
    objects: &[Object],
    pixel: impl Fn(f64, f64) -> Option<[u8; 3]>,
) -> gst::Buffer {
    let place = |i: usize| ((i % width) as f64 + 0.5, (i / width) as f64 + 0.5);
    let pixels = (0..width * height).map(place).flat_map(|(x, y)| pixel(x, y).unwrap_or([0; 3]));
    cudainfer_tests::init();
    let mut buffer = gst::Buffer::from_mut_slice(pixels.collect::<Vec<u8>>());
    let writable = buffer.get_mut().unwrap();
    writable.set_pts(gst::ClockTime::ZERO);
    objects.iter().for_each(|object| object.put(writable, &Rect::default()));
    buffer
}

/// Stripes 16 pixels wide, one of each letter.
fn stripes(letters: &'static str) -> impl Fn(f64, f64) -> Option<[u8; 3]> {
    move |x, _| letters.chars().nth((x / 16.0) as usize).map(colour)
}

fn pipeline_of([width, height]: [usize; 2], elements: &str) -> TestPipeline {
    TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width={width},height={height},framerate=10/1 \
         ! {elements} ! fakesink name=out"
    ))
}

/// The objects of the frame that comes out.
fn run(size: [usize; 2], elements: &str, frame: gst::Buffer) -> Vec<Object> {
    let pipeline = pipeline_of(size, elements);
    let out = pipeline.collect("out");
    pipeline.play();
    push(&pipeline.element("in"), frame);
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    pipeline.stop();
    let out = out.lock().unwrap();
    objects(&out[0])
}

/// The error of `elements` after frames of a line.
fn refused(elements: &str, parts: &[&str]) {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=2 ! video/x-raw,format=RGB,width=320,height=48 ! {elements} ! fakesink"
    ));
    let _ = pipeline.set_state(gst::State::Playing);
    pipeline.wait().fails_with(parts);
}

fn read(object: &Object) -> (&str, f64) {
    let read = &object.classifications[0];
    (&read.labels[0], read.confidence[0])
}

const LINE: [usize; 2] = [320, 48];

/// The softmax's share of a logit of 8 beside these.
fn share(others: &[f64]) -> f64 {
    8f64.exp() / (8f64.exp() + others.iter().copied().map(f64::exp).sum::<f64>())
}

#[test]
fn a_line_is_read_by_the_characters_that_the_models_file_names_or_its_sidecar() {
    // A colour has the logits 2, 8, -4, -4, -8, and white 2, 0, 0, 0, 8: four letters and a space are kept.
    let confidence = (4.0 * share(&[2.0, -4.0, -4.0, -8.0]) + share(&[2.0, 0.0, 0.0, 0.0])) / 5.0;
    for name in ["reader", "reader-sidecar", "reader-steps-first"] {
        let elements = format!("fusedpreproc ! trtinfer model={} ! classify", model(name));
        let found = run(LINE, &elements, frame(LINE, &[], stripes("-RR-RG BB--")));
        let [whole] = &found[..] else { panic!("{found:?}") };
        let (text, got) = read(whole);
        assert_eq!((text, whole.label.as_str()), ("RRG B", "RRG B"), "{name}");
        // Float32 exponentials, and resizing by a factor of 1.
        assert!((got - confidence).abs() < 1e-4, "{got}, not {confidence}");
    }
}

#[test]
fn nothing_is_put_where_nothing_is_read_or_it_is_not_sure_enough() {
    let elements = |properties: &str| {
        format!("fusedpreproc ! trtinfer model={} ! classify {properties}", model("reader"))
    };
    assert!(run(LINE, &elements(""), frame(LINE, &[], stripes("--"))).is_empty());
    assert_eq!(run(LINE, &elements("threshold=0.9"), frame(LINE, &[], stripes("R"))).len(), 1);
    assert!(run(LINE, &elements("threshold=0.9999"), frame(LINE, &[], stripes("R"))).is_empty());
}

#[test]
fn each_object_is_given_the_text_of_its_region_whatever_the_batch() {
    // The upper line is half as wide as the model, the lower one fills it.
    let letters = |x: f64, y: f64| {
        if y < 48.0 { stripes("R-GB")(x, y) } else { stripes("B-B-B-B-B-B-B-B-B-B-")(x, y) }
    };
    let object = |id: i32, [x, y, w, h]: [f32; 4]| {
        let detection = Some(DetectionParam { rect: Rect { x, y, w, h }, confidence: 0.5, label_id: 0 });
        Object { id, label: "plate".into(), detection, ..Object::default() }
    };
    let plates = [object(0, [0.0, 0.0, 160.0, 48.0]), object(1, [0.0, 48.0, 320.0, 48.0])];
    for batch in [1, 2, 8] {
        let elements = format!(
            "fusedpreproc roi=objects ! trtinfer model={} batch-size={batch} ! classify",
            model("reader")
        );
        let found = run([320, 96], &elements, frame([320, 96], &plates, letters));
        let texts: Vec<_> = found.iter().map(|object| read(object).0).collect();
        assert_eq!(texts, ["RGB", "BBBBBBBBBB"], "{batch}");
        assert!(found.iter().all(|object| object.label == "plate"));
    }
}

#[test]
fn a_dictionary_that_does_not_fit_is_refused_with_the_numbers_that_would() {
    let elements =
        |name: &str, more: &str| format!("fusedpreproc ! trtinfer model={} {more} ! classify", model(name));
    let few = ["there are 2 labels, but 'text' has scores of 5 characters", "has 3 lines"];
    refused(&elements("reader-few", ""), &few);
    refused(&elements("reader-unnamed", ""), &["nobody says which", "labels=FILE"]);
    // The property overrides the file.
    let file = scratch("dictionary").join("letters.txt");
    std::fs::write(&file, "x\ny\nz\n").unwrap();
    let elements = elements("reader", &format!("labels={}", file.display()));
    assert_eq!(read(&run(LINE, &elements, frame(LINE, &[], stripes("R-B G")))[0]).0, "xz y");
}

#[test]
fn scores_of_steps_without_the_mode_and_the_mode_without_steps_are_refused() {
    let elements = |name: &str, mode: &str| {
        format!("fusedpreproc ! trtinfer model={} ! classify mode={mode}", model(name))
    };
    refused(&elements("reader", "classes"), &["are no scores of classes", "set mode=text"]);
    refused(&elements("colours", "text"), &["are no scores of characters", "[1,T,C]"]);
}

const SCENE: [usize; 2] = [320, 192];

/// A line of letters 16 pixels wide and 24 high about this centre, along an axis.
fn tilted(
    letters: &'static str,
    [cx, cy]: [f64; 2],
    [ax, ay]: [f64; 2],
) -> impl Fn(f64, f64) -> Option<[u8; 3]> {
    move |x, y| {
        let (dx, dy) = (x - cx, y - cy);
        let (u, v) = (dx * ax + dy * ay, dy * ax - dx * ay);
        let place = u / 16.0 + letters.len() as f64 / 2.0;
        let letter = letters.chars().nth(place as usize).filter(|_| place >= 0.0 && v.abs() < 12.0);
        letter.map(colour)
    }
}

#[test]
fn boxes_around_text_are_level_with_it() {
    let elements = |properties: &str| {
        format!("fusedpreproc ! trtinfer model={} ! gpunms {properties}", model("text-map"))
    };
    // Its sides from centre to centre of cells are up to one pixel shorter than what is painted, 128 x 24.
    for ([ax, ay], wanted) in [([1.0, 0.0], 0.0), ([0.96, 0.28], 0.283_794), ([0.8, -0.6], -0.643_501)] {
        for (ratio, more) in [(0.0, 0.0), (1.5, 15.2)] {
            let found = run(
                SCENE,
                &elements(&format!("unclip-ratio={ratio}")),
                frame(SCENE, &[], tilted("R G B RG", [160.0, 96.0], [ax, ay])),
            );
            let [pipeline] = &found[..] else { panic!("{found:?}") };
            let Rect { x, y, w, h } = pipeline.detection.as_ref().unwrap().rect;
            assert_eq!(pipeline.label, "text");
            // A pixel's width, which becomes 0.8 on each side when the box is widened.
            let near = |got: f32, wanted: f32, most: f32| {
                assert!((got - wanted).abs() <= most, "{got}, not {wanted}")
            };
            near(x + w / 2.0, 160.0, 1.0);
            near(y + h / 2.0, 96.0, 1.0);
            near(w, 127.0 + 2.0 * more, 2.5);
            near(h, 23.0 + 2.0 * more, 2.5);
            near(pipeline.angle, wanted, 0.02);
        }
    }
    // The map is 1 or 0.5: half of this line's pixels are gray.
    let gray = || frame(SCENE, &[], tilted("R-R-R-R-", [160.0, 96.0], [1.0, 0.0]));
    assert_eq!(run(SCENE, &elements(""), gray()).len(), 1);
    assert!(run(SCENE, &elements("confidence=0.8"), gray()).is_empty(), "0.75 on average");
    assert_eq!(run(SCENE, &elements("map-threshold=0.6"), gray()).len(), 4, "gray parts the letters");
}

#[test]
fn what_a_detector_of_text_finds_is_read_upright_by_a_second_model() {
    let elements = format!(
        "fusedpreproc ! trtinfer model={} ! gpunms unclip-ratio=0.4 ! fusedpreproc roi=objects roi-padding=1 \
         ! trtinfer model={} batch-size=2 ! classify",
        model("text-map"),
        model("reader")
    );
    for axis in [[1.0, 0.0], [0.96, 0.28], [0.96, -0.28], [0.8, -0.6], [0.0, 1.0]] {
        let found = run(SCENE, &elements, frame(SCENE, &[], tilted("R-G-B-RG", [160.0, 96.0], axis)));
        let texts: Vec<_> = found.iter().map(|object| read(object).0).collect();
        assert_eq!(texts, ["RGBRG"], "{axis:?}");
        assert!(found[0].detection.is_some() && found[0].label == "text");
    }
}

#[test]
fn a_map_of_text_is_read_only_where_it_is_asked_for() {
    let elements = |properties: &str| {
        format!("fusedpreproc ! trtinfer model={} ! gpunms {properties}", model("text-map-unnamed"))
    };
    refused(&elements(""), &["looks like masks or confidence maps", "decoder=db"]);
    refused(&elements("decoder=yolov8 map-threshold=0.5"), &["decoder"]);
    let seen = frame(SCENE, &[], tilted("RGB", [160.0, 96.0], [1.0, 0.0]));
    assert_eq!(run(SCENE, &elements("decoder=db"), seen).len(), 1);
}

#[test]
fn slots_and_sequences_keep_repetitions_and_a_blank_may_be_the_last_symbol_of_a_layout_with_the_steps_last() {
    for (name, wanted) in [("slots", "ABC112"), ("sequence", "ABC112"), ("lprnet", "AAB1"), ("row", "ABC112")]
    {
        let path = model(&format!("plate-{name}"));
        let elements = format!("fusedpreproc ! trtinfer model={path} ! classify");
        let objects = run(LINE, &elements, frame(LINE, &[], stripes("R")));
        let (text, confidence) = read(&objects[0]);
        assert_eq!(text, wanted, "{name}");
        assert!((confidence - share(&[0.0; 5])).abs() < 1e-6, "{name}: {confidence}");
    }
}

#[test]
fn symbols_that_a_mode_needs_and_those_that_it_has_no_use_for_are_named() {
    let slots = model("plate-slots");
    let of = |properties: &str| format!("fusedpreproc ! trtinfer model={slots} ! classify {properties}");
    refused(
        &of("mode=sequence"),
        &["pad in [classify]", "applies to mode=slots alone, but mode is sequence"],
    );
    let path = scratch("plates").join("plate.onnx");
    std::fs::copy(&slots, &path).unwrap();
    for (sidecar, parts) in [
        ("mode = \"slots\"", ["which symbol stands for no character", "pad = 36"]),
        ("mode = \"sequence\"", ["which symbol ends the line", "eos = 0"]),
        ("mode = \"slots\"\npad = 6", ["has 6 characters", "none has the number 6"]),
    ] {
        let labels = "[output]\nlabels = [\"A\", \"B\", \"C\", \"1\", \"2\"]\n[classify]\n";
        std::fs::write(path.with_extension("toml"), format!("{labels}{sidecar}\n")).unwrap();
        let elements = format!("fusedpreproc ! trtinfer model={} ! classify", path.display());
        refused(&elements, &parts);
    }
    std::fs::copy(model("plate-row"), &path).unwrap();
    for (labels, parts) in [
        ("", ["where labels say how many characters there are", "x54'"]),
        (
            "labels = [\"A\", \"B\", \"C\", \"1\", \"2\", \"3\", \"4\"]",
            ["no whole number of steps of 8", "correct the labels"],
        ),
    ] {
        let sidecar = format!("[output]\n{labels}\n[classify]\nmode = \"slots\"\npad = 5\n");
        std::fs::write(path.with_extension("toml"), sidecar).unwrap();
        refused(&format!("fusedpreproc ! trtinfer model={} ! classify", path.display()), &parts);
    }
}
