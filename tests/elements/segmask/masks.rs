//! Masks of whole pipelines, through models whose logits are the picture's colours.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::validator::play;
use cudainfer_tests::{TestPipeline, buffers, model, push, run, scratch, until};
use gst::prelude::*;
use gstcudainfer::meta::mask::{MaskKind, masks};
use gstcudainfer::meta::object::objects;

use crate::plugin::pipeline_files::{is_watchable, launch};

/// The left half red, the right half blue: 24x16.
const HALVES: &str = "compositor name=mix background=black sink_1::xpos=12 ! video/x-raw,format=RGB,width=24,height=16 \
     ! identity name=mixed videotestsrc num-buffers=4 pattern=red ! video/x-raw,format=RGB,width=12,height=16 ! mix.sink_0 \
     videotestsrc num-buffers=4 pattern=blue ! video/x-raw,format=RGB,width=12,height=16 ! mix.sink_1  mixed.";

fn bytes(buffer: &gst::BufferRef) -> Vec<u8> {
    buffer.map_readable().unwrap().to_vec()
}

#[test]
fn masks_can_be_read_as_a_custom_meta_and_the_sidecar_names_the_classes() {
    let frames = buffers(&format!(
        "{HALVES} ! fusedpreproc ! trtinfer model={} ! segmask ! fakesink name=out",
        model("masks-colours")
    ));
    assert_eq!(frames.len(), 4);
    for frame in &frames {
        let meta = gst::meta::CustomMeta::from_buffer(frame, "GstCudaInferMaskMeta").unwrap();
        let all = meta.structure().get::<gst::ArrayRef>("masks").unwrap();
        assert_eq!(all.len(), 1);
        let mask = all[0].get::<gst::Structure>().unwrap();
        assert_eq!(mask.get::<&str>("kind"), Ok("classes"));
        assert_eq!((mask.get("width"), mask.get("height")), (Ok(24), Ok(16)));
        let place = ["x", "y", "w", "h"].map(|field| mask.get::<f64>(field).unwrap());
        assert_eq!(place, [0.0, 0.0, 24.0, 16.0]);
        let labels = mask.get::<gst::ArrayRef>("labels").unwrap();
        let labels: Vec<_> = labels.iter().map(|v| v.get::<String>().unwrap()).collect();
        assert_eq!(labels, ["red", "green", "blue"]);
        assert_eq!(mask.get("background"), Ok(-1));
        let wanted: Vec<u8> = (0..24 * 16).map(|i| if i % 24 < 12 { 0 } else { 2 }).collect();
        assert_eq!(bytes(&mask.get::<gst::Buffer>("data").unwrap()), wanted);
    }
}

#[test]
fn one_channel_is_compared_with_the_sidecars_threshold_and_named_after_its_label() {
    let frames = buffers(&format!(
        "{HALVES} ! fusedpreproc ! trtinfer model={} ! segmask ! fakesink name=out",
        model("mask-red")
    ));
    let mask = &masks(&frames[0])[0];
    let labels = vec!["background".to_owned(), "red".to_owned()];
    assert_eq!(mask.kind, MaskKind::Classes { labels, background: Some(0) });
    let wanted: Vec<u8> = (0..24 * 16).map(|i| u8::from(i % 24 < 12)).collect();
    assert_eq!(bytes(&mask.data), wanted);
}

#[test]
fn masks_lie_where_the_letterbox_had_the_frame() {
    let frames = buffers(&format!(
        "videotestsrc num-buffers=1 pattern=red ! video/x-raw,format=RGB,width=48,height=48 \
         ! fusedpreproc resize=letterbox ! trtinfer model={0} ! segmask ! tee name=t t. ! queue ! fakesink name=out \
         t. ! queue ! fakesink",
        model("masks-colours")
    ));
    // 48x48 in 24x16: a third of the size, with bars of 4 columns on both sides, which are 12 pixels of the frame.
    let rect = masks(&frames[0])[0].rect;
    assert_eq!((rect.x, rect.y, rect.w, rect.h), (-12.0, 0.0, 72.0, 48.0));
}

#[test]
fn the_sidecars_smoothing_holds_a_mask_and_a_new_stream_begins_without() {
    let pipeline_of = |sources: &str| {
        format!(
            "concat name=c ! fusedpreproc ! trtinfer model={} ! segmask ! fakesink name=out {sources}",
            model("masks-smooth")
        )
    };
    let source = |pattern: &str, count: u32| {
        format!(
            "videotestsrc num-buffers={count} pattern={pattern} ! video/x-raw,format=RGB,width=24,height=16 ! c. "
        )
    };
    let first = |frame: &gst::Buffer| bytes(&masks(frame)[0].data)[0];
    // Blue is class 2. After two red frames the state is 3/4 red; a blue one makes it 3/8 red and 1/2 blue.
    let frames = buffers(&pipeline_of(&(source("red", 2) + &source("blue", 1))));
    assert_eq!(frames.iter().map(first).collect::<Vec<_>>(), [0, 0, 2]);
    let frames = buffers(&pipeline_of(
        &(source("red", 3) + &source("green", 1) + &source("red", 1) + &source("green", 1)),
    ));
    assert_eq!(frames.iter().map(first).collect::<Vec<_>>(), [0, 0, 0, 1, 0, 1]);
}

#[test]
fn streams_downstream_of_a_funnel_are_smoothed_separately_and_go_on_at_each_turn() {
    const HEIGHT: usize = 16;
    let frame = |width: usize, rgb: [u8; 3], number: u64| {
        let mut buffer = gst::Buffer::from_mut_slice(rgb.repeat(width * HEIGHT));
        buffer.get_mut().unwrap().set_pts(gst::ClockTime::from_mseconds(10 * number));
        buffer
    };
    let (red, green, blue) = ([255, 0, 0], [0, 255, 0], [0, 0, 255]);
    // Streams of the same size, and of two sizes: then caps change at each turn.
    for width in [24, 48] {
        let caps = |width| format!("video/x-raw,format=RGB,width={width},height={HEIGHT},framerate=100/1");
        let pipeline = TestPipeline::new(&format!(
            "appsrc name=a format=time caps={} ! funnel name=f ! fusedpreproc ! trtinfer model={} ! segmask smoothing=0.75 \
             ! fakesink name=out async=false sync=false appsrc name=b format=time caps={} ! f.",
            caps(24),
            model("masks-smooth"),
            caps(width)
        ));
        let out = pipeline.collect("out");
        pipeline.play();
        for number in 0..5u64 {
            for (source, width, first) in [("a", 24, red), ("b", width, blue)] {
                let seen = out.lock().unwrap().len();
                push(
                    &pipeline.element(source),
                    frame(width, if number == 0 { first } else { green }, number),
                );
                until("the frame", || out.lock().unwrap().len() == seen + 1);
            }
        }
        let classes: Vec<_> =
            out.lock().unwrap().iter().map(|frame| bytes(&masks(frame)[0].data)[0]).collect();
        // The share of the first colour that is left: 1, 0.75, 0.56, 0.42, 0.32.
        assert_eq!(classes, [0, 2, 0, 2, 0, 2, 1, 1, 1, 1], "width {width}");
        pipeline.stop();
    }
}

#[test]
fn the_alpha_channel_composites_and_gray_is_video_of_its_own() {
    let pipeline = TestPipeline::new(&format!(
        "{HALVES} ! videoconvert ! fusedpreproc ! trtinfer model={0} ! segmask output=alpha ! tee name=t \
         t. ! queue ! fakesink name=alpha \
         t. ! queue ! compositor background=white ! video/x-raw,format=RGBA ! fakesink name=mixed-again",
        model("mask-red")
    ));
    let [alpha, mixed] = ["alpha", "mixed-again"].map(|name| pipeline.collect(name));
    pipeline.play();
    pipeline.wait().succeeds();
    let (alpha, mixed) = (bytes(&alpha.lock().unwrap()[0]), bytes(&mixed.lock().unwrap()[0]));
    for pixel in 0..24 * 16 {
        let left = pixel % 24 < 12;
        assert_eq!(alpha[4 * pixel + 3], if left { 255 } else { 0 }, "pixel {pixel}");
        assert_eq!(mixed[4 * pixel..][..3], if left { [255, 0, 0] } else { [255; 3] }, "pixel {pixel}");
    }
    let frames = buffers(&format!(
        "{HALVES} ! fusedpreproc ! trtinfer model={} ! segmask output=gray ! videoconvert ! video/x-raw,format=GRAY8 \
         ! fakesink name=out",
        model("mask-red")
    ));
    let wanted: Vec<u8> = (0..24 * 16).map(|i| if i % 24 < 12 { 255 } else { 0 }).collect();
    assert_eq!(bytes(&frames[0]), wanted);
}

/// Two pictures of [`HALVES`] beside each other: 48x16, red, blue, blue, red.
const STEREO: &str = "compositor name=mix background=black sink_1::xpos=12 sink_2::xpos=36 \
     ! video/x-raw,format=RGB,width=48,height=16,framerate=30/1 ! identity name=mixed \
     videotestsrc num-buffers=4 pattern=red ! video/x-raw,format=RGB,width=12,height=16 ! mix.sink_0 \
     videotestsrc num-buffers=4 pattern=blue ! video/x-raw,format=RGB,width=24,height=16 ! mix.sink_1 \
     videotestsrc num-buffers=4 pattern=red ! video/x-raw,format=RGB,width=12,height=16 ! mix.sink_2  mixed.";

#[test]
fn a_stereo_pair_is_two_regions_of_a_frame_whose_masks_lie_where_the_regions_do() {
    let eyes = "fusedpreproc roi=list regions=0,0,24,16;24,0,24,16";
    let is_red = |x: usize| !(12..36).contains(&x);
    let frames = buffers(&format!(
        "{STEREO} ! {eyes} ! trtinfer model={} ! segmask output=gray ! fakesink name=out",
        model("mask-red")
    ));
    assert_eq!(frames.len(), 4);
    let wanted: Vec<u8> = (0..48 * 16).map(|i| if is_red(i % 48) { 255 } else { 0 }).collect();
    frames.iter().for_each(|frame| assert_eq!(bytes(frame), wanted));
    let frames = buffers(&format!(
        "{STEREO} ! {eyes} ! trtinfer model={} ! segmask ! fakesink name=out",
        model("mask-red")
    ));
    let [left, right] = &masks(&frames[3])[..] else { panic!("{:?}", masks(&frames[3])) };
    for (mask, first) in [(left, 0), (right, 24)] {
        let rect = mask.rect;
        assert_eq!([rect.x, rect.y, rect.w, rect.h], [first as f32, 0.0, 24.0, 16.0]);
        let wanted: Vec<u8> = (0..24 * 16).map(|i| u8::from(is_red(first + i % 24))).collect();
        assert_eq!(bytes(&mask.data), wanted);
    }
}

#[test]
fn pixels_of_no_region_are_background_and_regions_are_smoothed_separately() {
    // One region sees red alone and the other blue alone.
    let frames = buffers(&format!(
        "{STEREO} ! fusedpreproc roi=list regions=2,0,8,16;24,4,8,8 ! trtinfer model={} ! segmask size=frame smoothing=0.75 \
         ! fakesink name=out",
        model("masks-smooth")
    ));
    let mask = &masks(&frames[3])[0];
    assert_eq!((mask.width, mask.height), (48, 16));
    // Red is class 0, as pixels of no region are; blue is class 2.
    let wanted: Vec<u8> = (0..48 * 16)
        .map(|i| if (24..32).contains(&(i % 48)) && (4..12).contains(&(i / 48)) { 2 } else { 0 })
        .collect();
    assert_eq!(bytes(&mask.data), wanted);
}

#[test]
fn masks_survive_the_elements_downstream_and_stand_beside_objects_of_another_model() {
    let frames = buffers(&format!(
        "videotestsrc num-buffers=2 pattern=red ! fusedpreproc ! trtinfer model={} ! segmask \
         ! fusedpreproc ! trtinfer model={} ! gpunms ! tracker ! inferoverlay ! cudainferupload ! cudainferdownload \
         ! inferpublish location=/dev/null ! fakesink name=out",
        model("masks-colours"),
        model("detector")
    ));
    for frame in &frames {
        assert_eq!(masks(frame).len(), 1);
        assert_eq!(gstcudainfer::meta::object::objects(frame).len(), 1);
    }
}

#[test]
fn a_pipeline_with_masks_starts_and_stops_many_times_from_every_state() {
    for output in ["meta", "gray"] {
        let pipeline = TestPipeline::new(&format!(
            "videotestsrc ! video/x-raw,format=RGB,width=64,height=48 ! fusedpreproc ! trtinfer model={} \
             ! segmask output={output} smoothing=0.5 closing=1 min-area=3 ! fakesink",
            model("masks-few-labels")
        ));
        for round in 0..30 {
            let up = [gst::State::Ready, gst::State::Paused, gst::State::Playing][round % 3];
            pipeline.reach(up);
            pipeline.reach([gst::State::Null, gst::State::Ready][round % 2]);
        }
    }
}

#[test]
fn segment_launch_paints_the_video_that_it_is_given() {
    let output = scratch("segment").join("out.mp4");
    let (video, output) = (crate::video(), output.display().to_string());
    play(&launch("segment", &[("video", &video), ("output", &output)]));
    is_watchable(output.as_ref());
}

#[test]
fn class_numbers_of_every_type_and_shape_are_masks() {
    // Red on the left, blue on the right.
    let pipeline_of = |name: &str, properties: &str| {
        buffers(&format!(
            "{HALVES} ! fusedpreproc ! trtinfer model={} ! segmask {properties} ! fakesink name=out",
            model(name)
        ))
    };
    for (name, right, names) in [
        ("class-map-int64", 2, &["red", "green", "blue"][..]),
        ("class-map-int32", 2, &["red", "green", "blue"]),
        ("class-map-uint8", 2, &["red", "green", "blue"]),
        ("class-map-flat", 2, &["red", "green", "blue"]),
        ("class-map-bool", 0, &["other", "red"]),
    ] {
        let left = u8::from(name == "class-map-bool");
        let wanted: Vec<u8> = (0..24 * 16).map(|i| if i % 24 < 12 { left } else { right }).collect();
        let frames = pipeline_of(name, "");
        assert_eq!(frames.len(), 4);
        for frame in &frames {
            let found = masks(frame);
            let [mask] = &found[..] else { panic!("{name}: {found:?}") };
            assert_eq!(bytes(&mask.data), wanted, "{name}");
            let MaskKind::Classes { labels, background } = &mask.kind else { panic!("{name}: {mask:?}") };
            assert_eq!(
                (labels.as_slice(), background),
                (&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>()[..], &None)
            );
        }
    }
}

#[test]
fn class_numbers_beyond_a_byte_are_counted_and_warned_about_once() {
    let pipeline = TestPipeline::new(&format!(
        "{HALVES} ! fusedpreproc ! trtinfer model={} ! segmask name=mask ! fakesink name=out",
        model("class-map-outside")
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    let report = pipeline.wait().succeeds();
    let stats = pipeline.element("mask").property::<gst::Structure>("stats");
    assert_eq!(stats.get::<u64>("out-of-range"), Ok(4 * 24 * 16));
    let warnings: Vec<_> =
        report.warnings.iter().filter(|warning| warning.contains("out-of-range")).collect();
    assert!(
        warnings.len() == 1 && warnings[0].contains("384 of the class numbers in 'classes'"),
        "{warnings:?}"
    );
    for frame in out.lock().unwrap().iter() {
        assert_eq!(bytes(&masks(frame)[0].data), vec![0; 24 * 16]);
    }
}

#[test]
fn class_numbers_have_no_scores_to_compare() {
    for (properties, part) in [
        ("mode=threshold", "set mode=argmax"),
        ("smoothing=0.5", "smoothing=0"),
        ("mode=soft", "not their scores"),
    ] {
        run(&format!(
            "{HALVES} ! fusedpreproc ! trtinfer model={} ! segmask {properties} ! fakesink",
            model("class-map-int64")
        ))
        .fails_with(&["'classes:int64:1x16x24' has the classes of cells", part]);
    }
}

#[test]
fn queries_with_classes_become_a_mask_of_classes() {
    for (name, properties) in [
        ("masks-of-queries", ""),
        ("masks-of-queries", "classes=class_queries_logits tensor=masks_queries_logits size=frame"),
    ] {
        let pipeline = |colour: &str| {
            format!(
                "videotestsrc num-buffers=2 pattern={colour} ! video/x-raw,format=RGB,width=48,height=32 ! fusedpreproc ! trtinfer \
                 model={} ! segmask {properties} ! fakesink name=out",
                model(name)
            )
        };
        for (colour, class) in [("red", 0), ("blue", 1)] {
            let frames = buffers(&pipeline(colour));
            assert_eq!(frames.len(), 2);
            for frame in frames {
                let [mask] = &masks(&frame)[..] else { panic!("one mask") };
                let labels = ["sky", "road"].map(str::to_owned).to_vec();
                assert_eq!(mask.kind, MaskKind::Classes { labels, background: None });
                let width = if properties.is_empty() { 24 } else { 48 };
                assert_eq!(mask.width, width);
                assert!(mask.data.map_readable().unwrap().iter().all(|byte| *byte == class), "{colour}");
            }
        }
    }
}

#[test]
fn queries_become_objects_with_masks_where_instances_are_asked_for() {
    let of = |properties: &str, name: &str| {
        buffers(&format!(
            "{HALVES} ! fusedpreproc ! trtinfer model={} ! segmask mode=instances {properties} ! fakesink name=out",
            model(name)
        ))
    };
    // Sky is red, the left half, road is blue. The softmax of 6, 0 and 0, times the sigmoid of 5.
    let score = 1.0 / (1.0 + 2.0 * (-6.0f32).exp()) / (1.0 + (-5.0f32).exp());
    for frame in of("", "masks-of-queries") {
        let (found, masks) = (objects(&frame), masks(&frame));
        let seen: Vec<_> =
            found.iter().map(|object| (object.label.as_str(), object.detection.clone().unwrap())).collect();
        assert_eq!((seen.len(), masks.len()), (2, 2), "{seen:?}");
        for (label, left) in [("sky", 0.0), ("road", 12.0)] {
            let (_, detection) = seen.iter().find(|(name, _)| *name == label).unwrap();
            assert_eq!(detection.rect, Rect { x: left, y: 0.0, w: 12.0, h: 16.0 });
            assert!((detection.confidence - score).abs() < 1e-4, "{detection:?}, not {score}");
            let id = found.iter().find(|object| object.label == label).unwrap().id;
            let mask = masks.iter().find(|mask| mask.kind == MaskKind::Instance { object: id }).unwrap();
            assert_eq!((mask.width, mask.height), (24, 16));
            let inside = |index: usize| u8::from((index % 24 < 12) == (left == 0.0));
            assert!(
                mask.data.map_readable().unwrap().iter().enumerate().all(|(i, v)| *v == inside(i)),
                "{label}"
            );
        }
    }
    // As large as the frame's part that they cover, in pixels of the frame.
    for frame in of("upsample=true threshold=0.9", "masks-of-queries") {
        assert!(masks(&frame).iter().all(|mask| (mask.width, mask.height) == (24, 16)));
    }
    for frame in of("", "masks-of-queries-surely") {
        assert!(objects(&frame).is_empty() && masks(&frame).is_empty());
    }
}
