//! Regions of interest: fusedpreproc roi=objects and the model after it.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, end, model, push, run, scratch, until};
use gst::prelude::*;
use gstcudainfer::meta::object::{DetectionParam, KeypointsParam, Object, TrackingParam};
use gstcudainfer::meta::tensor::TensorSet;

pub(super) const WIDTH: usize = 96;
pub(super) const HEIGHT: usize = 64;

/// Tiles of 8x8 pixels, each of its own colour.
fn color(column: usize, row: usize) -> [u8; 3] {
    [column * 20, row * 30, (column + row) * 12].map(|v| u8::try_from(v).unwrap())
}

fn frame(number: u64) -> gst::Buffer {
    let pixels = (0..HEIGHT).flat_map(|y| (0..WIDTH).flat_map(move |x| color(x / 8, y / 8)));
    let mut buffer = gst::Buffer::from_mut_slice(pixels.collect::<Vec<u8>>());
    buffer.get_mut().unwrap().set_pts(gst::ClockTime::from_mseconds(10 * number));
    buffer
}

/// An object on the tile, smaller than it by `inset` pixels on each side.
pub(super) fn object(id: i32, label: &str, [column, row]: [usize; 2], inset: f32) -> Object {
    let rect = Rect {
        x: column as f32 * 8.0 + inset,
        y: row as f32 * 8.0 + inset,
        w: 8.0 - 2.0 * inset,
        h: 8.0 - 2.0 * inset,
    };
    let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 0 });
    Object { id, label: label.into(), detection, ..Object::default() }
}

/// The tensor sets of each frame, for the objects on it.
fn sets(elements: &str, frames: &[Vec<Object>]) -> Vec<Vec<TensorSet>> {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width={WIDTH},height={HEIGHT},framerate=100/1 \
         ! {elements} ! fakesink name=out"
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    for (number, objects) in (0..).zip(frames) {
        let mut buffer = frame(number);
        let writable = buffer.get_mut().unwrap();
        objects.iter().for_each(|object| object.put(writable, &Rect::default()));
        push(&pipeline.element("in"), buffer);
    }
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    pipeline.stop();
    out.lock().unwrap().iter().map(|buffer| TensorSet::of(buffer).unwrap()).collect()
}

/// Twice the mean colour that the model has seen in a region, in units of a pixel value.
fn mean(set: &TensorSet) -> [f32; 3] {
    let scaled = set.tensors.iter().find(|t| t.desc.name == "scaled").unwrap();
    assert_eq!(scaled.desc.dims, [Some(1), Some(3)]);
    let values = scaled.map().unwrap().view().unwrap().to_f32().into_owned();
    [values[0], values[1], values[2]].map(|v| v * 255.0 / 2.0)
}

fn model_pipeline(properties: &str, batch: &str) -> String {
    format!(
        "fusedpreproc roi=objects {properties} ! trtinfer name=infer model={} {batch}",
        model("constants-batch")
    )
}

#[test]
fn each_object_gets_what_the_model_says_of_its_region_whatever_the_batch() {
    // Frames of 5, 0, 1 and 11 objects.
    let tile = |i: usize| [i * 7 % 12, i * 3 % 8];
    let frames: Vec<Vec<Object>> = [5, 0, 1, 11]
        .into_iter()
        .map(|count| (0..count).map(|i| object(i32::try_from(i).unwrap(), "tile", tile(i), 1.0)).collect())
        .collect();
    for batch in
        ["batch-size=1", "batch-size=4", "batch-size=4 workers=1 batch-timeout=5000000", "batch-size=16"]
    {
        let frames_out = sets(&model_pipeline("", batch), &frames);
        assert_eq!(frames_out.iter().map(Vec::len).collect::<Vec<_>>(), [5, 0, 1, 11], "{batch}");
        for set in frames_out.iter().flatten() {
            let i = usize::try_from(set.object.unwrap()).unwrap();
            let [column, row] = tile(i);
            let want = color(column, row).map(f32::from);
            let got = mean(set);
            // Float32 means of 4,096 equal values.
            assert!(
                want.iter().zip(got).all(|(a, b)| (a - b).abs() < 0.01),
                "{batch}, object {i}: {got:?} for {want:?}"
            );
            // The tensor's corner is the box's, and its 64 pixels are the box's 6.
            let scale = 6.0 / 64.0;
            assert_eq!((set.input, set.to_frame.scale), ([64, 64], [scale, scale]));
            assert_eq!(set.to_frame.point(0.0, 0.0), (column as f32 * 8.0 + 1.0, row as f32 * 8.0 + 1.0));
        }
    }
}

#[test]
fn a_frame_without_objects_passes_without_work() {
    let frames_out = sets(&model_pipeline("", "batch-size=8 batch-timeout=1000000000000"), &[vec![], vec![]]);
    assert_eq!(frames_out.iter().map(Vec::len).collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn classes_sizes_and_turns_choose_the_objects() {
    let tracked = |object: Object, id: u64| Object {
        tracking: Some(TrackingParam { id, state: "tracked".into(), ..TrackingParam::default() }),
        ..object
    };
    let all =
        vec![object(0, "cat", [0, 0], 0.0), object(1, "dog", [1, 0], 0.0), object(2, "cat", [2, 0], 3.0)];
    let chosen = |properties: &str, frames: &[Vec<Object>]| -> Vec<Vec<i32>> {
        let frames_out = sets(&format!("fusedpreproc roi=objects width=32 height=32 {properties}"), frames);
        frames_out.iter().map(|sets| sets.iter().map(|set| set.object.unwrap()).collect()).collect()
    };
    let one = std::slice::from_ref(&all);
    assert_eq!(chosen("", one), [vec![0, 1, 2]]);
    assert_eq!(chosen("classes=\"cat, bird\"", one), [vec![0, 2]]);
    assert_eq!(chosen("min-size=3", one), [vec![0, 1]]);
    // Without identities, all objects take turns together.
    let four = vec![all.clone(); 4];
    assert_eq!(chosen("interval=2", &four), [vec![0, 1, 2], vec![], vec![], vec![0, 1, 2]]);
    // With identities, each object has its own turns, from the frame in which it appears.
    let [a, b, _] = &all[..] else { unreachable!() };
    let (a, b) = (tracked(a.clone(), 7), tracked(b.clone(), 9));
    let frames = [vec![a.clone()], vec![a.clone(), b.clone()], vec![a.clone(), b.clone()], vec![a, b]];
    assert_eq!(chosen("interval=1", &frames), [vec![0], vec![1], vec![0], vec![1]]);
}

#[test]
fn streams_downstream_of_a_funnel_have_their_own_turns() {
    let caps = format!("video/x-raw,format=RGB,width={WIDTH},height={HEIGHT},framerate=100/1");
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=a format=time caps={caps} ! funnel name=f ! fusedpreproc roi=objects width=32 height=32 interval=1 \
         ! fakesink name=out async=false sync=false   appsrc name=b format=time caps={caps} ! f."
    ));
    let seen = pipeline.collect("out");
    pipeline.play();
    for n in 0..8 {
        // Each stream has an object with the identity 1.
        let tracking = Some(TrackingParam { id: 1, state: "tracked".into(), ..TrackingParam::default() });
        let mut frame = frame(n);
        let object = Object { tracking, ..object(0, "cat", [0, 0], 0.0) };
        object.put(frame.get_mut().unwrap(), &Rect::default());
        push(&pipeline.element(if n % 2 == 0 { "a" } else { "b" }), frame);
        until("the frame", || seen.lock().unwrap().len() as u64 == n + 1);
    }
    let looked: Vec<_> =
        seen.lock().unwrap().iter().map(|frame| TensorSet::of(frame).map_or(0, |sets| sets.len())).collect();
    assert_eq!(looked, [1, 1, 0, 0, 1, 1, 0, 0]);
    pipeline.stop();
}

#[test]
fn regions_outside_the_frame_are_left_out_and_counted() {
    let mut outside = object(0, "a", [0, 0], 0.0);
    outside.detection.as_mut().unwrap().rect.x = 500.0;
    let mut empty = object(1, "a", [0, 0], 4.0);
    empty.detection.as_mut().unwrap().rect.w = 0.0;
    let mut broken = object(2, "a", [0, 0], 0.0);
    broken.detection.as_mut().unwrap().rect.y = f32::NAN;
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width={WIDTH},height={HEIGHT},framerate=100/1 \
         ! fusedpreproc name=pre roi=objects width=16 height=16 ! fakesink name=out async=false"
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    let mut buffer = frame(0);
    for object in [outside, empty, broken, object(3, "a", [1, 1], 0.0)] {
        object.put(buffer.get_mut().unwrap(), &Rect::default());
    }
    push(&pipeline.element("in"), buffer);
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    let objects: Vec<_> =
        TensorSet::of(&out.lock().unwrap()[0]).unwrap().iter().map(|set| set.object).collect();
    assert_eq!(objects, [Some(3)]);
    let stats = pipeline.element("pre").property::<gst::Structure>("stats");
    assert_eq!(["tensors", "skipped"].map(|field| stats.get::<u64>(field).unwrap()), [1, 3]);
}

#[test]
fn objects_beyond_max_regions_are_left_out_with_one_warning_and_counted() {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width={WIDTH},height={HEIGHT},framerate=100/1 \
         ! fusedpreproc name=pre roi=objects device=cpu max-regions=2 width=16 height=16 ! fakesink name=out async=false"
    ));
    pipeline.play();
    for n in 0..2 {
        let mut buffer = frame(n);
        for id in 0..5 {
            object(id, "a", [1, 1], 0.0).put(buffer.get_mut().unwrap(), &Rect::default());
        }
        push(&pipeline.element("in"), buffer);
    }
    end(&pipeline.element("in"));
    let warnings = pipeline.wait().succeeds().warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("3 objects of a frame were left out, because max-regions is 2"),
        "{warnings:?}"
    );
    let stats = pipeline.element("pre").property::<gst::Structure>("stats");
    assert_eq!(["tensors", "skipped"].map(|field| stats.get::<u64>(field).unwrap()), [4, 6]);
}

#[test]
fn regions_are_padded_sized_and_turned_as_asked_for() {
    let map = |properties: &str, object: Object| {
        let sets =
            sets(&format!("fusedpreproc roi=objects width=32 height=16 {properties}"), &[vec![object]]);
        sets[0][0].to_frame
    };
    let tile = || object(0, "a", [3, 2], 0.0);
    // The whole box in a tensor that is wider: 8 pixels high are 16.
    assert_eq!((map("", tile()).scale, map("", tile()).point(16.0, 8.0)), ([0.5, 0.5], (28.0, 20.0)));
    assert_eq!(map("resize=stretch", tile()).scale, [0.25, 0.5]);
    assert_eq!(map("resize=center-crop", tile()).scale, [0.25, 0.25]);
    assert_eq!(map("roi-padding=1.5", tile()).scale, [0.75, 0.75]);
    // The same for an object that is a point.
    let point = object(0, "a", [3, 2], 4.0);
    let map_of_point = map("roi-size=64", point);
    assert_eq!((map_of_point.scale, map_of_point.point(16.0, 8.0)), ([2.0, 2.0], (28.0, 20.0)));
    // A quarter turn clockwise: the tensor's right is the frame's bottom.
    let turned = map("", Object { angle: std::f32::consts::FRAC_PI_2, ..tile() });
    let (x, y) = turned.point(16.0 + 8.0, 8.0);
    assert!((x - 28.0).abs() < 1e-4 && (y - 24.0).abs() < 1e-4, "{x} {y}");
}

#[test]
fn regions_are_cut_as_the_libraries_cut_them() {
    let set = |properties: &str, object: Object| {
        let pipeline = format!("fusedpreproc roi=objects width=32 height=16 scale=1 {properties}");
        sets(&pipeline, &[vec![object]]).remove(0).remove(0)
    };
    let tile = || object(0, "a", [3, 2], 0.3);
    // Whole pixels: 24.3 to 31.7 are 24 to 32. Nothing of the neighbours is mixed in.
    for properties in [
        "roi-crop=pixels resize=stretch",
        "interpolation=pil-bicubic resize=stretch",
        "interpolation=pil-bilinear resize=center-crop crop-ratio=0.5",
    ] {
        let set = set(properties, tile());
        let (x, y) = set.to_frame.point(16.0, 8.0);
        assert!((x - 28.0).abs() < 0.26 && (y - 20.0).abs() < 0.26, "{properties}: {x} {y}");
        let values = set.tensors[0].map().unwrap().view().unwrap().to_f32().into_owned();
        let wanted = color(3, 2).map(f32::from);
        for (value, wanted) in values.chunks(32 * 16).zip(wanted) {
            // Float32 weights of two pixels that are the same.
            assert!(value.iter().all(|v| (v - wanted).abs() < 1e-3), "{properties}");
        }
    }
    assert_eq!(set("roi-crop=pixels resize=stretch", tile()).to_frame.scale, [0.25, 0.5]);
    // In a letterbox the part stays alone, 16 of 32 columns between bars.
    let boxed = set("roi-crop=pixels padding=7", tile());
    assert_eq!((boxed.to_frame.scale, boxed.to_frame.point(8.0, 0.0)), ([0.5, 0.5], (24.0, 16.0)));
    let values = boxed.tensors[0].map().unwrap().view().unwrap().to_f32().into_owned();
    assert!(values[..8].iter().all(|v| *v == 7.0) && values[8] == 60.0);
    // mmpose's matrices of the box 24, 16 to 32, 24 in 32x16: centre to centre, and first to last pixel.
    let whole = || object(0, "a", [3, 2], 0.0);
    let map = set("roi-crop=mmpose", whole()).to_frame;
    assert_eq!((map.scale, map.point(16.5, 8.5)), ([0.5, 0.5], (28.5, 20.5)));
    let map = set("roi-crop=mmpose-udp", whole()).to_frame;
    let (first, last) = (map.point(0.5, 0.5), map.point(31.5, 15.5));
    let near = |a: (f32, f32), b: (f32, f32)| (a.0 - b.0).abs() < 1e-4 && (a.1 - b.1).abs() < 1e-4;
    assert!(near(first, (20.5, 16.5)) && near(last, (36.5, 24.5)), "{first:?} {last:?}");
    // Crops of 32x16 pixels around a point between pixels have whole ones: those of a point half a pixel to the left.
    let around = |properties: &str| {
        let mut point = object(0, "a", [3, 2], 4.0);
        let rect = &mut point.detection.as_mut().unwrap().rect;
        (rect.x, rect.y) = (28.5, 20.0);
        let set = set(&format!("roi-size=32 {properties}"), point);
        let values = set.tensors[0].map().unwrap().view().unwrap().to_f32().into_owned();
        (set.to_frame, values)
    };
    let column = |x: usize| f32::from(color(x / 8, 1)[0]);
    // DeepLabCut's edges are rounded to even numbers from the middle. Tensor and crop are of one size, so points are where they are seen.
    for (crop, corner) in [("sleap", (12.5, 12.0)), ("deeplabcut", (12.0, 12.0))] {
        let (map, values) = around(&format!("roi-crop={crop} padding=0"));
        assert_eq!(map.point(0.0, 0.0), corner, "{crop} places points by that");
        assert_eq!(values[..32], (12..44).map(column).collect::<Vec<_>>()[..], "{crop}");
    }
    // A box of half the tensor's size: from the first pixel's centre to the first pixel's centre.
    let map = set("roi-crop=deeplabcut", whole()).to_frame;
    assert_eq!((map.scale, map.point(0.5, 0.5)), ([0.5, 0.5], (20.5, 16.5)));
    // A letterbox at the top left begins with the box; what is right of it follows.
    let map = set("resize=letterbox-top-left", whole()).to_frame;
    assert_eq!((map.scale, map.point(0.0, 0.0)), ([0.5, 0.5], (24.0, 16.0)));
}

/// A model of 64x64 pixels whose sidecar says where the tensor has an object's points.
pub(super) fn model_of_aligned(name: &str, input: &str) -> String {
    let path = scratch(name).join("model.onnx");
    std::fs::copy(model("constants-batch"), &path).unwrap();
    let constants = "size = \"frame-height-width\"\nfactor = [2.0]";
    let sidecar = format!("[input]\nresize = \"stretch\"\n{input}\n[constants]\n{constants}\n");
    std::fs::write(path.with_extension("toml"), sidecar).unwrap();
    path.display().to_string()
}

/// The object with these points.
pub(super) fn with_points(object: Object, points: &[(&str, f64, f64)]) -> Object {
    let names = points.iter().map(|point| point.0.to_owned()).collect();
    let (x, y): (Vec<_>, Vec<_>) = points.iter().map(|point| (point.1, point.2)).unzip();
    let score = vec![1.0; points.len()];
    Object { keypoints: Some(KeypointsParam { names, x, y, score, ..KeypointsParam::default() }), ..object }
}

#[test]
fn objects_are_turned_until_their_points_lie_where_the_sidecar_has_them() {
    // A quarter turn to the right, sixteen tensor pixels for each of the frame's, around 28, 20. Points count from pixels' centres.
    let points = [("tail", 90.0, 60.0), ("left", 27.5, 18.5), ("right", 27.5, 20.5)];
    let object = |id, points: &[_]| with_points(object(id, "a", [3, 2], 0.0), points);
    let objects = vec![object(0, &points), object(1, &points[..1]), object(2, &points[1..])];
    let align = "roi-crop = \"align\"\nalign = [[15.5, 31.5], [47.5, 31.5]]";
    for (names, seen) in [("\nalign-points = [\"left\", \"right\"]", vec![0, 2]), ("", vec![2])] {
        let path = model_of_aligned("aligned", &format!("{align}{names}"));
        let elements = format!("fusedpreproc name=crop roi=objects ! trtinfer model={path} batch-size=2");
        let sets = sets(&elements, std::slice::from_ref(&objects)).remove(0);
        assert_eq!(sets.iter().map(|set| set.object.unwrap()).collect::<Vec<_>>(), seen);
        for set in sets {
            let near = |x, y, wanted: (f32, f32)| {
                let point = set.to_frame.point(x, y);
                (point.0 - wanted.0).hypot(point.1 - wanted.1) < 1e-3
            };
            assert!(near(32.0, 32.0, (28.0, 20.0)) && near(48.0, 32.0, (28.0, 21.0)), "{:?}", set.to_frame);
            let got = mean(&set);
            let wanted = color(3, 2).map(f32::from);
            assert!(wanted.iter().zip(got).all(|(a, b)| (a - b).abs() < 0.01), "{got:?}");
        }
    }
}

#[test]
fn what_cannot_be_aligned_is_said() {
    let align = "roi-crop = \"align\"\nalign = [[15.5, 31.5], [47.5, 31.5]]";
    let aligned = model_of_aligned("said", align);
    let unaligned = model("constants-batch");
    let report = |properties: &str, path: &str| {
        run(&format!(
            "videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc {properties} \
             ! trtinfer model={path} ! fakesink"
        ))
    };
    report("roi=objects roi-crop=align", &unaligned).fails_with(&["does not state", "Add align ="]);
    report("roi=tiles", &aligned).fails_with(&["but other regions have none", "Set roi=objects"]);
    report("roi=objects roi-padding=2", &aligned).fails_with(&["roi-padding is set", "has no effect"]);
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width={WIDTH},height={HEIGHT},framerate=100/1 \
         ! fusedpreproc name=crop roi=objects ! trtinfer model={aligned} ! fakesink"
    ));
    pipeline.play();
    for number in 0..2 {
        let mut buffer = frame(number);
        object(0, "a", [3, 2], 0.0).put(buffer.get_mut().unwrap(), &Rect::default());
        push(&pipeline.element("in"), buffer);
    }
    end(&pipeline.element("in"));
    let report = pipeline.wait().succeeds();
    let said: Vec<_> = report.warnings.iter().filter(|text| text.contains("roi-crop=align")).collect();
    assert!(
        matches!(said[..], [text] if text.contains("an object has no points, but") && text.contains("needs 2 points")),
        "{said:?}"
    );
    let stats: gst::Structure = pipeline.element("crop").property("stats");
    assert_eq!((stats.get::<u64>("skipped"), stats.get::<u64>("tensors")), (Ok(2), Ok(0)));
    pipeline.stop();
}

#[test]
fn memory_of_regions_is_not_written_again_while_somebody_holds_one() {
    // More frames than a pool has buffers; all rows are kept until the end.
    let frames: Vec<_> = (0..12)
        .map(|i| vec![object(0, "a", [i, i % 8], 1.0), object(1, "a", [11 - i, (i + 3) % 8], 1.0)])
        .collect();
    let all = sets("fusedpreproc roi=objects width=8 height=8 scale=1", &frames);
    for (i, sets) in all.iter().enumerate() {
        for (set, [column, row]) in sets.iter().zip([[i, i % 8], [11 - i, (i + 3) % 8]]) {
            let map = set.tensors[0].map().unwrap();
            let first = map.view().unwrap().to_f32()[0];
            assert_eq!(first, f32::from(color(column, row)[0]), "frame {i}");
        }
    }
}
