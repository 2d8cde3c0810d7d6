//! The operation `associate`: similarity matrices against the CPU's and a reference in f64.

use std::sync::Arc;

use cudainfer_kernels::associate::{COCO_SIGMAS, Costs, CudaCosts, Pose, iou_matrix, oks_matrix};
use cudainfer_kernels::detect::Detection;
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::track;

use super::{Random, stream};

const SIZES: [(usize, usize); 10] =
    [(1, 1), (1, 300), (300, 1), (3, 5), (17, 9), (64, 128), (65, 129), (200, 200), (513, 77), (1500, 1100)];

/// Boxes of a crowd, and among them, now and then, what is no box.
fn boxes(random: &mut Random, count: usize) -> Vec<Rect> {
    const ODD: [f32; 9] = [0.0, -0.0, -7.0, 1e-38, 1e-45, 3e38, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    let one = |_| {
        let mut v = [
            random.range(-50.0, 900.0),
            random.range(-50.0, 500.0),
            random.range(0.01, 200.0),
            random.range(0.01, 300.0),
        ];
        if random.below(8) == 0 {
            v[random.below(4)] = ODD[random.below(ODD.len())];
        }
        Rect { x: v[0], y: v[1], w: v[2], h: v[3] }
    };
    (0..count).map(one).collect()
}

fn usable(r: &Rect) -> bool {
    [r.x, r.y, r.w, r.h].iter().all(|v| v.is_finite()) && r.w > 0.0 && r.h > 0.0
}

fn iou_f64(a: &Rect, b: &Rect) -> f64 {
    if !usable(a) || !usable(b) {
        return 0.0;
    }
    let [[ax, ay, aw, ah], [bx, by, bw, bh]] = [a, b].map(|r| [r.x, r.y, r.w, r.h].map(f64::from));
    let w = ((ax + aw).min(bx + bw) - ax.max(bx)).max(0.0);
    let h = ((ay + ah).min(by + bh) - ay.max(by)).max(0.0);
    w * h / (aw * ah + bw * bh - w * h)
}

#[test]
#[ignore = "needs a CUDA device"]
fn iou_is_the_cpus_bit_for_bit() {
    let (stream, mut random, mut want) = (stream(), Random::new(1), Vec::new());
    let mut costs = CudaCosts::new(&stream).unwrap();
    for (rows, cols) in SIZES {
        let (a, b) = (boxes(&mut random, rows), boxes(&mut random, cols));
        let got = costs.iou(&stream, &a, &b).unwrap();
        iou_matrix(&a, &b, &mut want);
        assert_eq!(got.len(), want.len());
        for (i, (got, want)) in got.iter().zip(&want).enumerate() {
            let (a, b) = (a[i / cols], b[i % cols]);
            assert_eq!(got.to_bits(), want.to_bits(), "{got} and {want}: {a:?} {b:?}");
            // Corners below 1200 are rounded by 6e-5 px; the sides of most are over 1 px. Areas beyond f32 are cut.
            if a.w.min(a.h).min(b.w).min(b.h) > 1.0 && a.w.max(a.h).max(b.w).max(b.h) < 1e4 {
                assert!((f64::from(*got) - iou_f64(&a, &b)).abs() < 5e-4, "{a:?} {b:?}");
            }
        }
    }
}

type Points = Vec<(f32, f32)>;

fn poses(random: &mut Random, count: usize, keypoints: usize) -> (Vec<Points>, Vec<f32>) {
    let mut pose = |_| {
        let (x, y) = (random.range(0.0, 60.0), random.range(0.0, 60.0));
        let mut point = |_| match random.below(10) {
            0 => (f32::NAN, 1.0),
            _ => (x + random.range(-9.0, 9.0), y + random.range(-9.0, 9.0)),
        };
        // Some have fewer than they should.
        let points = (0..keypoints).map(&mut point).collect::<Points>();
        let area = [0.0, f32::NAN, 900.0, 25.0, 5000.0][random.below(5)];
        (if random.below(20) == 0 { points[..keypoints / 2].to_vec() } else { points }, area)
    };
    (0..count).map(&mut pose).unzip()
}

fn borrowed<'a>((points, areas): &'a (Vec<Points>, Vec<f32>)) -> Vec<Pose<'a>> {
    points.iter().zip(areas).map(|(points, area)| Pose { points, area: *area }).collect()
}

/// COCO's formula, of poses that may lack points.
fn oks_f64(a: &Pose<'_>, b: &Pose<'_>, sigmas: &[f32]) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for (k, sigma) in sigmas.iter().enumerate() {
        let there =
            |pose: &Pose<'_>| pose.points.get(k).copied().filter(|p| p.0.is_finite() && p.1.is_finite());
        let Some(at) = there(a) else { continue };
        count += 1.0;
        let Some(other) = there(b) else { continue };
        let square = |from: f32, to: f32| (f64::from(to) - f64::from(from)).powi(2);
        let variance = (2.0 * f64::from(*sigma)).powi(2);
        let distance = square(at.0, other.0) + square(at.1, other.1);
        sum += (-distance / variance / f64::from(a.area) / 2.0).exp();
    }
    if count > 0.0 && a.area > 0.0 { sum / count } else { 0.0 }
}

#[test]
#[ignore = "needs a CUDA device"]
fn oks_is_the_cpus_but_for_exps_last_bits() {
    let (stream, mut random, mut want) = (stream(), Random::new(2), Vec::new());
    let mut costs = CudaCosts::new(&stream).unwrap();
    let few = [0.3, 0.5];
    for (rows, cols) in SIZES {
        for sigmas in [&COCO_SIGMAS[..], &few] {
            let [a, b] = [rows, cols].map(|n| poses(&mut random, n, sigmas.len()));
            let (a, b) = (borrowed(&a), borrowed(&b));
            let got = costs.oks(&stream, &a, &b, sigmas).unwrap();
            oks_matrix(&a, &b, sigmas, &mut want);
            assert_eq!(got.len(), want.len());
            for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                let (a, b) = (&a[i / cols], &b[i % cols]);
                // Both exps are within 2 of the last places of numbers up to 1, and so is their mean.
                assert!((got - want).abs() <= 5e-7, "{got} and {want}: {a:?} {b:?}");
                // Rounding the exponent x eight times moves exp(-x) by 8 x 6e-8 x/e^x < 2e-7, 17 sums by 1e-6.
                assert!((f64::from(*got) - oks_f64(a, b, sigmas)).abs() < 2e-6, "{got}: {a:?} {b:?}");
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn empty_sets_give_empty_matrices_and_no_keypoints_give_zeros() {
    let stream = stream();
    let mut costs = CudaCosts::new(&stream).unwrap();
    let rect = Rect { x: 0.0, y: 0.0, w: 1.0, h: 1.0 };
    let pose = Pose { points: &[(1.0, 1.0)], area: 1.0 };
    assert!(costs.iou(&stream, &[], &[rect]).unwrap().is_empty());
    assert!(costs.iou(&stream, &[rect], &[]).unwrap().is_empty());
    assert!(costs.oks(&stream, &[], &[pose], &COCO_SIGMAS).unwrap().is_empty());
    assert_eq!(stream.counters().launches.get(), 0);
    assert_eq!(costs.oks(&stream, &[pose], &[pose; 3], &[]).unwrap(), [0.0; 3]);
    assert_eq!(costs.oks(&stream, &[pose], &[pose; 3], &[0.0, f32::NAN]).unwrap(), [0.0; 3]);
    assert_eq!(
        costs.oks(&stream, &[pose], &[pose; 3], &[0.0, 1.0]).unwrap(),
        [0.0; 3],
        "of the second point"
    );
    assert_eq!(costs.oks(&stream, &[pose], &[pose; 3], &[1.0]).unwrap(), [1.0; 3]);
}

#[test]
#[ignore = "needs a CUDA device"]
fn many_objects_go_to_the_gpu_and_few_stay() {
    let (stream, mut random, mut want) = (Arc::new(stream()), Random::new(3), Vec::new());
    let mut costs = Costs::with_gpu(&stream).unwrap();
    for (count, launches) in [(5, 0), (1000, 1), (10, 1), (1000, 2)] {
        let (a, b) = (boxes(&mut random, count), boxes(&mut random, count));
        iou_matrix(&a, &b, &mut want);
        assert!(costs.iou(&a, &b).unwrap() == want);
        assert_eq!(stream.counters().launches.get(), launches);
        assert_eq!(stream.counters().host_waits.get(), launches, "one wait a call");
    }
    let allocations = stream.counters().allocations.get();
    costs.iou(&boxes(&mut random, 900), &boxes(&mut random, 900)).unwrap();
    assert_eq!(stream.counters().allocations.get(), allocations, "there was room");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_crowd_is_tracked_the_same_with_the_gpu() {
    let stream = Arc::new(stream());
    for params in [track::Params::sort(), track::Params::bytetrack()] {
        let mut trackers = [(); 2].map(|()| track::Tracker::new(params.clone()).unwrap());
        trackers[1].use_gpu(&stream).unwrap();
        let mut random = Random::new(5);
        let places: Vec<[f32; 2]> =
            (0..1200).map(|_| [random.range(0.0, 1900.0), random.range(0.0, 1000.0)]).collect();
        for frame in 0..20u8 {
            let crowd: Vec<Detection> = places
                .iter()
                .map(|[x, y]| Detection {
                    rect: Rect { x: x + f32::from(frame) * 2.0 + random.unit(), y: *y, w: 30.0, h: 60.0 },
                    confidence: random.range(0.2, 1.0),
                    class: 0,
                })
                .collect();
            let [one, two] = trackers.each_mut().map(|tracker| {
                let mut tracks = Vec::new();
                tracker.update(&crowd, &mut tracks);
                tracks
            });
            assert_eq!(one, two, "frame {frame}");
        }
        assert!(trackers[1].gpu_failure().is_none());
    }
    assert!(stream.counters().launches.get() >= 20, "the GPU was used");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_crowd_of_poses_is_tracked_the_same_with_the_gpu() {
    let stream = Arc::new(stream());
    for params in [track::Params::sort(), track::Params::bytetrack()] {
        let mut trackers = [(); 2].map(|()| track::Tracker::new(params.clone()).unwrap());
        trackers[1].use_gpu(&stream).unwrap();
        let mut random = Random::new(7);
        // Far enough apart that the last bits of `exp` decide nothing.
        let crowd: Vec<(Rect, Points)> = (0..200u8)
            .map(|i| {
                let (x, y) = (120.0 * f32::from(i % 16), 80.0 * f32::from(i / 16));
                let point = |_| (x + random.range(0.0, 30.0), y + random.range(0.0, 60.0));
                (Rect { x, y, w: 30.0, h: 60.0 }, (0..COCO_SIGMAS.len()).map(point).collect())
            })
            .collect();
        for frame in 0..10u8 {
            let way = 2.0 * f32::from(frame);
            let detections: Vec<Detection> = crowd
                .iter()
                .map(|(rect, _)| Detection {
                    rect: Rect { x: rect.x + way, ..*rect },
                    confidence: 0.9,
                    class: 0,
                })
                .collect();
            // Points are missing now and then, and every seventh object has none in every third frame.
            let mut points: Points = Vec::new();
            for (i, (_, pose)) in crowd.iter().enumerate() {
                let none = i % 7 == 0 && frame % 3 == 1;
                points.extend(pose.iter().map(|(x, y)| {
                    if none || random.below(9) == 0 { (f32::NAN, 0.0) } else { (x + way, *y) }
                }));
            }
            let poses = track::Poses { points: &points, sigmas: &COCO_SIGMAS, around_points: &[] };
            let [one, two] = trackers.each_mut().map(|tracker| {
                let mut tracks = Vec::new();
                tracker.update_poses(&detections, poses, &mut tracks);
                tracks
            });
            assert_eq!(one, two, "frame {frame}");
            let all: Vec<_> = one.iter().map(|track| track.map_or(0, |track| track.id)).collect();
            assert_eq!(all, (1..=200).collect::<Vec<u64>>(), "frame {frame}");
        }
        assert!(trackers[1].gpu_failure().is_none());
    }
    assert!(stream.counters().launches.get() >= 18, "the GPU was used");
}
