//! The tracer in processes of its own, as users set it up.

use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

use cudainfer_tests::{LIMIT, scratch};

/// gst-launch-1.0 with the tracer of these options.
pub(crate) fn launch(options: &str, description: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    assert!(folder.join("libgstcudainfer.so").is_file(), "the plugin is not beside the test");
    let mut command = Command::new("timeout");
    command
        .args([LIMIT.as_secs().to_string().as_str(), "gst-launch-1.0", "-q"])
        .args(description.split_whitespace())
        .env("GST_PLUGIN_PATH", folder)
        .env("GST_REGISTRY", scratch("registry").join("registry.bin"))
        .env("GST_TRACERS", format!("cudainfertracer({options})"))
        .env("GST_DEBUG", "cudainfer-tracer:4")
        .env("GST_DEBUG_NO_COLOR", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn with_a_port_in_use_the_pipeline_runs_and_one_sentence_says_so() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    for (address, why) in [
        (taken.local_addr().unwrap().to_string(), "Address already in use"),
        ("nonsense".into(), "invalid socket address"),
        ("127.0.0.1:99999".into(), "invalid port"),
    ] {
        let output =
            launch(&format!("metrics={address}"), "videotestsrc num-buffers=3 ! fakesink").output().unwrap();
        let said = said(&output);
        assert!(output.status.success(), "{said}");
        let printed: Vec<_> = said.lines().filter(|line| line.starts_with("cudainfer: WARNING")).collect();
        assert_eq!(printed.len(), 1, "{said}");
        assert!(printed[0].contains(&format!("'{address}'")) && printed[0].contains(why), "{said}");
        assert!(printed[0].contains("Set metrics=ADDRESS:PORT"), "{said}");
    }
}

#[test]
fn metrics_alone_make_no_table_and_say_only_in_the_log_where_they_are() {
    let description = "videotestsrc num-buffers=3 ! fakesink";
    let output = launch("metrics=127.0.0.1:0", description).env_remove("GST_DEBUG").output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let json = scratch("json").join("a.json").display().to_string();
    let output = launch(&format!("metrics=127.0.0.1:0,json={json}"), description).output().unwrap();
    assert!(said(&output).contains("metrics are at http://127.0.0.1:"), "{output:?}");
    assert!(said(&output).contains("element"), "the table: {output:?}");
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(report["frames"], 3);
}
