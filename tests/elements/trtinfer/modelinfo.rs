//! `.modelinfo` files, which GStreamer 1.28's own inference elements need, as what is known of a model.

use std::path::PathBuf;

use cudainfer_tests::{TestPipeline, model, scratch};
use gst::prelude::*;
use gstcudainfer::meta::tensor::TensorSet;

/// A copy of the model whose output is its input, with files beside it.
fn copied(files: &[(&str, &str)]) -> PathBuf {
    let path = scratch("modelinfo").join("m.onnx");
    std::fs::copy(model("identity-f32-nchw"), &path).unwrap();
    for (name, text) in files {
        std::fs::write(path.with_file_name(name), text).unwrap();
    }
    path
}

/// The first number that the model gets for white frames, what trtinfer's `reading` says, and the warnings.
fn outcome(path: &std::path::Path) -> (f32, String, Vec<String>) {
    let pipeline = TestPipeline::new(&format!(
        "videotestsrc num-buffers=1 pattern=white ! video/x-raw,format=RGB,width=24,height=16 ! fusedpreproc device=cpu \
         ! trtinfer name=infer device=cpu model={} ! fakesink name=out",
        path.display()
    ));
    let frames = pipeline.collect("out");
    pipeline.play();
    let report = pipeline.wait().succeeds();
    let frames = frames.lock().unwrap();
    let sets = TensorSet::of(&frames[0]).unwrap();
    let map = sets[0].tensors[0].data.map_readable().unwrap();
    let first = f32::from_ne_bytes(map[..4].try_into().unwrap());
    let reading = pipeline.element("infer").property::<String>("reading");
    (first, reading, report.warnings)
}

const HEADER: &str = "[modelinfo]\nversion=1.0\ngroup-id=g\n\n";

#[test]
fn ranges_fill_the_input_and_the_sidecar_overrides_them() {
    let info = format!(
        "{HEADER}[images]\ndir=input\ntype=float32\ndims=1,3,16,24\nranges=-1.0,3.0\n\n[copy]\ndir=output\nid=pixels\ntype=float32\n"
    );
    for name in ["m.onnx.modelinfo", "m.modelinfo"] {
        let (white, reading, warnings) = outcome(&copied(&[(name, &info)]));
        assert!((white - 3.0).abs() < 1e-5, "{white}");
        assert!(reading.contains(&format!("mean 1, letterbox from a file beside it ({name})")), "{reading}");
        assert!(warnings.is_empty(), "{warnings:?}");
    }
    let files = [
        ("m.onnx.modelinfo", info.as_str()),
        ("m.toml", "[input]\nscale = 1.0\n[tensors]\ngroup = \"own\"\n"),
    ];
    let (white, reading, warnings) = outcome(&copied(&files));
    assert_eq!(white, 255.0);
    for part in [
        "scale, mean and std of the sidecar override 'm.onnx.modelinfo'",
        "[tensors] of the sidecar override",
    ] {
        assert!(reading.contains(part), "{reading}");
    }
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn what_is_wrong_in_the_file_is_a_warning_and_the_model_runs() {
    for (info, parts) in [
        (
            "[images]\ndir=input\nscale=2",
            vec!["[images] of 'm.modelinfo' beside the model", "the key 'scale' is not known"],
        ),
        (
            "[images]\ndir=input\nranges=PLACEHOLDER-RANGES-REQUIRED",
            vec!["ranges 'PLACEHOLDER-RANGES-REQUIRED' were ignored"],
        ),
        (
            "[images]\ndir=input\ndims=1,3,64,64\ntype=float32",
            vec![
                "'m.modelinfo' beside the model says that 'images' is float32 1x3x64x64",
                "The model counts",
            ],
        ),
        ("[pictures]\ndir=input\n", vec!["describes 'pictures', but the model has only images"]),
    ] {
        let (white, _, warnings) = outcome(&copied(&[("m.modelinfo", &format!("{HEADER}{info}"))]));
        assert_eq!((white, warnings.len()), (1.0, 1), "{warnings:?}");
        for part in parts {
            assert!(warnings[0].contains(part), "{warnings:?}");
        }
    }
    let (white, _, warnings) = outcome(&copied(&[("m.modelinfo", "version=1.0")]));
    assert_eq!(white, 1.0);
    assert!(warnings[0].contains("m.modelinfo' was not read: "), "{warnings:?}");
}
