//! Changes of a fleet that plays: another model, zones.

use cudainfer_serve::fleet::{Applied, Fleet, Refusal};
use cudainfer_serve::stream::supervisor::State;
use cudainfer_tests::{model, scratch, until};
use gst::prelude::*;
use serde_json::json;

use crate::fleet::{ends_undisturbed, fleet, frames_come, of};

/// Two streams of a pipeline that share a model, and a stream that has chosen another model. Instances belong to the process, so
/// each test has a pipeline of its own.
fn detecting(pipeline: &str, old: &str, own: &str) -> Fleet {
    let source = |name: &str, more: &str| {
        format!(
            "[[source]]\nname = \"{name}\"\nuri = \"test://ball?width=64&height=48&rate=20\"\npipeline = \"{pipeline}\"\n{more}\n"
        )
    };
    let lines = format!(
        "[server]\nmodels = \"{}\"\n[pipeline.{pipeline}]\nline = \"fusedpreproc ! trtinfer model={{model}} ! gpunms ! tracker ! zonecount\"\n\
         set = {{ model = \"{old}\" }}\n",
        std::env::temp_dir().display()
    );
    let zones = "zones = [{ name = \"all\", kind = \"polygon\", points = [[0, 0], [60, 0], [60, 40]] }]";
    let own = format!("{zones}\nset = {{ model = \"{own}\" }}");
    fleet(&(lines + &source("a", zones) + &source("b", zones) + &source("own", &own)))
}

/// A model that a stream runs.
fn model_of(fleet: &Fleet, name: &str) -> String {
    let network = fleet.built(name).unwrap().description.element("trtinfer").unwrap();
    network.property::<Option<String>>("model").unwrap()
}

/// Whether the frames of a stream come from this model, whose name the property has before it is loaded.
fn runs(fleet: &Fleet, name: &str, model: &str) -> bool {
    let network = fleet.built(name).unwrap().description.element("trtinfer").unwrap();
    let caps = network.static_pad("src").unwrap().current_caps();
    let loaded = caps.and_then(|caps| caps.structure(0)?.get::<String>("tensor-model").ok());
    let stem = std::path::Path::new(model).file_stem().unwrap().to_str().unwrap();
    model_of(fleet, name) == model && loaded.is_some_and(|loaded| loaded.contains(stem))
}

/// Waits for frames, and until the stream knows that it plays.
#[track_caller]
fn plays(fleet: &Fleet, name: &str) {
    frames_come(fleet, name, 5);
    until("it plays", || of(fleet, name).state == State::Playing);
}

/// Asserts that the streams were not started again.
#[track_caller]
fn goes_on(fleet: &Fleet, name: &str) {
    plays(fleet, name);
    let status = of(fleet, name);
    assert!(status.restarts.is_empty() && status.last_error.is_none(), "{status:?}");
}

#[test]
fn another_model_is_used_by_all_that_share_it_and_a_wrong_one_by_nobody() {
    let folder = scratch("models");
    let copy = |name: &str| {
        let from = std::path::PathBuf::from(model("detector"));
        let to = folder.join(name);
        std::fs::copy(&from, &to).unwrap();
        std::fs::copy(from.with_extension("toml"), to.with_extension("toml")).unwrap();
        to.display().to_string()
    };
    let (old, new, own) = (copy("old.onnx"), copy("new.onnx"), copy("own.onnx"));
    let fleet = detecting("models", &old, &own);
    for name in ["a", "b", "own"] {
        plays(&fleet, name);
    }
    let change = fleet.set_model("models", &new).unwrap();
    assert_eq!((change.before.as_str(), change.model.as_str()), (old.as_str(), new.as_str()));
    assert_eq!(change.streams, ["a", "b"]);
    for (name, used) in [("a", &new), ("b", &new), ("own", &own)] {
        goes_on(&fleet, name);
        assert_eq!(&model_of(&fleet, name), used, "{name}");
    }
    // A stream that starts from now on has the model as well.
    fleet.restart("b").unwrap();
    frames_come(&fleet, "b", 5);
    assert_eq!(model_of(&fleet, "b"), new);

    // A stream may start after an element got another model and before the service has noted that, as if the change were under
    // way.
    let network = fleet.built("a").unwrap().description.element("trtinfer").unwrap();
    network.set_property("model", &old);
    until("both run it", || ["a", "b"].iter().all(|name| runs(&fleet, name, &old)));
    fleet.restart("b").unwrap();
    plays(&fleet, "b");
    assert_eq!(model_of(&fleet, "b"), old);
    assert!(of(&fleet, "b").last_error.is_none(), "{:?}", of(&fleet, "b"));
    network.set_property("model", &new);
    until("both run it", || ["a", "b"].iter().all(|name| runs(&fleet, name, &new)));

    let wrong = folder.join("wrong.onnx");
    std::fs::write(&wrong, "no model").unwrap();
    let refused = fleet.set_model("models", &wrong.display().to_string());
    assert!(matches!(&refused, Err(Refusal::Conflict(text)) if text.contains("wrong.onnx")), "{refused:?}");
    goes_on(&fleet, "a");
    assert_eq!(model_of(&fleet, "a"), new);
    let missing = fleet.set_model("models", "/nowhere/a.onnx");
    assert!(
        matches!(&missing, Err(Refusal::Invalid(text)) if text.contains("/nowhere/a.onnx")),
        "{missing:?}"
    );
    ends_undisturbed(&fleet);
}

#[test]
fn zones_margins_and_thresholds_change_while_frames_flow_and_nothing_else_is_touched() {
    let fleet = detecting("zones", &model("detector"), &model("detector-batch"));
    for name in ["a", "b"] {
        plays(&fleet, name);
    }
    let zones = json!([{"name": "new", "kind": "line", "points": [[0, 20], [60, 20]]}]);
    let patch = json!({"zones": zones, "override": {"zonecount.margin": 0.2, "gpunms.confidence": 0.3}});
    assert_eq!(fleet.change("a", &patch).unwrap().applied, Applied::Live);
    let counter = |name: &str| fleet.built(name).unwrap().description.element("zonecount").unwrap();
    assert!(counter("a").property::<Option<String>>("zones").unwrap().contains("new"));
    assert!(!counter("b").property::<Option<String>>("zones").unwrap().contains("new"));
    assert!((counter("a").property::<f64>("margin") - 0.2).abs() < 1e-9);
    let threshold = |name: &str| {
        fleet.built(name).unwrap().description.element("gpunms").unwrap().property::<f32>("confidence")
    };
    assert_eq!((threshold("a"), threshold("b")), (0.3, 0.25));
    for name in ["a", "b"] {
        goes_on(&fleet, name);
    }
    // A wrong change has no effect; a change that needs a start starts this stream alone.
    let wrong = fleet.change("a", &json!({"override": {"zonecount.margin": "wide"}}));
    assert!(matches!(wrong, Err(Refusal::Invalid(_))), "{wrong:?}");
    goes_on(&fleet, "a");
    let restarted = fleet.change("a", &json!({"uri": "test://ball?width=80&height=48&rate=20"})).unwrap();
    assert_eq!(restarted.applied, Applied::Restart);
    frames_come(&fleet, "a", 5);
    assert!(counter("a").property::<Option<String>>("zones").unwrap().contains("new"), "the zones stay");
    goes_on(&fleet, "b");
    ends_undisturbed(&fleet);
}
