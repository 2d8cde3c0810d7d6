//! Points of interest, against a reference in f64 that compares each pixel with all points that are more confident.

use super::*;

const CELLS: [usize; 2] = [7, 5];
const INPUT: [usize; 2] = [56, 40];

/// Logits `[65, 5, 7]`; in every third cell a pixel is likelier than none.
fn logits(seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32 / u32::MAX as f32
    };
    let mut logits: Vec<f32> = (0..65 * 35).map(|_| 4.0 * random()).collect();
    for cell in (0..35).step_by(3) {
        logits[(64.0 * random()) as usize * 35 + cell] += 4.0;
    }
    logits
}

/// Confidence, row and column of the points.
fn reference(logits: &[f32], params: &CellParams) -> Vec<(f64, usize, usize)> {
    let score = |row: usize, column: usize| {
        let cell = row / 8 * CELLS[0] + column / 8;
        let power = |channel: usize| f64::from(logits[channel * 35 + cell]).exp();
        power(row % 8 * 8 + column % 8) / (0..65).map(power).sum::<f64>()
    };
    let pixels = (0..INPUT[1]).flat_map(|row| (0..INPUT[0]).map(move |column| (row, column)));
    let mut all: Vec<_> = pixels.map(|(row, column)| (score(row, column), row, column)).collect();
    all.retain(|(score, ..)| *score >= f64::from(params.threshold));
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut kept: Vec<(f64, usize, usize)> = Vec::new();
    for one in all {
        let near = |other: &(f64, usize, usize)| {
            one.1.abs_diff(other.1).max(one.2.abs_diff(other.2)) as f32 <= params.nms_radius
        };
        if !kept.iter().any(near) {
            kept.push(one);
        }
    }
    let border = params.border;
    kept.retain(|(_, row, column)| {
        (border..INPUT[1] - border).contains(row) && (border..INPUT[0] - border).contains(column)
    });
    kept
}

fn run(text: &str, logits: &[f32], params: CellParams) -> (Vec<Peak>, Outcome) {
    let output = Output::new(text, logits);
    let mut reader = CellReader::new(&output.desc, INPUT, params).unwrap();
    let to_frame = Affine::upright([2.0, 0.5], [10.0, 0.0]);
    let found = reader.run(&[output.view()], &to_frame).unwrap();
    // Nothing may be left from before.
    assert_eq!(reader.run(&[output.view()], &to_frame).unwrap(), found);
    found
}

#[test]
fn points_of_interest_are_those_of_the_reference_in_both_layouts() {
    let mut count = 0;
    for seed in 1..60 {
        let logits = logits(seed);
        let nhwc: Vec<f32> = (0..35 * 65).map(|i| logits[i % 65 * 35 + i / 65]).collect();
        let threshold = [0.005, 0.015, 0.06][seed as usize % 3];
        let (nms_radius, border) = [(4.0, 4), (0.0, 0), (2.5, 1), (9.0, 6)][seed as usize % 4];
        let params = CellParams { threshold, nms_radius, border, top_k: 9999, layout: None };
        let mut wanted = reference(&logits, &params);
        let (found, outcome) = run("semi:float32:1x65x5x7", &logits, params);
        assert_eq!((outcome, found.len()), (Outcome::default(), wanted.len()), "seed {seed}");
        assert!(found.is_sorted_by(|a, b| a.score >= b.score), "seed {seed}");
        // Scores that are equal but for rounding have no order: points are compared row by row.
        let mut sorted = found.clone();
        sorted.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x)));
        wanted.sort_by_key(|(_, row, column)| (*row, *column));
        for (peak, (score, row, column)) in sorted.iter().zip(&wanted) {
            let at = (10.0 + 2.0 * (*column as f32 + 0.5), 0.5 * (*row as f32 + 0.5));
            assert_eq!((peak.channel, peak.x, peak.y), (0, at.0, at.1), "seed {seed}");
            // Sums of 65 powers in float32.
            assert!((f64::from(peak.score) - score).abs() < 1e-5, "seed {seed}: {peak:?}, not {score}");
        }
        assert_eq!(run("semi:float32:1x5x7x65", &nhwc, params), (found, outcome), "seed {seed}");
        count += wanted.len();
    }
    assert!(count > 1000, "{count}");
}

#[test]
fn the_most_confident_points_remain_and_others_are_counted() {
    let all = run("semi:float32:1x65x5x7", &logits(1), CellParams::default()).0;
    let params = CellParams { top_k: 3, ..CellParams::default() };
    let (found, outcome) = run("semi:float32:1x65x5x7", &logits(1), params);
    assert_eq!((&found[..], outcome.truncated), (&all[..3], all.len() - 3));
}

#[test]
fn cells_with_logits_that_are_not_finite_are_counted_and_have_no_points() {
    let mut logits = logits(2);
    let params = CellParams { nms_radius: 0.0, border: 0, threshold: 0.0, ..CellParams::default() };
    assert_eq!(run("semi:float32:1x65x5x7", &logits, CellParams { top_k: 9999, ..params }).0.len(), 35 * 64);
    (logits[3], logits[64 * 35 + 3], logits[10 * 35 + 4]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
    let (found, outcome) = run("semi:float32:1x65x5x7", &logits, CellParams { top_k: 9999, ..params });
    assert_eq!((found.len(), outcome.non_finite), (33 * 64, 3));
}

#[test]
fn outputs_that_are_no_cells_are_refused() {
    let refused = |text: &str, input, params, words: &[&str]| {
        let desc: TensorDesc = text.parse().unwrap();
        let error = CellReader::new(&desc, input, params).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    let params = CellParams::default();
    for text in ["s:float32:1x64x5x7", "s:float32:1x65x7x5", "s:float32:1x65x5", "s:float32:2x65x5x7"] {
        refused(text, INPUT, params, &[text, "1x65xH/8xW/8", "56x40 input"]);
    }
    refused("s:float32:1x65x5x7", [57, 40], params, &["57x40 input", "multiples of 8"]);
    refused("s:float32:1x65x0x0", [0, 0], params, &["0x0 input"]);
    let nhwc = CellParams { layout: Some(crate::preproc::Layout::Nhwc), ..params };
    refused("s:float32:1x65x5x7", INPUT, nhwc, &["correct layout"]);
    refused("s:int8:1x65x5x7", INPUT, params, &["float16 or float32"]);
    refused("s:float32:1x65x5x7", INPUT, CellParams { threshold: f32::NAN, ..params }, &["threshold of NaN"]);
    for nms_radius in [-1.0, f32::NAN, f32::INFINITY] {
        refused("s:float32:1x65x5x7", INPUT, CellParams { nms_radius, ..params }, &["nms-radius of"]);
    }
    let open = "s:float32:1x65x?x?".parse().unwrap();
    let mut reader = CellReader::new(&open, INPUT, params).unwrap();
    let turned = Output::new("s:float32:1x65x7x6", &[0.0; 65 * 42]);
    let error = reader.run(&[turned.view()], &Affine::IDENTITY).unwrap_err();
    assert!(matches!(error, KeypointsError::CellsShape { width: 56, height: 40, .. }), "{error}");
}
