//! The operation `classify`: the CPU twin's classes in its order; confidences equal to the bit, but for a softmax's within
//! 1e-6, because its sum is added up in another order.

use cudainfer_kernels::classify::{Class, Classifier, ClassifyParams, CudaClassifier, Outcome};
use cudainfer_kernels::detect::Activation;
use cudainfer_kernels::device::{CudaStream, DeviceTensor};
use cudainfer_kernels::tensor::{TensorDesc, TensorType, TensorView};
use half::f16;

use super::{Random, stream, upload};

const ACTIVATIONS: [Activation; 3] = [Activation::None, Activation::Sigmoid, Activation::Softmax];
const TYPES: [TensorType; 2] = [TensorType::Float32, TensorType::Float16];

/// Rows of a few levels, so that many scores are equal, of any numbers, with some that are not finite, and of nothing else.
fn scores(random: &mut Random, rows: usize, classes: usize) -> Vec<f32> {
    let mut all = Vec::new();
    for row in 0..rows {
        all.extend((0..classes).map(|_| match (row % 4, random.below(20)) {
            (3, _) | (2, 0) => [f32::NAN, f32::INFINITY, f32::NEG_INFINITY][random.below(3)],
            (0, _) => [-1.5, -0.0, 0.0, 2.0, 2.25][random.below(5)],
            _ => random.range(-30.0, 30.0),
        }));
    }
    all
}

fn bytes(scores: &[f32], ty: TensorType) -> Vec<u8> {
    match ty {
        TensorType::Float16 => scores.iter().flat_map(|v| f16::from_f32(*v).to_ne_bytes()).collect(),
        _ => scores.iter().flat_map(|v| v.to_ne_bytes()).collect(),
    }
}

fn one(classes: usize, ty: TensorType) -> TensorDesc {
    TensorDesc::fixed("scores", ty, &[1, classes])
}

fn twin(data: &[u8], desc: &TensorDesc, params: ClassifyParams) -> Vec<(Vec<Class>, Outcome)> {
    let dims: Vec<usize> = desc.dims.iter().flatten().copied().collect();
    let mut classifier = Classifier::new(desc, params).unwrap();
    let rows = data.chunks(dims[1] * desc.ty.size());
    rows.map(|row| {
        let view = TensorView::new("scores", desc.ty, &dims, row).unwrap();
        let mut classes = Vec::new();
        let outcome = classifier.run(&view, &mut classes).unwrap();
        (classes, outcome)
    })
    .collect()
}

#[track_caller]
fn assert_equals_twin(
    stream: &CudaStream,
    classifier: &mut CudaClassifier,
    data: &[u8],
    desc: &TensorDesc,
    params: ClassifyParams,
) {
    let wanted = twin(data, desc, params);
    let dims = [wanted.len(), desc.dims[1].unwrap()];
    let memory = upload(stream, data);
    let tensor = DeviceTensor::new("scores", desc.ty, &dims, memory.slice()).unwrap();
    let launches = stream.counters().launches.get();
    let waits = stream.counters().host_waits.get();
    classifier.start(stream, &tensor, wanted.len()).unwrap();
    let mut found = vec![vec![Class { index: 1, confidence: 7.0 }]; 3];
    let outcomes = classifier.finish(stream, &mut found).unwrap();
    assert_eq!(stream.counters().launches.get(), launches + 1);
    assert_eq!(stream.counters().host_waits.get(), waits + 1);
    for (got, (_, wanted)) in outcomes.iter().zip(&wanted) {
        assert_eq!((got.non_finite, got.outside), (wanted.non_finite, wanted.outside), "{desc} {params:?}");
        // The same values, added up in another order: in f64, of at most 21841 values up to 30.
        assert!((got.total - wanted.total).abs() <= 1e-6, "{got:?}, not {wanted:?}");
        assert_eq!(got.is_distribution(), wanted.is_distribution());
    }
    assert_eq!(outcomes.len(), wanted.len());
    assert_eq!(found.len(), wanted.len());
    for (row, (found, (wanted, _))) in found.iter().zip(&wanted).enumerate() {
        let indices = |classes: &[Class]| classes.iter().map(|class| class.index).collect::<Vec<_>>();
        assert_eq!(indices(found), indices(wanted), "row {row}: {desc} {params:?}");
        for (a, b) in found.iter().zip(wanted) {
            let equal = match params.activation {
                Activation::Softmax => (a.confidence - b.confidence).abs() <= 1e-6,
                _ => a.confidence.to_bits() == b.confidence.to_bits(),
            };
            assert!(equal, "row {row}: {a:?}, not {b:?}: {desc} {params:?}");
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_best_classes_of_every_type_activation_and_number_equal_the_twins() {
    let stream = stream();
    let mut random = Random::new(3);
    for ty in TYPES {
        for activation in ACTIVATIONS {
            for top_k in [1, 5, 16, 17, 300, 0] {
                for classes in [1, 2, 15, 31, 255, 257, 1000, 21_841] {
                    let (desc, params) =
                        (one(classes, ty), ClassifyParams { activation, top_k, ..ClassifyParams::default() });
                    let mut classifier = CudaClassifier::new(&desc, params, &stream).unwrap();
                    // More rows than before, and fewer.
                    for rows in [1, 9, 4] {
                        let data = bytes(&scores(&mut random, rows, classes), ty);
                        assert_equals_twin(&stream, &mut classifier, &data, &desc, params);
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn selecting_many_keeps_the_lower_of_equal_classes_and_probabilities_are_recognised() {
    let stream = stream();
    // All scores are equal, so that the radix goes down to the last byte of the class.
    for (classes, top_k) in [(1000, 17), (1000, 999), (70_000, 300), (70_000, 69_999)] {
        let (desc, params) = (
            one(classes, TensorType::Float32),
            ClassifyParams { activation: Activation::None, top_k, ..ClassifyParams::default() },
        );
        let mut classifier = CudaClassifier::new(&desc, params, &stream).unwrap();
        let data = bytes(&vec![1.0 / classes as f32; classes], desc.ty);
        assert_equals_twin(&stream, &mut classifier, &data, &desc, params);
        let memory = upload(&stream, &data);
        let tensor = DeviceTensor::new("scores", desc.ty, &[1, classes], memory.slice()).unwrap();
        classifier.start(&stream, &tensor, 1).unwrap();
        let mut found = Vec::new();
        assert!(classifier.finish(&stream, &mut found).unwrap()[0].is_distribution());
        let indices: Vec<_> = found[0].iter().map(|class| class.index as usize).collect();
        assert_eq!(indices, (0..top_k).collect::<Vec<_>>());
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn rows_beyond_those_asked_for_are_not_looked_at_and_nothing_is_allocated_again() {
    let stream = stream();
    let mut random = Random::new(4);
    let (desc, params) =
        (one(100, TensorType::Float32), ClassifyParams { top_k: 3, ..ClassifyParams::default() });
    let mut classifier = CudaClassifier::new(&desc, params, &stream).unwrap();
    let data = bytes(&scores(&mut random, 300, 100), desc.ty);
    assert_equals_twin(&stream, &mut classifier, &data, &desc, params);
    let memory = upload(&stream, &data);
    let tensor = DeviceTensor::new("scores", desc.ty, &[300, 100], memory.slice()).unwrap();
    let before = stream.counters().allocations.get();
    let mut found = Vec::new();
    for rows in [7, 0, 300] {
        classifier.start(&stream, &tensor, rows).unwrap();
        assert_eq!(classifier.finish(&stream, &mut found).unwrap().len(), rows);
        assert_eq!(found.len(), rows);
    }
    assert_eq!(stream.counters().allocations.get(), before);
    let error = classifier.start(&stream, &tensor, 301).unwrap_err().to_string();
    assert_eq!(error, "'scores:float32:300x100' has no scores of 301 rows");
    assert!(classifier.finish(&stream, &mut found).unwrap().is_empty() && found.is_empty());
}
