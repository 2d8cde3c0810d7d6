//! scripts/prebuild, with the plugin that was built with this test.

use std::fs;
use std::process::Output;

use cudainfer_tests::{fetched, model, root, scratch};

use crate::plugin::processes::{text, tool};

fn prebuild(arguments: &[&str]) -> Output {
    let script = root().join("scripts/prebuild").display().to_string();
    tool(&[&[script.as_str()], arguments].concat(), &[])
}

#[test]
fn prebuild_fills_the_cache_once_and_says_where() {
    let (folder, model) = (scratch("prebuild").join("cache"), fetched("models/posenet.onnx"));
    let arguments = [model.as_str(), "--provider", "cpu", "--cache", folder.to_str().unwrap()];
    let first = prebuild(&arguments);
    assert!(first.status.success(), "{first:?}");
    let said = text(&first.stdout);
    let others = [folder.join("models"), folder.join("CACHEDIR.TAG")];
    let entry =
        fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).find(|p| !others.contains(p)).unwrap();
    for part in [&format!("built: {}", entry.display()), "provider: cpu", "the first start took", "takes"] {
        assert!(said.contains(part), "'{part}' is not in {said}");
    }
    // The parts of both starts, each in its column.
    let row = |name: &str| -> Vec<&str> {
        let line = said
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("no '{name}' in {said}"));
        line[name.len()..].split_whitespace().collect()
    };
    let parts = row("                ");
    assert_eq!(
        parts,
        ["library", "session", "search", "warm-up", "graphs", "upgrade", "all,", "ms"],
        "{said}"
    );
    for start in ["first", "from the cache"] {
        let numbers: Vec<u64> = row(start).iter().map(|number| number.parse().unwrap()).collect();
        assert!(numbers.len() == parts.len() - 1 && numbers[1] > 0 && numbers[6] >= numbers[1], "{said}");
    }
    let again = text(&prebuild(&arguments).stdout);
    assert!(again.contains(&format!("it was there already: {}", entry.display())), "{again}");
}

#[test]
fn prebuild_says_in_a_sentence_what_is_wrong_and_fails() {
    let not_onnx = model("not-onnx");
    let posenet = fetched("models/posenet.onnx");
    let mut wrong = vec![
        (vec!["/nowhere/a.onnx"], "the model file '/nowhere/a.onnx' cannot be read"),
        (vec![not_onnx.as_str()], "it is not an ONNX model, or it was cut off"),
        (vec![&posenet, "--cache", "/proc/cudainfer", "--provider", "cpu"], "cannot be written"),
    ];
    if cudainfer_kernels::device::probe().is_err() {
        wrong.push((vec![&posenet, "--provider", "tensorrt"], "provider=tensorrt does not work here"));
    }
    for (arguments, part) in wrong {
        let output = prebuild(&arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        let said = text(&output.stderr);
        // GStreamer's loader of elements in Python says this if a Python without gi comes first on PATH.
        let is_own = |line: &&str| !line.is_empty() && !line.contains("pygobject initialization failed");
        let own: Vec<_> = said.lines().filter(is_own).collect();
        assert!(own[0].starts_with("prebuild: ") && own[0].contains(part), "{arguments:?}: {said}");
        assert_eq!(own.len(), 1, "{arguments:?}: {said}");
    }
}
