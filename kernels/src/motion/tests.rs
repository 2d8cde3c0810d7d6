use proptest::prelude::*;

use super::*;
use crate::camera::Picture;

const SIZE: [usize; 2] = [160, 100];
const FRAME: [usize; 2] = [1600, 1000];

/// A scene with a bright square of `side` pixels of the picture, and noise of one gray level.
fn scene(square: Option<[usize; 2]>, side: usize, light: i32) -> Vec<u8> {
    let pixel = |i: usize| {
        let (x, y) = (i % SIZE[0], i / SIZE[0]);
        let inside = square
            .is_some_and(|[left, top]| (left..left + side).contains(&x) && (top..top + side).contains(&y));
        let noise = ((i * 7919) % 3) as i32 - 1;
        let gray = if inside { 230 } else { 40 + x as i32 } + noise + light;
        gray.clamp(0, 255) as u8
    };
    (0..SIZE[0] * SIZE[1]).map(pixel).collect()
}

fn see(background: &mut Background, pixels: &[u8], elapsed: f64) -> Option<Moving> {
    background.update(&Picture::new(pixels, SIZE, FRAME).unwrap(), elapsed)
}

fn still() -> Option<Moving> {
    Some(Moving::default())
}

#[test]
fn what_comes_into_an_empty_scene_is_found_and_becomes_background_when_it_stays() {
    let mut background = Background::new(MotionParams::default());
    assert_eq!(see(&mut background, &scene(None, 0, 0), 0.0), None, "the first picture is the background");
    assert_eq!(see(&mut background, &scene(None, 0, 2), 0.2), still(), "noise and clouds are no motion");
    let with = scene(Some([20, 30]), 8, 0);
    let found = see(&mut background, &with, 0.2).unwrap();
    assert_eq!(found, Moving { boxes: vec![Rect { x: 200.0, y: 300.0, w: 80.0, h: 80.0 }], all_new: false });
    let mut seconds = 0.0;
    while see(&mut background, &with, 0.2) != still() {
        seconds += 0.2;
        assert!(seconds < 120.0, "it never becomes background");
    }
    assert!(seconds > 10.0, "it is background after {seconds} s");
    assert_ne!(see(&mut background, &scene(None, 0, 0), 0.2), still(), "it goes");
    background.reset();
    assert_eq!(see(&mut background, &scene(None, 0, 0), 0.2), None);
}

#[test]
fn the_background_does_not_depend_on_the_frame_rate() {
    let seconds_until_still = |rate: f64| {
        let mut background = Background::new(MotionParams::default());
        see(&mut background, &scene(None, 0, 0), 0.0);
        let with = scene(Some([20, 30]), 8, 0);
        let frames = (1..10_000).find(|_| see(&mut background, &with, 1.0 / rate) == still()).unwrap();
        f64::from(frames) / rate
    };
    let [slow, fast] = [5.0, 30.0].map(seconds_until_still);
    assert!((slow - fast).abs() < 1.0, "{slow} s at 5 frames a second, {fast} s at 30");
}

#[test]
fn small_areas_and_masked_ones_do_not_count() {
    let moves = |params: MotionParams, side: usize| {
        let mut background = Background::new(params);
        see(&mut background, &scene(None, 0, 0), 0.0);
        !see(&mut background, &scene(Some([20, 30]), side, 0), 0.2).unwrap().boxes.is_empty()
    };
    let params = MotionParams::default();
    assert!(!moves(params.clone(), 3), "9 pixels");
    assert!(moves(params.clone(), 4), "16 pixels");
    assert!(!moves(MotionParams { contour_area: 17, ..params.clone() }, 4));
    let square = |left: f64| vec![[left, 0.2], [left + 0.2, 0.2], [left + 0.2, 0.6], [left, 0.6]];
    assert!(!moves(MotionParams { masks: vec![square(0.1)], ..params.clone() }, 4));
    assert!(moves(MotionParams { masks: vec![square(0.4)], ..params }, 4));
}

#[test]
fn light_that_changes_is_seen_once() {
    let mut background = Background::new(MotionParams::default());
    see(&mut background, &scene(None, 0, 0), 0.0);
    let lit = see(&mut background, &scene(None, 0, 50), 0.2).unwrap();
    assert_eq!(lit, Moving { boxes: vec![Rect { x: 0.0, y: 0.0, w: 1600.0, h: 1000.0 }], all_new: true });
    assert_eq!(see(&mut background, &scene(None, 0, 50), 0.2), still());
}

#[test]
fn in_the_dark_a_smaller_difference_is_motion() {
    let dark = |square: bool| -> Vec<u8> {
        let pixel = |(i, gray): (usize, u8)| {
            let inside = square && (20..28).contains(&(i % SIZE[0])) && (30..38).contains(&(i / SIZE[0]));
            gray / 8 + if inside { 12 } else { 0 }
        };
        scene(None, 0, 0).into_iter().enumerate().map(pixel).collect()
    };
    let mut background = Background::new(MotionParams::default());
    see(&mut background, &dark(false), 0.0);
    assert_eq!(see(&mut background, &dark(false), 0.2), still());
    assert_eq!(see(&mut background, &dark(true), 0.2).unwrap().boxes.len(), 1);
}

#[test]
fn two_things_have_two_boxes_and_parts_of_one_have_one() {
    let mut background = Background::new(MotionParams::default());
    see(&mut background, &scene(None, 0, 0), 0.0);
    let [mut near, far] = [[20, 30], [100, 60]].map(|at| scene(Some(at), 6, 0));
    for (pixel, other) in near.iter_mut().zip(far) {
        *pixel = (*pixel).max(other);
    }
    // A line of the background's brightness through the first.
    for y in 30..36 {
        near[y * SIZE[0] + 22] = 62;
    }
    let boxes = see(&mut background, &near, 0.2).unwrap().boxes;
    let wanted = [[1000.0, 600.0], [200.0, 300.0]].map(|[x, y]| Rect { x, y, w: 60.0, h: 60.0 });
    assert_eq!(boxes, wanted);
}

#[test]
fn pictures_have_a_hundred_pixels_on_the_shorter_side() {
    for (frame, wanted) in [
        ([1920, 1080], [192, 108]),
        ([1080, 1920], [108, 192]),
        ([768, 576], [153, 115]),
        ([64, 48], [64, 48]),
        ([1, 1], [1, 1]),
    ] {
        assert_eq!(picture_size(frame[0], frame[1]), wanted);
    }
}

#[test]
fn regions_have_the_detectors_size_and_shape_and_boxes_share_them() {
    let rect = |x: f32, y: f32, side: f32| Rect { x, y, w: side, h: side };
    let near = [rect(100.0, 100.0, 40.0), rect(200.0, 180.0, 30.0)];
    let found = regions(&near, [1920, 1080], [320, 320], 8);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!([found[0].w, found[0].h], [320.0, 320.0]);
    let far = [near[0], rect(1500.0, 900.0, 40.0)];
    assert_eq!(regions(&far, [1920, 1080], [320, 320], 8).len(), 2);
    let whole = Rect { x: 0.0, y: 0.0, w: 1920.0, h: 1080.0 };
    assert_eq!(regions(&far, [1920, 1080], [320, 320], 1), [whole], "too many");
    assert_eq!(regions(&[rect(0.0, 0.0, 1060.0)], [1920, 1080], [320, 320], 8), [whole], "too large");
    let large = regions(&[rect(600.0, 300.0, 400.0)], [1920, 1080], [320, 160], 8);
    assert_eq!(large.len(), 1);
    assert!((large[0].w / large[0].h - 2.0).abs() < 1e-4, "{large:?}");
    assert_eq!(regions(&[], [1920, 1080], [320, 320], 8), []);
}

proptest! {
    #[test]
    fn regions_lie_in_the_frame_and_show_all_boxes(
        corners in prop::collection::vec((0.0_f32..1800.0, 0.0_f32..1000.0, 1.0_f32..400.0, 1.0_f32..400.0), 1..20),
        least in (32_usize..700, 32_usize..700),
    ) {
        let rects: Vec<Rect> = corners
            .into_iter()
            .map(|(x, y, w, h)| Rect::from_corners(x, y, (x + w).min(1920.0), (y + h).min(1080.0)))
            .collect();
        let found = regions(&rects, [1920, 1080], [least.0, least.1], 8);
        prop_assert!(!found.is_empty() && found.len() <= 8);
        for region in &found {
            prop_assert!(region.x >= 0.0 && region.y >= 0.0);
            prop_assert!(region.right() <= 1920.01 && region.bottom() <= 1080.01);
        }
        for rect in &rects {
            let shown = found.iter().any(|region| {
                let edges = [region.x - rect.x, region.y - rect.y, rect.right() - region.right(), rect.bottom() - region.bottom()];
                edges.iter().all(|over| *over <= 0.05)
            });
            prop_assert!(shown, "{rect:?} is in none of {found:?}");
        }
    }
}
