//! The operation `text`: the CPU twin's lines; confidences equal to the bit where the scores are probabilities.

use cudainfer_kernels::detect::Activation;
use cudainfer_kernels::device::DeviceTensor;
use cudainfer_kernels::tensor::{TensorDesc, TensorType, TensorView};
use cudainfer_kernels::text::{CudaReader, Reader, TextDecoding, TextLayout, TextParams};
use half::f16;

use super::{Random, stream, upload};

const CTC: TextParams = TextParams {
    activation: Activation::None,
    decoding: TextDecoding::Ctc { blank: 0 },
    layout: TextLayout::StepsFirst,
    symbols: None,
};

/// Scores of a few levels, so that symbols repeat and many are equal, with some that are no numbers.
fn scores(random: &mut Random, count: usize) -> Vec<f32> {
    (0..count).map(|_| [0.0, 0.125, 0.5, 0.75, 0.75, f32::NAN][random.below(6)]).collect()
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_line_whose_steps_come_first_is_that_of_the_twin() {
    let stream = stream();
    let values = scores(&mut Random::new(8), 40 * 97);
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let desc = TensorDesc::fixed("text", TensorType::Float32, &[40, 1, 97]);
    let memory = upload(&stream, &data);
    let tensor = DeviceTensor::new("text", TensorType::Float32, &[40, 1, 97], memory.slice()).unwrap();
    let mut gpu = CudaReader::new(&desc, CTC, &stream).unwrap();
    gpu.start(&stream, &tensor, 1).unwrap();
    let view = TensorView::new("text", TensorType::Float32, &[40, 1, 97], &data).unwrap();
    let (wanted, outcome) = Reader::new(&desc, CTC).unwrap().run(&view).unwrap();
    assert!(!wanted.symbols.is_empty());
    let found = gpu.finish(&stream).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0].0, found[0].1.non_finite), (&wanted, outcome.non_finite));
}

#[test]
#[ignore = "needs a CUDA device"]
fn lines_of_a_batch_are_those_of_the_twin() {
    let stream = stream();
    let mut random = Random::new(7);
    for ty in [TensorType::Float32, TensorType::Float16] {
        for [lines, steps, symbols] in [[1, 1, 2], [3, 40, 97], [8, 5, 6625]] {
            let values = scores(&mut random, lines * steps * symbols);
            let data: Vec<u8> = match ty {
                TensorType::Float16 => values.iter().flat_map(|v| f16::from_f32(*v).to_ne_bytes()).collect(),
                _ => values.iter().flat_map(|v| v.to_ne_bytes()).collect(),
            };
            let dims = [lines, steps, symbols];
            let desc = TensorDesc::fixed("text", ty, &[1, steps, symbols]);
            let memory = upload(&stream, &data);
            let tensor = DeviceTensor::new("text", ty, &dims, memory.slice()).unwrap();
            let mut gpu = CudaReader::new(&desc, CTC, &stream).unwrap();
            let mut cpu = Reader::new(&desc, CTC).unwrap();
            // All lines, and all but one: the bytes after them are not read.
            for count in [lines, lines.saturating_sub(1).max(1)] {
                gpu.start(&stream, &tensor, count).unwrap();
                let found = gpu.finish(&stream).unwrap();
                assert_eq!(found.len(), count);
                for (row, (line, outcome)) in data.chunks(data.len() / lines).zip(found) {
                    let view = TensorView::new("text", ty, &[1, steps, symbols], row).unwrap();
                    let (wanted, wanted_outcome) = cpu.run(&view).unwrap();
                    assert_eq!(line, wanted, "{ty} {dims:?}");
                    assert_eq!(outcome.non_finite, wanted_outcome.non_finite);
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_line_in_one_row_is_that_of_the_twin() {
    let stream = stream();
    let (lines, params) = (2, TextParams { symbols: Some(97), ..CTC });
    let values = scores(&mut Random::new(9), lines * 40 * 97);
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let desc = TensorDesc::fixed("text", TensorType::Float32, &[1, 40 * 97]);
    let memory = upload(&stream, &data);
    let dims = [lines, 40 * 97];
    let tensor = DeviceTensor::new("text", TensorType::Float32, &dims, memory.slice()).unwrap();
    let mut gpu = CudaReader::new(&desc, params, &stream).unwrap();
    gpu.start(&stream, &tensor, lines).unwrap();
    let found = gpu.finish(&stream).unwrap();
    let mut cpu = Reader::new(&desc, params).unwrap();
    for (row, (line, _)) in data.chunks(data.len() / lines).zip(found) {
        let view = TensorView::new("text", TensorType::Float32, &[1, 40 * 97], row).unwrap();
        assert_eq!(line, cpu.run(&view).unwrap().0);
    }
}
