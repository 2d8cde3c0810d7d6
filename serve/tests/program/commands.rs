//! The commands of the documents that send requests to the service: each is run as it is written.

use std::path::{Path, PathBuf};
use std::process::Command;

use cudainfer_tests::{model, root, run, scratch, until};

use crate::certificates::certificates;
use crate::fake_camera::{FakeCamera, PASSWORD};
use crate::service::{Service, command};

/// The picture of a track that the service has.
const PICTURE: &str = "20261123T074501.250Z-person-17.jpg";

/// The commands with curl, in the document's order.
fn commands(document: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("docs").join(document)).unwrap();
    let whole = text.replace("\\\n", "");
    whole
        .lines()
        .filter_map(|line| line.strip_prefix("    curl "))
        .map(|line| format!("curl {line}"))
        .collect()
}

/// A folder with a user's files and the service's configuration, with these keys of `[server]`.
fn folder(server: &str) -> PathBuf {
    let folder = scratch("commands");
    certificates(&folder);
    std::fs::write(folder.join("token"), "0123456789abcdef0123456789abcdef\n").unwrap();
    std::fs::create_dir(folder.join("models")).unwrap();
    for (from, to) in [("detector", "models/old.onnx"), ("detector-batch", "models/new.onnx")] {
        let (from, to) = (PathBuf::from(model(from)), folder.join(to));
        std::fs::copy(&from, &to).unwrap();
        std::fs::copy(from.with_extension("toml"), to.with_extension("toml")).unwrap();
    }
    run(&format!(
        "videotestsrc num-buffers=100 pattern=ball ! video/x-raw,format=I420,width=64,height=48,framerate=20/1 \
         ! x264enc speed-preset=ultrafast key-int-max=10 threads=1 ! h264parse ! mp4mux ! filesink location={}/door.mp4",
        folder.display()
    ))
    .succeeds();
    // What a service before this one has kept.
    let pictures = folder.join("state/kept/snapshots/door");
    std::fs::create_dir_all(&pictures).unwrap();
    std::fs::write(pictures.join(PICTURE), b"\xff\xd8").unwrap();
    let text = format!(
        "[server]\nlisten = '127.0.0.1:0'\nstate = 'state'\nmodels = 'models'\n{server}\n\
         [pipeline.detect-track]\n\
         line = 'fusedpreproc ! trtinfer model={{model}} ! gpunms ! tracker ! zonecount zones=all=polygon:0,0,9,0,9,9'\n\
         set = {{ model = 'models/old.onnx' }}\n\
         [[source]]\nname = 'door'\nuri = 'file://{}/door.mp4'\nloop = true\nhls = true\nrecord = {{ pre = 0.1, post = 0.2 }}\n",
        folder.display()
    );
    std::fs::write(folder.join("serve.toml"), text).unwrap();
    folder
}

fn start(folder: &Path) -> (Service, String) {
    let service = Service::start_with(&mut command(), &folder.join("serve.toml"));
    service.logs("'door': playing", 1);
    let line = service.logs("control and page are at ", 1);
    let url = line.rsplit(' ').next().unwrap().trim_end_matches('/').to_owned();
    (service, url)
}

/// Runs a command as a user's shell does, but curl fails if the service refuses. Returns the command's output.
#[track_caller]
fn shell(folder: &Path, url: &str, settings: &str, command: &str) -> String {
    let always = format!("silent\nshow-error\nfail-with-body\nmax-time = 100\n{settings}");
    std::fs::write(folder.join(".curlrc"), always).unwrap();
    let output = Command::new("bash")
        .args(["-c", command])
        .current_dir(folder)
        .env("CURL_HOME", folder)
        .env("URL", url)
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_commands_of_the_documents_do_what_they_say() {
    let camera = FakeCamera::good("127.0.0.1", "urn:uuid:1", "Gate");
    let folder = folder(&FakeCamera::key(&[&camera]));
    let (_service, url) = start(&folder);
    let all = commands("serve-api.md").into_iter().chain(commands("serve-outputs.md"));
    let (mut secured, mut count) = (0, 0);
    for command in all {
        if command.contains("https://") {
            secured += 1;
            continue;
        }
        let mut command = command
            .replace("http://127.0.0.1:8080", &url)
            .replace("http://192.0.2.10/", &format!("http://{}/", camera.asked))
            .replace("\"password\": \"…\"", &format!("\"password\": \"{PASSWORD}\""))
            .replace("/snapshots/FILE", &format!("/snapshots/{PICTURE}"));
        if let Some((before, _)) = command.split_once("/recordings/") {
            let list = format!("curl $URL/v1/streams/door{}", "/recordings");
            let mut files = serde_json::Value::Null;
            until("a recording is complete", || {
                files = serde_json::from_str(&shell(&folder, &url, "", &list)).unwrap();
                files["recordings"][0].is_object()
            });
            command = format!("{before}/recordings/{}", files["recordings"][0]["file"].as_str().unwrap());
        }
        if command.ends_with("/v1/events/live") {
            // It goes on for as long as there is a service.
            command = format!("timeout 3 {command} || [ $? = 124 ]");
        }
        let answer = shell(&folder, &url, "", &command);
        if answer.starts_with('{') {
            let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
            assert!(answer.get("error").is_none(), "{command}: {answer}");
        }
        count += 1;
    }
    assert_eq!(secured, 2, "the next test runs them");
    assert!(count >= 20, "{count} commands of the documents were found");
    let jpeg = std::fs::read(folder.join("door.jpg")).unwrap();
    assert!(jpeg.starts_with(b"\xff\xd8"), "JPEG's first bytes");
    let mp4 = std::fs::read_dir(&folder).unwrap().filter_map(Result::ok);
    let mp4 = mp4.filter(|file| file.file_name().to_string_lossy().ends_with("Z-request.mp4"));
    assert!(mp4.count() >= 1, "the recording was downloaded");
    let pipelines = shell(&folder, &url, "", "curl $URL/v1/pipelines");
    assert!(pipelines.contains("models/new.onnx"), "{pipelines}");
}

#[test]
fn the_commands_with_a_token_and_with_a_certificate_are_answered() {
    let tls = "tls-cert = 'server.pem'\ntls-key = 'server.key'\n";
    let commands = commands("serve-api.md");
    for (key, part) in [("token-file = 'token'", "Bearer"), ("client-ca = 'ca.pem'", "--cert client.pem")] {
        let folder = folder(&format!("{tls}{key}"));
        let (_service, url) = start(&folder);
        let [command] = &commands.iter().filter(|command| command.contains(part)).collect::<Vec<_>>()[..]
        else {
            panic!("{part} is not in one command")
        };
        let command = command.replace("/etc/cudainfer/token", "token");
        let port = url.rsplit(':').next().unwrap();
        let here = format!("connect-to = \"cams.example:8443:127.0.0.1:{port}\"\n");
        assert!(shell(&folder, &url, &here, &command).contains("\"door\""), "{command}");
    }
}
