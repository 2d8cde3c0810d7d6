//! Against DeepLabCut's own Assembler (deeplabcut.txt, which tools/cudainfer_tools/reference/deeplabcut_assembly.py has made), and
//! one rule at a time.

use super::*;
use crate::group::paf::ScoredPeaks;

const FRAMES: &str = include_str!("deeplabcut.txt");
/// The Assembler's `pcutoff`; peakfind's `threshold` here.
const LEAST: f32 = 0.1;

/// The number of each point's peak.
type Numbers = Vec<Option<usize>>;

/// What is joined, and what the Assembler has made of it.
#[derive(Default)]
struct Frame {
    most: usize,
    edges: Vec<[usize; 2]>,
    /// Of each point.
    peaks: Vec<Vec<Keypoint>>,
    /// Of each edge, from each peak of its first point to each of its second.
    lines: Vec<Vec<f32>>,
    animals: Vec<(f32, Numbers)>,
}

impl Frame {
    fn params(&self) -> PafParams {
        let params = PafParams::new(PafConvention::DeepLabCut, self.peaks.len(), &self.edges);
        PafParams { max_poses: self.most, ..params }
    }

    fn group(&self) -> Vec<Pose> {
        self.group_with(&self.params()).0
    }

    fn group_with(&self, params: &PafParams) -> (Vec<Pose>, usize) {
        let mut peaks = ScoredPeaks::new(params).unwrap();
        for (point, of_point) in self.peaks.iter().enumerate() {
            for (place, at) in of_point.iter().enumerate().filter(|(_, at)| at.score >= LEAST) {
                peaks.push(point, place, *at);
            }
        }
        peaks.group(|edge, from, to| {
            let [_, second] = self.edges[edge];
            self.lines[edge][from * self.peaks[second].len() + to]
        })
    }

    /// Each instance's score and peaks, in an order of their own.
    fn numbered(&self, poses: &[Pose]) -> Vec<(f32, Numbers)> {
        let number = |(point, at): (usize, &Option<Keypoint>)| {
            at.map(|at| self.peaks[point].iter().position(|peak| *peak == at).unwrap())
        };
        let numbers = |pose: &Pose| pose.points.iter().enumerate().map(number).collect();
        sorted(poses.iter().map(|pose| (pose.score, numbers(pose))).collect())
    }
}

fn sorted(mut animals: Vec<(f32, Numbers)>) -> Vec<(f32, Numbers)> {
    animals.sort_by(|a, b| a.1.cmp(&b.1));
    animals
}

fn numbers<'a, T: std::str::FromStr>(words: impl Iterator<Item = &'a str>) -> Vec<T> {
    words.map(|word| word.parse().ok().unwrap()).collect()
}

fn frames(text: &str) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let kind = words.next().unwrap();
        if kind == "frame" {
            let most = words.nth(1).unwrap().parse().unwrap();
            let edges = words.map(|edge| numbers(edge.split('-')).try_into().unwrap()).collect();
            frames.push(Frame { most, edges, ..Frame::default() });
            continue;
        }
        let frame = frames.last_mut().unwrap();
        match kind {
            "peaks" => {
                let peak = |word: &str| {
                    let [x, y, score] = numbers(word.split(',')).try_into().unwrap();
                    Keypoint { x, y, z: None, score }
                };
                frame.peaks.push(words.map(peak).collect());
            }
            "lines" => frame.lines.push(numbers(words).into_iter().map(|n: f32| n / 1000.0).collect()),
            _ => {
                let score = words.next().unwrap().parse().unwrap();
                frame.animals.push((score, words.map(|word| word.parse().ok()).collect()));
            }
        }
    }
    frames
}

/// How the frames differ.
fn differences(text: &str) -> (Vec<String>, usize) {
    let frames = frames(text);
    let mut found = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        let (got, want) = (frame.numbered(&frame.group()), sorted(frame.animals.clone()));
        let same = got.len() == want.len()
            && got.iter().zip(&want).all(|(got, want)| got.1 == want.1 && (got.0 - want.0).abs() < 1e-5);
        if !same {
            found.push(format!("frame {at}: {got:?}, not {want:?}"));
        }
    }
    (found, frames.len())
}

#[test]
fn animals_are_those_of_deeplabcuts_assembler() {
    let (differences, frames) = differences(FRAMES);
    assert!(frames >= 200);
    assert!(differences.is_empty(), "{} of {frames}: {}", differences.len(), differences.join("\n"));
}

/// Three points, all edges between them, and up to two animals.
const TRIANGLE: [[usize; 2]; 3] = [[0, 1], [0, 2], [1, 2]];

/// Peaks at these places, and lines as `[edge, from, to]`; the others have a score of 0.
fn frame(edges: &[[usize; 2]], places: &[&[[f32; 2]]], lines: &[([usize; 3], f32)]) -> Frame {
    let peak = |[x, y]: &[f32; 2]| Keypoint { x: *x, y: *y, z: None, score: 0.9 };
    let peaks: Vec<Vec<Keypoint>> =
        places.iter().map(|of_point| of_point.iter().map(peak).collect()).collect();
    let mut scores: Vec<Vec<f32>> =
        edges.iter().map(|[from, to]| vec![0.0; peaks[*from].len() * peaks[*to].len()]).collect();
    for ([edge, from, to], score) in lines {
        scores[*edge][from * peaks[edges[*edge][1]].len() + to] = *score;
    }
    Frame { most: 2, edges: edges.to_vec(), peaks, lines: scores, animals: Vec::new() }
}

fn near(found: Vec<(f32, Numbers)>, wanted: &[(f32, Numbers)]) {
    assert_eq!(found.len(), wanted.len(), "{found:?}");
    for (found, wanted) in found.iter().zip(wanted) {
        assert!((found.0 - wanted.0).abs() < 1e-6 && found.1 == wanted.1, "{found:?}, not {wanted:?}");
    }
}

#[test]
fn all_edges_of_a_circle_join_and_count() {
    let places: [&[[f32; 2]]; 3] = [&[[0.0, 0.0]], &[[9.0, 0.0]], &[[0.0, 9.0]]];
    let all = frame(&TRIANGLE, &places, &[([0, 0, 0], 0.9), ([1, 0, 0], 0.6), ([2, 0, 0], 0.3)]);
    near(all.numbered(&all.group()), &[(0.6, vec![Some(0); 3])]);
    // Without the first edge, the others join.
    let two = frame(&TRIANGLE, &places, &[([1, 0, 0], 0.6), ([2, 0, 0], 0.3)]);
    near(two.numbered(&two.group()), &[(0.45, vec![Some(0); 3])]);
    // The line that is too weak is none, and one alone is no animal.
    let one = frame(&TRIANGLE, &places, &[([1, 0, 0], 0.6), ([2, 0, 0], 0.04)]);
    assert_eq!(one.group(), []);
}

#[test]
fn an_animal_grows_along_its_strongest_line() {
    // Both peaks of the third point lead to the first animal's; the stronger line takes its own.
    let places: [&[[f32; 2]]; 3] = [&[[0.0, 0.0]], &[[9.0, 0.0]], &[[0.0, 9.0], [9.0, 9.0]]];
    let found = frame(&TRIANGLE, &places, &[([0, 0, 0], 0.9), ([1, 0, 0], 0.5), ([2, 0, 1], 0.7)]);
    near(found.numbered(&found.group()), &[(0.8, vec![Some(0), Some(0), Some(1)])]);
}

#[test]
fn an_animal_that_lies_in_a_stronger_one_is_dropped() {
    let lines = [0, 1]
        .map(|at| TRIANGLE.iter().enumerate().map(move |(edge, _)| ([edge, at, at], 0.9 - 0.3 * at as f32)));
    let lines: Vec<_> = lines.into_iter().flatten().collect();
    let apart: [&[[f32; 2]]; 3] =
        [&[[0.0, 0.0], [50.0, 0.0]], &[[9.0, 0.0], [59.0, 0.0]], &[[0.0, 9.0], [50.0, 9.0]]];
    let apart = frame(&TRIANGLE, &apart, &lines);
    near(apart.numbered(&apart.group()), &[(0.9, vec![Some(0); 3]), (0.6, vec![Some(1); 3])]);
    // The box of one is the other's, and both have all of their points in it.
    let same: [&[[f32; 2]]; 3] =
        [&[[0.0, 0.0], [0.0, 0.0]], &[[9.0, 0.0], [9.0, 9.0]], &[[0.0, 9.0], [0.0, 9.0]]];
    let same = frame(&TRIANGLE, &same, &lines);
    assert_eq!(same.group().iter().map(|pose| (pose.score * 10.0).round()).collect::<Vec<_>>(), [9.0]);
}

#[test]
fn the_strongest_peaks_are_as_many_as_animals() {
    let places: [&[[f32; 2]]; 3] =
        [&[[0.0, 0.0], [50.0, 0.0]], &[[9.0, 0.0], [59.0, 0.0]], &[[0.0, 9.0], [50.0, 9.0]]];
    let lines: Vec<_> = (0..6).map(|at| ([at % 3, at / 3, at / 3], 0.5)).collect();
    let mut found = frame(&TRIANGLE, &places, &lines);
    assert_eq!(found.group().len(), 2);
    found.most = 1;
    for of_point in &mut found.peaks {
        of_point[0].score = 0.3;
    }
    near(found.numbered(&found.group()), &[(0.5, vec![Some(1); 3])]);
}

#[test]
fn a_line_that_is_not_finite_counts_as_none_and_is_counted() {
    let places: [&[[f32; 2]]; 3] = [&[[0.0, 0.0]], &[[9.0, 0.0]], &[[0.0, 9.0]]];
    let found = frame(&TRIANGLE, &places, &[([0, 0, 0], f32::NAN), ([1, 0, 0], 0.6), ([2, 0, 0], 0.3)]);
    let (poses, non_finite) = found.group_with(&found.params());
    assert_eq!(non_finite, 1);
    near(found.numbered(&poses), &[(0.45, vec![Some(0); 3])]);
}

#[test]
fn fields_and_scored_lines_have_conventions_of_their_own() {
    let new = |convention| ScoredPeaks::new(&PafParams::new(convention, 3, &TRIANGLE[1..])).map(|_| ());
    assert_eq!(new(PafConvention::OpenPose), Err(GroupError::NoSamples));
    assert_eq!(new(PafConvention::DeepLabCut), Ok(()));
    let [maps, fields] = ["m:float32:1x3x8x8", "f:float32:1x6x8x8"].map(|text| text.parse().unwrap());
    let paf = PafParams::new(PafConvention::DeepLabCut, 3, &TRIANGLE);
    let error = PafGrouper::new(&maps, &fields, [64, 64], peaks(), &paf).unwrap_err();
    assert_eq!(error, GroupError::Unscored);
    assert!(error.to_string().contains("scripts/export deeplabcut"), "{error}");
}
