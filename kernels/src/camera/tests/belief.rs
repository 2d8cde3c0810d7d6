//! Answers that must not be believed, and corners that must not count.

use super::super::estimator::believed;
use super::super::ransac::{Agreement, Pair, agree};
use super::*;

#[test]
fn what_shows_no_motion_gives_none() {
    let scene = still(SIZE, 12);
    let flat = vec![90; SIZE[0] * SIZE[1]];
    let faint = rendered(SIZE, |x, y| 90.0 + 3.0 * noise(x, y, 5.0, 1));
    let other = still(SIZE, 13);
    let stripes = rendered(SIZE, |_, y| 128.0 + 100.0 * (y / 5.0).sin());
    let corner = rendered(SIZE, |x, y| if x < 60.0 && y < 60.0 { texture(x, y, 1) } else { 90.0 });
    let pairs = [
        ("flat", &flat, &flat),
        ("faint", &faint, &faint),
        ("gone", &scene, &flat),
        ("appeared", &flat, &scene),
        ("cut", &scene, &other),
        ("along stripes", &stripes, &stripes),
        ("one corner", &corner, &corner),
    ];
    for (name, first, second) in pairs {
        assert_eq!(between(first, second, SIZE, &[]), None, "{name}");
    }
}

#[test]
fn motion_beyond_belief_gives_none() {
    let first = still(SIZE, 14);
    let far = [
        motion(SIZE, 0.0, 1.0, [200.0, 0.0]),
        motion(SIZE, 40.0, 1.0, [0.0, 0.0]),
        motion(SIZE, 0.0, 1.6, [0.0, 0.0]),
    ];
    for wanted in far {
        assert_eq!(between(&first, &moved(SIZE, &wanted, 14), SIZE, &[]), None, "{wanted:?}");
    }
}

#[test]
fn each_limit_of_belief_counts() {
    let of = |degrees, scale, shift| Agreement {
        similarity: motion([1920, 1080], degrees, scale, shift),
        inliers: 40,
        centre: [960.0, 540.0],
        spread: 50.0 * 400.0 * 400.0,
        fitted: 40,
        scatter: 0.4,
    };
    let ask = |agreement: Agreement, followed| believed(&agreement, followed, [1920, 1080], 4.0);
    let good = of(1.0, 1.01, [5.0, 3.0]);
    assert!(ask(good, 100).is_some());
    assert!(ask(good, 101).is_none(), "less than two in five");
    assert!(ask(Agreement { inliers: 9, ..good }, 10).is_none(), "fewer than ten");
    assert!(ask(Agreement { spread: 50.0 * 20.0 * 20.0, ..good }, 40).is_none(), "all in one place");
    assert!(ask(Agreement { scatter: 8.0, ..good }, 40).is_none(), "scattered");
    for (degrees, scale, shift, wanted) in [
        (14.9, 1.0, [0.0, 0.0], true),
        (15.1, 1.0, [0.0, 0.0], false),
        (-15.1, 1.0, [0.0, 0.0], false),
        (180.0, 1.0, [0.0, 0.0], false),
        (0.0, 1.19, [0.0, 0.0], true),
        (0.0, 1.21, [0.0, 0.0], false),
        (0.0, 0.83, [0.0, 0.0], false),
        (0.0, 1.0, [479.0, -269.0], true),
        (0.0, 1.0, [481.0, 0.0], false),
        (0.0, 1.0, [0.0, -271.0], false),
    ] {
        let found = ask(of(degrees, scale, shift), 40);
        assert_eq!(found.is_some(), wanted, "{degrees} {scale} {shift:?}");
    }
    // A twentieth of a pixel of the picture is 0.2 of the frame.
    assert_eq!(ask(of(0.0, 1.0, [0.19, 0.0]), 40), Some(Affine::IDENTITY));
    assert_ne!(ask(of(0.0, 1.0, [0.21, 0.0]), 40), Some(Affine::IDENTITY));
}

#[test]
fn what_moves_slowly_by_itself_does_not_pull_the_answer() {
    let wanted = motion(SIZE, 1.0, 1.01, [2.0, 1.0]);
    // A third moves by 0.6 pixels against the rest: near enough to agree, too far to be fitted to.
    let pairs: Vec<_> = (0..90)
        .map(|i| {
            let from = [0, 1].map(|axis| hash(i, axis, 4) * SIZE[axis as usize] as f64);
            let [x, y] = wanted.point(from);
            Pair { from, to: [x + if i % 3 == 0 { 0.6 } else { 0.0 }, y] }
        })
        .collect();
    let found = agree(&pairs, 1.0).unwrap();
    assert_eq!(found.inliers, 90);
    let affine = believed(&found, 90, SIZE, 1.0).unwrap();
    assert!(error(&affine, &wanted, SIZE) < 0.01, "{found:?}");
    assert!(agree(&pairs[..1], 1.0).is_none() && agree(&[], 1.0).is_none());
}
