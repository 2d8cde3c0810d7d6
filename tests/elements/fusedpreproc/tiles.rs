//! Small objects and fixed regions: fusedpreproc roi=tiles and list, and what gpunms makes of the regions of a frame.
//!
//! The model `extents` finds the extent of each colour in its 64x64 pixels, with a confidence of a / (a + 32) for a pixels.

use cudainfer_tests::{TestPipeline, end, model, push};
use gst::prelude::*;
use gstcudainfer::meta::object::objects;
use gstcudainfer::meta::tensor::TensorSet;

const SIDE: usize = 256;
const RED: [u8; 3] = [255, 0, 0];
const GREEN: [u8; 3] = [0, 255, 0];
const BLUE: [u8; 3] = [0, 0, 255];

/// x, y, w, h and colour.
type Patch = ([usize; 4], [u8; 3]);

/// 8x8 pixels: two columns of the tiles 48 pixels apart cut it, and the next two rows show all of its height.
const SMALL: Patch = ([60, 100, 8, 8], RED);

/// A black frame with patches.
fn frame(patches: &[Patch]) -> gst::Buffer {
    let mut pixels = vec![0u8; SIDE * SIDE * 3];
    for ([x, y, w, h], color) in patches {
        for row in *y..y + h {
            for column in *x..x + w {
                pixels[(row * SIDE + column) * 3..][..3].copy_from_slice(color);
            }
        }
    }
    let mut buffer = gst::Buffer::from_mut_slice(pixels);
    buffer.get_mut().unwrap().set_pts(gst::ClockTime::ZERO);
    buffer
}

fn pipeline_of(elements: &str) -> TestPipeline {
    TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width={SIDE},height={SIDE},framerate=25/1 \
         ! {elements} ! fakesink name=out"
    ))
}

/// The objects of one frame with these patches.
fn through(pipeline: &TestPipeline, patches: &[Patch]) -> gst::Buffer {
    let out = pipeline.collect("out");
    pipeline.play();
    push(&pipeline.element("in"), frame(patches));
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    std::mem::take(&mut *out.lock().unwrap()).remove(0)
}

/// Label, x, y, w, h and confidence of an object.
type Seen = (String, [f32; 4], f32);

fn seen(label: &str, rect: [f32; 4], pixels: f32) -> Seen {
    (label.into(), rect, pixels / (pixels + 32.0))
}

fn found(pre: &str, batch: &str, nms: &str, patches: &[Patch]) -> Vec<Seen> {
    let pipeline = pipeline_of(&format!(
        "fusedpreproc {pre} ! trtinfer model={} {batch} ! gpunms name=nms {nms}",
        model("extents")
    ));
    let buffer = through(&pipeline, patches);
    let all = objects(&buffer);
    let count = pipeline.element("nms").property::<gst::Structure>("stats").get::<u64>("objects").unwrap();
    pipeline.stop();
    assert_eq!(usize::try_from(count).unwrap(), all.len());
    assert!(TensorSet::of(&buffer).is_none());
    let seen = |object: &gstcudainfer::meta::object::Object| {
        let detection = object.detection.as_ref().unwrap();
        let r = detection.rect;
        (object.label.clone(), [r.x, r.y, r.w, r.h], detection.confidence)
    };
    all.iter().map(seen).collect()
}

const QUARTER: &str = "roi=tiles overlap=0.25";

#[test]
fn a_small_object_is_found_in_tiles_only_and_once() {
    // In the whole frame, the object has 2x2 of the tensor's pixels, for a confidence of 0.11.
    assert_eq!(found("", "", "", &[SMALL]), []);
    let once = [seen("red", [60.0, 100.0, 8.0, 8.0], 64.0)];
    for batch in
        ["batch-size=1", "batch-size=8", "batch-size=25", "batch-size=4 workers=1 batch-timeout=1000000"]
    {
        assert_eq!(found(QUARTER, batch, "", &[SMALL]), once, "{batch}");
        assert_eq!(found(&format!("{QUARTER} tile-size=64"), batch, "", &[SMALL]), once, "{batch}");
    }
}

#[test]
fn what_the_tiles_edges_cut_is_merged_as_the_properties_say() {
    let of = |nms: &str| found(QUARTER, "batch-size=25", nms, &[SMALL]);
    let whole = || seen("red", [60.0, 100.0, 8.0, 8.0], 64.0);
    let part = || seen("red", [60.0, 100.0, 4.0, 8.0], 32.0);
    // Two rows of tiles show the object, in two columns each: the left column up to its edge at 64.
    assert_eq!(of("merge=none"), [part(), whole(), part(), whole()]);
    assert_eq!(of("merge=suppress"), [whole()]);
    // The part covers half of the union: enough for the threshold, and too little for a higher one.
    assert_eq!(of("merge-overlap=iou"), [whole()]);
    assert_eq!(of("merge-overlap=iou merge-threshold=0.6"), [whole(), part()]);
    // Tiles are merged also without suppression within a tile.
    assert_eq!(of("nms=none"), [whole()]);
}

#[test]
fn an_object_that_is_wider_than_a_tile_is_put_together() {
    // 76 pixels wide: the tiles at 128, 160 and 192 show 170 to 192, to 224 and 192 to 246.
    let wide = ([170, 20, 76, 8], BLUE);
    let of = |nms: &str| found("roi=tiles overlap=0.5", "batch-size=49", nms, &[wide]);
    assert_eq!(of(""), [seen("blue", [170.0, 20.0, 76.0, 8.0], 54.0 * 8.0)]);
    // The last two have 32 of their 54 columns in common.
    let parts =
        [seen("blue", [170.0, 20.0, 54.0, 8.0], 432.0), seen("blue", [192.0, 20.0, 54.0, 8.0], 432.0)];
    assert_eq!(of("merge-threshold=0.6"), parts);
}

#[test]
fn classes_are_merged_apart_unless_they_suppress_each_other() {
    let both: [Patch; 2] = [SMALL, ([61, 101, 6, 6], [255, 255, 0])];
    let apart = [seen("red", [60.0, 100.0, 8.0, 8.0], 64.0), seen("green", [61.0, 101.0, 6.0, 6.0], 36.0)];
    assert_eq!(found(QUARTER, "", "", &both), apart);
    assert_eq!(found(QUARTER, "", "nms=class-agnostic", &both), apart[..1]);
}

#[test]
fn the_whole_frame_is_one_more_region() {
    // A quarter as wide and high in the whole frame's tensor.
    let large = ([112, 112, 32, 32], GREEN);
    let rect = [112.0, 112.0, 32.0, 32.0];
    let of = |pre: &str, nms: &str| found(&format!("{QUARTER} {pre}"), "batch-size=26", nms, &[large]);
    assert_eq!(of("", "merge=none"), [seen("green", rect, 1024.0)]);
    assert_eq!(of("whole=true", "merge=none"), [seen("green", rect, 1024.0), seen("green", rect, 64.0)]);
    assert_eq!(of("whole=true", ""), [seen("green", rect, 1024.0)]);
}

#[test]
fn regions_of_a_list_find_what_is_in_them() {
    let patches = [SMALL, ([160, 40, 16, 16], GREEN)];
    // A region of 32x32 pixels, twice as large in the tensor, and one of 64x64 without an object.
    let list = "roi=list regions=\"48,88,32,32;0,192,64,64\"";
    let red = seen("red", [60.0, 100.0, 8.0, 8.0], 256.0);
    assert_eq!(found(list, "batch-size=2", "", &patches), std::slice::from_ref(&red));
    // The same in fractions, and the whole frame beside it, which has 4x4 of its tensor's pixels of green: 0.33.
    let fractions = "roi=list whole=true regions=0.1875,0.34375,0.125,0.125";
    let green = seen("green", [160.0, 40.0, 16.0, 16.0], 16.0);
    assert_eq!(found(fractions, "batch-size=2", "confidence=0.3", &patches), [red, green]);
}

#[test]
fn what_lies_around_a_region_is_not_in_it() {
    // The tensor is square, so it shows 12 pixels above and below the region of 64x40.
    let region = "roi=list resize=letterbox regions=\"32,80,64,40\"";
    let near = [60, 72, 8, 8];
    assert_eq!(found(region, "", "", &[(near, RED)]), []);
    // This object's centre is inside the region, and the tensor shows all of it.
    let across = [60, 76, 8, 16];
    assert_eq!(found(region, "", "", &[(across, RED)]), [seen("red", [60.0, 76.0, 8.0, 16.0], 128.0)]);
}

#[test]
fn tiles_lie_in_the_metadata_where_sahi_puts_them() {
    let pipeline = pipeline_of(
        "fusedpreproc name=pre roi=tiles tile-size=100 overlap=0.2 whole=true width=50 height=50",
    );
    let sets = TensorSet::of(&through(&pipeline, &[SMALL])).unwrap();
    let stats = pipeline.element("pre").property::<gst::Structure>("stats");
    assert_eq!((stats.get("tensors"), stats.get("skipped")), (Ok(10u64), Ok(0u64)));
    let rects: Vec<_> = sets
        .iter()
        .map(|set| set.region.map(|r| [r.rect.x, r.rect.y, r.rect.w, r.rect.h]).unwrap())
        .collect();
    // 20 pixels in common: 0, 80, then 256 - 100, row by row.
    let starts = [0.0, 80.0, 156.0];
    let mut wanted: Vec<_> =
        starts.iter().flat_map(|y| starts.iter().map(|x| [*x, *y, 100.0, 100.0])).collect();
    wanted.push([0.0, 0.0, 256.0, 256.0]);
    assert_eq!(rects, wanted);
    for (set, [x, y, w, _]) in sets.iter().zip(wanted) {
        assert_eq!((set.object, set.to_frame.scale), (None, [f64::from(w) / 50.0; 2]));
        assert_eq!(set.to_frame.point(0.0, 0.0), (x, y));
    }
    let caps = pipeline.element("out").static_pad("sink").unwrap().current_caps();
    assert_eq!(
        caps.and_then(|caps| caps.structure(0)?.get::<String>("tensor-roi").ok()).as_deref(),
        Some("tiles")
    );
    pipeline.stop();
}

#[test]
fn classes_of_fixed_regions_are_objects_as_large_as_they_are() {
    let pipeline = pipeline_of(&format!(
        "fusedpreproc roi=list regions=\"60,100,8,8;0,0,10,20\" ! trtinfer model={} batch-size=2 ! classify top-k=1",
        model("colours")
    ));
    let buffer = through(&pipeline, &[SMALL, ([0, 0, 10, 20], BLUE)]);
    let regions: Vec<_> = buffer
        .iter_meta::<gst_video::VideoRegionOfInterestMeta>()
        .map(|meta| (meta.roi_type().to_owned(), meta.id(), meta.rect()))
        .collect();
    assert_eq!(regions, [("red".into(), 0, (60, 100, 8, 8)), ("blue".into(), 1, (0, 0, 10, 20))]);
    pipeline.stop();
}

/// A picture in which no two pixels of a row or column are the same.
fn varied() -> Vec<u8> {
    let pixel = |x: usize, y: usize| [x, y, (7 * x + 3 * y) % 256].map(|v| u8::try_from(v).unwrap());
    (0..SIDE).flat_map(|y| (0..SIDE).flat_map(move |x| pixel(x, y))).collect()
}

/// The tensors of one frame of this width and height.
fn tensors(pixels: Vec<u8>, [width, height]: [usize; 2], pre: &str) -> Vec<TensorSet> {
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width={width},height={height},framerate=25/1 \
         ! fusedpreproc {pre} ! fakesink name=out"
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    let mut buffer = gst::Buffer::from_mut_slice(pixels);
    buffer.get_mut().unwrap().set_pts(gst::ClockTime::ZERO);
    push(&pipeline.element("in"), buffer);
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    pipeline.stop();
    let buffer = out.lock().unwrap().remove(0);
    TensorSet::of(&buffer).unwrap()
}

#[test]
fn tiles_of_whole_pixels_are_what_frames_of_their_own_would_be() {
    for how in [
        "resize=letterbox interpolation=bilinear",
        "resize=letterbox-top-left interpolation=area",
        "resize=stretch interpolation=pil-bicubic",
    ] {
        let how = format!("{how} width=48 height=32");
        let cut = format!("roi=tiles tile-size=100 overlap=0.2 whole=true roi-crop=pixels {how}");
        let sets = tensors(varied(), [SIDE, SIDE], &cut);
        assert_eq!(sets.len(), 10);
        let starts = [0, 80, 156];
        let mut parts: Vec<_> = starts.iter().flat_map(|y| starts.map(|x| [x, *y, 100])).collect();
        parts.push([0, 0, SIDE]);
        let frame = varied();
        for (set, [x, y, side]) in sets.iter().zip(parts) {
            let rows = (y..y + side).flat_map(|row| &frame[(row * SIDE + x) * 3..][..side * 3]);
            // Rows of a video frame begin at multiples of four bytes, as these do.
            let own = &tensors(rows.copied().collect(), [side, side], &how)[0];
            let bytes = |set: &TensorSet| set.tensors[0].map().unwrap().view().unwrap().to_f32().into_owned();
            assert_eq!(bytes(set), bytes(own), "{how}: {x}, {y}");
            let region = set.region.unwrap();
            assert_eq!((region.rect.x, region.rect.y, region.isolated), (x as f32, y as f32, true));
            let [a, b] = [set, own].map(|set| set.to_frame);
            assert_eq!(a.scale, b.scale);
            for axis in 0..2 {
                // Float64, but the sum adds numbers of different magnitude.
                assert!((a.offset[axis] - b.offset[axis] - [x, y][axis] as f64).abs() < 1e-9, "{a:?} {b:?}");
            }
        }
    }
}

#[test]
fn boxes_of_whole_pixels_end_where_the_bars_begin() {
    // The tensor is square: 12 rows above and below the region of 64x40, which are grey bars here and the frame else.
    let region = "roi=list resize=letterbox roi-crop=pixels regions=\"32,80,64,40\"";
    let across = [60, 76, 8, 16];
    assert_eq!(found(region, "", "", &[(across, RED)]), [seen("red", [60.0, 80.0, 8.0, 12.0], 96.0)]);
    // Bright bars are red, green and blue all over the tensor; what is found ends at the region.
    let bright = format!("{region} padding=255");
    let rect = [32.0, 80.0, 64.0, 40.0];
    let all = found(&bright, "", "merge=none", &[]);
    assert_eq!(all.iter().map(|(_, found, _)| *found).collect::<Vec<_>>(), [rect; 3]);
}

#[test]
fn embeddings_and_classes_of_a_fixed_region_are_on_one_object() {
    let pipeline = pipeline_of(&format!(
        "fusedpreproc roi=list roi-crop=pixels regions=\"60,100,8,8;0,0,10,20\" ! trtinfer model={} batch-size=2 ! embed \
         ! classify output=colour top-k=1",
        model("attributes")
    ));
    let buffer = through(&pipeline, &[SMALL, ([0, 0, 10, 20], BLUE)]);
    let regions: Vec<_> =
        buffer.iter_meta::<gst_video::VideoRegionOfInterestMeta>().map(|meta| meta.rect()).collect();
    assert_eq!(regions, [(60, 100, 8, 8), (0, 0, 10, 20)]);
    for (object, (wanted, colour)) in
        objects(&buffer).iter().zip([([0.6, -0.8], "red"), ([0.0, 1.0], "blue")])
    {
        let mut values = Vec::new();
        object.embeddings[0].read(&mut values).unwrap();
        assert!(values.iter().zip(wanted).all(|(got, wanted)| (got - wanted).abs() < 1e-5), "{values:?}");
        assert_eq!(
            (object.label.as_str(), &object.classifications[0].labels[..]),
            ("region", &[colour.into()][..])
        );
    }
    pipeline.stop();
}
