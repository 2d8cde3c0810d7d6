//! Regions that are cut by an object's four corners: fusedpreproc roi-crop=warp.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, end, model, push, run};
use gst::prelude::*;
use gstcudainfer::meta::object::Object;
use gstcudainfer::meta::tensor::TensorSet;

use super::regions::{HEIGHT, WIDTH, model_of_aligned, object, with_points};

/// Where a place on the plate is in the frame; u and v are from 0 to 1 on it. Its right side is farther away than its left.
fn seen([u, v]: [f64; 2]) -> [f64; 2] {
    [16.0 + 48.0 * u / (1.0 + u), 10.0 + (24.0 * u + 40.0 * v) / (1.0 + u)]
}

/// The inverse of `seen`.
fn on_plate([x, y]: [f64; 2]) -> [f64; 2] {
    let share = (x - 16.0) / 48.0;
    let u = share / (1.0 - share);
    [u, ((y - 10.0) * (1.0 + u) - 24.0 * u) / 40.0]
}

/// A frame with the plate: red grows from its left to its right side, green from its top to its bottom, also around it.
fn frame() -> gst::Buffer {
    let color = |x: usize, y: usize| {
        let byte = |share: f64| (64.0 + 128.0 * share).round().clamp(0.0, 255.0) as u8;
        let [u, v] = on_plate([x as f64 + 0.5, y as f64 + 0.5]);
        // Nothing is beyond the horizon, which is right of the plate.
        if x < 56 { [byte(u), byte(v), 0] } else { [0; 3] }
    };
    let pixels = (0..HEIGHT).flat_map(|y| (0..WIDTH).flat_map(move |x| color(x, y)));
    let mut buffer = gst::Buffer::from_mut_slice(pixels.collect::<Vec<u8>>());
    buffer.get_mut().unwrap().set_pts(gst::ClockTime::ZERO);
    buffer
}

/// An object with points in these places on the plate.
fn plate(id: i32, points: &[(&str, [f64; 2])]) -> Object {
    let points: Vec<_> = points
        .iter()
        .map(|(name, place)| {
            let [x, y] = seen(*place);
            (*name, x, y)
        })
        .collect();
    with_points(object(id, "plate", [3, 2], 0.0), &points)
}

const CORNERS: [(&str, [f64; 2]); 4] =
    [("tl", [0.0, 0.0]), ("tr", [1.0, 0.0]), ("br", [1.0, 1.0]), ("bl", [0.0, 1.0])];

/// The tensor sets of a frame with these objects.
fn sets(elements: &str, objects: &[Object]) -> Vec<TensorSet> {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width={WIDTH},height={HEIGHT},framerate=100/1 \
         ! {elements} ! fakesink name=out"
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    let mut buffer = frame();
    objects.iter().for_each(|object| object.put(buffer.get_mut().unwrap(), &Rect::default()));
    push(&pipeline.element("in"), buffer);
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    pipeline.stop();
    out.lock().unwrap().iter().flat_map(|buffer| TensorSet::of(buffer).unwrap()).collect()
}

/// The plate's u and v at a pixel of a tensor of 16x8 pixels.
fn shown(set: &TensorSet, x: usize, y: usize) -> [f64; 2] {
    assert_eq!(set.input, [16, 8]);
    let values = set.tensors[0].map().unwrap().view().unwrap().to_f32().into_owned();
    [0, 1].map(|channel| (f64::from(values[(channel * 8 + y) * 16 + x]) - 64.0) / 128.0)
}

/// Whether a tensor shows the plate from the front: `wanted` says which place each of its pixels has, x and y being from 0 to 1.
#[track_caller]
fn assert_shows(set: &TensorSet, wanted: impl Fn([f64; 2]) -> [f64; 2]) {
    for (y, x) in (0..8).flat_map(|y| (0..16).map(move |x| (y, x))) {
        let wanted = wanted([(x as f64 + 0.5) / 16.0, (y as f64 + 0.5) / 8.0]);
        let got = shown(set, x, y);
        // Colours are rounded to bytes, and between pixels they are not quite linear.
        let near = [0, 1].map(|k| (got[k] - wanted[k]).abs() < 1.0 / 128.0);
        assert_eq!(near, [true; 2], "{x}, {y}: {got:?}, not {wanted:?}");
    }
}

const PREPROC: &str = "fusedpreproc roi=objects roi-crop=warp device=cpu width=16 height=8 scale=1";

#[test]
fn a_plate_seen_from_the_side_is_shown_from_the_front() {
    let [tl, tr, br, bl] = CORNERS;
    // Right-way up, upside down, and lying on its side.
    let objects = [plate(0, &CORNERS), plate(1, &[br, bl, tl, tr]), plate(2, &[bl, tl, tr, br])];
    let sets = sets(PREPROC, &objects);
    assert_eq!(sets.iter().map(|set| set.object).collect::<Vec<_>>(), [Some(0), Some(1), Some(2)]);
    assert_shows(&sets[0], |place| place);
    assert_shows(&sets[1], |[x, y]| [1.0 - x, 1.0 - y]);
    assert_shows(&sets[2], |[x, y]| [y, 1.0 - x]);
    // The nearest affine map has the middle of the corners in the middle, and is wrong alike at all of them.
    let corners = CORNERS.map(|(_, place)| seen(place));
    let places =
        [(0.0, 0.0), (16.0, 0.0), (16.0, 8.0), (0.0, 8.0)].map(|(x, y)| sets[0].to_frame.point(x, y));
    let quarter = [0, 1].map(|k| (corners[0][k] - corners[1][k] + corners[2][k] - corners[3][k]) / 4.0);
    for (corner, (place, sign)) in corners.into_iter().zip(places.into_iter().zip([1.0, -1.0, 1.0, -1.0])) {
        let wrong = [corner[0] - f64::from(place.0), corner[1] - f64::from(place.1)];
        assert!((0..2).all(|k| (wrong[k] - sign * quarter[k]).abs() < 1e-4), "{wrong:?} {quarter:?}");
    }
}

#[test]
fn a_margin_is_seen_in_the_plane_of_the_plate() {
    let sets = sets(&format!("{PREPROC} roi-padding=1.25"), &[plate(0, &CORNERS)]);
    assert_shows(&sets[0], |place| place.map(|v| 0.5 + 1.25 * (v - 0.5)));
}

#[test]
fn the_sidecar_names_the_corners_and_says_where_the_tensor_has_them() {
    let [tl, tr, br, bl] = CORNERS;
    let others = plate(0, &[bl, ("screw", [0.5, 0.1]), br, tl, tr]);
    let names = "align-points = [\"tl\", \"tr\", \"br\", \"bl\"]";
    // The model has tensors of 64x64 pixels.
    let map = |input: &str, object: &Object| {
        let path = model_of_aligned("warp", &format!("roi-crop = \"warp\"\n{input}"));
        let elements = format!("fusedpreproc roi=objects device=cpu ! trtinfer model={path}");
        sets(&elements, std::slice::from_ref(object)).iter().map(|set| set.to_frame).collect::<Vec<_>>()
    };
    let plain = map("", &plate(0, &CORNERS));
    assert_eq!((plain.len(), map(names, &others)), (1, plain.clone()));
    assert_eq!(map("", &others), []);
    // Half of the tensor's width and height, from the centre of pixel 16, 16 to that of pixel 48, 48.
    let align = "align = [[16, 16], [48, 16], [48, 48], [16, 48]]";
    let inner = map(&format!("{align}\n{names}"), &others)[0];
    let twice = map("roi-padding = 2", &plate(0, &CORNERS))[0];
    // The places are half a pixel further, where the perspective differs by some percent.
    assert!((inner.scale[0] / twice.scale[0] - 1.0).abs() < 0.1, "{inner:?} {twice:?}");
    assert!(inner.scale[0] > 1.5 * plain[0].scale[0], "{inner:?} {plain:?}");
}

#[test]
fn objects_without_four_corners_are_left_out_counted_and_reported_once() {
    let [tl, tr, br, bl] = CORNERS;
    let broken = |id, points: &[(&str, [f64; 2])]| plate(id, points);
    let mut lost = plate(4, &CORNERS);
    lost.keypoints.as_mut().unwrap().x[2] = f64::NAN;
    for (objects, has) in [
        (vec![object(0, "a", [3, 2], 0.0), lost.clone()], "an object has no points"),
        (vec![broken(1, &[tl, tr, br])], "an object has 3 points"),
        (
            vec![broken(2, &[tl, br, tr, bl]), broken(3, &[tl, tr, ("in", [0.3, 0.3]), bl])],
            "no convex quadrilateral",
        ),
        (vec![broken(3, &[tl, bl, br, tr])], "in anticlockwise order"),
        (vec![broken(3, &[tl, tl, tl, tl])], "no convex quadrilateral"),
        (vec![lost], "a corner whose place is not finite"),
    ] {
        let pipeline = TestPipeline::new(&format!(
            "appsrc name=in format=time caps=video/x-raw,format=RGB,width={WIDTH},height={HEIGHT},framerate=100/1 \
             ! {PREPROC} name=crop ! fakesink"
        ));
        pipeline.play();
        for _ in 0..2 {
            let mut buffer = frame();
            objects.iter().chain([&plate(9, &CORNERS)]).for_each(|object| {
                object.put(buffer.get_mut().unwrap(), &Rect::default());
            });
            push(&pipeline.element("in"), buffer);
        }
        end(&pipeline.element("in"));
        let report = pipeline.wait().succeeds();
        let reported: Vec<_> = report.warnings.iter().filter(|text| text.contains("roi-crop=warp")).collect();
        assert!(
            matches!(reported[..], [text] if text.contains(has)
                && text.contains("needs 4 points (top-left, top-right, bottom-right, bottom-left)")
                && text.contains("align-points")),
            "{has}: {reported:?}"
        );
        let stats: gst::Structure = pipeline.element("crop").property("stats");
        let skipped = 2 * objects.len() as u64;
        assert_eq!((stats.get::<u64>("skipped"), stats.get::<u64>("tensors")), (Ok(skipped), Ok(2)));
        pipeline.stop();
    }
}

#[test]
fn a_margin_that_reaches_the_camera_is_reported() {
    // Twice as wide below as above.
    let points = [("tl", 40.0, 10.0), ("tr", 50.0, 10.0), ("br", 55.0, 40.0), ("bl", 35.0, 40.0)];
    let object = with_points(object(0, "road", [3, 2], 0.0), &points);
    assert_eq!(sets(&format!("{PREPROC} roi-padding=2.5"), std::slice::from_ref(&object)).len(), 1);
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width={WIDTH},height={HEIGHT},framerate=100/1 \
         ! {PREPROC} roi-padding=4 ! fakesink"
    ));
    pipeline.play();
    let mut buffer = frame();
    object.put(buffer.get_mut().unwrap(), &Rect::default());
    push(&pipeline.element("in"), buffer);
    end(&pipeline.element("in"));
    let warnings = pipeline.wait().succeeds().warnings;
    assert!(
        warnings
            .iter()
            .any(|text| text.contains("reaches the camera") && text.contains("Set a smaller roi-padding")),
        "{warnings:?}"
    );
}

#[test]
fn a_sidecar_that_aligns_other_points_cannot_be_warped() {
    let align = "roi-crop = \"align\"\nalign = [[15.5, 31.5], [47.5, 31.5]]";
    let report = |properties: &str, path: &str| {
        run(&format!(
            "videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc roi=objects {properties} \
             ! trtinfer model={path} ! fakesink"
        ))
    };
    report("roi-crop=warp", &model_of_aligned("aligned-two", align)).fails_with(&[
        "needs the places of four corners",
        "sidecar has 2",
        "or drop it",
    ]);
    report("roi-crop=warp", &model("constants-batch")).succeeds();
}
