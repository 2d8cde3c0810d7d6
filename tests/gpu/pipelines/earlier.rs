//! Models that see earlier frames on the GPU: the pictures stay there, and what a run sees is what the CPU sees.

use std::sync::{Arc, Mutex};

use cudainfer_tests::stream::Stream;
use cudainfer_tests::{TestPipeline, model};
use gstcudainfer::memory::tensor::device_memory;
use gstcudainfer::meta::tensor::TensorSet;

/// What each frame's run has seen; nothing before a clip is full.
fn seen(pipeline: &TestPipeline, on_gpu: bool) -> Arc<Mutex<Vec<Vec<f32>>>> {
    let all = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&all);
    pipeline.watch("out", move |frame, _| {
        let sets = TensorSet::of(frame).unwrap();
        let tensor =
            sets.first().and_then(|set| set.tensors.iter().find(|tensor| tensor.desc.name == "seen"));
        let numbers = tensor.map_or_else(Vec::new, |tensor| {
            assert_eq!(device_memory(&tensor.data).is_some(), on_gpu, "where it lies");
            tensor.map().unwrap().view().unwrap().to_f32().into_owned()
        });
        seen.lock().unwrap().push(numbers);
    });
    all
}

#[test]
#[ignore = "needs a CUDA device"]
fn runs_see_the_frames_on_the_gpu_that_they_see_on_the_cpu() {
    for (model_name, batch) in [
        ("earlier-input", 4),
        ("earlier-inputs", 1),
        ("earlier-stack", 4),
        ("earlier-stack-fixed-batch", 0),
        ("earlier-stack-last", 2),
        ("clip-channels-first", 2),
        ("clip-time-first", 1),
        ("clip-channels-last", 1),
        ("clip-time-last", 0),
    ] {
        let batch = if batch == 0 { String::new() } else { format!("batch-size={batch}") };
        // With frames in device memory, and on the host.
        let ways = [
            ("trtinfer provider=cuda", true),
            ("trtinfer provider=cuda cuda-graphs=false", true),
            ("trtinfer device=cpu", false),
        ];
        let results = ways.map(|(element, on_gpu)| {
            let stream = Stream::with(&format!(
                "{element} name=infer model={} {batch} ! fakesink name=out async=false",
                model(model_name)
            ));
            let seen = seen(&stream.pipeline, on_gpu);
            stream.begin();
            (0..40).for_each(|number| stream.push(number));
            stream.end();
            std::mem::take(&mut *seen.lock().unwrap())
        });
        let [gpu, without_graphs, cpu] = results;
        for other in [gpu, without_graphs] {
            assert_eq!(other.len(), 40, "{model_name}");
            for (number, (other, cpu)) in other.iter().zip(&cpu).enumerate() {
                // Means of up to 192 numbers of 0 to 1, added in another order.
                let close = other.iter().zip(cpu).all(|(other, cpu)| (other - cpu).abs() < 1e-4);
                assert!(
                    other.len() == cpu.len() && close,
                    "{model_name}, frame {number}: {other:?}, not {cpu:?}"
                );
            }
        }
    }
}
