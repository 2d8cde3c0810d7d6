//! Outputs of numbers that are no scores of classes, or of which nobody says what they are.

use cudainfer_tests::{TestPipeline, model, run};
use gst::prelude::*;

/// A pipeline of one red frame through this model and element.
fn pipeline_of(model_name: &str, element: &str) -> String {
    format!(
        "videotestsrc num-buffers=3 pattern=red ! video/x-raw,format=RGB,width=16,height=16 ! fusedpreproc resize=stretch \
         ! trtinfer model={} ! {element} ! fakesink name=out",
        model(model_name)
    )
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
