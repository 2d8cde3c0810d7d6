//! The masks of single objects: interpolated prototypes, maps of queries, maps of boxes.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, buffers, model, run, scratch};
use gst::prelude::*;
use gstcudainfer::meta::mask::{Mask, MaskKind, masks};
use gstcudainfer::meta::object::objects;
use gstcudainfer::meta::tensor::TensorSet;

fn pipeline_of(size: &str, name: &str, after: &str) -> String {
    format!(
        "videotestsrc num-buffers=2 pattern=solid-color foreground-color=0xffff00ff ! video/x-raw,format=RGB,{size} \
         ! fusedpreproc ! trtinfer model={} ! {after} ! fakesink name=out",
        model(name)
    )
}

/// The masks of the objects with these labels, in a frame of this size.
fn found(size: &str, name: &str, after: &str, labels: [&str; 2]) -> [Mask; 2] {
    let frames = buffers(&pipeline_of(size, name, after));
    assert_eq!(frames.len(), 2);
    let (found, masks) = (objects(&frames[1]), masks(&frames[1]));
    assert_eq!((found.len(), masks.len()), (2, 2), "{found:?}");
    assert!(TensorSet::of(&frames[1]).is_none());
    labels.map(|label| {
        let id = found.iter().find(|object| object.label == label).unwrap().id;
        masks.iter().find(|mask| mask.kind == MaskKind::Instance { object: id }).unwrap().clone()
    })
}

/// Which samples are in the mask, by rows.
fn samples(mask: &Mask) -> Vec<Vec<bool>> {
    let data = mask.data.map_readable().unwrap();
    assert_eq!(data.len(), mask.width * mask.height);
    data.chunks(mask.width).map(|row| row.iter().map(|byte| *byte == 1).collect()).collect()
}

/// That the samples in the mask are those of which this holds, by column and row.
#[track_caller]
pub(super) fn assert_inside(mask: &Mask, inside: impl Fn(usize, usize) -> bool) {
    for (y, row) in samples(mask).iter().enumerate() {
        for (x, got) in row.iter().enumerate() {
            assert_eq!(*got, inside(x, y), "{x} {y} of {}x{}", mask.width, mask.height);
        }
    }
}

const SQUARE: &str = "width=64,height=64";
const WIDE: &str = "width=128,height=64";

fn rect(x: f32, y: f32, w: f32, h: f32) -> Rect {
    Rect { x, y, w, h }
}

#[test]
fn prototypes_are_interpolated_to_the_frames_pixels_before_they_are_compared() {
    // The red object is where the first prototype (1 in columns 0 to 3) outweighs the second: the sums change from 4 to -4
    // between the centres of the cells 3 and 4, at 14 and 18, and are 0 at 16. The blue one's change between 38 and 42.
    let [red, blue] = found(SQUARE, "masks", "gpunms ! segmask upsample=true", ["red", "blue"]);
    assert_eq!((red.rect, blue.rect), (rect(8.0, 4.0, 16.0, 24.0), rect(44.0, 32.0, 8.0, 16.0)));
    assert_eq!((red.width, red.height), (16, 24));
    assert_inside(&red, |x, _| x + 8 < 16);
    assert_inside(&blue, |_, y| y + 32 < 40);
    // In a frame of twice the width, a pixel is half a pixel of the input.
    let [red, _] = found(WIDE, "masks", "gpunms ! segmask upsample=true", ["red", "blue"]);
    assert_eq!(red.rect, rect(16.0, 4.0, 32.0, 24.0));
    assert_inside(&red, |x, _| x + 16 < 32);
}

#[test]
fn queries_masks_are_maps_of_the_whole_input() {
    // Logits that grow by 1 a pixel of the input: of a from column 20.8 on, of c down to row 30.3.
    let [a, c] = found(SQUARE, "queries-masks", "gpunms ! segmask", ["a", "c"]);
    for mask in [&a, &c] {
        assert_eq!((mask.rect, mask.width, mask.height), (rect(0.0, 0.0, 64.0, 64.0), 16, 16));
    }
    assert_inside(&a, |x, _| x as f32 * 4.0 + 2.0 > 20.8);
    assert_inside(&c, |_, y| (y as f32) * 4.0 + 2.0 < 30.3);
    for after in ["gpunms ! segmask upsample=true", "gpunms ! tracker ! segmask upsample=true"] {
        let [a, c] = found(WIDE, "queries-masks", after, ["a", "c"]);
        assert_eq!((a.rect, a.width, a.height), (rect(0.0, 0.0, 128.0, 64.0), 128, 64));
        assert_inside(&a, |x, _| (x as f32 + 0.5) / 2.0 > 20.8);
        assert_inside(&c, |_, y| y as f32 + 0.5 < 30.3);
    }
    // A higher threshold: the logit of 0.9 is 2.197.
    let [a, _] = found(SQUARE, "queries-masks", "gpunms ! segmask upsample=true threshold=0.9", ["a", "c"]);
    assert_inside(&a, |x, _| x as f32 + 0.5 > 20.8 + 2.197_225);
}

#[test]
fn masks_of_boxes_are_put_into_them_as_torchvision_does() {
    // Probabilities of (column + 0.5) / 7 in 7x7 cells of a, and 1 minus that of rows in those of c.
    let [a, c] = found(SQUARE, "lists-masks", "gpunms ! segmask", ["a", "c"]);
    assert_eq!((a.rect, a.width, a.height), (rect(30.0, 8.0, 30.0, 32.0), 7, 7));
    assert_eq!((c.rect, c.width, c.height), (rect(4.0, 6.0, 16.0, 24.0), 7, 7));
    assert_inside(&a, |x, _| x > 3);
    assert_inside(&c, |_, y| y < 3);
    let [a, c] = found(SQUARE, "lists-masks", "gpunms ! segmask upsample=true", ["a", "c"]);
    // The box grows by 9 / 7 about its centre, to 25.7 and 64.3, which are cut to 25..=64: 40 pixels for 9 cells, one of which
    // is beyond the frame. Of a row in the middle, the probability passes 0.5 at pixel 44.5 and again, on the way to the
    // border, at 59.9.
    assert_eq!(a.rect, rect(25.0, 3.0, 39.0, 42.0));
    let middle = &samples(&a)[20];
    assert!(middle.iter().enumerate().all(|(x, got)| *got == (45..=59).contains(&(x + 25))), "{middle:?}");
    // 4..20 and 6..30 become 1..=22 and 2..=33: 22 columns and 32 rows.
    assert_eq!(c.rect, rect(1.0, 2.0, 22.0, 32.0));
    // Along the column in the middle, 1 - (row + 0.5) / 7 is above 0.5 up to row 3, and the border's cell weighs less than half
    // from row -0.46 on.
    let column: Vec<_> = samples(&c).iter().map(|row| row[10]).collect();
    let inside = |y: usize| {
        let row = (y as f64 + 0.5) * 9.0 / 32.0 - 1.5;
        -0.461_5 < row && row < 3.0
    };
    assert!(column.iter().enumerate().all(|(y, got)| *got == inside(y)), "{column:?}");
}

#[test]
fn objects_may_have_keypoints_as_well() {
    let [a, c] = found(SQUARE, "lists-posed-masks", "gpunms ! segmask", ["a", "c"]);
    assert_inside(&a, |x, _| x > 3);
    assert_inside(&c, |_, y| y < 3);
    for frame in buffers(&pipeline_of(SQUARE, "lists-posed-masks", "gpunms ! segmask")) {
        let of = |label: &str| {
            let object = objects(&frame).into_iter().find(|object| object.label == label).unwrap();
            let points = object.keypoints.unwrap();
            (points.names, points.x, points.y)
        };
        let names = ["head", "tail"].map(str::to_owned).to_vec();
        assert_eq!(of("a"), (names.clone(), vec![32.0, 58.0], vec![10.0, 38.0]));
        assert_eq!(of("c"), (names, vec![6.0, 18.0], vec![8.0, 28.0]));
    }
}

#[test]
fn the_numbers_of_maps_go_to_who_asks_for_tensors() {
    for (name, maps, rows) in [
        ("queries-masks", "pred_masks:float32:1x4x16x16", "mask-rows"),
        ("lists-masks", "masks:float32:3x1x7x7", "box-mask-rows"),
    ] {
        let after = "gpunms ! video/x-raw(memory:SystemMemory, meta:CudaInferTensor)";
        let pipeline = TestPipeline::new(&pipeline_of(SQUARE, name, after));
        let seen = pipeline.collect("out");
        let caps = pipeline.element("out").static_pad("sink").unwrap();
        pipeline.play();
        pipeline.wait().succeeds();
        let caps = caps.current_caps().unwrap();
        let outputs: Vec<String> = caps
            .structure(0)
            .unwrap()
            .get::<gst::ArrayRef>("tensor-masks")
            .unwrap()
            .iter()
            .map(|v| v.get().unwrap())
            .collect();
        assert_eq!(outputs, [maps.to_owned(), format!("{rows}:int32:?"), "mask-objects:int32:?".to_owned()]);
        let frame = &seen.lock().unwrap()[0];
        let labels: Vec<_> = objects(frame).into_iter().map(|object| object.label).collect();
        let sets = TensorSet::of(frame).unwrap();
        let numbers = sets[0].tensors.iter().find(|tensor| tensor.desc.name == rows).unwrap();
        assert_eq!(numbers.desc.to_string(), format!("{rows}:int32:2"));
        let bytes = numbers.data.map_readable().unwrap();
        let numbers: Vec<_> = bytes.as_chunks().0.iter().map(|bytes| i32::from_ne_bytes(*bytes)).collect();
        let of = |label: &str| numbers[labels.iter().position(|l| l == label).unwrap()];
        // The list has a box that is nothing between the two.
        let wanted = if name == "lists-masks" { [0, 2] } else { [0, 1] };
        assert_eq!([of("a"), of("c")], wanted, "{name}");
        pipeline.stop();
    }
}

#[test]
fn the_sidecar_may_ask_for_it_and_masks_of_whole_frames_may_not() {
    let path = scratch("instances").join("masks.onnx");
    std::fs::copy(model("masks"), &path).unwrap();
    let sidecar =
        std::fs::read_to_string(std::path::Path::new(&model("masks")).with_extension("toml")).unwrap();
    std::fs::write(path.with_extension("toml"), format!("{sidecar}\n[segment]\nupsample = true\n")).unwrap();
    let with_sidecar = |properties: &str| {
        pipeline_of(SQUARE, "masks", &format!("gpunms ! segmask {properties}"))
            .replace(&model("masks"), &path.display().to_string())
    };
    for (properties, width) in [("", 16), ("upsample=false", 4)] {
        let frames = buffers(&with_sidecar(properties));
        assert!(masks(&frames[0]).iter().any(|mask| mask.width == width), "{properties}");
    }
    let report = run(&pipeline_of(SQUARE, "masks-colours", "segmask upsample=true"));
    report.fails_with(&["upsample is for the masks of single objects", "set size=frame"]);
}
