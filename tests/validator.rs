//! GStreamer's own checker, gst-validate, which watches the pads of a pipeline's elements.

use std::collections::HashSet;
use std::process::Command;

use gst::prelude::*;

use crate::{LIMIT, init, root, scratch};

/// The program that `GST_VALIDATE_PROGRAM` names, if it is set.
pub fn program() -> Option<String> {
    std::env::var("GST_VALIDATE_PROGRAM").ok()
}

/// Runs a pipeline to its end, by the program if `GST_VALIDATE_PROGRAM` names one, which must find no issue of our elements.
#[track_caller]
pub fn play(description: &str) {
    match program() {
        Some(program) => {
            // Where there is no GPU, that is said of every pipeline.
            let is_known = |details: &str| details.contains("no GPU is used");
            run(&program, description, None, is_known).unwrap_or_else(|said| panic!("{description}\n{said}"))
        }
        None => drop(crate::run(description).succeeds()),
    }
}

/// Runs a pipeline by `program`, in a scenario, if one is named. Issues of our elements that `is_known` knows by their details are
/// none.
///
/// # Errors
/// What it said, where the pipeline did not play to its end or one of our elements has an issue.
pub fn run(
    program: &str,
    description: &str,
    scenario: Option<&str>,
    is_known: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap();
    assert!(folder.join("libgstcudainfer.so").is_file(), "the plugin is not beside the test");
    let mut command = Command::new("timeout");
    command.arg(LIMIT.as_secs().to_string()).arg(program);
    command.args(scenario.iter().flat_map(|scenario| ["--set-scenario", scenario]));
    let output = command
        .args(gst::glib::shell_parse_argv(description).unwrap())
        .env("GST_PLUGIN_PATH", folder)
        .env("GST_REGISTRY", scratch("validate").join("registry.bin"))
        .env("GST_VALIDATE_REPORTING_DETAILS", "all")
        .env("GST_VALIDATE_SCENARIOS_PATH", root().join("tests/validate"))
        .output()
        .unwrap_or_else(|e| panic!("{program}: {e}. CONTRIBUTING.md says where gst-validate comes from"));
    let said = String::from_utf8_lossy(&output.stdout);
    let started = scenario.is_none_or(|scenario| said.contains(&format!("Running scenario {scenario} ")));
    let passed = output.status.success() && started && said.contains("Test PASSED");
    let found: Vec<&str> = issues(&said).into_iter().filter(|details| !is_known(details)).collect();
    if passed && found.is_empty() {
        return Ok(());
    }
    let rest =
        if passed { String::new() } else { format!("{said}\n{}", String::from_utf8_lossy(&output.stderr)) };
    let scenario = scenario.unwrap_or("no scenario");
    Err(format!("{scenario}: {}\n{}\n{rest}", output.status, found.join("\n")))
}

/// The issues that gst-validate reports of elements that are named after one of ours and a number, or that they have warned of.
/// Issues of other elements are not ours, nor are those that ours have in the same words after another one: they pass on what it
/// has sent.
pub fn issues(said: &str) -> Vec<&str> {
    init();
    let features = gst::Registry::get().features_by_plugin("cudainfer");
    let digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let ours =
        |name: &str| features.iter().any(|own| name.strip_prefix(own.name().as_str()).is_some_and(digit));
    let (mut of_us, mut found, mut of_others) = (false, Vec::new(), HashSet::new());
    for line in said.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("Detected on <") {
            of_us |= ours(name);
        } else if let Some(details) = line.strip_prefix("Details :").map(str::trim) {
            if !of_us && !details.strip_prefix("Got warning: ").is_some_and(ours) {
                of_others.insert(details);
            } else if !of_others.contains(details) {
                found.push(details);
            }
            of_us = false;
        }
    }
    found
}
