//! Sources in the folder `state` that must not be started: changes that clients may not make, and sources that have ended the
//! service.

use std::path::Path;
use std::sync::mpsc::channel;

use cudainfer_serve::config::{Config, SourceConfig, Stuck};
use cudainfer_serve::fleet::{Fleet, Refusal};
use cudainfer_serve::stream::Reason;
use cudainfer_serve::stream::supervisor::State;
use cudainfer_tests::{scratch, until};
use gst::prelude::*;
use serde_json::json;

use crate::fleet::{ends_undisturbed, fleet, frames_come, of};

const URI: &str = "test://ball?width=64&height=48&rate=20";

fn server(state: &std::path::Path) -> String {
    format!("[server]\nstate = \"{}\"\n", state.display())
}

#[test]
fn a_kept_change_that_clients_may_not_make_is_listed_as_failed_until_it_is_mended() {
    let state = scratch("kept");
    let kept = json!({
        "added": {
            "evil": {"name": "evil", "uri": URI, "pipeline": "plain", "override": {"identity.sync": true}},
            "file": {"name": "file", "uri": "file:///etc/passwd", "pipeline": "plain"},
            "good": {"name": "good", "uri": URI, "pipeline": "plain"},
        },
        "patched": {}, "removed": {}, "models": {"plain/trtinfer": {"line": "own.onnx", "now": "/etc/passwd"}},
    });
    std::fs::write(state.join("streams.json"), kept.to_string()).unwrap();
    let fleet = fleet(&server(&state));
    frames_come(&fleet, "good", 3);
    for (name, part) in [
        ("evil", "a client may not set the property 'sync' of identity"),
        ("file", "a client may not name files"),
    ] {
        until("it has failed", || of(&fleet, name).state == State::Failed);
        let error = of(&fleet, name).last_error.unwrap();
        assert!(error.contains(part) && error.contains("set by the API"), "{error}");
        let refused = fleet.restart(name);
        assert!(
            matches!(&refused, Err(Refusal::Conflict(sentence)) if sentence.contains(part)),
            "{refused:?}"
        );
    }
    let again = std::fs::read_to_string(state.join("streams.json")).unwrap();
    assert!(again.contains("evil"), "it is not dropped: {again}");
    assert!(!again.contains("plain/trtinfer"), "the model of the pipeline's description is used: {again}");
    fleet.change("evil", &json!({"override": null})).unwrap();
    frames_come(&fleet, "evil", 3);
    fleet.remove("file").unwrap();
    ends_undisturbed(&fleet);
}

#[test]
fn a_source_that_has_ended_the_service_twice_is_not_started_but_by_request() {
    let state = scratch("stuck");
    let source = |name: &str| SourceConfig {
        name: name.into(),
        uri: URI.into(),
        pipeline: "plain".into(),
        ..SourceConfig::default()
    };
    let mut stuck = Stuck::default();
    for name in ["once", "twice", "twice"] {
        stuck.note(&source(name));
    }
    stuck.save(&state).unwrap();
    let sources = ["once", "twice"]
        .map(|name| format!("[[source]]\nname = \"{name}\"\nuri = \"{URI}\"\npipeline = \"plain\"\n"));
    let fleet = fleet(&(server(&state) + &sources.concat()));
    frames_come(&fleet, "once", 3);
    let held = of(&fleet, "twice");
    assert_eq!((held.state, held.frames), (State::Failed, 0));
    assert!(held.last_error.unwrap().contains("ended the service 2 times"));
    fleet.restart("twice").unwrap();
    frames_come(&fleet, "twice", 3);
    // The restart forgets it, as `steady` seconds of frames do.
    until("all is forgotten", || Stuck::load(&state).unwrap() == Stuck::default());
    ends_undisturbed(&fleet);
}

#[test]
fn a_file_that_has_become_a_fifo_is_not_opened() {
    let folder = scratch("fifo");
    let (file, server) = (folder.join("a.ts"), format!("[server]\nfiles = \"{}\"\n", folder.display()));
    cudainfer_tests::run(&format!(
        "videotestsrc num-buffers=20 ! video/x-raw,format=I420,width=64,height=48,framerate=20/1 \
         ! x264enc speed-preset=ultrafast threads=1 ! mpegtsmux ! filesink location={}",
        file.display()
    ))
    .succeeds();
    let fleet = fleet(&server);
    let source = SourceConfig {
        name: "file".into(),
        uri: format!("file://{}", file.display()).into(),
        pipeline: "plain".into(),
        ..SourceConfig::default()
    };
    fleet.add(source).unwrap();
    crate::fleet::ends(&fleet, "file");
    std::fs::remove_file(&file).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    fleet.restart("file").unwrap();
    let refused =
        || of(&fleet, "file").last_error.is_some_and(|text| text.contains("is no regular file below"));
    until("it is refused", refused);
    assert_eq!((of(&fleet, "file").state, fleet.left_behind()), (State::Waiting, 0));
    ends_undisturbed(&fleet);
}

#[test]
fn what_could_not_be_written_is_not_said_to_be_kept_and_is_written_when_that_is_possible() {
    let state = scratch("unsaved");
    let mut noted = Stuck::default();
    noted.note(&SourceConfig { name: "bystander".into(), ..SourceConfig::default() });
    noted.save(&state).unwrap();
    let fleet = fleet(&server(&state));
    assert!(fleet.keeps() && fleet.status().state_error.is_none());
    let source = |name: &str| SourceConfig {
        name: name.into(),
        uri: URI.into(),
        pipeline: "plain".into(),
        ..SourceConfig::default()
    };
    // A folder in the file's place, so that writing fails as on a full disk.
    let file = state.join("streams.json");
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let other = state.join("stuck.json");
    std::fs::remove_file(&other).unwrap();
    std::fs::create_dir(&other).unwrap();
    fleet.add(source("one")).unwrap();
    assert!(!fleet.keeps() && !fleet.status().keeps);
    fleet.restart("bystander").unwrap();
    let error = fleet.status().state_error.unwrap();
    assert!(error.contains("streams.json") && error.contains("stuck.json"), "{error}");
    // Writing works again, and no client changes anything.
    std::fs::remove_dir(&file).unwrap();
    until("the changes are written", || fleet.keeps());
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("one"), "{kept}");
    std::fs::remove_dir(&other).unwrap();
    until("all is written", || fleet.status().state_error.is_none());
    assert_eq!(Stuck::load(&state).unwrap(), Stuck::default());
    assert_eq!(fleet.drain(), [""; 0]);
}

#[test]
fn what_killed_services_were_writing_is_removed_at_the_start_and_nothing_else() {
    let state = scratch("killed");
    let put = |name: &str| std::fs::write(state.join(name), "{").unwrap();
    let left = [".cudainfer-0123456789abcdef.tmp", ".tmpAbC123"];
    let others = [".tmp-mine1", ".tmpabcdefg", "thesis.tmp"];
    left.iter().chain(&others).for_each(|name| put(name));
    std::fs::create_dir(state.join(".tmpfolder")).unwrap();
    std::os::unix::fs::symlink("thesis.tmp", state.join(".tmplinked")).unwrap();
    let fleet = fleet(&server(&state));
    assert!(left.iter().all(|name| !state.join(name).exists()));
    let stays = others.iter().chain(&[".tmpfolder", ".tmplinked"]);
    assert!(stays.into_iter().all(|name| state.join(name).exists()));
    ends_undisturbed(&fleet);
}

#[test]
fn a_second_service_on_the_same_folder_is_refused_and_the_first_goes_on() {
    let state = scratch("locked");
    let first = fleet(&server(&state));
    let config = Config::read(&server(&state), Path::new("second.toml")).unwrap();
    let refused = Fleet::start(config, channel().0).unwrap_err().to_string();
    assert!(
        refused.contains("is in use by another part of this process")
            && refused.contains("set state in [server]"),
        "{refused}"
    );
    ends_undisturbed(&first);
}

#[test]
fn streams_whose_files_are_missing_at_the_start_wait_for_them_and_play_when_they_are_there() {
    let (state, folder) = (scratch("missing"), scratch("network-folder"));
    let path = |name: &str| folder.join(name);
    let detector = Path::new(&cudainfer_tests::model("detector")).to_owned();
    let put = |to: &Path| {
        std::fs::copy(detector.with_extension("toml"), to.with_extension("toml")).unwrap();
        std::fs::copy(&detector, to).unwrap();
    };
    put(&path("line.onnx"));
    let text = format!(
        "{0}models = \"{1}\"\nfiles = \"{1}\"\n[pipeline.find]\nline = \"fusedpreproc ! trtinfer model={{model}} ! gpunms\"\n\
         set = {{ model = \"{1}/line.onnx\" }}\n[[source]]\nname = \"shared\"\nuri = \"{URI}\"\npipeline = \"find\"\n",
        server(&state),
        folder.display(),
    );
    let film = format!("file://{}", path("film.ts").display());
    let kept = json!({
        "added": {
            "own": {"name": "own", "uri": URI, "pipeline": "find", "set": {"model": path("own.onnx")}},
            "film": {"name": "film", "uri": film, "pipeline": "plain"},
        },
        "models": {"find/trtinfer": {"line": path("line.onnx"), "now": path("late.onnx")}},
    });
    std::fs::write(state.join("streams.json"), kept.to_string()).unwrap();
    let fleet = fleet(&text);
    let missing = [("shared", "late.onnx"), ("own", "own.onnx"), ("film", "film.ts")];
    for (name, file) in missing {
        until("it is tried again and again", || of(&fleet, name).restarts.get(&Reason::Error) >= Some(&2));
        let status = of(&fleet, name);
        assert!([State::Waiting, State::Starting].contains(&status.state), "{status:?}");
        let error = status.last_error.unwrap();
        assert!(error.contains(file) && error.contains("set by the API"), "{error}");
    }
    assert_eq!(fleet.status().states[&State::Failed], 0);
    let again = std::fs::read_to_string(state.join("streams.json")).unwrap();
    assert!(missing.iter().all(|(_, file)| again.contains(file)), "nothing is forgotten: {again}");

    // The streams start without a request.
    ["late.onnx", "own.onnx"].iter().for_each(|name| put(&path(name)));
    cudainfer_tests::run(&format!(
        "videotestsrc num-buffers=20 ! video/x-raw,format=I420,width=64,height=48,framerate=20/1 \
         ! x264enc speed-preset=ultrafast threads=1 ! mpegtsmux ! filesink location={}",
        path("writing.ts").display()
    ))
    .succeeds();
    std::fs::rename(path("writing.ts"), path("film.ts")).unwrap();
    for (name, file) in missing {
        until("its frames come", || of(&fleet, name).frames >= 3);
        if name != "film" {
            let network = fleet.built(name).unwrap().description.element("trtinfer").unwrap();
            assert_eq!(network.property::<Option<String>>("model"), Some(path(file).display().to_string()));
        }
    }
    ends_undisturbed(&fleet);
}

#[test]
fn a_missing_model_that_comes_back_as_a_link_to_elsewhere_is_not_read() {
    let (state, folder) = (scratch("comes-back"), scratch("comes-back-models"));
    let late = folder.join("late.onnx");
    let text = format!(
        "{}models = \"{}\"\n[pipeline.linked]\nline = \"fusedpreproc ! trtinfer model={} ! gpunms\"\n\
         [[source]]\nname = \"a\"\nuri = \"{URI}\"\npipeline = \"linked\"\n",
        server(&state),
        folder.display(),
        cudainfer_tests::model("detector")
    );
    let line = cudainfer_tests::model("detector");
    let kept = json!({"models": {"linked/trtinfer": {"line": line, "now": late}}});
    std::fs::write(state.join("streams.json"), kept.to_string()).unwrap();
    let fleet = fleet(&text);
    until("it waits", || of(&fleet, "a").last_error.is_some_and(|text| text.contains("there is no model")));
    std::os::unix::fs::symlink("/etc/passwd", &late).unwrap();
    until("it has failed", || of(&fleet, "a").state == State::Failed);
    let error = of(&fleet, "a").last_error.unwrap();
    assert!(error.contains("no model that a client may choose"), "{error}");
    ends_undisturbed(&fleet);
}

#[test]
fn a_reload_while_a_model_is_missing_leaves_alone_what_plays_with_it() {
    let folder = scratch("reloaded");
    let (model, file) = (folder.join("put.onnx"), folder.join("serve.toml"));
    let detector = cudainfer_tests::model("detector");
    std::fs::copy(&detector, &model).unwrap();
    std::fs::copy(Path::new(&detector).with_extension("toml"), model.with_extension("toml")).unwrap();
    let text = format!(
        "{}models = \"{}\"\n[pipeline.reloaded]\nline = \"fusedpreproc ! trtinfer model={detector} ! gpunms\"\n\
         [[source]]\nname = \"a\"\nuri = \"{URI}\"\n",
        server(&folder),
        folder.display()
    );
    std::fs::write(&file, text).unwrap();
    cudainfer_tests::init();
    let fleet = Fleet::start(Config::load(&file).unwrap(), channel().0).unwrap();
    frames_come(&fleet, "a", 3);
    fleet.set_model("reloaded", &model.display().to_string()).unwrap();
    std::fs::remove_file(&model).unwrap();
    let before = fleet.built("a").unwrap().pipeline;
    fleet.reload().unwrap();
    frames_come(&fleet, "a", 3);
    assert!(fleet.built("a").is_some_and(|built| built.pipeline == before));
    let status = of(&fleet, "a");
    assert!(status.state == State::Playing && status.restarts.is_empty(), "{status:?}");
    assert_eq!(fleet.drain(), [""; 0]);
}
