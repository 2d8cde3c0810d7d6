//! Masks of single objects, against Ultralytics' steps in f64.

use super::super::{Prototypes, Region, SegmentError};
use super::{FLOATS, Logits, Random};
use crate::geometry::Rect;
use crate::preproc::Layout;
use crate::tensor::{TensorDesc, TensorType, TensorView};

/// The regions' masks as whole ones.
fn spread(regions: &[Region], masks: &[u8], [w, h]: [usize; 2]) -> Vec<Vec<u8>> {
    let whole = |region: &Region| {
        let mut mask = vec![0; w * h];
        for i in 0..(region.width * region.height) as usize {
            let (x, y) = (i % region.width as usize, i / region.width as usize);
            mask[(region.y as usize + y) * w + region.x as usize + x] = masks[region.offset as usize + i];
        }
        mask
    };
    regions.iter().map(whole).collect()
}

#[test]
fn masks_are_where_the_sigmoid_is_above_a_half_and_cropped_to_boxes() {
    let mut random = Random::new(8);
    let ([m, h, w], input) = ([7, 9, 17], [68, 36]);
    for layout in [Layout::Nchw, Layout::Nhwc] {
        for ty in FLOATS {
            let values: Vec<f32> = (0..m * h * w).map(|_| random.unit()).collect();
            let prototypes = Logits::new(&values, [m, h, w], layout, ty);
            let plan = Prototypes::new(&prototypes.desc(), input, Some(layout)).unwrap();
            assert_eq!((plan.size(), plan.coefficients()), ([w, h], m));
            let mut boxes: Vec<Rect> = (0..40)
                .map(|_| Rect {
                    x: 60.0 * random.unit(),
                    y: 30.0 * random.unit(),
                    w: 40.0 * (random.unit() + 1.0),
                    h: 20.0 * (random.unit() + 1.0),
                })
                .collect();
            // On cells' edges; empty; everywhere; nowhere.
            boxes.extend([
                Rect::from_corners(8.0, 4.0, 16.0, 12.0),
                Rect::from_corners(9.0, 9.0, 9.0, 30.0),
                Rect::from_corners(-1e9, -1e9, 1e9, 1e9),
                Rect::from_corners(100.0, 5.0, 120.0, 9.0),
                Rect { x: f32::NAN, y: 0.0, w: 9.0, h: 9.0 },
                Rect { x: 3.0, y: 0.0, w: 9.0, h: -9.0 },
            ]);
            let coefficients: Vec<f32> = (0..m * boxes.len()).map(|_| random.unit()).collect();
            let (mut regions, mut ones) = (vec![Region::default(); 3], 0);
            let bytes = plan.regions(&boxes, &mut regions);
            let mut masks = vec![9; bytes];
            let view = TensorView::new("logits", ty, &prototypes.dims, &prototypes.bytes).unwrap();
            plan.run(&view, &coefficients, &regions, &mut masks).unwrap();
            assert!(masks.iter().all(|b| *b <= 1));
            let masks = spread(&regions, &masks, [w, h]);
            assert_eq!(masks.len(), boxes.len());
            for ((mask, object), coefficients) in masks.iter().zip(&boxes).zip(coefficients.chunks_exact(m)) {
                for (i, got) in mask.iter().enumerate() {
                    // crop_mask: r >= x1, r < x2, c >= y1, c < y2, in cells.
                    let within =
                        |i: usize, from: f32, to: f32| i as f32 >= from / 4.0 && (i as f32) < to / 4.0;
                    let within =
                        within(i % w, object.x, object.right()) && within(i / w, object.y, object.bottom());
                    let sum: f64 =
                        (0..m).map(|k| prototypes.values[k * h * w + i] * f64::from(coefficients[k])).sum();
                    // Sums in float32 are exact to 1e-6.
                    if sum.abs() > 1e-6 {
                        let inside = 1.0 / (1.0 + (-sum).exp()) > 0.5;
                        assert_eq!(*got, u8::from(within && inside), "{layout:?} {ty} {object:?} cell {i}");
                        ones += u32::from(*got);
                    }
                }
            }
            assert!(ones > 300, "{ones}");
            assert_eq!((regions[40].x, regions[40].y, regions[40].width, regions[40].height), (2, 1, 2, 2));
            assert_eq!((regions[42].width, regions[42].height), (17, 9));
            assert!([41, 43, 44, 45].iter().all(|i| regions[*i].width == 0 && regions[*i].height == 0));
        }
    }
}

#[test]
fn no_object_is_no_work_and_sizes_that_do_not_go_together_are_refused() {
    let desc = TensorDesc::fixed("protos", TensorType::Float32, &[1, 2, 4, 4]);
    let plan = Prototypes::new(&desc, [16, 16], None).unwrap();
    let data = [0; 128];
    let view = TensorView::new("protos", desc.ty, &[1, 2, 4, 4], &data).unwrap();
    let mut regions = Vec::new();
    assert_eq!(plan.regions(&[], &mut regions), 0);
    plan.run(&view, &[], &regions, &mut []).unwrap();
    let bytes = plan.regions(&[Rect { x: 0.0, y: 0.0, w: 8.0, h: 8.0 }; 2], &mut regions);
    assert_eq!(bytes, 8);
    let refused = |coefficients: usize, regions: &[Region], room: usize| {
        let error = plan.run(&view, &vec![0.0; coefficients], regions, &mut vec![0; room]).unwrap_err();
        matches!(error, SegmentError::Instances { .. }) && error.to_string().contains("Prototypes::regions")
    };
    plan.run(&view, &[0.0; 4], &regions, &mut [0; 8]).unwrap();
    assert!(refused(3, &regions, 8) && refused(4, &regions, 9) && refused(4, &regions[1..], 4));
    regions[1].x = 3;
    assert!(refused(4, &regions, 8));
    regions[1].x = u32::MAX;
    assert!(refused(4, &regions, 8));
    let other = TensorView::new("protos", desc.ty, &[1, 2, 2, 8], &data).unwrap();
    let error = plan.run(&other, &[], &[], &mut []).unwrap_err();
    assert!(error.to_string().contains("protos:float32:1x2x2x8"), "{error}");
}
