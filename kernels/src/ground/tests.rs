//! The ground and speeds, of a camera and of motions that are known.

use proptest::prelude::*;

use super::*;

/// A camera 6 m above the ground that looks 25 degrees down along y, with 1000 pixels of focal length, in a frame of 1920x1080.
fn seen([x, y]: [f64; 2]) -> [f64; 2] {
    let (sin, cos) = 25f64.to_radians().sin_cos();
    let depth = y * cos + 6.0 * sin;
    [960.0 + 1000.0 * x / depth, 540.0 + 1000.0 * (6.0 * cos - y * sin) / depth]
}

const SIZE: [f64; 2] = [1920.0, 1080.0];
/// Far left, far right, near right, near left of a road 7 m wide.
const ROAD: [[f64; 2]; 4] = [[-3.5, 40.0], [3.5, 40.0], [3.5, 8.0], [-3.5, 8.0]];

fn road() -> GroundMap {
    GroundMap::Points { frame: ROAD.map(seen).to_vec(), metres: Metres::Places(ROAD.to_vec()) }
}

#[test]
fn every_pixel_of_the_ground_is_found_from_four_points() {
    let plane = road().plane([1.0; 2], SIZE).unwrap();
    for place in [[0.0, 5.0], [2.0, 20.0], [-12.0, 80.0], [3.5, 8.0], [0.0, 400.0]] {
        let [x, y] = plane.place(seen(place)).unwrap();
        // f64 along a map whose numbers differ by 1e4.
        assert!((x - place[0]).hypot(y - place[1]) < 1e-6, "{place:?}: {x} {y}");
    }
    // The horizon is at 540 - 1000 tan 25 degrees.
    let horizon = 540.0 - 1000.0 * 25f64.to_radians().tan();
    assert_eq!(plane.place([960.0, horizon - 1.0]), None);
    assert!(plane.place([960.0, horizon + 1.0]).unwrap()[1] > 1000.0);
}

#[test]
fn a_rectangle_is_given_by_its_sides_and_fractions_are_of_the_frame() {
    let frame = ROAD.map(seen).map(|[x, y]| [x / SIZE[0], y / SIZE[1]]).to_vec();
    let map = GroundMap::Points { frame, metres: Metres::Rectangle([7.0, 32.0]) };
    let plane = map.plane(SIZE, SIZE).unwrap();
    // From the far left corner to the right and towards the camera.
    let [x, y] = plane.place(seen([0.0, 10.0])).unwrap();
    assert!((x - 3.5).hypot(y - 30.0) < 1e-6, "{x} {y}");
}

#[test]
fn a_matrix_says_the_same_whatever_its_sign() {
    let homography =
        crate::homography::Homography::through(&ROAD.map(seen), &ROAD).expect("the road's corners");
    for sign in [1.0, -0.5] {
        let rows = homography.rows.map(|row| row.map(|v| sign * v));
        let plane = GroundMap::Matrix(rows).plane([1.0; 2], SIZE).unwrap();
        let [x, y] = plane.place(seen([1.0, 15.0])).unwrap();
        assert!((x - 1.0).hypot(y - 15.0) < 1e-6, "{x} {y}");
        assert_eq!(plane.place([960.0, 0.0]), None, "the sky");
    }
}

#[test]
fn a_pixel_far_away_is_more_metres_than_one_nearby() {
    let plane = road().plane([1.0; 2], SIZE).unwrap();
    for place in [[0.0, 10.0], [-3.0, 30.0], [5.0, 60.0]] {
        let pixel = seen(place);
        let covariance = plane.covariance(pixel, [1.0, 2.0]).unwrap();
        // By differences of a hundredth of a pixel.
        let at = |dx: f64, dy: f64| plane.place([pixel[0] + dx, pixel[1] + dy]).unwrap();
        let slope = |axis: usize| {
            let (a, b) =
                if axis == 0 { (at(0.01, 0.0), at(-0.01, 0.0)) } else { (at(0.0, 0.01), at(0.0, -0.01)) };
            [0, 1].map(|k| (a[k] - b[k]) / 0.02)
        };
        let [along, down] = [slope(0), slope(1)];
        for (i, j) in [(0, 0), (0, 1), (1, 1)] {
            let wanted = along[i] * along[j] + 4.0 * down[i] * down[j];
            let got = covariance[i][j];
            // Differences are right to the square of a hundredth of a pixel.
            assert!(
                (got - wanted).abs() <= 1e-4 * (covariance[0][0] * covariance[1][1]).sqrt(),
                "{got} {wanted}"
            );
        }
    }
    let deviation = |y: f64| plane.covariance(seen([0.0, y]), [1.0, 1.0]).unwrap()[1][1].sqrt();
    assert!(deviation(60.0) > 10.0 * deviation(10.0));
}

#[test]
fn ground_that_cannot_be_is_refused_with_its_reason() {
    let points = |frame: &[[f64; 2]], metres: Metres| GroundMap::Points { frame: frame.to_vec(), metres };
    let frame = ROAD.map(seen);
    let rectangle = || Metres::Rectangle([7.0, 32.0]);
    let [a, b, c, d] = frame;
    let middle = [(a[0] + b[0]) / 2.0, (a[1] + b[1]) / 2.0];
    for (map, parts) in [
        (points(&frame[..3], rectangle()), &["3 points, expected four"][..]),
        (points(&[a, b, c, d, a], rectangle()), &["5 points, expected four"]),
        (points(&frame, Metres::Places(ROAD[..2].to_vec())), &["metres has 2 places", "[width, length]"]),
        (points(&frame, Metres::Rectangle([0.0, 32.0])), &["0 m wide", "above 0"]),
        (points(&frame, Metres::Rectangle([7.0, -32.0])), &["-32 m long", "above 0"]),
        (points(&frame, Metres::Rectangle([f64::NAN, 3.0])), &["NaN m wide"]),
        (points(&[a, b, c, [f64::NAN, 1.0]], rectangle()), &["number 4 of points is NaN"]),
        (points(&[a, b, b, d], rectangle()), &["numbers 2 and 3 of points are the same"]),
        (points(&[a, middle, b, d], rectangle()), &["numbers 1, 2 and 3 of points lie on one straight line"]),
        (
            points(&frame, Metres::Places(vec![[0.0, 0.0], [1.0, 1.0], [5.0, 0.0], [2.0, 2.0]])),
            &["numbers 1, 2 and 4 of metres lie on one straight line"],
        ),
        (points(&[a, c, b, d], rectangle()), &["the horizon would pass between these", "same order"]),
        (GroundMap::Matrix([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 0.0, 1.0]]), &["matrix is singular"]),
        (GroundMap::Matrix([[0.0; 3]; 3]), &["matrix is singular"]),
        (GroundMap::Matrix([[1.0, 0.0, 0.0], [0.0, f64::INFINITY, 0.0], [0.0, 0.0, 1.0]]), &["infinite"]),
    ] {
        let error = map.check().unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "'{part}' is not in: {error}");
        }
    }
    assert_eq!(GroundMap::Matrix([[1e-5, 0.0, 0.0], [0.0, 1e5, 0.0], [0.0, 0.0, 1.0]]).check(), Ok(()));
}

/// Numbers of the normal distribution, the same every time.
struct Normal(u64);

impl Normal {
    fn next(&mut self) -> f64 {
        let mut uniform = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        };
        let (a, b) = (uniform(), uniform());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

const FRAME: f64 = 0.04;

fn noise(deviation: f64) -> Covariance {
    [[deviation * deviation, 0.0], [0.0, deviation * deviation]]
}

#[test]
fn the_speed_of_steady_motion_is_found_with_its_direction() {
    for degrees in [0.0, 30.0, 90.0, 200.0, 359.0] {
        let (sin, cos) = f64::to_radians(degrees).sin_cos();
        let at =
            |frame: i32| [10.0 + 8.0 * cos * FRAME * f64::from(frame), 8.0 * sin * FRAME * f64::from(frame)];
        let mut filter = MotionFilter::new(at(0), noise(0.1));
        assert_eq!(filter.motion(), None, "it was seen once");
        for frame in 1..25 {
            filter.see(at(frame), noise(0.1), Some(FRAME));
        }
        let motion = filter.motion().unwrap();
        assert!((motion.speed - 8.0).abs() < 0.02 * 8.0, "{motion:?}");
        assert!((motion.direction.unwrap() - degrees).abs() < 0.5 && motion.is_sure(), "{motion:?}");
    }
}

#[test]
fn the_deviation_is_that_of_the_speeds_that_are_found() {
    let mut normal = Normal(7);
    let (mut squares, mut sum, mut deviations) = (0.0, 0.0, 0.0);
    const TRIALS: usize = 400;
    for _ in 0..TRIALS {
        let mut place = |frame: i32| {
            let error = [normal.next(), normal.next()].map(|v| 0.2 * v);
            [5.0 * FRAME * f64::from(frame) + error[0], error[1]]
        };
        let mut filter = MotionFilter::new(place(0), noise(0.2));
        (1..50).for_each(|frame| filter.see(place(frame), noise(0.2), Some(FRAME)));
        let motion = filter.motion().unwrap();
        squares += (motion.speed - 5.0).powi(2);
        sum += motion.speed;
        deviations += motion.deviation;
    }
    let trials = TRIALS as f64;
    let (found, stated) = ((squares / trials).sqrt(), deviations / trials);
    // The mean of 400 is known to a twentieth of the deviation, and a little more because an error across adds to the speed.
    assert!((sum / trials - 5.0).abs() < 0.02 * 5.0, "{}", sum / trials);
    // The stated one allows for accelerations, too, of which there are none here.
    assert!(found < 1.1 * stated && found > 0.4 * stated, "{found} of {stated}");
}

#[test]
fn what_stands_has_no_direction_and_a_speed_within_its_deviation() {
    let mut normal = Normal(1);
    let mut directions = 0;
    for _ in 0..50 {
        let mut place = || [normal.next(), normal.next()].map(|v| 0.1 * v);
        let mut filter = MotionFilter::new(place(), noise(0.1));
        (0..50).for_each(|_| filter.see(place(), noise(0.1), Some(FRAME)));
        let motion = filter.motion().unwrap();
        assert!(motion.speed < 4.0 * motion.deviation, "{motion:?}");
        directions += u32::from(motion.direction.is_some());
    }
    assert!(directions < 15, "{directions} of 50");
}

#[test]
fn missing_frames_change_nothing_about_the_speed() {
    let at = |seconds: f64| [12.0 * seconds, 3.0];
    let mut filter = MotionFilter::new(at(0.0), noise(0.1));
    let mut last = 0.0;
    // Four of five frames are missing, in irregular gaps.
    for seconds in [0.08, 0.12, 0.4, 0.44, 0.9, 1.0, 1.6, 1.64] {
        filter.see(at(seconds), noise(0.1), Some(seconds - last));
        last = seconds;
    }
    let motion = filter.motion().unwrap();
    assert!((motion.speed - 12.0).abs() < 0.02 * 12.0, "{motion:?}");
}

#[test]
fn it_begins_anew_where_time_is_not_known_is_long_or_the_place_cannot_be() {
    let at = |frame: i32| [0.4 * f64::from(frame), 0.0];
    let moving = || {
        let mut filter = MotionFilter::new(at(0), noise(0.1));
        (1..25).for_each(|frame| filter.see(at(frame), noise(0.1), Some(FRAME)));
        filter
    };
    for (place, seconds) in
        [(at(25), None), (at(25), Some(6.0)), (at(25), Some(-1.0)), ([30.0, 30.0], Some(FRAME))]
    {
        let mut filter = moving();
        filter.see(place, noise(0.1), seconds);
        assert_eq!(filter.motion(), None, "{place:?} {seconds:?}");
        filter.see(place, noise(0.1), Some(FRAME));
        assert!(!filter.motion().unwrap().is_sure());
    }
}

#[test]
fn a_speed_is_not_sure_before_it_can_be() {
    let at = |frame: i32| [0.04 * f64::from(frame), 0.0];
    let mut filter = MotionFilter::new(at(0), noise(0.2));
    let sure: Vec<bool> = (1..60)
        .map(|frame| {
            filter.see(at(frame), noise(0.2), Some(FRAME));
            filter.motion().unwrap().is_sure()
        })
        .collect();
    // Two places 0.2 m wrong and 40 ms apart say nothing about 1 m/s; two seconds of them do.
    assert!(!sure[0] && !sure[3] && sure[50], "{sure:?}");
}

#[test]
fn speeds_are_written_in_their_unit() {
    use crate::words::Words as _;
    let texts: Vec<_> = SpeedUnit::ALL.iter().map(|unit| unit.text(13.89)).collect();
    assert_eq!(texts, [None, Some("50 km/h".into()), Some("13.9 m/s".into()), Some("31 mph".into())]);
}

proptest! {
    #[test]
    fn no_places_make_numbers_that_are_none(
        places in prop::collection::vec((-1e5..1e5f64, -1e5..1e5f64, 0.0..1e6f64, 0.0..6.0f64), 2..40),
    ) {
        let (x, y, deviation, _) = places[0];
        let mut filter = MotionFilter::new([x, y], noise(deviation));
        for (x, y, deviation, seconds) in &places[1..] {
            filter.see([*x, *y], noise(*deviation), Some(*seconds));
            if let Some(motion) = filter.motion() {
                prop_assert!(motion.speed.is_finite() && motion.deviation.is_finite(), "{:?}", motion);
                prop_assert!(motion.direction.is_none_or(|degrees| (0.0..=360.0).contains(&degrees)));
            }
        }
    }
}
