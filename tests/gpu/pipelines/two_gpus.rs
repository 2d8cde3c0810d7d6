//! Frames, tensors and models on several GPUs.

use super::*;

/// Whether there are two GPUs; prints a line if there are not, for the summary of scripts/test --gpu.
fn two_gpus() -> bool {
    let count = cudainfer_kernels::device::probe().map_or(0, |devices| devices.len());
    if count < 2 {
        eprintln!("skipped: it needs two GPUs, and there are {count}");
    }
    count >= 2
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_and_tensors_of_another_gpu_give_the_same_without_the_host() {
    if !two_gpus() {
        return;
    }
    let on = |upload: u32, preproc: u32, infer: u32| {
        let pipeline = TestPipeline::new(&format!(
            "{} ! cudainferdownload ! video/x-raw ! cudainferupload device=cuda:{upload} ! fusedpreproc name=p device=cuda:{preproc} \
             ! trtinfer name=t model={} provider=cuda device=cuda:{infer} ! gpunms ! fakesink name=out",
            decoded(60),
            fetched("models/nanodet.onnx")
        ));
        let frames = pipeline.collect("out");
        pipeline.play();
        pipeline.wait().succeeds();
        let found: Vec<_> = frames.lock().unwrap().iter().map(|buffer| objects(buffer)).collect();
        let count = |element, name| {
            pipeline.element(element).property::<gst::Structure>("stats").get::<u64>(name).unwrap()
        };
        let copies = ["p", "t"].map(|element| count(element, "peer-copies"));
        assert_eq!(["p", "t"].map(|element| count(element, "host-to-device-bytes")), [0, 0]);
        (found, copies)
    };
    let (wanted, none) = on(0, 0, 0);
    assert_eq!(none, [0, 0]);
    let frames = wanted.len() as u64;
    for (places, copies) in [([1, 1, 1], [0, 0]), ([0, 1, 1], [frames, 0]), ([0, 0, 1], [0, frames])] {
        let [upload, preproc, infer] = places;
        let (found, counted) = on(upload, preproc, infer);
        assert_eq!(counted, copies, "{places:?}");
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!(found.len(), wanted.len(), "{places:?}");
            for (found, wanted) in found.iter().zip(wanted) {
                assert_eq!(found.detection, wanted.detection, "{places:?}");
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn where_the_device_is_left_open_instances_spread_over_the_gpus_and_their_streams_follow() {
    if !two_gpus() {
        return;
    }
    let model = fetched("models/nanodet.onnx");
    // The GPUs of the outputs of two streams, and what was copied between GPUs.
    let on = |[first, second]: [&str; 2]| {
        let stream = |n: usize, instance: &str| {
            format!(
                "{} ! cudainferdownload ! video/x-raw ! cudainferupload name=u{n} ! fusedpreproc name=p{n} \
                 ! trtinfer name=t{n} model={model} provider=cuda {instance} ! fakesink name=out{n}",
                decoded(10)
            )
        };
        let pipeline = TestPipeline::new(&format!("{}   {}", stream(0, first), stream(1, second)));
        let frames = [pipeline.collect("out0"), pipeline.collect("out1")];
        pipeline.play();
        pipeline.wait().succeeds();
        let copies = |name: &str| {
            pipeline.element(name).property::<gst::Structure>("stats").get::<u64>("peer-copies").unwrap()
        };
        assert!(["u0", "p0", "t0", "u1", "p1", "t1"].into_iter().all(|name| copies(name) == 0));
        frames.map(|frames| gpu_of(&frames.lock().unwrap()[0]))
    };
    let mut spread = on(["instance=spread-a", "instance=spread-b"]);
    spread.sort();
    assert_eq!(spread, [0, 1]);
    let [first, second] = on(["", ""]);
    assert_eq!(first, second, "without names, a pipeline has one GPU");
    let [first, second] = on(["instance=spread-c", "instance=spread-c"]);
    assert_eq!(first, second, "one instance is on one GPU");
    assert_eq!(on(["device=cuda:1", "instance=spread-d"])[0], 1);
}

#[test]
#[ignore = "needs a CUDA device"]
fn elements_downstream_of_the_model_leave_the_choice_of_the_gpu_to_it() {
    if !two_gpus() {
        return;
    }
    let model = fetched("models/nanodet.onnx");
    let stream = |n: usize| {
        format!(
            "{} ! cudainferdownload ! video/x-raw ! cudainferupload ! fusedpreproc \
             ! trtinfer model={model} provider=cuda instance=behind-{n} ! gpunms name=g{n} ! cudainferdownload name=d{n} \
             ! fakesink name=out{n}",
            decoded(10)
        )
    };
    let pipeline = TestPipeline::new(&format!("{}   {}", stream(0), stream(1)));
    let frames = ["g0", "g1"].map(|name| pipeline.collect(name));
    pipeline.play();
    pipeline.wait().succeeds();
    let mut spread = frames.map(|frames| gpu_of(&frames.lock().unwrap()[0]));
    spread.sort();
    assert_eq!(spread, [0, 1]);
    for name in ["d0", "d1"] {
        assert_eq!(
            pipeline.element(name).property::<gst::Structure>("stats").get::<u64>("peer-copies"),
            Ok(0),
            "{name}"
        );
    }
}

/// The GPU that a frame's tensors are on.
fn gpu_of(frame: &gst::Buffer) -> u32 {
    let sets = TensorSet::of(frame).unwrap();
    device_memory(&sets[0].tensors[0].data).unwrap().context().device().ordinal
}
