//! Copies over the bus, and waits for the GPU.

use super::*;

#[test]
#[ignore = "needs a CUDA device"]
fn pixels_and_raw_tensors_stay_on_the_gpu_and_only_results_are_waited_for() {
    let pipeline = TestPipeline::start(&format!(
        "{} ! fusedpreproc name=p ! trtinfer name=t model={} provider=cuda ! gpunms name=n ! tracker ! fakesink",
        decoded(200),
        fetched("models/nanodet.onnx")
    ));
    pipeline.wait().succeeds();
    let [preproc, infer, nms] = ["p", "t", "n"].map(|name| pipeline.element(name));
    for element in [&preproc, &infer] {
        for count in ["host-to-device-bytes", "device-to-host-bytes", "fallbacks"] {
            assert_eq!(per_frame(element, count), 0.0, "{} {count}", element.name());
        }
    }
    assert_eq!(per_frame(&preproc, "device-to-device-bytes"), 0.0);
    // NanoDet's input and outputs, float32, to and from where it runs.
    let copied =
        4.0 * (3.0 * 416.0 * 416.0) + 4.0 * (52.0 * 52.0 + 26.0 * 26.0 + 13.0 * 13.0) * (80.0 + 44.0);
    assert_eq!(per_frame(&infer, "device-to-device-bytes"), copied);
    assert_eq!(per_frame(&preproc, "host-waits"), 0.0);
    assert_eq!(per_frame(&infer, "host-waits"), 0.0);
    assert_eq!(per_frame(&preproc, "launches"), 1.0);
    assert_eq!(per_frame(&nms, "host-waits"), 1.0);
    let back = per_frame(&nms, "device-to-host-bytes");
    assert!(back > 0.0 && back <= 8192.0, "{back} bytes a frame come back");
}

#[test]
#[ignore = "needs a CUDA device"]
fn only_outputs_that_cannot_be_right_are_downloaded_and_warned_about_once() {
    for (name, text) in [
        ("detector", None),
        ("detector-logits", Some("probabilities of 0 to 1 are expected")),
        ("detector-fractions", Some("set normalized = true")),
        ("detector-nan", Some("are NaN or infinite")),
    ] {
        let pipeline = TestPipeline::start(&format!(
            "videotestsrc num-buffers=300 pattern=red ! video/x-raw,format=RGB,width=64,height=64 ! cudainferupload \
             ! fusedpreproc device=cuda ! trtinfer name=t model={} provider=cuda ! gpunms name=n device=cuda ! fakesink",
            model(name)
        ));
        let report = pipeline.wait().succeeds();
        let said: Vec<_> = report.warnings.iter().filter(|warning| warning.starts_with("n: ")).collect();
        assert_eq!(said.len(), usize::from(text.is_some()), "{name}: {report:?}");
        assert!(said.iter().all(|warning| text.is_some_and(|text| warning.contains(text))), "{said:?}");
        // The outputs are downloaded by their memory, which trtinfer allocates, so the waits count for trtinfer.
        let waits =
            pipeline.element("t").property::<gst::Structure>("stats").get::<u64>("host-waits").unwrap();
        assert!(if text.is_some() { (1..=4).contains(&waits) } else { waits == 0 }, "{name}: {waits} waits");
        pipeline.stop();
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn frames_from_system_memory_are_uploaded_once_and_give_the_same() {
    let pipeline_of = |path: &str, device: &str| {
        found(&format!(
            "videotestsrc num-buffers=30 pattern=ball ! video/x-raw,format=NV12,width=641,height=481 {path} \
             ! fusedpreproc device={device} ! trtinfer model={} ! gpunms ! fakesink name=out",
            model("detector")
        ))
    };
    assert_eq!(pipeline_of("! cudainferupload", "cuda"), pipeline_of("", "cpu"));
}

#[test]
#[ignore = "needs a CUDA device"]
fn without_gpu_memory_in_between_the_pipeline_reports_it_and_goes_on() {
    let report = run(&format!(
        "videotestsrc num-buffers=5 ! video/x-raw,format=NV12,width=64,height=64 ! fusedpreproc ! trtinfer model={} \
         provider=cuda ! gpunms ! fakesink",
        model("detector")
    ))
    .succeeds();
    assert!(report.warnings.iter().any(|w| w.contains("Put cudainferupload before")), "{report:?}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn overlay_and_download_end_a_pipeline_in_system_memory() {
    let frames = buffers(&format!(
        "{} ! fusedpreproc ! trtinfer model={} provider=cuda ! gpunms ! tracker ! inferoverlay ! cudainferdownload \
         ! video/x-raw ! fakesink name=out",
        decoded(20),
        fetched("models/nanodet.onnx")
    ));
    assert!(frames.len() >= 20);
    assert!(frames.iter().any(|frame| !objects(frame).is_empty()), "the download keeps what was found");
}
