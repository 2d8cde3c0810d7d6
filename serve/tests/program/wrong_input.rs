//! Each fault of a configuration is reported in one sentence, before anything starts.

use std::net::TcpListener;

use cudainfer_tests::{fetched, free_port, model, root, scratch};

use crate::service::{Service, check, command};

/// A configuration in which nothing is wrong.
fn good() -> String {
    format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[pipeline.detect]\nline = \"\"\"fusedpreproc ! trtinfer model={{model}}\n\
         ! gpunms classes={{classes}} ! tracker ! zonecount\"\"\"\nset = {{ model = \"{}\", classes = \"red\" }}\n\
         [[publish]]\nlocation = \"/dev/null\"\n[[source]]\nname = \"door\"\nuri = \"test://ball\"\n\
         zones = [ {{ name = \"a\", kind = \"line\", points = [[1, 1], [9, 9]] }} ]\n",
        model("detector")
    )
}

#[test]
fn what_is_right_is_called_so() {
    // Zones may be drawn on the page later.
    for text in [good(), good().replacen("\nzones", "\n# zones", 1)] {
        let output = check(&text);
        assert!(output.status.success(), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("right (sources: 1, pipelines: 1)"),
            "{output:?}"
        );
    }
}

#[test]
fn what_is_wrong_is_one_sentence_with_its_line() {
    let model = model("detector");
    for (from, to, parts) in [
        ("listen", "lisen", ["serve.toml:2:", "'listen' is probably meant"]),
        (
            "gpunms classes",
            "gpunsm classes",
            ["serve.toml:4:", "no element gpunsm: correct the name ('gpunms' exists)"],
        ),
        (
            "gpunms classes",
            "gpunms clases",
            ["serve.toml:4:", "gpunms has no property 'clases': 'classes' is probably meant"],
        ),
        (
            "fusedpreproc !",
            "fusedpreproc intervall=2 !",
            ["serve.toml:4:", "no property \"intervall\" in element \"fusedpreproc"],
        ),
        (
            "! tracker !",
            "! tracker ! !",
            ["serve.toml:4:", "does not parse: syntax error. Write elements as"],
        ),
        ("! zonecount", "! zonecount ! fakesink", ["pipeline 'detect'", "no open src pad"]),
        ("fusedpreproc !", "audioconvert !", ["pipeline 'detect'", "could not link"]),
        ("127.0.0.1:0", "localhost:8080", ["serve.toml:2:", "'localhost:8080' is no address"]),
        (model.as_str(), "/nowhere/a.onnx", ["source 'door'", "no model '/nowhere/a.onnx'"]),
        ("! zonecount", "", ["serve.toml:12:", "no zonecount"]),
        ("location", "loction", ["inferpublish has no property", "'location' is probably meant"]),
        ("/dev/null", "mqqt://broker/a", ["serve.toml:8:", "mqqt"]),
        (
            "/dev/null\"\n[[source]]",
            "all.jsonl\"\n[[source]]\nname = \"yard\"\nuri = \"test://ball\"\n[[source]]",
            ["serve.toml:8:", "2 streams would write over each other's records in 'all.jsonl'"],
        ),
        ("/dev/null", "{source}.jsonl", ["serve.toml:8:", "write {name} for the stream's name"]),
        (
            "classes = \"red\" }",
            "classes = \"red\", batch = 4 }",
            ["serve.toml:6:", "no {batch} that set could fill in"],
        ),
        ("[9, 9]", "[1, 1]", ["source 'door'", "zone"]),
        ("test://ball", "test://bal", ["serve.toml:11:", "no value of videotestsrc's property 'pattern'"]),
        ("test://ball", "file:///nowhere/a.mp4", ["serve.toml:11:", "there is no file '/nowhere/a.mp4'"]),
        (
            "uri = ",
            "override = { \"gpunms.confidnce\" = 0.4 }\nuri = ",
            ["serve.toml:11:", "'confidence' is probably meant"],
        ),
        (
            "uri = ",
            "override = { \"gpunms.confidence\" = 4 }\nuri = ",
            [
                "serve.toml:11:",
                "'4' is no value of gpunms's property 'confidence': expected a number from 0 to 1",
            ],
        ),
        (
            "uri = ",
            "override = { \"trtinfer.batch-size\" = -1 }\nuri = ",
            [
                "serve.toml:11:",
                "'-1' is no value of trtinfer's property 'batch-size': expected a whole number from",
            ],
        ),
        (
            "uri = ",
            "override = { \"trtinfer.provider\" = \"cudaa\" }\nuri = ",
            ["serve.toml:11:", "expected one of auto, tensorrt"],
        ),
        ("uri = ", "zone-units = \"fraction\"\nuri = ", ["serve.toml:13:", "set zone-units = \"pixels\""]),
        ("[1, 1], [9, 9]", "[0.1, 0.1], [0.9, 0.9]", ["serve.toml:12:", "set zone-units = \"fraction\""]),
        (
            "[[source]]",
            "[pipeline.spare]\nline = \"gpunsm\"\n[[source]]\npipeline = \"detect\"",
            ["serve.toml:10:", "pipeline 'spare': GStreamer has no element gpunsm"],
        ),
        (
            "uri = ",
            "override = { \"gpumns.confidence\" = 0.4 }\nuri = ",
            ["serve.toml:11:", "'gpunms' is probably meant"],
        ),
        (
            "uri = ",
            "source = { patern = \"snow\" }\nuri = ",
            ["serve.toml:11:", "'pattern' is probably meant"],
        ),
    ] {
        let text = good();
        assert!(text.contains(from), "{from}");
        let output = check(&text.replacen(from, to, 1));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(78), "{to}: {errors}");
        assert!(parts.iter().all(|part| errors.contains(part)), "{to}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{to}: {errors}");
    }
}

#[test]
fn models_and_lines_are_tried() {
    let broken = scratch("broken").join("broken.onnx");
    std::fs::write(&broken, "no model").unwrap();
    for (to, part) in [
        (broken.display().to_string(), "broken.onnx"),
        // Found only when its input comes: it has no output that gpunms reads.
        (model("attributes"), "pipeline 'detect': gpunms: "),
    ] {
        let output = check(&good().replace(&model("detector"), &to));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(78), "{to}: {errors}");
        assert!(errors.contains("serve.toml:") && errors.contains(part), "{to}: {errors}");
    }
    let output = check(&good().replace("model={model}", "model={model} batch-size=3"));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && errors.contains("the model takes one frame a run"), "{errors}");
}

#[test]
fn the_example_is_right() {
    let folder = scratch("example").join("serve");
    std::fs::create_dir(&folder).unwrap();
    let text = std::fs::read_to_string(root().join("serve/example.toml")).unwrap();
    let (model, video) = (fetched("models/nanodet.onnx"), fetched("video/vtest.avi"));
    let places = [
        ("../.cache/models/nanodet.onnx", model.as_str()),
        ("/usr/src/cudainfer/.cache/video/vtest.avi", video.as_str()),
        ("127.0.0.1:8080", "127.0.0.1:0"),
    ];
    let text = places.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    let output = check(&text);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !errors.contains("batch-size"), "{errors}");
}

#[test]
fn the_port_of_the_service_that_runs_is_its_own() {
    let text = good().replace("127.0.0.1:0", &format!("127.0.0.1:{}", free_port()));
    let service = Service::start(&text);
    service.logs("control and page are at ", 1);
    let output = command().arg("--check").arg(&service.file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn an_encoder_that_is_not_there_is_missed_where_it_is_needed() {
    let text = good().replace("[server]\n", "[server]\nencoder = \"x264en\"\nstate = \".\"\n");
    assert!(check(&text).status.success(), "no source needs the encoder");
    let output = check(&(text + "hls = true\n"));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78), "{errors}");
    assert!(errors.contains("encoder in [server] cannot be used") && errors.contains("x264en"), "{errors}");
}

#[test]
fn a_pipeline_that_takes_or_gives_no_video_is_refused() {
    for (description, part) in
        [("audioconvert", "no video at its sink pad"), ("videoconvert ! x264enc", "no video at its src pad")]
    {
        let output = check(&format!(
            "[pipeline.p]\nline = \"{description}\"\n[[source]]\nname = \"a\"\nuri = \"test://ball\"\n"
        ));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(78), "{description}: {errors}");
        assert!(errors.contains(part), "{description}: {errors}");
    }
}

#[test]
fn cameras_that_do_not_answer_are_a_warning_each() {
    let answers = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = std::net::SocketAddr::from(([127, 0, 0, 1], free_port()));
    let source = |name: &str, uri: &str| format!("[[source]]\nname = \"{name}\"\nuri = \"{uri}\"\n");
    let zones = "zones = [ { name = \"a\", kind = \"line\", points = [[1, 1], [9, 9]] } ]\n";
    let text = [
        good(),
        source("on", &format!("rtsp://{}/1", answers.local_addr().unwrap())) + zones,
        source("off", &format!("rtsp://admin:secret@{closed}/1")) + zones,
        source("page", &format!("http://{closed}/live.m3u8")) + zones,
        source("named", "rtsp://camera.invalid/1") + zones,
        source("cut", "rtsp://admin:12/secret@camera.invalid/1") + zones,
        source("usb", "v4l2:///dev/video-none") + zones,
    ]
    .concat();
    let output = check(&text);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("right (sources: 7, pipelines: 1)"),
        "{output:?}"
    );
    // The lines are tried, and there may be no GPU.
    let lines: Vec<_> = errors.lines().filter(|line| !line.contains("no GPU is used")).collect();
    for (line, parts) in lines.iter().zip([
        ["source 'off'", &format!("{closed} cannot be reached: Connection refused")],
        ["source 'page'", &format!("{closed} cannot be reached: Connection refused")],
        ["source 'named'", "camera.invalid:554 cannot be reached"],
        ["source 'cut'", "'rtsp://camera.invalid/1' names no host; in a user or password write / as %2F"],
        ["source 'usb'", "no device /dev/video-none"],
    ]) {
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
    }
    assert_eq!(lines.len(), 5, "{errors}");
    assert!(!errors.contains("secret"), "{errors}");
}

#[test]
fn a_port_in_use_is_reported_before_anything_starts() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = check(&good().replace("127.0.0.1:0", &address));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let parts = [address.as_str(), "Address already in use", "Set an address"];
    assert!(parts.iter().all(|part| errors.contains(part)), "{errors}");
}

#[test]
fn an_rtsp_port_in_use_is_reported_before_anything_starts() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = check(&good().replace("[server]", &format!("[server]\nrtsp = \"{address}\"")));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let parts = [address.as_str(), "Address already in use", "Set rtsp in [server]"];
    assert!(parts.iter().all(|part| errors.contains(part)), "{errors}");
}

#[test]
fn without_the_plugin_one_sentence_says_what_to_set() {
    let folder = scratch("alone");
    // The plugin is also beside the program of the tests, so the program is copied to another folder.
    let program = folder.join("cudainfer-serve");
    std::fs::copy(env!("CARGO_BIN_EXE_cudainfer-serve"), &program).unwrap();
    let file = folder.join("serve.toml");
    std::fs::write(&file, good()).unwrap();
    let registry = scratch("registry").join("registry.bin");
    let mut command = std::process::Command::new(program);
    let output = command
        .arg("--check")
        .arg(file)
        .env_remove("GST_PLUGIN_PATH")
        .env("GST_REGISTRY", registry)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("set GST_PLUGIN_PATH"), "{errors}");
}

#[test]
fn wrong_arguments_show_the_usage() {
    for arguments in [&[][..], &["--chek", "a"], &["a", "b"], &["import"]] {
        let output = command().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("--check CONFIG.toml"), "{output:?}");
    }
    let output = command().args(["import", "--help"]).output().unwrap();
    assert!(
        output.status.success() && output.stdout.starts_with(b"cudainfer-serve CONFIG.toml"),
        "{output:?}"
    );
    let output = command().arg("/nowhere/serve.toml").output().unwrap();
    assert_eq!(output.status.code(), Some(78), "{output:?}");
}
