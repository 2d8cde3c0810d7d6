//! Many streams, many frames, and memory that is short.

use super::*;

#[test]
#[ignore = "needs a CUDA device"]
fn streams_that_share_a_model_find_in_batches_what_each_finds_alone() {
    let streams = |together: &str| {
        let pipeline_of = |n: usize| {
            format!(
                "videotestsrc num-buffers=60 pattern=blink \
                 ! video/x-raw,format=NV12,width={},height=480 ! cudainferupload ! fusedpreproc \
                 ! trtinfer name=t{n} model={} provider=cuda {together} ! gpunms ! fakesink name=out{n} sync=false",
                600 + 40 * n,
                model("detector-batch")
            )
        };
        let pipeline = TestPipeline::new(&(0..4).map(pipeline_of).collect::<Vec<_>>().join(" "));
        let found: Vec<_> = (0..4).map(|n| Arc::new(Mutex::new((n, Vec::new())))).collect();
        for found in &found {
            let kept = Arc::clone(found);
            let out = pipeline.element(&format!("out{}", kept.lock().unwrap().0));
            out.static_pad("sink").unwrap().add_probe(gst::PadProbeType::BUFFER, move |_, info| {
                kept.lock().unwrap().1.push(objects(info.buffer().unwrap()));
                gst::PadProbeReturn::Ok
            });
        }
        pipeline.play();
        pipeline.wait().succeeds();
        let stats = (0..4).map(|n| pipeline.element(&format!("t{n}")).property::<gst::Structure>("stats"));
        let count = |stats: &gst::Structure, name: &str| stats.get::<u64>(name).unwrap();
        let (runs, frames) = stats.fold((0, 0), |(runs, frames), stats| {
            (runs + count(&stats, "launches"), frames + count(&stats, "frames"))
        });
        let found: Vec<_> = found.iter().map(|found| std::mem::take(&mut found.lock().unwrap().1)).collect();
        (found, frames as f64 / runs as f64)
    };
    let (alone, one) = streams("");
    let (together, several) = streams("instance=shared batch-size=8 batch-timeout=20000000");
    assert_eq!(alone.iter().map(Vec::len).collect::<Vec<_>>(), [60; 4]);
    assert!(alone.iter().flatten().any(|objects| !objects.is_empty()));
    assert_eq!(alone, together);
    assert!(one <= 1.0 && several > 2.0, "{one} and {several} frames a run");
}

#[test]
#[ignore = "needs a CUDA device"]
fn networks_that_start_beside_each_other_do_not_meet_while_a_run_is_captured() {
    let network = |name| {
        let model = fetched(&format!("models/{name}.onnx"));
        format!(
            "videotestsrc num-buffers=20 ! video/x-raw,format=NV12,width=320,height=240 ! cudainferupload ! fusedpreproc \
             ! trtinfer model={model} provider=cuda ! fakesink"
        )
    };
    for _ in 0..10 {
        run(&["nanodet", "posenet", "nanodet", "posenet"].map(network).join(" ")).succeeds();
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn ten_thousand_frames_allocate_no_more_than_may_be_in_flight_at_once() {
    // How many frames are in flight depends on the machine: a source that is slower than the GPU needs one tensor, until
    // something holds the GPU up once. Then trtinfer has `max-in-flight`, fusedpreproc has made one more, and one that has been
    // inferred is not given back yet. cudainferupload holds eight frames that are copied, and one comes while the source fills
    // another. Buffers are kept, and gpunms' are of a batch, so nothing else may grow.
    const IN_FLIGHT: u64 = 3;
    const MOST: [(&str, u64); 4] = [("u", 10), ("p", IN_FLIGHT + 2), ("t", IN_FLIGHT + 2), ("n", 0)];
    let context = context();
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=10000 ! video/x-raw,format=NV12,width=320,height=240 ! cudainferupload name=u \
         ! fusedpreproc name=p ! trtinfer name=t model={} provider=cuda max-in-flight={IN_FLIGHT} ! gpunms name=n ! tracker ! fakesink name=out",
        model("detector")
    ));
    let elements = MOST.map(|(name, _)| pipeline.element(name));
    let allocations = move || {
        elements.each_ref().map(|e| e.property::<gst::Structure>("stats").get::<u64>("allocations").unwrap())
    };
    type Sample = ([u64; 4], usize);
    let seen: Arc<Mutex<Vec<Sample>>> = Arc::default();
    let samples = seen.clone();
    let mut frames = 0u32;
    pipeline.watch("out", move |_, _| {
        frames += 1;
        if frames.is_multiple_of(1000) {
            samples.lock().unwrap().push((allocations(), context.memory().unwrap().0));
        }
    });
    let _ = pipeline.set_state(gst::State::Playing);
    pipeline.wait().succeeds();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 10);
    let grown = seen[9].0.iter().zip(&seen[0].0).map(|(last, first)| last - first);
    let bounded = grown.zip(MOST).all(|(grown, (_, most))| grown <= most);
    assert!(bounded, "allocations grow: {seen:?}");
    let leaks = |pair: &[Sample]| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1;
    assert!(!seen.windows(2).any(leaks), "free bytes shrink: {seen:?}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_gpu_without_memory_gives_an_error_and_then_works_again() {
    let stream = CudaStream::new(&context(), &Arc::default()).unwrap();
    let pipeline = format!(
        "{} ! fusedpreproc ! trtinfer model={} provider=cuda ! gpunms ! fakesink",
        decoded(30),
        fetched("models/nanodet.onnx")
    );
    // GStreamer's nvcodec registers its decoders when it is loaded, and without memory it would find that there are none.
    run(&pipeline).succeeds();
    let hog: Vec<Memory> = {
        let mut size = 1usize << 38;
        let mut hog = Vec::new();
        while size >= 1 << 20 {
            match stream.allocate(size) {
                Ok(memory) => hog.push(memory),
                Err(DeviceError::OutOfMemory { .. }) => size /= 2,
                Err(other) => panic!("{other}"),
            }
        }
        hog
    };
    let report = run(&pipeline);
    assert!(!report.errors.is_empty(), "{report:?}");
    drop(hog);
    run(&pipeline).succeeds();
}
