//! Outputs of numbers that are no scores of classes, or of which nobody says what they are.

use cudainfer_kernels::geometry::Rect;
use cudainfer_tests::{TestPipeline, end, model, push, run, scratch};
use gstcudainfer::meta::object::{DetectionParam, Object, objects};

use crate::{lines, violations};

/// A pipeline of one red frame through this model and element.
fn pipeline_of(model_name: &str, element: &str) -> String {
    pipeline_of_file(&model(model_name), element)
}

fn pipeline_of_file(path: &str, element: &str) -> String {
    format!(
        "videotestsrc num-buffers=3 pattern=red ! video/x-raw,format=RGB,width=16,height=16 ! fusedpreproc resize=stretch \
         ! trtinfer model={path} ! {element} ! fakesink name=out"
    )
}

/// A copy of a model with this sidecar.
fn with_sidecar(name: &str, sidecar: &str) -> String {
    let path = scratch("numbers").join(format!("{name}.onnx"));
    std::fs::copy(model(name), &path).unwrap();
    std::fs::write(path.with_extension("toml"), sidecar).unwrap();
    path.display().to_string()
}

/// The objects of the first frame of this pipeline.
fn first_objects(pipeline: &str) -> Vec<Object> {
    let pipeline = TestPipeline::new(pipeline);
    let out = pipeline.collect("out");
    pipeline.play();
    pipeline.wait().succeeds();
    pipeline.stop();
    let out = out.lock().unwrap();
    objects(&out[0])
}

/// The objects after `elements` of a frame that is red on the left and blue on the right, with an object on either side.
fn of_two_objects(elements: &str) -> Vec<Object> {
    const SIDE: usize = 32;
    let row = (0..SIDE).flat_map(|x| if x < SIDE / 2 { [255, 0, 0] } else { [0, 0, 255] });
    cudainfer_tests::init();
    let mut buffer = gst::Buffer::from_mut_slice(row.cycle().take(3 * SIDE * SIDE).collect::<Vec<u8>>());
    let writable = buffer.get_mut().unwrap();
    writable.set_pts(gst::ClockTime::ZERO);
    for (id, x) in [(0, 4.0), (1, 20.0)] {
        let rect = Rect { x, y: 4.0, w: 8.0, h: 8.0 };
        let detection = Some(DetectionParam { rect, confidence: 0.5, label_id: 0 });
        Object { id, label: "face".into(), detection, ..Object::default() }.put(writable, &rect);
    }
    let pipeline = TestPipeline::new(&format!(
        "appsrc name=in format=time caps=video/x-raw,format=RGB,width={SIDE},height={SIDE},framerate=25/1 \
         ! {elements} ! fakesink name=out"
    ));
    let out = pipeline.collect("out");
    pipeline.play();
    push(&pipeline.element("in"), buffer);
    end(&pipeline.element("in"));
    pipeline.wait().succeeds();
    pipeline.stop();
    let out = out.lock().unwrap();
    objects(&out[0])
}

/// Names and values of an object.
fn values(object: &Object) -> Vec<(&str, f64)> {
    let of = |values: &'_ gstcudainfer::meta::object::ValuesParam| values.names.len();
    assert!(object.values.iter().all(|values| of(values) == values.values.len()), "{object:?}");
    let pairs = object.values.iter().flat_map(|all| all.names.iter().zip(&all.values));
    pairs.map(|(name, value)| (name.as_str(), *value)).collect()
}

#[track_caller]
fn assert_values(object: &Object, wanted: &[(&str, f64)]) {
    let got = values(object);
    assert_eq!(got.len(), wanted.len(), "{got:?}");
    for (got, wanted) in got.iter().zip(wanted) {
        // Float32 means of some hundred values, a hundredfold.
        assert!(got.0 == wanted.0 && (got.1 - wanted.1).abs() < 1e-3, "{got:?}, not {wanted:?}");
    }
}

/// The warnings of classify when this pipeline runs.
fn warnings(pipeline: &str) -> Vec<String> {
    let pipeline = TestPipeline::new(pipeline);
    pipeline.play();
    let mut warnings = Vec::new();
    pipeline.each_message(|message| {
        if let gst::MessageView::Warning(warning) = message.view() {
            warnings.push(warning.error().to_string());
        }
    });
    pipeline.stop();
    warnings.retain(|text| text.contains("find: "));
    warnings
}

#[test]
fn few_numbers_of_which_nothing_says_that_they_are_scores_are_no_class() {
    for (name, numbers) in [("people", "3 numbers"), ("age", "1 number,")] {
        for properties in ["", "top-k=2 threshold=0.5"] {
            let report = run(&pipeline_of(name, &format!("classify {properties}")));
            report.fails_with(&["'fc:float32:1x", numbers, "set mode=classes", "labels=FILE"]);
        }
        for properties in ["mode=classes", "activation=softmax"] {
            let pipeline = pipeline_of(name, &format!("classify name=find {properties}"));
            assert_eq!(warnings(&pipeline), [""; 0], "{name} {properties}");
        }
    }
}

#[test]
fn many_logits_without_labels_are_read_with_a_warning_that_says_how_to_confirm_it() {
    for name in ["ages", "ages-open"] {
        let warnings = warnings(&pipeline_of(name, "classify name=find"));
        let [warning] = &warnings[..] else { panic!("{name}: {warnings:?}") };
        assert!(warning.contains("the 101 numbers in 'fc' are scores of classes"), "{warning}");
        assert!(warning.contains("Set mode=classes if that is right"), "{warning}");
    }
    for name in ["ages", "ages-open"] {
        assert_eq!(warnings(&pipeline_of(name, "classify name=find mode=classes")), [""; 0], "{name}");
    }
}

#[test]
fn objects_have_the_values_and_classes_that_the_sidecar_names() {
    let path = model("people-named");
    for mode in ["mode=auto", "mode=values"] {
        for batch in ["batch-size=1", "batch-size=4"] {
            let objects = of_two_objects(&format!(
                "fusedpreproc roi=objects resize=stretch ! trtinfer model={path} {batch} ! classify {mode}"
            ));
            let [red, blue] = &objects[..] else { panic!("{objects:?}") };
            assert_values(red, &[("age", 1.5)]);
            assert_values(blue, &[("age", 101.5)]);
            let [gender] = &red.classifications[..] else { panic!("{red:?}") };
            assert_eq!((gender.model.as_str(), gender.output.as_str()), ("people-named", "gender"));
            assert_eq!((&gender.labels[..], &gender.label_ids[..]), (&["female".to_owned()][..], &[0][..]));
            // The logits are 8 and 0.
            let sure = 1.0 / (1.0 + (-8f64).exp());
            assert!((gender.confidence[0] - sure).abs() < 1e-6, "{gender:?}");
            assert_eq!(red.values[0].output, "fc");
        }
    }
}

#[test]
fn a_whole_frame_has_values_and_the_mean_of_bins() {
    let bins = "[classify.age]\nchannels = [0, 101]\nmode = \"expectation\"\nbins = [0, 1]\n";
    let path = with_sidecar("ages", bins);
    let objects = first_objects(&pipeline_of_file(&path, "classify"));
    let [frame] = &objects[..] else { panic!("{objects:?}") };
    // 10 in the bin of 20 years, 0 in the others.
    let (best, others) = (10f64.exp(), f64::from((0..=100).sum::<i32>() - 20));
    assert_values(frame, &[("age", (best * 20.0 + others) / (best + 100.0))]);
    assert_eq!((frame.label.as_str(), frame.classifications.len()), ("frame", 0));
    let several =
        "[classify.fc_numbers]\nchannels = [0, 2]\nactivation = \"sigmoid\"\nlabels = [\"red\", \"green\"]\n";
    let path = with_sidecar("people", several);
    let objects = first_objects(&pipeline_of_file(&path, "classify"));
    let sigmoid = 1.0 / (1.0 + (-8f64).exp());
    assert_values(&objects[0], &[("fc_numbers.red", sigmoid), ("fc_numbers.green", 0.5)]);
}

#[test]
fn values_that_cannot_be_read_as_the_sidecar_says_are_errors() {
    let with = |name: &str, sidecar: &str, properties: &str| {
        run(&pipeline_of_file(&with_sidecar(name, sidecar), &format!("classify {properties}")))
    };
    let slice = |text: &str| format!("[classify.age]\n{text}\n");
    with("people", &slice("channels = [2, 4]"), "").fails_with(&[
        "[classify.age] of the sidecar has channels = [2, 4], but",
        "has 3 numbers",
        "[2, 3]",
    ]);
    with("people", "", "mode=values").fails_with(&["mode is values, but the model's sidecar does not say"]);
    let bins = "channels = [0, 101]\nmode = \"expectation\"\nbins = [0, 1]";
    with("ages-open", &slice(bins), "")
        .fails_with(&["does not tell whether 'fc' has probabilities", "softmax"]);
    with("people", &slice("channels = [2, 2]"), "").fails_with(&["classify.age.channels is [2, 2]"]);
    with("people", &slice("channels = [2, 3]\noutput = \"ages\""), "mode=values")
        .fails_with(&["a part of 'ages', but the model has no such output", "fc:float32"]);
    let slice_of_several = slice("channels = [0, 1]");
    with("attributes", &slice_of_several, "output=colour")
        .fails_with(&["of which of the model's outputs", "add output"]);
}

#[test]
fn each_output_of_several_has_its_own_slices_and_records_have_all_values() {
    let sidecar = "[classify.warmth]\nchannels = [0, 1]\noutput = \"traits\"\nscale = 10.0\n\
                   [classify.x]\nchannels = [0, 1]\noutput = \"vector\"\n\
                   [classify.colour]\nlabels = [\"red\", \"green\", \"blue\"]\n";
    let path = with_sidecar("attributes", sidecar);
    let records = scratch("numbers-records").join("values.jsonl");
    let objects = of_two_objects(&format!(
        "fusedpreproc roi=objects resize=stretch ! trtinfer model={path} ! classify output=traits ! classify output=vector \
         ! classify output=colour ! inferpublish location={}",
        records.display()
    ));
    // The sigmoid of 2, and 3.
    let warmth = 10.0 / (1.0 + (-2f64).exp());
    assert_values(&objects[0], &[("warmth", warmth), ("x", 3.0)]);
    assert_eq!(objects[0].classifications[0].labels, ["red"]);
    let record = lines(&records).remove(0);
    let errors = violations(&record);
    assert!(errors.is_empty(), "{errors:?} in {record}");
    let object = &record["objects"][0];
    let expected =
        serde_json::json!({ "name": "x", "value": 3.0, "model": "attributes", "output": "vector" });
    assert_eq!(object["values"][1], expected, "{record}");
    assert_eq!(object["classification"][0]["label"], "red");
}
