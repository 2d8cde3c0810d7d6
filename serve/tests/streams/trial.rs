//! Models that cannot be used are refused and not kept, also if no stream plays that could show it. A stream that is added while
//! a model changes has the new model.

use cudainfer_serve::config::SourceConfig;
use cudainfer_serve::fleet::{Applied, Fleet, Refusal};
use cudainfer_tests::{model, scratch, until};
use gst::prelude::*;
use serde_json::json;

use crate::fleet::{ends_undisturbed, fleet, frames_come, of};

const URI: &str = "test://ball?width=64&height=48&rate=20";

/// A source of the pipeline `find` of a test, with the keys in `more`.
fn source(pipeline: &str, name: &str, uri: &str, more: &serde_json::Value) -> SourceConfig {
    let mut source = json!({"name": name, "uri": uri, "pipeline": pipeline});
    source.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(source).unwrap()
}

fn own_model(model: &str) -> serde_json::Value {
    json!({"set": {"model": model}})
}

fn model_of(fleet: &Fleet, name: &str) -> String {
    let network = fleet.built(name).unwrap().description.element("trtinfer").unwrap();
    network.property::<Option<String>>("model").unwrap()
}

/// `[server]` and the pipeline, with a folder that has two copies of a model and a file that is no model.
fn served(pipeline: &str) -> (std::path::PathBuf, [String; 3], String) {
    let folder = scratch(pipeline);
    let path = |name: &str| folder.join(name).display().to_string();
    for copy in ["line.onnx", "good.onnx"].map(path) {
        std::fs::copy(model("detector"), &copy).unwrap();
        let sidecar = |model: &str| std::path::Path::new(model).with_extension("toml");
        std::fs::copy(sidecar(&model("detector")), sidecar(&copy)).unwrap();
    }
    std::fs::write(path("garbage.onnx"), "no model").unwrap();
    let text = format!(
        "[server]\nstate = \"{0}\"\nmodels = \"{0}\"\n[pipeline.{pipeline}]\n\
         line = \"fusedpreproc ! trtinfer model={{model}} ! gpunms\"\nset = {{ model = \"{0}/line.onnx\" }}\n",
        folder.display()
    );
    let models = ["line.onnx", "good.onnx", "garbage.onnx"].map(path);
    (folder, models, text)
}

#[test]
fn a_model_that_cannot_be_loaded_is_refused_and_not_kept_while_nothing_plays() {
    let (folder, [line, good, garbage], text) = served("unplayed");
    let fleet = fleet(&text);
    let kept = || std::fs::read_to_string(folder.join("streams.json")).unwrap();
    let add =
        |name: &str, uri: &str, more: &serde_json::Value| fleet.add(source("unplayed", name, uri, more));
    add("away", "rtsp://127.0.0.1:1/none", &json!({})).unwrap();

    let refused = fleet.set_model("unplayed", &garbage);
    assert!(
        matches!(&refused, Err(Refusal::Conflict(text)) if text.contains("trtinfer") && text.contains("garbage.onnx")),
        "{refused:?}"
    );
    for (name, more) in
        [("set", own_model(&garbage)), ("override", json!({"override": {"trtinfer.model": garbage}}))]
    {
        let refused = add(name, URI, &more);
        assert!(
            matches!(&refused, Err(Refusal::Invalid(text)) if text.contains("garbage.onnx")),
            "{refused:?}"
        );
        assert!(fleet.stream(name).is_none(), "{name}");
    }
    assert!(!kept().contains("garbage.onnx"), "{}", kept());

    assert_eq!(fleet.set_model("unplayed", &good).unwrap().before, line);
    assert!(kept().contains("good.onnx"), "{}", kept());
    add("own", URI, &own_model(&good)).unwrap();
    frames_come(&fleet, "own", 3);
    let refused = fleet.change("own", &own_model(&garbage));
    assert!(matches!(&refused, Err(Refusal::Invalid(text)) if text.contains("garbage.onnx")), "{refused:?}");
    frames_come(&fleet, "own", 3);
    assert!(of(&fleet, "own").restarts.is_empty(), "the stream goes on");
    assert_eq!(fleet.change("own", &own_model(&line)).unwrap().applied, Applied::Restart);
    frames_come(&fleet, "own", 3);
    assert!(!kept().contains("garbage.onnx"), "{}", kept());
    ends_undisturbed(&fleet);
}

#[test]
fn a_stream_that_is_added_while_the_model_changes_has_the_new_one() {
    let (_folder, [_, good, _], text) = served("meanwhile");
    let fleet = fleet(&text);
    let add = |fleet: &Fleet, name: &str| fleet.add(source("meanwhile", name, URI, &json!({}))).unwrap();
    add(&fleet, "early");
    frames_come(&fleet, "early", 3);
    // The stream is added after the model was set and before it is in use.
    let network = fleet.built("early").unwrap().description.element("trtinfer").unwrap();
    let (meanwhile, once) = (fleet.clone(), std::sync::Once::new());
    network.connect_notify(Some("model"), move |_, _| once.call_once(|| drop(add(&meanwhile, "late"))));
    fleet.set_model("meanwhile", &good).unwrap();
    frames_come(&fleet, "late", 3);
    // No other stream is left from whose instance it could have the model.
    fleet.remove("early").unwrap();
    let before = fleet.built("late").unwrap().pipeline;
    fleet.restart("late").unwrap();
    until("it is started again", || fleet.built("late").is_some_and(|built| built.pipeline != before));
    frames_come(&fleet, "late", 3);
    assert_eq!(model_of(&fleet, "late"), good);
    ends_undisturbed(&fleet);
}
