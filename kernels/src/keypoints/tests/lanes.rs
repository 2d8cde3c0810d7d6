//! Lanes, against the formulas of their networks' own scripts, in f64.

use super::*;
use crate::keypoints::{Lane, LaneAnchors, LaneParams, LaneReader};

const INPUT: [usize; 2] = [800, 320];

/// Numbers from 0 to 1.
fn random(seed: u32) -> impl FnMut() -> f32 {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32 / u32::MAX as f32
    }
}

fn reader(outputs: &[&Output], params: &LaneParams) -> Result<LaneReader, KeypointsError> {
    let descs: Vec<_> = outputs.iter().map(|output| &output.desc).collect();
    LaneReader::new(&descs, INPUT, params)
}

/// The lanes in frames that are twice as wide and half as high as the input, and begin at 10, -4.
fn read(outputs: &[&Output], params: &LaneParams) -> (Vec<Lane>, Outcome) {
    let mut reader = reader(outputs, params).unwrap();
    let views: Vec<_> = outputs.iter().map(|output| output.view()).collect();
    let found = reader.run(&views, &Affine::upright([2.0, 0.5], [10.0, -4.0])).unwrap();
    assert_eq!(reader.run(&views, &Affine::upright([2.0, 0.5], [10.0, -4.0])).unwrap(), found);
    found
}

fn softmax(logits: &[f32]) -> Vec<f64> {
    let powers: Vec<f64> = logits.iter().map(|logit| f64::from(*logit).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// The first of the highest.
fn argmax(numbers: &[f32]) -> usize {
    (0..numbers.len()).rev().max_by(|a, b| numbers[*a].total_cmp(&numbers[*b])).unwrap()
}

/// A point as fractions of the input, and its score.
type Point = Option<(f64, f64, f64)>;

/// Points must lie within a hundredth of a pixel, which float32 leaves of expectations over 200 cells.
fn assert_lanes(found: &[Lane], wanted: &[(Option<usize>, Vec<Point>)]) {
    let numbers = |lanes: &[Lane]| lanes.iter().map(|lane| lane.number).collect::<Vec<_>>();
    assert_eq!(numbers(found), wanted.iter().map(|lane| lane.0).collect::<Vec<_>>());
    for (lane, (_, wanted)) in found.iter().zip(wanted) {
        assert_eq!(lane.pose.points.len(), wanted.len());
        for (point, wanted) in lane.pose.points.iter().zip(wanted) {
            assert_eq!(point.is_some(), wanted.is_some(), "{:?} {wanted:?}", lane.pose.points);
            let (Some(point), Some((x, y, score))) = (point, wanted) else { continue };
            let off = [f64::from(point.x) - (x * 1600.0 + 10.0), f64::from(point.y) - (y * 160.0 - 4.0)];
            assert!(off.iter().all(|off| off.abs() < 0.01), "{point:?} {wanted:?}");
            assert!((f64::from(point.score) - score).abs() < 1e-5, "{point:?} {wanted:?}");
        }
    }
}

#[test]
fn the_first_versions_lanes_are_the_means_of_their_cells() {
    for (cells, rows, anchors) in [
        (
            200,
            18,
            [121, 131, 141, 150, 160, 170, 180, 189, 199, 209, 219, 228, 238, 248, 258, 267, 277, 287]
                .to_vec(),
        ),
        (100, 56, (0..56).map(|i| 64 + 4 * i).collect()),
    ] {
        let mut random = random(rows as u32);
        let at = |cell: usize, row: usize, lane: usize| (cell * rows + row) * 4 + lane;
        let mut values: Vec<f32> = (0..(cells + 1) * rows * 4).map(|_| 6.0 * random()).collect();
        for row in 0..rows {
            // The third lane has two points only, and the others miss some.
            for lane in 0..4 {
                if lane == 2 && row > 1 || random() < 0.3 {
                    values[at(cells, row, lane)] = 7.0;
                }
            }
        }
        let wanted = (0..4).filter_map(|lane| {
            let points: Vec<Point> = (0..rows)
                .map(|row| {
                    let all: Vec<f32> = (0..=cells).map(|cell| values[at(cell, row, lane)]).collect();
                    let mean: f64 =
                        softmax(&all[..cells]).iter().enumerate().map(|(i, p)| p * i as f64).sum();
                    let x = (mean + 0.5) / (cells - 1) as f64;
                    let score = 1.0 - softmax(&all)[cells];
                    (argmax(&all) != cells).then_some((x, f64::from(anchors[row]) / 288.0, score))
                })
                .collect();
            (points.iter().flatten().count() > 2).then_some((Some(lane), points))
        });
        let wanted: Vec<_> = wanted.collect();
        assert!(wanted.len() == 3, "{}", wanted.len());
        let output = Output::new(&format!("lanes:float32:1x{}x{rows}x4", cells + 1), &values);
        let (found, outcome) = read(&[&output], &LaneParams::default());
        assert_eq!(outcome, Outcome::default());
        assert_lanes(&found, &wanted);
        let mean = |points: &[Point]| {
            let scores: Vec<f64> = points.iter().flatten().map(|point| point.2).collect();
            scores.iter().sum::<f64>() / scores.len() as f64
        };
        assert!((f64::from(found[0].pose.score) - mean(&wanted[0].1)).abs() < 1e-5);
        let sure = LaneParams { min_score: Some(found[0].pose.score), ..LaneParams::default() };
        let least = mean(&wanted[0].1) - 1e-5;
        let kept: Vec<_> = wanted.iter().filter(|lane| mean(&lane.1) > least).cloned().collect();
        assert_lanes(&read(&[&output], &sure).0, &kept);
        // A value that is no number takes its own point alone.
        let (row, point) = wanted[0].1.iter().enumerate().find(|(_, point)| point.is_some()).unwrap();
        values[at(0, row, wanted[0].0.unwrap())] = f32::NAN;
        let output = Output::new(&format!("lanes:float32:1x{}x{rows}x4", cells + 1), &values);
        let (found, outcome) = read(&[&output], &LaneParams::default());
        assert_eq!((outcome.non_finite, found[0].pose.points[row]), (1, None), "{point:?}");
        assert_eq!(found[0].pose.found() + 1, wanted[0].1.iter().flatten().count());
    }
}

#[test]
fn the_second_versions_lanes_are_near_their_highest_cells_on_rows_or_columns() {
    let spread = |first: f64, last: f64, count: usize| {
        (0..count).map(|i| first + (last - first) * i as f64 / (count - 1) as f64).collect::<Vec<f64>>()
    };
    for (seed, cells, rows, columns, crop) in [
        (1, [200, 100], spread(0.42, 1.0, 72), spread(0.0, 1.0, 81), 0.6),
        (2, [100, 100], spread(160.0 / 720.0, 710.0 / 720.0, 56), spread(0.0, 1.0, 41), 0.8),
    ] {
        let mut random = random(seed);
        let counts = [rows.len(), columns.len()];
        let mut values = |numbers: usize| (0..numbers).map(|_| 4.0 * random()).collect::<Vec<f32>>();
        let loc = [0, 1].map(|i| values(cells[i] * counts[i] * 4));
        let mut exist = [0, 1].map(|i| values(2 * counts[i] * 4));
        // Lane 1 is on too few rows, lane 0 on enough columns.
        for (axis, lane, every) in [(0, 1, 2), (1, 0, 3)] {
            for index in 0..counts[axis] {
                let is_there = index % every == 0;
                exist[axis][index * 4 + lane] = if is_there { 0.0 } else { 5.0 };
                exist[axis][(counts[axis] + index) * 4 + lane] = 2.0;
            }
        }
        // And on both ends of the cells.
        let mut loc = loc;
        loc[1][0] = 9.0;
        loc[0][(cells[0] - 1) * counts[0] * 4 + 2] = 9.0;
        let lane = |lane: usize| {
            let axis = usize::from(lane == 0 || lane == 3);
            let [cells, count] = [cells[axis], counts[axis]];
            let of =
                |values: &[f32], number: usize, index: usize| values[(number * count + index) * 4 + lane];
            let points: Vec<Point> = (0..count)
                .map(|index| {
                    let exists = [0, 1].map(|number| of(&exist[axis], number, index));
                    let all: Vec<f32> = (0..cells).map(|cell| of(&loc[axis], cell, index)).collect();
                    let highest = argmax(&all);
                    let near: Vec<usize> = (0..cells).filter(|cell| cell.abs_diff(highest) <= 1).collect();
                    let logits: Vec<f32> = near.iter().map(|cell| all[*cell]).collect();
                    let mean: f64 = softmax(&logits).iter().zip(&near).map(|(p, i)| p * *i as f64).sum();
                    let along = (mean + 0.5) / (cells - 1) as f64;
                    let (x, y) = if axis == 0 { (along, rows[index]) } else { (columns[index], along) };
                    // The input begins below the upper part of the picture.
                    (exists[1] > exists[0]).then_some((x, (y - (1.0 - crop)) / crop, softmax(&exists)[1]))
                })
                .collect();
            let found = points.iter().flatten().count() as f64;
            let is_lane = found > count as f64 / if axis == 0 { 2.0 } else { 4.0 };
            is_lane.then_some((Some(lane), points))
        };
        let wanted: Vec<_> = (0..4).filter_map(lane).collect();
        let numbers: Vec<_> = wanted.iter().filter_map(|lane| lane.0).collect();
        assert!(numbers.contains(&0) && !numbers.contains(&1) && numbers.contains(&3), "{numbers:?}");
        let output = |name: &str, numbers: usize, count: usize, values: &[f32]| {
            Output::new(&format!("{name}:float32:1x{numbers}x{count}x4"), values)
        };
        let outputs = [
            output("loc_row", cells[0], counts[0], &loc[0]),
            output("loc_col", cells[1], counts[1], &loc[1]),
            output("exist_row", 2, counts[0], &exist[0]),
            output("exist_col", 2, counts[1], &exist[1]),
        ];
        let (found, outcome) = read(&outputs.each_ref(), &LaneParams::default());
        assert_eq!(outcome, Outcome::default());
        assert_lanes(&found, &wanted);
    }
}

/// As `get_lanes` and `predictions_to_pred` of clr_head.py and devIoU of nms_kernel.cu, step by step.
fn reference_of_lines(values: &[f32], rows: usize, most: usize) -> Vec<(Option<usize>, Vec<Point>)> {
    let strips = (rows - 1) as f64;
    let mut lines: Vec<(f64, Vec<f64>)> = values
        .chunks_exact(6 + rows)
        .map(|line| (softmax(&line[..2])[1], line.iter().map(|v| f64::from(*v)).collect()))
        .filter(|(score, _)| *score >= 0.4)
        .collect();
    lines.sort_by(|a, b| b.0.total_cmp(&a.0));
    let same = |a: &[f64], b: &[f64]| {
        let start = |line: &[f64]| (line[2] * strips + 0.5) as i64;
        let end = |line: &[f64]| {
            let length = line[5] * strips;
            (start(line) as f64 + length - 1.0 + 0.5 - f64::from(u8::from(length < 1.0))) as i64
        };
        let (first, last) = (start(a).max(start(b)), end(a).min(end(b)).min(rows as i64 - 1));
        if last < first {
            return false;
        }
        let off = |row: i64| (a[6 + row as usize] - b[6 + row as usize]).abs() * (INPUT[0] - 1) as f64;
        (first..=last).map(off).sum::<f64>() < 50.0 * (last - first + 1) as f64
    };
    let mut kept: Vec<(f64, Vec<f64>)> = Vec::new();
    for line in lines {
        if !kept.iter().any(|other| same(&other.1, &line.1)) {
            kept.push(line);
        }
    }
    kept.truncate(most);
    let lane = |(score, line): (f64, Vec<f64>)| {
        let start = ((line[2] * strips).round() as i64).clamp(0, strips as i64);
        let end = start + (line[5] * strips).round() as i64 - 1;
        let mut xs = line[6..].to_vec();
        for row in 0..rows as i64 {
            let inside = |row: i64| (0.0..=1.0).contains(&line[6 + row as usize]);
            if row > end || row < start && !(row..start).all(inside) {
                xs[row as usize] = -2.0;
            }
        }
        // What is right of the picture is drawn by nobody (`to_array` of lane.py).
        let point = |(row, x): (usize, &f64)| {
            (0.0..=1.0).contains(x).then_some((*x, 1.0 - row as f64 / strips, score))
        };
        let points: Vec<Point> = xs.iter().enumerate().map(point).collect();
        (points.iter().flatten().count() > 1).then_some((None, points))
    };
    kept.into_iter().filter_map(lane).collect()
}

#[test]
fn of_lines_that_are_near_each_other_the_surest_is_a_lane() {
    let (rows, mut suppressed, mut shortened) = (72, 0, 0);
    for seed in 1..40 {
        let mut random = random(seed);
        let mut values = Vec::new();
        for _ in 0..24 {
            let (x, slope) = (random(), random() - 0.5);
            values.extend([0.0, 3.0 * random() - 2.0, 0.6 * random() - 0.02, x, 0.3, 1.1 * random()]);
            values.extend((0..rows).map(|row| x + slope * row as f32 / 71.0 + 0.01 * random()));
        }
        // The reference reads other numbers than x on rows below the input.
        values.chunks_exact_mut(6 + rows).for_each(|line| line[2] = line[2].max(-0.5 / 71.0));
        let output = Output::new("lines:float32:1x24x78", &values);
        let wanted = reference_of_lines(&values, rows, 5);
        let (found, outcome) = read(&[&output], &LaneParams::default());
        assert_lanes(&found, &wanted);
        let all = reference_of_lines(&values, rows, 24);
        let sure = values.chunks_exact(6 + rows).filter(|line| softmax(&line[..2])[1] >= 0.4).count();
        suppressed += sure - all.len();
        shortened += all.iter().filter(|lane| lane.1.iter().any(Option::is_none)).count();
        assert_eq!(outcome.non_finite, 0);
        let most = LaneParams { max_lanes: 24, ..LaneParams::default() };
        assert_lanes(&read(&[&output], &most).0, &all);
    }
    assert!(suppressed > 50 && shortened > 50, "{suppressed} {shortened}");
}

#[test]
fn a_line_that_begins_above_the_bottom_goes_on_below_and_lanes_have_a_limit() {
    let line = |logit: f32, start: f32, length: f32, x: f32| {
        [vec![0.0, logit, start, x, 0.5, length], vec![x; 5]].concat()
    };
    // Columns apart; the last but one is not a number, and the last one has one point, which is no lane.
    let lines = [
        line(3.0, 0.5, 0.5, 0.25),
        line(2.0, 0.0, 0.75, 0.75),
        line(1.0, 0.0, 1.0, f32::NAN),
        line(0.0, 0.0, 0.25, 0.5),
    ];
    let output = Output::new("lines:float32:1x4x11", &lines.concat());
    let (found, outcome) = read(&[&output], &LaneParams::default());
    let lane = |x: f64, logit: f64, there: usize| {
        let score = 1.0 / (1.0 + (-logit).exp());
        let point = |row: usize| (row < there).then_some((x, 1.0 - row as f64 / 4.0, score));
        (None, (0..5).map(point).collect())
    };
    assert_lanes(&found, &[lane(0.25, 3.0, 4), lane(0.75, 2.0, 3)]);
    assert_eq!((outcome.non_finite, outcome.limited), (5 + 1, false));
    let one = LaneParams { max_lanes: 1, ..LaneParams::default() };
    let (found, outcome) = read(&[&output], &one);
    assert!(found.len() == 1 && outcome.limited);
}

#[test]
fn stated_rows_take_the_place_of_known_ones() {
    // Three rows of the lower half of the picture, of 2 cells: the lane is in the second one, whose middle is at 1.5.
    let values = [[0.0; 3], [50.0; 3], [0.0; 3]].concat();
    let output = Output::new("lanes:float32:1x3x3x1", &values);
    let anchors = LaneAnchors { rows: Some(vec![0.5, 0.75, 1.0]), columns: None, crop: Some(0.5) };
    let (found, _) = read(&[&output], &LaneParams { anchors, ..LaneParams::default() });
    assert_lanes(
        &found,
        &[(Some(0), vec![Some((1.5, 0.0, 1.0)), Some((1.5, 0.5, 1.0)), Some((1.5, 1.0, 1.0))])],
    );
}

#[test]
fn what_does_not_fit_is_said() {
    let refused = |outputs: &str, anchors: LaneAnchors, words: &[&str]| {
        let descs: Vec<TensorDesc> = outputs.split(' ').map(|output| output.parse().unwrap()).collect();
        let params = LaneParams { anchors, ..LaneParams::default() };
        let error =
            LaneReader::new(&descs.iter().collect::<Vec<_>>(), INPUT, &params).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}: {words:?}");
    };
    let none = LaneAnchors::default;
    let rows = |rows: &[f32]| LaneAnchors { rows: Some(rows.to_vec()), ..none() };
    refused("a:float32:1x101x40x4", none(), &["40 rows", "known of 0", "lane-rows", "height"]);
    refused("a:float32:1x101x56x4", rows(&[0.5]), &["56 rows", "known of 1", "56 numbers"]);
    refused("a:float32:1x101x2x4", rows(&[0.5, 64.0]), &["known of 0", "from 0 to 1"]);
    refused("a:float32:1x101x56", rows(&[0.5]), &["lane-rows, lane-columns and lane-crop", "remove"]);
    let columns = LaneAnchors { columns: Some(vec![0.5]), ..none() };
    refused("a:float32:1x101x56x4", columns, &["lane-columns mean nothing"]);
    let crop = |crop| LaneAnchors { crop: Some(crop), ..none() };
    refused("a:float32:1x101x56x4", crop(0.0), &["lane-crop", "above 0"]);
    for shape in ["2x101x56x4", "1x2x56x4", "1x56", "1x101x?x4", "1x192x7"] {
        refused(&format!("a:float32:{shape}"), none(), &["do not hold lanes", shape]);
    }
    refused("a:int32:1x101x56x4", none(), &["a:int32"]);
    let four = |exists: &str, columns: usize| {
        format!("a:float32:1x9x3x4 b:float32:1x9x{columns}x4 c:float32:{exists} d:float32:1x2x{columns}x4")
    };
    refused(&four("1x2x4x4", 5), none(), &["do not hold lanes"]);
    refused(&four("1x3x3x4", 5), none(), &["do not hold lanes"]);
    refused(&four("1x2x3x4", 5), none(), &["a:float32", "3 rows", "lane-rows"]);
    refused(
        &four("1x2x3x4", 5),
        rows(&[0.0, 0.5, 1.0]),
        &["b:float32", "5 columns", "lane-columns", "width"],
    );
    let both = LaneAnchors { columns: Some(vec![0.0; 5]), ..rows(&[0.0, 0.5, 1.0]) };
    refused(&four("1x2x3x4", 5), both, &["lane-crop"]);
    refused(
        "a:float32:1x9x3x10 b:float32:1x9x5x10 c:float32:1x2x3x10 d:float32:1x2x5x10",
        none(),
        &["of 4 lanes"],
    );
    refused("a:float32:1x9x3x4 b:float32:1x9x5x4", none(), &["do not hold lanes"]);
}
