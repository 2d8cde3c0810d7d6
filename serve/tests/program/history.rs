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
