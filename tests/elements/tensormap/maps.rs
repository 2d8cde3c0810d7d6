//! Maps of numbers of whole pipelines, through models whose maps are the picture's colours.

use std::sync::{Arc, Mutex};

use cudainfer_kernels::preproc::Layout;
use cudainfer_tests::{TestPipeline, buffers, end, filled, model, push, until};
use gst::prelude::*;
use gstcudainfer::meta::map::{Map, maps};
use gstcudainfer::meta::object::objects;

/// The left half red, the right half blue: 24x16.
const HALVES: &str = "compositor name=mix background=black sink_1::xpos=12 ! video/x-raw,format=RGB,width=24,height=16 \
     ! identity name=mixed videotestsrc num-buffers=4 pattern=red ! video/x-raw,format=RGB,width=12,height=16 ! mix.sink_0 \
     videotestsrc num-buffers=4 pattern=blue ! video/x-raw,format=RGB,width=12,height=16 ! mix.sink_1  mixed.";

/// Red, 48x48: in a letterbox of 24x16 it has a third of the size, with bars of 4 columns on both sides.
const SQUARE: &str = "videotestsrc num-buffers=2 pattern=red ! video/x-raw,format=RGB,width=48,height=48";

fn bytes(buffer: &gst::BufferRef) -> Vec<u8> {
    buffer.map_readable().unwrap().to_vec()
}

/// GRAY16 samples of a frame without padding.
fn samples(buffer: &gst::BufferRef) -> Vec<u16> {
    bytes(buffer).chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect()
}

fn numbers(map: &Map) -> Vec<f32> {
    bytes(&map.data).chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn only(buffer: &gst::BufferRef) -> Map {
    let mut found = maps(buffer);
    assert_eq!(found.len(), 1);
    found.remove(0)
}

/// The frames after `tensormap PROPERTIES name=map`, their caps, the warnings, and the element's `stats`.
struct Ran {
    frames: Vec<gst::Buffer>,
    caps: gst::Caps,
    warnings: Vec<String>,
    stats: gst::Structure,
    reading: String,
}

fn run(source: &str, name: &str, properties: &str) -> Ran {
    let pipeline = TestPipeline::new(&format!(
        "{source} ! fusedpreproc ! trtinfer model={} ! tensormap name=map {properties} ! fakesink name=out",
        model(name)
    ));
    let seen = pipeline.collect("out");
    pipeline.play();
    let warnings = pipeline.wait().succeeds().warnings;
    let map = pipeline.element("map");
    let caps = map.static_pad("src").unwrap().current_caps().unwrap();
    let (stats, reading) = (map.property("stats"), map.property("reading"));
    pipeline.stop();
    let frames = std::mem::take(&mut *seen.lock().unwrap());
    Ran { frames, caps, warnings, stats, reading }
}

fn size(caps: &gst::Caps) -> (String, [i32; 2]) {
    let s = caps.structure(0).unwrap();
    (s.get("format").unwrap(), [s.get("width").unwrap(), s.get("height").unwrap()])
}

#[test]
fn a_map_can_be_read_as_a_custom_meta_and_the_video_stays() {
    let ran = run(HALVES, "map-depth", "");
    assert_eq!(ran.frames.len(), 4);
    assert_eq!(size(&ran.caps), ("RGB".to_owned(), [24, 16]));
    assert_eq!(ran.reading, "map 'depth' of 24x16 float32, 24x16");
    for frame in &ran.frames {
        assert_eq!(bytes(frame)[..3], [255, 0, 0], "the frame is as it was");
        let meta = gst::meta::CustomMeta::from_buffer(frame, "GstCudaInferMapMeta").unwrap();
        let all = meta.structure().get::<gst::ArrayRef>("maps").unwrap();
        assert_eq!(all.len(), 1);
        let map = all[0].get::<gst::Structure>().unwrap();
        assert_eq!((map.get::<&str>("name"), map.get::<&str>("type")), (Ok("depth"), Ok("float32")));
        assert_eq!((map.get("width"), map.get("height")), (Ok(24), Ok(16)));
        let place = ["x", "y", "w", "h"].map(|field| map.get::<f64>(field).unwrap());
        assert_eq!(place, [0.0, 0.0, 24.0, 16.0]);
        // Half of it is 10, half is 0, to the last bits of float32.
        for (field, wanted) in [("min", 0.0), ("mean", 5.0), ("max", 10.0)] {
            assert!((map.get::<f64>(field).unwrap() - wanted).abs() < 1e-5, "{field}: {map}");
        }
        assert_eq!(map.get("non-finite"), Ok(0u64));
        assert!(["score", "range-min", "range-max"].iter().all(|field| !map.has_field(*field)));
        let numbers = numbers(&only(frame));
        assert_eq!(numbers.len(), 24 * 16);
        for (i, number) in numbers.iter().enumerate() {
            let wanted = if i % 24 < 12 { 10.0 } else { 0.0 };
            assert!((number - wanted).abs() < 1e-5, "{i}: {number}");
        }
    }
}

#[test]
fn a_letterboxs_bars_are_neither_in_the_numbers_nor_in_the_video() {
    // The bars are gray: 114 of 255, which would be 4.47.
    for (properties, wanted) in [
        ("", [48, 48]),
        ("output=gray16 range-min=0 range-max=10", [48, 48]),
        ("output=gray16 size=model range-min=0 range-max=10", [16, 16]),
    ] {
        let ran = run(SQUARE, "map-bare", properties);
        let (format, got) = size(&ran.caps);
        assert_eq!(got, wanted, "{properties}");
        let frame = &ran.frames[0];
        let map = only(frame);
        let [min, mean, max] = map.min_mean_max.unwrap();
        assert!([min, mean, max].iter().all(|v| (v - 10.0).abs() < 1e-5), "{properties}: {map:?}");
        // All of the map is there, and its place on the frame says where the bars are.
        let rect = if wanted == [16, 16] { (-4.0, 0.0, 24.0, 16.0) } else { (-12.0, 0.0, 72.0, 48.0) };
        assert_eq!((map.rect.x, map.rect.y, map.rect.w, map.rect.h), rect, "{properties}");
        assert!((numbers(&map)[0] - 1140.0 / 255.0).abs() < 1e-4);
        if properties.is_empty() {
            assert_eq!(format, "RGB");
            continue;
        }
        assert_eq!(format, "GRAY16_LE");
        let count = usize::try_from(wanted[0] * wanted[1]).unwrap();
        assert_eq!(samples(frame), vec![65535; count], "{properties}");
        assert_eq!(ran.caps.structure(0).unwrap().get("pixel-aspect-ratio"), Ok(gst::Fraction::new(1, 1)));
    }
}

#[test]
fn gray16_is_a_documented_range_of_numbers() {
    for (name, properties, ends, range) in [
        ("map-depth", "", [65535, 0], [0.0, 10.0]),
        // (10 + 10) / 20 and (0 + 10) / 20, which is 32767.5.
        ("map-depth", "range-min=-10", [65535, 32768], [-10.0, 10.0]),
        ("map-depth", "range-max=40", [16384, 0], [0.0, 40.0]),
        ("map-depth", "range=frame", [65535, 0], [0.0, 10.0]),
        ("map-half", "", [65535, 0], [0.0, 10.0]),
        ("map-last", "range-min=0 range-max=20", [32768, 0], [0.0, 20.0]),
    ] {
        let ran = run(HALVES, name, &format!("output=gray16 {properties}"));
        assert_eq!(size(&ran.caps), ("GRAY16_LE".to_owned(), [24, 16]));
        for frame in &ran.frames {
            let wanted: Vec<u16> = (0..24 * 16).map(|i| ends[usize::from(i % 24 >= 12)]).collect();
            assert_eq!(samples(frame), wanted, "{name} {properties}");
            let said = only(frame).range.unwrap();
            assert!(
                said.iter().zip(range).all(|(a, b)| (a - b).abs() < 1e-5),
                "{name} {properties}: {said:?}"
            );
        }
        assert_eq!(ran.stats.get("out-of-range"), Ok(0u64), "{name} {properties}");
    }
    let ran = run(HALVES, "map-depth", "output=gray16");
    assert_eq!(ran.reading, "map 'depth' of 24x16 float32, range 0 to 10 from the sidecar, 24x16");
    let ran = run(HALVES, "map-half", "output=gray16 range-min=0 range-max=10");
    assert_eq!(ran.reading, "map 'depth' of 24x16 float16, range 0 to 10 from a property, 24x16");
}

#[test]
fn values_beyond_the_range_are_counted_and_warned_about_once() {
    for (name, properties, most, count) in [
        ("map-depth", "output=gray16 range-max=5", "65535", 4 * 12 * 16u64),
        // Red is 1.5 where it should be 1, and so is blue on the other side.
        ("picture-bright", "output=rgb", "255", 4 * 24 * 16),
    ] {
        let ran = run(HALVES, name, properties);
        assert_eq!(ran.stats.get("out-of-range"), Ok(count), "{name}");
        let warnings: Vec<_> =
            ran.warnings.iter().filter(|warning| warning.contains("out-of-range")).collect();
        let [warning] = warnings[..] else { panic!("{name}: {warnings:?}") };
        let part = format!("{} of the values in", count / 4);
        assert!(
            warning.starts_with("map: ") && warning.contains(&part) && warning.contains(most),
            "{warning}"
        );
        let frame = bytes(&ran.frames[3]);
        assert_eq!(frame[..2], if name == "map-depth" { [255, 255] } else { [255, 0] }, "{name}");
    }
    // A map that does not become video has no range.
    let ran = run(HALVES, "map-depth", "");
    assert_eq!(ran.stats.get("out-of-range"), Ok(0u64));
}

#[test]
fn nan_and_infinity_are_counted_warned_about_once_and_black() {
    let ran = run(HALVES, "map-not-finite", "output=gray16 range=frame");
    assert_eq!((ran.stats.get("non-finite"), ran.stats.get("maps")), (Ok(12u64), Ok(4u64)));
    assert_eq!(ran.warnings.iter().filter(|warning| warning.contains("NaN or infinity")).count(), 1);
    for frame in &ran.frames {
        let map = only(frame);
        assert_eq!((map.non_finite, map.range), (3, Some([-2.0, 2.0])));
        for (i, sample) in samples(frame).iter().enumerate() {
            let bad = [2 * 24 + 3, 5 * 24 + 7, 9 * 24 + 1].contains(&i);
            // From -2 to 2 in 383 steps, in float32.
            let wanted = if bad { 0.0 } else { i as f64 / 383.0 * 65535.0 };
            assert!((f64::from(*sample) - wanted).abs() <= 0.52, "{i}: {sample}");
        }
    }
}

#[test]
fn an_anomaly_detectors_map_and_score_are_found_among_its_outputs() {
    // The mean of the colours is a third everywhere.
    let sigmoid = 1.0 / (1.0 + (-1.0f64 / 3.0).exp());
    for properties in ["", "tensor=anomaly_map score=pred_score", "output=gray16"] {
        let ran = run(HALVES, "map-anomaly", properties);
        for frame in &ran.frames {
            let map = only(frame);
            assert_eq!(map.name, "anomaly_map");
            assert!((map.score.unwrap() - sigmoid).abs() < 1e-6, "{map:?}");
            let [min, _, max] = map.min_mean_max.unwrap();
            assert!((min - sigmoid).abs() < 1e-6 && (max - sigmoid).abs() < 1e-6);
        }
        assert!(ran.reading.contains(", score 'pred_score'"), "{}", ran.reading);
        if properties == "output=gray16" {
            let assumed = ", range 0 to 1, assumed from the Sigmoid at the model's end,";
            assert!(ran.reading.contains(assumed), "{}", ran.reading);
            let wanted = sigmoid * 65535.0;
            assert!(samples(&ran.frames[0]).iter().all(|v| (f64::from(*v) - wanted).abs() <= 0.52));
        }
    }
    // Of a batch, each frame has its own.
    let frames = buffers(&format!(
        "{HALVES} ! fusedpreproc ! trtinfer batch-size=4 model={} ! tensormap ! fakesink name=out",
        model("map-anomaly")
    ));
    assert_eq!(frames.len(), 4);
    assert!(frames.iter().all(|frame| numbers(&only(frame)).len() == 24 * 16));
}

#[test]
fn pictures_become_rgb_of_the_networks_size() {
    let halves = |width: usize, height: usize| -> Vec<u8> {
        let pixel = |i: usize| if i % width < width / 2 { [255, 0, 0] } else { [0, 0, 255] };
        (0..width * height).flat_map(pixel).collect()
    };
    let square = |side: usize| [255, 0, 0].repeat(side * side);
    for (source, name, properties, wanted, pixels) in [
        (HALVES, "picture-twice", "", [48, 32], halves(48, 32)),
        (HALVES, "picture-twice", "size=frame", [24, 16], halves(24, 16)),
        // Without the letterbox's bars.
        (SQUARE, "picture-twice", "", [32, 32], square(32)),
        (SQUARE, "picture-twice", "size=frame", [48, 48], square(48)),
        // As the input, blue comes first.
        (HALVES, "picture-bytes", "", [24, 16], halves(24, 16)),
        (HALVES, "identity-f32-nhwc", "range-min=0 range-max=1", [24, 16], halves(24, 16)),
        // Twice the value, less one: black becomes -1.
        (
            HALVES,
            "identity-f32-nchw",
            "std=<2.0> mean=<-1.0> range-min=-1 range-max=1",
            [24, 16],
            halves(24, 16),
        ),
    ] {
        let ran = run(source, name, &format!("output=rgb {properties}"));
        assert_eq!(size(&ran.caps), ("RGB".to_owned(), wanted), "{name} {properties}");
        for frame in &ran.frames {
            assert!(bytes(frame) == pixels, "{name} {properties}: {:?}", &bytes(frame)[..12]);
            assert!(maps(frame).is_empty());
        }
        assert_eq!(ran.stats.get("out-of-range"), Ok(0u64), "{name} {properties}");
    }
    let ran = run(HALVES, "picture-bytes", "output=rgb");
    let assumed = "picture 'picture' of 24x16 uint8, range 0 to 255, assumed from the type uint8, 24x16";
    assert_eq!(ran.reading, assumed);
    // Stretched, 48x48 pixels are shown by 24x16, so that each is half as high.
    let ran = run(SQUARE, "picture-bright", "output=rgb");
    assert_eq!(size(&ran.caps).1, [24, 16]);
    assert_eq!(ran.caps.structure(0).unwrap().get("pixel-aspect-ratio"), Ok(gst::Fraction::new(2, 3)));
}

#[test]
fn objects_stay_on_frames_of_the_same_size_only() {
    for (properties, count) in [("", 1), ("output=gray16", 1), ("output=gray16 size=model", 0)] {
        let frames = buffers(&format!(
            "videotestsrc num-buffers=2 pattern=red ! fusedpreproc ! trtinfer model={} ! gpunms ! fusedpreproc \
             ! trtinfer model={} ! tensormap {properties} ! fakesink name=out",
            model("detector"),
            model("map-depth")
        ));
        assert_eq!(frames.len(), 2);
        for frame in &frames {
            assert_eq!(objects(frame).len(), count, "{properties}");
            assert_eq!(maps(frame).len(), 1);
            assert!(frame.pts().is_some() && frame.duration().is_some());
        }
    }
}

#[test]
fn a_pipeline_with_maps_starts_and_stops_many_times_from_every_state() {
    for (name, properties) in
        [("map-depth", ""), ("map-depth", "output=gray16"), ("picture-twice", "output=rgb")]
    {
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc ! video/x-raw,format=RGB,width=64,height=48 ! fusedpreproc ! trtinfer model={} \
             ! tensormap {properties} ! fakesink",
            model(name)
        ));
        for round in 0..18 {
            let up = [gst::State::Ready, gst::State::Paused, gst::State::Playing][round % 3];
            pipeline.reach(up);
            pipeline.reach([gst::State::Null, gst::State::Ready][round % 2]);
        }
    }
}

#[test]
fn another_model_may_change_the_size_of_the_video_and_one_without_a_picture_is_refused() {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width=24,height=16,framerate=100/1 ! fusedpreproc \
         ! trtinfer name=infer model={} ! tensormap name=map output=rgb ! fakesink name=out sync=false async=false",
        model("picture-bright")
    ));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let all = Arc::clone(&seen);
    pipeline.watch("out", move |buffer, caps| {
        let width = caps.structure(0).unwrap().get::<i32>("width").unwrap();
        all.lock().unwrap().push((width, buffer.size()));
    });
    pipeline.play();
    let (small, large) = ((24, 24 * 16 * 3), (48, 48 * 32 * 3));
    let mut number = 0;
    let mut push_until = |what: &str, done: &dyn Fn() -> bool| {
        until(what, || {
            push(&pipeline.element("in"), filled(24 * 16 * 3, 100, number));
            number += 1;
            done()
        });
    };
    push_until("a frame", &|| seen.lock().unwrap().last() == Some(&small));
    pipeline.element("infer").set_property("model", model("picture-twice"));
    push_until("larger frames", &|| seen.lock().unwrap().last() == Some(&large));
    pipeline.element("infer").set_property("model", model("map-depth"));
    let bus = pipeline.bus().unwrap();
    push_until("a warning", &|| {
        let warnings = std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Warning]));
        warnings.into_iter().any(|message| {
            let gst::MessageView::Warning(warning) = message.view() else { unreachable!() };
            let text = warning.error().to_string();
            text.contains("map: ") && text.contains("make video with output=gray16")
        })
    });
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.last(), Some(&large));
    assert!(seen.iter().all(|frame| [small, large].contains(frame)), "{seen:?}");
}

#[test]
fn the_sum_of_a_density_counts_the_networks_cells_that_lie_in_the_frame() {
    // 12x8 cells of a half each: all of them in a frame of the network's shape; without four columns of bars in a square one.
    for (source, sum) in [(HALVES, 48.0), (SQUARE, 32.0)] {
        for properties in ["", "counts=cars", "output=gray16 range-min=0 range-max=1"] {
            let ran = run(source, "map-density", properties);
            let counts = if properties == "counts=cars" { "cars" } else { "people" };
            assert!(ran.reading.contains(&format!("the sum counts {counts}")), "{}", ran.reading);
            for frame in &ran.frames {
                let map = only(frame);
                assert_eq!((map.sum, map.counts.as_deref()), (Some(sum), Some(counts)), "{properties}");
            }
        }
    }
    assert_eq!(only(&run(HALVES, "map-depth", "").frames[0]).counts, None);
}

#[test]
fn inferoverlay_writes_what_is_counted_and_inferpublish_has_it() {
    let path = cudainfer_tests::scratch("counts").join("counts.jsonl");
    let pipeline = |elements: &str| {
        format!(
            "videotestsrc num-buffers=1 pattern=black ! video/x-raw,format=RGB,width=240,height=160 ! fusedpreproc ! trtinfer \
             model={} ! tensormap ! {elements} ! fakesink name=out",
            model("map-density")
        )
    };
    let drawn = |elements: &str| bytes(&buffers(&pipeline(elements))[0]);
    let plain = drawn("inferoverlay labels=false");
    let written = drawn(&format!("inferpublish location={} ! inferoverlay font=built-in", path.display()));
    let differs: Vec<_> =
        (0..plain.len() / 3).filter(|i| plain[3 * i..][..3] != written[3 * i..][..3]).collect();
    assert!(!differs.is_empty());
    assert!(differs.iter().all(|i| i % 240 < 120 && i / 240 < 40), "the text is in the upper left corner");
    let record = crate::lines(&path).remove(0);
    assert_eq!(crate::violations(&record), Vec::<String>::new());
    assert_eq!((&record["maps"][0]["sum"], &record["maps"][0]["counts"]), (&48.0.into(), &"people".into()));
}

#[test]
fn vectors_keep_their_numbers_and_their_colours_are_those_of_the_wheel() {
    let flow = only(&run(HALVES, "map-flow", "").frames[0]);
    assert_eq!((flow.channels, flow.layout, flow.sum), (2, Layout::Nchw, None));
    let values = numbers(&flow);
    assert_eq!((values.len(), values[0], values[24 * 16]), (2 * 24 * 16, -4.0, 0.0));
    assert_eq!((values[23], values[24 * 16 + 23]), (0.0, -4.0));
    for (properties, left, up) in [
        ("", [0, 209, 255], [88, 0, 255]),
        // Half as far from white.
        ("range-max=8", [127, 232, 255], [171, 127, 255]),
        ("range-max=8 range=frame", [0, 209, 255], [88, 0, 255]),
        ("range-max=4 size=frame", [0, 209, 255], [88, 0, 255]),
    ] {
        let ran = run(HALVES, "map-flow", &format!("output=rgb {properties}"));
        assert_eq!(size(&ran.caps), ("RGB".to_owned(), [24, 16]));
        let frame = &ran.frames[0];
        let near = |at: usize, wanted: [u8; 3]| {
            let got = &bytes(frame)[3 * at..][..3];
            // A rounding error of float64 may give the neighbour of a value.
            assert!(
                got.iter().zip(wanted).all(|(got, wanted)| got.abs_diff(wanted) <= 1),
                "{properties}: {got:?}"
            );
        };
        near(0, left);
        near(23, up);
        assert_eq!(only(frame).channels, 2, "the numbers are there as well");
        assert!(ran.warnings.iter().all(|warning| !warning.contains("vectors")), "{:?}", ran.warnings);
    }
    let ran = run(HALVES, "map-flow", "output=rgb range-max=2");
    assert_eq!(ran.stats.get("out-of-range"), Ok(4u64 * 24 * 16));
    let warning = "384 of the vectors in 'flow' are longer than 2";
    assert!(ran.warnings.iter().any(|posted| posted.contains(warning)), "{:?}", ran.warnings);
}

#[test]
fn normals_are_numbers_and_a_picture_of_the_same_inference() {
    let ran = run(HALVES, "map-normals", "! tensormap output=rgb size=frame");
    let frame = &ran.frames[0];
    let normals = only(frame);
    assert_eq!((normals.channels, normals.layout), (3, Layout::Nhwc));
    assert_eq!(numbers(&normals)[..3], [1.0, -1.0, -1.0]);
    // (n + 1) / 2.
    assert_eq!(bytes(frame)[..3], [255, 0, 0]);
    assert_eq!(bytes(frame)[3 * 23..][..3], [0, 0, 255]);
}
