//! Models and files that are missing or not what they should be.

use cudainfer_tests::{model, run, scratch};

/// A pipeline around a trtinfer with these properties.
fn pipeline_of(properties: &str) -> String {
    format!("videotestsrc num-buffers=3 ! fusedpreproc ! trtinfer {properties} ! fakesink")
}

#[test]
fn a_pipeline_without_a_model_says_which_property_to_set() {
    let report = run(&pipeline_of(""));
    report.fails_with(&["no model is named", "set model="]);
    assert!(!report.eos);
}

#[test]
fn a_model_that_is_not_there_is_named() {
    run(&pipeline_of("model=/nowhere/yolo.onnx")).fails_with(&[
        "model file",
        "/nowhere/yolo.onnx",
        "No such file",
    ]);
    run(&pipeline_of("model=/tmp")).fails_with(&["'/tmp'"]);
}

#[test]
fn a_file_that_is_no_model_or_only_half_of_one_is_not_taken_for_a_model() {
    for name in ["not-onnx", "truncated", "empty"] {
        let text = run(&pipeline_of(&format!("model={}", model(name)))).fails_with(&[name]).to_owned();
        assert!(text.contains("not an ONNX model, or it was cut off"), "{name}: {text}");
    }
}

#[test]
fn a_model_whose_input_takes_no_picture_says_what_would_serve() {
    for (name, parts) in [
        ("rank5", ["5 dimensions", "[N,C,H,W] or [N,H,W,C]"]),
        ("channels5", ["5 channels", "must have 1 or 3"]),
        ("double", ["none of its inputs takes an image", "float32, float16, uint8, int8 or int32"]),
        ("two-images", ["several could take the image", "[input] name ="]),
        ("text-output", ["no output that is a tensor of numbers", "text-output"]),
    ] {
        run(&pipeline_of(&format!("model={}", model(name)))).fails_with(&parts);
    }
}

#[test]
fn a_model_with_a_batch_that_no_memory_holds_says_how_many_frames_serve() {
    for properties in ["", "batch-size=2"] {
        run(&pipeline_of(&format!("model={} {properties}", model("huge-batch")))).fails_with(&[
            "huge-batch",
            "batches of 100000000 frames",
            "at most 1024",
            "open batch dimension",
        ]);
    }
}

#[test]
fn a_model_whose_input_is_larger_than_any_tensor_in_caps_is_refused_and_the_pipeline_stops() {
    for (name, size) in [("enormous", "100000x100000"), ("endless", "3000000000x16")] {
        let report = run(&pipeline_of(&format!("model={}", model(name))));
        report.fails_with(&[&format!("{name}.onnx"), size, "16384x16384"]);
        assert_eq!(report.errors.len(), 1, "{report:?}");
    }
}

#[test]
fn an_input_beside_the_image_needs_a_constant_that_fits_it() {
    run(&pipeline_of(&format!("model={}", model("two-inputs-bare")))).fails_with(&[
        "second input",
        "size:int64:1x2",
        "[constants] size =",
    ]);
    run(&pipeline_of(&format!("model={}", model("two-inputs-short"))))
        .fails_with(&["constant size has 3 numbers", "size:int64:1x2"]);
}

#[test]
fn a_labels_file_that_cannot_be_read_is_named() {
    let good = model("detector");
    run(&pipeline_of(&format!("model={good} labels=/nowhere/coco.txt")))
        .fails_with(&["labels file", "/nowhere/coco.txt"]);
    let latin = scratch("labels").join("labels.txt");
    std::fs::write(&latin, [0x66, 0xfc, 0x6e, 0x66]).unwrap();
    run(&pipeline_of(&format!("model={good} labels={}", latin.display())))
        .fails_with(&["labels.txt", "UTF-8"]);
}

#[test]
fn a_provider_that_this_machine_does_not_have_says_why_and_what_takes_its_place() {
    if cudainfer_kernels::device::probe().is_ok() {
        return; // with a GPU they may work
    }
    for provider in ["cuda", "tensorrt", "tensorrt-rtx"] {
        run(&pipeline_of(&format!("model={} provider={provider}", model("detector")))).fails_with(&[
            &format!("provider={provider} does not work here"),
            "Set provider=auto to use the best one that works",
        ]);
    }
}

#[test]
fn one_pipeline_reports_once_that_it_runs_on_the_cpu_however_many_elements_could_use_a_gpu() {
    if cudainfer_kernels::device::probe().is_ok() {
        return;
    }
    let model = model("detector");
    let report = run(&format!(
        "videotestsrc num-buffers=2 ! cudainferupload ! tee name=t \
         t. ! queue ! fusedpreproc ! trtinfer model={model} ! gpunms ! fakesink \
         t. ! queue ! fusedpreproc ! trtinfer model={model} ! gpunms ! fakesink"
    ))
    .succeeds();
    assert_eq!(report.warnings.len(), 1, "{report:?}");
    assert!(report.warnings[0].contains("no GPU is used"), "{report:?}");
}

#[test]
fn a_pipeline_that_was_set_to_use_the_cpu_warns_of_nothing() {
    for provider in ["auto", "cpu"] {
        let pipeline = format!(
            "videotestsrc num-buffers=2 ! cudainferupload device=cpu ! fusedpreproc device=cpu ! trtinfer model={} device=cpu \
             provider={provider} ! gpunms device=cpu ! cudainferdownload device=cpu ! fakesink",
            model("detector")
        );
        assert_eq!(run(&pipeline).succeeds().warnings, [""; 0], "provider={provider}");
    }
}

#[test]
fn a_model_that_fails_while_it_runs_stops_the_pipeline_with_onnx_runtimes_reason() {
    // The model fails at this size, whatever the picture.
    let pipeline = format!(
        "videotestsrc num-buffers=50 ! fusedpreproc width=32 height=32 ! trtinfer model={} ! fakesink",
        model("fails-at-size")
    );
    run(&pipeline).fails_with(&["ONNX Runtime failed to run the model", "Reshape"]);
    // The third picture is white; the ones before it come through.
    for workers in [1, 3] {
        run(&format!(
            "videotestsrc num-buffers=2 pattern=black ! c. videotestsrc pattern=white ! c. concat name=c \
             ! fusedpreproc ! trtinfer workers={workers} model={} ! fakesink name=out",
            model("fails-on-bright")
        ))
        .fails_with(&["ONNX Runtime failed to run the model", "Gather"]);
    }
}

#[test]
fn a_branch_that_fails_to_open_does_not_hang_the_others() {
    let report = run(&format!(
        "videotestsrc ! fusedpreproc ! trtinfer model={} ! gpunms ! fakesink \
         videotestsrc ! fusedpreproc ! trtinfer model=/nowhere/a.onnx ! gpunms ! fakesink \
         videotestsrc ! fusedpreproc ! trtinfer model={} ! fakesink",
        model("detector"),
        model("fails-on-bright")
    ));
    report.fails_with(&["/nowhere/a.onnx"]);
}

#[test]
fn a_branch_that_fails_while_it_runs_does_not_hold_up_the_others() {
    use cudainfer_tests::{TestPipeline, until};
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc ! fusedpreproc ! trtinfer model={} ! gpunms ! fakesink name=good async=false \
         videotestsrc num-buffers=100 pattern=black ! c. videotestsrc pattern=white ! c. concat name=c \
         ! fusedpreproc ! trtinfer model={} ! fakesink async=false",
        model("detector"),
        model("fails-on-bright")
    ));
    let seen = pipeline.collect("good");
    pipeline.play();
    pipeline.wait().fails_with(&["Gather"]);
    let before = seen.lock().unwrap().len();
    until("frames of the good branch", || seen.lock().unwrap().len() > before + 10);
    pipeline.stop();
}

#[test]
fn a_gpu_that_is_not_there_is_said_once_and_device_and_provider_must_agree() {
    let report_of = |properties: &str| {
        run(&format!(
            "videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width=64,height=64 ! fusedpreproc \
             ! trtinfer name=t model={} {properties} ! fakesink",
            model("detector")
        ))
    };
    let report = report_of("device=cuda:99");
    let said = report.fails_with(&["t: device=cuda:99: "]);
    assert_eq!(said.matches("CUDA").count(), 1, "{said}");
    report_of("device=gpu").fails_with(&["t: device: 'gpu' is not a device: write auto, cuda, cuda:N"]);
    report_of("device=cpu provider=cuda").fails_with(&["device=cpu and provider=cuda contradict each other"]);
    report_of("device=cpu").succeeds();
    for element in ["fusedpreproc", "gpunms", "peakfind", "tracker", "cudainferupload", "cudainferdownload"] {
        let report_of = |device: &str| {
            run(&format!(
                "videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width=64,height=64 ! {element} name=e \
                 device={device} ! fakesink"
            ))
        };
        report_of("cuda:99").fails_with(&["e: device=cuda:99: "]);
        report_of("gpu").fails_with(&["e: device: 'gpu' is not a device: write auto, cuda, cuda:N"]);
    }
}
