//! ONNX Runtime or OpenVINO missing, too old, or something else. A library is loaded once a process, so these pipelines run in
//! children of the test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cudainfer_tests::{LIMIT, TestPipeline, model, root, run, scratch};
use gst::prelude::*;
use gstcudainfer::inference::Provider;

const LINE: &str = "CUDAINFER_TEST_LINE";

/// The child process: runs the pipeline of its environment and prints the messages. In the test run itself, it does nothing.
#[test]
fn child() {
    let Ok(description) = std::env::var(LINE) else { return };
    let pipeline = TestPipeline::start(&description);
    let report = pipeline.wait();
    if let Some(element) = pipeline.by_name("trtinfer0") {
        println!("ACTIVE {:?}", element.property::<Provider>("active-provider"));
    }
    for error in report.errors {
        println!("ERROR {error}");
    }
    for warning in report.warnings {
        println!("WARNING {warning}");
    }
}

/// Runs a pipeline in a child process in `folder` and returns its errors and warnings, one a line.
fn errors(description: &str, folder: &Path, environment: &[(&str, &str)]) -> String {
    let mut child = cudainfer_tests::test_in_own_process(module_path!(), "child");
    child.current_dir(folder).env(LINE, description);
    child
        .env_remove("ORT_DYLIB_PATH")
        .env_remove("CUDAINFER_OPENVINO")
        .env_remove("VIRTUAL_ENV")
        .envs(environment.iter().copied());
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + 2 * LIMIT;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("the child hangs: {description}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the child died: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn pipeline_of(properties: &str) -> String {
    format!(
        "videotestsrc num-buffers=1 ! fusedpreproc ! trtinfer model={} {properties} ! fakesink",
        model("detector")
    )
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
    assert!(text.contains("pip install onnxruntime"), "it does not say how to get one: {text}");
}

/// A shared library of this C source.
fn library(folder: &Path, source: &str) -> PathBuf {
    let (from, to) = (folder.join("library.c"), folder.join("libonnxruntime.so"));
    std::fs::write(&from, source).unwrap();
    let status = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&to, &from]).status().unwrap();
    assert!(status.success());
    to
}

/// A library as release 1.10, which has a version, and no API for a caller that asks for a newer one.
const OLD: &str = r#"
struct base { const void *(*get_api)(unsigned); const char *(*get_version)(void); };
static const void *get_api(unsigned version) { return 0; }
static const char *get_version(void) { return "1.10.0"; }
static const struct base base = { get_api, get_version };
const struct base *OrtGetApiBase(void) { return &base; }
"#;

#[test]
fn a_library_that_is_not_there_says_where_to_get_one() {
    let folder = scratch("no-library");
    let text = errors(&pipeline_of("onnxruntime=/nonexistent/libonnxruntime.so"), &folder, &[]);
    says(&text, &["the property onnxruntime names '/nonexistent/libonnxruntime.so'"]);
    let text = errors(&pipeline_of(""), &folder, &[("ORT_DYLIB_PATH", "/nonexistent/ort.so")]);
    says(&text, &["ORT_DYLIB_PATH names '/nonexistent/ort.so'"]);
    // Away from every virtual environment, where the loader knows none either.
    if Command::new("ldconfig")
        .arg("-p")
        .output()
        .is_ok_and(|o| !o.stdout.windows(11).any(|w| w == b"onnxruntime"))
    {
        let text = errors(&pipeline_of(""), &folder, &[]);
        says(&text, &["ONNX Runtime's library was not found"]);
    }
}

#[test]
fn a_library_that_is_too_old_says_its_version_and_the_least_that_is_needed() {
    let folder = scratch("old-library");
    let old = library(&folder, OLD);
    let text = errors(&pipeline_of(&format!("onnxruntime={}", old.display())), &folder, &[]);
    says(&text, &["1.10.0", "at least 1.17", "libonnxruntime.so"]);
}

#[test]
fn a_library_of_something_else_is_refused() {
    let folder = scratch("other-library");
    let other = library(&folder, "int answer(void) { return 42; }");
    let text = errors(&pipeline_of(&format!("onnxruntime={}", other.display())), &folder, &[]);
    says(&text, &["does not export OrtGetApiBase"]);
    let nothing = library(&folder, "const void *OrtGetApiBase(void) { return 0; }");
    let text = errors(&pipeline_of(&format!("onnxruntime={}", nothing.display())), &folder, &[]);
    says(&text, &["OrtGetApiBase returns nothing"]);
    let text_file = folder.join("readme.txt");
    std::fs::write(&text_file, "not a library").unwrap();
    let text = errors(&pipeline_of(&format!("onnxruntime={}", text_file.display())), &folder, &[]);
    says(&text, &["readme.txt"]);
}

#[test]
fn a_virtual_environment_above_the_working_directory_is_found() {
    assert_eq!(errors(&pipeline_of(""), &root().join("tests/elements"), &[]).matches("ERROR").count(), 0);
}

#[test]
fn an_old_library_in_one_environment_does_not_hide_a_good_one_in_the_next() {
    // The search goes on after a library that cannot be used.
    let folder = scratch("two-environments");
    let packages = folder.join(".venv/lib/python3.11/site-packages/onnxruntime/capi");
    std::fs::create_dir_all(&packages).unwrap();
    library(&packages, OLD);
    let good = root().join(".venv");
    let text = errors(&pipeline_of(""), &folder, &[("VIRTUAL_ENV", good.to_str().unwrap())]);
    assert_eq!(text.matches("ERROR").count(), 0, "{text}");
    let text = errors(&pipeline_of(""), &folder, &[]);
    if text.contains("ERROR") {
        says(&text, &["was not found", "1.10.0"]);
    }
}

/// A library as OpenVINO's, of this version.
fn openvino(folder: &Path, version: &str) -> PathBuf {
    let source = format!(
        "struct version {{ const char *build, *description; }};\n\
         int ov_get_openvino_version(struct version *v) {{ v->build = v->description = \"{version}\"; return 0; }}\n\
         void ov_version_free(struct version *v) {{}}\n"
    );
    library(folder, &source)
}

#[test]
fn an_openvino_that_is_not_there_or_is_none_says_where_to_get_one() {
    let folder = scratch("openvino-library");
    let says = |properties: &str, environment: &[(&str, &str)], parts: &[&str]| {
        let text = errors(&pipeline_of(&format!("provider=openvino {properties}")), &folder, environment);
        for part in parts.iter().chain(&["ERROR", "pip install openvino"]) {
            assert!(text.contains(part), "'{part}' is not in: {text}");
        }
    };
    says(
        "openvino=/nonexistent/libopenvino_c.so",
        &[],
        &["the property openvino names '/nonexistent/libopenvino_c.so'"],
    );
    says(
        "",
        &[("CUDAINFER_OPENVINO", "/nonexistent/ov.so")],
        &["CUDAINFER_OPENVINO names '/nonexistent/ov.so'"],
    );
    let is_installed = |o: std::process::Output| o.stdout.windows(8).any(|w| w == b"openvino");
    if Command::new("ldconfig").arg("-p").output().is_ok_and(|o| !is_installed(o)) {
        says("", &[], &["OpenVINO's library was not found"]);
    }
    let named = |path: &Path| format!("openvino={}", path.display());
    let other = library(&folder, "int answer(void) { return 42; }");
    says(&named(&other), &[], &["it does not export ov_get_openvino_version"]);
    let old = openvino(&folder, "2024.6.0-17404-4c0f47d2335");
    says(&named(&old), &[], &["it is version '2024.6.0-17404-4c0f47d2335', and at least 2025.1 is needed"]);
    let odd = openvino(&folder, "custom");
    says(&named(&odd), &[], &["it is version 'custom'"]);
}

#[test]
fn with_the_provider_left_open_a_wrong_openvino_is_a_warning_and_onnx_runtime_goes_on() {
    let folder = scratch("openvino-left-out");
    let other = library(&folder, "int answer(void) { return 42; }");
    let here = root().join("tests");
    let text = errors(&pipeline_of(&format!("device=cpu openvino={}", other.display())), &here, &[]);
    assert_eq!(text.matches("ERROR").count(), 0, "{text}");
    for part in
        ["WARNING", "the model runs on ONNX Runtime alone: the property openvino names", "does not export"]
    {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
    // Nobody has asked for it.
    let text = errors(&pipeline_of("device=cpu"), &here, &[]);
    assert!(!text.contains("OpenVINO") && !text.contains("ERROR"), "{text}");
}

/// A plugin of ONNX Runtime that offers no device, or refuses to be registered with these words.
fn plugin(folder: &Path, refusal: Option<&str>) -> PathBuf {
    let refuse = refusal.map_or_else(String::new, |words| {
        // The first function of the table of 1.23 makes a status of a code and words.
        format!("return (*(void *(**)(int, const char *))base->get_api(23))(1, \"{words}\");")
    });
    let source = format!(
        "#include <stddef.h>\n\
         struct base {{ const void *(*get_api)(unsigned); const char *(*get_version)(void); }};\n\
         void *CreateEpFactories(const char *name, const struct base *base, const void *logger, void **made, size_t most, size_t *count)\n\
         {{ *count = 0; {refuse} return 0; }}\n\
         void *ReleaseEpFactory(void *factory) {{ return 0; }}\n"
    );
    library(folder, &source)
}

#[test]
fn a_plugin_that_is_none_or_has_no_device_is_a_sentence() {
    let (folder, here) = (scratch("plugin-library"), root().join("tests"));
    let says = |properties: &str, parts: &[&str]| {
        let text = errors(&pipeline_of(&format!("provider=plugin {properties}")), &here, &[]);
        for part in parts.iter().chain(&["ERROR", "provider=plugin does not work here", "Set provider=auto"])
        {
            assert!(text.contains(part), "'{part}' is not in: {text}");
        }
    };
    let named = |path: &Path| format!("provider-library={}", path.display());
    says(
        "",
        &[
            "no plugin was found in Python's packages",
            "pip install onnxruntime-ep-webgpu",
            "provider-library",
        ],
    );
    says("provider-library=/nonexistent/libep.so", &["the plugin '/nonexistent/libep.so' does not serve"]);
    let other = library(&folder, "int answer(void) { return 42; }");
    says(&named(&other), &["it does not export CreateEpFactories, so it is no plugin of ONNX Runtime"]);
    let text = folder.join("readme.txt");
    std::fs::write(&text, "not a library").unwrap();
    says(&named(&text), &["readme.txt' does not serve"]);
    let refusing = plugin(&folder, Some("compute capability 9.0 is not supported"));
    says(&named(&refusing), &["does not serve: ", "compute capability 9.0 is not supported"]);
    let empty = plugin(&folder, None);
    says(
        &named(&empty),
        &["is the provider libonnxruntime, which finds no device on this machine that it can use"],
    );
}

#[test]
fn with_the_provider_left_open_a_plugin_that_does_not_serve_is_reported_and_the_next_provider_goes_on() {
    let (folder, here) = (scratch("plugin-left-out"), root().join("tests"));
    let refusing = plugin(&folder, Some("compute capability 9.0 is not supported"));
    for device in ["cpu", "auto"] {
        let pipeline = pipeline_of(&format!("device={device} provider-library={}", refusing.display()));
        let text = errors(&pipeline, &here, &[]);
        assert_eq!(text.matches("ERROR").count(), 0, "{text}");
    }
    let pipeline = pipeline_of(&format!("device=cpu provider-library={}", refusing.display()));
    let text = errors(&pipeline.replace("fusedpreproc", "fusedpreproc device=cpu"), &here, &[]);
    for part in ["WARNING", "plugin: the plugin '", "compute capability 9.0 is not supported"] {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
}

#[test]
fn options_of_a_plugin_that_are_none_or_are_given_to_another_provider_are_refused() {
    for (properties, part) in [
        ("provider=plugin provider-options=fast", "provider-options: 'fast' is no option. Write KEY=VALUE"),
        ("provider=plugin provider-options=a=b,=c", "provider-options: '=c' is no option"),
        (
            "provider=cpu provider-library=a.so",
            "but provider=cpu is none. Set provider=plugin, or remove them",
        ),
        ("provider=openvino provider-options=a=b", "but provider=openvino is none"),
        ("provider=plugin device=cuda", "device=cuda and provider=plugin contradict each other"),
    ] {
        run(&pipeline_of(properties)).fails_with(&[part]);
    }
}

/// A plugin for every device of the machine that leaves all nodes of a model to the CPU, or does not take a session for these reasons.
/// The structs are those of onnxruntime_ep_c_api.h, 1.23.
fn plugin_with_device(folder: &Path, refusal: Option<&str>) -> PathBuf {
    let create = refusal.map_or_else(
        || "*made = &ep; return 0;".to_owned(),
        |words| format!("return (*(void *(**)(int, const char *))api)(1, \"{words}\");"),
    );
    let source = format!(
        r#"
#include <stddef.h>
#include <stdint.h>
struct base {{ const void *(*get_api)(unsigned); const char *(*get_version)(void); }};
static const void *const *api;
static const char *name(const void *this) {{ return "Cudainfer test"; }}
static const char *version(const void *this) {{ return "1.0.0"; }}
static void *nothing(void) {{ return 0; }}
static void *capability(void *this, const void *graph, void *support) {{ return 0; }}
static struct {{ uint32_t version; void *functions[32]; }} ep = {{ 23, {{
    name, capability, nothing, nothing }} }};
static void *devices(void *factory, const void *const *all, size_t count, void **made, size_t most, size_t *number) {{
    /* GetEpApi is the function after EpDevice_Device, and its first one makes a device. */
    const void *const *ep_api = ((const void *const *(*)(void))api[317])();
    void *(*make)(void *, const void *, const void *, const void *, void **) = (void *)ep_api[0];
    for (*number = 0; *number < count && *number < most; ++*number) {{
        void *status = make(factory, all[*number], 0, 0, &made[*number]);
        if (status) return status;
    }}
    return 0;
}}
static void *create(void *factory, const void *const *all, const void *const *metadata, size_t count, const void *options,
    const void *logger, void **made) {{ {create} }}
static struct {{ uint32_t version; void *functions[32]; }} factory = {{ 23, {{
    name, name, devices, create, nothing, nothing, version, nothing, nothing, nothing, nothing, nothing, nothing }} }};
void *CreateEpFactories(const char *registered, const struct base *base, const void *logger, void **made, size_t most, size_t *count) {{
    api = base->get_api(23);
    made[0] = &factory;
    *count = 1;
    return 0;
}}
void *ReleaseEpFactory(void *factory) {{ return 0; }}
"#
    );
    library(folder, &source)
}

#[test]
fn a_plugin_runs_the_model_and_where_it_refuses_the_next_provider_does() {
    let (folder, here) = (scratch("plugin-runs"), root().join("tests"));
    let serving = plugin_with_device(&folder, None);
    let named = format!("provider-library={}", serving.display());
    for provider in
        ["provider=plugin provider-options=mode=fast,level=3", "provider=plugin workers=2", "device=cpu"]
    {
        let text = errors(&pipeline_of(&format!("{provider} {named}")), &here, &[]);
        assert!(!text.contains("ERROR") && !text.contains("plugin:"), "{text}");
        assert!(text.contains("ACTIVE Plugin"), "{text}");
    }
    let refusing = plugin_with_device(&folder, Some("out of licences"));
    let named = format!("provider-library={}", refusing.display());
    let text = errors(&pipeline_of(&format!("provider=plugin {named}")), &here, &[]);
    for part in ["ERROR", "provider=plugin does not work here", "out of licences"] {
        assert!(text.contains(part), "'{part}' is not in: {text}");
    }
    let text = errors(&pipeline_of(&format!("device=cpu {named}")), &here, &[]);
    assert!(!text.contains("ERROR") && text.contains("ACTIVE Cpu"), "{text}");
}
