//! Tests of every filter, and of the one that remembers observations.

use super::*;

const BOX: Rect = Rect { x: 100.0, y: 50.0, w: 40.0, h: 90.0 };

fn assert_close(a: Rect, b: Rect, tolerance: f32) {
    let close =
        [(a.x, b.x), (a.y, b.y), (a.w, b.w), (a.h, b.h)].iter().all(|(p, q)| (p - q).abs() <= tolerance);
    assert!(close, "{a:?} is not {b:?}");
}

fn a_new_filter_stands_still_on_its_box<M: Motion>() {
    let mut filter = M::new(&BOX);
    assert_close(filter.rect(), BOX, 1e-4);
    filter.predict(1.0, false);
    assert_close(filter.rect(), BOX, 1e-4);
}

fn it_learns_a_constant_velocity<M: Motion>() {
    let at = |frame: u8| Rect { x: 100.0 + 3.0 * f32::from(frame), y: 50.0 - f32::from(frame), ..BOX };
    let mut filter = M::new(&at(0));
    for frame in 1..60 {
        filter.predict(1.0, false);
        filter.update(&at(frame));
    }
    filter.predict(1.0, false);
    filter.predict(1.0, true);
    // Two frames of coasting; 0.2 px is a tenth of the way moved in that time.
    assert_close(filter.rect(), at(61), 0.2);
}

#[test]
fn the_models_start_at_rest_and_learn_velocity() {
    a_new_filter_stands_still_on_its_box::<AreaRatio>();
    a_new_filter_stands_still_on_its_box::<RatioHeight>();
    a_new_filter_stands_still_on_its_box::<WidthHeight<70>>();
    a_new_filter_stands_still_on_its_box::<Observed>();
    it_learns_a_constant_velocity::<AreaRatio>();
    it_learns_a_constant_velocity::<RatioHeight>();
    it_learns_a_constant_velocity::<WidthHeight<70>>();
    it_learns_a_constant_velocity::<Observed>();
}

#[test]
fn what_comes_back_is_filtered_as_if_it_had_been_seen_on_the_straight_way() {
    let at = |frame: u8| Rect { x: 100.0 + 5.0 * f32::from(frame), y: 50.0 + f32::from(frame), ..BOX };
    let (mut seen, mut lost) = (Observed::new(&at(0)), Observed::new(&at(0)));
    for frame in 1..20 {
        seen.predict(1.0, false);
        lost.predict(1.0, matches!(frame, 11..=17));
        seen.update(&at(frame));
        if !matches!(frame, 10..=16) {
            lost.update(&at(frame));
        }
    }
    assert_close(lost.rect(), seen.rect(), 1e-3);
}

#[test]
fn the_direction_is_that_of_the_last_observations_and_agrees_most_straight_on() {
    let mut object = Observed::new(&BOX);
    assert!(object.heading(3).is_none(), "one observation has no direction");
    // To the right first, then down.
    for (dx, dy) in [(10.0, 0.0), (20.0, 0.0), (20.0, 10.0), (20.0, 20.0), (20.0, 30.0)] {
        object.predict(1.0, false);
        object.update(&Rect { x: BOX.x + dx, y: BOX.y + dy, ..BOX });
    }
    object.predict(1.0, false);
    let agrees = |frames, dx, dy| {
        let rect = Rect { x: BOX.x + dx, y: BOX.y + dy, ..BOX };
        object.heading(frames).unwrap().agreement(&rect)
    };
    // Over three frames, from (20, 10), the box went down.
    for (dx, dy, wanted) in [(20.0, 40.0, 0.5), (20.0, 0.0, -0.5), (90.0, 10.0, 0.0), (50.0, 40.0, 0.25)] {
        assert!((agrees(3, dx, dy) - wanted).abs() < 1e-6, "{dx} {dy}: {}", agrees(3, dx, dy));
    }
    // Over five frames it went down and a little to the right.
    assert!(agrees(5, 30.0, 30.0) > agrees(5, 10.0, 30.0));
    // The last two observations count where more frames are between them.
    for _ in 0..40 {
        object.predict(1.0, true);
    }
    object.update(&Rect { x: BOX.x + 20.0, y: BOX.y + 330.0, ..BOX });
    assert!(object.heading(1).unwrap().agreement(&Rect { y: BOX.y + 500.0, x: BOX.x + 20.0, ..BOX }) > 0.49);
}

#[test]
fn a_shrinking_area_does_not_cross_zero_while_lost() {
    let mut filter = AreaRatio::new(&BOX);
    for step in 1..10u8 {
        let size = 1.0 - 0.1 * f32::from(step);
        filter.predict(1.0, false);
        filter.update(&Rect { w: 40.0 * size, h: 90.0 * size, ..BOX });
    }
    for _ in 0..100 {
        filter.predict(1.0, true);
        assert!(filter.rect().w > 0.0 && filter.rect().h.is_finite(), "{:?}", filter.rect());
    }
}

#[test]
fn a_lost_box_keeps_its_height() {
    let mut filter = RatioHeight::new(&BOX);
    for step in 1..10u8 {
        filter.predict(1.0, false);
        filter.update(&Rect { h: 90.0 + 5.0 * f32::from(step), ..BOX });
    }
    filter.predict(1.0, true);
    let height = filter.rect().h;
    for _ in 0..30 {
        filter.predict(1.0, true);
        assert_eq!(filter.rect().h, height);
    }
}
