//! Metadata and files beside a model that no exporter would write.

use cudainfer_tests::{model, run, scratch};

fn pipeline_of(model: &str) -> String {
    format!("videotestsrc num-buffers=1 ! fusedpreproc ! trtinfer model={model} ! gpunms ! fakesink")
}

#[test]
fn metadata_that_makes_no_sense_leaves_the_model_to_its_shapes() {
    run(&pipeline_of(&model("says-nonsense"))).succeeds();
}

#[test]
fn files_beside_a_model_that_make_no_sense_are_passed_over() {
    let deep = "[".repeat(100_000);
    let long = format!("{{\"id2label\": {{\"4000000000\": \"{}\"}}}}", "a".repeat(100_000));
    let too_long = " ".repeat(2_000_000);
    for (name, text) in [
        ("config.json", deep.as_bytes()),
        ("config.json", long.as_bytes()),
        ("config.json", b"{\"model_type\": \"detr\", \"architectures\": {}, \"id2label\": [null, -1]}"),
        ("config.json", b"{\"architecture\": 1, \"pretrained_cfg\": {\"input_size\": [1e300, -1, {}], \"std\": [0, 0, 0]}}"),
        ("preprocessor_config.json", b"{\"image_processor_type\": \"X\", \"size\": {\"height\": -1}, \"rescale_factor\": 1e999}"),
        ("preprocessor_config.json", &[0xff, 0xfe, 0]),
        ("preprocessor_config.json", too_long.as_bytes()),
        ("infer_cfg.yml", deep.as_bytes()),
        ("infer_cfg.yml", b"arch: &a [*a]"),
        ("infer_cfg.yml", b"arch: x\nPreprocess: [[], {type: Resize, target_size: [-1, 1e9]}, {type: NormalizeImage, std: 0}]"),
        ("environment.json", b"{\"CLASS_MAP\": {\"-1\": 5}, \"PREPROCESSING\": \"{{{{\"}"),
        ("class_names.txt", &[0xff; 100]),
    ] {
        let folder = scratch("beside");
        std::fs::copy(model("masks"), folder.join("model.onnx")).unwrap();
        std::fs::write(folder.join(name), text).unwrap();
        let path = folder.join("model.onnx");
        let report = run(&pipeline_of(&path.display().to_string()));
        // PaddleDetection's architecture cannot be read, which is a warning here.
        assert!(report.errors.is_empty(), "{name}: {report:?}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn a_directory_or_a_fifo_for_a_file_beside_a_model_is_passed_over() {
    let folder = scratch("beside-irregular");
    std::fs::copy(model("masks"), folder.join("model.onnx")).unwrap();
    std::fs::create_dir(folder.join("config.json")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(folder.join("infer_cfg.yml")).status().unwrap();
    assert!(fifo.success());
    run(&pipeline_of(&folder.join("model.onnx").display().to_string())).succeeds();
}
