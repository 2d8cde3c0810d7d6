//! Against paths written down by hand. Confidences within 1e-6: means of a few float32 values.

use half::f16;

use super::*;

/// CTC, of which the first symbol is the blank.
fn ctc(activation: Activation) -> TextParams {
    let decoding = TextDecoding::Ctc { blank: 0 };
    TextParams { activation, decoding, layout: TextLayout::StepsFirst, symbols: None }
}

/// Scores in which each step's symbol has its confidence, and the others share the rest.
fn scores(steps: &[(u32, f32)], symbols: usize) -> Vec<f32> {
    let step = |(symbol, confidence): &(u32, f32)| {
        let rest = (1.0 - confidence) / (symbols as f32 - 1.0);
        let mut row = vec![rest; symbols];
        row[*symbol as usize] = *confidence;
        row
    };
    steps.iter().flat_map(step).collect()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn read(values: &[f32], symbols: usize, activation: Activation) -> (Line, Outcome) {
    let dims = [1, values.len() / symbols, symbols];
    let data = floats(values);
    let view = TensorView::new("text", TensorType::Float32, &dims, &data).unwrap();
    let desc = TensorDesc::fixed("text", TensorType::Float32, &dims);
    Reader::new(&desc, ctc(activation)).unwrap().run(&view).unwrap()
}

#[track_caller]
fn assert_line(got: &Line, symbols: &[u32], confidence: f32) {
    assert_eq!(got.symbols, symbols);
    assert!((got.confidence - confidence).abs() < 1e-6, "{} is not {confidence}", got.confidence);
}

#[test]
fn repeated_symbols_are_one_and_a_blank_between_them_makes_them_two() {
    for (path, symbols) in [
        (&[1, 1, 2, 2, 2][..], &[1, 2][..]),
        (&[0, 1, 0, 1, 1, 0, 0], &[1, 1]),
        (&[1, 2, 1], &[1, 2, 1]),
        (&[3], &[3]),
        (&[0, 0, 0], &[]),
    ] {
        let steps: Vec<_> = path.iter().map(|symbol| (*symbol, 0.75)).collect();
        let (line, outcome) = read(&scores(&steps, 4), 4, Activation::None);
        assert_line(&line, symbols, if symbols.is_empty() { 0.0 } else { 0.75 });
        assert_eq!(outcome.non_finite, 0);
    }
}

#[test]
fn the_confidence_is_the_mean_of_the_steps_that_are_kept() {
    // Blanks and repetitions do not count: (0.5 + 0.75 + 0.875) / 3.
    let steps = [(0, 1.0), (2, 0.5), (2, 1.0), (0, 0.9), (2, 0.75), (1, 0.875), (1, 0.6)];
    let (line, _) = read(&scores(&steps, 3), 3, Activation::None);
    assert_line(&line, &[2, 2, 1], 0.708_333_3);
    // Logits of probabilities 0.25 and 0.75.
    let logits = [0.0, 3f32.ln(), 0.0, 3f32.ln(), 3f32.ln(), 0.0];
    let (line, _) = read(&logits, 2, Activation::Softmax);
    assert_line(&line, &[1], 0.75);
}

#[test]
fn of_equal_scores_the_first_symbol_counts_and_steps_without_a_number_are_blank() {
    let (line, outcome) =
        read(&[0.2, 0.4, 0.4, f32::NAN, f32::NAN, f32::INFINITY, 0.1, 0.8, f32::NAN], 3, Activation::None);
    assert_line(&line, &[1, 1], 0.6);
    assert_eq!(outcome.non_finite, 4);
}

#[test]
fn half_precision_is_read() {
    let values = scores(&[(1, 0.75), (0, 0.75), (2, 0.5)], 3);
    let data: Vec<u8> = values.iter().flat_map(|v| f16::from_f32(*v).to_le_bytes()).collect();
    let view = TensorView::new("text", TensorType::Float16, &[1, 3, 3], &data).unwrap();
    let desc = "text:float16:?x?x3".parse().unwrap();
    let (line, _) = Reader::new(&desc, ctc(Activation::None)).unwrap().run(&view).unwrap();
    assert_line(&line, &[1, 2], 0.625);
}

#[test]
fn steps_may_come_first_of_one_line() {
    let steps: Vec<_> = [1, 1, 0, 2].iter().map(|symbol| (*symbol, 0.75)).collect();
    let data = floats(&scores(&steps, 4));
    for (announced, dims, right) in [
        ("x:float32:4x1x4", [4, 1, 4], true),
        ("x:float32:?x1x4", [4, 1, 4], true),
        ("x:float32:4x?x4", [4, 1, 4], true),
        ("x:float32:?x?x4", [1, 4, 4], true),
        // Two lines, or as many steps as were not announced.
        ("x:float32:2x?x4", [2, 2, 4], false),
        ("x:float32:5x1x4", [4, 1, 4], false),
    ] {
        let mut reader = Reader::new(&announced.parse().unwrap(), ctc(Activation::None)).unwrap();
        let view = TensorView::new("x", TensorType::Float32, &dims, &data).unwrap();
        match reader.run(&view) {
            Ok((line, _)) if right => assert_line(&line, &[1, 2], 0.75),
            Err(TextError::Changed { .. }) if !right => {}
            other => panic!("{announced}: {other:?}"),
        }
    }
}

#[test]
fn what_is_no_row_of_scores_for_each_step_is_refused_with_a_sentence() {
    for (text, right) in [
        ("x:float32:1x40x97", true),
        ("x:float16:?x?x97", true),
        ("x:float32:1x97", false),
        ("x:uint8:1x40x97", false),
        ("x:float32:2x40x97", false),
        ("x:float32:1x40x0", false),
        ("x:float32:1x1x40x97", false),
    ] {
        match Reader::new(&text.parse().unwrap(), ctc(Activation::None)) {
            Ok(_) => assert!(right, "{text}"),
            Err(e) => assert!(!right && e.to_string().contains(text), "{e}"),
        }
    }
    let mut reader = Reader::new(&"x:float32:1x?x4".parse().unwrap(), ctc(Activation::None)).unwrap();
    let data = floats(&[0.0; 10]);
    let view = TensorView::new("x", TensorType::Float32, &[1, 2, 5], &data).unwrap();
    let error = reader.run(&view).unwrap_err().to_string();
    assert_eq!(error, "the scores came as 'x:float32:1x2x5', but 'x:float32:1x?x4' was announced");
}

/// The symbols that are read of steps with these surest symbols, the steps first and the symbols first.
#[track_caller]
fn decoded(decoding: TextDecoding, path: &[u32]) -> Vec<u32> {
    const SYMBOLS: usize = 4;
    let steps: Vec<_> = path.iter().map(|symbol| (*symbol, 0.75)).collect();
    let values = scores(&steps, SYMBOLS);
    let by_symbol: Vec<f32> =
        (0..SYMBOLS).flat_map(|symbol| values.iter().copied().skip(symbol).step_by(SYMBOLS)).collect();
    let read = |values: &[f32], dims: [usize; 3], layout| {
        let data = floats(values);
        let view = TensorView::new("text", TensorType::Float32, &dims, &data).unwrap();
        let desc = TensorDesc::fixed("text", TensorType::Float32, &dims);
        let params = TextParams { decoding, layout, ..ctc(Activation::None) };
        Reader::new(&desc, params).unwrap().run(&view).unwrap().0
    };
    let line = read(&values, [1, path.len(), SYMBOLS], TextLayout::StepsFirst);
    assert_eq!(read(&by_symbol, [1, SYMBOLS, path.len()], TextLayout::SymbolsFirst), line);
    for (values, layout) in [(&values, TextLayout::StepsFirst), (&by_symbol, TextLayout::SymbolsFirst)] {
        let data = floats(values);
        let dims = [1, values.len()];
        let view = TensorView::new("text", TensorType::Float32, &dims, &data).unwrap();
        let desc = TensorDesc::fixed("text", TensorType::Float32, &dims);
        let params = TextParams { decoding, layout, symbols: Some(SYMBOLS), ..ctc(Activation::None) };
        assert_eq!(Reader::new(&desc, params).unwrap().run(&view).unwrap().0, line, "in one row, {layout:?}");
    }
    line.symbols
}

#[test]
fn slots_keep_repetitions_and_a_sequence_goes_on_until_its_end() {
    let slots = TextDecoding::Slots { pad: 3 };
    assert_eq!(decoded(slots, &[0, 1, 1, 2, 3, 3]), [0, 1, 1, 2]);
    assert_eq!(decoded(slots, &[3, 0, 3, 0]), [0, 0]);
    assert_eq!(decoded(slots, &[3, 3]), [0; 0]);
    let sequence = TextDecoding::Sequence { end: 0 };
    assert_eq!(decoded(sequence, &[1, 1, 2, 0, 3, 3]), [1, 1, 2], "what follows the end is no text");
    assert_eq!(decoded(sequence, &[0, 1]), [0; 0]);
    assert_eq!(decoded(sequence, &[1, 2]), [1, 2], "without an end, all steps are text");
    // LPRNet's blank is the last.
    assert_eq!(decoded(TextDecoding::Ctc { blank: 3 }, &[3, 0, 0, 3, 0, 1]), [0, 0, 1]);
}

#[test]
fn a_row_is_a_whole_number_of_steps() {
    let params = |symbols| TextParams { symbols, ..ctc(Activation::None) };
    let row = "x:float32:1x333".parse().unwrap();
    for symbols in [None, Some(333)] {
        assert!(Reader::new(&row, params(symbols)).unwrap_err().to_string().contains("where labels say"));
    }
    for symbols in [0, 36, 334] {
        let error = Reader::new(&row, params(Some(symbols))).unwrap_err().to_string();
        assert!(error.contains(&format!("no whole number of steps of {symbols} characters")), "{error}");
    }
    let mut reader = Reader::new(&row, params(Some(37))).unwrap();
    let data = floats(&[0.0; 334]);
    let view = TensorView::new("x", TensorType::Float32, &[1, 334], &data).unwrap();
    assert!(reader.run(&view).unwrap_err().to_string().contains("but 'x:float32:1x9x37' was announced"));
}

#[test]
fn a_special_symbol_that_there_is_not_is_refused() {
    let params = TextParams { decoding: TextDecoding::Slots { pad: 37 }, ..ctc(Activation::None) };
    let error = Reader::new(&"x:float32:1x9x37".parse().unwrap(), params).unwrap_err().to_string();
    assert!(error.contains("has 37 characters, of which none has the number 37"), "{error}");
    let by_symbol = TextParams { layout: TextLayout::SymbolsFirst, ..params };
    assert!(Reader::new(&"x:float32:1x38x9".parse().unwrap(), by_symbol).is_ok());
}
