//! The operation `associate`: object keypoint similarity against the CPU's and a reference in f64.

use std::sync::Arc;

use cudainfer_kernels::associate::{COCO_SIGMAS, CudaSimilarity, Pose, Similarity, oks_matrix, oks_pairs};
use cudainfer_kernels::detect::Detection;
use cudainfer_kernels::geometry::Rect;
use cudainfer_kernels::track;
use cudainfer_kernels::words::Words as _;

use super::{Random, stream};

const SIZES: [(usize, usize); 10] =
    [(1, 1), (1, 300), (300, 1), (3, 5), (17, 9), (64, 128), (65, 129), (200, 200), (513, 77), (1500, 1100)];

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
fn oks_is_the_cpus_bit_for_bit() {
    let (stream, mut random, mut want) = (stream(), Random::new(2), Vec::new());
    let mut similarity = CudaSimilarity::new(&stream).unwrap();
    let few = [0.3, 0.5];
    for (rows, cols) in SIZES {
        for sigmas in [&COCO_SIGMAS[..], &few] {
            let [a, b] = [rows, cols].map(|n| poses(&mut random, n, sigmas.len()));
            let (a, b) = (borrowed(&a), borrowed(&b));
            let got = similarity.oks(&stream, &a, &b, sigmas).unwrap();
            oks_matrix(&a, &b, sigmas, &mut want);
            assert_eq!(got.len(), want.len());
            for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                let (a, b) = (&a[i / cols], &b[i % cols]);
                assert_eq!(got.to_bits(), want.to_bits(), "{got} and {want}: {a:?} {b:?}");
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
    let mut similarity = CudaSimilarity::new(&stream).unwrap();
    let pose = Pose { points: &[(1.0, 1.0)], area: 1.0 };
    assert!(similarity.oks(&stream, &[pose], &[], &COCO_SIGMAS).unwrap().is_empty());
    assert!(similarity.oks(&stream, &[], &[pose], &COCO_SIGMAS).unwrap().is_empty());
    assert_eq!(stream.counters().launches.get(), 0);
    assert_eq!(similarity.oks(&stream, &[pose], &[pose; 3], &[]).unwrap(), [0.0; 3]);
    assert_eq!(similarity.oks(&stream, &[pose], &[pose; 3], &[0.0, f32::NAN]).unwrap(), [0.0; 3]);
    assert_eq!(
        similarity.oks(&stream, &[pose], &[pose; 3], &[0.0, 1.0]).unwrap(),
        [0.0; 3],
        "of the second point"
    );
    assert_eq!(similarity.oks(&stream, &[pose], &[pose; 3], &[1.0]).unwrap(), [1.0; 3]);
}

#[test]
#[ignore = "needs a CUDA device"]
fn many_poses_go_to_the_gpu_and_few_stay() {
    let (stream, mut random) = (Arc::new(stream()), Random::new(3));
    let (mut want, mut got) = (Vec::new(), Vec::new());
    let mut similarity = Similarity::with_gpu(&stream).unwrap();
    let mut compare = |similarity: &mut Similarity, count| {
        let [a, b] = [(); 2].map(|()| poses(&mut random, count, COCO_SIGMAS.len()));
        let (a, b) = (borrowed(&a), borrowed(&b));
        oks_pairs(&a, &b, &COCO_SIGMAS, |i, j| (i + j) % 7 != 0, &mut want);
        similarity.oks(&a, &b, &COCO_SIGMAS, |i, j| (i + j) % 7 != 0, &mut got);
        assert!(got == want && !got.is_empty());
    };
    for (count, launches) in [(5, 0), (300, 1), (10, 1), (300, 2)] {
        compare(&mut similarity, count);
        assert_eq!(stream.counters().launches.get(), launches);
        assert_eq!(stream.counters().host_waits.get(), launches, "one wait a call");
    }
    let allocations = stream.counters().allocations.get();
    compare(&mut similarity, 250);
    assert_eq!(stream.counters().allocations.get(), allocations, "there was room");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_crowd_of_poses_is_tracked_the_same_with_the_gpu() {
    let stream = Arc::new(stream());
    for params in track::Algorithm::ALL.iter().copied().map(track::TrackParams::of) {
        let mut trackers = [(); 2].map(|()| track::Tracker::new(params.clone()).unwrap());
        trackers[1].use_gpu(&stream).unwrap();
        let mut random = Random::new(7);
        // Close together, so that the last bits decide who is who.
        let crowd: Vec<(Rect, Points)> = (0..200u8)
            .map(|i| {
                let (x, y) = (12.0 * f32::from(i % 16), 8.0 * f32::from(i / 16));
                let point = |_| (x + random.range(0.0, 30.0), y + random.range(0.0, 60.0));
                (Rect { x, y, w: 30.0, h: 60.0 }, (0..COCO_SIGMAS.len()).map(point).collect())
            })
            .collect();
        for number in 0..10u8 {
            let way = 2.0 * f32::from(number);
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
                let none = i % 7 == 0 && number % 3 == 1;
                points.extend(pose.iter().map(|(x, y)| {
                    let (dx, dy) = (random.range(-4.0, 4.0), random.range(-4.0, 4.0));
                    if none || random.below(9) == 0 { (f32::NAN, 0.0) } else { (x + way + dx, y + dy) }
                }));
            }
            let poses = track::Poses { points: &points, sigmas: &COCO_SIGMAS, around_points: &[] };
            let [one, two] = trackers.each_mut().map(|tracker| {
                let mut tracks = Vec::new();
                let frame = track::TrackerInput { poses, ..track::TrackerInput::of(&detections) };
                tracker.update_frame(&frame, &mut tracks);
                tracks
            });
            assert_eq!(one, two, "frame {number}");
            assert!(
                number == 0 || one.iter().flatten().count() > 100,
                "frame {number}: there are tracks to compare"
            );
        }
        assert!(trackers[1].gpu_failure().is_none());
    }
    assert!(stream.counters().launches.get() >= 18, "the GPU was used");
}
