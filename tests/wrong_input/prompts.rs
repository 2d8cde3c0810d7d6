//! Promptable decoders without what they take.

use cudainfer_tests::{model, run, scratch};

const SOURCE: &str = "videotestsrc num-buffers=2 pattern=red ! video/x-raw,format=RGB,width=64,height=64";

/// A detector, and what follows.
fn detected(after: &str) -> String {
    format!(
        "{SOURCE} ! fusedpreproc ! trtinfer model={} ! gpunms ! {after} ! fakesink",
        model("lists-torchvision")
    )
}

fn pair(encoder: &str, decoder: &str, properties: &str) -> String {
    detected(&format!(
        "fusedpreproc ! trtinfer model={} ! trtinfer name=decoder model={decoder} ! segmask name=masks {properties}",
        model(encoder)
    ))
}

#[test]
fn a_decoder_without_its_encoder_is_an_error_that_names_what_is_missing() {
    let decoder = model("prompt-decoder");
    for (before, parts) in [
        ("fusedpreproc ! ", ["as 'image_embeddings'", "without it", "the encoder, before this element"]),
        // The detector's outputs go on where an element asks for tensors.
        ("", ["the tensor 'image_embeddings'", "makes boxes, labels, scores", "[prompts]"]),
    ] {
        let error = run(&detected(&format!("{before}trtinfer name=decoder model={decoder} ! segmask")));
        let error = error.fails_with(&parts).to_owned();
        assert!(error.starts_with("decoder: "), "{error}");
    }
    run(&pair("prompt-encoder-2", &decoder, "")).fails_with(&[
        "takes the tensor 'image_embeddings', but the model upstream makes image_embed, high_res_feats_0",
        "[prompts]: tensors = { image_embeddings",
    ]);
    run(&pair("prompt-encoder", &model("prompt-decoder-wrong"), ""))
        .fails_with(&["takes the tensor 'features'"]);
    // Another tensor of the encoder, by its name.
    let folder = scratch("prompts");
    let copy = folder.join("decoder.onnx");
    std::fs::copy(&decoder, &copy).unwrap();
    std::fs::write(
        folder.join("decoder.toml"),
        "[prompts]\ntensors = { image_embeddings = \"high_res_feats_0\" }\n",
    )
    .unwrap();
    run(&pair("prompt-encoder", copy.to_str().unwrap(), "")).fails_with(&[
        "the model wants image_embeddings:float32:1x3x16x16, but the model upstream makes high_res_feats_0:float32:1x3x32x32",
        "of one model",
    ]);
    std::fs::write(folder.join("decoder.toml"), "[prompts]\npoints = \"points\"\n").unwrap();
    run(&pair("prompt-encoder", copy.to_str().unwrap(), ""))
        .fails_with(&["prompts.points of the sidecar names 'points', which is none of them"]);
    std::fs::write(folder.join("decoder.toml"), "[prompts]\nbox = false\n").unwrap();
    run(&pair("prompt-encoder", copy.to_str().unwrap(), "")).fails_with(&["nothing is asked for"]);
    run(&detected(&format!(
        "fusedpreproc roi=objects ! trtinfer model={} ! trtinfer name=decoder model={decoder} ! segmask",
        model("prompt-encoder")
    )))
    .fails_with(&["has seen regions of it", "Remove the property roi"]);
}

#[test]
fn a_mask_that_cannot_be_chosen_is_an_error() {
    let decoder = model("prompt-decoder");
    for (properties, parts) in [
        ("channel=4", &["channel is 4, but", "has 4 maps"][..]),
        ("tensor=iou_predictions", &["'iou_predictions", "no maps of one object", "Set tensor"]),
        ("scores=points", &["points"]),
        ("mode=argmax", &["mode is argmax", "leave it out"]),
        ("output=gray", &["the masks of single objects are metadata"]),
    ] {
        run(&pair("prompt-encoder", &decoder, properties)).fails_with(parts);
    }
}
