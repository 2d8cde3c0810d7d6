//! The history of a service that is killed.

use cudainfer_tests::{model, root, scratch, until};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::service::{Service, command};

fn get(url: &str) -> Value {
    let mut answer = ureq::get(url).call().unwrap();
    serde_json::from_slice(&answer.body_mut().read_to_vec().unwrap()).unwrap()
}

fn put(url: &str, body: &Value) {
    let request = ureq::put(url).header("content-type", "application/json");
    request.send(body.to_string().as_bytes()).unwrap();
}

/// The address in the line of the log that has it.
fn address(service: &Service) -> String {
    let line = service.logs("control and page are at ", 1);
    line.rsplit_once(' ').unwrap().1.trim_end_matches('/').to_owned()
}

#[test]
fn what_was_listed_before_a_service_was_killed_is_listed_by_the_next_one() {
    let folder = scratch("killed");
    let text = format!(
        "[server]\nlisten = '127.0.0.1:0'\nstate = '{}'\n\
         [pipeline.count]\nline = '''fusedpreproc device=cpu ! trtinfer model={} device=cpu ! gpunms ! tracker \
         ! zonecount units=fraction'''\n\
         [[source]]\nname = 'door'\nuri = 'test://red?width=320&height=240&rate=30'\nzone-units = 'fraction'\n\
         zones = [{{ name = 'first', kind = 'polygon', points = [[0, 0], [1, 0], [1, 1], [0, 1]] }}]\n",
        folder.display(),
        model("detector")
    );
    let file = scratch("killed-serve").join("serve.toml");
    std::fs::write(&file, &text).unwrap();
    let mut known = Vec::new();
    for start in 0..3 {
        let mut command = command();
        // Where ONNX Runtime is for this test itself.
        if std::env::var_os("VIRTUAL_ENV").is_none() {
            command.env("VIRTUAL_ENV", root().join(".venv"));
        }
        let mut service = Service::start_with(&mut command, &file);
        let url = address(&service);
        let events = || get(&format!("{url}/v1/events?limit=1000"))["events"].as_array().unwrap().clone();
        let before = events();
        let kept = before.iter().filter(|event| known.contains(*event)).count();
        assert_eq!(kept, known.len(), "start {start}: {before:#?} of {known:#?}");
        for number in 0..3 {
            let name = format!("zone {start} {number}");
            let polygon =
                json!({"name": name, "kind": "polygon", "points": [[0, 0], [1, 0], [1, 1], [0, 1]]});
            until("an event is listed", || {
                std::thread::sleep(std::time::Duration::from_millis(100));
                put(
                    &format!("{url}/v1/streams/door/zones"),
                    &json!({"units": "fraction", "zones": [polygon]}),
                );
                known = events();
                known.iter().any(|event| event["zone"] == name.as_str())
            });
        }
        service.signal(Signal::KILL);
        assert!(!service.ends().success());
        assert_eq!(service.count("history"), 0, "nothing is wrong with it");
    }
    assert!(known.len() >= 9, "{known:#?}");
    assert!(!folder.join("history-damaged.sqlite").exists());
}

/// The kinds of the boxes of an MP4 file that is being written.
fn boxes(file: &std::path::Path, kind: &[u8; 4]) -> usize {
    std::fs::read(file).unwrap_or_default().windows(4).filter(|bytes| bytes == kind).count()
}

#[test]
fn the_recording_of_an_event_that_a_killed_service_was_writing_is_that_of_the_event_after_the_next_start() {
    let folder = scratch("killed-recording");
    let video = folder.join("video.mp4");
    // Longer than this test takes, so the video does not begin again.
    let line = format!(
        "videotestsrc num-buffers=3000 pattern=red ! video/x-raw,format=I420,width=320,height=240,framerate=10/1 \
         ! x264enc key-int-max=10 speed-preset=ultrafast ! h264parse ! mp4mux ! filesink location={}",
        video.display()
    );
    cudainfer_tests::run(&line).succeeds();
    let text = format!(
        "[server]\nlisten = '127.0.0.1:0'\nstate = '{}'\n\
         [pipeline.count]\nline = '''fusedpreproc device=cpu ! trtinfer model={} device=cpu ! gpunms ! tracker \
         ! zonecount units=fraction'''\n\
         [[source]]\nname = 'door'\nuri = 'file://{}'\nzone-units = 'fraction'\nrecord = {{ on = ['zone'], pre = 1, post = 200 }}\n\
         zones = [{{ name = 'all', kind = 'polygon', points = [[0, 0], [1, 0], [1, 1], [0, 1]] }}]\n",
        folder.display(),
        model("detector"),
        video.display()
    );
    let file = scratch("killed-recording-serve").join("serve.toml");
    std::fs::write(&file, &text).unwrap();
    let start = || {
        let mut command = command();
        if std::env::var_os("VIRTUAL_ENV").is_none() {
            command.env("VIRTUAL_ENV", root().join(".venv"));
        }
        Service::start_with(&mut command, &file)
    };
    let mut service = start();
    let url = address(&service);
    let events =
        |url: &str| get(&format!("{url}/v1/events?limit=1000"))["events"].as_array().unwrap().clone();
    let recordings = folder.join("kept/recordings/door");
    let unfinished = || -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(&recordings).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .filter(|path| path.to_string_lossy().ends_with(".mp4.part"))
            .collect()
    };
    until("an event is listed, and two seconds of its recording are written", || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        events(&url).iter().any(|event| event["kind"] == "enter")
            && unfinished().first().is_some_and(|file| boxes(file, b"moof") >= 2)
    });
    let before = events(&url).into_iter().find(|event| event["kind"] == "enter").unwrap();
    assert_eq!(before["recording"], Value::Null, "it is not complete");
    service.signal(Signal::KILL);
    assert!(!service.ends().success());

    let service = start();
    let url = address(&service);
    let mut after = Value::Null;
    until("the event has its recording", || {
        let found = events(&url).into_iter().find(|event| event["id"] == before["id"]);
        after = found.unwrap();
        after["recording"].is_string()
    });
    let video = ureq::get(format!("{url}/{}", after["recording"].as_str().unwrap()))
        .call()
        .unwrap()
        .body_mut()
        .read_to_vec();
    assert_eq!(&video.unwrap()[4..8], b"ftyp");
    // The object is there from the first frame on, and so is the recording; tracks begin a few frames later.
    let offset = after["offset"].as_f64().unwrap();
    assert!((0.0..2.0).contains(&offset), "{after:#}");
    service.logs("was not completed, and plays up to its last second", 1);
    let left: Vec<_> =
        std::fs::read_dir(&recordings).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let left = left.iter().filter(|name| name.to_string_lossy().contains(".about")).count();
    assert!(left <= 1, "only that of the recording that is being written now");
}
