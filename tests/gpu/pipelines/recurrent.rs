//! Recurrent models on the GPU: their states stay there, and are those of the stream.

use cudainfer_tests::stream::{NEVER, Stream, brightness};
use cudainfer_tests::{TestPipeline, model};
use gstcudainfer::memory::tensor::device_memory;
use gstcudainfer::meta::tensor::TensorSet;

/// The sums of the brightness of these frames, from `first` on.
fn totals(first: f64, frames: std::ops::Range<u64>) -> Vec<f64> {
    let add = |total: &mut f64, number: u64| {
        *total += f64::from(brightness(number)) / 255.0;
        Some(*total)
    };
    frames.scan(first, add).collect()
}

/// A stream into the model, and its frames' first numbers of the output `total`.
fn totals_of(pipeline: &TestPipeline) -> std::sync::Arc<std::sync::Mutex<Vec<f64>>> {
    let all = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&all);
    pipeline.watch("out", move |frame, _| {
        let set = &TensorSet::of(frame).unwrap()[0];
        let tensor = set.tensors.iter().find(|tensor| tensor.desc.name == "total").unwrap();
        assert!(device_memory(&tensor.data).is_some(), "it has left the GPU");
        let map = tensor.map().unwrap();
        seen.lock().unwrap().push(f64::from(map.view().unwrap().to_f32()[0]));
    });
    all
}

#[test]
#[ignore = "needs a CUDA device"]
fn states_go_from_frame_to_frame_on_the_gpu_also_in_batches_of_several_streams() {
    const FRAMES: u64 = 40;
    for (model_name, first, properties) in [
        ("recurrent", 100.0, format!("instance=gpu-3 batch-size=3 batch-timeout={NEVER}")),
        ("recurrent", 100.0, "instance=gpu-1 cuda-graphs=false".to_owned()),
        ("recurrent-fixed-batch", 100.0, "instance=gpu-fixed".to_owned()),
        ("recurrent-open-stated", 0.0, "instance=gpu-stated batch-size=2".to_owned()),
    ] {
        let streams = [(); 3].map(|()| {
            Stream::with(&format!(
                "trtinfer name=infer provider=cuda model={} {properties} ! fakesink name=out async=false",
                model(model_name)
            ))
        });
        let seen = streams.each_ref().map(|stream| totals_of(&stream.pipeline));
        streams.iter().for_each(Stream::begin);
        std::thread::scope(|scope| {
            for (index, stream) in (0..).zip(&streams) {
                scope.spawn(move || {
                    (100 * index..100 * index + FRAMES).for_each(|number| stream.push(number));
                    stream.end();
                });
            }
        });
        for ((index, stream), seen) in (0..).zip(&streams).zip(&seen) {
            let (got, wanted) = (seen.lock().unwrap(), totals(first, 100 * index..100 * index + FRAMES));
            // Sums in float32 of up to 140.
            let close = got.iter().zip(&wanted).all(|(got, wanted)| (got - wanted).abs() < 5e-3);
            assert!(got.len() == wanted.len() && close, "{model_name} {properties}: {got:?}, not {wanted:?}");
            assert_eq!(stream.count("state-starts"), 1, "{model_name} {properties}");
        }
    }
}
