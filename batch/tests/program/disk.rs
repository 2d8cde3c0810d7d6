//! A disk that is full.

use std::process::Command;

use crate::process::{command, command_with, ends, folder, names, results};
use crate::videos::{arguments, make};

#[test]
fn a_destination_that_is_full_ends_the_process_with_exit_code_71() {
    let folder = folder();
    let all = make(&folder, 2);
    let full = ["! inferoverlay", "! inferpublish location=/dev/full ! inferoverlay"];
    let (code, log) = ends(&mut command_with(&folder, full, &arguments(&all)));
    assert_eq!(code, 71, "{log}");
    assert!(log.contains("/dev/full"), "{log}");
    assert_eq!(names(&folder), ["configuration.json"], "nothing is called complete or bad");
}

#[test]
fn a_full_disk_loses_nothing_that_is_complete_and_the_next_run_goes_on() {
    // A file system of its own needs a user namespace, which some systems do not give, and none does in a changed root.
    if !Command::new("unshare").args(["-rm", "true"]).status().is_ok_and(|status| status.success()) {
        return eprintln!("skipped: there is no user namespace here");
    }
    let (serial, small) = (folder(), folder());
    let all = make(&serial, 3);
    make(&small, 3);
    assert_eq!(ends(&mut command(&serial, &arguments(&all))).0, 0);
    // Drawn frames of a video take 184 to 276 KB: there is room for the first one.
    let inner = command(&small, &[&["--jobs", "1"], &arguments(&all)[..]].concat());
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c"]);
    command.arg(
        "mkdir out && mount -t tmpfs -o size=400k none out && \"$@\"; code=$?; cp -a out kept; exit $code",
    );
    command.arg("sh").arg(inner.get_program()).args(inner.get_args()).current_dir(&small);
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let (code, log) = ends(&mut command);
    assert_eq!(code, 71, "{log}");
    std::fs::remove_dir(small.join("out")).unwrap();
    std::fs::rename(small.join("kept"), small.join("out")).unwrap();
    let whole = results(&serial);
    let kept = results(&small);
    assert!(
        kept.len() >= 2 && kept.iter().all(|(name, bytes)| whole[name] == *bytes),
        "a result is half: {log}"
    );
    let (code, log) = ends(&mut crate::process::command(&small, &arguments(&all)));
    assert_eq!(code, 0, "{log}");
    assert!(results(&small) == whole, "results differ");
}
