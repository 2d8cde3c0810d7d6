#![allow(clippy::float_cmp)]

use half::f16;

use super::*;
use crate::geometry::Affine;
use crate::preproc::{ChannelOrder, Layout};
use crate::tensor::TensorType;

fn desc(text: &str) -> TensorDesc {
    text.parse().unwrap()
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

/// Runs on a tensor of float32 `[1, H, W]`: the summary, and GRAY16 samples if there is a place.
fn map(
    [width, height]: [usize; 2],
    values: &[f32],
    range: Range,
    region: Region,
    place: Option<Place>,
) -> (Summary, Vec<u16>) {
    let dims = [1, height, width];
    let output = TensorDesc::fixed("map", TensorType::Float32, &dims);
    let reader = MapReader::new(&output, MapParams { range, ..MapParams::default() }).unwrap();
    let data = bytes(values);
    let view = TensorView::new("map", TensorType::Float32, &dims, &data).unwrap();
    // Rows with padding, which stays as it is.
    let [w, h] = place.map_or([0, 0], |place| place.size);
    let stride = 2 * w + 2;
    let mut out = vec![0xee; stride * h];
    let picture = place.as_ref().map(|place| Picture { place, out: &mut out, stride });
    let summary = reader.run(&view, &region, picture).unwrap();
    let samples = out.chunks(stride).flat_map(|row| {
        assert_eq!(row[2 * w..], [0xee; 2]);
        row[..2 * w].chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect::<Vec<_>>()
    });
    (summary, samples.collect())
}

fn all(size: [usize; 2]) -> Region {
    Region { first: [0, 0], size }
}

#[test]
fn a_fixed_range_is_linear_and_what_lies_beyond_is_counted() {
    // 2 to 4 metres. 2.00001 and 3.99999 round to the ends; 1.9 and 4.1 are beyond.
    let values = [2.0, 4.0, 3.0, 2.5, 2.00001, 4.00001, 1.9, 4.1];
    let place = Place::of_cells([4, 2], all([4, 2]));
    let (summary, samples) = map([4, 2], &values, Range::Fixed(2.0, 4.0), all([4, 2]), Some(place));
    // 65535/2 = 32767.5 rounds up, 65535/4 = 16383.75.
    assert_eq!(samples, [0, 65535, 32768, 16384, 0, 65535, 0, 65535]);
    assert_eq!((summary.out_of_range, summary.non_finite, summary.finite), (2, 0, 8));
    let [min, mean, max] = summary.min_mean_max().unwrap();
    assert_eq!((min, max), (f64::from(1.9f32), f64::from(4.1f32)));
    // The values themselves are float32.
    let wanted = values.iter().map(|v| f64::from(*v)).sum::<f64>() / 8.0;
    assert!((mean - wanted).abs() < 1e-12);
}

#[test]
fn the_range_of_a_frame_is_that_of_its_finite_numbers() {
    let values = [-3.0, f32::NAN, 1.0, f32::INFINITY, f32::NEG_INFINITY, 0.0];
    let place = Place::of_cells([3, 2], all([3, 2]));
    let (summary, samples) = map([3, 2], &values, Range::Frame, all([3, 2]), Some(place));
    // 0 is three quarters: 49151.25.
    assert_eq!(samples, [0, 0, 65535, 0, 0, 49151]);
    assert_eq!((summary.min, summary.max, summary.sum), (-3.0, 1.0, -2.0));
    assert_eq!((summary.finite, summary.non_finite, summary.out_of_range), (3, 3, 0));
    for flat in [[7.0; 6], [f32::NAN; 6]] {
        let (summary, samples) = map([3, 2], &flat, Range::Frame, all([3, 2]), Some(place));
        assert_eq!(samples, [0; 6]);
        assert_eq!(summary.min_mean_max().is_some(), flat[0] == 7.0);
    }
}

#[test]
fn only_cells_in_the_frame_count() {
    // 40x20 in 8x8 of a letterbox: 5 pixels each, with bars of 2 rows; the map has 4x4 cells.
    let to_frame = Affine::upright([5.0, 5.0], [0.0, -10.0]);
    let region = Region::inside([4, 4], [8, 8], &to_frame, [40, 20]).unwrap();
    assert_eq!(region, Region { first: [0, 1], size: [4, 2] });
    let mut values = [100.0; 16];
    values[4..12].copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0]);
    let place = Place::of_cells([4, 4], region);
    let (summary, samples) = map([4, 4], &values, Range::Frame, region, Some(place));
    assert_eq!((summary.min, summary.max, summary.finite), (1.0, 9.0, 8));
    // Eighths of 65535, rounded half up: 8191.875 and so on.
    assert_eq!(samples, [0, 8192, 16384, 24576, 32768, 40959, 49151, 65535]);
    // A crop shows the middle of the frame only: all of the map is in it.
    let crop = Affine::upright([2.0, 2.0], [10.0, 1.0]);
    assert_eq!(Region::inside([4, 4], [8, 8], &crop, [40, 20]).unwrap(), all([4, 4]));
    // A bar that ends within a cell belongs to it if it covers its centre.
    for (bar, first, rows) in [(0.9, 0, 4), (1.1, 1, 2), (3.5, 1, 2)] {
        let to_frame = Affine::upright([5.0, 5.0], [0.0, -5.0 * bar]);
        let frame = [40, (5.0 * (8.0 - 2.0 * bar)) as usize];
        let found = Region::inside([4, 4], [8, 8], &to_frame, frame).unwrap();
        let rows = if bar == 3.5 { 1 } else { rows };
        let first = if bar == 3.5 { 2 } else { first };
        assert_eq!((found.first[1], found.size[1]), (first, rows), "{bar}");
    }
    for wrong in [
        Affine { skew: [0.1, 0.0], ..Affine::IDENTITY },
        Affine::upright([-1.0, 1.0], [0.0, 0.0]),
        Affine::upright([0.0, 1.0], [0.0, 0.0]),
        Affine::upright([f64::NAN, 1.0], [0.0, 0.0]),
        Affine::upright([1e-12, 1.0], [0.0, 0.0]),
    ] {
        let error = Region::inside([4, 4], [8, 8], &wrong, [40, 20]).unwrap_err();
        assert!(matches!(error, MapError::Place { .. }), "{error}");
    }
}

#[test]
fn pixels_of_the_frame_are_between_the_centres_of_cells_and_never_of_bars() {
    // 8x2 pixels over 4x1 cells of a map with a bar of a row above and below.
    let to_frame = Affine::upright([2.0, 2.0], [0.0, -2.0]);
    let values = [900.0, 900.0, 900.0, 900.0, 0.0, 4.0, 8.0, 65535.0, -900.0, -900.0, -900.0, -900.0];
    let place = Place::of_frame([4, 3], [4, 3], &to_frame, [8, 2]).unwrap();
    let region = Region::inside([4, 3], [4, 3], &to_frame, [8, 2]).unwrap();
    let (_, samples) = map([4, 3], &values, Range::Fixed(0.0, 65535.0), region, Some(place));
    // A quarter and three quarters of the way; the outermost go on.
    let row = [0, 1, 3, 5, 7, 16390, 49153, 65535];
    assert_eq!(samples, [row, row].concat());
    // A crop: pixels outside of what the network saw are 0.
    let crop = Affine::upright([1.0, 1.0], [1.0, 0.0]);
    let place = Place::of_frame([2, 1], [2, 1], &crop, [4, 1]).unwrap();
    let (_, samples) = map([2, 1], &[5.0, 6.0], Range::Fixed(0.0, 65535.0), all([2, 1]), Some(place));
    assert_eq!(samples, [0, 5, 6, 0]);
}

#[test]
fn nan_reaches_no_further_than_the_pixels_that_are_made_of_it() {
    let to_frame = Affine::upright([3.0, 3.0], [0.0, 0.0]);
    let place = Place::of_frame([3, 1], [3, 1], &to_frame, [9, 3]).unwrap();
    let values = [300.0, f32::NAN, 300.0];
    let (summary, samples) = map([3, 1], &values, Range::Fixed(0.0, 65535.0), all([3, 1]), Some(place));
    // The pixels on the outer cells' centres do not depend on the cell that is NaN.
    let row = [300, 300, 0, 0, 0, 0, 0, 300, 300];
    assert_eq!(samples, [row, row, row].concat());
    assert_eq!(summary.non_finite, 1);
}

/// Runs on a picture: RGB.
fn picture(output: &str, data: &[u8], params: MapParams, size: [usize; 2]) -> (Summary, Vec<u8>) {
    let output = desc(output);
    let reader = MapReader::new(&output, MapParams { channels: 3, ..params }).unwrap();
    assert_eq!(reader.size(), size);
    let dims: Vec<usize> = output.dims.iter().map(|d| d.unwrap()).collect();
    let view = TensorView::new(&output.name, output.ty, &dims, data).unwrap();
    let place = Place::of_cells(size, all(size));
    let mut out = vec![0; 3 * size[0] * size[1]];
    let stride = 3 * size[0];
    let summary =
        reader.run(&view, &all(size), Some(Picture { place: &place, out: &mut out, stride })).unwrap();
    (summary, out)
}

#[test]
fn a_picture_is_rgb_whatever_its_layout_type_order_and_normalisation() {
    // Two pixels: (255, 0, 51) and (0, 102, 255).
    let wanted = [255, 0, 51, 0, 102, 255];
    let planes = [1.0, 0.0, 0.0, 0.4, 0.2, 1.0];
    let unit = MapParams { range: Range::Fixed(0.0, 1.0), ..MapParams::default() };
    assert_eq!(picture("p:float32:1x3x1x2", &bytes(&planes), unit, [2, 1]).1, wanted);
    let pixels = [1.0f32, 0.0, 0.2, 0.0, 0.4, 1.0];
    assert_eq!(picture("p:float32:1x1x2x3", &bytes(&pixels), unit, [2, 1]).1, wanted);
    let halves: Vec<u8> = pixels.iter().flat_map(|v| f16::from_f32(*v).to_ne_bytes()).collect();
    assert_eq!(picture("p:float16:1x2x3", &halves, unit, [2, 1]).1, wanted);
    let whole = MapParams { range: Range::Fixed(0.0, 255.0), ..MapParams::default() };
    assert_eq!(picture("p:uint8:1x1x2x3", &wanted, whole, [2, 1]).1, wanted);
    let swapped = MapParams { order: ChannelOrder::Bgr, ..whole };
    assert_eq!(picture("p:uint8:1x1x2x3", &[51, 0, 255, 255, 102, 0], swapped, [2, 1]).1, wanted);
    // As a network's input is normalised: (pixel / 255 - mean) / std.
    let (mean, std) = ([0.5, 0.25, 0.125], [0.25, 0.5, 0.75]);
    let normalised: Vec<f32> =
        wanted.iter().enumerate().map(|(i, v)| (f32::from(*v) / 255.0 - mean[i % 3]) / std[i % 3]).collect();
    assert_eq!(
        picture("p:float32:1x1x2x3", &bytes(&normalised), MapParams { mean, std, ..unit }, [2, 1]).1,
        wanted
    );
    // From -1 to 1, with numbers beyond and NaN.
    let tanh = MapParams { range: Range::Fixed(-1.0, 1.0), ..MapParams::default() };
    let odd = [-1.0, 0.0, 1.0, 1.01, f32::NAN, 1.001];
    let (summary, out) = picture("p:float32:1x1x2x3", &bytes(&odd), tanh, [2, 1]);
    // 1.001 is less than half a sample beyond the end.
    assert_eq!((out, summary.out_of_range, summary.non_finite), (vec![0, 128, 255, 255, 0, 255], 1, 1));
}

#[test]
fn tensors_are_distinguished_by_their_shape() {
    for (text, channels, wanted) in [
        ("m:float32:1x16x24", 1, Some([24, 16])),
        ("m:float16:1x1x16x24", 1, Some([24, 16])),
        ("m:float32:1x16x24x1", 1, Some([24, 16])),
        ("m:uint8:16x24", 1, Some([24, 16])),
        ("m:float32:1x3x16x24", 1, None),
        ("m:float32:1x16", 1, None),
        ("m:float32:1", 1, None),
        ("m:float32:", 1, None),
        ("m:float32:2x16x24", 1, None),
        ("m:float32:1x?x24", 1, None),
        ("m:int64:1x16x24", 1, None),
        ("m:bool:1x16x24", 1, None),
        ("m:float32:1x0x24", 1, None),
        ("m:float32:1x1x16x40000", 1, None),
        ("p:float32:1x3x16x24", 3, Some([24, 16])),
        ("p:float32:3x16x24", 3, Some([24, 16])),
        ("p:float32:1x16x24x3", 3, Some([24, 16])),
        ("p:float32:1x4x16x24", 3, None),
        ("p:float32:1x16x24", 3, None),
        ("p:float32:1x1x3x16x24", 3, None),
    ] {
        let found = shape(&desc(text), channels, None).ok().map(|shape| [shape.width, shape.height]);
        assert_eq!(found, wanted, "{text}");
    }
    let both = desc("p:float32:1x3x8x3");
    assert_eq!(shape(&both, 3, None).unwrap().layout, Layout::Nchw);
    let last = shape(&both, 3, Some(Layout::Nhwc)).unwrap();
    assert_eq!((last.width, last.height), (8, 3));
    assert!(shape(&desc("p:float32:1x3x16x24"), 3, Some(Layout::Nhwc)).is_err());
}

#[test]
fn what_cannot_be_used_is_reported_in_a_sentence() {
    let output = desc("map:float32:1x2x3");
    let refused = |range| {
        MapReader::new(&output, MapParams { range, ..MapParams::default() })
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(refused(Range::Fixed(1.0, 1.0)).contains("set range-min to less than range-max"));
    assert!(refused(Range::Fixed(0.0, f32::NAN)).contains("range"));
    assert!(refused(Range::Fixed(f32::MIN, f32::MAX)).contains("range"));
    assert!(refused(Range::Fixed(0.0, 1e-40)).contains("range"));
    let params = MapParams { channels: 3, std: [1.0, 0.0, 1.0], ..MapParams::default() };
    let error = MapReader::new(&desc("p:float32:1x3x2x2"), params).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("std not 0"));
    let reader = MapReader::new(&output, MapParams::default()).unwrap();
    let data = [0; 32];
    let run = |dims: &[usize], region: Region, room: Option<(usize, usize)>| {
        let count = 4 * dims.iter().product::<usize>();
        let view = TensorView::new("map", TensorType::Float32, dims, &data[..count]).unwrap();
        let (mut out, place) = (vec![0; room.map_or(0, |r| r.0)], Place::of_cells([3, 2], all([3, 2])));
        let picture = room.map(|(_, stride)| Picture { place: &place, out: &mut out, stride });
        reader.run(&view, &region, picture).map_err(|e| e.to_string())
    };
    assert!(run(&[1, 2, 3], all([3, 2]), Some((12, 6))).is_ok());
    assert!(run(&[1, 3, 2], all([3, 2]), None).unwrap_err().contains("renegotiate"));
    assert!(run(&[1, 2, 3], all([3, 3]), None).unwrap_err().contains("cells"));
    assert!(run(&[1, 2, 3], Region { first: [usize::MAX, 0], size: [2, 2] }, None).is_err());
    assert!(run(&[1, 2, 3], Region { first: [0, 0], size: [0, 2] }, None).is_err());
    for room in [(11, 6), (12, 5), (1 << 10, usize::MAX)] {
        assert!(run(&[1, 2, 3], all([3, 2]), Some(room)).unwrap_err().contains("3x2"), "{room:?}");
    }
}
